//! The audit files of the probe: one line per run, in one file per ISO week, beside the store.
//!
//! A line is one write and is on disk when it is acknowledged, so that processes do not interleave.
//! A line cut off by a kill or a full disk stays on a line of its own and damages no other.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use gbrain_core::format::probe::{ProbeEvent, read_events};
use gbrain_core::id::WorkspaceId;
use gbrain_core::probe::{Event, file_name};
use gbrain_store::private;

/// Prefix of the file names.
const PREFIX: &str = "quality-probe-";

/// Appends a run to the file of its week.
pub(super) fn append(dir: &Path, workspace: &WorkspaceId, event: &Event) -> io::Result<()> {
    private::create_dir(dir)?;
    let line = ProbeEvent::from(event).of(workspace).line();
    let path = dir.join(file_name(event.at));
    let mut file = private::file().create(true).read(true).append(true).open(path)?;
    let line = if is_cut_off(&file)? { format!("\n{line}") } else { line };
    file.write_all(line.as_bytes())?;
    file.sync_data()
}

/// Whether the last line lacks its newline.
fn is_cut_off(file: &File) -> io::Result<bool> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else { return Ok(false) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte != *b"\n")
}

/// The runs of a workspace. Unreadable files and lines are skipped.
pub(super) fn read(dir: &Path, workspace: &WorkspaceId) -> Vec<Event> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let is_ours = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
    };
    let files = entries.filter_map(Result::ok).map(|entry| entry.path()).filter(is_ours);
    let texts = files.filter_map(|path| std::fs::read(path).ok());
    texts.flat_map(|text| read_events(&text, workspace)).collect()
}

#[cfg(test)]
mod tests {
    use gbrain_core::probe::ProbeOutcome;

    use super::*;

    #[test]
    fn lines_are_found_again_by_workspace() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("audit");
        let event = |at: &str| Event::bare(at.parse().unwrap(), ProbeOutcome::Pass, None);
        let (team, other) = (WorkspaceId::new("team").unwrap(), WorkspaceId::default());
        let events = ["2026-12-31T03:00:00Z", "2027-01-04T03:00:00Z"].map(event);
        append(&dir, &team, &events[0]).unwrap();
        append(&dir, &team, &events[1]).unwrap();
        append(&dir, &other, &event("2027-01-05T03:00:00Z")).unwrap();
        let mut found = read(&dir, &team);
        found.sort_by_key(|event| event.at);
        assert_eq!(found, events);
        assert_eq!(read(&dir, &other).len(), 1);
        assert!(dir.join("quality-probe-2026-W53.jsonl").is_file());
        assert!(dir.join("quality-probe-2027-W01.jsonl").is_file());
        assert_eq!(read(&dir.join("nowhere"), &team), []);
    }

    #[test]
    fn a_line_that_was_cut_off_takes_no_other_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let ws = WorkspaceId::default();
        let event = Event::bare("2026-11-16T03:00:00Z".parse().unwrap(), ProbeOutcome::Fail, None);
        let path = dir.path().join(file_name(event.at));
        std::fs::write(&path, "{\"ts\":\"2026-11-1").unwrap();
        append(dir.path(), &ws, &event).unwrap();
        append(dir.path(), &ws, &event).unwrap();
        assert_eq!(read(dir.path(), &ws), [event.clone(), event]);
    }
}
