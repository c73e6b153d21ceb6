//! Incidents: the record of a problem from the first alert to its root cause and fix.

use gbrain_core::named;
use jiff::Timestamp;

named! {
    /// The state of an incident.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum IncidentState {
        Open = "open",
        Resolved = "resolved",
    }
}

/// An incident with its state and its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// Number in the workspace, from 1.
    pub id: i64,
    pub state: IncidentState,
    pub opened_at: Timestamp,
    pub resolved_at: Option<Timestamp>,
    pub title: String,
    /// Its record (JSON). No page text; a purge replaces the keys of its page in it.
    pub body: String,
}
