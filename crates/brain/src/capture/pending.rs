//! Counts captures that are accepted but not stored yet, in a file that outlives the process.
//!
//! The file is locked while its process lives. A process that is killed, or ends before the
//! database has stored its captures, leaves the file behind without a lock: the next process reads
//! from it how many captures were lost. It holds a count and a reason, never a query. Nothing is
//! synced: the file survives the process, not a power failure.

use std::fs::{File, TryLockError};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use gbrain_core::capture::{CaptureFailure, FailureReason};
use gbrain_core::clock::moment;
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_store::private;
use serde_json::{Value, json};

use crate::atomic::{TemporaryKind, TemporaryNames, remove_stale};

const PREFIX: &str = "capture-pending-";
/// Prefix of a file that is not locked yet.
const UNLOCKED: &str = "new-";
/// Length of a process's event name.
const NAME_LEN: usize = 16;
/// Every count overwrites the previous one, so all lines have the same length.
const LINE_LEN: usize = 256;
/// Limit on failures per file, larger than any queue: a damaged file must not create an unbounded
/// number.
const MAX_FAILURES: u64 = 1_000_000;

/// The file of one process and workspace.
pub(super) struct PendingFile {
    workspace: String,
    state: Mutex<PendingState>,
}

struct PendingState {
    /// `None` if the home is not writable, and after removal.
    open: Option<(File, PathBuf)>,
    written: Option<(u64, FailureReason)>,
}

impl PendingFile {
    /// Creates the locked file. `name` must be unique to this process and workspace.
    pub(super) fn create(dir: &Path, workspace: &WorkspaceId, name: &str) -> Self {
        let open = create_locked(dir, name).ok();
        let state = Mutex::new(PendingState { open, written: None });
        Self { workspace: workspace.as_str().to_owned(), state }
    }

    /// Writes how many captures are pending, and why they would be lost if the process ended now.
    /// `count` is called under the lock, so an older count cannot overwrite a newer one.
    pub(super) fn write(&self, count: impl FnOnce() -> (u64, FailureReason)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        let Some((file, _)) = &mut state.open else { return };
        let (pending, reason) = count();
        if state.written == Some((pending, reason)) {
            return;
        }
        let line = json!({
            "schema_version": 1, "workspace": self.workspace, "reason": reason.name(), "pending": pending,
        });
        let line = format!("{line:<LINE_LEN$}\n", line = line.to_string());
        let written = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(line.as_bytes()));
        state.written = written.ok().map(|()| (pending, reason));
    }

    /// Removes the file if nothing is pending.
    pub(super) fn remove_if_settled(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.written.is_none_or(|(pending, _)| pending == 0)
            && let Some((_, path)) = state.open.take()
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        self.remove_if_settled();
    }
}

/// Uses another name until the file is locked: a file with our prefix and no lock belongs to a
/// process that ended.
fn create_locked(dir: &Path, name: &str) -> std::io::Result<(File, PathBuf)> {
    private::create_dir(dir)?;
    let (unlocked, path) =
        (dir.join(format!("{UNLOCKED}{PREFIX}{name}")), dir.join(format!("{PREFIX}{name}")));
    let file = private::file().create_new(true).write(true).open(&unlocked)?;
    let locked = file.try_lock().map_err(std::io::Error::from);
    let placed = locked.and_then(|()| std::fs::rename(&unlocked, &path));
    if let Err(error) = placed {
        let _ = std::fs::remove_file(unlocked);
        return Err(error);
    }
    Ok((file, path))
}

