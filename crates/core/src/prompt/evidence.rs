//! `.promotions.jsonl`: what was known whenever a prompt's status was changed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::meta::Status;
use crate::usage::second;

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The form of this line.
    pub schema_version: u32,
    /// When, in whole seconds.
    pub ts: String,
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
    pub sent: u64,
    /// Of these, verified.
    pub verified: u64,
    /// Of these, refuted.
    pub refuted: u64,
    /// Of these, without a verifier.
    pub unverified: u64,
    /// What the rate of uses that count is at least, at 95 %.
    pub wilson_low: Option<f64>,
    /// What the evaluations said.
    pub eval: String,
    /// What was missing.
    pub unmet: Vec<String>,
    /// Why, in somebody's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A status whose evidence is about another text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// The status.
    pub status: Status,
    /// When it was given.
    pub since: String,
    /// The template it was given to.
    pub then: String,
    /// The template now.
    pub now: String,
}

impl Evidence {
    /// The form that is written now.
    pub const VERSION: u32 = 1;

    /// The line, with its end.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("evidence has text keys only") + "\n"
    }

    /// Reads a line; none if it is something else.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// A moment as it is written here.
    pub fn moment(ts: Timestamp) -> String {
        second(ts)
    }
}

impl Stale {
    /// Whether the last line that led to a status is about another template. A draft has nothing to
    /// lose, and a status that was written by hand has no evidence that could be stale.
    pub fn of(evidence: &[Evidence], status: Status, prompt_hash: &str) -> Option<Self> {
        let last = evidence.last().filter(|last| last.to == status && status != Status::Draft)?;
        (last.prompt_hash != prompt_hash).then(|| Self {
            status,
            since: last.ts.clone(),
            then: last.prompt_hash.clone(),
            now: prompt_hash.to_owned(),
        })
    }
}

impl std::fmt::Display for Stale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { status, since, then, now } = self;
        write!(f, "`{status}` was given on {since} to another text ({then}, now {now})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(to: Status, prompt_hash: &str) -> Evidence {
        Evidence {
            schema_version: Evidence::VERSION,
            ts: "2026-05-05T09:31:00Z".to_owned(),
            action: Move::Promoted,
            from: Status::Draft,
            to,
            by: "ada".to_owned(),
            version: "1.0.0".to_owned(),
            prompt_hash: prompt_hash.to_owned(),
            uses: 3,
            min_uses: 3,
            sent: 4,
            verified: 1,
            refuted: 1,
            unverified: 2,
            wilson_low: Some(0.3006),
            eval: "missing".to_owned(),
            unmet: Vec::new(),
            reason: None,
        }
    }

    #[test]
    fn a_line_reads_back() {
        let evidence = evidence(Status::Tested, "a");
        assert_eq!(Evidence::parse(&evidence.to_line()), Some(evidence));
        assert_eq!(Evidence::parse("{}"), None);
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
