//! Gates and suite runs as JUnit XML: one case per check, row and judged query.
//!
//! A breach is a failure. A value that could not be measured and a query that failed are errors. A
//! changed row is not a failure by itself, because gates apply to means. A missed query of a suite
//! is a failure, or skipped if the run passes anyway. Guarantees: well-formed for any text, green
//! only if the verdict is a pass, and a failing case of a suite is never green.

use std::fmt::Write as _;

use crate::gate::{
    BenchmarkGate, Breach, CheckStatus, CorrectnessParts, FloorCheck, GateCheck, GateParts,
    JudgedResult, ONLY_REPRODUCING, QueryResult, RegressionParts, Verdict,
};
use crate::replay::{ReplayedRow, RowOutcome};
use crate::suite::SuiteRun;
use crate::suite::run::{RunCase, RunMeasure};
use crate::suite::threshold as suite_threshold;

use super::escape::visible_markup;
use super::headline::{breach, undecided};
use super::number::{cells, count};
use super::rows::{added_count, dropped_pages, judged_name, row_name};
use super::{Queries, suite};

/// Maximum length of untrusted text, in characters.
const TEXT: usize = 500;

/// The result of a case.
enum JunitResult {
    Passed,
    Failed { kind: String, message: String },
    Errored { kind: String, message: String },
    Skipped { message: String },
}

struct JunitCase {
    name: String,
    seconds: f64,
    ended: JunitResult,
    out: String,
}

