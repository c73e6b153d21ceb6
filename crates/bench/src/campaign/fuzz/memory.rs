//! How much memory a case takes, as the kernel counts it.

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
        Self { before: if is_reset { field("VmRSS:") } else { None } }
    }

    /// By how many bytes the peak is above the beginning.
    pub(super) fn grown(&self) -> u64 {
        let peak = self.before.and_then(|before| Some(field("VmHWM:")?.saturating_sub(before)));
        peak.unwrap_or(0)
    }
}

fn field(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}
