//! What must hold for qrels, runs and measures.

use std::borrow::Cow;

use fastrand::Rng;
use gbrain_core::gate::{CorrectnessThresholds, JudgedResult, QueryResult, correctness};
use gbrain_core::measure::{Evaluation, Measure, MissingQueries, evaluate};
use gbrain_core::qrels::{
    JudgedPages, JudgedQuery, Judgement, Qrels, QrelsFormat, corpus_ids, queries_of_jsonl,
    trec_qrels,
};
use gbrain_core::report::json::{PerQuery, ScoreReport};
use gbrain_core::run::{OrderedBy, RetrievedPage, Run, RunHit, RunRow, trec_run};

use super::promises::{Broken, require};
use super::reports;

/// Measures of every kind, with and without a cutoff.
const MEASURES: &str = "nDCG nDCG@3 nDCG(dcg='exp-log2') nDCG(dcg='exp-log2')@2 AP AP@2 RR RR@1 \
    P@1 P(rel=2)@3 R@1 R@100 recall_any@2 recall_all@2 hit@1 Success@3 RBP RBP(p=1) RBP(p=0)@2 \
    Judged Judged@1";

/// Two sums of the same numbers may differ in their last digits.
const SLACK: f64 = 1e-9;

/// Qrels: ids and documents once, finite grades, the same when written and read again, and every
/// measure within its bounds.
pub(super) fn check_qrels(bytes: &[u8], rng: &mut Rng) -> Result<(), Broken> {
    let qrels = match Qrels::parse(bytes) {
        Ok(qrels) => qrels,
        Err(error) => return refused_in_words(&error),
    };
    require(!qrels.queries.is_empty(), || "qrels without a query".to_owned())?;
    let mut ids: Vec<&str> = qrels.queries.iter().map(|query| query.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    require(ids.len() == qrels.queries.len(), || "an id stands twice".to_owned())?;
    qrels.queries.iter().try_for_each(check_query)?;
    qrels.lints.iter().try_for_each(|lint| {
        require(!lint.kind().is_empty() && !lint.to_string().is_empty(), || format!("{lint:?}"))
    })?;
    if let Ok(text) = trec_qrels(&qrels) {
        let again = Qrels::parse(text.as_bytes()).map_err(|error| format!("{error}: {text}"))?;
        require(judged(&again) == judged(&qrels), || format!("written, they are others: {text}"))?;
    }
    let rankings: Vec<Vec<String>> =
        qrels.queries.iter().map(|query| ranking(query, rng)).collect();
    check_measures(&qrels, &rankings)?;
    check_gate(qrels, rankings, rng)
}

fn check_query(query: &JudgedQuery) -> Result<(), Broken> {
    let mut docs: Vec<&str> = query.judgements.iter().map(|one| one.doc.as_str()).collect();
    docs.sort_unstable();
    docs.dedup();
    require(docs.len() == query.judgements.len(), || format!("{} judges twice", query.id))?;
    let finite = query.judgements.iter().all(|one| one.grade.is_finite());
    require(finite && !docs.is_empty(), || format!("{query:?}"))
}

fn judged(qrels: &Qrels) -> Vec<(&str, &[Judgement])> {
    qrels.queries.iter().map(|query| (query.id.as_str(), query.judgements.as_slice())).collect()
}

/// Judged documents in any order among others.
fn ranking(query: &JudgedQuery, rng: &mut Rng) -> Vec<String> {
    let mut docs: Vec<String> = query.judgements.iter().map(|one| one.doc.clone()).collect();
    docs.extend((0..rng.usize(..4)).map(|at| format!("nobody::judged-{at}")));
    rng.shuffle(&mut docs);
    docs.truncate(rng.usize(..=docs.len()));
    docs
}

/// Values are in 0..=1, the best ranking has an nDCG of 1, and grades of half the size make no other
/// nDCG.
fn check_measures(qrels: &Qrels, rankings: &[Vec<String>]) -> Result<(), Broken> {
    let measures = Measure::parse_list(MEASURES).map_err(|error| error.to_string())?;
    let ids = || qrels.queries.iter().map(|query| query.id.as_str());
    let run = run(ids().zip(rankings.iter().cloned()))?;
    let evaluation = evaluate(qrels, &run, &measures, MissingQueries::Zero);
    check_values(&evaluation)?;
    let score = ScoreReport::of(&evaluation, qrels, &run, PerQuery::Show);
    serde_json::to_string(&score).map_err(|error| error.to_string())?;
    let best = qrels.queries.iter().map(|query| (query.id.as_str(), ideal(query)));
    let best = evaluate(qrels, &self::run(best)?, &measures[..1], MissingQueries::Zero);
    for (query, scores) in qrels.queries.iter().zip(&best.per_query) {
        let expected = if query.relevant().next().is_some() { 1.0 } else { 0.0 };
        let is_best = (scores.scores[0] - expected).abs() < SLACK;
        require(is_best, || format!("the best ranking of {query:?} has {:?}", scores.scores))?;
    }
    let halved = Qrels { queries: qrels.queries.iter().map(halved).collect(), ..qrels.clone() };
    let again = evaluate(&halved, &run, &measures[..2], MissingQueries::Zero);
    for (one, other) in evaluation.per_query.iter().zip(&again.per_query) {
        let same = one.scores.iter().zip(&other.scores).all(|(a, b)| (a - b).abs() < 1e-6);
        require(same, || format!("of half the grades {:?}, not {:?}", other.scores, one.scores))?;
    }
    Ok(())
}

fn ideal(query: &JudgedQuery) -> Vec<String> {
    let mut judgements = query.judgements.clone();
    judgements.sort_by(|a, b| b.grade.total_cmp(&a.grade));
    judgements.into_iter().map(|one| one.doc).collect()
}

/// Half the grades, where half of one is not rounded.
fn halved(query: &JudgedQuery) -> JudgedQuery {
    let mut query = query.clone();
    if query.judgements.iter().all(|one| one.grade == 0.0 || one.grade.abs() > 1e-300) {
        query.judgements.iter_mut().for_each(|one| one.grade /= 2.0);
    }
    query
}

fn run<'a>(rankings: impl Iterator<Item = (&'a str, Vec<String>)>) -> Result<Run<'static>, Broken> {
    let mut run = Run::new(OrderedBy::Position);
    for (query, docs) in rankings {
        let hits = docs.into_iter().map(|doc| RunHit { doc: Cow::Owned(doc), score: None });
        run.push(query.to_owned(), hits).map_err(|error| error.to_string())?;
    }
    Ok(run)
}

