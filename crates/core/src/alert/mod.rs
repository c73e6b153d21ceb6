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
    AlertStates, Change, EvaluatedRun, LastRun, Policy, closed, decide, released, silent,
    unreadable, withdrawn,
};
pub use message::{Message, email, pagerduty, slack, webhook};
pub use sign::{signature, signed};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::named;
use crate::suite::measure::Measure;

/// The version of what the store keeps of an alert, and of a silence.
pub const ALERT_VERSION: u32 = 1;

/// Whether an alert goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AlertStatus {
    Firing,
    Resolved,
}

named! { AlertStatus { Firing = "firing", Resolved = "resolved" } }

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    Info,
    Warning,
    Error,
    /// Somebody is to be woken.
    Critical,
}

named! {
    Severity { Info = "info", Warning = "warning", Error = "error", Critical = "critical" }
}

/// What an alert is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A measure is past its alert.
    Measure { measure: Measure, segment: String },
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
            Self::Measure { measure, segment } => format!("{measure}/{segment}"),
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

/// An alert: what is wrong, since when, and who was notified.
///
/// Its JSON is what lists show. The store keeps columns for what it is looked up by, and the rest as a
/// [record](Alert::record).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "An alert.")]
pub struct Alert {
    /// What names it everywhere.
    pub key: String,
    /// `firing` or `resolved`.
    #[schemars(with = "String")]
    pub state: AlertStatus,
    /// How bad it is.
    #[schemars(with = "String")]
    pub severity: Severity,
    /// The suite.
    #[schemars(with = "Option<String>")]
    pub suite: String,
    /// Who was asked; null where no run tells of it.
    pub target: Option<String>,
    /// Since when it is in this state.
    #[serde(with = "time")]
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// When it was last looked at.
    #[serde(with = "time")]
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
    /// When a message about it was last queued, received or not.
    #[serde(with = "time::option")]
    #[schemars(with = "Option<String>")]
    pub told_at: Option<Timestamp>,
    /// Whether a silence keeps it back now.
    pub silenced: bool,
    /// In a line; empty if what is kept of it can't be read.
    pub summary: String,
    /// Who looks after it.
    pub owners: Vec<String>,
    /// The run that tells of it.
    pub run: Option<i64>,
    /// Figures by name.
    pub figures: Vec<(String, String)>,
    /// How many cases fail.
    pub failing_count: usize,
    /// Ids of failing cases, a few.
    pub failing: Vec<String>,
    /// The most queries that a run asked in which it fired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<usize>,
    /// Why it stays open although a later run found nothing wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub still_open: Option<String>,
    /// What it is about.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub subject: Subject,
    /// The workspace.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub workspace: String,
    /// Whether a message was kept back: by a silence, or because no channel was there.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub held: bool,
    /// Channels that were notified that it fires, and will be when it is resolved.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub channels: Vec<String>,
}

impl Alert {
    /// An alert of a workspace, a suite and its owners that fires from now on, and that no run tells of.
    pub fn new(
        (workspace, suite, owners): (&str, &str, &[String]),
        subject: Subject,
        severity: Severity,
        summary: String,
        now: Timestamp,
    ) -> Self {
        Self {
            key: dedup_key(workspace, suite, &subject),
            state: AlertStatus::Firing,
            severity,
            suite: suite.to_owned(),
            target: None,
            since: now,
            updated_at: now,
            told_at: None,
            silenced: false,
            summary,
            owners: owners.to_vec(),
            run: None,
            figures: Vec::new(),
            failing_count: 0,
            failing: Vec::new(),
            asked: None,
            still_open: None,
            subject,
            workspace: workspace.to_owned(),
            held: false,
            channels: Vec::new(),
        }
    }

    /// Whether it goes on.
    pub fn is_firing(&self) -> bool {
        self.state == AlertStatus::Firing
    }

