//! A gate as JUnit XML: one case per check, per row and per judged query.
//!
//! A breach is a failure. What could not be measured, and a query that could not be asked, is an
//! error. A row that moved is no failure by itself: means are gated, not rows. A query of a suite that
//! missed is a failure, or is skipped where the run passes all the same. Promises: well-formed for any
//! text, not green unless the verdict is a pass, and no case of a suite is green that is failing.

use std::fmt::Write as _;

use crate::format::gate::{CorrectnessParts, GateParts, RegressionParts};
use crate::gate::{
    BenchmarkGate, Breach, Check, FloorCheck, Judged, ONLY_REPRODUCING, QueryResult, Status,
    Verdict,
};
use crate::replay::{Outcome, ReplayedRow};
use crate::suite::SuiteRun;
use crate::suite::run::{RunCase, RunMeasure};
use crate::suite::threshold as suite_threshold;

use super::escape::visible_markup;
use super::headline::{breach, undecided};
use super::number::{cells, count};
use super::rows::{came, gone, judged_name, row_name};
use super::{Queries, suite};

/// The longest text from outside, in characters.
const TEXT: usize = 500;

/// How a case ended.
enum Ended {
    Passed,
    Failed { kind: String, message: String },
    Errored { kind: String, message: String },
    Skipped { message: String },
}

struct Case {
    name: String,
    seconds: f64,
    ended: Ended,
    out: String,
}

