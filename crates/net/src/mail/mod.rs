//! Sends one e-mail by SMTP (RFC 5321), with STARTTLS (RFC 3207), implicit TLS or no encryption,
//! and AUTH PLAIN or LOGIN (RFC 4954).
//!
//! Guarantees: a timeout covers the whole session, however slowly the server responds; certificates
//! are always verified; a password is sent unencrypted only over loopback; header values and
//! command arguments cannot start a new line; messages contain no secret.
//!
//! Non-goals: attachments, HTML, pipelining, several mails on one connection.

mod compose;
mod line;
mod session;

pub use compose::Mail;

use std::time::{Duration, Instant};

use rustls::RootCertStore;

use crate::secret::Secret;
use session::SmtpSession;

/// Longest excerpt of a server's reply in a message, in characters.
const MAX_REPLY_CHARS: usize = 300;

/// When a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailEncryption {
    /// After the STARTTLS command.
    StartTls,
    Tls,
    None,
}

/// Credentials for servers that require authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub username: Secret,
    pub password: Secret,
}

#[derive(Debug, Clone)]
pub struct MailServer {
    pub host: String,
    pub port: u16,
    pub encryption: MailEncryption,
    pub login: Option<Login>,
    /// The certificate authorities to trust; the system's by default.
    pub authorities: Option<RootCertStore>,
}

/// The kind of a failure to send a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MailFailureKind {
    /// No connection could be made, or it broke.
    Unreachable,
    Timeout,
    /// The server replied with a temporary error (4xx).
    Temporary,
    /// The server replied with a permanent error (5xx).
    Refused,
    /// The connection cannot be encrypted or authenticated as configured.
    Insecure,
}

/// A mail that was not accepted. The message contains no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct MailFailure {
    pub kind: MailFailureKind,
    pub message: String,
}

impl MailFailure {
    fn new(kind: MailFailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl MailServer {
    /// Sends a mail and returns the server's reply to it.
    pub fn send(&self, mail: &Mail, within: Duration) -> Result<String, MailFailure> {
        let until = Instant::now() + within;
        let sent = self.converse(mail, until);
        // Redact before truncating: a truncated secret would not be recognised.
        let shown =
            |text: String| self.hide(text).chars().take(MAX_REPLY_CHARS).collect::<String>();
        sent.map_err(|failure| MailFailure { message: shown(failure.message), ..failure })
            .map(shown)
    }

    fn converse(&self, mail: &Mail, until: Instant) -> Result<String, MailFailure> {
        let mut session = SmtpSession::begin(self, until)?;
        session.send_hello()?;
        if self.encryption == MailEncryption::StartTls {
            session.start_tls(self)?;
            session.send_hello()?;
        }
        if let Some(login) = &self.login {
            session.log_in(login)?;
        }
        let reply = session.deliver(mail)?;
        session.quit();
        Ok(reply)
    }

    /// Redacts credentials, because servers echo what they receive, including its base64 form.
    fn hide(&self, text: String) -> String {
        let Some(Login { username, password }) = &self.login else { return text };
        let plain = Secret::new(&line::plain(username.reveal(), password.reveal()));
        let written =
            [username, password].map(|one| Secret::new(&line::base64(one.reveal().as_bytes())));
        let secrets = [Some(password.clone()), plain].into_iter().chain(written).flatten();
        secrets.fold(text, |text, secret| secret.hide_in(&text))
    }
}