    /// What the store keeps of it beside its columns.
    pub fn record(&self) -> String {
        let Self {
            key: _,
            state: _,
            severity: _,
            suite: _,
            target,
            since: _,
            updated_at: _,
            told_at,
            silenced: _,
            summary,
            owners,
            run,
            figures,
            failing_count,
            failing,
            asked,
            still_open,
            subject,
            workspace,
            held,
            channels,
        } = self;
        let mut record = json!({
            "schema_version": ALERT_VERSION,
            "subject": subject,
            "workspace": workspace,
            "target": target,
            "owners": owners,
            "summary": summary,
            "run": run,
            "figures": figures,
            "failing": failing,
            "failing_count": failing_count,
            "asked": asked,
            "still_open": still_open,
            "told_at": told_at.map(|at| format!("{at:.3}")),
            "held": held,
            "channels": channels,
        });
        if let Some(record) = record.as_object_mut() {
            record.retain(|key, value| {
                !value.is_null() || !["asked", "still_open"].contains(&&**key)
            });
        }
        record.to_string()
    }

    /// An alert of its columns, by the names of its fields, and its record; none if these can't be read.
    pub fn read(columns: Value, record: &str) -> Option<Self> {
        let mut alert: Value = serde_json::from_str(record).ok()?;
        alert.as_object_mut()?.extend(columns.as_object()?.clone());
        serde_json::from_value(alert).ok()
    }
}

/// Moments as they are shown and stored: to the millisecond.
mod time {
    use jiff::Timestamp;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{at:.3}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }

    pub(super) mod option {
        use super::*;

        pub(in super::super) fn serialize<S: Serializer>(
            at: &Option<Timestamp>,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            match at {
                Some(at) => super::serialize(at, to),
                None => to.serialize_none(),
            }
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<Timestamp>, D::Error> {
            Ok(Option::<String>::deserialize(from)?.and_then(|at| at.parse().ok()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_stable_and_short_enough() {
        let subject =
            Subject::Measure { measure: Measure::RecallAt5, segment: "mode:graph".to_owned() };
        assert_eq!(
            dedup_key("default", "weekly", &subject),
            "gbrain/default/weekly/recall@5/mode:graph"
        );
        let long = Subject::Measure {
            measure: Measure::RecallAt5,
            segment: format!("source:{}", "ä".repeat(300)),
        };
        let other = Subject::Measure {
            measure: Measure::RecallAt5,
            segment: format!("source:{}b", "ä".repeat(300)),
        };
        let [a, b] = [&long, &other].map(|subject| dedup_key("default", "weekly", subject));
        assert!(a.len() <= 255 && a != b, "{a}");
    }

    #[test]
    fn an_alert_survives_its_store() {
        let at: Timestamp = "2026-11-17T12:00:00Z".parse().unwrap();
        let segment = "mode:graph".to_owned();
        let subjects = [
            Subject::Measure { measure: Measure::RecallAt5, segment },
            Subject::Unreachable,
            Subject::Run,
            Subject::Silent,
            Subject::Recalibrate,
        ];
        for subject in subjects {
            let whose = ("default", "weekly", &["@search".to_owned()][..]);
            let alert = Alert {
                key: "gbrain/default/weekly/x".to_owned(),
                target: Some("prod".to_owned()),
                run: Some(7),
                figures: vec![("n".to_owned(), "20".to_owned())],
                failing: vec!["q1".to_owned()],
                failing_count: 3,
                asked: Some(20),
                still_open: Some("run 8 asked 5".to_owned()),
                told_at: Some(at),
                held: true,
                channels: vec!["pager".to_owned()],
                ..Alert::new(whose, subject, Severity::Critical, "it fell".to_owned(), at)
            };
            let columns = json!({
                "key": alert.key, "state": "firing", "severity": "critical", "suite": "weekly",
                "since": "2026-11-17T12:00:00Z", "updated_at": "2026-11-17T12:00:00Z", "silenced": false,
            });
            assert_eq!(Alert::read(columns, &alert.record()), Some(alert));
        }
    }
}