/// Reports the captures lost by ended processes, by workspace. `store` returns whether it stored
/// them; then their file is removed.
pub(super) fn record_lost(dir: &Path, store: impl Fn(&WorkspaceId, &[CaptureFailure]) -> bool) {
    // A process killed before it locked its file had nothing pending.
    let (prefix, kind) = (format!("{UNLOCKED}{PREFIX}"), TemporaryKind::File);
    remove_stale(dir, &TemporaryNames { kind, prefix: &prefix, random: NAME_LEN, suffix: "" });
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(name) = name.strip_prefix(PREFIX) else { continue };
        let Ok(file) = File::open(&path) else { continue };
        match file.try_lock() {
            Ok(()) => (),
            // Its process lives, or the file system cannot lock.
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => continue,
        }
        let is_stored = match parse_lost(&path, &file, name) {
            Some((workspace, failures)) => failures.is_empty() || store(&workspace, &failures),
            None => true,
        };
        if is_stored {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// Parses a file. Event ids derive from the file name, so reading it twice stores each event once.
fn parse_lost(path: &Path, file: &File, name: &str) -> Option<(WorkspaceId, Vec<CaptureFailure>)> {
    let value: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let workspace = WorkspaceId::new(value["workspace"].as_str()?).ok()?;
    let reason = FailureReason::from_name(value["reason"].as_str()?)?;
    let at = file.metadata().ok()?.modified().ok()?;
    let at = moment(at);
    let failures = (0..value["pending"].as_u64()?.min(MAX_FAILURES)).map(|n| CaptureFailure {
        event_id: Hash::of(format!("{name} {n}").as_bytes()).short(),
        at,
        reason,
        detail: detail(reason).to_owned(),
    });
    Some((workspace, failures.collect()))
}

fn detail(reason: FailureReason) -> &'static str {
    match reason {
        FailureReason::DbDown => {
            "the process ended while the database did not store the capture: it was locked or did not answer"
        }
        _ => "the process ended before the capture was stored",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn collected(dir: &Path) -> Vec<(String, CaptureFailure)> {
        let kept = RefCell::new(Vec::new());
        record_lost(dir, |ws, failures| {
            let of = failures.iter().map(|failure| (ws.as_str().to_owned(), failure.clone()));
            kept.borrow_mut().extend(of);
            true
        });
        kept.into_inner()
    }

    fn files(dir: &Path) -> usize {
        std::fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn a_process_that_lives_has_lost_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let pending = PendingFile::create(dir.path(), &WorkspaceId::default(), "a");
        pending.write(|| (3, FailureReason::Other));
        assert_eq!(collected(dir.path()), []);
        assert_eq!(files(dir.path()), 1);
        pending.write(|| (0, FailureReason::Other));
        drop(pending);
        assert_eq!(files(dir.path()), 0);
    }

    #[test]
    fn a_process_that_ended_has_lost_what_was_pending() {
        let dir = tempfile::tempdir().unwrap();
        let team = WorkspaceId::new("team").unwrap();
        let pending = PendingFile::create(dir.path(), &team, "a");
        pending.write(|| (12, FailureReason::Other));
        pending.write(|| (2, FailureReason::DbDown));
        drop(pending);
        let parse_lost = collected(dir.path());
        assert_eq!(parse_lost.len(), 2);
        assert!(
            parse_lost.iter().all(|(of, one)| of == "team" && one.reason == FailureReason::DbDown)
        );
        assert_ne!(parse_lost[0].1.event_id, parse_lost[1].1.event_id);
        assert_eq!(files(dir.path()), 0);
    }

    #[test]
    fn captures_that_cannot_be_stored_stay_pending() {
        let dir = tempfile::tempdir().unwrap();
        let pending = PendingFile::create(dir.path(), &WorkspaceId::default(), "a");
        pending.write(|| (1, FailureReason::Other));
        drop(pending);
        record_lost(dir.path(), |_, _| false);
        assert_eq!(files(dir.path()), 1);
        assert_eq!(collected(dir.path()).len(), 1);
    }

    #[test]
    fn a_file_that_was_never_locked_goes_and_what_is_named_alike_stays() {
        let dir = tempfile::tempdir().unwrap();
        let name = Hash::of(b"a process").short();
        for rest in [name.as_str(), "notes.txt"] {
            let path = dir.path().join(format!("{UNLOCKED}{PREFIX}{rest}"));
            let file = File::create(path).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        }
        assert_eq!(collected(dir.path()), []);
        assert!(dir.path().join(format!("{UNLOCKED}{PREFIX}notes.txt")).exists());
        assert_eq!(files(dir.path()), 1);
    }

    #[test]
    fn a_damaged_file_is_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("a", ""), ("b", "{\"pending\": 1}"), ("c", "\0\0\0")] {
            std::fs::write(dir.path().join(format!("{PREFIX}{name}")), text).unwrap();
        }
        assert_eq!(collected(dir.path()), []);
        assert_eq!(files(dir.path()), 0);
    }

    #[test]
    fn without_a_home_nothing_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let pending = PendingFile::create(&file, &WorkspaceId::default(), "a");
        pending.write(|| (1, FailureReason::Other));
        pending.remove_if_settled();
    }
}