struct JunitSuite {
    name: &'static str,
    properties: Vec<(&'static str, String)>,
    cases: Vec<JunitCase>,
}

/// The XML of a gate.
pub fn gate(parts: &GateParts<'_>, queries: Queries) -> String {
    let mut suites = Vec::new();
    suites.extend(parts.regression.as_ref().map(|one| regression(one, queries)));
    suites.extend(parts.correctness.as_ref().map(|one| correctness(one, queries)));
    if suites.is_empty() {
        let message = "nothing was gated".to_owned();
        let ended = JunitResult::Errored { kind: "inconclusive".to_owned(), message };
        let cases =
            vec![JunitCase { name: "gate".to_owned(), seconds: 0.0, ended, out: String::new() }];
        suites.push(JunitSuite { name: "gate", properties: Vec::new(), cases });
    }
    if let Some(first) = suites.first_mut() {
        first.properties.insert(0, ("verdict", parts.verdict.name().to_owned()));
        let confidence = parts.confidence.map(|one| ("confidence", one.value().to_string()));
        first.properties.extend(confidence);
        first.properties.extend(parts.provenance.into_iter().flat_map(|one| one.summary()));
    }
    document("gbrain eval gate", &suites, parts.elapsed_ms / 1000.0)
}

/// The XML of a suite run: one case per deciding measure and one per query. Contains no query text.
pub fn suite(run: &SuiteRun) -> String {
    let deciding = run.measures.iter().filter(|one| one.decides);
    let mut cases: Vec<JunitCase> = deciding.map(measure_case).collect();
    let remarks = run.sample.iter().flat_map(|sample| sample.remarks());
    let notes: Vec<String> = remarks.chain(run.notes.iter().cloned()).collect();
    let doubts = run.inconclusive_reasons.iter().map(|reason| {
        let kind = "inconclusive".to_owned();
        let ended = JunitResult::Errored { kind, message: reason.name().to_owned() };
        JunitCase { name: reason.name().to_owned(), seconds: 0.0, ended, out: notes.join("\n") }
    });
    cases.extend(doubts);
    cases.extend(run.cases().iter().map(|case| query_case(case, run.verdict)));
    let mut properties = vec![
        ("verdict", run.verdict.name().to_owned()),
        ("suite", run.suite.clone()),
        ("workspace", run.workspace.clone()),
        ("target", suite::target_of(run)),
        ("trigger", run.trigger.clone()),
        ("key", run.key.clone()),
    ];
    let remarks = run.sample.iter().flat_map(|sample| sample.remarks());
    properties.extend(remarks.map(|remark| ("sample", remark)));
    let suites = [JunitSuite { name: "gbrain.suites.run", properties, cases }];
    document("gbrain suites run", &suites, run.duration_ms as f64 / 1000.0)
}

/// The XML of a benchmark gate: one case per floor and one per reason for an inconclusive verdict.
pub fn benchmark(headline: &str, gate: &BenchmarkGate) -> String {
    let BenchmarkGate { verdict, checks, reasons } = gate;
    let mut cases: Vec<JunitCase> = checks.iter().map(floor_case).collect();
    cases.extend(reasons.iter().map(|reason| {
        let kind = "inconclusive".to_owned();
        let ended = JunitResult::Errored { kind, message: reason.clone() };
        JunitCase { name: "result".to_owned(), seconds: 0.0, ended, out: String::new() }
    }));
    let properties = vec![
        ("verdict", verdict.name().to_owned()),
        ("result", headline.to_owned()),
        ("note", ONLY_REPRODUCING.to_owned()),
    ];
    let suites = [JunitSuite { name: "gbrain.eval.gate.result", properties, cases }];
    document("gbrain eval gate", &suites, 0.0)
}

fn floor_case(check: &FloorCheck) -> JunitCase {
    let [measure, mean, floor, n, status] = check.cells();
    let message = format!("mean {mean}, floor {floor}, n {n}: {status}");
    let kind = measure.clone();
    let ended = match check.status {
        CheckStatus::Pass => JunitResult::Passed,
        CheckStatus::Fail => JunitResult::Failed { kind, message: message.clone() },
        CheckStatus::Inconclusive
        | CheckStatus::NotCompared
        | CheckStatus::NotMeasured
        | CheckStatus::TooFewRows => JunitResult::Errored { kind, message: message.clone() },
    };
    JunitCase { name: measure, seconds: 0.0, ended, out: message }
}

fn measure_case(one: &RunMeasure) -> JunitCase {
    let name = format!("{} of {}", one.measure, one.segment);
    let kind = one.measure.name().to_owned();
    let out = suite::value(one);
    let ended = match one.status {
        suite_threshold::MeasureStatus::Alert => {
            let limit = one.alert.as_deref().unwrap_or_default();
            let message = match one.outage {
                true => format!("{out}: the target did not answer"),
                false => format!("{out}, past its alert threshold {limit}"),
            };
            JunitResult::Failed { kind, message }
        }
        suite_threshold::MeasureStatus::NoData => {
            JunitResult::Skipped { message: "no data".to_owned() }
        }
        suite_threshold::MeasureStatus::Ok | suite_threshold::MeasureStatus::Warn => {
            JunitResult::Passed
        }
    };
    JunitCase { name, seconds: 0.0, ended, out }
}

/// An unanswered query is an error, a failing one a failure. In a run that passes, failing queries
/// are skipped: neither red nor green.
fn query_case(case: &RunCase, verdict: Verdict) -> JunitCase {
    let wrong = suite::wrong(case);
    let seconds = case.latency_ms.get("total").map_or(0.0, |ms| ms / 1000.0);
    let ended = match case.error {
        Some(error) => {
            let message = "the query was not answered".to_owned();
            JunitResult::Errored { kind: error.name().to_owned(), message }
        }
        None if !case.failing => JunitResult::Passed,
        None if verdict == Verdict::Pass => {
            JunitResult::Skipped { message: format!("{wrong}; the run passes") }
        }
        None => JunitResult::Failed { kind: "failing".to_owned(), message: wrong.clone() },
    };
    let rank = case.rank.map_or_else(|| "none".to_owned(), |rank| rank.to_string());
    let out = format!("rank {rank} {wrong}");
    JunitCase {
        name: format!("query {}", case.query_id),
        seconds,
        ended,
        out: out.trim().to_owned(),
    }
}

fn regression(parts: &RegressionParts<'_>, queries: Queries) -> JunitSuite {
    let found = parts.found;
    let mut cases = checked(found.checks.iter().chain([&found.latency]), &found.breaches, queries);
    cases.extend(parts.rows.iter().map(|row| row_case(row, queries)));
    let thresholds = parts.thresholds;
    let mut properties = vec![
        ("baseline", parts.path.to_owned()),
        ("label", parts.metadata.label.clone()),
        ("source_hash", parts.metadata.source_hash.clone()),
        ("rows_hash", parts.metadata.rows_hash.clone().unwrap_or_default()),
        ("integrity", parts.integrity.in_words().to_owned()),
        ("threshold.jaccard", thresholds.jaccard.to_string()),
        ("threshold.top1", thresholds.top1.to_string()),
        ("threshold.latency_multiplier", thresholds.latency_multiplier.to_string()),
    ];
    properties.extend(warned(&found.warnings));
    JunitSuite { name: "gbrain.eval.gate.regression", properties, cases }
}

fn correctness(parts: &CorrectnessParts<'_>, queries: Queries) -> JunitSuite {
    let found = parts.found;
    let mut cases = checked(found.checks.iter(), &found.breaches, queries);
    let judged = found.queries.iter().enumerate();
    cases.extend(judged.map(|(place, judged)| judged_case(place, judged, queries)));
    let thresholds = parts.thresholds;
    let mut properties = vec![
        ("qrels", parts.path.to_owned()),
        ("pipeline", parts.pipeline.to_owned()),
        ("k", found.k.to_string()),
        ("threshold.recall_at_k", thresholds.recall_at_k.to_string()),
        ("threshold.first_relevant_hit", thresholds.first_relevant_hit.to_string()),
        ("threshold.expected_top1", thresholds.expected_top1.to_string()),
    ];
    properties.extend(warned(&found.warnings));
    JunitSuite { name: "gbrain.eval.gate.correctness", properties, cases }
}

/// Warnings as properties, because the format has no other place for them.
fn warned(warnings: &[String]) -> impl Iterator<Item = (&'static str, String)> {
    warnings.iter().map(|warning| ("warning", warning.clone()))
}

/// One case per check, and one per breach without a check.
fn checked<'a>(
    checks: impl Iterator<Item = &'a GateCheck>,
    breaches: &[Breach],
    queries: Queries,
) -> Vec<JunitCase> {
    let mut cases: Vec<JunitCase> = checks.map(check_case).collect();
    for one in breaches.iter().filter(|one| one.reason.is_some()) {
        let examples =
            if queries == Queries::Shown { one.examples.join("\n") } else { String::new() };
        let kind = one.metric.to_owned();
        let ended = JunitResult::Failed { kind, message: breach(one) };
        cases.push(JunitCase { name: one.metric.to_owned(), seconds: 0.0, ended, out: examples });
    }
    cases
}

