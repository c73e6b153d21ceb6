//! Values beside those of trec_eval, for every query of the golden sets and to its four digits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gbrain_core::measure::{Measure, MissingQueries, evaluate};
use gbrain_core::qrels::Qrels;
use gbrain_core::run::{Run, trec_run};

#[expect(clippy::print_stderr, reason = "a skip is told")]
fn metrics() -> Option<PathBuf> {
    let data = std::env::var_os("GBRAIN_TEST_DATA").filter(|value| !value.is_empty());
    if data.is_none() {
        eprintln!("SKIPPED: GBRAIN_TEST_DATA is not set: measures are not compared with trec_eval");
    }
    data.map(|data| PathBuf::from(data).join("metrics"))
}

/// A comparison with one output of trec_eval.
struct Case<'a> {
    qrels: PathBuf,
    run: PathBuf,
    output: PathBuf,
    missing: MissingQueries,
    /// Adds a parameter to every measure that takes it, such as `(rel=2)`.
    level: &'a str,
}

/// trec_eval's name as ours.
fn measure(name: &str, level: &str) -> Option<Measure> {
    let shared = ["P_", "recall_", "success_", "map_cut_", "ndcg_cut_"];
    let whole = ["map", "recip_rank", "ndcg", "rbp", "Rprec", "bpref"];
    if !shared.iter().any(|start| name.starts_with(start)) && !whole.contains(&name) {
        return None;
    }
    // trec_eval's reader goes on more often than ours.
    let name = if name == "rbp" { "RBP(p=0.9)" } else { name };
    let measure: Measure = name.parse().ok()?;
    let has_level = !level.is_empty() && !name.starts_with("ndcg") && !name.starts_with("RBP");
    if !has_level {
        return Some(measure);
    }
    let text = measure.to_string();
    let (name, rest) = text
        .split_once('@')
        .map_or((text.as_str(), String::new()), |(name, k)| (name, format!("@{k}")));
    format!("{name}{level}{rest}").parse().ok()
}

/// How many figures are the same; every shared one must be.
fn compare(case: &Case<'_>) -> usize {
    let read = |path: &Path| std::fs::read(path).unwrap();
    let (qrels, bytes) = (Qrels::parse(&read(&case.qrels)).unwrap(), read(&case.run));
    let run = Run::parse(&bytes).unwrap();
    let output = String::from_utf8(read(&case.output)).unwrap();
    let rows: Vec<[&str; 3]> = output
        .lines()
        .filter_map(|line| line.split_whitespace().collect::<Vec<_>>().try_into().ok())
        .collect();
    let mut measures: BTreeMap<&str, Measure> = BTreeMap::new();
    // trec_eval's rank-biased precision takes grades as gains; ours is the paper's.
    let is_binary = qrels.queries.iter().flat_map(|q| &q.judgements).all(|j| j.grade <= 1.0);
    for [name, ..] in rows.iter().filter(|[name, ..]| is_binary || *name != "rbp") {
        measures.extend(measure(name, case.level).map(|measure| (*name, measure)));
    }
    let wanted: Vec<Measure> = measures.values().copied().collect();
    let evaluation = evaluate(&qrels, &run, &wanted, case.missing);
    let mut compared = 0;
    for [name, query, value] in rows {
        let Some(at) = measures.keys().position(|key| *key == name) else { continue };
        let found = match query {
            "all" => evaluation.summary[at].1.unwrap(),
            // `-q -c` prints a query that the run does not rank in no line of its own.
            _ => {
                evaluation.per_query.iter().find(|scores| scores.query_id == query).unwrap().scores
                    [at]
            }
        };
        let shown = format!("{found:.4}");
        assert_eq!(shown, value, "{name} of {query} in {}", case.output.display());
        compared += 1;
    }
    compared
}

#[test]
fn the_golden_sets() {
    let Some(metrics) = metrics() else { return };
    let mut compared = 0;
    for set in ["cacm_anserini_bm25", "cranfield_bm25s", "trec_eval_test"] {
        let dir = metrics.join("golden").join(set);
        for (output, missing) in [
            ("trec_eval.q.all_trec.txt", MissingQueries::Skip),
            ("trec_eval.q.c.txt", MissingQueries::Zero),
        ] {
            compared += compare(&Case {
                qrels: dir.join("qrels.txt"),
                run: dir.join("run.trec"),
                output: dir.join(output),
                missing,
                level: "",
            });
        }
    }
    eprintln!("{compared} figures as trec_eval gives them");
    assert!(compared > 10_000, "{compared}");
}

#[test]
fn the_outputs_of_trec_evals_own_tests() {
    let Some(metrics) = metrics() else { return };
    let dir = metrics.join("trec_eval_test");
    for (qrels, run, output, missing, level, at_least) in [
        ("qrels.test", "results.test", "out.test", MissingQueries::Skip, "", 11),
        ("qrels.test.with-comments", "results.test", "out.test", MissingQueries::Skip, "", 11),
        ("qrels.test", "results.test", "out.test.a", MissingQueries::Skip, "", 40),
        ("qrels.test", "results.test", "out.test.aq", MissingQueries::Skip, "", 160),
        ("qrels.test", "results.trunc", "out.test.aqc", MissingQueries::Zero, "", 160),
        ("qrels.rel_level", "results.test", "out.test.aql", MissingQueries::Skip, "(rel=2)", 100),
        ("qrels.test", "results.test", "out.test.meas_params", MissingQueries::Skip, "", 30),
        (
            "qrels.comment.test",
            "results.comment.test",
            "out.comment.test",
            MissingQueries::Skip,
            "",
            11,
        ),
    ] {
        let case = Case {
            qrels: dir.join(qrels),
            run: dir.join(run),
            output: dir.join(output),
            missing,
            level,
        };
        let compared = compare(&case);
        assert!(compared >= at_least, "{output}: {compared}");
    }
}

#[test]
fn written_runs_are_the_same_runs() {
    let Some(metrics) = metrics() else { return };
    let bytes = std::fs::read(metrics.join("golden/cranfield_bm25s/run.trec")).unwrap();
    let run = Run::parse(&bytes).unwrap();
    let lines = trec_run(&run, "bm25s").unwrap();
    assert_eq!(Run::parse(lines.as_bytes()).unwrap(), run);
}

#[test]
fn public_qrels_are_read_as_they_are() {
    let Some(metrics) = metrics() else { return };
    let path = metrics.join("../gbrain/v0.41-launch.qrels.json");
    let qrels = Qrels::parse(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(qrels.queries.len(), 12);
    assert!(qrels.queries.iter().all(|query| query.expected_top1.is_some()));
    assert_eq!(qrels.lints, []);
}
