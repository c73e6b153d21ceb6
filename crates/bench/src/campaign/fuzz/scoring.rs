//! Qrels, runs and names of measures: seeds, and what must hold for any text.

use fastrand::Rng;
use gbrain_core::measure::{Graded, Measure, Missing, defaults, evaluate};
use gbrain_core::qrels::{
    JudgedQuery, Judgement, Qrels, Shape, corpus_ids, queries_of_jsonl, trec_qrels,
};
use gbrain_core::run::{OrderedBy, Run, trec_run};

use super::promises::{Broken, require};

/// Texts of every shape that is read.
const SEEDS: [&str; 10] = [
    r#"{"schema_version":1,"queries":[{"query_id":"q1","query":"who","relevant_slugs":["people/a","people/b"],"first_relevant_slug":"people/a","embedding_dim":3},{"query":"what","relevant":[{"source_id":"team","slug":"notes/plan"}],"expected_top1":{"source_id":"team","slug":"notes/plan"},"grades":{"team::notes/plan":3},"tags":["x"]}]}"#,
    r#"[{"query":"who","relevant":["people/a"],"grades":{"people/a":3,"people/b":0.5}},{"id":"z","query":"what","relevant":["c"]}]"#,
    r#"{"version":1,"queries":[{"query":"who","relevant":["people/a"]}]}"#,
    "1 0 a 1\n1 0 b 0\n2 0 c 3\n2 0 d -1\n# remark\n3 0 e 1\n",
    "query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb c\t2\n2\tc\t0\n",
    "{\"_id\":\"1\",\"text\":\"who?\"}\n{\"_id\":\"2\",\"text\":\"what?\"}\n",
    "1 Q0 a 1 12.5 t\n1 Q0 b 2 12.5 t\n2 Q0 c 1 0.000001 t\n1 Q0 c 3 -4e2 t junk\n",
    "7\tQ0\tdoc\t1\t  2.129133\tSTANDARD\r\n7\tQ0\tdoc2\t1\t  3\tSTANDARD\r\n",
    "{\"query_id\":\"q\",\"retrieved\":[{\"source_id\":\"team\",\"slug\":\"a\",\"score\":0.5},{\"slug\":\"b\"}]}\n{\"query_id\":\"r\",\"retrieved\":[]}\n",
    "nDCG@10, AP RR@10 P(rel=2)@5 RBP(p=0.5,rel=2)@20 nDCG(dcg='exp-log2') recall_all@5 map_cut_10 Judged",
];

/// A text to begin from.
pub(super) fn seed(rng: &mut Rng) -> &'static str {
    SEEDS[rng.usize(..SEEDS.len())]
}

/// Every reader of such files must stand any text.
pub(super) fn check(text: &str) -> Result<(), Broken> {
    check_qrels(text)?;
    check_run(text)?;
    check_measures(text)?;
    for error in [queries_of_jsonl(text.as_bytes()).err(), corpus_ids(text.as_bytes()).err()] {
        require(error.is_none_or(|error| !error.to_string().is_empty()), || "no words".to_owned())?;
    }
    Ok(())
}

fn check_qrels(text: &str) -> Result<(), Broken> {
    let qrels = match Qrels::parse(text.as_bytes()) {
        Ok(qrels) => qrels,
        Err(error) => {
            return require(!error.to_string().is_empty(), || "an error without words".to_owned());
        }
    };
    require(!qrels.queries.is_empty(), || "qrels without a query".to_owned())?;
    let ids = qrels.queries.iter().map(|query| query.id.as_str());
    require(are_distinct(ids), || "a query stands twice".to_owned())?;
    for query in &qrels.queries {
        let docs = query.judgements.iter().map(|judgement| judgement.doc.as_str());
        require(are_distinct(docs), || format!("`{}` judges a document twice", query.id))?;
        let finite = query.judgements.iter().all(|judgement| judgement.grade.is_finite());
        require(finite, || format!("`{}` has a grade that is no number", query.id))?;
    }
    let Ok(lines) = trec_qrels(&qrels) else { return Ok(()) };
    let again = Qrels::parse(lines.as_bytes()).map_err(|error| format!("written, {error}"))?;
    let judged = |qrels: &Qrels| -> Vec<(String, Vec<Judgement>)> {
        qrels.queries.iter().map(|query| (query.id.clone(), query.judgements.clone())).collect()
    };
    require(judged(&again) == judged(&qrels), || "written and read, it judges otherwise".to_owned())
}