fn check_case(check: &GateCheck) -> JunitCase {
    let kind = check.metric.to_owned();
    let ended = match check.status {
        CheckStatus::Pass => JunitResult::Passed,
        CheckStatus::Fail => {
            let message = check.breach().map(|one| breach(&one)).unwrap_or_default();
            JunitResult::Failed { kind, message }
        }
        CheckStatus::Inconclusive | CheckStatus::NotMeasured | CheckStatus::TooFewRows => {
            JunitResult::Errored { kind, message: undecided(check).unwrap_or_default() }
        }
        CheckStatus::NotCompared => {
            JunitResult::Skipped { message: "nothing to compare with".to_owned() }
        }
    };
    let [_, baseline, current, delta, interval, threshold, _, n] = cells(check);
    let out = format!(
        "baseline {baseline}, current {current}, delta {delta}, interval {interval}, threshold \
         {threshold}, n {n}"
    );
    JunitCase { name: check.metric.to_owned(), seconds: 0.0, ended, out }
}

fn row_case(row: &ReplayedRow, queries: Queries) -> JunitCase {
    let name = format!("line {}: {}", row.line, row_name(row, queries));
    let (seconds, ended, out) = match &row.outcome {
        RowOutcome::Skipped(skip) if skip.is_not_comparable() => {
            let (kind, message) = ("not_comparable".to_owned(), skip.name().to_owned());
            (0.0, JunitResult::Errored { kind, message }, String::new())
        }
        RowOutcome::Skipped(skip) => {
            (0.0, JunitResult::Skipped { message: skip.name().to_owned() }, String::new())
        }
        RowOutcome::Errored(message) => (0.0, errored(message, queries), String::new()),
        RowOutcome::Compared(compared) => {
            let out = format!(
                "jaccard {:.3}, rbo {:.3}, first page {}, captured {}, current {}, lost {}, new {}",
                compared.jaccard,
                compared.rbo,
                compared.top1.map_or("none", |same| if same { "same" } else { "other" }),
                compared.captured.len(),
                compared.current.len(),
                dropped_pages(compared).len(),
                added_count(compared),
            );
            (compared.current_ms / 1000.0, JunitResult::Passed, out)
        }
    };
    JunitCase { name, seconds, ended, out }
}

