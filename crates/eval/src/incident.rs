//! Incidents: opened, noted down, resolved, and told.
//!
//! Promises: what people wrote is scrubbed before it is kept. An incident is resolved once, whoever asks;
//! its message is queued after that, so that a process that dies in between tells nobody rather than twice,
//! and [`post`] tells it then.

use gbrain_core::fault::{Fault, FaultKind, chain};
use gbrain_core::format::incident::{
    INCIDENT_VERSION, IncidentBody, IncidentNote, IncidentRecord, Resolution,
};
use gbrain_core::id::WorkspaceId;
use gbrain_core::incident::{Ended, IncidentError, announcement, check, check_resolution};
use gbrain_core::scrub::Scrubber;
use gbrain_store::{DeliveryAction, Incident, IncidentState, NewDelivery, Store, StoreError};
use jiff::Timestamp;

/// Why an incident can't be written down.
#[derive(Debug, thiserror::Error)]
pub enum IncidentProblem {
    /// What was said does not do.
    #[error(transparent)]
    Said(#[from] IncidentError),
    #[error("there is no incident {0} in this workspace")]
    None(i64),
    #[error("incident {0} is resolved already")]
    Over(i64),
    /// It is not over.
    #[error("incident {0} is still open")]
    Open(i64),
    /// Its record can't be read, and is left as it is.
    #[error("the record of incident {0} can't be read")]
    Unreadable(i64),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<IncidentProblem> for Fault {
    fn from(problem: IncidentProblem) -> Self {
        let message = chain(&problem);
        match problem {
            IncidentProblem::Said(_) => Self::usage(message),
            IncidentProblem::None(_) => {
                Self::not_found(message).hint("`gbrain incident list` shows those there are")
            }
            IncidentProblem::Over(_) => Self::new(FaultKind::Conflict, message)
                .hint("`gbrain incident post` tells of it again"),
            IncidentProblem::Open(_) => Self::new(FaultKind::Conflict, message)
                .hint("`gbrain incident resolve` ends it with a root cause, a fix and follow-ups"),
            IncidentProblem::Unreadable(_) => Self::new(FaultKind::Input, message)
                .hint("it may have been written by a newer gbrain"),
            IncidentProblem::Store(error) => error.into(),
        }
    }
}

/// Who writes down, and when.
#[derive(Clone, Copy)]
pub struct Scribe<'a> {
    /// Where incidents are kept.
    pub store: &'a Store,
    pub workspace: &'a WorkspaceId,
    /// What is taken out of texts.
    pub scrubber: &'a Scrubber,
    pub author: &'a str,
    pub now: Timestamp,
}

/// What somebody says of the end of an incident.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    pub root_cause: &'a str,
    pub fix: &'a str,
    /// What is still to do.
    pub follow_ups: &'a [String],
}

impl Scribe<'_> {
    /// Opens an incident with what is known of it; its number.
    pub fn open(&self, title: &str, record: &IncidentRecord) -> Result<i64, IncidentProblem> {
        check("the title", title)?;
        let title = self.clean(title);
        let record = IncidentRecord { schema_version: INCIDENT_VERSION, ..record.clone() };
        Ok(self.store.open_incident(self.workspace, &title, &json(&record), self.now)?)
    }

    /// Adds a note, to one that is over too: what is learnt later belongs there.
    pub fn note(&self, id: i64, text: &str) -> Result<Incident, IncidentProblem> {
        check("the note", text)?;
        self.readable(id)?;
        let note = IncidentNote { at: self.at(), author: self.author(), text: self.clean(text) };
        let edit = |incident: &Incident| edited(incident, |record| record.notes.push(note.clone()));
        let edited = self.store.edit_incident(self.workspace, id, &edit)?;
        edited.ok_or(IncidentProblem::None(id))
    }

    /// Ends an incident.
    pub fn resolve(&self, id: i64, said: &Said<'_>) -> Result<Incident, IncidentProblem> {
        let resolution = Resolution {
            at: self.at(),
            author: self.author(),
            root_cause: self.clean(said.root_cause),
            fix: self.clean(said.fix),
            follow_ups: said.follow_ups.iter().map(|one| self.clean(one)).collect(),
        };
        check_resolution(&resolution)?;
        self.readable(id)?;
        let edit = |incident: &Incident| {
            edited(incident, |record| record.resolution = Some(resolution.clone()))
        };
        let ended = self.store.resolve_incident(self.workspace, id, &edit, self.now)?;
        ended.ok_or(IncidentProblem::Over(id))
    }

    fn readable(&self, id: i64) -> Result<(), IncidentProblem> {
        let found = self.store.incident(self.workspace, id)?.ok_or(IncidentProblem::None(id))?;
        read(&found).map(|_| ()).ok_or(IncidentProblem::Unreadable(id))
    }

    fn at(&self) -> String {
        format!("{:.3}", self.now)
    }

    fn author(&self) -> String {
        self.clean(self.author)
    }

    fn clean(&self, text: &str) -> String {
        self.scrubber.scrub(text.trim()).text
    }
}

/// Queues the message of an incident that is over, one a channel.
pub fn post(
    store: &Store,
    incident: &Incident,
    workspace: &WorkspaceId,
    owners: &[String],
    channels: &[String],
    public_url: Option<&str>,
    now: Timestamp,
) -> Result<(), IncidentProblem> {
    if incident.state == IncidentState::Open {
        return Err(IncidentProblem::Open(incident.id));
    }
    let record = read(incident).ok_or(IncidentProblem::Unreadable(incident.id))?;
    let resolution = record.resolution.ok_or(IncidentProblem::Unreadable(incident.id))?;
    let ended = Ended {
        id: incident.id,
        title: &incident.title,
        workspace: workspace.as_str(),
        suite: record.suite.as_deref().unwrap_or_default(),
        owners,
        run: record.run,
        resolution: &resolution,
    };
    let message = announcement(&ended, public_url);
    let delivery = |channel: &String| NewDelivery {
        channel: channel.clone(),
        dedup_key: message.dedup_key.clone(),
        action: DeliveryAction::Notice,
        payload: json(&message),
    };
    let deliveries: Vec<NewDelivery> = channels.iter().map(delivery).collect();
    if !deliveries.is_empty() {
        store.add_deliveries(workspace, &deliveries, now)?;
    }
    Ok(())
}

/// An incident as it is told.
pub fn told(incident: &Incident) -> IncidentBody {
    let Incident { id, state, opened_at, resolved_at, title, body: _ } = incident;
    IncidentBody {
        id: *id,
        state: state.name().to_owned(),
        title: title.clone(),
        opened_at: format!("{opened_at:.3}"),
        resolved_at: resolved_at.map(|at| format!("{at:.3}")),
        record: read(incident),
        told: Vec::new(),
    }
}

/// The record, if this program can read it.
pub fn read(incident: &Incident) -> Option<IncidentRecord> {
    let record: IncidentRecord = serde_json::from_str(&incident.body).ok()?;
    (record.schema_version == INCIDENT_VERSION).then_some(record)
}

/// The record with a change. One that can't be read stays as it is.
fn edited(incident: &Incident, change: impl Fn(&mut IncidentRecord)) -> String {
    let Some(mut record) = read(incident) else { return incident.body.clone() };
    change(&mut record);
    json(&record)
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our values have text keys only")
}
