//! Alerts: what is wrong now, what is on its way to people, and when not to tell.
//!
//! Bodies and payloads hold no text of pages; a purge replaces the keys of its page in them and changes no state.

pub use gbrain_core::alert::AlertStatus;
use gbrain_core::id::WorkspaceId;
use gbrain_core::named;
use jiff::Timestamp;

use crate::job::Lease;

/// How far runs have been looked at for alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AlertCursor {
    /// The last run that was looked at; 0 for none.
    pub run: i64,
    /// How often somebody looked. It moves also when nothing was run: silence can be an alert.
    pub revision: i64,
}

/// An alert under the key that stands for it everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertState {
    /// Its key: 1 to 255 bytes.
    pub dedup_key: String,
    /// Whether it is on.
    pub state: AlertStatus,
    /// How bad it is.
    pub severity: String,
    /// The suite it is about.
    pub suite: Option<String>,
    /// Since when it is in this state.
    pub since: Timestamp,
    /// When it was last looked at.
    pub updated_at: Timestamp,
    /// What else is known of it (JSON).
    pub body: String,
}

/// The alerts of a workspace at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AlertBoard {
    /// How far runs have been looked at.
    pub cursor: AlertCursor,
    /// The alerts, those that are over too, by key.
    pub states: Vec<AlertState>,
}

/// What a message says of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeliveryAction {
    Trigger,
    Resolve,
    Notice,
}

named! { DeliveryAction { Trigger = "trigger", Resolve = "resolve", Notice = "notice" } }

/// Where a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeliveryState {
    Queued,
    Sent,
    Dead,
}

named! { DeliveryState { Queued = "queued", Sent = "sent", Dead = "dead" } }

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// Where to, as the configuration names it: 1 to 200 bytes.
    pub channel: String,
    /// The alert that it is about: 1 to 255 bytes. Messages of a channel and a key keep their order.
    pub dedup_key: String,
    pub action: DeliveryAction,
    pub payload: String,
}

/// A message on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub workspace: WorkspaceId,
    /// Its number, from 1.
    pub id: i64,
    pub channel: String,
    /// The alert that it is about.
    pub dedup_key: String,
    pub action: DeliveryAction,
    pub state: DeliveryState,
    /// How often somebody set out to send it. Never goes back: together with the worker it names a
    /// lease.
    pub attempt: u32,
    /// When it may be sent.
    pub run_after: Timestamp,
    /// Who sends it or did last.
    pub worker: Option<String>,
    /// Until when the worker has it.
    pub lease_until: Option<Timestamp>,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When it was received or given up.
    pub ended_at: Option<Timestamp>,
    /// What went wrong last.
    pub error: Option<String>,
    pub payload: String,
}

/// A sender that wants messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryClaim {
    /// Its name, of one running sender only.
    pub worker: String,
    /// Until when it has what it gets.
    pub lease_until: Timestamp,
    /// How many at most.
    pub limit: usize,
    /// Channels that it wants nothing of now.
    pub except: Vec<String>,
}

/// What became of a wish to send a message again that was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Requeued {
    /// It is to be sent.
    Queued,
    /// There is no message of this number that was given up.
    NotDead,
    /// A later one of the same channel and key was sent: it would come too late.
    Overtaken,
}

/// What became of a wish not to send a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dropped {
    /// It is given up.
    Dropped,
    /// There is no message of this number that is queued.
    NotQueued,
    /// Somebody is sending it.
    OnTheWay,
}

/// What became of an attempt to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryEnd {
    Sent,
    /// It was not: try again at a time.
    Retry {
        at: Timestamp,
        error: String,
    },
    /// It will never be: let those behind it pass.
    Dead {
        error: String,
    },
}

/// Which messages to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeliveryFilter {
    /// In this state only.
    pub state: Option<DeliveryState>,
    /// Of this channel only.
    pub channel: Option<String>,
    /// Of this alert only.
    pub dedup_key: Option<String>,
    /// With a lower number than this.
    pub before: Option<i64>,
}

/// Messages in figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeliveryCounts {
    pub queued: u64,
    pub dead: u64,
    /// When the oldest that is to be sent was queued.
    pub oldest_queued: Option<Timestamp>,
}

/// A time in which something is not told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSilence {
    pub starts_at: Timestamp,
    /// Until before this one.
    pub ends_at: Timestamp,
    /// What is not told, why and by whom (JSON).
    pub body: String,
}

/// A silence that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// Its number, from 1.
    pub id: i64,
    pub starts_at: Timestamp,
    /// Until before this one.
    pub ends_at: Timestamp,
    /// What is not told, why and by whom (JSON).
    pub body: String,
}

impl Delivery {
    /// The right of whoever claimed it to say what became of it.
    pub fn lease(&self) -> Option<Lease> {
        let worker = self.worker.clone().filter(|_| self.lease_until.is_some())?;
        Some(Lease { worker, attempt: self.attempt })
    }
}
