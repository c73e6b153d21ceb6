//! Benchmark results in the folder `runs/benchmarks` of this server's home: means only, no questions
//! and no paths.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use gbrain_core::fault::Fault;
use gbrain_core::format::benchmark::{BENCHMARK_VERSION, BenchmarkFigures, BenchmarksBody};
use gbrain_eval::read_document;

use crate::http::{NoParameters, OperationCall, Reply};

/// Results that are listed.
const LISTED: usize = 30;
/// Larger files are not read.
const MAX_FILE: u64 = 128 << 20;

/// A folder of results. Files that did not change are not read again.
#[derive(Debug, Default)]
pub(crate) struct BenchmarkFolder {
    dir: PathBuf,
    read: Mutex<HashMap<PathBuf, CachedFigures>>,
}

/// The means of a file, and the time of its last change when they were read.
type CachedFigures = (SystemTime, Option<Arc<BenchmarkFigures>>);

impl BenchmarkFolder {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir, read: Mutex::default() }
    }

    /// The files, newest first, at most [`LISTED`]; nothing without a folder.
    fn files(&self) -> Option<Vec<(SystemTime, PathBuf)>> {
        let entries = std::fs::read_dir(&self.dir).ok()?.filter_map(Result::ok);
        let mut files: Vec<_> = entries.filter_map(|entry| result_file(&entry.path())).collect();
        files.sort_by(|a, b| b.cmp(a));
        files.truncate(LISTED);
        Some(files)
    }

    fn figures(&self, path: &Path, changed: SystemTime) -> Option<Arc<BenchmarkFigures>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, figures)) = read.get(path)
            && *at == changed
        {
            return figures.clone();
        }
        let figures = figures_of(path).map(Arc::new);
        read.insert(path.to_owned(), (changed, figures.clone()));
        figures
    }
}

/// A file that may be a result, with the time of its last change.
fn result_file(path: &Path) -> Option<(SystemTime, PathBuf)> {
    let name = path.file_name()?.to_str()?;
    if !(name.ends_with(".json") || name.ends_with(".json.gz")) {
        return None;
    }
    let metadata = std::fs::metadata(path).ok()?;
    let is_read = metadata.is_file() && metadata.len() <= MAX_FILE;
    Some((metadata.modified().ok()?, path.to_owned())).filter(|_| is_read)
}

fn figures_of(path: &Path) -> Option<BenchmarkFigures> {
    let figures: BenchmarkFigures = serde_json::from_slice(&read_document(path).ok()?).ok()?;
    let name = path.file_name()?.to_str()?.to_owned();
    (figures.schema_version == BENCHMARK_VERSION).then_some(BenchmarkFigures { name, ..figures })
}

/// Lists the results of this server.
pub(crate) fn list(call: &OperationCall<'_>, _: NoParameters) -> Result<Reply, Fault> {
    let folder = call.registry.benchmarks();
    let Some(files) = folder.files() else { return Reply::json(&BenchmarksBody::default()) };
    let mut body = BenchmarksBody { configured: true, ..BenchmarksBody::default() };
    for (changed, path) in files {
        call.check_stop()?;
        match folder.figures(&path, changed) {
            Some(figures) => body.results.push(figures.as_ref().clone()),
            None => body.unreadable += 1,
        }
    }
    Reply::json(&body)
}
