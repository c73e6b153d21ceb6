//! Alerts: their states, the messages about them, and silences.
//!
//! Bodies and payloads contain no page text; a purge replaces the keys of its page in them and
//! changes no state.

pub use gbrain_core::alert::{AlertStatus, DeliveryCounts};
use gbrain_core::id::WorkspaceId;
use gbrain_core::named;
use jiff::Timestamp;

use crate::job::Lease;

/// How far recorded runs have been evaluated for alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AlertCursor {
    /// The last evaluated run; 0 for none.
    pub run: i64,
    /// Number of evaluations. It also increases without new runs, because a suite that stops
    /// running is an alert.
    pub revision: i64,
}

/// The state of the alert with one deduplication key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertState {
    /// 1 to 255 bytes.
    pub dedup_key: String,
    pub state: AlertStatus,
    pub severity: String,
    pub suite: Option<String>,
    /// The time of the last state change.
    pub since: Timestamp,
    /// The time of the last evaluation.
    pub updated_at: Timestamp,
    /// Further details, as JSON without page text.
    pub body: String,
}

/// A snapshot of the alerts of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AlertBoard {
    pub cursor: AlertCursor,
    /// All alerts, including resolved ones, by key.
    pub states: Vec<AlertState>,
}

named! {
    /// The purpose of a message about an alert.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum DeliveryAction {
        Trigger = "trigger",
        Resolve = "resolve",
        Notice = "notice",
    }
}

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum DeliveryState {
        Queued = "queued",
        Sent = "sent",
        Dead = "dead",
    }
}

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// The name of the channel in the configuration: 1 to 200 bytes.
    pub channel: String,
    /// The key of the alert: 1 to 255 bytes. Messages of one channel and key are sent in order.
    pub dedup_key: String,
    pub action: DeliveryAction,
    pub payload: String,
}

/// A queued, sent or dead message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub workspace: WorkspaceId,
    /// Number in the workspace, from 1.
    pub id: i64,
    pub channel: String,
    /// The key of the alert.
    pub dedup_key: String,
    pub action: DeliveryAction,
    pub state: DeliveryState,
    /// Number of attempts. Never decreases: together with the worker it identifies a lease.
    pub attempt: u32,
    /// The earliest time of the next attempt.
    pub run_after: Timestamp,
    /// The current or last sender.
    pub worker: Option<String>,
    /// When the sender's lease ends.
    pub lease_until: Option<Timestamp>,
    pub created_at: Timestamp,
    /// When it was sent or became dead.
    pub ended_at: Option<Timestamp>,
    /// The error of the last attempt.
    pub error: Option<String>,
    pub payload: String,
}

/// A request of a sender for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryClaim {
    /// A name that is unique among running senders.
    pub worker: String,
    /// When the leases on the claimed messages end.
    pub lease_until: Timestamp,
    /// Maximum number of messages.
    pub limit: usize,
    /// The names of channels whose messages are not claimed.
    pub except: Vec<String>,
}

/// The result of queueing a dead message again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequeueMessageOutcome {
    Queued,
    /// No dead message has this number.
    NotDead,
    /// A later message of the same channel and key was already sent.
    Overtaken,
}

/// The result of dropping a queued message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropMessageOutcome {
    /// It is dead now.
    Dropped,
    /// No queued message has this number.
    NotQueued,
    /// It is being sent.
    BeingSent,
}

/// The result of an attempt to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryEnd {
    Sent,
    /// Not sent: try again at the given time.
    Retry {
        at: Timestamp,
        error: String,
    },
    /// Never to be sent: later messages may pass it.
    Dead {
        error: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeliveryFilter {
    pub state: Option<DeliveryState>,
    pub channel: Option<String>,
    pub dedup_key: Option<String>,
    /// Only numbers below this.
    pub before: Option<i64>,
}

/// A period without notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSilence {
    pub starts_at: Timestamp,
    /// The silence ends just before this time.
    pub ends_at: Timestamp,
    /// The matching alerts, the reason and the author (JSON).
    pub body: String,
}

/// A silence with its number, its author and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// Number in the workspace, from 1.
    pub id: i64,
    pub starts_at: Timestamp,
    /// The silence ends just before this time.
    pub ends_at: Timestamp,
    /// The matching alerts, the reason and the author (JSON).
    pub body: String,
}

impl Delivery {
    /// The lease of the sender that claimed it, which is needed to end the attempt.
    pub fn lease(&self) -> Option<Lease> {
        let worker = self.worker.clone().filter(|_| self.lease_until.is_some())?;
        Some(Lease { worker, attempt: self.attempt })
    }
}
