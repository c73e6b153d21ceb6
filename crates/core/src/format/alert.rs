//! Alerts, messages and silences on the wire: what the store keeps of them and what lists tell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::alert::Alert;

/// What the store keeps of a silence beside its times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilenceRecord {
    /// The version of this form.
    pub schema_version: u32,
    /// A key, or the beginning of keys and a `*`.
    pub key: String,
    pub reason: String,
}

/// Alerts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Alerts")]
pub struct AlertsBody {
    /// Those that fire first, then by key.
    pub alerts: Vec<Alert>,
    /// Times in which something is not told.
    pub silences: Vec<SilenceBody>,
    /// Messages on their way, in figures.
    pub deliveries: DeliveryFigures,
}

/// An alert with its messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlertShown {
    /// The alert.
    pub alert: Alert,
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
