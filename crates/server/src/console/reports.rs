//! Results of finished runs, parsed once and cached: a page of a large run reads only the rows that
//! it shows.

use std::sync::{Arc, Mutex, PoisonError};

use gbrain_console::page::run_progress::RunState;
use gbrain_console::report::{Report, read};
use gbrain_core::fault::Fault;

use super::call::ConsoleCall;

/// Most reports in the cache, and their memory.
const ENTRIES: usize = 2;
const BYTES: usize = 256 << 20;

/// The report of a run: its workspace, its number, and when it finished.
type Key = (String, i64, Option<String>);

/// The reports that were read last, the latest at the end.
#[derive(Debug, Default)]
pub(crate) struct ReportCache {
    reports: Mutex<Vec<(Key, Arc<Report>)>>,
    /// One report is parsed at a time, so that the memory stays bounded.
    reading: Mutex<()>,
}

impl ReportCache {
    fn find(&self, key: &Key) -> Option<Arc<Report>> {
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let at = reports.iter().position(|(known, _)| known == key)?;
        let entry = reports.remove(at);
        let report = entry.1.clone();
        reports.push(entry);
        Some(report)
    }

    fn add(&self, key: Key, report: &Arc<Report>) {
        if report.bytes() > BYTES {
            return;
        }
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        reports.push((key, report.clone()));
        let bytes = |reports: &[(Key, Arc<Report>)]| {
            reports.iter().map(|(_, report)| report.bytes()).sum::<usize>()
        };
        while reports.len() > ENTRIES || bytes(&reports) > BYTES {
            reports.remove(0);
        }
    }
}

/// The report of a finished run, for readers that may see its result.
pub(super) fn of_run(call: &ConsoleCall<'_>, run: &RunState) -> Result<Arc<Report>, Fault> {
    call.require("run_result")?;
    let key = (call.workspace().to_owned(), run.id, run.finished_at.clone());
    let cache = call.reports();
    if let Some(report) = cache.find(&key) {
        return Ok(report);
    }
    let _reading = cache.reading.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(report) = cache.find(&key) {
        return Ok(report);
    }
    let text = call.bytes("run_result", &[("id", &run.id.to_string())], None)?;
    let report = Arc::new(parsed(text)?);
    cache.add(key, &report);
    Ok(report)
}

/// A report from the bytes of an answer.
pub(super) fn parsed(bytes: Vec<u8>) -> Result<Report, Fault> {
    let text = String::from_utf8(bytes).map_err(|error| Fault::internal(error.to_string()))?;
    read(text).map_err(|error| Fault::internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_bounded_and_forgets_the_oldest() {
        let cache = ReportCache::default();
        let report = || Arc::new(read("q1 Q0 a 1 2.0 t\n".to_owned()).unwrap());
        let key = |id| ("w".to_owned(), id, None);
        for id in 0..3 {
            cache.add(key(id), &report());
        }
        assert!(cache.find(&key(0)).is_none());
        assert!(cache.find(&key(1)).is_some());
        cache.add(key(3), &report());
        assert!(cache.find(&key(2)).is_none() && cache.find(&key(1)).is_some());
        assert!(cache.find(&("other".to_owned(), 1, None)).is_none());
    }
}
