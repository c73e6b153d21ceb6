//! Alerts, messages and silences on the wire: what the store keeps of them and what lists tell.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::alert::{Alert, Known, Severity, Subject};
use crate::suite::measure::Measure;

/// The version of [`AlertRecord`] and [`SilenceRecord`].
pub const ALERT_VERSION: u32 = 1;

/// What an alert is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "AlertSubject")]
pub enum WireSubject {
    /// A measure of a segment.
    Measure {
        /// Which.
        measure: Measure,
        /// Of which cases.
        segment: String,
    },
    /// A target that did not answer.
    Unreachable,
    /// A run that could not say.
    Run,
    /// A suite that does not run.
    Silent,
    /// A reranker that wants a new threshold.
    Recalibrate,
}

/// What the store keeps of an alert beside its key, state and severity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlertRecord {
    /// The version of this form.
    pub schema_version: u32,
    /// What it is about.
    pub subject: WireSubject,
    /// The workspace.
    pub workspace: String,
    /// Who was asked.
    #[serde(default)]
    pub target: Option<String>,
    /// Who looks after it.
    pub owners: Vec<String>,
    /// In a line.
    pub summary: String,
    /// The run that tells of it.
    pub run: Option<i64>,
    /// Figures by name.
    pub figures: Vec<(String, String)>,
    /// Ids of failing cases, a few.
    pub failing: Vec<String>,
    /// How many cases fail.
    pub failing_count: usize,
    /// The most queries that a run asked in which it fired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<usize>,
    /// Why it stays open although a later run found nothing wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub still_open: Option<String>,
    /// When a message about it was last queued.
    pub told_at: Option<String>,
    /// Whether there is something to tell that was kept back.
    pub held: bool,
    /// Who was told that it goes on.
    pub channels: Vec<String>,
}

/// What the store keeps of a silence beside its times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilenceRecord {
    /// The version of this form.
    pub schema_version: u32,
    /// A key, or the beginning of keys and a `*`.
    pub key: String,
    /// Why.
    pub reason: String,
}

/// Alerts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Alerts")]
pub struct AlertsBody {
    /// Those that fire first, then by key.
    pub alerts: Vec<AlertBody>,
    /// Times in which something is not told.
    pub silences: Vec<SilenceBody>,
    /// Messages on their way, in figures.
    pub deliveries: DeliveryFigures,
}

/// An alert.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Alert")]
pub struct AlertBody {
    /// What names it everywhere.
    pub key: String,
    /// `firing` or `resolved`.
    pub state: String,
    /// How bad it is.
    pub severity: String,
    /// The suite.
    pub suite: Option<String>,
    /// Who was asked; null where no run tells of it.
    pub target: Option<String>,
    /// Since when it is in this state.
    pub since: String,
    /// When it was last looked at.
    pub updated_at: String,
    /// When a message about it was last queued, received or not.
    pub told_at: Option<String>,
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
}

/// An alert with its messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlertShown {
    /// The alert.
    pub alert: AlertBody,
    /// Its messages, the newest first.
    pub deliveries: Vec<DeliveryBody>,
}

/// A time in which something is not told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Silence")]
pub struct SilenceBody {
    /// Its number.
    pub id: i64,
    /// A key, or the beginning of keys and a `*`.
    pub key: String,
    /// Why.
    pub reason: String,
    /// From this moment.
    pub from: String,
    /// Until before this one.
    pub until: String,
}

/// Messages in figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryFigures {
    /// To be sent.
    pub queued: u64,
    /// Given up.
    pub dead: u64,
    /// When the oldest that is to be sent was queued.
    pub oldest_queued: Option<String>,
}

/// Messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Deliveries")]
pub struct DeliveriesBody {
    /// The newest first.
    pub deliveries: Vec<DeliveryBody>,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Delivery")]
pub struct DeliveryBody {
    /// Its number.
    pub id: i64,
    /// Where to.
    pub channel: String,
    /// The alert that it is about.
    pub key: String,
    /// `trigger`, `resolve` or `notice`.
    pub action: String,
    /// `queued`, `sent` or `dead`.
    pub state: String,
    /// How often somebody set out to send it.
    pub attempts: u32,
    /// When it was queued.
    pub created_at: String,
    /// When it is tried next; null if it is over.
    pub next_at: Option<String>,
    /// When it was received or given up.
    pub ended_at: Option<String>,
    /// What went wrong last.
    pub error: Option<String>,
    /// In a line.
    pub summary: String,
}

/// What came of sending what was due.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeliveredBody {
    /// Alerts that changed.
    pub changed: usize,
    /// Messages that were received.
    pub sent: usize,
    /// Messages that are tried again later.
    pub failed: usize,
    /// Messages that were given up.
    pub dead: usize,
    /// What went wrong, by message.
    pub errors: Vec<String>,
}

