//! The resources that a process uses: memory, open files, threads, processor time.

use std::path::Path;

use anyhow::{Context as _, Result};

/// The unit of processor time in `/proc`: `USER_HZ`, which Linux has fixed at 100.
const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessStats {
    /// Resident memory in KiB, files that are mapped included.
    pub resident_kib: u64,
    /// Resident memory in KiB that is the process's own.
    pub anonymous_kib: u64,
    /// The number of open descriptors.
    pub descriptors: u64,
    pub threads: u64,
    /// Mapped pieces of files that are deleted: space that can't be given back yet.
    pub deleted: u64,
}

impl ProcessStats {
    pub fn of(pid: u32) -> Result<Self> {
        let proc = Path::new("/proc").join(pid.to_string());
        let status = std::fs::read_to_string(proc.join("status"))
            .with_context(|| format!("process {pid} is gone"))?;
        let maps = std::fs::read_to_string(proc.join("maps"))?;
        Ok(Self {
            resident_kib: number(&status, "VmRSS"),
            anonymous_kib: number(&status, "RssAnon"),
            descriptors: std::fs::read_dir(proc.join("fd"))?.count() as u64,
            threads: number(&status, "Threads"),
            deleted: maps.lines().filter(|line| line.ends_with(" (deleted)")).count() as u64,
        })
    }
}

/// A line of `/proc/PID/status` in KiB, such as `VmHWM`, the peak of resident memory; 0 if it is not there.
pub fn status_kib(pid: u32, line: &str) -> u64 {
    number(&std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default(), line)
}

/// Processor time that a process has used, its ended threads included, to a hundredth of a second.
pub fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name, in parentheses, may hold anything; what follows it is the third field.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS_PER_SECOND
}

/// The number on a line of `/proc/PID/status`, without its unit; 0 if the line is missing.
fn number(status: &str, line: &str) -> u64 {
    let value = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    value.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives() {
        let vitals = ProcessStats::of(std::process::id()).expect("this process is there");
        assert!(vitals.resident_kib > vitals.anonymous_kib && vitals.anonymous_kib > 100);
        assert!(vitals.descriptors >= 3 && vitals.threads >= 1, "{vitals:?}");
        assert!(ProcessStats::of(u32::MAX).is_err());
        assert_eq!(number("Name:\tx\nVmRSS:\t  2048 kB\nThreads:\t7\n", "Threads"), 7);
    }
}
