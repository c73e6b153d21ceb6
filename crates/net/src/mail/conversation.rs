//! A conversation with a mail server: a line, and what it says to it.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::compose::Mail;
use super::line::{base64, on_one_line, plain};
use super::{Login, MailFailure, MailFailureKind, MailServer, Protection};

/// The longest answer that is read.
const LARGEST: usize = 64 << 10;

enum Wire {
    Plain(Timed),
    Tls(Box<StreamOwned<ClientConnection, Timed>>),
}

/// A connection with an end: every read and write has what is left of the time. Encryption reads as often as
/// it likes for one answer, so a limit of each read alone would be none.
struct Timed {
    stream: TcpStream,
    until: Instant,
}

impl Timed {
    fn left(&self) -> std::io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        // Not `WouldBlock`, which encryption takes for a reason to ask again.
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

/// A socket says `WouldBlock` of a time that is up.
fn timed_out(error: std::io::Error) -> std::io::Error {
    if error.kind() == ErrorKind::WouldBlock { ErrorKind::TimedOut.into() } else { error }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer).map_err(timed_out)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes).map_err(timed_out)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

/// What a server said: a code and its words.
struct Said {
    code: u16,
    lines: Vec<String>,
}

/// A conversation that is under way.
pub(super) struct Conversation {
    wire: Option<Wire>,
    /// What was read and not looked at yet.
    read: Vec<u8>,
    /// What the server offers, in capitals.
    offers: Vec<String>,
}

impl Said {
    fn text(&self) -> String {
        let text = format!("{} {}", self.code, self.lines.join(" "));
        on_one_line(&text)
    }

    /// The failure that it is, at some step.
    fn failure(&self, step: &str) -> MailFailure {
        let kind = match self.code {
            500..=599 => MailFailureKind::Refused,
            _ => MailFailureKind::Later,
        };
        MailFailure::new(kind, format!("the mail server said to {step}: {}", self.text()))
    }

    fn expect(self, code: u16, step: &str) -> Result<Self, MailFailure> {
        if self.code / 100 == code / 100 { Ok(self) } else { Err(self.failure(step)) }
    }
}

fn broken(error: &std::io::Error) -> MailFailure {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => late(),
        _ => {
            let said = format!("the connection to the mail server broke: {error}");
            // A certificate that is not believed is an error of the connection, too.
            let is_tls = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
            let kind =
                if is_tls { MailFailureKind::Insecure } else { MailFailureKind::Unreachable };
            MailFailure::new(kind, said)
        }
    }
}

fn late() -> MailFailure {
    MailFailure::new(MailFailureKind::Timeout, "the mail server took too long")
}

