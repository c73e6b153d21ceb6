//! Alerts, messages and silences on the wire: stored records and list bodies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::alert::{Alert, DeliveryCounts, DeliveryTally};

/// The stored part of a silence, without its times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilenceRecord {
    /// Version of this format.
    pub schema_version: u32,
    /// An alert key, or a key prefix followed by `*`.
    pub key: String,
    pub reason: String,
}

/// All alerts of a workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Alerts")]
pub struct AlertsBody {
    /// Firing alerts first, then by key.
    pub alerts: Vec<Alert>,
    pub silences: Vec<SilenceBody>,
    /// Counts of undelivered messages.
    pub deliveries: DeliveryCounts,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AlertShown")]
pub struct AlertWithDeliveries {
    pub alert: Alert,
    /// Its messages, newest first.
    pub deliveries: Vec<DeliveryBody>,
}

/// A period in which an alert sends no messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Silence")]
pub struct SilenceBody {
    pub id: i64,
    /// An alert key, or a key prefix followed by `*`.
    pub key: String,
    pub reason: String,
    /// Start of the period.
    pub from: String,
    /// End of the period, exclusive.
    pub until: String,
}

/// A list of alert messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Deliveries")]
pub struct DeliveriesBody {
    /// The messages, newest first.
    pub deliveries: Vec<DeliveryBody>,
}

/// A page of alert messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeliveryPage")]
pub struct DeliveryPageBody {
    /// The messages, newest first.
    pub deliveries: Vec<DeliveryBody>,
    /// Cursor of the next page: messages with a lower number than this.
    pub next_before: Option<i64>,
}

/// An alert that was resolved by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ClosedAlert")]
pub struct ClosedAlertBody {
    pub key: String,
    /// Always `resolved` in this body.
    pub state: String,
    /// Channels for which a message was queued.
    pub notified: Vec<String>,
}

/// A silence that was ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EndedSilence")]
pub struct EndedSilenceBody {
    pub id: i64,
    /// Always true in this body.
    pub ended: bool,
}

/// A message about an alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Delivery")]
pub struct DeliveryBody {
    pub id: i64,
    pub channel: String,
    /// Key of the alert.
    pub key: String,
    /// `trigger`, `resolve` or `notice`.
    pub action: String,
    /// `queued`, `sent` or `dead`.
    pub state: String,
    pub attempts: u32,
    pub created_at: String,
    /// Time of the next attempt; null when there is none.
    pub next_at: Option<String>,
    /// When it was delivered or dropped.
    pub ended_at: Option<String>,
    /// The most recent error.
    pub error: Option<String>,
    /// One-line text of the message.
    pub summary: String,
}

/// Outcome of delivering the due messages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeliveredBody")]
pub struct DeliveryRunBody {
    /// Number of alerts that changed.
    pub changed: usize,
    #[serde(flatten)]
    pub attempts: DeliveryTally,
    /// Errors, one per message.
    pub errors: Vec<String>,
}

/// Reply of a channel to a test message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ChannelTested")]
pub struct ChannelTestBody {
    pub channel: String,
    pub kind: String,
    /// Whether the channel accepted the message.
    pub received: bool,
    /// The reply, or why there is none.
    pub answer: String,
}
