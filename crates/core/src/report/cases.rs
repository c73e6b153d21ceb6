//! Gate fixtures for the tests of all formats.

use crate::baseline::{BaselineIntegrity, BaselineMetadata, BaselineThresholds, query_hash};
use crate::blame::Blame;
use crate::compare::{
    CompareOptions, Comparison, EvalResultKind, MeasureColumn, MeasureRole, ResultRow, ResultTable,
    compare as compare_results,
};
use crate::gate::{
    ConfidenceLevel, Correctness, CorrectnessParts, CorrectnessThresholds, GateParts, JudgedResult,
    QueryResult, Regression, RegressionParts, Verdict, correctness, regression,
};
use crate::latency::{CpuTime, NotComparedReason, TimeComparison};
use crate::provenance::{FactorDifference, FactorDifferences, Provenance, Software};
use crate::qrels::{JudgedPages, JudgedQuery, Judgement};
use crate::replay::{Caveat, LostPage, RankingPair, ReplayedRow, RowOutcome, SkipReason, compare};
use crate::request::Operation;

/// The data that a gate's parts borrow.
pub(super) struct GateExample {
    pub(super) rows: Vec<ReplayedRow>,
    regression: Option<Regression>,
    correctness: Option<Correctness>,
    metadata: BaselineMetadata,
    provenance: Provenance,
    confidence: Option<ConfidenceLevel>,
    integrity: BaselineIntegrity,
}

impl GateExample {
    fn new(rows: Vec<ReplayedRow>, judged: Vec<JudgedResult>, confidence: Option<f64>) -> Self {
        let confidence = confidence.map(|value| ConfidenceLevel::new(value).unwrap());
        let regression = regression(&rows, &BaselineThresholds::default(), confidence);
        let known = JudgedPages::Known { judged: 2, missing: Vec::new() };
        let correctness = (!judged.is_empty())
            .then(|| correctness(judged, 3, &CorrectnessThresholds::default(), confidence, &known));
        let metadata = BaselineMetadata {
            label: "launch".to_owned(),
            published_at: "2026-05-01T00:00:00Z".to_owned(),
            source_hash: "5c1f".to_owned(),
            thresholds: BaselineThresholds::default(),
            row_count: rows.len(),
            mean_latency_ms: Some(10.0),
            rows_hash: Some("9a3e".to_owned()),
            key_id: None,
            rows_hmac: None,
            why: None,
            history: Vec::new(),
        };
        let software = Software { version: "0.1.0".to_owned(), code: "c0de".to_owned() };
        let provenance = Provenance {
            software: Some(software),
            embedder: Some(Some("builtin-1".to_owned())),
            ..Provenance::default()
        };
        let integrity = BaselineIntegrity::Intact;
        let regression = Some(regression);
        Self { rows, regression, correctness, metadata, provenance, confidence, integrity }
    }

