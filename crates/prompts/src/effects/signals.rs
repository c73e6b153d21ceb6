//! Forwards signals to a child process.

use std::io::{self, Read as _};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};

/// Forwards signals to one child after the other. While it exists, these signals do not end this
/// process: a signal between two children is sent to the next one.
///
/// A terminal sends its signals to every process of the foreground, including the child. Only
/// signals sent to this process alone are forwarded, so that the child gets each signal once.
#[derive(Debug)]
pub(crate) struct SignalForwarder {
    state: Arc<Mutex<ForwarderState>>,
    handle: signal_hook::iterator::Handle,
    /// The last signal, or 0. The handler sets it directly, so that it is set before a child that
    /// got the same signal can have exited.
    received: Arc<AtomicUsize>,
    flags: Vec<SigId>,
}

const SIGNALS: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

#[derive(Debug, Default)]
struct ForwarderState {
    child: Option<Pid>,
    early: Vec<Signal>,
}

impl SignalForwarder {
    /// Starts forwarding, before there is a child.
    pub(crate) fn begin() -> io::Result<Self> {
        let state = Arc::new(Mutex::new(ForwarderState::default()));
        let received = Arc::new(AtomicUsize::new(0));
        let mut flags = Vec::new();
        for signal in SIGNALS {
            let number = usize::try_from(signal).unwrap_or_default();
            flags.push(signal_hook::flag::register_usize(signal, received.clone(), number)?);
        }
        let mut signals = SignalsInfo::<WithOrigin>::new(SIGNALS)?;
        let (handle, shared) = (signals.handle(), state.clone());
        std::thread::spawn(move || {
            for signal in signals.forever().filter_map(|origin| passed_on(&origin)) {
                lock(&shared).take(signal);
            }
        });
        Ok(Self { state, handle, received, flags })
    }

    /// The last signal since the start, if the run was interrupted.
    pub(crate) fn received(&self) -> Option<i32> {
        i32::try_from(self.received.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0)
    }

    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let child = command.spawn()?;
        let mut state = lock(&self.state);
        state.child = pid(&child);
        let early = std::mem::take(&mut state.early);
        early.into_iter().for_each(|signal| state.take(signal));
        Ok(child)
    }

    /// Waits for the end of a child in two steps, so that no signal reaches another process that
    /// reuses its id.
    pub(crate) fn wait(&self, child: &mut Child) -> io::Result<ExitStatus> {
        if let Some(pid) = pid(child) {
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), ended) {}
        }
        lock(&self.state).child = None;
        child.wait()
    }

    /// Runs a command; returns its output and exit status.
    pub(crate) fn output(&self, command: &mut Command) -> io::Result<(Vec<u8>, ExitStatus)> {
        let mut child = self.spawn(command)?;
        let mut output = Vec::new();
        let read = child.stdout.take().map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut output));
        let status = self.wait(&mut child)?;
        read.map(|_| (output, status))
    }
}

impl ForwarderState {
    fn take(&mut self, signal: Signal) {
        match self.child {
            // The child may have just exited.
            Some(child) => drop(kill_process(child, signal)),
            None => self.early.push(signal),
        }
    }
}

impl Drop for SignalForwarder {
    fn drop(&mut self) {
        self.handle.close();
        for flag in self.flags.drain(..) {
            signal_hook::low_level::unregister(flag);
        }
    }
}

fn lock(state: &Mutex<ForwarderState>) -> MutexGuard<'_, ForwarderState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

fn passed_on(origin: &Origin) -> Option<Signal> {
    match origin.cause {
        Cause::Sent(_) => Signal::from_named_raw(origin.signal),
        _ => None,
    }
}
