//! Sending one e-mail by SMTP (RFC 5321), with STARTTLS (RFC 3207), TLS from the start or neither, and AUTH
//! PLAIN or LOGIN (RFC 4954).
//!
//! Promises: a time limit holds for the whole conversation, however slowly a server drips; certificates are
//! always verified; a password goes over no connection that is not encrypted, but to this machine; what is
//! written into headers and lines starts no line of its own; no secret shows in a message.
//!
//! Deliberately absent: attachments, HTML, pipelining, several mails on one connection.

mod compose;
mod conversation;
mod line;

pub use compose::Mail;

use std::time::{Duration, Instant};

use rustls::RootCertStore;

use crate::secret::Secret;
use conversation::Conversation;

/// As much of a server's own words as a message takes.
const QUOTED: usize = 300;

/// Whether a connection is encrypted, and from when on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// After the first words.
    StartTls,
    Tls,
    None,
}

/// Who a server is shown to be, for those who must be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub username: Secret,
    pub password: Secret,
}

/// A mail server.
#[derive(Debug, Clone)]
pub struct MailServer {
    pub host: String,
    pub port: u16,
    /// Whether the connection is encrypted.
    pub protection: Protection,
    /// Who we are, if it wants to know.
    pub login: Option<Login>,
    /// The authorities to trust; those of the system otherwise.
    pub authorities: Option<RootCertStore>,
}

/// Why a mail was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MailFailureKind {
    /// Nobody is there, or the connection broke.
    Unreachable,
    /// It took too long.
    Timeout,
    /// The server says: later (4xx).
    Later,
    /// The server says: never (5xx).
    Refused,
    /// The connection can't be protected as it should be.
    Insecure,
}

/// A mail that was not taken. The message holds no secret.
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
    /// Sends a mail, and gives what the server said when it took it.
    pub fn send(&self, mail: &Mail, within: Duration) -> Result<String, MailFailure> {
        let until = Instant::now() + within;
        let sent = self.converse(mail, until);
        // Hidden before it is cut: half a secret would not be known again.
        let shown = |text: String| self.hide(text).chars().take(QUOTED).collect::<String>();
        sent.map_err(|failure| MailFailure { message: shown(failure.message), ..failure })
            .map(shown)
    }

    fn converse(&self, mail: &Mail, until: Instant) -> Result<String, MailFailure> {
        let mut talk = Conversation::begin(self, until)?;
        talk.introduce()?;
        if self.protection == Protection::StartTls {
            talk.protect(self)?;
            talk.introduce()?;
        }
        if let Some(login) = &self.login {
            talk.log_in(login)?;
        }
        let said = talk.deliver(mail)?;
        talk.quit();
        Ok(said)
    }

    /// Servers echo what they were sent, also as it was written on the wire.
    fn hide(&self, text: String) -> String {
        let Some(Login { username, password }) = &self.login else { return text };
        let plain = Secret::new(&line::plain(username.reveal(), password.reveal()));
        let written =
            [username, password].map(|one| Secret::new(&line::base64(one.reveal().as_bytes())));
        let secrets = [Some(password.clone()), plain].into_iter().chain(written).flatten();
        secrets.fold(text, |text, secret| secret.hide_in(&text))
    }
}
