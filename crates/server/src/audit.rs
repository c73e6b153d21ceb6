//! The audit log: who changed what, and who was turned away. One line an event, in a file per ISO
//! week, appended in one write. No content, no query, no secret.

use std::io::Write as _;
use std::path::PathBuf;

use gbrain_store::private;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

/// How much is written of what a caller names; names of pages are shorter. A caller that may not
/// even write could fill the disk otherwise.
const LONGEST: usize = 1024;

/// Something that was done or refused.
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    /// What: the endpoint's or the command's name.
    pub action: String,
    pub workspace: Option<String>,
    /// By whom: the name of a token, or how it came.
    pub by: String,
    pub token_id: Option<String>,
    pub peer: Option<String>,
    /// What it was about: a page's name, a job's number.
    pub target: Option<String>,
    /// What became of it: a status, or a word.
    pub outcome: String,
    /// The request it was.
    pub request_id: Option<String>,
}

/// Where events go.
#[derive(Debug, Clone)]
pub struct Audit {
    /// The directory of the files.
    pub dir: PathBuf,
}

#[derive(Serialize)]
struct Line<'a> {
    schema_version: u32,
    ts: String,
    #[serde(flatten)]
    event: &'a Event,
}

impl Audit {
    /// Appends an event. A log that can't be written is said once to the process's own log; it does
    /// not stop the work.
    pub fn write(&self, event: &Event, now: Timestamp) {
        if let Err(error) = self.append(event, now) {
            tracing::error!(%error, action = %event.action, "the audit log can't be written");
        }
    }

    fn append(&self, event: &Event, now: Timestamp) -> std::io::Result<()> {
        private::create_dir(&self.dir)?;
        let target = event.target.as_deref().map(|target| start_of(target).to_owned());
        let event = &Event { target, ..event.clone() };
        let line = Line { schema_version: 1, ts: format!("{now:.3}"), event };
        let mut line = serde_json::to_vec(&line)?;
        line.push(b'\n');
        let week = now.to_zoned(TimeZone::UTC).date().iso_week_date();
        let name = format!("access-{}-W{:02}.jsonl", week.year(), week.week());
        let mut file = private::file().create(true).append(true).open(self.dir.join(name))?;
        file.write_all(&line)
    }
}

fn start_of(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_callers_name_is_cut() {
        assert_eq!(start_of("default::people/ada"), "default::people/ada");
        assert_eq!(start_of(&"é".repeat(1_000)), "é".repeat(512));
        assert_eq!(start_of(&format!("a{}", "é".repeat(1_000))).len(), 1_023);
    }

    #[test]
    fn lines_are_whole_and_for_the_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let audit = Audit { dir: dir.path().join("audit") };
        let event = Event {
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