impl Conversation {
    /// Connects, and hears the server out.
    pub(super) fn begin(server: &MailServer, until: Instant) -> Result<Self, MailFailure> {
        let stream = connect(server, until)?;
        let is_known = server.login.is_some();
        let is_here = stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback());
        if server.protection == Protection::None && is_known && !is_here {
            let message =
                "a password is not sent over a connection that is not encrypted; set `tls`";
            return Err(MailFailure::new(MailFailureKind::Insecure, message));
        }
        let stream = Timed { stream, until };
        let wire = match server.protection {
            Protection::Tls => encrypted(server, stream)?,
            Protection::StartTls | Protection::None => Wire::Plain(stream),
        };
        let (read, offers) = (Vec::new(), Vec::new());
        let mut talk = Self { wire: Some(wire), read, offers };
        talk.listen()?.expect(220, "the connection")?;
        Ok(talk)
    }

    /// Says who we are, and hears what the server can do.
    pub(super) fn introduce(&mut self) -> Result<(), MailFailure> {
        let said = self.say("EHLO gbrain.localhost")?.expect(250, "EHLO")?;
        self.offers = said.lines.iter().skip(1).map(|line| line.to_ascii_uppercase()).collect();
        Ok(())
    }

    pub(super) fn protect(&mut self, server: &MailServer) -> Result<(), MailFailure> {
        let insecure = |message: &str| MailFailure::new(MailFailureKind::Insecure, message);
        if !self.offers.iter().any(|offer| offer == "STARTTLS") {
            return Err(insecure(
                "the mail server offers no STARTTLS; set `tls` to what it speaks",
            ));
        }
        self.say("STARTTLS")?.expect(220, "STARTTLS")?;
        // What came in the clear must not be read as if it had come encrypted.
        if !self.read.is_empty() {
            return Err(insecure("the mail server went on in the clear after STARTTLS"));
        }
        match self.wire.take() {
            Some(Wire::Plain(stream)) => self.wire = Some(encrypted(server, stream)?),
            other => self.wire = other,
        }
        Ok(())
    }

    /// Shows who we are.
    pub(super) fn log_in(&mut self, login: &Login) -> Result<(), MailFailure> {
        let Login { username, password } = login;
        let offer = self.offers.iter().find_map(|offer| offer.strip_prefix("AUTH "));
        let offers = |name: &str| offer.is_some_and(|all| all.split(' ').any(|one| one == name));
        if offers("PLAIN") {
            let line = format!("AUTH PLAIN {}", plain(username.reveal(), password.reveal()));
            self.say(&line)?.expect(235, "AUTH")?;
        } else if offers("LOGIN") {
            self.say("AUTH LOGIN")?.expect(334, "AUTH")?;
            self.say(&base64(username.reveal().as_bytes()))?.expect(334, "AUTH")?;
            self.say(&base64(password.reveal().as_bytes()))?.expect(235, "AUTH")?;
        } else {
            let message = "the mail server offers neither AUTH PLAIN nor AUTH LOGIN";
            return Err(MailFailure::new(MailFailureKind::Insecure, message));
        }
        Ok(())
    }

    /// Hands the mail over; what the server said. It is for all who are not refused for good: whoever is to
    /// be tried later would get the mail of the others twice, so then it is for nobody.
    pub(super) fn deliver(&mut self, mail: &Mail) -> Result<String, MailFailure> {
        self.say(&format!("MAIL FROM:<{}>", on_one_line(&mail.from)))?.expect(250, "MAIL")?;
        let mut refused = Vec::new();
        for to in &mail.to {
            let said = self.say(&format!("RCPT TO:<{}>", on_one_line(to)))?;
            match said.code {
                200..=299 => (),
                500..=599 => refused.push(said.failure(&format!("RCPT of {to}"))),
                _ => return Err(said.failure("RCPT")),
            }
        }
        if refused.len() == mail.to.len() {
            return Err(refused.swap_remove(0));
        }
        self.say("DATA")?.expect(354, "DATA")?;
        let said = self.say(&format!("{}.", mail.data()))?.expect(250, "the mail")?;
        let but = refused.iter().map(|failure| format!("; but {failure}")).collect::<String>();
        Ok(said.text() + &but)
    }

    /// Says goodbye. It was taken: however it ends now, it is.
    pub(super) fn quit(mut self) {
        let _ = self.say("QUIT");
    }

    /// A line, and what is said to it.
    fn say(&mut self, line: &str) -> Result<Said, MailFailure> {
        let text = format!("{line}\r\n");
        let sent = match self.wire.as_mut() {
            Some(Wire::Plain(stream)) => stream.write_all(text.as_bytes()),
            Some(Wire::Tls(stream)) => {
                stream.write_all(text.as_bytes()).and_then(|()| stream.flush())
            }
            None => Err(ErrorKind::NotConnected.into()),
        };
        sent.map_err(|error| broken(&error))?;
        self.listen()
    }

    /// What the server says: lines with a code, the last of which has no dash behind it.
    fn listen(&mut self) -> Result<Said, MailFailure> {
        let strange =
            || MailFailure::new(MailFailureKind::Unreachable, "what answers is no mail server");
        let mut lines = Vec::new();
        loop {
            let line = self.line()?;
            let code: u16 = line.get(..3).and_then(|code| code.parse().ok()).ok_or_else(strange)?;
            lines.push(line.get(4..).unwrap_or_default().to_owned());
            if line.as_bytes().get(3) != Some(&b'-') {
                return Ok(Said { code, lines });
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
                Some(Wire::Plain(stream)) => stream.read(&mut piece),
                Some(Wire::Tls(stream)) => stream.read(&mut piece),
                None => Err(ErrorKind::NotConnected.into()),
            };
            match read.map_err(|error| broken(&error))? {
                0 => return Err(broken(&ErrorKind::UnexpectedEof.into())),
                length => self.read.extend_from_slice(&piece[..length]),
            }
            if self.read.len() > LARGEST {
                return Err(broken(&ErrorKind::InvalidData.into()));
            }
        }
    }
}

fn connect(server: &MailServer, until: Instant) -> Result<TcpStream, MailFailure> {
    let MailServer { host, port, .. } = server;
    let nobody = |why: String| {
        let message = format!("the mail server {host}:{port} can't be reached: {why}");
        MailFailure::new(MailFailureKind::Unreachable, message)
    };
    let addresses = resolved(host, *port, until)?.map_err(|error| nobody(error.to_string()))?;
    let mut why = "its name has no address".to_owned();
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
    Err(nobody(why))
}

/// The addresses of a name. Looking it up has no time limit of its own, so it is waited for from outside.
fn resolved(
    host: &str,
    port: u16,
    until: Instant,
) -> Result<std::io::Result<Vec<SocketAddr>>, MailFailure> {
    let (tell, told) = mpsc::channel();
    let place = (host.to_owned(), port);
    std::thread::spawn(move || {
        // Whoever asked may have gone.
        let _ = tell.send(place.to_socket_addrs().map(Vec::from_iter));
    });
    told.recv_timeout(until.saturating_duration_since(Instant::now())).map_err(|_| late())
}

fn encrypted(server: &MailServer, stream: Timed) -> Result<Wire, MailFailure> {
    let failed = |why: String| MailFailure::new(MailFailureKind::Insecure, why);
    let roots = match &server.authorities {
        Some(roots) => roots.clone(),
        None => {
            let mut roots = RootCertStore::empty();
            // Some systems carry roots that can't be read; the rest will do.
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
        .map_err(|_| failed(format!("{:?} is no name of a server", server.host)))?;
    let connection =
        ClientConnection::new(Arc::new(config), name).map_err(|error| failed(error.to_string()))?;
    Ok(Wire::Tls(Box::new(StreamOwned::new(connection, stream))))
}
