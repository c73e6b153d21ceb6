//! One message to one channel, and what it means that it was answered so.

use std::io::Read as _;
use std::time::Duration;

use gbrain_core::alert::channel::{Channel, Tls};
use gbrain_core::alert::{Message, email, pagerduty, signature, slack, webhook};
use gbrain_core::hash::Hash;
use gbrain_net::mail::{Login, Mail, MailFailure, MailFailureKind, MailServer, Protection};
use gbrain_net::{Call, Client, ClientOptions, Failure, FailureKind, Secret};
use jiff::Timestamp;

use super::channels::ChannelRegistry;

/// As much of what a receiver says is kept.
const QUOTED: usize = 300;
/// Connections that are kept for other messages.
const KEPT: usize = 16;

/// What came of sending a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendResult {
    /// It was received; what the receiver said.
    Received(String),
    /// It was not, and may be later.
    Later {
        error: String,
        /// The wait that the receiver asked for.
        after: Option<Duration>,
    },
    /// The channel can't be used as it is described here: another process, or another setting, may do.
    Unusable(String),
    /// It was refused for good.
    Never(String),
}

/// What marks a message on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageId {
    /// What names it, the same each time it is sent.
    pub id: String,
    /// When it was queued.
    pub written: Timestamp,
    pub now: Timestamp,
}

/// Somebody who sends.
pub struct Transport {
    client: Client,
    timeout: Duration,
}

impl Transport {
    /// Nothing that is sent may take longer.
    pub fn new(timeout: Duration) -> Self {
        let options = ClientOptions { timeout, kept: KEPT, largest: 1 << 20, authorities: None };
        let client = Client::new(options).expect("no authorities are given that could be wrong");
        Self { client, timeout }
    }

    /// Sends a message.
    pub fn send(
        &self,
        channel: &Channel,
        registry: &ChannelRegistry,
        message: &Message,
        id: &MessageId,
    ) -> SendResult {
        let secret = |variable: &String| {
            let value = (registry.environment)(variable);
            let secret = value.as_deref().and_then(Secret::new);
            secret
                .ok_or_else(|| SendResult::Unusable(format!("the variable {variable} is not set")))
        };
        self.by_kind(channel, &secret, message, id).unwrap_or_else(|failed| failed)
    }

    fn by_kind(
        &self,
        channel: &Channel,
        secret: &dyn Fn(&String) -> Result<Secret, SendResult>,
        message: &Message,
        id: &MessageId,
    ) -> Result<SendResult, SendResult> {
        Ok(match channel {
            Channel::Pagerduty { routing_key_env, url } => {
                let key = secret(routing_key_env)?;
                let body = pagerduty(message, key.reveal()).to_string();
                self.call(url, Vec::new(), body, vec![key])
            }
            Channel::Slack { url_env } => {
                let url = secret(url_env)?;
                self.call(url.reveal(), Vec::new(), slack(message).to_string(), pieces(&url))
            }
            Channel::Webhook { url, secret_env } => {
                let secret = secret(secret_env)?;
                let body = webhook(message).to_string();
                let signed = signature(secret.reveal(), id.now.as_second(), body.as_bytes());
                let headers = vec![
                    ("x-gbrain-signature".to_owned(), signed),
                    ("x-gbrain-delivery".to_owned(), id.id.clone()),
                    ("idempotency-key".to_owned(), id.id.clone()),
                ];
                self.call(url, headers, body, vec![secret])
            }
            Channel::Email { host, port, tls, username_env, password_env, from, to } => {
                let login = match (username_env, password_env) {
                    (Some(username), Some(password)) => {
                        Some(Login { username: secret(username)?, password: secret(password)? })
                    }
                    _ => None,
                };
                let protection = match tls {
                    Tls::Starttls => Protection::StartTls,
                    Tls::Tls => Protection::Tls,
                    Tls::None => Protection::None,
                };
                let (host, authorities) = (host.clone(), None);
                let server = MailServer { host, port: *port, protection, login, authorities };
                self.mail(&server, &mail(from, to, message, id))
            }
        })
    }

    /// Whoever answers with a status of 2xx has it: what it says then, if it says it whole, is talk.
    fn call(
        &self,
        url: &str,
        headers: Vec<(String, String)>,
        body: String,
        secrets: Vec<Secret>,
    ) -> SendResult {
        let call = Call { url: url.to_owned(), headers, body: Some(body.into_bytes()) };
        let received = self.client.stream(&call, None, &secrets, &mut |head, said| {
            let mut bytes = Vec::new();
            let _ = said.take(4096).read_to_end(&mut bytes);
            Ok(format!("{} {}", head.status, String::from_utf8_lossy(&bytes)))
        });
        match received {
            Ok(said) => {
                let said = secrets.iter().fold(said, |said, secret| secret.hide_in(&said));
                SendResult::Received(shown(&said))
            }
            Err(failure) => refusal(failure),
        }
    }

    fn mail(&self, server: &MailServer, mail: &Mail) -> SendResult {
        match server.send(mail, self.timeout) {
            Ok(said) => SendResult::Received(shown(&said)),
            Err(MailFailure { kind, message }) => {
                let error = shown(&message);
                match kind {
                    MailFailureKind::Refused => SendResult::Never(error),
                    MailFailureKind::Insecure => SendResult::Unusable(error),
                    MailFailureKind::Unreachable
                    | MailFailureKind::Timeout
                    | MailFailureKind::Later => SendResult::Later { error, after: None },
                }
            }
        }
    }
}

/// An address that is a secret, and its path, which is what makes it one.
fn pieces(url: &Secret) -> Vec<Secret> {
    let path = url.reveal().split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let path = path.and_then(|(_, path)| Secret::new(path).filter(|_| path.len() >= 8));
    [Some(url.clone()), path].into_iter().flatten().collect()
}

fn refusal(failure: Failure) -> SendResult {
    let Failure { kind, message, status, after } = failure;
    let error = shown(&message);
    match (kind, status) {
        (FailureKind::Unsendable, _) => SendResult::Unusable(error),
        (FailureKind::RateLimited | FailureKind::TimeoutThere | FailureKind::Unavailable, _) => {
            SendResult::Later { error, after }
        }
        (_, Some(300..=399)) => {
            SendResult::Never(format!("{error}; the address of the channel is another one by now"))
        }
        (_, Some(400..=499)) => SendResult::Never(error),
        _ => SendResult::Later { error, after },
    }
}

fn mail(from: &str, to: &[String], message: &Message, id: &MessageId) -> Mail {
    let (subject, text) = email(message);
    Mail {
        from: from.to_owned(),
        to: to.to_vec(),
        subject,
        text,
        id: id.id.clone(),
        thread: Hash::of(message.dedup_key.as_bytes()).short(),
        at: id.written,
    }
}

/// A text of somebody else, on one line and short.
fn shown(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(QUOTED).collect()
}
