//! `.promotions.jsonl`: the evidence at each change of a prompt's status, and whether a status
//! still has evidence.
//!
//! A status above draft needs three things: a promotion line that leads to it, the same prompt as
//! at that time, and logs that still meet its gate. A status that was typed into `meta.yml`, or
//! whose logs are gone, has no evidence.

use jiff::Timestamp;

use super::fingerprint::PromptHashes;
use super::lifecycle::{Gate, UnmetRequirement};
use super::logs::EvidenceLine;
use super::meta::PromptStatus;
use super::usage::{VerdictCounts, second};

/// The direction of a status change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromotionAction {
    /// Promoted with every gate open.
    Promoted,
    /// Promoted with an unmet gate.
    Forced,
    Demoted,
}

gbrain_core::named! { PromotionAction { Promoted = "promoted", Forced = "forced", Demoted = "demoted" } }

/// The files that the hash of a line covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashScope {
    /// The template alone: lines of the first version.
    Template,
    /// Template, hooks, defaults and model.
    Prompt,
}

/// A change of a status with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusEvidence {
    /// The time, in whole seconds.
    pub ts: Timestamp,
    pub action: PromotionAction,
    pub from: PromptStatus,
    pub to: PromptStatus,
    pub by: String,
    /// The version of the prompt at that time.
    pub version: String,
    /// The hash of the prompt at that time.
    pub prompt_hash: String,
    /// The files that the hash covers.
    pub hash_scope: HashScope,
    pub uses: u64,
    /// The number of uses required.
    pub min_uses: u64,
    /// Runs that were sent.
    pub runs: VerdictCounts,
    /// Lower bound of the rate of uses that count, at 95 %.
    pub wilson_low: Option<f64>,
    /// The state of the evaluation at that time.
    pub eval: String,
    pub unmet: Vec<String>,
    /// The reason given by the user.
    pub reason: Option<String>,
}

/// A status whose evidence is about another text, verifier, default or model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    pub status: PromptStatus,
    /// The time of the promotion.
    pub since: Timestamp,
    /// The hash at the promotion.
    pub then: String,
    /// The same hash now.
    pub now: String,
}

impl StatusEvidence {
    /// The line, with a newline.
    pub fn to_line(&self) -> String {
        serde_json::to_string(&EvidenceLine::new(self)).expect("evidence has text keys only") + "\n"
    }

    /// Parses a line; `None` if it is malformed or contradicts itself.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str::<EvidenceLine>(line).ok()?.evidence()
    }
}

/// The lines of a log, and the number of malformed lines.
pub fn evidence_lines(text: &str) -> (Vec<StatusEvidence>, u64) {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let (mut evidence, mut malformed) = (Vec::new(), 0);
    for line in lines {
        match StatusEvidence::parse(line) {
            Some(line) => evidence.push(line),
            None => malformed += 1,
        }
    }
    (evidence, malformed)
}

impl StatusEvidence {
    /// The current hash of the prompt, with the scope of this line's hash.
    fn comparable<'h>(&self, hashes: &'h PromptHashes) -> &'h str {
        match self.hash_scope {
            HashScope::Template => &hashes.template,
            HashScope::Prompt => &hashes.prompt,
        }
    }
}

impl Stale {
    /// Compares the last line that led to a status with the current prompt. A draft is never stale.
    pub fn of(
        evidence: &[StatusEvidence],
        status: PromptStatus,
        hashes: &PromptHashes,
    ) -> Option<Self> {
        let last =
            evidence.last().filter(|last| last.to == status && status != PromptStatus::Draft)?;
        let now = last.comparable(hashes);
        (last.prompt_hash != now).then(|| Self {
            status,
            since: last.ts,
            then: last.prompt_hash.clone(),
            now: now.to_owned(),
        })
    }
}

