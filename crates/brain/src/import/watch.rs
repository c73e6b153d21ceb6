//! `import --watch`: imports again whenever files change, until stopped.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use notify::{RecursiveMode, Watcher as _};

use crate::BrainError;

/// Changes come in bursts (an editor writes, renames, touches): wait for a quiet period, but not
/// longer than `MAX_WAIT`.
const QUIET_PERIOD: Duration = Duration::from_millis(300);
const MAX_WAIT: Duration = Duration::from_secs(5);
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(200);

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
            // The receiver is gone when the watch has ended.
            let _ = sender.send(());
        }
    };
    let mut watcher = notify::recommended_watcher(on_event).map_err(watch_error)?;
    for path in paths {
        watcher.watch(path, RecursiveMode::Recursive).map_err(watch_error)?;
    }
    ready();
    while !stop.load(Ordering::Relaxed) {
        match events.recv_timeout(STOP_CHECK_INTERVAL) {
            Ok(()) => {
                wait_until_quiet(&events);
                import()?;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(())
}

fn wait_until_quiet(events: &Receiver<()>) {
    let start = Instant::now();
    while start.elapsed() < MAX_WAIT && events.recv_timeout(QUIET_PERIOD).is_ok() {}
}

fn watch_error(error: notify::Error) -> BrainError {
    BrainError::Watch(error.to_string())
}
