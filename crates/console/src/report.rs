//! Results of evaluations as pages: the same page in the console, in an `--html` file and in
//! `gbrain view`.
//!
//! A report stores its text once, the places of its rows, and a small summary of each row. A page
//! parses only the rows that it shows, so a run of 100,000 rows opens as fast as one of 100.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::page::baseline::Baseline;
use crate::page::benchmark::Benchmark;
use crate::page::captures_file::CaptureFile;
use crate::page::compare::Compare;
use crate::page::gate::GatePage;
use crate::page::replay::Replay;
use crate::page::run_file::RunFile;
use crate::page::suite_run::{SuiteRunReport, Triage};
use crate::page::view::RowView;
use crate::shell::Page;

/// A result that was read.
#[derive(Debug)]
pub struct Report {
    text: String,
    body: Body,
}

#[derive(Debug)]
enum Body {
    GatePage(Box<GatePage>),
    Replay(Box<Replay>),
    Compare(Box<Compare>),
    SuiteRunReport(Box<SuiteRunReport>),
    Benchmark(Box<Benchmark>),
    Baseline(Box<Baseline>),
    Captures(CaptureFile),
    Run(RunFile),
}

/// Why a text is no report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportError(String);

impl fmt::Display for ReportError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for ReportError {}

/// The kind of a report, by its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    GatePage,
    Replay,
    Compare,
    SuiteRunReport,
    Benchmark,
    Baseline,
    Captures,
    RunRows,
    RunLines,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::GatePage => "the report of a gate",
            Self::Replay => "the report of a replay",
            Self::Compare => "a comparison",
            Self::SuiteRunReport => "a run of a suite",
            Self::Benchmark => "the result of a benchmark",
            Self::Baseline => "a baseline",
            Self::Captures => "a file of captures",
            Self::RunRows | Self::RunLines => "a run",
        }
    }
}

/// Reads a report. Its keys say what it is.
pub fn read(text: String) -> Result<Report, ReportError> {
    let kind = kind(&text)?;
    let body = body(kind, &text).map_err(|error| {
        ReportError(format!("this is {}, but it is damaged: {error}", kind.name()))
    })?;
    Ok(Report { text, body })
}

fn body(kind: Kind, text: &str) -> Result<Body, String> {
    Ok(match kind {
        Kind::GatePage => Body::GatePage(GatePage::read(text)?.into()),
        Kind::Replay => Body::Replay(Replay::read(text)?.into()),
        Kind::Compare => Body::Compare(Compare::read(text)?.into()),
        Kind::SuiteRunReport => Body::SuiteRunReport(SuiteRunReport::read(text)?.into()),
        Kind::Benchmark => Body::Benchmark(Benchmark::read(text)?.into()),
        Kind::Baseline => Body::Baseline(Baseline::read(text)?.into()),
        Kind::Captures => Body::Captures(CaptureFile::read(text)?),
        Kind::RunRows | Kind::RunLines => Body::Run(RunFile::read(text)?),
    })
}

impl Report {
    /// The page of the report.
    pub fn page(&self, view: &RowView) -> Page {
        match &self.body {
            Body::GatePage(gate) => gate.page(&self.text, view),
            Body::Replay(replay) => replay.page(&self.text, view),
            Body::Compare(compare) => compare.page(view),
            Body::SuiteRunReport(run) => run.page(&self.text, None, view),
            Body::Benchmark(benchmark) => benchmark.page(&self.text, view),
            Body::Baseline(baseline) => baseline.page(&self.text, view),
            Body::Captures(captures) => captures.page(&self.text, view),
            Body::Run(run) => run.page(view),
        }
    }

    /// The page of a run of a suite with the causes of its failures.
    pub fn page_with_triage(&self, triage: Option<&Triage>, view: &RowView) -> Page {
        match &self.body {
            Body::SuiteRunReport(run) => run.page(&self.text, triage, view),
            _ => self.page(view),
        }
    }

    /// The page of one row, by its line in the file of captures; `None` if there is no such row.
    pub fn row_page(&self, line: u64, view: &RowView) -> Option<Page> {
        match &self.body {
            Body::GatePage(gate) => gate.row_page(&self.text, line, view),
            Body::Replay(replay) => replay.row_page(&self.text, line, view),
            _ => None,
        }
    }

    /// Memory of the report, in bytes, for caches.
    pub fn bytes(&self) -> usize {
        let rows = match &self.body {
            Body::GatePage(gate) => gate.bytes(),
            Body::Replay(replay) => replay.bytes(),
            _ => 0,
        };
        2 * self.text.len().min(1 << 16) + self.text.len() + rows
    }
}