/// The reason that a status above draft has no evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingEvidence {
    /// No line of `.promotions.jsonl` leads to it: it was typed into `meta.yml`, or the log is
    /// gone.
    NotPromoted(PromptStatus),
    /// The evidence is about another prompt.
    Stale(Stale),
    /// The logs do not meet its gate.
    Unmet {
        status: PromptStatus,
        /// The action that led to the status.
        action: PromotionAction,
        unmet: Vec<UnmetRequirement>,
    },
}

impl MissingEvidence {
    /// Checks a status against the lines of promotions and the gate that leads to it.
    pub fn of(
        evidence: &[StatusEvidence],
        status: PromptStatus,
        hashes: &PromptHashes,
        gate: Option<&Gate>,
    ) -> Option<Self> {
        let gate = gate.filter(|_| status != PromptStatus::Draft)?;
        let Some(last) = evidence.last().filter(|last| last.to == status) else {
            return Some(Self::NotPromoted(status));
        };
        if let Some(stale) = Stale::of(evidence, status, hashes) {
            return Some(Self::Stale(stale));
        }
        let unmet = gate.unmet.clone();
        (!unmet.is_empty()).then_some(Self::Unmet { status, action: last.action, unmet })
    }

    /// The commands that produce the missing evidence.
    pub fn remedy(&self, id: &str) -> String {
        match self {
            Self::NotPromoted(_) | Self::Stale(_) => {
                format!("`eva demote {id}`, then `eva promote {id}` says what is missing")
            }
            Self::Unmet { unmet, .. } => {
                let commands: Vec<String> = unmet.iter().map(|unmet| unmet.remedy(id)).collect();
                commands.join(", and ")
            }
        }
    }
}

impl std::fmt::Display for MissingEvidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotPromoted(status) => {
                write!(f, "`{status}` has no evidence: .promotions.jsonl has no promotion to it")
            }
            Self::Stale(stale) => write!(f, "the evidence is stale: {stale}"),
            Self::Unmet { status, action, unmet } => {
                let unmet: Vec<String> = unmet.iter().map(ToString::to_string).collect();
                let forced =
                    if *action == PromotionAction::Forced { " (it was forced)" } else { "" };
                write!(f, "`{status}` has no evidence{forced}: {}", unmet.join("; "))
            }
        }
    }
}

