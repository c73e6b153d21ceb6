//! Alerts: from what a run measured, and from silence, to what is raised, told again or taken back.
//!
//! ```text
//! recorded run ─▶ breaches ─▶ against what is firing ─▶ changes ─▶ messages, one per channel
//! ```
//!
//! Promises: one key stands for one thing (workspace, suite, measure, segment) everywhere, so a receiver
//! folds repeats and a recovery closes what a trigger opened. One cause is one alert: a measure over all
//! cases and of a mode with the same missed cases, or the outage behind several measures. An alert is
//! resolved only by a run with a verdict that measured it, found it well and asked at least as many queries
//! as the runs that fired it; it says why it stays open otherwise. A run that measured nothing of it changes
//! nothing, nor does one that asked somebody else or that somebody stopped. A silence keeps messages back,
//! never the state; what it kept back is told when it ends. Messages hold no text of a query unless
//! somebody allowed it.
//!
//! Deliberately absent: sending, the clock, and anybody's address.

pub mod channel;
mod decide;
pub mod export;
mod message;
pub mod metrics;
mod sign;

pub use decide::{
    Board, Change, Heard, Known, Looked, Policy, closed, decide, released, silent, unreadable,
    withdrawn,
};
pub use message::{Message, email, pagerduty, slack, webhook};
pub use sign::{signature, signed};

use crate::named;
use crate::suite::measure::Measure;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Worth a look.
    Warning,
    /// Past its alert.
    Error,
    /// Somebody is to be woken.
    Critical,
}

named! {
    Severity { Info = "info", Warning = "warning", Error = "error", Critical = "critical" }
}

/// What an alert is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A measure of a segment is past its alert.
    Measure(Measure, String),
    /// The target did not answer, which put measures past their alerts.
    Unreachable,
    /// A run could not measure what it should.
    Run,
    /// It has not run for days.
    Silent,
    /// Recall or precision fell week after week: the reranker wants a new threshold.
    Recalibrate,
}

impl Subject {
    /// Its part of the key.
    pub fn name(&self) -> String {
        match self {
            Self::Measure(measure, segment) => format!("{measure}/{segment}"),
            Self::Unreachable => "unreachable".to_owned(),
            Self::Run => "run".to_owned(),
            Self::Silent => "silent".to_owned(),
            Self::Recalibrate => "recalibrate".to_owned(),
        }
    }
}

/// What names an alert everywhere: at most 255 bytes, as PagerDuty takes it.
pub fn dedup_key(workspace: &str, suite: &str, subject: &Subject) -> String {
    let key = format!("gbrain/{workspace}/{suite}/{}", subject.name());
    let key = key.replace(char::is_control, "?");
    if key.len() <= 255 {
        return key;
    }
    let hash = crate::hash::Hash::of(key.as_bytes()).short();
    let mut end = 255 - hash.len() - 1;
    while !key.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}~{hash}", &key[..end])
}

/// What an alert says.
#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    /// What names it.
    pub key: String,
    /// What it is about.
    pub subject: Subject,
    /// How bad it is.
    pub severity: Severity,
    /// The workspace.
    pub workspace: String,
    /// The suite.
    pub suite: String,
    /// Who was asked; none where no run tells of it.
    pub target: Option<String>,
    /// Who looks after it.
    pub owners: Vec<String>,
    /// In a line.
    pub summary: String,
    /// The run that tells of it; none of silence.
    pub run: Option<i64>,
    /// The value, what it should be and where the alert begins, as they are printed.
    pub figures: Vec<(String, String)>,
    /// Ids of failing cases, a few.
    pub failing: Vec<String>,
    /// How many cases fail.
    pub failing_count: usize,
    /// The most queries that a run asked in which it fired; none where no run tells of it.
    pub asked: Option<usize>,
    /// Why it stays open although a later run found nothing wrong.
    pub still_open: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_stable_and_short_enough() {
        let subject = Subject::Measure(Measure::RecallAt5, "mode:graph".to_owned());
        assert_eq!(
            dedup_key("default", "weekly", &subject),
            "gbrain/default/weekly/recall@5/mode:graph"
        );
        let long = Subject::Measure(Measure::RecallAt5, format!("source:{}", "ä".repeat(300)));
        let other = Subject::Measure(Measure::RecallAt5, format!("source:{}b", "ä".repeat(300)));
        let [a, b] = [&long, &other].map(|subject| dedup_key("default", "weekly", subject));
        assert!(a.len() <= 255 && a != b, "{a}");
    }
}