fn kind(text: &str) -> Result<Kind, ReportError> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.is_empty() {
        return Err(ReportError("the file is empty".to_owned()));
    }
    if !start.starts_with('{') {
        return match is_trec(start) {
            true => Ok(Kind::RunLines),
            false => Err(unknown()),
        };
    }
    let probe = Probe::default();
    let mut reader = serde_json::Deserializer::from_str(start);
    let ended = (&probe).deserialize(&mut reader);
    match (probe.found.get(), ended) {
        (Some(kind), _) => Ok(kind),
        (None, Ok(())) => Err(unknown()),
        (None, Err(error)) => Err(ReportError(format!("this is no JSON: {error}"))),
    }
}

/// Whether the first line has the six columns of a TREC run.
fn is_trec(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.split_whitespace().count() == 6)
}

fn unknown() -> ReportError {
    ReportError(
        "this is no result of gbrain: a report of `eval gate`, `eval replay` or `eval compare` with --json, a run of \
         a suite, the result of a benchmark, a baseline, a file of captures, or a saved run"
            .to_owned(),
    )
}

/// Reads the keys of an object until one says what it is.
#[derive(Default)]
struct Probe {
    found: Cell<Option<Kind>>,
    has_summary: Cell<bool>,
}

impl Probe {
    fn see(&self, key: &str) -> Option<Kind> {
        if key == "summary" {
            self.has_summary.set(true);
        }
        match key {
            "regression_gate" | "correctness_gate" => Some(Kind::GatePage),
            "health" | "top_regressions" => Some(Kind::Replay),
            "comparisons" => Some(Kind::Compare),
            "per_question" => Some(Kind::Benchmark),
            "alerts" | "inconclusive_reasons" => Some(Kind::SuiteRunReport),
            "run" if self.has_summary.get() => Some(Kind::SuiteRunReport),
            "tool_name" | "retrieved_slugs" => Some(Kind::Captures),
            "query_id" | "retrieved" => Some(Kind::RunRows),
            _ => None,
        }
    }
}

impl<'de> DeserializeSeed<'de> for &Probe {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &Probe {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let kind = match key.as_str() {
                "kind" | "_kind" => match map.next_value::<serde_json::Value>()?.as_str() {
                    Some("benchmark_result") => Some(Kind::Benchmark),
                    Some("baseline_metadata") => Some(Kind::Baseline),
                    _ => continue,
                },
                key => self.see(key),
            };
            if kind.is_some() {
                self.found.set(kind);
                return Err(A::Error::custom("the kind is known"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        // A stored run of a suite whose cases were pruned has a summary alone.
        if self.has_summary.get() {
            self.found.set(Some(Kind::SuiteRunReport));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        read(text.to_owned()).unwrap_err().to_string()
    }

    #[test]
    fn the_keys_say_what_a_report_is() {
        for (text, expected) in [
            (r#"{"schema_version":1,"regression_gate":{}}"#, Kind::GatePage),
            (r#"{"summary":{},"health":{}}"#, Kind::Replay),
            (r#"{"kind":"gate","comparisons":[]}"#, Kind::Compare),
            (r#"{"kind":"benchmark_result"}"#, Kind::Benchmark),
            (r#"{"id":1,"alerts":{}}"#, Kind::SuiteRunReport),
            (r#"{"id":1,"summary":{},"run":null}"#, Kind::SuiteRunReport),
            ("{\"_kind\":\"baseline_metadata\"}\n{}", Kind::Baseline),
            ("{\"schema_version\":1,\"id\":1,\"tool_name\":\"query\"}\n", Kind::Captures),
            ("q1 Q0 a 1 2.0 tag\n", Kind::RunLines),
            (r#"{"query_id":"q1","retrieved":[]}"#, Kind::RunRows),
        ] {
            assert_eq!(kind(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn unknown_and_damaged_text_is_an_error() {
        assert_eq!(error("  \n"), "the file is empty");
        assert!(error("hello").contains("no result of gbrain"));
        assert!(error(r#"{"a":1}"#).contains("no result of gbrain"));
        assert!(error(r#"{"a":"#).contains("no JSON"));
        assert!(
            error(r#"{"regression_gate":{"ran":"#)
                .contains("the report of a gate, but it is damaged")
        );
        assert!(error("{\"kind\":\"benchmark_result\"}").contains("damaged"));
    }
}