fn judged_case(place: usize, judged: &JudgedResult, queries: Queries) -> JunitCase {
    let name = format!("query {}: {}", place + 1, judged_name(judged, queries));
    let (ended, out) = match &judged.result {
        QueryResult::Errored(message) => (errored(message, queries), String::new()),
        QueryResult::Ranked(pages) => {
            let missing = judged.missing();
            let mut out = format!(
                "recall {:.3}, {} relevant, {} missing of {}",
                judged.recall_at_k.unwrap_or_default(),
                judged.relevant.len(),
                missing.len(),
                count(pages.len(), "retrieved page"),
            );
            if queries == Queries::Shown && !missing.is_empty() {
                write!(out, ": {}", missing.join(", ")).expect("writing to a string succeeds");
            }
            (JunitResult::Passed, out)
        }
    };
    JunitCase { name, seconds: 0.0, ended, out }
}

fn errored(message: &str, queries: Queries) -> JunitResult {
    let message = match queries {
        Queries::Shown => message.to_owned(),
        Queries::Hashed => "the query failed".to_owned(),
    };
    JunitResult::Errored { kind: "retrieval".to_owned(), message }
}

fn document(name: &str, suites: &[JunitSuite], seconds: f64) -> String {
    let cases = || suites.iter().flat_map(|suite| &suite.cases);
    let counts = counts(cases());
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{name}\" {counts} \
         time=\"{seconds:.3}\">\n"
    );
    for suite in suites {
        xml.push_str(&suite_xml(suite, seconds));
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn counts<'a>(cases: impl Iterator<Item = &'a JunitCase>) -> String {
    let [mut tests, mut failures, mut errors, mut skipped] = [0; 4];
    for case in cases {
        tests += 1;
        match case.ended {
            JunitResult::Passed => (),
            JunitResult::Failed { .. } => failures += 1,
            JunitResult::Errored { .. } => errors += 1,
            JunitResult::Skipped { .. } => skipped += 1,
        }
    }
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}

fn suite_xml(suite: &JunitSuite, seconds: f64) -> String {
    let text = |text: &str| visible_markup(text, TEXT);
    let name = suite.name;
    let counts = counts(suite.cases.iter());
    let mut xml = format!("  <testsuite name=\"{name}\" {counts} time=\"{seconds:.3}\">\n");
    if !suite.properties.is_empty() {
        let property = |(name, value): &(&str, String)| {
            format!("      <property name=\"{name}\" value=\"{}\"/>\n", text(value))
        };
        let properties: String = suite.properties.iter().map(property).collect();
        xml.push_str(&format!("    <properties>\n{properties}    </properties>\n"));
    }
    xml.extend(suite.cases.iter().map(|case| case_xml(suite.name, case)));
    xml.push_str("  </testsuite>\n");
    xml
}

fn case_xml(suite: &str, case: &JunitCase) -> String {
    let text = |text: &str| visible_markup(text, TEXT);
    let JunitCase { name, seconds, ended, out } = case;
    let ended = match ended {
        JunitResult::Passed => String::new(),
        JunitResult::Failed { kind, message } => {
            format!("      <failure message=\"{}\" type=\"{}\"/>\n", text(message), text(kind))
        }
        JunitResult::Errored { kind, message } => {
            format!("      <error message=\"{}\" type=\"{}\"/>\n", text(message), text(kind))
        }
        JunitResult::Skipped { message } => {
            format!("      <skipped message=\"{}\"/>\n", text(message))
        }
    };
    let out = match out.as_str() {
        "" => String::new(),
        out => format!("      <system-out>{}</system-out>\n", text(out)),
    };
    let name = text(name);
    format!(
        "    <testcase classname=\"{suite}\" name=\"{name}\" time=\"{seconds:.3}\">\n{ended}{out}    \
         </testcase>\n"
    )
}