fn check_values(evaluation: &Evaluation) -> Result<(), Broken> {
    let means = evaluation.summary.iter().filter_map(|(_, mean)| *mean);
    let values = evaluation.per_query.iter().flat_map(|query| query.scores.iter().copied());
    for value in means.chain(values) {
        require((0.0..=1.0).contains(&value), || format!("a measure is {value}"))?;
    }
    Ok(())
}

/// The gate over judged queries, in every form of report.
fn check_gate(qrels: Qrels, rankings: Vec<Vec<String>>, rng: &mut Rng) -> Result<(), Broken> {
    let k = rng.usize(1..12);
    let mut judged = Vec::new();
    for (query, pages) in qrels.queries.into_iter().zip(rankings).take(40) {
        let result = if rng.u8(..6) == 0 {
            QueryResult::Errored(query.id.clone())
        } else {
            QueryResult::Ranked(pages)
        };
        judged.push(JudgedResult::new(query, result, k));
    }
    let found = correctness(
        judged.clone(),
        k,
        &CorrectnessThresholds::default(),
        None,
        &JudgedPages::NotKnown,
    );
    for value in found.checks.iter().filter_map(|check| check.observed) {
        require((0.0..=1.0).contains(&value), || format!("a check saw {value}"))?;
    }
    reports::check(&[], judged, rng)
}

/// BEIR's other files, and that texts go to the queries of their ids.
pub(super) fn check_beir(bytes: &[u8]) -> Result<(), Broken> {
    if let Err(error) = corpus_ids(bytes) {
        refused_in_words(&error)?;
    }
    let texts = match queries_of_jsonl(bytes) {
        Ok(texts) => texts,
        Err(error) => return refused_in_words(&error),
    };
    let query = |(id, _): &(String, String)| JudgedQuery {
        id: id.clone(),
        judgements: vec![Judgement { doc: "d".to_owned(), grade: 1.0 }],
        ..JudgedQuery::default()
    };
    let Ok(qrels) = Qrels::new(texts.iter().map(query).collect(), QrelsFormat::Beir) else {
        return Ok(());
    };
    let qrels = qrels.with_texts(texts);
    let all = qrels.queries.iter().all(|query| query.text.is_some());
    require(all, || "a text did not come to its query".to_owned())
}