struct Suite {
    name: &'static str,
    properties: Vec<(&'static str, String)>,
    cases: Vec<Case>,
}

/// The XML of a gate.
pub fn gate(parts: &GateParts<'_>, queries: Queries) -> String {
    let mut suites = Vec::new();
    suites.extend(parts.regression.as_ref().map(|one| regression(one, queries)));
    suites.extend(parts.correctness.as_ref().map(|one| correctness(one, queries)));
    if suites.is_empty() {
        let message = "nothing was gated".to_owned();
        let ended = Ended::Errored { kind: "inconclusive".to_owned(), message };
        let cases = vec![Case { name: "gate".to_owned(), seconds: 0.0, ended, out: String::new() }];
        suites.push(Suite { name: "gate", properties: Vec::new(), cases });
    }
    if let Some(first) = suites.first_mut() {
        first.properties.insert(0, ("verdict", parts.verdict.name().to_owned()));
        let confidence = parts.confidence.map(|one| ("confidence", one.value().to_string()));
        first.properties.extend(confidence);
        first.properties.extend(parts.provenance.into_iter().flat_map(|one| one.prints()));
    }
    document("gbrain eval gate", &suites, parts.elapsed_ms / 1000.0)
}

/// The XML of a run of a suite: one case per measure that decides, one per query. No query is in it.
pub fn suite(run: &SuiteRun) -> String {
    let deciding = run.measures.iter().filter(|one| one.decides);
    let mut cases: Vec<Case> = deciding.map(measure_case).collect();
    let remarks = run.sample.iter().flat_map(|sample| sample.remarks());
    let said: Vec<String> = remarks.chain(run.notes.iter().cloned()).collect();
    let doubts = run.inconclusive_reasons.iter().map(|reason| {
        let kind = "inconclusive".to_owned();
        let ended = Ended::Errored { kind, message: reason.name().to_owned() };
        Case { name: reason.name().to_owned(), seconds: 0.0, ended, out: said.join("\n") }
    });
    cases.extend(doubts);
    cases.extend(run.cases().iter().map(|case| query_case(case, run.verdict)));
    let mut properties = vec![
        ("verdict", run.verdict.name().to_owned()),
        ("suite", run.suite.clone()),
        ("workspace", run.workspace.clone()),
        ("target", suite::whom(run)),
        ("trigger", run.trigger.clone()),
        ("key", run.key.clone()),
    ];
    let remarks = run.sample.iter().flat_map(|sample| sample.remarks());
    properties.extend(remarks.map(|remark| ("sample", remark)));
    let suites = [Suite { name: "gbrain.suites.run", properties, cases }];
    document("gbrain suites run", &suites, run.duration_ms as f64 / 1000.0)
}

/// The XML of a gate on a benchmark's result: one case per floor, one per reason against a verdict.
pub fn benchmark(headline: &str, gate: &BenchmarkGate) -> String {
    let BenchmarkGate { verdict, checks, reasons } = gate;
    let mut cases: Vec<Case> = checks.iter().map(floor_case).collect();
    cases.extend(reasons.iter().map(|reason| {
        let kind = "inconclusive".to_owned();
        let ended = Ended::Errored { kind, message: reason.clone() };
        Case { name: "result".to_owned(), seconds: 0.0, ended, out: String::new() }
    }));
    let properties = vec![
        ("verdict", verdict.name().to_owned()),
        ("result", headline.to_owned()),
        ("note", ONLY_REPRODUCING.to_owned()),
    ];
    let suites = [Suite { name: "gbrain.eval.gate.result", properties, cases }];
    document("gbrain eval gate", &suites, 0.0)
}

fn floor_case(check: &FloorCheck) -> Case {
    let [measure, mean, floor, n, status] = check.cells();
    let message = format!("mean {mean}, floor {floor}, n {n}: {status}");
    let kind = measure.clone();
    let ended = match check.status {
        Status::Pass => Ended::Passed,
        Status::Fail => Ended::Failed { kind, message: message.clone() },
        Status::Inconclusive | Status::NotCompared | Status::NotMeasured | Status::TooFewRows => {
            Ended::Errored { kind, message: message.clone() }
        }
    };
    Case { name: measure, seconds: 0.0, ended, out: message }
}

fn measure_case(one: &RunMeasure) -> Case {
    let name = format!("{} of {}", one.measure, one.segment);
    let kind = one.measure.name().to_owned();
    let out = suite::value(one);
    let ended = match one.status {
        suite_threshold::Status::Alert => {
            let limit = one.alert.as_deref().unwrap_or_default();
            let message = match one.outage {
                true => format!("{out}: the target did not answer"),
                false => format!("{out}, past its alert {limit}"),
            };
            Ended::Failed { kind, message }
        }
        suite_threshold::Status::NoData => Ended::Skipped { message: "no data".to_owned() },
        suite_threshold::Status::Ok | suite_threshold::Status::Warn => Ended::Passed,
    };
    Case { name, seconds: 0.0, ended, out }
}

/// A query is an error if it was not answered, and a failure if somebody should look at it. A run may pass
/// with some of these: then they fail no build, and are not green either.
fn query_case(case: &RunCase, verdict: Verdict) -> Case {
    let wrong = suite::wrong(case);
    let seconds = case.latency_ms.get("total").map_or(0.0, |ms| ms / 1000.0);
    let ended = match case.error {
        Some(error) => {
            let message = "the query was not answered".to_owned();
            Ended::Errored { kind: error.name().to_owned(), message }
        }
        None if !case.failing => Ended::Passed,
        None if verdict == Verdict::Pass => {
            Ended::Skipped { message: format!("{wrong}, and the run passes") }
        }
        None => Ended::Failed { kind: "failing".to_owned(), message: wrong.clone() },
    };
    let rank = case.rank.map_or_else(|| "none".to_owned(), |rank| rank.to_string());
    let out = format!("rank {rank} {wrong}");
    Case { name: format!("query {}", case.query_id), seconds, ended, out: out.trim().to_owned() }
}

fn regression(parts: &RegressionParts<'_>, queries: Queries) -> Suite {
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
    Suite { name: "gbrain.eval.gate.regression", properties, cases }
}

fn correctness(parts: &CorrectnessParts<'_>, queries: Queries) -> Suite {
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
    Suite { name: "gbrain.eval.gate.correctness", properties, cases }
}

/// Warnings as properties: the format has no other place for them.
fn warned(warnings: &[String]) -> impl Iterator<Item = (&'static str, String)> {
    warnings.iter().map(|warning| ("warning", warning.clone()))
}

/// A case per check, and one per breach that no check stands for.
fn checked<'a>(
    checks: impl Iterator<Item = &'a Check>,
    breaches: &[Breach],
    queries: Queries,
) -> Vec<Case> {
    let mut cases: Vec<Case> = checks.map(check_case).collect();
    for one in breaches.iter().filter(|one| one.reason.is_some()) {
        let examples =
            if queries == Queries::Shown { one.examples.join("\n") } else { String::new() };
        let kind = one.metric.to_owned();
        let ended = Ended::Failed { kind, message: breach(one) };
        cases.push(Case { name: one.metric.to_owned(), seconds: 0.0, ended, out: examples });
    }
    cases
}

