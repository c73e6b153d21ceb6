//! An SMTP session: commands and replies.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::compose::Mail;
use super::line::{base64, on_one_line, plain};
use super::{Login, MailEncryption, MailFailure, MailFailureKind, MailServer};

/// Longest reply that is read, in bytes.
const MAX_REPLY_BYTES: usize = 64 << 10;

enum SmtpStream {
    Plain(DeadlineStream),
    Tls(Box<StreamOwned<ClientConnection, DeadlineStream>>),
}

/// A connection with a deadline: every read and write gets the remaining time. TLS may read any
/// number of times for one reply, so a timeout per read would not limit the total.
struct DeadlineStream {
    stream: TcpStream,
    until: Instant,
}

impl DeadlineStream {
    fn left(&self) -> std::io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        // Not `WouldBlock`: rustls would retry on it.
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

/// A socket reports an expired timeout as `WouldBlock`.
fn timed_out(error: std::io::Error) -> std::io::Error {
    if error.kind() == ErrorKind::WouldBlock { ErrorKind::TimedOut.into() } else { error }
}

impl Read for DeadlineStream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer).map_err(timed_out)
    }
}

impl Write for DeadlineStream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes).map_err(timed_out)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

struct SmtpReply {
    code: u16,
    lines: Vec<String>,
}

pub(super) struct SmtpSession {
    wire: Option<SmtpStream>,
    /// Bytes received and not parsed yet.
    read: Vec<u8>,
    /// Extensions that the server announced, in upper case.
    offers: Vec<String>,
}

impl SmtpReply {
    fn text(&self) -> String {
        let text = format!("{} {}", self.code, self.lines.join(" "));
        on_one_line(&text)
    }

    /// Converts the reply to a failure of `step`.
    fn failure(&self, step: &str) -> MailFailure {
        let kind = match self.code {
            500..=599 => MailFailureKind::Refused,
            _ => MailFailureKind::Temporary,
        };
        MailFailure::new(kind, format!("the mail server replied to {step}: {}", self.text()))
    }

    fn expect(self, code: u16, step: &str) -> Result<Self, MailFailure> {
        if self.code / 100 == code / 100 { Ok(self) } else { Err(self.failure(step)) }
    }
}

fn broken(error: &std::io::Error) -> MailFailure {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => late(),
        _ => {
            let message = format!("the connection to the mail server broke: {error}");
            // A rejected certificate is also reported as a connection error.
            let is_tls = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
            let kind =
                if is_tls { MailFailureKind::Insecure } else { MailFailureKind::Unreachable };
            MailFailure::new(kind, message)
        }
    }
}

fn late() -> MailFailure {
    MailFailure::new(MailFailureKind::Timeout, "the mail server took too long")
}

