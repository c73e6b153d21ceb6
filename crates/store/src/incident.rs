//! Incidents: what went wrong, what was done, and how it ended.

use gbrain_core::named;
use jiff::Timestamp;

/// Where an incident is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IncidentState {
    /// Somebody is at it.
    Open,
    Resolved,
}

named! { IncidentState { Open = "open", Resolved = "resolved" } }

/// An incident that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// Its number, from 1.
    pub id: i64,
    pub state: IncidentState,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it was resolved.
    pub resolved_at: Option<Timestamp>,
    /// What it is about.
    pub title: String,
    /// Its record (JSON). No text of pages; a purge replaces the keys of its page in it.
    pub body: String,
}
