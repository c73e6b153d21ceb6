//! The content of the log, and what must never be logged.

use std::io::Write;
use std::sync::{Arc, Mutex};

use gbrain_server::telemetry::logs::subscriber;
use gbrain_server::telemetry::{LogFormat, LogOptions};
use serde_json::{Value, json};
use tracing::subscriber::with_default;
use tracing::{debug, error, info, info_span, warn};

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The lines that something logs.
pub(crate) fn lines(format: LogFormat, filter: &str, log: impl FnOnce()) -> Vec<String> {
    let written = Written::default();
    let options = LogOptions { format, filter: filter.to_owned() };
    with_default(subscriber(&options, written.clone()).unwrap(), log);
    let bytes = written.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}

/// A line of text without its time.
fn untimed(line: &str) -> &str {
    let (time, rest) = line.split_once(' ').unwrap();
    assert!(time.parse::<jiff::Timestamp>().is_ok(), "{time}");
    rest
}

fn log_secrets() {
    let span = info_span!("request", request_id = "r-1", query = "who is ada", late = 0);
    let _inside = span.enter();
    span.record("late", 7);
    info!(
        token = "gbt_s3cret",
        database_url = "postgres://ada:s3cret@db/x",
        content_bytes = 12,
        password = 1234_u64,
        note = "see postgres://ada:s3cret@db/x",
        "signed in with gbt_s3cret"
    );
    let error = std::io::Error::other("https://u:s3cret@host refused; password=s3cret");
    warn!(error = &error as &dyn std::error::Error, debugged = ?("gbt_s3cret", 1), "failed");
}

#[test]
fn private_fields_and_secrets_are_never_written() {
    for format in [LogFormat::Text, LogFormat::Json] {
        let text = lines(format, "info", log_secrets).join("\n");
        for secret in ["s3cret", "who is ada", "1234"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

#[test]
fn a_line_for_people() {
    let lines = lines(LogFormat::Text, "info", log_secrets);
    let expected = [
        " INFO it::logs: signed in with gbt_[redacted] token=\"[redacted] (10 bytes)\" \
         database_url=\"[redacted] (26 bytes)\" content_bytes=12 password=\"[redacted] (4 bytes)\" \
         note=\"see postgres://ada:[redacted]@db/x\" \
         in request{request_id=r-1 query=\"[redacted] (10 bytes)\" late=7}",
        " WARN it::logs: failed error=\"https://u:[redacted]@host refused; password=[redacted]\" \
         debugged=\"(\\\"gbt_[redacted]\\\", 1)\" \
         in request{request_id=r-1 query=\"[redacted] (10 bytes)\" late=7}",
    ];
    assert_eq!(lines.iter().map(|line| untimed(line)).collect::<Vec<_>>(), expected);
}

#[test]
fn a_line_for_programs() {
    let lines = lines(LogFormat::Json, "info", log_secrets);
    let mut line: Value = serde_json::from_str(&lines[0]).unwrap();
    let time = line.as_object_mut().unwrap().shift_remove("timestamp").unwrap();
    assert!(time.as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{time}");
    let expected = json!({
        "level": "info",
        "target": "it::logs",
        "message": "signed in with gbt_[redacted]",
        "fields": {
            "token": "[redacted] (10 bytes)",
            "database_url": "[redacted] (26 bytes)",
            "content_bytes": 12,
            "password": "[redacted] (4 bytes)",
            "note": "see postgres://ada:[redacted]@db/x",
        },
        "spans": [
            { "name": "request", "request_id": "r-1", "query": "[redacted] (10 bytes)", "late": 7 },
        ],
    });
    assert_eq!(line, expected);
}

#[test]
fn an_event_is_one_line_whatever_it_holds() {
    let hostile = "a\n2026-01-01T00:00:00Z ERROR forged: x\r\u{1b}[2J\u{9b}1m\u{202e}\u{2028}\0b";
    let log = || error!(reason = hostile, "{hostile}");
    let text = lines(LogFormat::Text, "info", log);
    assert_eq!(text.len(), 1, "{text:?}");
    let controls = |c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{2028}');
    assert!(!text[0].contains(controls), "{text:?}");
    assert!(text[0].contains("a\\n2026"), "{text:?}");
    let json = lines(LogFormat::Json, "info", log);
    assert_eq!(json.len(), 1, "{json:?}");
    assert!(!json[0].contains(controls), "{json:?}");
    let read: Value = serde_json::from_str(&json[0]).unwrap();
    assert_eq!(read["message"], hostile);
    assert_eq!(read["fields"]["reason"], hostile);
}

#[test]
fn only_what_the_filter_asks_for_is_written() {
    let log = || {
        debug!("one");
        info!(target: "hyper::proto", "two");
        warn!("three");
    };
    let said = |filter: &str| {
        let lines = lines(LogFormat::Json, filter, log);
        let read = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        read.map(|line| line["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(said("trace"), ["one", "two", "three"]);
    assert_eq!(said("info,hyper=off"), ["three"]);
    assert_eq!(said("hyper=info"), ["two"]);
    assert_eq!(said("off"), [""; 0]);
    let bad = LogOptions { format: LogFormat::Text, filter: "info,verbose".to_owned() };
    let error = subscriber(&bad, std::io::sink()).err().unwrap();
    assert!(error.to_string().contains("\"verbose\""), "{error}");
}

#[test]
fn client_text_is_logged_only_if_enabled() {
    let log = || {
        error!(target: "rmcp::transport", "a line was too long");
        warn!(target: "rmcp::service", error = "no tool `who is ada`", "response error");
        info!(target: "rmcp::service", notification = "who is ada", "received notification");
        debug!(target: "rmcp::service", request = "who is ada", "received request");
    };
    let written = |filter: &str| lines(LogFormat::Text, filter, log).len();
    for (filter, expected) in [
        ("info", 1),
        ("trace", 1),
        ("off", 0),
        ("hyper=info", 0),
        ("rmcp=debug", 4),
        ("rmcp=warn,trace", 2),
        ("off,rmcp::service=info", 2),
    ] {
        assert_eq!(written(filter), expected, "{filter}");
    }
}