/// What a channel answered to a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelTested {
    /// The channel.
    pub channel: String,
    /// What kind it is.
    pub kind: String,
    /// Whether the message was received.
    pub received: bool,
    /// What the receiver said, or why there is no answer.
    pub answer: String,
}

impl From<&Known> for AlertRecord {
    fn from(known: &Known) -> Self {
        let Known { alert, is_firing: _, since: _, told, held, channels } = known.clone();
        let Alert {
            key: _,
            subject,
            severity: _,
            workspace,
            suite: _,
            target,
            owners,
            summary,
            run,
            figures,
            failing,
            failing_count,
            asked,
            still_open,
        } = alert;
        let subject = match subject {
            Subject::Measure(measure, segment) => WireSubject::Measure { measure, segment },
            Subject::Unreachable => WireSubject::Unreachable,
            Subject::Run => WireSubject::Run,
            Subject::Silent => WireSubject::Silent,
            Subject::Recalibrate => WireSubject::Recalibrate,
        };
        Self {
            schema_version: ALERT_VERSION,
            subject,
            workspace,
            target,
            owners,
            summary,
            run,
            figures,
            failing,
            failing_count,
            asked,
            still_open,
            told_at: told.map(|told| format!("{told:.3}")),
            held,
            channels,
        }
    }
}

/// What the store keeps of an alert outside its record.
#[derive(Debug, Clone, Copy)]
pub struct Kept<'a> {
    /// Its key.
    pub key: &'a str,
    /// Whether it goes on.
    pub is_firing: bool,
    /// How bad it is.
    pub severity: Severity,
    /// The suite.
    pub suite: &'a str,
    /// Since when it is so.
    pub since: Timestamp,
}

impl AlertRecord {
    /// The alert that is meant.
    pub fn known(self, kept: &Kept<'_>) -> Known {
        let Kept { key, is_firing, severity, suite, since } = *kept;
        let Self {
            schema_version: _,
            subject,
            workspace,
            target,
            owners,
            summary,
            run,
            figures,
            failing,
            failing_count,
            asked,
            still_open,
            told_at,
            held,
            channels,
        } = self;
        let subject = match subject {
            WireSubject::Measure { measure, segment } => Subject::Measure(measure, segment),
            WireSubject::Unreachable => Subject::Unreachable,
            WireSubject::Run => Subject::Run,
            WireSubject::Silent => Subject::Silent,
            WireSubject::Recalibrate => Subject::Recalibrate,
        };
        let alert = Alert {
            key: key.to_owned(),
            subject,
            severity,
            workspace,
            suite: suite.to_owned(),
            target,
            owners,
            summary,
            run,
            figures,
            failing,
            failing_count,
            asked,
            still_open,
        };
        let told = told_at.and_then(|told| told.parse().ok());
        Known { alert, is_firing, since, told, held, channels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_survives_its_store() {
        let at: Timestamp = "2026-11-17T12:00:00Z".parse().unwrap();
        let subjects = [
            Subject::Measure(Measure::RecallAt5, "mode:graph".to_owned()),
            Subject::Unreachable,
            Subject::Run,
            Subject::Silent,
            Subject::Recalibrate,
        ];
        for subject in subjects {
            let alert = Alert {
                key: "gbrain/default/weekly/x".to_owned(),
                subject,
                severity: Severity::Critical,
                workspace: "default".to_owned(),
                suite: "weekly".to_owned(),
                target: Some("prod".to_owned()),
                owners: vec!["@search".to_owned()],
                summary: "it fell".to_owned(),
                run: Some(7),
                figures: vec![("n".to_owned(), "20".to_owned())],
                failing: vec!["q1".to_owned()],
                failing_count: 3,
                asked: Some(20),
                still_open: Some("run 8 asked 5".to_owned()),
            };
            let channels = vec!["pager".to_owned()];
            let known =
                Known { alert, is_firing: true, since: at, told: Some(at), held: true, channels };
            let text = serde_json::to_string(&AlertRecord::from(&known)).unwrap();
            let kept = Kept {
                key: &known.alert.key,
                is_firing: true,
                severity: Severity::Critical,
                suite: "weekly",
                since: at,
            };
            let read: AlertRecord = serde_json::from_str(&text).unwrap();
            assert_eq!(read.known(&kept), known);
        }
    }
}
