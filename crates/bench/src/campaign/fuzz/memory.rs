//! How much memory a case takes, as the kernel counts it.

use gbrain_testkit::vitals::status_kib;

/// The memory of this process at the beginning of a case.
pub(super) struct Memory {
    /// Resident bytes; none if the peak can't be counted from here on.
    before: Option<u64>,
}

impl Memory {
    /// Counts from here on.
    pub(super) fn now() -> Self {
        // Resets the peak (proc_pid_clear_refs(5)).
        let is_reset = std::fs::write("/proc/self/clear_refs", "5").is_ok();
        Self { before: if is_reset { field("VmRSS") } else { None } }
    }

    /// By how many bytes the peak is above the beginning.
    pub(super) fn grown(&self) -> u64 {
        let peak = self.before.and_then(|before| Some(field("VmHWM")?.saturating_sub(before)));
        peak.unwrap_or(0)
    }
}

/// A line of this process's status in bytes; none if it can't be read.
fn field(name: &str) -> Option<u64> {
    Some(status_kib(std::process::id(), name) << 10).filter(|bytes| *bytes > 0)
}
