//! `import --watch`: imports again whenever files change, until told to stop.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use notify::{RecursiveMode, Watcher as _};

use crate::BrainError;

/// Changes come in bursts (an editor writes, renames, touches): wait for a quiet moment, but not
/// for ever.
const QUIET: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(200);

/// Calls `import` after every burst of changes below `paths`, until `stop` is set.
///
/// `ready` is called once, when every change from then on will be seen.
pub fn watch(
    paths: &[PathBuf],
    stop: &AtomicBool,
    ready: impl FnOnce(),
    mut import: impl FnMut() -> Result<(), BrainError>,
) -> Result<(), BrainError> {
    let (sender, events) = crossbeam_channel::unbounded();
    let on_event = move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|event| !event.kind.is_access()) {
            // A receiver that is gone means the watch has ended.
            let _ = sender.send(());
        }
    };
    let mut watcher = notify::recommended_watcher(on_event).map_err(failed)?;
    for path in paths {
        watcher.watch(path, RecursiveMode::Recursive).map_err(failed)?;
    }
    ready();
    while !stop.load(Ordering::Relaxed) {
        match events.recv_timeout(TICK) {
            Ok(()) => {
                settle(&events);
                import()?;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(())
}

fn settle(events: &Receiver<()>) {
    let start = Instant::now();
    while start.elapsed() < PATIENCE && events.recv_timeout(QUIET).is_ok() {}
}

fn failed(error: notify::Error) -> BrainError {
    BrainError::Watch(error.to_string())
}
