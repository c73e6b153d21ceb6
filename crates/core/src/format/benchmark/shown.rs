//! Benchmark results for lists: their means next to those of the baselines, without questions and
//! without paths.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{WireGroup, WireMeans};

/// The benchmark results of a server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Benchmarks")]
pub struct BenchmarksBody {
    /// Whether the server has a folder of results.
    pub configured: bool,
    /// The results, newest file first.
    pub results: Vec<BenchmarkFigures>,
    /// Number of files that are no results of this version.
    pub unreadable: usize,
}

/// The means of a result. A result file has more: keys that are not here are skipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkFigures {
    /// Name of the file.
    #[serde(default)]
    pub name: String,
    /// Version of the format of the file.
    pub schema_version: u32,
    /// The benchmark and the full name of the measured configuration.
    #[serde(default)]
    pub headline: String,
    /// Limitations that a reader must know.
    pub warnings: Vec<String>,
    /// Means over all questions, with their intervals.
    pub all: WireGroup,
    /// Means by question type.
    pub by_type: BTreeMap<String, WireGroup>,
    /// Means of baseline rankings of the same documents.
    pub baselines: BTreeMap<String, WireMeans>,
    /// The same by question type.
    pub baselines_by_type: BTreeMap<String, BTreeMap<String, WireMeans>>,
}