impl std::fmt::Display for Stale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { status, since, then, now } = self;
        let since = second(*since);
        write!(
            f,
            "`{status}` was given on {since} to another text, verifier, default or model ({then}, now {now})"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::usage::GateCounts;
    use super::super::{EvalState, Requirement, Settings, progress};
    use super::*;

    const V1: &str = r#"{"schema_version":1,"ts":"2026-05-05T09:31:00Z","action":"promoted","from":"draft","to":"tested","by":"ada","version":"1.0.0","prompt_hash":"a","uses":3,"min_uses":3,"sent":4,"verified":1,"refuted":1,"unverified":2,"wilson_low":0.3006,"eval":"missing","unmet":[]}"#;

    fn evidence(to: PromptStatus, prompt_hash: &str) -> StatusEvidence {
        let mut evidence = StatusEvidence::parse(V1).unwrap();
        (evidence.to, evidence.prompt_hash) = (to, prompt_hash.to_owned());
        evidence
    }

    fn hashes(template: &str, prompt: &str) -> PromptHashes {
        PromptHashes { template: template.to_owned(), prompt: prompt.to_owned() }
    }

    fn gate(verified: u64) -> Gate {
        let meta = super::super::meta::tests_meta(PromptStatus::Tested);
        let requirement = Requirement::of(&meta, &Settings::default()).unwrap();
        let mut counted = GateCounts::default();
        counted.sent.verified = verified;
        progress(requirement, &counted, EvalState::Green)
    }

    #[test]
    fn the_first_version_reads_and_writes_back() {
        let evidence = StatusEvidence::parse(V1).unwrap();
        assert_eq!((evidence.runs.all(), evidence.wilson_low), (4, Some(0.3006)));
        assert_eq!(evidence.to_line(), format!("{V1}\n"));
    }

    #[test]
    fn contradictory_evidence_is_refused() {
        let check = |old: &str, new: &str| {
            assert!(V1.contains(old));
            assert_eq!(StatusEvidence::parse(&V1.replace(old, new)), None, "{new}");
        };
        check("\"sent\":4", "\"sent\":5");
        check("\"verified\":1", "\"verified\":18446744073709551615");
        check("\"uses\":3", "\"uses\":5");
        check("\"schema_version\":1", "\"schema_version\":3");
        check("\"from\":\"draft\"", "\"from\":\"ready\"");
        check("\"from\":\"draft\"", "\"from\":\"tested\"");
        check("\"action\":\"promoted\"", "\"action\":\"demoted\"");
        check("\"uses\":3", "\"uses\":2");
        check("\"unmet\":[]", "\"unmet\":[\"eval\"]");
        check("\"to\":\"tested\"", "\"to\":\"best\"");
        check("2026-05-05T09:31:00Z", "yesterday");
        assert_eq!(evidence_lines(&format!("{V1}\n\n{{}}\n{V1}")).1, 1);
    }

    #[test]
    fn the_second_version_has_the_hash_of_the_whole_prompt() {
        let line = V1.replace("\"schema_version\":1", "\"schema_version\":2");
        let evidence = StatusEvidence::parse(&line).unwrap();
        assert_eq!(evidence.hash_scope, HashScope::Prompt);
        assert_eq!(evidence.to_line(), format!("{line}\n"));
        let lines = [evidence];
        assert_eq!(Stale::of(&lines, PromptStatus::Tested, &hashes("x", "a")), None);
        assert!(Stale::of(&lines, PromptStatus::Tested, &hashes("a", "x")).is_some());
    }

    #[test]
    fn an_edit_makes_the_evidence_stale() {
        let lines = [evidence(PromptStatus::Tested, "a")];
        let of = |lines: &[StatusEvidence], status, template| {
            Stale::of(lines, status, &hashes(template, "prompt"))
        };
        assert_eq!(of(&lines, PromptStatus::Tested, "a"), None);
        assert!(of(&lines, PromptStatus::Tested, "b").is_some());
        assert_eq!(of(&lines, PromptStatus::Ready, "b"), None);
        assert_eq!(of(&[evidence(PromptStatus::Draft, "a")], PromptStatus::Draft, "b"), None);
    }

    #[test]
    fn a_status_needs_a_line_of_this_prompt_and_the_runs_that_it_counted() {
        let lines = [evidence(PromptStatus::Ready, "a")];
        let of = |lines: &[StatusEvidence], status, template, verified| {
            let gate = gate(verified);
            let found = MissingEvidence::of(lines, status, &hashes(template, "p"), Some(&gate));
            found.map(|found| format!("{found}: {}", found.remedy("greet")))
        };
        assert_eq!(of(&lines, PromptStatus::Ready, "a", 10), None);
        assert_eq!(of(&[], PromptStatus::Draft, "a", 0), None);
        let typed = of(&[], PromptStatus::Ready, "a", 10).unwrap();
        assert!(typed.contains("no promotion to it: `eva demote greet`"), "{typed}");
        assert!(of(&lines, PromptStatus::Tested, "a", 10).unwrap().contains("no promotion to it"));
        assert!(of(&lines, PromptStatus::Ready, "b", 10).unwrap().contains("stale"));
        let few = of(&lines, PromptStatus::Ready, "a", 4).unwrap();
        assert!(
            few.contains("4 of 10 uses") && few.ends_with("`kick greet --send` 6 times"),
            "{few}"
        );
        let mut forced = evidence(PromptStatus::Ready, "a");
        forced.action = PromotionAction::Forced;
        assert!(
            of(std::slice::from_ref(&forced), PromptStatus::Ready, "a", 4)
                .unwrap()
                .contains("(it was forced)")
        );
        assert_eq!(of(&[forced], PromptStatus::Ready, "a", 10), None);
    }
}
