//! Alerts: from runs and missing runs to notifications and recoveries.
//!
//! ```text
//! stored run ─▶ breaches ─▶ compared with firing alerts ─▶ changes ─▶ messages, one per channel
//! ```
//!
//! Guarantees: one key identifies one subject (workspace, suite, measure, segment) everywhere, so a
//! receiver deduplicates repeats and a recovery closes the incident that a trigger opened. One
//! cause is one alert: a measure over all cases and of a mode with the same missed cases, or the
//! outage behind several measures. Only a run with a verdict that measured the subject without a
//! breach, with at least as many queries as the runs that fired, resolves an alert; otherwise the
//! alert states why it stays open. A run that did not measure the subject, queried another target,
//! or was cancelled changes nothing. A silence holds notifications, never the state; held
//! notifications are sent when it ends. Messages contain no query text unless the settings allow
//! it.
//!
//! Not here: sending, the clock, and channel addresses.

pub mod channel;
mod decide;
pub mod export;
mod message;
pub mod metrics;
mod sign;

pub use decide::{
    AlertChange, AlertStates, EvaluatedRun, LastRun, NotifyPolicy, check_overdue, close_alert,
    decide, release_held, resolve_withdrawn, unreadable,
};
pub use message::{AlertMessage, email, pagerduty, slack, webhook};
pub use sign::{signature, verify_signature};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::named;
use crate::suite::measure::SuiteMeasure;

/// Schema version of stored alerts and silences.
pub const ALERT_VERSION: u32 = 1;

named! {
    /// Whether an alert is firing.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum AlertStatus {
        Firing = "firing",
        Resolved = "resolved",
    }
}

named! {
    /// The severity of an alert.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum AlertSeverity {
        Info = "info",
        Warning = "warning",
        Error = "error",
        /// Pages the on-call engineer.
        Critical = "critical",
    }
}

/// The subject of an alert.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertSubject {
    /// A measure breaches its alert threshold.
    Measure { measure: SuiteMeasure, segment: String },
    /// The target did not answer, which made measures breach.
    Unreachable,
    /// A run was inconclusive.
    Run,
    /// The suite has not run for days.
    Silent,
    /// Recall or precision fell for several weeks in a row: recalibrate the reranker.
    Recalibrate,
}

impl AlertSubject {
    /// The subject's part of the key.
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

/// The deduplication key of an alert: at most 255 bytes, PagerDuty's limit.
pub fn dedup_key(workspace: &str, suite: &str, subject: &AlertSubject) -> String {
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

/// An alert: its subject, state and notifications.
///
/// Its JSON is the list format. The store keeps the lookup fields as columns and the rest as a
/// [record](Alert::record).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "An alert.")]
pub struct Alert {
    /// Deduplication key of the alert.
    pub key: String,
    /// State: `firing` or `resolved`.
    #[schemars(with = "String")]
    pub state: AlertStatus,
    /// Severity of the alert.
    #[schemars(with = "String")]
    pub severity: AlertSeverity,
    /// Name of the suite.
    #[schemars(with = "Option<String>")]
    pub suite: String,
    /// Name of the target; null if the alert has no run.
    pub target: Option<String>,
    /// Start of the current state.
    #[serde(with = "time")]
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// Time of the last evaluation.
    #[serde(with = "time")]
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
    /// When a message about it was last queued, delivered or not.
    #[serde(with = "time::option", alias = "told_at")]
    #[schemars(with = "Option<String>")]
    pub notified_at: Option<Timestamp>,
    /// Whether a silence holds its notifications now.
    pub silenced: bool,
    /// One-line summary; empty if the stored record cannot be read.
    pub summary: String,
    /// Owners of the suite.
    pub owners: Vec<String>,
    /// Id of the run that fired or resolved it.
    pub run: Option<i64>,
    /// Figures of the alert as name and value.
    pub figures: Vec<(String, String)>,
    /// Number of failing cases.
    pub failing_count: usize,
    /// Query ids of the first failing cases.
    pub failing: Vec<String>,
    /// Largest number of queries in a run that fired it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<usize>,
    /// Why it stays open although a later run found no breach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub still_open: Option<String>,
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub subject: AlertSubject,
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub workspace: String,
    /// Whether a notification is held: by a silence, or because no channel was available.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub held: bool,
    /// Channels that were notified of the firing; they are notified of the recovery too.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub channels: Vec<String>,
}

impl Alert {
    /// An alert that starts firing now, without a run.
    pub fn new(
        (workspace, suite, owners): (&str, &str, &[String]),
        subject: AlertSubject,
        severity: AlertSeverity,
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
            notified_at: None,
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

    pub fn is_firing(&self) -> bool {
        self.state == AlertStatus::Firing
    }

    /// The fields that the store has no columns for.
    pub fn record(&self) -> String {
        let Self {
            key: _,
            state: _,
            severity: _,
            suite: _,
            target,
            since: _,
            updated_at: _,
            notified_at,
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
            "notified_at": notified_at.map(|at| format!("{at:.3}")),
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

    /// Restores an alert from its columns, by field name, and its record; none if these cannot be
    /// read.
    pub fn read(columns: Value, record: &str) -> Option<Self> {
        let mut alert: Value = serde_json::from_str(record).ok()?;
        alert.as_object_mut()?.extend(columns.as_object()?.clone());
        serde_json::from_value(alert).ok()
    }
}

/// Counts of undelivered messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeliveryFigures")]
pub struct DeliveryCounts {
    pub queued: u64,
    pub dead: u64,
    /// When the oldest queued message was queued.
    #[serde(with = "time::option")]
    #[schemars(with = "Option<String>")]
    pub oldest_queued: Option<Timestamp>,
}

/// Outcomes of delivery attempts, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryTally {
    /// Number of delivered messages.
    pub sent: usize,
    /// Number of messages to retry later.
    pub failed: usize,
    /// Number of dropped messages.
    pub dead: usize,
}

/// Timestamps with millisecond precision.
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
        let subject = AlertSubject::Measure {
            measure: SuiteMeasure::RecallAt5,
            segment: "mode:graph".to_owned(),
        };
        assert_eq!(
            dedup_key("default", "weekly", &subject),
            "gbrain/default/weekly/recall@5/mode:graph"
        );
        let long = AlertSubject::Measure {
            measure: SuiteMeasure::RecallAt5,
            segment: format!("source:{}", "ä".repeat(300)),
        };
        let other = AlertSubject::Measure {
            measure: SuiteMeasure::RecallAt5,
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
            AlertSubject::Measure { measure: SuiteMeasure::RecallAt5, segment },
            AlertSubject::Unreachable,
            AlertSubject::Run,
            AlertSubject::Silent,
            AlertSubject::Recalibrate,
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
                notified_at: Some(at),
                held: true,
                channels: vec!["pager".to_owned()],
                ..Alert::new(whose, subject, AlertSeverity::Critical, "it fell".to_owned(), at)
            };
            let columns = json!({
                "key": alert.key, "state": "firing", "severity": "critical", "suite": "weekly",
                "since": "2026-11-17T12:00:00Z", "updated_at": "2026-11-17T12:00:00Z", "silenced": false,
            });
            assert_eq!(Alert::read(columns, &alert.record()), Some(alert));
        }
    }
}
