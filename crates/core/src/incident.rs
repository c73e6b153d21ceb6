//! Incidents: what must be said when one ends, and how it is told.
//!
//! Promises: an incident ends with a root cause, a fix and what follows, or it does not end. What is told
//! has a key of its own, so that it neither opens nor closes an alert.
//!
//! Deliberately absent: keeping records, and sending.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::alert::{Alert, Message, Severity, Subject};
use crate::format::incident::Resolution;

/// The longest text that is kept of one note, in bytes.
pub const LONGEST: usize = 20_000;

/// Why something can't be written down.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IncidentError {
    /// Something that must be said is not.
    #[error("an incident is not over without {0}")]
    Unsaid(&'static str),
    /// There is nothing in it.
    #[error("{0} is empty")]
    Empty(&'static str),
    /// There is too much in it.
    #[error("{0} has more than {LONGEST} bytes")]
    Long(&'static str),
    /// Nobody describes a channel.
    #[error("there is no channel `{channel}`; there are {known}")]
    Channel {
        channel: String,
        /// Those that there are.
        known: String,
    },
}

/// Refuses what is empty or too long.
pub fn check(what: &'static str, text: &str) -> Result<(), IncidentError> {
    match text {
        _ if text.trim().is_empty() => Err(IncidentError::Empty(what)),
        _ if text.len() > LONGEST => Err(IncidentError::Long(what)),
        _ => Ok(()),
    }
}

/// Refuses an end that leaves open what the next reader wants to know.
pub fn check_resolution(resolution: &Resolution) -> Result<(), IncidentError> {
    let Resolution { root_cause, fix, follow_ups, at: _, author: _ } = resolution;
    let said = [(root_cause, "a root cause"), (fix, "a fix")];
    if let Some((_, what)) = said.iter().find(|(text, _)| text.trim().is_empty()) {
        return Err(IncidentError::Unsaid(what));
    }
    if follow_ups.iter().all(|one| one.trim().is_empty()) {
        return Err(IncidentError::Unsaid("follow-ups, or `none` said as one"));
    }
    let mut all = said.iter().map(|(text, _)| *text).chain(follow_ups);
    all.try_for_each(|text| check("the resolution", text))
}

/// Who is told that an incident is over: those that were named, else those that the suite tells of every
/// alert, else all that wake nobody.
pub fn told(
    named: &[String],
    notify: &[String],
    known: &BTreeMap<String, Value>,
) -> Result<Vec<String>, IncidentError> {
    let wakes = |channel: &Value| channel["kind"] == "pagerduty";
    if let Some(channel) = named.iter().find(|name| !known.contains_key(*name)) {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(IncidentError::Channel { channel: channel.clone(), known });
    }
    let mut told: Vec<String> = match (named.is_empty(), notify.is_empty()) {
        (false, _) => named.to_vec(),
        (true, false) => notify.to_vec(),
        (true, true) => {
            known.iter().filter(|(_, one)| !wakes(one)).map(|(name, _)| name.clone()).collect()
        }
    };
    told.sort();
    told.dedup();
    Ok(told)
}

/// An incident that is over, and whom it is told of.
#[derive(Debug, Clone, Copy)]
pub struct Ended<'a> {
    pub id: i64,
    /// What it was about.
    pub title: &'a str,
    pub workspace: &'a str,
    /// The suite, where it was about one.
    pub suite: &'a str,
    /// Who looks after it.
    pub owners: &'a [String],
    pub run: Option<i64>,
    pub resolution: &'a Resolution,
}

/// What is told of an incident that is over: root cause, fix and what follows.
pub fn announcement(ended: &Ended<'_>, public_url: Option<&str>) -> Message {
    let Ended { id, title, workspace, suite, owners, run, resolution } = *ended;
    let Resolution { at, author, root_cause, fix, follow_ups } = resolution;
    let mut figures =
        vec![("root cause".to_owned(), root_cause.clone()), ("fix".to_owned(), fix.clone())];
    figures.extend(follow_ups.iter().map(|one| ("follow-up".to_owned(), one.clone())));
    figures.push(("by".to_owned(), author.clone()));
    let summary = format!("incident {id} is resolved: {title}");
    let whose = (workspace, suite, owners);
    let alert = Alert {
        key: format!("gbrain/{workspace}/incident/{id}"),
        run,
        figures,
        ..Alert::new(whose, Subject::Run, Severity::Info, summary, Timestamp::UNIX_EPOCH)
    };
    let message = Message::new(&alert, "notice", at.clone(), public_url);
    Message { command: format!("gbrain --workspace {workspace} incident show {id}"), ..message }
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
    fn what_must_be_said() {
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
    fn who_is_told() {
        let known = serde_json::from_value(serde_json::json!({
            "pd": { "kind": "pagerduty" }, "chat": { "kind": "slack" }, "mail": { "kind": "email" },
        }))
        .unwrap();
        let names = |named: &[&str], notify: &[&str]| {
            let owned =
                |names: &[&str]| names.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
            told(&owned(named), &owned(notify), &known)
        };
        assert_eq!(names(&[], &[]).unwrap(), ["chat", "mail"], "nobody is woken");
        assert_eq!(names(&[], &["mail"]).unwrap(), ["mail"]);
        assert_eq!(names(&["pd", "chat"], &["mail"]).unwrap(), ["chat", "pd"]);
        let error = names(&["chta"], &[]).unwrap_err().to_string();
        assert!(error.contains("chat, mail, pd"), "{error}");
    }

    #[test]
    fn what_is_told() {
        let resolution = resolution("a shard was lost", "restored it", &["watch it", "test it"]);
        let ended = Ended {
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