fn check_case(check: &Check) -> Case {
    let kind = check.metric.to_owned();
    let ended = match check.status {
        Status::Pass => Ended::Passed,
        Status::Fail => {
            let message = check.breach().map(|one| breach(&one)).unwrap_or_default();
            Ended::Failed { kind, message }
        }
        Status::Inconclusive | Status::NotMeasured | Status::TooFewRows => {
            Ended::Errored { kind, message: undecided(check).unwrap_or_default() }
        }
        Status::NotCompared => Ended::Skipped { message: "nothing to compare with".to_owned() },
    };
    let [_, baseline, current, delta, interval, threshold, _, n] = cells(check);
    let out = format!(
        "baseline {baseline}, current {current}, delta {delta}, interval {interval}, threshold \
         {threshold}, n {n}"
    );
    Case { name: check.metric.to_owned(), seconds: 0.0, ended, out }
}

fn row_case(row: &ReplayedRow, queries: Queries) -> Case {
    let name = format!("line {}: {}", row.line, row_name(row, queries));
    let (seconds, ended, out) = match &row.outcome {
        Outcome::Skipped(skip) if skip.is_not_comparable() => {
            let (kind, message) = ("not_comparable".to_owned(), skip.name().to_owned());
            (0.0, Ended::Errored { kind, message }, String::new())
        }
        Outcome::Skipped(skip) => {
            (0.0, Ended::Skipped { message: skip.name().to_owned() }, String::new())
        }
        Outcome::Errored(message) => (0.0, errored(message, queries), String::new()),
        Outcome::Compared(compared) => {
            let out = format!(
                "jaccard {:.3}, rbo {:.3}, first page {}, captured {}, current {}, lost {}, new {}",
                compared.jaccard,
                compared.rbo,
                compared.top1.map_or("none", |same| if same { "same" } else { "other" }),
                compared.captured.len(),
                compared.current.len(),
                gone(compared).len(),
                came(compared),
            );
            (compared.current_ms / 1000.0, Ended::Passed, out)
        }
    };
    Case { name, seconds, ended, out }
}

fn judged_case(place: usize, judged: &Judged, queries: Queries) -> Case {
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
            (Ended::Passed, out)
        }
    };
    Case { name, seconds: 0.0, ended, out }
}

fn errored(message: &str, queries: Queries) -> Ended {
    let message = match queries {
        Queries::Shown => message.to_owned(),
        Queries::Hashed => "the query failed".to_owned(),
    };
    Ended::Errored { kind: "retrieval".to_owned(), message }
}

fn document(name: &str, suites: &[Suite], seconds: f64) -> String {
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

fn counts<'a>(cases: impl Iterator<Item = &'a Case>) -> String {
    let [mut tests, mut failures, mut errors, mut skipped] = [0; 4];
    for case in cases {
        tests += 1;
        match case.ended {
            Ended::Passed => (),
            Ended::Failed { .. } => failures += 1,
            Ended::Errored { .. } => errors += 1,
            Ended::Skipped { .. } => skipped += 1,
        }
    }
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}

fn suite_xml(suite: &Suite, seconds: f64) -> String {
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

fn case_xml(suite: &str, case: &Case) -> String {
    let text = |text: &str| visible_markup(text, TEXT);
    let Case { name, seconds, ended, out } = case;
    let ended = match ended {
        Ended::Passed => String::new(),
        Ended::Failed { kind, message } => {
            format!("      <failure message=\"{}\" type=\"{}\"/>\n", text(message), text(kind))
        }
        Ended::Errored { kind, message } => {
            format!("      <error message=\"{}\" type=\"{}\"/>\n", text(message), text(kind))
        }
        Ended::Skipped { message } => format!("      <skipped message=\"{}\"/>\n", text(message)),
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
