//! Alert channels as the settings define them. Settings name environment variables that hold
//! secrets, never the secrets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::AlertSeverity;
use crate::address::{self, AddressError};
use crate::reading::plain::plain;
use crate::suite::AlertRouting;
use crate::variable;

/// A channel that receives alert messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "AlertChannel")]
pub enum Channel {
    /// PagerDuty's Events API v2.
    Pagerduty {
        /// Environment variable with the routing key.
        routing_key_env: String,
        /// URL of the events API, if not PagerDuty's own.
        #[serde(default = "pagerduty_url")]
        url: String,
    },
    /// An incoming webhook in Slack's format.
    Slack {
        /// Environment variable with the webhook URL, which is a secret.
        url_env: String,
    },
    /// A generic webhook with signed bodies.
    Webhook {
        /// URL of the webhook.
        url: String,
        /// Environment variable with the secret that signs bodies.
        secret_env: String,
    },
    /// E-mail through an SMTP server.
    Email {
        /// Host name of the SMTP server.
        host: String,
        /// Port of the SMTP server.
        #[serde(default = "submission")]
        port: u16,
        /// Encryption of the connection.
        #[serde(default)]
        tls: Tls,
        /// Environment variable with the user name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        username_env: Option<String>,
        /// Environment variable with the password.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        password_env: Option<String>,
        /// Address of the sender.
        from: String,
        /// Addresses of the recipients.
        to: Vec<String>,
    },
}

/// Encryption of a connection to a mail server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tls {
    /// Plain text first, then upgraded with STARTTLS.
    #[default]
    Starttls,
    /// Encrypted from the start.
    Tls,
    /// No encryption; for servers on the same machine.
    None,
}

/// Why a channel is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    #[error("channel `{name}`: {reason}")]
    Form { name: String, reason: String },
}

fn pagerduty_url() -> String {
    "https://events.pagerduty.com/v2/enqueue".to_owned()
}

fn submission() -> u16 {
    587
}

/// Parses a channel of a settings file.
pub fn channel(name: &str, entry: &Value) -> Result<Channel, ChannelError> {
    let wrong = |reason: String| ChannelError::Form { name: name.to_owned(), reason };
    let channel: Channel =
        serde_json::from_value(entry.clone()).map_err(|error| wrong(plain(&error.to_string())))?;
    for (field, variable) in channel.named() {
        variable::check(field, variable).map_err(|error| wrong(error.to_string()))?;
    }
    check(name, &channel).map_err(|reason| wrong(reason.to_owned()))?;
    Ok(channel)
}

impl Channel {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pagerduty { .. } => "pagerduty",
            Self::Slack { .. } => "slack",
            Self::Webhook { .. } => "webhook",
            Self::Email { .. } => "email",
        }
    }

    /// Environment variables that hold its secrets.
    pub fn variables(&self) -> Vec<&str> {
        self.named().into_iter().map(|(_, variable)| variable).collect()
    }

    /// Environment variables by settings key.
    fn named(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::Pagerduty { routing_key_env, url: _ } => {
                vec![("routing_key_env", routing_key_env)]
            }
            Self::Slack { url_env } => vec![("url_env", url_env)],
            Self::Webhook { url: _, secret_env } => vec![("secret_env", secret_env)],
            Self::Email { username_env, password_env, .. } => {
                let user = username_env.as_deref().map(|name| ("username_env", name));
                let password = password_env.as_deref().map(|name| ("password_env", name));
                user.into_iter().chain(password).collect()
            }
        }
    }
}

fn check(name: &str, channel: &Channel) -> Result<(), &'static str> {
    // An address is written into lines of the SMTP protocol.
    let is_address = |one: &String| {
        one.contains('@')
            && !one.contains(|c: char| c.is_control() || c.is_whitespace() || "<>".contains(c))
    };
    match channel {
        _ if !(1..=200).contains(&name.len()) => Err("a channel name has 1 to 200 bytes"),
        Channel::Pagerduty { url, .. } | Channel::Webhook { url, .. } => {
            match address::check(url) {
                Ok(()) => Ok(()),
                Err(AddressError::None) => Err("the URL must begin with https:// or http://"),
                Err(AddressError::User) => {
                    Err("the URL contains a user name, and URLs are displayed: remove it")
                }
                Err(AddressError::Key) => {
                    Err("the URL contains a key, and URLs are displayed: remove it")
                }
            }
        }
        Channel::Email { to, .. } if to.is_empty() => Err("it has no recipients: add one to `to`"),
        Channel::Email { from, to, .. } if !to.iter().chain([from]).all(is_address) => {
            Err("invalid address: write it as name@example.com")
        }
        Channel::Email { username_env, password_env, .. }
            if username_env.is_some() != password_env.is_some() =>
        {
            Err("set both `username_env` and `password_env`, or neither")
        }
        _ => Ok(()),
    }
}