fn check_run(text: &str) -> Result<(), Broken> {
    let run = match Run::parse(text.as_bytes()) {
        Ok(run) => run,
        Err(error) => {
            return require(!error.to_string().is_empty(), || "an error without words".to_owned());
        }
    };
    let mut queries = Vec::new();
    for (query, hits) in run.rankings() {
        require(are_distinct(hits.iter().map(|hit| hit.doc.as_ref())), || {
            format!("`{query}` retrieves a document twice")
        })?;
        let falls = hits.is_sorted_by(|a, b| a.score >= b.score);
        require(falls || run.ordered_by == OrderedBy::Position, || format!("`{query}` rises"))?;
        queries.push(judged(query, hits.iter().map(|hit| hit.doc.as_ref())));
    }
    if let Ok(lines) = trec_run(&run, "fuzz") {
        let again = Run::parse(lines.as_bytes()).map_err(|error| format!("written, {error}"))?;
        let docs = |run: &Run<'_>| -> Vec<Vec<String>> {
            let doc = |hits: &[gbrain_core::run::RunHit<'_>]| {
                hits.iter().map(|hit| hit.doc.to_string()).collect()
            };
            run.rankings().filter(|(_, hits)| !hits.is_empty()).map(|(_, hits)| doc(hits)).collect()
        };
        require(docs(&again) == docs(&run), || "written and read, it ranks otherwise".to_owned())?;
    }
    let Ok(qrels) = Qrels::new(queries, Shape::Trec) else { return Ok(()) };
    let scored = evaluate(&qrels, &run, &defaults(), Missing::Zero);
    let inside = scored.per_query.iter().flat_map(|query| &query.scores).all(is_share);
    require(inside, || "a score is not within 0 and 1".to_owned())
}

/// Judgements of some of the documents, with grades of every sign.
fn judged<'d>(query: &str, docs: impl Iterator<Item = &'d str>) -> JudgedQuery {
    let grade =
        |(at, doc): (usize, &str)| Judgement { doc: doc.to_owned(), grade: at as f64 % 5.0 - 1.0 };
    let judgements = docs.enumerate().filter(|(at, _)| at % 3 != 1).map(grade).collect();
    JudgedQuery { id: query.to_owned(), judgements, ..JudgedQuery::default() }
}

fn check_measures(text: &str) -> Result<(), Broken> {
    let measures = match Measure::parse_list(text) {
        Ok(measures) => measures,
        Err(error) => {
            return require(!error.to_string().is_empty(), || "an error without words".to_owned());
        }
    };
    let judgements = judged("q", ["a", "b", "c", "d", "e", "f"].into_iter()).judgements;
    let graded = Graded::of(&judgements, ["c", "x", "a", "c", "f"]);
    for measure in measures {
        let name = measure.to_string();
        require(name.parse() == Ok(measure), || format!("`{name}` is read otherwise"))?;
        require(is_share(&measure.of(&graded)), || format!("`{name}` is not within 0 and 1"))?;
    }
    Ok(())
}

fn is_share(value: &f64) -> bool {
    (0.0..=1.0).contains(value)
}

fn are_distinct<'d>(names: impl Iterator<Item = &'d str>) -> bool {
    let mut seen = std::collections::HashSet::new();
    names.into_iter().all(|name| seen.insert(name))
}
