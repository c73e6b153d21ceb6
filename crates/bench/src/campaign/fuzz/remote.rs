//! What must hold for what others say over a real connection: targets and mail servers.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fastrand::Rng;
use gbrain_core::format::target::read_target;
use gbrain_core::replay::LiveContext;
use gbrain_core::target::Question;
use gbrain_eval::retriever::{TargetEnvironment, open};
use gbrain_net::Secret;
use gbrain_net::mail::{Login, Mail, MailEncryption, MailServer};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::promises::{Broken, SECRET, Tools, check_words, require};
use super::targets::check_answered;

/// Results that are asked for.
const K: usize = 5;

/// The password in base64, as AUTH LOGIN sends it.
const SECRET_ON_THE_WIRE: &str = "aHVudGVyMngtc2VjcmV0";

/// Longer than anything here takes: the other end never waits.
const PATIENCE: f64 = 30.0;

/// What a target says over HTTP, as an MCP server or through a pipe: an answer, or words without the
/// key that was sent.
pub(super) fn check_remote(bytes: &[u8], tools: &Tools, rng: &mut Rng) -> Result<(), Broken> {
    tools.peer.say(bytes);
    let url = format!("http://{}", tools.peer.address());
    let file = tools.dir.path().join("said");
    let http = |api: &str| json!({ "kind": "http", "api": api, "url": url, "key_env": "KEY" });
    let mut settings = match rng.u8(..12) {
        0..=3 => http("lightfast-v1"),
        4 | 5 => http("gbrain"),
        6..=10 => json!({ "kind": "mcp", "url": url, "key_env": "KEY", "tool": "query" }),
        _ => {
            std::fs::write(&file, bytes).map_err(|error| error.to_string())?;
            json!({ "kind": "command", "command": ["cat", file] })
        }
    };
    for (name, value) in [("timeout_seconds", PATIENCE), ("deadline_seconds", PATIENCE)] {
        settings[name] = json!(value);
    }
    settings["attempts"] = json!(1);
    ask(&settings)
}

fn ask(settings: &Value) -> Result<(), Broken> {
    let target = read_target("peer", settings).map_err(|error| error.to_string())?;
    let environment = TargetEnvironment {
        lookup: Arc::new(|name: &str| (name == "KEY").then(|| SECRET.to_owned())),
        dir: std::env::temp_dir(),
        cancel: Arc::new(AtomicBool::new(false)),
    };
    let target = open(target, LiveContext::at(Timestamp::UNIX_EPOCH), &environment)
        .map_err(|error| error.to_string())?;
    let look = target.inspect(&Question::new("who leads the plug gateway?", K));
    // A command is sent no key: one that it prints can't be told from other words.
    let is_sent = settings.get("key_env").is_some();
    let is_secret = |text: &str| is_sent && text.contains(SECRET);
    let shown = look.raw.map(|raw| raw.to_string()).unwrap_or_default();
    require(!is_secret(&shown), || format!("the key is shown: {shown}"))?;
    if let Err(error) = &look.answer {
        let words = error.to_string();
        require(!is_secret(&words), || format!("the key is told: {words}"))?;
    }
    check_answered(&look.answer, K)
}

/// What a mail server says: it took the mail, or words on one line without the password that it was to be sent. A
/// password that we do not know can't be told from other words.
pub(super) fn check_mail(bytes: &[u8], tools: &Tools, rng: &mut Rng) -> Result<(), Broken> {
    tools.peer.say(bytes);
    let login = || {
        Some(Login { username: Secret::new("ada@example.com")?, password: Secret::new(SECRET)? })
    };
    let protections = [MailEncryption::None, MailEncryption::StartTls, MailEncryption::Tls];
    let server = MailServer {
        host: "127.0.0.1".to_owned(),
        port: tools.peer.address().port(),
        encryption: protections[[0, 0, 0, 0, 1, 2][rng.usize(..6)]],
        login: if rng.bool() { login() } else { None },
        authorities: Some(rustls::RootCertStore::empty()),
    };
    let piece = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
    let mail = Mail {
        from: "gbrain@example.com".to_owned(),
        to: vec!["ada@example.com".to_owned(), "ben@example.com".to_owned()],
        subject: piece.clone(),
        text: piece,
        id: "case".to_owned(),
        thread: "thread".to_owned(),
        at: Timestamp::UNIX_EPOCH,
    };
    let words = match server.send(&mail, Duration::from_secs_f64(PATIENCE)) {
        Ok(said) => said,
        Err(failure) => {
            check_words(&failure.message)?;
            failure.message
        }
    };
    let is_told = [SECRET, SECRET_ON_THE_WIRE].iter().any(|secret| words.contains(secret));
    let is_known = server.login.is_some();
    require(!(is_known && is_told), || format!("the password is told: {words}"))?;
    require(!words.contains(char::is_control), || format!("control characters: {words:?}"))?;
    require(words.chars().count() <= 300, || format!("{} characters", words.chars().count()))
}
