//! Joining threads with a deadline.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(5);

/// Waits until the threads have ended or the deadline passes; returns how many still run.
pub(crate) fn wait_for(threads: Vec<JoinHandle<()>>, until: Instant) -> usize {
    let is_at_work = |thread: &JoinHandle<()>| !thread.is_finished();
    while threads.iter().any(is_at_work) && Instant::now() < until {
        std::thread::sleep(TICK);
    }
    let (at_work, ended): (Vec<_>, Vec<_>) = threads.into_iter().partition(is_at_work);
    for thread in ended {
        // A thread that panicked has nothing left to wait for.
        let _ = thread.join();
    }
    at_work.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_has_a_timeout() {
        let (let_go, held) = std::sync::mpsc::channel::<()>();
        let busy = std::thread::spawn(move || {
            let _ = held.recv();
        });
        let quick = std::thread::spawn(|| ());
        let until = Instant::now() + Duration::from_millis(200);
        assert_eq!(wait_for(vec![busy, quick], until), 1);
        assert!(Instant::now() >= until);
        drop(let_go);
    }
}
