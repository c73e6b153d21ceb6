//! Audit files for capture failures that the database could not store, until a process that can
//! stores them.
//!
//! One line per failure, in one file per ISO week, appended in a single write so that processes do
//! not interleave. Errors while writing are ignored: there is nowhere left to report them.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use gbrain_core::capture::{CaptureFailure, FailureReason};
use gbrain_core::id::WorkspaceId;
use gbrain_store::{Store, private};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::pending;

const PREFIX: &str = "capture-failures-";
const CLAIMED: &str = ".storing";

/// The directory of audit files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLog {
    pub dir: PathBuf,
}

impl AuditLog {
    /// Appends failures to the file of their week; returns whether that succeeded.
    pub(super) fn append(&self, ws: &WorkspaceId, failures: &[CaptureFailure]) -> bool {
        let Some(first) = failures.first() else { return true };
        let lines: String = failures.iter().map(|failure| line(ws, failure)).collect();
        let _ = private::create_dir(&self.dir);
        let path = self.dir.join(file_name(first.at));
        let file = private::file().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(lines.as_bytes())).is_ok()
    }

    /// Appends the captures lost by processes that ended before storing them.
    pub fn record_lost(&self) {
        pending::record_lost(&self.dir, |ws, failures| self.append(ws, failures));
    }

    /// The failures of a workspace that are not stored yet.
    pub fn waiting(&self, ws: &WorkspaceId) -> Vec<CaptureFailure> {
        let files = self.files();
        files
            .iter()
            .flat_map(|path| read(path))
            .filter(|(of, _)| of == ws.as_str())
            .map(|(_, f)| f)
            .collect()
    }

    /// Stores the failures of this workspace that are in files. A file is claimed by renaming it,
    /// so a failure appended meanwhile starts a new file. Storing is idempotent, so a process that
    /// dies in between loses nothing.
    pub fn store_waiting(&self, store: &Store, ws: &WorkspaceId) {
        self.record_lost();
        for path in self.files() {
            let Some(claimed) = claim(&path) else { continue };
            let (ours, others): (Vec<_>, Vec<_>) =
                read(&claimed).into_iter().partition(|(of, _)| of == ws.as_str());
            let ours: Vec<CaptureFailure> = ours.into_iter().map(|(_, failure)| failure).collect();
            if store.add_capture_failures(ws, &ours).is_err() {
                continue;
            }
            for (of, failure) in others {
                if let Ok(ws) = WorkspaceId::new(&of) {
                    self.append(&ws, &[failure]);
                }
            }
            let _ = std::fs::remove_file(claimed);
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return Vec::new() };
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(PREFIX))
            })
            .collect();
        files.sort();
        files
    }
}

fn claim(path: &Path) -> Option<PathBuf> {
    if path.to_string_lossy().ends_with(CLAIMED) {
        return Some(path.to_owned());
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}{CLAIMED}", std::process::id()));
    let claimed = PathBuf::from(name);
    std::fs::rename(path, &claimed).ok().map(|()| claimed)
}

/// The file name for a time: ISO year and week, as every gbrain names its `audit/*` files.
fn file_name(at: Timestamp) -> String {
    let week = at.to_zoned(TimeZone::UTC).date().iso_week_date();
    format!("{PREFIX}{}-W{:02}.jsonl", week.year(), week.week())
}

fn line(ws: &WorkspaceId, failure: &CaptureFailure) -> String {
    let CaptureFailure { event_id, at, reason, detail } = failure;
    let line = json!({
        "schema_version": 1, "event_id": event_id, "ts": format!("{at:.3}"),
        "workspace": ws.as_str(), "reason": reason.name(), "detail": detail,
    });
    format!("{line}\n")
}

/// The failures in a file with their workspaces. Truncated lines are skipped, even if cut inside a
/// character.
fn read(path: &Path) -> Vec<(String, CaptureFailure)> {
    let Ok(bytes) = std::fs::read(path) else { return Vec::new() };
    bytes.split(|byte| *byte == b'\n').filter_map(parse).collect()
}

fn parse(line: &[u8]) -> Option<(String, CaptureFailure)> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
    Some((
        text("workspace")?,
        CaptureFailure {
            event_id: text("event_id")?,
            at: text("ts")?.parse().ok()?,
            reason: FailureReason::from_name(&text("reason")?)?,
            detail: text("detail")?,
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_are_iso_weeks() {
        let name = |text: &str| file_name(text.parse().unwrap());
        assert_eq!(name("2027-01-01T00:00:00Z"), "capture-failures-2026-W53.jsonl");
        assert_eq!(name("2026-11-16T03:00:00Z"), "capture-failures-2026-W47.jsonl");
    }

    #[test]
    fn a_line_that_was_cut_off_inside_a_character_hides_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let audit = AuditLog { dir: dir.path().to_owned() };
        let failure = CaptureFailure {
            event_id: "e1".to_owned(),
            at: Timestamp::UNIX_EPOCH,
            reason: FailureReason::DbDown,
            detail: "größe".to_owned(),
        };
        let ws = WorkspaceId::default();
        let whole = line(&ws, &failure).into_bytes();
        let cut = whole.iter().position(|byte| *byte == 0xc3).unwrap() + 1;
        let file = [&whole[..cut], b"\n", &whole].concat();
        std::fs::write(dir.path().join(file_name(failure.at)), file).unwrap();
        assert_eq!(audit.waiting(&ws), [failure]);
    }
}
