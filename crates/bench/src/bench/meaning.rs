//! `bench meaning`: words, vectors and both on every collection, with paired tests.
//!
//! All three go through the real import and the real pipeline, without the graph: words are a
//! query without vectors, vectors a query whose words weigh nothing.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use gbrain_core::request::{Operation, RetrievalMode};
use gbrain_core::stats::paired_permutation;

use super::chats::{self, Corpus};
use super::collection;
use super::data_dir;
use super::figures::Figures;
use super::home::Home;
use super::report::{Cell, Report};

const DEPTH: usize = 10;
const ROUNDS: u32 = 20_000;
const SEED: u64 = 20_261_116;
/// A drop with a p below this is one.
const ALPHA: f64 = 0.05;
const PARAPHRASE: &str = "world-v1 paraphrase";
const HEADERS: [&str; 8] =
    ["set", "ranker", "n", "nDCG@10", "R@5", "R@10", "hybrid - this", "p (paired, two-sided)"];

/// A collection: its pages and questions, in one corpus or several.
struct Set {
    name: &'static str,
    load: fn(&Path) -> Result<Vec<Corpus>>,
    /// A directory of pages instead of the documents of the corpus.
    pages: Option<&'static str>,
}

const SETS: [Set; 7] = [
    Set { name: "cranfield", load: |data| beir(data, "ir/cranfield"), pages: None },
    Set { name: "cisi", load: |data| beir(data, "ir/cisi"), pages: None },
    Set { name: "med", load: |data| beir(data, "ir/med"), pages: None },
    Set {
        name: "world-v1 relational",
        load: |data| beir(data, "gbrain/beir_world_v1_relational"),
        pages: Some("gbrain/world-v1"),
    },
    Set {
        name: PARAPHRASE,
        load: |data| beir(data, "gbrain/beir_world_v1_cat13"),
        pages: Some("gbrain/world-v1"),
    },
    Set { name: "locomo turns", load: chats::locomo, pages: None },
    Set { name: "longmemeval user turns", load: chats::longmemeval, pages: None },
];

/// Words, vectors and both on the collections of the data directory.
#[derive(Debug, clap::Args)]
pub(crate) struct MeaningArgs {
    /// Only sets whose name holds this.
    #[arg(long, default_value = "")]
    set: String,
    /// Measure with another value of a setting; may be given again.
    #[arg(long = "with", value_name = "NAME=VALUE")]
    with: Vec<String>,
}

/// The results of one set, query by query.
struct Measured {
    name: &'static str,
    words: Vec<Figures>,
    vectors: Vec<Figures>,
    hybrid: Vec<Figures>,
}

pub(crate) fn run(args: &MeaningArgs) -> Result<Report> {
    let data = data_dir()?;
    let mut report = Report::new("meaning", &HEADERS);
    let mut all = Vec::new();
    for set in SETS.iter().filter(|set| set.name.contains(&args.set)) {
        let measured = measure(set, &data, args)?;
        measured.add_rows(&mut report);
        measured.add_targets(&mut report);
        all.push(measured);
    }
    add_average(&all, &mut report);
    Ok(report)
}

fn beir(data: &Path, dir: &str) -> Result<Vec<Corpus>> {
    let dir = data.join(dir);
    let (documents, queries) = (collection::documents(&dir)?, collection::queries(&dir)?);
    Ok(vec![Corpus { documents, queries }])
}

fn measure(set: &Set, data: &Path, args: &MeaningArgs) -> Result<Measured> {
    let (words, vectors, hybrid) = (Vec::new(), Vec::new(), Vec::new());
    let mut measured = Measured { name: set.name, words, vectors, hybrid };
    for corpus in (set.load)(data)? {
        let temporary = tempfile::tempdir()?;
        let mut home = Home::open(&temporary.path().join("home"))?;
        let pages = pages(set, data, &corpus, temporary.path())?;
        let summary = home.import(&[pages])?;
        ensure!(summary.failed.is_empty(), "{}: {:?}", set.name, summary.failed);
        args.with.iter().try_for_each(|setting| home.set(setting))?;
        measured.words.extend(rank_all(&home, &corpus, false)?);
        measured.hybrid.extend(rank_all(&home, &corpus, true)?);
        home.set("words_weight=0")?;
        measured.vectors.extend(rank_all(&home, &corpus, true)?);
    }
    Ok(measured)
}

