//! Incidents: the required parts of a resolution, and the message that announces it.
//!
//! Guarantees: an incident cannot be resolved without a root cause, a fix and follow-ups. The
//! announcement has its own dedup key, so it neither opens nor closes an alert.
//!
//! Not here: storing incidents and sending messages.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::alert::{Alert, AlertMessage, AlertSeverity, AlertSubject};
use crate::format::incident::Resolution;

/// Maximum size of one text, in bytes.
pub const LONGEST: usize = 20_000;

/// Why an incident record is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IncidentError {
    /// A required part of the resolution is missing.
    #[error("an incident cannot be resolved without {0}")]
    Unsaid(&'static str),
    /// A text is empty.
    #[error("{0} is empty")]
    Empty(&'static str),
    /// A text is too long.
    #[error("{0} has more than {LONGEST} bytes")]
    Long(&'static str),
    /// A channel is not configured.
    #[error("unknown channel `{channel}`; configured channels: {known}")]
    Channel { channel: String, known: String },
}

/// Rejects a text that is empty or too long.
pub fn check(what: &'static str, text: &str) -> Result<(), IncidentError> {
    match text {
        _ if text.trim().is_empty() => Err(IncidentError::Empty(what)),
        _ if text.len() > LONGEST => Err(IncidentError::Long(what)),
        _ => Ok(()),
    }
}

/// Rejects a resolution without a root cause, a fix or follow-ups.
pub fn check_resolution(resolution: &Resolution) -> Result<(), IncidentError> {
    let Resolution { root_cause, fix, follow_ups, at: _, author: _ } = resolution;
    let required = [(root_cause, "a root cause"), (fix, "a fix")];
    if let Some((_, what)) = required.iter().find(|(text, _)| text.trim().is_empty()) {
        return Err(IncidentError::Unsaid(what));
    }
    if follow_ups.iter().all(|one| one.trim().is_empty()) {
        return Err(IncidentError::Unsaid("follow-ups (use `none` if there are none)"));
    }
    let mut all = required.iter().map(|(text, _)| *text).chain(follow_ups);
    all.try_for_each(|text| check("the resolution", text))
}

/// The channels to notify of a resolved incident: the named ones, else those that the suite
/// notifies of every alert, else every channel that does not page.
pub fn notified_channels(
    named: &[String],
    notify: &[String],
    known: &BTreeMap<String, Value>,
) -> Result<Vec<String>, IncidentError> {
    let pages = |channel: &Value| channel["kind"] == "pagerduty";
    if let Some(channel) = named.iter().find(|name| !known.contains_key(*name)) {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(IncidentError::Channel { channel: channel.clone(), known });
    }
    let mut channels: Vec<String> = match (named.is_empty(), notify.is_empty()) {
        (false, _) => named.to_vec(),
        (true, false) => notify.to_vec(),
        (true, true) => known
            .iter()
            .filter(|(_, channel)| !pages(channel))
            .map(|(name, _)| name.clone())
            .collect(),
    };
    channels.sort();
    channels.dedup();
    Ok(channels)
}

/// A resolved incident with its resolution.
#[derive(Debug, Clone, Copy)]
pub struct ResolvedIncident<'a> {
    pub id: i64,
    pub title: &'a str,
    pub workspace: &'a str,
    /// The suite; empty if the incident is not about one.
    pub suite: &'a str,
    pub owners: &'a [String],
    pub run: Option<i64>,
    pub resolution: &'a Resolution,
}

/// The message that announces a resolution: root cause, fix and follow-ups.
pub fn announcement(ended: &ResolvedIncident<'_>, public_url: Option<&str>) -> AlertMessage {
    let ResolvedIncident { id, title, workspace, suite, owners, run, resolution } = *ended;
    let Resolution { at, author, root_cause, fix, follow_ups } = resolution;
    let mut figures =
        vec![("root cause".to_owned(), root_cause.clone()), ("fix".to_owned(), fix.clone())];
    figures.extend(follow_ups.iter().map(|one| ("follow-up".to_owned(), one.clone())));
    figures.push(("by".to_owned(), author.clone()));
    let summary = format!("incident {id} is resolved: {title}");
    let owner = (workspace, suite, owners);
    let alert = Alert {
        key: format!("gbrain/{workspace}/incident/{id}"),
        run,
        figures,
        ..Alert::new(owner, AlertSubject::Run, AlertSeverity::Info, summary, Timestamp::UNIX_EPOCH)
    };
    let message = AlertMessage::new(&alert, "notice", at.clone(), public_url);
    AlertMessage {
        command: format!("gbrain --workspace {workspace} incident show {id}"),
        ..message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolution(root_cause: &str, fix: &str, follow_ups: &[&str]) -> Resolution {
        Resolution {
            at: "2026-11-17T12:00:00Z".to_owned(),
            author: "ada".to_owned(),
            root_cause: root_cause.to_owned(),
            fix: fix.to_owned(),
            follow_ups: follow_ups.iter().map(|one| (*one).to_owned()).collect(),
        }
    }

    #[test]
    fn a_resolution_needs_all_parts() {
        let check = |cause: &str, fix: &str, then: &[&str], says: Option<&str>| {
            let told = check_resolution(&resolution(cause, fix, then)).err();
            let told = told.map(|error| error.to_string());
            assert_eq!(told.is_some(), says.is_some(), "{told:?}");
            assert!(told.unwrap_or_default().contains(says.unwrap_or_default()));
        };
        check("a", "b", &["c"], None);
        check(" ", "b", &["c"], Some("root cause"));
        check("a", "", &["c"], Some("fix"));
        check("a", "b", &[], Some("follow-ups"));
        check("a", "b", &[&"c".repeat(LONGEST + 1)], Some("more than"));
    }

    #[test]
    fn channels_that_are_notified() {
        let known = serde_json::from_value(serde_json::json!({
            "pd": { "kind": "pagerduty" }, "chat": { "kind": "slack" }, "mail": { "kind": "email" },
        }))
        .unwrap();
        let names = |named: &[&str], notify: &[&str]| {
            let owned =
                |names: &[&str]| names.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
            notified_channels(&owned(named), &owned(notify), &known)
        };
        assert_eq!(names(&[], &[]).unwrap(), ["chat", "mail"], "channels that page are excluded");
        assert_eq!(names(&[], &["mail"]).unwrap(), ["mail"]);
        assert_eq!(names(&["pd", "chat"], &["mail"]).unwrap(), ["chat", "pd"]);
        let error = names(&["chta"], &[]).unwrap_err().to_string();
        assert!(error.contains("chat, mail, pd"), "{error}");
    }

    #[test]
    fn the_announcement() {
        let resolution = resolution("a shard was lost", "restored it", &["watch it", "test it"]);
        let ended = ResolvedIncident {
            id: 3,
            title: "recall fell",
            workspace: "team-a",
            suite: "weekly",
            owners: &[],
            run: Some(7),
            resolution: &resolution,
        };
        let told = announcement(&ended, Some("https://brain.example"));
        assert_eq!(told.dedup_key, "gbrain/team-a/incident/3");
        assert_eq!((&*told.action, told.figures.len()), ("notice", 5));
        assert_eq!(told.link.as_deref(), Some("https://brain.example/v1/suite-runs/7"));
        assert_eq!(told.command, "gbrain --workspace team-a incident show 3");
    }
}
