//! Signals on their way to a child.

use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};

/// Passes signals on to a child while it lives.
///
/// A terminal sends its signals to every process of the foreground, the child among them; only what
/// somebody sent to us alone is passed on, so that the child gets each signal once.
#[derive(Debug)]
pub(crate) struct Forwarding {
    child: Arc<Mutex<Option<Pid>>>,
    handle: signal_hook::iterator::Handle,
}

impl Forwarding {
    /// Starts for a child, before it can end.
    pub(crate) fn to(child: u32) -> std::io::Result<Self> {
        let pid = i32::try_from(child).ok().and_then(Pid::from_raw);
        let child = Arc::new(Mutex::new(pid));
        let mut signals = SignalsInfo::<WithOrigin>::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
        let (handle, held) = (signals.handle(), child.clone());
        std::thread::spawn(move || {
            for origin in signals.forever() {
                let child = held.lock().unwrap_or_else(PoisonError::into_inner);
                if let (Some(pid), Some(signal)) = (*child, passed_on(&origin)) {
                    // It may have ended just now.
                    let _ = kill_process(pid, signal);
                }
            }
        });
        Ok(Self { child, handle })
    }

    /// The child is about to be forgotten by the system: its number may be another's from now on.
    pub(crate) fn child_ended(&self) {
        *self.child.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.handle.close();
    }
}

fn passed_on(origin: &Origin) -> Option<Signal> {
    match origin.cause {
        Cause::Sent(_) => Signal::from_named_raw(origin.signal),
        _ => None,
    }
}
