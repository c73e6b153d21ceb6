//! Reads the resources of this process and the sizes of files.

use std::path::Path;

use gbrain_testkit::vitals;

/// A line of `/proc/self/status` in KiB, such as `VmHWM`, the peak of resident memory.
pub(crate) fn status_kib(line: &str) -> u64 {
    vitals::status_kib(std::process::id(), line)
}

/// Bytes of the files in a directory whose path `is_counted`.
pub(crate) fn disk_bytes(dir: &Path, is_counted: impl Fn(&Path) -> bool) -> u64 {
    let files = walkdir::WalkDir::new(dir).into_iter().filter_map(Result::ok);
    let counted = files.filter(|entry| entry.file_type().is_file() && is_counted(entry.path()));
    counted.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// Mebibytes.
pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Processor time that this process has used, its ended threads included, to a hundredth of a
/// second.
pub(crate) fn cpu_seconds() -> f64 {
    vitals::cpu_seconds(std::process::id())
}

/// Processor time that this thread has used.
pub(crate) fn thread_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok());
    nanos.unwrap_or(0.0) / 1e9
}
