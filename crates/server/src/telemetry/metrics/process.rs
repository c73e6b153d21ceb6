//! Process statistics from `/proc`; `None` on systems other than Linux.

/// Clock ticks in `/proc` per second: fixed at 100 for user space on every architecture.
const TICKS: f64 = 100.0;

/// Resident memory, in bytes.
pub(super) fn resident_bytes() -> Option<u64> {
    resident_in(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// CPU time used so far, in seconds.
pub(super) fn cpu_seconds() -> Option<f64> {
    cpu_in(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

fn resident_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// A program's name may contain spaces and brackets, so parsing starts after the last bracket.
fn cpu_in(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) as f64 / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_linux_writes() {
        assert_eq!(resident_in("Name:\tgbrain\nVmRSS:\t    2048 kB\n"), Some(2_097_152));
        assert_eq!(resident_in("Name:\tgbrain\n"), None);
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 99 0 0 0 150 25 0 0 20 0 1 0 5 0 0";
        assert_eq!(cpu_in(stat), Some(1.75));
        assert_eq!(cpu_in("7 (gbrain) S 1"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory_and_has_run() {
        assert!(resident_bytes().is_some_and(|bytes| bytes > 100_000));
        assert!(cpu_seconds().is_some_and(|seconds| (0.0..10_000.0).contains(&seconds)));
    }
}