/// Runs: no document twice, finite scores, the same order when written and read again, and every
/// measure within its bounds.
pub(super) fn check_run(bytes: &[u8], rng: &mut Rng) -> Result<(), Broken> {
    let run = match Run::parse(bytes) {
        Ok(run) => run,
        Err(error) => return refused_in_words(&error),
    };
    for (query, hits) in run.rankings() {
        let mut docs: Vec<&str> = hits.iter().map(|hit| hit.doc.as_ref()).collect();
        docs.sort_unstable();
        docs.dedup();
        let finite = hits.iter().all(|hit| hit.score.is_none_or(f64::is_finite));
        require(docs.len() == hits.len() && finite, || format!("the ranking of {query:?}"))?;
        require(run.ranking(query) == Some(hits), || format!("{query:?} is not found by its id"))?;
    }
    if let Ok(text) = trec_run(&run, "tag") {
        let again = Run::parse(text.as_bytes()).map_err(|error| format!("{error}: {text}"))?;
        require(order(&again) == order(&run), || format!("written, it is another: {text}"))?;
    }
    if run.ordered_by == OrderedBy::Position {
        let text = rows(&run)?;
        let again = Run::parse(text.as_bytes()).map_err(|error| format!("{error}: {text}"))?;
        require(order(&again) == order(&run), || format!("written, it is another: {text}"))?;
    }
    check_graded(&run, rng)
}

/// The queries that rank something, with their documents.
fn order<'r>(run: &'r Run<'_>) -> Vec<(&'r str, Vec<&'r str>)> {
    let docs = |hits: &'r [RunHit<'_>]| hits.iter().map(|hit| hit.doc.as_ref()).collect();
    run.rankings()
        .filter(|(_, hits)| !hits.is_empty())
        .map(|(query, hits)| (query, docs(hits)))
        .collect()
}

fn rows(run: &Run<'_>) -> Result<String, Broken> {
    let retrieved = |hit: &RunHit<'_>| {
        let (source, slug) = hit.doc.split_once("::").unwrap_or(("default", hit.doc.as_ref()));
        RetrievedPage {
            source_id: Some(source.to_owned()),
            slug: slug.to_owned(),
            score: hit.score,
        }
    };
    let row = |(query, hits): (&str, &[RunHit<'_>])| RunRow {
        schema_version: 1,
        query_id: query.to_owned(),
        retrieved: hits.iter().map(retrieved).collect(),
    };
    let lines: Result<Vec<String>, _> =
        run.rankings().map(|ranking| serde_json::to_string(&row(ranking))).collect();
    Ok(lines.map_err(|error| error.to_string())?.join("\n"))
}

/// Grades of any size for some of what the run found.
fn check_graded(run: &Run<'_>, rng: &mut Rng) -> Result<(), Broken> {
    let grades = [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 64.0, 1e9, 1e300, f64::MAX, f64::MIN_POSITIVE];
    let mut queries = Vec::new();
    for (query, hits) in run.rankings().take(50) {
        let mut judgements = vec![Judgement { doc: "nobody::found".to_owned(), grade: 1.0 }];
        for hit in hits.iter().filter(|hit| hit.doc != "nobody::found") {
            let grade = grades[rng.usize(..grades.len())];
            if rng.bool() {
                judgements.push(Judgement { doc: hit.doc.clone().into_owned(), grade });
            }
        }
        queries.push(JudgedQuery { id: query.to_owned(), judgements, ..JudgedQuery::default() });
    }
    let Ok(qrels) = Qrels::new(queries, QrelsFormat::Trec) else { return Ok(()) };
    let measures = Measure::parse_list(MEASURES).map_err(|error| error.to_string())?;
    check_values(&evaluate(&qrels, run, &measures, MissingQueries::Skip))
}

/// Names of measures: what is printed parses back.
pub(super) fn check_names(bytes: &[u8]) -> Result<(), Broken> {
    let text = String::from_utf8_lossy(bytes);
    let measures = match Measure::parse_list(&text) {
        Ok(measures) => measures,
        Err(error) => return refused_in_words(&error),
    };
    for measure in &measures {
        let name = measure.to_string();
        let again: Measure = name.parse().map_err(|error| format!("{name}: {error}"))?;
        require(again == *measure, || format!("{measure:?} prints as {name}"))?;
        require(!measure.about().citation.is_empty(), || format!("{name} has no source"))?;
    }
    let judgements = vec![
        Judgement { doc: "a".to_owned(), grade: 3.0 },
        Judgement { doc: "b".to_owned(), grade: 1.0 },
    ];
    let query = JudgedQuery { id: "q".to_owned(), judgements, ..JudgedQuery::default() };
    let qrels = Qrels::new(vec![query], QrelsFormat::Trec).map_err(|error| error.to_string())?;
    let docs = ["b", "x", "a"].map(str::to_owned).to_vec();
    let run = run([("q", docs)].into_iter())?;
    check_values(&evaluate(&qrels, &run, &measures, MissingQueries::Zero))
}

fn refused_in_words(error: &dyn std::error::Error) -> Result<(), Broken> {
    require(error.to_string().len() > 12, || format!("refused with {:?}", error.to_string()))
}
