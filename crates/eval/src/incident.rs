//! Opens incidents, adds notes, resolves them and queues their messages.
//!
//! Promises: text written by people is scrubbed before it is stored. An incident is resolved once,
//! even if two callers try. Its message is queued afterwards, so a crash in between loses the
//! message instead of sending it twice; [`post`] queues it again.

use gbrain_core::fault::{Fault, FaultKind, chain};
use gbrain_core::format::incident::{
    INCIDENT_VERSION, IncidentBody, IncidentNote, IncidentRecord, Resolution,
};
use gbrain_core::id::WorkspaceId;
use gbrain_core::incident::{
    IncidentError, ResolvedIncident, announcement, check, check_resolution,
};
use gbrain_core::scrub::Scrubber;
use gbrain_store::{DeliveryAction, Incident, IncidentState, NewDelivery, Store, StoreError};
use jiff::Timestamp;

#[derive(Debug, thiserror::Error)]
pub enum IncidentProblem {
    /// A text is empty, too long or otherwise invalid.
    #[error(transparent)]
    Invalid(#[from] IncidentError),
    #[error("there is no incident {0} in this workspace")]
    None(i64),
    #[error("incident {0} is resolved already")]
    Over(i64),
    /// The incident is still open.
    #[error("incident {0} is still open")]
    Open(i64),
    /// The record cannot be parsed, and stays unchanged.
    #[error("the record of incident {0} can't be read")]
    Unreadable(i64),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<IncidentProblem> for Fault {
    fn from(problem: IncidentProblem) -> Self {
        let message = chain(&problem);
        match problem {
            IncidentProblem::Invalid(_) => Self::usage(message),
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

/// Writes incidents of one workspace in the name of an author.
#[derive(Clone, Copy)]
pub struct IncidentEditor<'a> {
    pub store: &'a Store,
    pub workspace: &'a WorkspaceId,
    pub scrubber: &'a Scrubber,
    pub author: &'a str,
    pub now: Timestamp,
}

/// The author's account of how an incident ended.
#[derive(Debug, Clone, Copy)]
pub struct ResolutionText<'a> {
    pub root_cause: &'a str,
    pub fix: &'a str,
    pub follow_ups: &'a [String],
}

impl IncidentEditor<'_> {
    /// Opens an incident and returns its number.
    pub fn open(&self, title: &str, record: &IncidentRecord) -> Result<i64, IncidentProblem> {
        check("the title", title)?;
        let title = self.clean(title);
        let record = IncidentRecord { schema_version: INCIDENT_VERSION, ..record.clone() };
        Ok(self.store.open_incident(self.workspace, &title, &json(&record), self.now)?)
    }

    /// Adds a note, also to a resolved incident.
    pub fn note(&self, id: i64, text: &str) -> Result<Incident, IncidentProblem> {
        check("the note", text)?;
        self.readable(id)?;
        let note = IncidentNote { at: self.at(), author: self.author(), text: self.clean(text) };
        let edit = |incident: &Incident| edited(incident, |record| record.notes.push(note.clone()));
        let edited = self.store.edit_incident(self.workspace, id, &edit)?;
        edited.ok_or(IncidentProblem::None(id))
    }

    /// Resolves an incident with its root cause, fix and follow-ups.
    pub fn resolve(
        &self,
        id: i64,
        resolution_text: &ResolutionText<'_>,
    ) -> Result<Incident, IncidentProblem> {
        let resolution = Resolution {
            at: self.at(),
            author: self.author(),
            root_cause: self.clean(resolution_text.root_cause),
            fix: self.clean(resolution_text.fix),
            follow_ups: resolution_text.follow_ups.iter().map(|one| self.clean(one)).collect(),
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

/// Queues the message of a resolved incident, one per channel.
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
    let ended = ResolvedIncident {
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

/// An incident as `--json` and the API show it.
pub fn incident_body(incident: &Incident) -> IncidentBody {
    let Incident { id, state, opened_at, resolved_at, title, body: _ } = incident;
    IncidentBody {
        id: *id,
        state: state.name().to_owned(),
        title: title.clone(),
        opened_at: format!("{opened_at:.3}"),
        resolved_at: resolved_at.map(|at| format!("{at:.3}")),
        record: read(incident),
        notified: Vec::new(),
    }
}

/// The record, if this version can parse it.
pub fn read(incident: &Incident) -> Option<IncidentRecord> {
    let record: IncidentRecord = serde_json::from_str(&incident.body).ok()?;
    (record.schema_version == INCIDENT_VERSION).then_some(record)
}

/// The record with a change. An unreadable record stays unchanged.
fn edited(incident: &Incident, change: impl Fn(&mut IncidentRecord)) -> String {
    let Some(mut record) = read(incident) else { return incident.body.clone() };
    change(&mut record);
    json(&record)
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our values have text keys only")
}
