//! The measures and the depth of each benchmark: decided by its name and k alone, so that a result
//! can be checked against it.

use std::path::Path;

use super::{Abstention, Granularity, measures};
use crate::measure::{Measure, defaults};
use crate::named;

named! {
    /// The benchmarks that can be run. A label names one as text, because results of others are read too.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Benchmark {
        LongMemEval = "longmemeval",
        Locomo = "locomo",
        Beir = "beir",
        /// Corpus, queries and judgements in files of their own.
        Trec = "trec",
    }
}

/// Whether a benchmark is a test collection, whose documents are no chats.
pub(crate) fn is_collection(benchmark: &str) -> bool {
    matches!(Benchmark::from_name(benchmark), Some(Benchmark::Beir | Benchmark::Trec))
}

/// Depth of rankings: the deepest measure, or k.
pub fn depth(benchmark: &str, k: usize) -> usize {
    let measured = if is_collection(benchmark) { 100 } else { 50 };
    measured.max(k)
}

/// How a benchmark treats questions without an answer.
pub fn abstention(benchmark: &str) -> Abstention {
    match Benchmark::from_name(benchmark) {
        Some(Benchmark::LongMemEval) => Abstention::LeftOut,
        Some(Benchmark::Locomo) => Abstention::Counted,
        Some(Benchmark::Beir | Benchmark::Trec) | None => Abstention::None,
    }
}

/// The measures of the benchmark. A measure of the whole ranking gets the depth as its cutoff,
/// since nothing deeper is retrieved, so `AP` is `AP@100`.
pub fn measures_of(benchmark: &str, k: usize) -> Vec<Measure> {
    let depth = depth(benchmark, k);
    if is_collection(benchmark) {
        return defaults().into_iter().map(|measure| measure.at_depth(depth)).collect();
    }
    measures(k, depth)
}

/// The names of a dataset's files in a label: the last part of each path.
pub fn dataset_name<'a>(files: impl Iterator<Item = &'a Path>) -> String {
    let name = |path: &Path| {
        let name = path.file_name().unwrap_or(path.as_os_str());
        name.to_string_lossy().into_owned()
    };
    files.map(name).collect::<Vec<_>>().join(" ")
}

/// The name of a document's unit.
pub fn unit(benchmark: &str, granularity: Granularity) -> &'static str {
    match granularity {
        _ if is_collection(benchmark) => "documents",
        Granularity::Session => "sessions",
        Granularity::Turn => "turns",
        Granularity::Document => "documents",
    }
}
