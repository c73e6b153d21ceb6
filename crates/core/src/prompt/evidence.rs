//! `.promotions.jsonl`: what was known whenever a prompt's status was changed.

use jiff::Timestamp;

use super::meta::Status;
use crate::format::logs::EvidenceLine;
use crate::usage::{Counts, second};

/// Which way a prompt went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// Up, with every gate open.
    Promoted,
    /// Up, although something was missing.
    Forced,
    /// Down.
    Demoted,
}

crate::named! { Move { Promoted = "promoted", Forced = "forced", Demoted = "demoted" } }

/// One change of a status, with what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// When, in whole seconds.
    pub ts: Timestamp,
    /// Which way.
    pub action: Move,
    /// From where.
    pub from: Status,
    /// To where.
    pub to: Status,
    /// Who did it.
    pub by: String,
    /// The version it had.
    pub version: String,
    /// The template it is about.
    pub prompt_hash: String,
    /// Uses that counted.
    pub uses: u64,
    /// How many it took.
    pub min_uses: u64,
    /// Runs that were sent.
    pub runs: Counts,
    /// What the rate of uses that count is at least, at 95 %.
    pub wilson_low: Option<f64>,
    /// What the evaluations said.
    pub eval: String,
    /// What was missing.
    pub unmet: Vec<String>,
    /// Why, in somebody's words.
    pub reason: Option<String>,
}

/// A status whose evidence is about another text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// The status.
    pub status: Status,
    /// When it was given.
    pub since: Timestamp,
    /// The template it was given to.
    pub then: String,
    /// The template now.
    pub now: String,
}

impl Evidence {
    /// The line, with its end.
    pub fn to_line(&self) -> String {
        serde_json::to_string(&EvidenceLine::new(self)).expect("evidence has text keys only") + "\n"
    }

    /// Reads a line; none if it is something else, or contradicts itself.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str::<EvidenceLine>(line).ok()?.evidence()
    }
}

/// The lines of a log, and how many are something else.
pub fn evidence_lines(text: &str) -> (Vec<Evidence>, u64) {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let (mut evidence, mut malformed) = (Vec::new(), 0);
    for line in lines {
        match Evidence::parse(line) {
            Some(line) => evidence.push(line),
            None => malformed += 1,
        }
    }
    (evidence, malformed)
}

impl Stale {
    /// Whether the last line that led to a status is about another template. A draft has nothing to
    /// lose, and a status that was written by hand has no evidence that could be stale.
    pub fn of(evidence: &[Evidence], status: Status, prompt_hash: &str) -> Option<Self> {
        let last = evidence.last().filter(|last| last.to == status && status != Status::Draft)?;
        (last.prompt_hash != prompt_hash).then(|| Self {
            status,
            since: last.ts,
            then: last.prompt_hash.clone(),
            now: prompt_hash.to_owned(),
        })
    }
}

impl std::fmt::Display for Stale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { status, since, then, now } = self;
        let since = second(*since);
        write!(f, "`{status}` was given on {since} to another text ({then}, now {now})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = r#"{"schema_version":1,"ts":"2026-05-05T09:31:00Z","action":"promoted","from":"draft","to":"tested","by":"ada","version":"1.0.0","prompt_hash":"a","uses":3,"min_uses":3,"sent":4,"verified":1,"refuted":1,"unverified":2,"wilson_low":0.3006,"eval":"missing","unmet":[]}"#;

    fn evidence(to: Status, prompt_hash: &str) -> Evidence {
        let mut evidence = Evidence::parse(V1).unwrap();
        (evidence.to, evidence.prompt_hash) = (to, prompt_hash.to_owned());
        evidence
    }

    #[test]
    fn the_first_version_reads_and_writes_back() {
        let evidence = Evidence::parse(V1).unwrap();
        assert_eq!((evidence.runs.all(), evidence.wilson_low), (4, Some(0.3006)));
        assert_eq!(evidence.to_line(), format!("{V1}\n"));
    }

    #[test]
    fn what_contradicts_itself_is_no_evidence() {
        let check = |old: &str, new: &str| {
            assert!(V1.contains(old));
            assert_eq!(Evidence::parse(&V1.replace(old, new)), None, "{new}");
        };
        check("\"sent\":4", "\"sent\":5");
        check("\"verified\":1", "\"verified\":18446744073709551615");
        check("\"uses\":3", "\"uses\":5");
        check("\"schema_version\":1", "\"schema_version\":2");
        check("\"to\":\"tested\"", "\"to\":\"best\"");
        check("2026-05-05T09:31:00Z", "yesterday");
        assert_eq!(evidence_lines(&format!("{V1}\n\n{{}}\n{V1}")).1, 1);
    }

    #[test]
    fn an_edit_makes_the_evidence_stale() {
        let lines = [evidence(Status::Tested, "a")];
        assert_eq!(Stale::of(&lines, Status::Tested, "a"), None);
        assert!(Stale::of(&lines, Status::Tested, "b").is_some());
        assert_eq!(Stale::of(&lines, Status::Ready, "b"), None);
        assert_eq!(Stale::of(&[evidence(Status::Draft, "a")], Status::Draft, "b"), None);
    }
}