/// The channels that an alert of a suite notifies: the paging channels if it pages, the notify
/// channels always, and every channel if the suite names none.
pub fn channels_to_notify<'a>(
    alerting: &AlertRouting,
    severity: AlertSeverity,
    known: impl IntoIterator<Item = &'a String>,
) -> Vec<String> {
    let AlertRouting { page, notify, silent_after_days: _ } = alerting;
    if page.is_empty() && notify.is_empty() {
        return known.into_iter().cloned().collect();
    }
    let mut names = notify.clone();
    if severity == AlertSeverity::Critical {
        names.extend(page.iter().cloned());
    }
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<BTreeMap<String, Channel>, String> {
        let entries: BTreeMap<String, Value> = serde_json::from_value(value).unwrap();
        let read = |(name, entry): (&String, &Value)| Ok((name.clone(), channel(name, entry)?));
        entries.iter().map(read).collect::<Result<_, ChannelError>>().map_err(|e| e.to_string())
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
        assert_eq!((found["pd"].kind(), found["pd"].variables()), ("pagerduty", vec!["PD"]));
        assert_eq!((*port, *tls), (587, Tls::Starttls));
    }

    #[test]
    fn invalid_channels_are_refused() {
        let refused = |entry: Value, says: &str| {
            let error = read(json!({ "x": entry })).unwrap_err();
            assert!(error.contains(says) && error.contains("`x`"), "{error}");
        };
        refused(json!({ "kind": "pigeon" }), "pigeon");
        refused(json!({ "kind": "slack", "url_env": "X", "colour": 1 }), "colour");
        refused(json!({ "kind": "webhook", "url": "ftp://x", "secret_env": "S" }), "https://");
        refused(json!({ "kind": "email", "host": "h", "from": "a@b", "to": [] }), "no recipients");
        refused(
            json!({ "kind": "email", "host": "h", "from": "ab", "to": ["c@d"] }),
            "name@example.com",
        );
        refused(
            json!({ "kind": "email", "host": "h", "from": "a@b\r\nRCPT", "to": ["c@d"] }),
            "name@example.com",
        );
        refused(
            json!({ "kind": "email", "host": "h", "from": "a@b", "to": ["c@d"], "username_env": "U" }),
            "or neither",
        );
    }

    #[test]
    fn a_secret_in_place_of_a_name_is_refused_and_not_repeated() {
        let secret = "R0UT1NGKEY0123456789ABCDEF012345";
        let refused = |entry: Value, says: &str| {
            let error = read(json!({ "x": entry })).unwrap_err();
            assert!(error.contains(says) && !error.contains(secret), "{error}");
        };
        let mail = json!({ "kind": "email", "host": "h", "from": "a@b", "to": ["c@d"] });
        let mailed = |field: &str| {
            let mut entry = mail.clone();
            entry["username_env"] = json!("U");
            entry["password_env"] = json!("P");
            entry[field] = json!(secret);
            entry
        };
        refused(json!({ "kind": "pagerduty", "routing_key_env": secret }), "`routing_key_env`");
        refused(
            json!({ "kind": "slack", "url_env": format!("https://hooks.example/{secret}") }),
            "`url_env`",
        );
        refused(json!({ "kind": "slack", "url_env": "" }), "`url_env`");
        refused(
            json!({ "kind": "webhook", "url": "https://x", "secret_env": secret }),
            "`secret_env`",
        );
        refused(mailed("username_env"), "`username_env`");
        refused(mailed("password_env"), "`password_env`");
        let url = format!("https://hooks.example/?token={secret}");
        refused(json!({ "kind": "webhook", "url": url, "secret_env": "S" }), "contains a key");
        let url = format!("https://{secret}@hooks.example");
        refused(json!({ "kind": "webhook", "url": url, "secret_env": "S" }), "contains a user");
    }

    #[test]
    fn routing_selects_the_channels_to_notify() {
        let known = read(json!({
            "pd": { "kind": "pagerduty", "routing_key_env": "PD" },
            "chat": { "kind": "slack", "url_env": "CHAT" },
        }))
        .unwrap();
        let names = |page: &[&str], notify: &[&str], severity| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let alerting =
                AlertRouting { page: owned(page), notify: owned(notify), silent_after_days: None };
            channels_to_notify(&alerting, severity, known.keys())
        };
        assert_eq!(names(&[], &[], AlertSeverity::Error), ["chat", "pd"]);
        assert_eq!(names(&["pd"], &["chat"], AlertSeverity::Error), ["chat"]);
        assert_eq!(names(&["pd"], &["chat"], AlertSeverity::Critical), ["chat", "pd"]);
        assert_eq!(
            names(&["gone"], &[], AlertSeverity::Critical),
            ["gone"],
            "it is told when it is there"
        );
    }
}
