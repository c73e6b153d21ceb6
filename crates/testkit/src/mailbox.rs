//! A mail server on loopback: takes mails, with and without STARTTLS, TLS from the start and AUTH, and says
//! no where it is told to.
//!
//! Deliberately absent: forwarding of mail.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mail {
    /// The sender of the envelope.
    pub from: String,
    /// The recipients of the envelope.
    pub to: Vec<String>,
    /// All that came after DATA, dots taken out again.
    pub data: String,
    pub is_encrypted: bool,
    /// The credentials of the sender: the argument of AUTH, unchanged.
    pub login: Vec<String>,
}

#[derive(Clone, Default)]
pub struct MailboxOptions {
    /// The TLS configuration, if it encrypts.
    pub tls: Option<Arc<ServerConfig>>,
    /// Whether it does so from the start.
    pub from_start: bool,
    /// The mechanisms offered for AUTH, such as `PLAIN LOGIN`; then mail without AUTH is refused.
    pub auth: Option<&'static str>,
    /// Replies that override the usual ones, by the beginning of a command line.
    pub says: Vec<(&'static str, &'static str)>,
}

/// The server; it goes on until the process ends.
pub struct Mailbox {
    address: SocketAddr,
    mails: Arc<Mutex<Vec<Mail>>>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Mailbox {
    pub fn start(options: MailboxOptions) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let (mails, lines) = (Arc::new(Mutex::default()), Arc::new(Mutex::default()));
        let (own_mails, own_lines) = (mails.clone(), lines.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (options, mails, lines) =
                    (options.clone(), own_mails.clone(), own_lines.clone());
                std::thread::spawn(move || Talk { options, mails, lines }.hold(stream));
            }
        });
        Ok(Self { address, mails, lines })
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The mails that were accepted.
    pub fn mails(&self) -> Vec<Mail> {
        self.mails.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Every line that was said to it.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

trait Wire: Read + Write {}
impl<T: Read + Write> Wire for T {}

struct Talk {
    options: MailboxOptions,
    mails: Arc<Mutex<Vec<Mail>>>,
    lines: Arc<Mutex<Vec<String>>>,
}

/// How a part of a conversation ended.
enum SessionEnd {
    Over,
    Encrypt,
}

impl Talk {
    fn hold(&self, stream: TcpStream) -> Option<()> {
        let encrypted = |stream: TcpStream| {
            let config = self.options.tls.clone()?;
            Some(StreamOwned::new(ServerConnection::new(config).ok()?, stream))
        };
        if self.options.from_start {
            let mut wire = encrypted(stream)?;
            say(&mut wire, "220 mailbox")?;
            self.part(&mut wire, true)?;
            return Some(());
        }
        let mut plain = stream;
        say(&mut plain, "220 mailbox")?;
        match self.part(&mut plain, false)? {
            SessionEnd::Over => Some(()),
            SessionEnd::Encrypt => {
                self.part(&mut encrypted(plain)?, true)?;
                Some(())
            }
        }
    }

    /// A conversation, until it ends or is to be encrypted.
    fn part(&self, wire: &mut dyn Wire, is_encrypted: bool) -> Option<SessionEnd> {
        let mut mail = Mail { is_encrypted, ..Mail::default() };
        loop {
            let line = self.hear(wire)?;
            let word = line.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
            if let Some((_, said)) =
                self.options.says.iter().find(|(lead, _)| line.starts_with(lead))
            {
                say(wire, said)?;
                continue;
            }
            let is_known = self.options.auth.is_none() || !mail.login.is_empty();
            match word.as_str() {
                "EHLO" => self.offer(wire, is_encrypted)?,
                "STARTTLS" => {
                    say(wire, "220 go ahead")?;
                    return Some(SessionEnd::Encrypt);
                }
                "AUTH" => self.auth(wire, &line, &mut mail)?,
                "MAIL" if !is_known => say(wire, "530 5.7.0 authentication required")?,
                "MAIL" => {
                    mail.from = address(&line);
                    say(wire, "250 ok")?;
                }
                "RCPT" => {
                    mail.to.push(address(&line));
                    say(wire, "250 ok")?;
                }
                "DATA" => {
                    say(wire, "354 go on")?;
                    mail.data = self.data(wire)?;
                    self.mails.lock().unwrap_or_else(PoisonError::into_inner).push(mail.clone());
                    say(wire, "250 2.0.0 taken")?;
                }
                "QUIT" => {
                    say(wire, "221 bye")?;
                    return Some(SessionEnd::Over);
                }
                _ => say(wire, "500 what?")?,
            }
        }
    }

    fn offer(&self, wire: &mut dyn Wire, is_encrypted: bool) -> Option<()> {
        let mut lines = vec!["mailbox".to_owned(), "8BITMIME".to_owned()];
        if self.options.tls.is_some() && !is_encrypted {
            lines.push("STARTTLS".to_owned());
        }
        lines.extend(self.options.auth.map(|kinds| format!("AUTH {kinds}")));
        let last = lines.len() - 1;
        let mark = |at: usize| if at == last { ' ' } else { '-' };
        let text = lines.iter().enumerate().map(|(at, line)| format!("250{}{line}", mark(at)));
        say(wire, &text.collect::<Vec<_>>().join("\r\n"))
    }

    fn auth(&self, wire: &mut dyn Wire, line: &str, mail: &mut Mail) -> Option<()> {
        match line.split(' ').nth(1)? {
            "PLAIN" => mail.login.extend(line.split(' ').nth(2).map(str::to_owned)),
            _ => {
                for prompt in ["334 VXNlcm5hbWU6", "334 UGFzc3dvcmQ6"] {
                    say(wire, prompt)?;
                    mail.login.push(self.hear(wire)?);
                }
            }
        }
        say(wire, "235 2.7.0 welcome")
    }

    fn data(&self, wire: &mut dyn Wire) -> Option<String> {
        let mut data = String::new();
        loop {
            let line = self.hear(wire)?;
            if line == "." {
                return Some(data);
            }
            data.push_str(line.strip_prefix('.').unwrap_or(&line));
            data.push('\n');
        }
    }

    fn hear(&self, wire: &mut dyn Wire) -> Option<String> {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while byte[0] != b'\n' {
            wire.read_exact(&mut byte).ok()?;
            line.push(byte[0]);
        }
        let line = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line.clone());
        Some(line)
    }
}

fn say(wire: &mut dyn Wire, line: &str) -> Option<()> {
    wire.write_all(format!("{line}\r\n").as_bytes()).ok()?;
    wire.flush().ok()
}

/// The text between `<` and `>`.
fn address(line: &str) -> String {
    let inner = line.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
    inner.map_or_else(String::new, |(address, _)| address.to_owned())
}
