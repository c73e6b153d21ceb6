//! Who can be told, and how: channels as settings describe them. Secrets are named, never written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Severity;
use crate::suite::Alerting;

/// A channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "AlertChannel")]
pub enum Channel {
    /// PagerDuty's Events API v2.
    Pagerduty {
        /// The variable that holds the routing key.
        routing_key_env: String,
        /// Where events go, if not to PagerDuty itself.
        #[serde(default = "pagerduty_url")]
        url: String,
    },
    /// A webhook that takes what Slack takes.
    Slack {
        /// The variable that holds the address, which is a secret.
        url_env: String,
    },
    /// A webhook of your own, signed.
    Webhook {
        /// The address.
        url: String,
        /// The variable that holds the secret that bodies are signed with.
        secret_env: String,
    },
    /// E-mail.
    Email {
        /// The server.
        host: String,
        /// Its port.
        #[serde(default = "submission")]
        port: u16,
        /// Whether the connection is encrypted, and from when on.
        #[serde(default)]
        tls: Tls,
        /// The variable that holds the user's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        username_env: Option<String>,
        /// The variable that holds the password.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        password_env: Option<String>,
        /// Who it is from.
        from: String,
        /// Who it is for.
        to: Vec<String>,
    },
}

/// Whether a connection to a mail server is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tls {
    /// After the first words.
    #[default]
    Starttls,
    /// From the start.
    Tls,
    /// Not at all; for servers on the same machine.
    None,
}

/// Why a channel can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// It is not of a known form.
    #[error("channel `{name}`: {reason}")]
    Form {
        /// The channel.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A suite names one that is not there.
    #[error("suite `{suite}` tells `{channel}`, and there is no such channel; there are {known}")]
    Unknown {
        /// The suite.
        suite: String,
        /// The channel.
        channel: String,
        /// Those that there are.
        known: String,
    },
}

fn pagerduty_url() -> String {
    "https://events.pagerduty.com/v2/enqueue".to_owned()
}

fn submission() -> u16 {
    587
}

/// The channels of a file.
pub fn channels(
    entries: &BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Channel>, ChannelError> {
    let read = |(name, entry): (&String, &Value)| {
        let wrong = |reason: String| ChannelError::Form { name: name.clone(), reason };
        let channel: Channel =
            serde_json::from_value(entry.clone()).map_err(|error| wrong(error.to_string()))?;
        check(&channel).map_err(|reason| wrong(reason.to_owned()))?;
        Ok((name.clone(), channel))
    };
    entries.iter().map(read).collect()
}

fn check(channel: &Channel) -> Result<(), &'static str> {
    let is_url = |url: &str| url.starts_with("https://") || url.starts_with("http://");
    match channel {
        Channel::Pagerduty { url, .. } | Channel::Webhook { url, .. } if !is_url(url) => {
            Err("its address begins neither with https:// nor with http://")
        }
        Channel::Email { to, .. } if to.is_empty() => {
            Err("it is for nobody; name somebody in `to`")
        }
        Channel::Email { from, to, .. }
            if !to.iter().chain([from]).all(|one| one.contains('@')) =>
        {
            Err("an address has no @")
        }
        _ => Ok(()),
    }
}

/// The channels that are told of an alert of a suite: those for pages where it pages, those for every
/// alert always, and all of them where the suite names none.
pub fn routed(
    alerting: &Alerting,
    severity: Severity,
    known: &BTreeMap<String, Channel>,
) -> Vec<String> {
    let Alerting { page, notify, silent_after_days: _ } = alerting;
    if page.is_empty() && notify.is_empty() {
        return known.keys().cloned().collect();
    }
    let mut names = notify.clone();
    if severity == Severity::Critical {
        names.extend(page.iter().cloned());
    }
    names.sort();
    names.dedup();
    names
}

/// Refuses a suite that tells somebody who is not there.
pub fn known(
    suite: &str,
    alerting: &Alerting,
    channels: &BTreeMap<String, Channel>,
) -> Result<(), ChannelError> {
    let missing =
        alerting.page.iter().chain(&alerting.notify).find(|name| !channels.contains_key(*name));
    match missing {
        None => Ok(()),
        Some(channel) => {
            let known: Vec<&str> = channels.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(ChannelError::Unknown { suite: suite.to_owned(), channel: channel.clone(), known })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<BTreeMap<String, Channel>, String> {
        let entries = serde_json::from_value(value).unwrap();
        channels(&entries).map_err(|error| error.to_string())
    }

    #[test]
    fn channels_of_a_file() {
        let found = read(json!({
            "pd": { "kind": "pagerduty", "routing_key_env": "PD" },
            "chat": { "kind": "slack", "url_env": "CHAT" },
            "own": { "kind": "webhook", "url": "http://127.0.0.1:9", "secret_env": "S" },
            "mail": { "kind": "email", "host": "localhost", "from": "a@b", "to": ["c@d"] },
        }))
        .unwrap();
        assert_eq!(found.len(), 4);
        let Channel::Email { port, tls, .. } = &found["mail"] else { panic!() };
        assert_eq!((*port, *tls), (587, Tls::Starttls));
    }

    #[test]
    fn what_is_no_channel() {
        let refused = |entry: Value, says: &str| {
            let error = read(json!({ "x": entry })).unwrap_err();
            assert!(error.contains(says) && error.contains("`x`"), "{error}");
        };
        refused(json!({ "kind": "pigeon" }), "pigeon");
        refused(json!({ "kind": "slack", "url_env": "X", "colour": 1 }), "colour");
        refused(json!({ "kind": "webhook", "url": "ftp://x", "secret_env": "S" }), "https://");
        refused(json!({ "kind": "email", "host": "h", "from": "a@b", "to": [] }), "nobody");
        refused(json!({ "kind": "email", "host": "h", "from": "ab", "to": ["c@d"] }), "no @");
    }

    #[test]
    fn who_is_told() {
        let known = read(json!({
            "pd": { "kind": "pagerduty", "routing_key_env": "PD" },
            "chat": { "kind": "slack", "url_env": "CHAT" },
        }))
        .unwrap();
        let names = |page: &[&str], notify: &[&str], severity| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let alerting =
                Alerting { page: owned(page), notify: owned(notify), silent_after_days: None };
            routed(&alerting, severity, &known)
        };
        assert_eq!(names(&[], &[], Severity::Error), ["chat", "pd"]);
        assert_eq!(names(&["pd"], &["chat"], Severity::Error), ["chat"]);
        assert_eq!(names(&["pd"], &["chat"], Severity::Critical), ["chat", "pd"]);
        let typo = Alerting { page: vec!["pagr".to_owned()], ..Alerting::default() };
        let error = super::known("weekly", &typo, &known).unwrap_err().to_string();
        assert!(error.contains("chat, pd"), "{error}");
    }
}