    /// Calls `look` with the parts of the gate.
    pub(super) fn with_parts<T>(&self, look: impl FnOnce(&GateParts<'_>) -> T) -> T {
        let of_rows = self.regression.as_ref().map(|found| found.verdict);
        let of_queries = self.correctness.as_ref().map(|found| found.verdict);
        let verdicts = [of_rows, of_queries].into_iter().flatten();
        look(&GateParts {
            verdict: verdicts.reduce(Verdict::and).unwrap_or(Verdict::Inconclusive),
            regression: self.regression.as_ref().map(|found| RegressionParts {
                path: "baselines/launch.baseline.ndjson",
                metadata: &self.metadata,
                integrity: self.integrity,
                thresholds: BaselineThresholds::default(),
                found,
                rows: &self.rows,
            }),
            correctness: self.correctness.as_ref().map(|found| CorrectnessParts {
                path: "qrels/launch.qrels.json",
                thresholds: CorrectnessThresholds::default(),
                pipeline: "fixed",
                found,
            }),
            confidence: self.confidence,
            provenance: Some(&self.provenance),
            elapsed_ms: 1234.0,
        })
    }
}

/// A row that was compared; pages are letters.
pub(super) fn row(line: usize, query: &str, captured: &str, current: &str, ms: f64) -> ReplayedRow {
    let pages = |letters: &str| letters.chars().map(|c| format!("wiki::notes/{c}")).collect();
    let sides = RankingPair { captured: pages(captured), current: pages(current) };
    let differences = FactorDifferences {
        code: FactorDifference::Differs,
        settings: FactorDifference::Same,
        corpus: if line.is_multiple_of(2) {
            FactorDifference::Differs
        } else {
            FactorDifference::Same
        },
        model: FactorDifference::Unknown,
    };
    let mut compared = compare(sides, (Some(10.0), ms), vec![Caveat::CutAtCaptured], differences);
    let time = |cpu_ms| CpuTime { cpu_ms, calibration_ms: 0.05, repeats: 5 };
    compared.timing = TimeComparison::Cpu { captured: time(10.0), current: time(ms) };
    ended(line, query, RowOutcome::Compared(Box::new(compared)))
}

pub(super) fn ended(line: usize, query: &str, outcome: RowOutcome) -> ReplayedRow {
    ReplayedRow {
        line,
        id: Some(line as i64),
        operation: Operation::Query,
        query: query.to_owned(),
        query_hash: query_hash(query),
        weight: line as u64,
        outcome,
    }
}

/// A judged query; pages are letters, the expected first page is the first relevant one.
pub(super) fn judged(id: &str, text: &str, relevant: &str, result: QueryResult) -> JudgedResult {
    let page = |c: char| format!("wiki::notes/{c}");
    let judgements = relevant.chars().map(|c| Judgement { doc: page(c), grade: 1.0 }).collect();
    let query = JudgedQuery {
        id: id.to_owned(),
        text: Some(text.to_owned()),
        judgements,
        expected_top1: relevant.chars().next().map(page),
        ..JudgedQuery::default()
    };
    JudgedResult::new(query, result, 3)
}

pub(super) fn ranked(letters: &str) -> QueryResult {
    QueryResult::Ranked(letters.chars().map(|c| format!("wiki::notes/{c}")).collect())
}

pub(super) fn pass() -> GateExample {
    let mut rows: Vec<ReplayedRow> =
        (1..=19).map(|at| row(at + 1, &format!("question {at}"), "abc", "abc", 9.0)).collect();
    rows.push(row(21, "who moved | `the` pier?", "abcd", "bacd", 12.0));
    let of = |name: &str| judged("q1", &format!("who runs the {name}?"), "ab", ranked("abx"));
    GateExample::new(rows, ["ferry", "tug", "pilot boat", "lighthouse"].map(of).to_vec(), None)
}

/// All checks pass on a baseline of another implementation, without a hash.
pub(super) fn foreign() -> GateExample {
    let mut case = GateExample { integrity: BaselineIntegrity::NotTamperEvident, ..pass() };
    case.metadata.rows_hash = None;
    let warning = case.integrity.warning().map(str::to_owned);
    case.regression.as_mut().unwrap().warnings.splice(0..0, warning);
    case
}

/// One row and one judged query, both right: too few to decide.
pub(super) fn one_row() -> GateExample {
    let queries = vec![judged("q1", "who runs the ferry?", "ab", ranked("abx"))];
    GateExample::new(vec![row(2, "a", "abc", "abc", 9.0)], queries, None)
}

/// Rows moved, one failed, one was skipped; a judged query misses its pages.
pub(super) fn fail() -> GateExample {
    let mut rows: Vec<ReplayedRow> =
        (2..=9).map(|at| row(at, &format!("question {at}"), "abc", "abc", 9.0)).collect();
    let mut moved = row(10, "find every reference to widget-co", "abcdefgh", "bxy", 31.0);
    if let RowOutcome::Compared(compared) = &mut moved.outcome {
        compared.blame = Some(Blame::Corpus);
        compared.lost.push(LostPage {
            page: "wiki::notes/a".to_owned(),
            stage: "dedup".to_owned(),
            why: "says the same as wiki::notes/b".to_owned(),
        });
    }
    rows.push(moved);
    rows.push(row(11, "everything tagged <for> review", "abcd", "dxyz", 9.0));
    rows.push(row(12, "night charging", "ab", "xy", 9.0));
    if let Some(RowOutcome::Compared(compared)) = rows.last_mut().map(|row| &mut row.outcome) {
        compared.timing = TimeComparison::NotCompared(NotComparedReason::NoCpuTime);
    }
    rows.push(row(13, "nothing then and now", "", "", 9.0));
    rows.push(ended(
        14,
        "who threw?",
        RowOutcome::Errored("connection refused (os error 111)".into()),
    ));
    rows.push(ended(15, "", RowOutcome::Skipped(SkipReason::EmptyQuery)));
    let queries = vec![
        judged("q1", "who runs the ferry?", "ab", ranked("abx")),
        judged("q2", "fintech founder", "cd", ranked("xyz")),
        judged("q4", "pier heads", "f", ranked("fx")),
        judged("q5", "lost cargo", "gh", ranked("x")),
        judged("q3", "tide tables", "e", QueryResult::Errored("timed out".to_owned())),
    ];
    GateExample::new(rows, queries, None)
}

/// Below the threshold, but too few rows to be sure.
pub(super) fn inconclusive() -> GateExample {
    let rows = vec![
        row(2, "a", "ab", "ab", 9.0),
        row(3, "b", "ab", "ab", 9.0),
        row(4, "c", "ab", "ab", 9.0),
        row(5, "d", "ab", "cd", 9.0),
        row(6, "e", "ab", "ab", 9.0),
        row(7, "f", "ab", "ab", 9.0),
        row(8, "g", "ab", "ab", 9.0),
        row(9, "h", "ab", "xy", 9.0),
    ];
    GateExample::new(rows, Vec::new(), Some(0.95))
}

/// Neither a baseline nor qrels.
pub(super) fn nothing() -> GateExample {
    GateExample { regression: None, ..GateExample::new(Vec::new(), Vec::new(), None) }
}

/// A failing gate in which every untrusted text is `text`.
pub(super) fn hostile(text: &str) -> GateExample {
    let mut moved = row(2, text, "ab", "cd", 9.0);
    if let RowOutcome::Compared(compared) = &mut moved.outcome {
        compared.captured = vec![text.to_owned(), format!("{text}2")];
        let (page, stage, why) = (text.to_owned(), text.to_owned(), text.to_owned());
        compared.lost.push(LostPage { page, stage, why });
    }
    let rows = vec![
        moved,
        row(3, "same", "ab", "ab", 9.0),
        ended(4, text, RowOutcome::Errored(text.to_owned())),
    ];
    let queries = vec![
        judged(text, text, "ab", ranked("xy")),
        judged("other", text, "ab", QueryResult::Errored(text.to_owned())),
    ];
    let mut case = GateExample::new(rows, queries, None);
    case.metadata.label = text.to_owned();
    case
}

/// A comparison with one significant drop. `label` names the first query and one query that only
/// one side has.
pub(super) fn compared(label: &str) -> Comparison {
    let column = |measure: &str, role| MeasureColumn { measure: measure.to_owned(), role };
    let columns = vec![
        column("nDCG@10", MeasureRole::Quality),
        column("hit@5", MeasureRole::Binary),
        column("latency_ms", MeasureRole::Timing),
    ];
    let side = |name: &str, drop: f64| {
        let row = |at: usize| ResultRow {
            key: format!("q{at}"),
            label: if at == 0 { label.to_owned() } else { format!("question {at}") },
            against: None,
            is_answered: true,
            values: vec![
                Some(0.5 + at as f64 / 100.0 - if at < 20 { drop } else { 0.0 }),
                Some(if at == 3 && drop > 0.0 { 0.0 } else { 1.0 }),
                Some(10.0 + drop * at as f64),
            ],
        };
        ResultTable {
            name: name.to_owned(),
            kind: EvalResultKind::Scores,
            conditions: Vec::new(),
            notes: Vec::new(),
            columns: columns.clone(),
            rows: (0..24).map(row).collect(),
        }
    };
    let (before, mut after) = (side("main.json", 0.0), side("branch.json", 0.1));
    after.rows[23].key = "other".to_owned();
    after.rows[23].label = label.to_owned();
    after.notes.push("2 judged queries are not ranked and count 0".to_owned());
    after.rows[22].values[0] = Some(0.9);
    compare_results(&before, &[after], &CompareOptions::default()).unwrap()
}
