//! Signals on their way to a child.

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

/// Passes signals on to one child after the other. From its start on no such signal ends this process:
/// one that comes between two children is for the next.
///
/// A terminal sends its signals to every process of the foreground, the child among them; only what
/// somebody sent to us alone is passed on, so that the child gets each signal once.
#[derive(Debug)]
pub(crate) struct Forwarding {
    held: Arc<Mutex<Held>>,
    handle: signal_hook::iterator::Handle,
    /// The last signal that came, or 0. Set by the handler itself, so that it is there before a child that got the
    /// same signal can have ended.
    received: Arc<AtomicUsize>,
    flags: Vec<SigId>,
}

const SIGNALS: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

#[derive(Debug, Default)]
struct Held {
    child: Option<Pid>,
    early: Vec<Signal>,
}

impl Forwarding {
    /// Begins, before there is a child.
    pub(crate) fn begin() -> io::Result<Self> {
        let held = Arc::new(Mutex::new(Held::default()));
        let received = Arc::new(AtomicUsize::new(0));
        let mut flags = Vec::new();
        for signal in SIGNALS {
            let number = usize::try_from(signal).unwrap_or_default();
            flags.push(signal_hook::flag::register_usize(signal, received.clone(), number)?);
        }
        let mut signals = SignalsInfo::<WithOrigin>::new(SIGNALS)?;
        let (handle, shared) = (signals.handle(), held.clone());
        std::thread::spawn(move || {
            for signal in signals.forever().filter_map(|origin| passed_on(&origin)) {
                lock(&shared).take(signal);
            }
        });
        Ok(Self { held, handle, received, flags })
    }

    /// The last signal that came since the beginning: the run was interrupted.
    pub(crate) fn received(&self) -> Option<i32> {
        i32::try_from(self.received.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0)
    }

    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let child = command.spawn()?;
        let mut held = lock(&self.held);
        held.child = pid(&child);
        let early = std::mem::take(&mut held.early);
        early.into_iter().for_each(|signal| held.take(signal));
        Ok(child)
    }

    /// Waits for the end of a child in two steps, so that no signal goes to whoever has its number next.
    pub(crate) fn wait(&self, child: &mut Child) -> io::Result<ExitStatus> {
        if let Some(pid) = pid(child) {
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), ended) {}
        }
        lock(&self.held).child = None;
        child.wait()
    }

    /// Runs a command; what it writes, and how it ended.
    pub(crate) fn output(&self, command: &mut Command) -> io::Result<(Vec<u8>, ExitStatus)> {
        let mut child = self.spawn(command)?;
        let mut output = Vec::new();
        let read = child.stdout.take().map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut output));
        let status = self.wait(&mut child)?;
        read.map(|_| (output, status))
    }
}

impl Held {
    fn take(&mut self, signal: Signal) {
        match self.child {
            // It may have ended just now.
            Some(child) => drop(kill_process(child, signal)),
            None => self.early.push(signal),
        }
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.handle.close();
        for flag in self.flags.drain(..) {
            signal_hook::low_level::unregister(flag);
        }
    }
}

fn lock(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
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