fn pages(set: &Set, data: &Path, corpus: &Corpus, temporary: &Path) -> Result<PathBuf> {
    if let Some(pages) = set.pages {
        return Ok(data.join(pages));
    }
    let pages = temporary.join("pages");
    std::fs::create_dir(&pages)?;
    collection::write_pages(&corpus.documents, &pages)?;
    Ok(pages)
}

fn rank_all(home: &Home, corpus: &Corpus, vectors: bool) -> Result<Vec<Figures>> {
    let rank = |query: &collection::Query| {
        let mut request = home.request(Operation::Query, &query.text, DEPTH);
        (request.mode, request.vectors) = (RetrievalMode::Knowledge, vectors);
        let answered = home.run(&request)?;
        let hits = answered.ranking.hits.iter();
        let ranked: Vec<&str> = hits.map(|hit| hit.key.slug.as_str()).collect();
        Ok(Figures::of(&ranked, &query.judgements))
    };
    corpus.queries.iter().map(rank).collect()
}

impl Measured {
    fn rankers(&self) -> [(&'static str, &[Figures]); 3] {
        [("words", &self.words), ("vectors", &self.vectors), ("hybrid", &self.hybrid)]
    }

    fn add_rows(&self, report: &mut Report) {
        for (ranker, measured) in self.rankers() {
            let mean = Figures::mean(measured);
            let (difference, p) = self.hybrid_beside(measured);
            let is_itself = ranker == "hybrid";
            let beside = |text: String| Cell::text(if is_itself { String::new() } else { text });
            report.row(vec![
                Cell::text(self.name),
                Cell::text(ranker),
                Cell::Count(measured.len() as u64),
                Cell::number(mean.ndcg_10, 4),
                Cell::number(mean.recall_5, 4),
                Cell::number(mean.recall_10, 4),
                beside(format!("{difference:+.4}")),
                beside(format!("{p:.4}")),
            ]);
        }
    }

    fn add_targets(&self, report: &mut Report) {
        for (ranker, measured) in &self.rankers()[..2] {
            let (difference, p) = self.hybrid_beside(measured);
            report.target(
                format!(
                    "{}: hybrid {difference:+.4} beside {ranker}, p {p:.4}: no drop",
                    self.name
                ),
                difference >= 0.0 || p >= ALPHA,
            );
            if self.name == PARAPHRASE {
                let what = format!("{}: hybrid {difference:+.4} above {ranker}", self.name);
                report.target(what, difference > 0.0);
            }
        }
    }

    /// The mean difference in nDCG@10 of hybrid to another, and its p.
    fn hybrid_beside(&self, other: &[Figures]) -> (f64, f64) {
        let differences: Vec<f64> =
            self.hybrid.iter().zip(other).map(|(a, b)| a.ndcg_10 - b.ndcg_10).collect();
        let mean = differences.iter().sum::<f64>() / differences.len().max(1) as f64;
        (mean, paired_permutation(&differences, ROUNDS, SEED))
    }
}

/// The mean over sets of the sets' means.
fn add_average(all: &[Measured], report: &mut Report) {
    let mean_of = |of: fn(&Measured) -> &[Figures]| {
        let sets: Vec<Figures> = all.iter().map(|set| Figures::mean(of(set))).collect();
        Figures::mean(&sets)
    };
    let means =
        [mean_of(|set| &set.words), mean_of(|set| &set.vectors), mean_of(|set| &set.hybrid)];
    let hybrid = means[2].ndcg_10;
    for (ranker, mean) in ["words", "vectors", "hybrid"].iter().zip(&means) {
        report.row(vec![
            Cell::text("mean of sets"),
            Cell::text(*ranker),
            Cell::Count(all.len() as u64),
            Cell::number(mean.ndcg_10, 4),
            Cell::number(mean.recall_5, 4),
            Cell::number(mean.recall_10, 4),
            Cell::text(format!("{:+.4}", hybrid - mean.ndcg_10)),
            Cell::text(""),
        ]);
        if *ranker != "hybrid" {
            let what = format!("mean of sets: hybrid {:+.4} above {ranker}", hybrid - mean.ndcg_10);
            report.target(what, hybrid > mean.ndcg_10);
        }
    }
}
