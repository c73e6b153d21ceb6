//! `bench quality`: rankings against judgements, through the real import and the real pipeline.
//!
//! The bars are BM25 by bm25s (k1 1.2, b 0.75, English stemmer and stop words) over whole
//! documents, as the data's README gives them. Beside them stands our own scorer over whole
//! documents, which tells what chunking costs from what tokens cost.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use gbrain_bench::campaign::scaffold::progress;
use gbrain_core::request::Operation;

use super::collection::{self, Query};
use super::figures::Figures;
use super::home::Home;
use super::report::{Cell, Report};
use super::{data_dir, whole};

/// How far below its bar a set may be, in nDCG@10.
const SLACK: f64 = 0.005;
/// The pages that relational questions must find among the first five, through the graph.
const RELATIONAL_RECALL_5: f64 = 0.95;
const DEPTH: usize = 100;
const HEADERS: [&str; 9] =
    ["set", "ranker", "n", "nDCG@10", "bar", "difference", "R@5", "R@10", "R@100"];

/// A test collection and its bar.
struct Set {
    name: &'static str,
    dir: &'static str,
    pages: Pages,
    bar: f64,
    relational: bool,
}

enum Pages {
    Documents,
    Directory(&'static str),
}

const SETS: [Set; 5] = [
    Set {
        name: "cranfield",
        dir: "ir/cranfield",
        pages: Pages::Documents,
        bar: 0.3695,
        relational: false,
    },
    Set { name: "cisi", dir: "ir/cisi", pages: Pages::Documents, bar: 0.3957, relational: false },
    Set { name: "med", dir: "ir/med", pages: Pages::Documents, bar: 0.6986, relational: false },
    Set {
        name: "world-v1 relational",
        dir: "gbrain/beir_world_v1_relational",
        pages: Pages::Directory("gbrain/world-v1"),
        bar: 0.5933,
        relational: true,
    },
    Set {
        name: "world-v1 paraphrase",
        dir: "gbrain/beir_world_v1_cat13",
        pages: Pages::Directory("gbrain/world-v1"),
        bar: 0.6784,
        relational: false,
    },
];

/// Rankings against judgements on the collections of the data directory.
#[derive(Debug, clap::Args)]
pub(crate) struct QualityArgs {
    /// Only sets whose name holds this.
    #[arg(long, default_value = "")]
    set: String,
    /// Say for each query how `search` differs from whole documents.
    #[arg(long)]
    per_query: bool,
    /// Measure with another value of a setting; may be given again.
    #[arg(long = "with", value_name = "NAME=VALUE")]
    with: Vec<String>,
}

pub(crate) fn run(args: &QualityArgs) -> Result<Report> {
    let data = data_dir()?;
    let mut report = Report::new("quality", &HEADERS);
    for set in SETS.iter().filter(|set| set.name.contains(&args.set)) {
        measure(set, &data, args, &mut report)?;
    }
    Ok(report)
}

fn measure(set: &Set, data: &Path, args: &QualityArgs, report: &mut Report) -> Result<()> {
    let dir = data.join(set.dir);
    let queries = collection::queries(&dir)?;
    let temporary = tempfile::tempdir()?;
    let mut home = Home::open(&temporary.path().join("home"))?;
    args.with.iter().try_for_each(|setting| home.set(setting))?;
    let pages = pages(set, data, &dir, temporary.path())?;
    let summary = home.import(&[pages])?;
    ensure!(summary.failed.is_empty(), "{}: {:?}", set.name, summary.failed);
    ensure_slugs(&home, &queries)?;

    let search = rank_all(&home, Operation::Search, &queries)?;
    let query = rank_all(&home, Operation::Query, &queries)?;
    let documents = whole::rank_all(&collection::documents(&dir)?, &queries, DEPTH)?;
    for (ranker, measured) in
        [("search", &search), ("query", &query), ("whole documents", &documents)]
    {
        report.row(row(set, ranker, measured));
    }
    let (by_search, by_query) = (Figures::mean(&search), Figures::mean(&query));
    report.target(
        format!(
            "{}: search nDCG@10 {:.4}, at least {:.4} - {SLACK}",
            set.name, by_search.ndcg_10, set.bar
        ),
        by_search.ndcg_10 >= set.bar - SLACK,
    );
    if set.relational {
        let found = by_query.recall_5;
        let target = format!("{}: query R@5 {found:.4}, at least {RELATIONAL_RECALL_5}", set.name);
        report.target(target, found >= RELATIONAL_RECALL_5);
    }
    if args.per_query {
        say_differences(set, &queries, &search, &documents);
    }
    Ok(())
}

fn pages(set: &Set, data: &Path, dir: &Path, temporary: &Path) -> Result<PathBuf> {
    match set.pages {
        Pages::Directory(pages) => Ok(data.join(pages)),
        Pages::Documents => {
            let pages = temporary.join("pages");
            std::fs::create_dir(&pages)?;
            collection::write_pages(&collection::documents(dir)?, &pages)?;
            Ok(pages)
        }
    }
}

/// Judgements are about slugs: one that names no page would count as never found.
fn ensure_slugs(home: &Home, queries: &[Query]) -> Result<()> {
    let source = gbrain_core::id::SourceId::default();
    let digests = home.brain.store().digests(home.brain.workspace(), &source)?;
    let slugs: rustc_hash::FxHashSet<&str> =
        digests.iter().map(|digest| digest.slug.as_str()).collect();
    for query in queries {
        for id in query.judgements.iter().map(|judgement| &judgement.doc) {
            ensure!(
                slugs.contains(id.as_str()),
                "query {} judges `{id}`, which is no page",
                query.id
            );
        }
    }
    Ok(())
}

fn rank_all(home: &Home, operation: Operation, queries: &[Query]) -> Result<Vec<Figures>> {
    let mut all = Vec::with_capacity(queries.len());
    for query in queries {
        let answered = home.answer(operation, &query.text, DEPTH)?;
        let ranked: Vec<&str> =
            answered.ranking.hits.iter().map(|hit| hit.key.slug.as_str()).collect();
        all.push(Figures::of(&ranked, &query.judgements));
    }
    Ok(all)
}

fn row(set: &Set, ranker: &str, measured: &[Figures]) -> Vec<Cell> {
    let mean = Figures::mean(measured);
    vec![
        Cell::text(set.name),
        Cell::text(ranker),
        Cell::Count(measured.len() as u64),
        Cell::number(mean.ndcg_10, 4),
        Cell::number(set.bar, 4),
        Cell::text(format!("{:+.4}", mean.ndcg_10 - set.bar)),
        Cell::number(mean.recall_5, 4),
        Cell::number(mean.recall_10, 4),
        Cell::number(mean.recall_100, 4),
    ]
}

fn say_differences(set: &Set, queries: &[Query], search: &[Figures], documents: &[Figures]) {
    let mut differences: Vec<(f64, &Query)> = queries
        .iter()
        .zip(search.iter().zip(documents))
        .map(|(q, (s, d))| (s.ndcg_10 - d.ndcg_10, q))
        .collect();
    differences.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (difference, query) in differences.iter().filter(|(difference, _)| difference.abs() > 0.02)
    {
        progress(format!("{}\t{}\t{difference:+.4}\t{}", set.name, query.id, query.text));
    }
}