impl SmtpSession {
    /// Connects and reads the greeting.
    pub(super) fn begin(server: &MailServer, until: Instant) -> Result<Self, MailFailure> {
        let stream = connect(server, until)?;
        let is_known = server.login.is_some();
        let is_here = stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback());
        if server.encryption == MailEncryption::None && is_known && !is_here {
            let message = "a password is not sent over an unencrypted connection; set `tls`";
            return Err(MailFailure::new(MailFailureKind::Insecure, message));
        }
        let stream = DeadlineStream { stream, until };
        let wire = match server.encryption {
            MailEncryption::Tls => encrypted(server, stream)?,
            MailEncryption::StartTls | MailEncryption::None => SmtpStream::Plain(stream),
        };
        let (read, offers) = (Vec::new(), Vec::new());
        let mut session = Self { wire: Some(wire), read, offers };
        session.read_reply()?.expect(220, "the connection")?;
        Ok(session)
    }

    /// Sends EHLO and records the announced extensions.
    pub(super) fn send_hello(&mut self) -> Result<(), MailFailure> {
        let reply = self.send_command("EHLO gbrain.localhost")?.expect(250, "EHLO")?;
        self.offers = reply.lines.iter().skip(1).map(|line| line.to_ascii_uppercase()).collect();
        Ok(())
    }

    pub(super) fn start_tls(&mut self, server: &MailServer) -> Result<(), MailFailure> {
        let insecure = |message: &str| MailFailure::new(MailFailureKind::Insecure, message);
        if !self.offers.iter().any(|offer| offer == "STARTTLS") {
            return Err(insecure(
                "the mail server does not support STARTTLS; set `tls` to another mode",
            ));
        }
        self.send_command("STARTTLS")?.expect(220, "STARTTLS")?;
        // Plaintext received before the handshake must not be read as if it had been encrypted.
        if !self.read.is_empty() {
            return Err(insecure("the mail server sent plaintext after STARTTLS"));
        }
        match self.wire.take() {
            Some(SmtpStream::Plain(stream)) => self.wire = Some(encrypted(server, stream)?),
            other => self.wire = other,
        }
        Ok(())
    }

    pub(super) fn log_in(&mut self, login: &Login) -> Result<(), MailFailure> {
        let Login { username, password } = login;
        let offer = self.offers.iter().find_map(|offer| offer.strip_prefix("AUTH "));
        let offers = |name: &str| offer.is_some_and(|all| all.split(' ').any(|one| one == name));
        if offers("PLAIN") {
            let line = format!("AUTH PLAIN {}", plain(username.reveal(), password.reveal()));
            self.send_command(&line)?.expect(235, "AUTH")?;
        } else if offers("LOGIN") {
            self.send_command("AUTH LOGIN")?.expect(334, "AUTH")?;
            self.send_command(&base64(username.reveal().as_bytes()))?.expect(334, "AUTH")?;
            self.send_command(&base64(password.reveal().as_bytes()))?.expect(235, "AUTH")?;
        } else {
            let message = "the mail server supports neither AUTH PLAIN nor AUTH LOGIN";
            return Err(MailFailure::new(MailFailureKind::Insecure, message));
        }
        Ok(())
    }

    /// Sends the mail and returns the server's reply. Permanently refused recipients are skipped. A
    /// temporary refusal of any recipient fails the whole mail: a retry would deliver it twice to
    /// the others.
    pub(super) fn deliver(&mut self, mail: &Mail) -> Result<String, MailFailure> {
        self.send_command(&format!("MAIL FROM:<{}>", on_one_line(&mail.from)))?
            .expect(250, "MAIL")?;
        let mut refused = Vec::new();
        for to in &mail.to {
            let reply = self.send_command(&format!("RCPT TO:<{}>", on_one_line(to)))?;
            match reply.code {
                200..=299 => (),
                500..=599 => refused.push(reply.failure(&format!("RCPT of {to}"))),
                _ => return Err(reply.failure("RCPT")),
            }
        }
        if refused.len() == mail.to.len() {
            return Err(refused.swap_remove(0));
        }
        self.send_command("DATA")?.expect(354, "DATA")?;
        let reply = self.send_command(&format!("{}.", mail.data()))?.expect(250, "the mail")?;
        let but = refused.iter().map(|failure| format!("; but {failure}")).collect::<String>();
        Ok(reply.text() + &but)
    }

    /// Ends the session. The mail was accepted, so errors are ignored.
    pub(super) fn quit(mut self) {
        let _ = self.send_command("QUIT");
    }

    /// Sends a command and reads the reply.
    fn send_command(&mut self, line: &str) -> Result<SmtpReply, MailFailure> {
        let text = format!("{line}\r\n");
        let sent = match self.wire.as_mut() {
            Some(SmtpStream::Plain(stream)) => stream.write_all(text.as_bytes()),
            Some(SmtpStream::Tls(stream)) => {
                stream.write_all(text.as_bytes()).and_then(|()| stream.flush())
            }
            None => Err(ErrorKind::NotConnected.into()),
        };
        sent.map_err(|error| broken(&error))?;
        self.read_reply()
    }

    /// Reads a reply: lines with a code; all but the last have a dash after it.
    fn read_reply(&mut self) -> Result<SmtpReply, MailFailure> {
        let strange = || MailFailure::new(MailFailureKind::Unreachable, "the reply is not SMTP");
        let mut lines = Vec::new();
        loop {
            let line = self.line()?;
            let code: u16 = line.get(..3).and_then(|code| code.parse().ok()).ok_or_else(strange)?;
            lines.push(line.get(4..).unwrap_or_default().to_owned());
            if line.as_bytes().get(3) != Some(&b'-') {
                return Ok(SmtpReply { code, lines });
            }
            if lines.len() > 100 {
                return Err(strange());
            }
        }
    }

    fn line(&mut self) -> Result<String, MailFailure> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            let mut piece = [0; 4096];
            let read = match self.wire.as_mut() {
                Some(SmtpStream::Plain(stream)) => stream.read(&mut piece),
                Some(SmtpStream::Tls(stream)) => stream.read(&mut piece),
                None => Err(ErrorKind::NotConnected.into()),
            };
            match read.map_err(|error| broken(&error))? {
                0 => return Err(broken(&ErrorKind::UnexpectedEof.into())),
                length => self.read.extend_from_slice(&piece[..length]),
            }
            if self.read.len() > MAX_REPLY_BYTES {
                return Err(broken(&ErrorKind::InvalidData.into()));
            }
        }
    }
}

fn connect(server: &MailServer, until: Instant) -> Result<TcpStream, MailFailure> {
    let MailServer { host, port, .. } = server;
    let unreachable = |why: String| {
        let message = format!("the mail server {host}:{port} can't be reached: {why}");
        MailFailure::new(MailFailureKind::Unreachable, message)
    };
    let addresses =
        resolved(host, *port, until)?.map_err(|error| unreachable(error.to_string()))?;
    let mut why = "the host name has no address".to_owned();
    for address in addresses {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(late());
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => return Ok(stream),
            Err(error) => why = error.to_string(),
        }
    }
    Err(unreachable(why))
}

/// Resolves a host name in a thread, because the lookup has no timeout of its own.
fn resolved(
    host: &str,
    port: u16,
    until: Instant,
) -> Result<std::io::Result<Vec<SocketAddr>>, MailFailure> {
    let (sender, receiver) = mpsc::channel();
    let place = (host.to_owned(), port);
    std::thread::spawn(move || {
        // The receiver may have timed out.
        let _ = sender.send(place.to_socket_addrs().map(Vec::from_iter));
    });
    receiver.recv_timeout(until.saturating_duration_since(Instant::now())).map_err(|_| late())
}

fn encrypted(server: &MailServer, stream: DeadlineStream) -> Result<SmtpStream, MailFailure> {
    let failed = |why: String| MailFailure::new(MailFailureKind::Insecure, why);
    let roots = match &server.authorities {
        Some(roots) => roots.clone(),
        None => {
            let mut roots = RootCertStore::empty();
            // Some systems contain unreadable roots; the others are used.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            roots
        }
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(server.host.clone())
        .map_err(|_| failed(format!("{:?} is not a valid server name", server.host)))?;
    let connection =
        ClientConnection::new(Arc::new(config), name).map_err(|error| failed(error.to_string()))?;
    Ok(SmtpStream::Tls(Box::new(StreamOwned::new(connection, stream))))
}
