//! Sends one message to one channel and interprets the response.

use std::io::Read as _;
use std::time::Duration;

use gbrain_core::alert::channel::{Channel, Tls};
use gbrain_core::alert::{AlertMessage, email, pagerduty, signature, slack, webhook};
use gbrain_core::hash::Hash;
use gbrain_net::mail::{Login, Mail, MailEncryption, MailFailure, MailFailureKind, MailServer};
use gbrain_net::{Client, ClientOptions, HttpFailure, HttpFailureKind, HttpRequest, Secret};
use jiff::Timestamp;

use super::channels::ChannelRegistry;

/// How much of a receiver's response is stored, in characters.
const MAX_RESPONSE_CHARS: usize = 300;
const IDLE_CONNECTIONS: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendResult {
    /// Received, with the receiver's response.
    Received(String),
    /// Not received; may succeed later.
    Later {
        error: String,
        /// The wait that the receiver requested.
        after: Option<Duration>,
    },
    /// The channel cannot be used with these settings; another process or other settings may work.
    Unusable(String),
    /// The receiver rejected it permanently.
    Never(String),
}

/// Identifies a message in transit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageId {
    /// The id, the same for each attempt.
    pub id: String,
    /// When it was queued.
    pub written: Timestamp,
    pub now: Timestamp,
}

pub struct Transport {
    client: Client,
    timeout: Duration,
}

impl Transport {
    /// A transport with a timeout for each message.
    pub fn new(timeout: Duration) -> Self {
        let options = ClientOptions {
            timeout,
            max_idle_connections: IDLE_CONNECTIONS,
            max_response_bytes: 1 << 20,
            authorities: None,
        };
        let client = Client::new(options).expect("no authorities are given that could be wrong");
        Self { client, timeout }
    }

    pub fn send(
        &self,
        channel: &Channel,
        registry: &ChannelRegistry,
        message: &AlertMessage,
        id: &MessageId,
    ) -> SendResult {
        let secret = |variable: &String| {
            let value = (registry.environment)(variable);
            let secret = value.as_deref().and_then(Secret::new);
            secret.ok_or_else(|| {
                SendResult::Unusable(format!("environment variable {variable} is not set"))
            })
        };
        self.send_by_kind(channel, &secret, message, id).unwrap_or_else(|failed| failed)
    }

    fn send_by_kind(
        &self,
        channel: &Channel,
        secret: &dyn Fn(&String) -> Result<Secret, SendResult>,
        message: &AlertMessage,
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
                self.call(url.reveal(), Vec::new(), slack(message).to_string(), secret_parts(&url))
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
                let encryption = match tls {
                    Tls::Starttls => MailEncryption::StartTls,
                    Tls::Tls => MailEncryption::Tls,
                    Tls::None => MailEncryption::None,
                };
                let (host, authorities) = (host.clone(), None);
                let server = MailServer { host, port: *port, encryption, login, authorities };
                self.mail(&server, &mail(from, to, message, id))
            }
        })
    }

    /// A status of 2xx means received; the response body is informational.
    fn call(
        &self,
        url: &str,
        headers: Vec<(String, String)>,
        body: String,
        secrets: Vec<Secret>,
    ) -> SendResult {
        let call = HttpRequest { url: url.to_owned(), headers, body: Some(body.into_bytes()) };
        let received = self.client.stream(&call, None, &secrets, &mut |head, response| {
            let mut bytes = Vec::new();
            let _ = response.take(4096).read_to_end(&mut bytes);
            Ok(format!("{} {}", head.status, String::from_utf8_lossy(&bytes)))
        });
        match received {
            Ok(response) => {
                let response =
                    secrets.iter().fold(response, |response, secret| secret.hide_in(&response));
                SendResult::Received(one_line(&response))
            }
            Err(failure) => send_failure(failure),
        }
    }

    fn mail(&self, server: &MailServer, mail: &Mail) -> SendResult {
        match server.send(mail, self.timeout) {
            Ok(response) => SendResult::Received(one_line(&response)),
            Err(MailFailure { kind, message }) => {
                let error = one_line(&message);
                match kind {
                    MailFailureKind::Refused => SendResult::Never(error),
                    MailFailureKind::Insecure => SendResult::Unusable(error),
                    MailFailureKind::Unreachable
                    | MailFailureKind::Timeout
                    | MailFailureKind::Temporary => SendResult::Later { error, after: None },
                }
            }
        }
    }
}

/// A secret URL, and its path, which contains the secret.
fn secret_parts(url: &Secret) -> Vec<Secret> {
    let path = url.reveal().split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let path = path.and_then(|(_, path)| Secret::new(path).filter(|_| path.len() >= 8));
    [Some(url.clone()), path].into_iter().flatten().collect()
}

fn send_failure(failure: HttpFailure) -> SendResult {
    let HttpFailure { kind, message, status, after } = failure;
    let error = one_line(&message);
    match (kind, status) {
        (HttpFailureKind::InvalidRequest, _) => SendResult::Unusable(error),
        (
            HttpFailureKind::RateLimited
            | HttpFailureKind::ServerTimeout
            | HttpFailureKind::Unavailable,
            _,
        ) => SendResult::Later { error, after },
        (_, Some(300..=399)) => {
            SendResult::Never(format!("{error}; the channel's address has moved: update it"))
        }
        (_, Some(400..=499)) => SendResult::Never(error),
        _ => SendResult::Later { error, after },
    }
}

fn mail(from: &str, to: &[String], message: &AlertMessage, id: &MessageId) -> Mail {
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

/// Foreign text, shortened to one line.
fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_RESPONSE_CHARS).collect()
}
