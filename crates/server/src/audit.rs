//! The audit log: changes and denied requests. One JSON line per event, appended in one write to a
//! file per ISO week. It contains no page content, query or secret.

use std::io::Write as _;
use std::path::PathBuf;

use gbrain_store::private;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

/// Longest logged target, in bytes; page names are shorter. Without a limit a caller without write
/// access could fill the disk.
const MAX_TARGET_BYTES: usize = 1024;

/// A change or a denied request.
#[derive(Debug, Clone, Serialize)]
pub struct AuditEvent {
    /// Name of the endpoint or command.
    pub action: String,
    pub workspace: Option<String>,
    /// Name of the token, or how the caller connected.
    pub by: String,
    pub token_id: Option<String>,
    pub peer: Option<String>,
    /// The changed object: a page's name, a job's number.
    pub target: Option<String>,
    /// HTTP status or a word.
    pub outcome: String,
    pub request_id: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Audit {
    pub dir: PathBuf,
}

#[derive(Serialize)]
struct AuditLine<'a> {
    schema_version: u32,
    ts: String,
    #[serde(flatten)]
    event: &'a AuditEvent,
}

impl Audit {
    /// Appends an event. A write error is logged and does not stop the work.
    pub fn write(&self, event: &AuditEvent, now: Timestamp) {
        if let Err(error) = self.append(event, now) {
            tracing::error!(%error, action = %event.action, "cannot write the audit log");
        }
    }

    fn append(&self, event: &AuditEvent, now: Timestamp) -> std::io::Result<()> {
        private::create_dir(&self.dir)?;
        let target = event.target.as_deref().map(|target| start_of(target).to_owned());
        let event = &AuditEvent { target, ..event.clone() };
        let line = AuditLine { schema_version: 1, ts: format!("{now:.3}"), event };
        let mut line = serde_json::to_vec(&line)?;
        line.push(b'\n');
        let week = now.to_zoned(TimeZone::UTC).date().iso_week_date();
        let name = format!("access-{}-W{:02}.jsonl", week.year(), week.week());
        let mut file = private::file().create(true).append(true).open(self.dir.join(name))?;
        file.write_all(&line)
    }
}

fn start_of(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TARGET_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_callers_are_truncated() {
        assert_eq!(start_of("default::people/ada"), "default::people/ada");
        assert_eq!(start_of(&"é".repeat(1_000)), "é".repeat(512));
        assert_eq!(start_of(&format!("a{}", "é".repeat(1_000))).len(), 1_023);
    }

    #[test]
    fn lines_are_whole_and_for_the_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let audit = Audit { dir: dir.path().join("audit") };
        let event = AuditEvent {
            action: "put_page".to_owned(),
            workspace: Some("default".to_owned()),
            by: "ci".to_owned(),
            token_id: None,
            peer: Some("127.0.0.1".to_owned()),
            target: Some("default::a\nb".to_owned()),
            outcome: "200".to_owned(),
            request_id: None,
        };
        let now = "2026-11-16T03:00:00Z".parse().unwrap();
        audit.write(&event, now);
        audit.write(&event, now);
        let path = audit.dir.join("access-2026-W47.jsonl");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2);
        for line in text.lines() {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(value["target"], "default::a\nb");
            assert_eq!(value["ts"], "2026-11-16T03:00:00.000Z");
        }
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
