//! The population that samples are drawn from: values of queries between 0 and 1, each with its change.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use gbrain_core::measure::{Measure, MissingQueries, evaluate};
use gbrain_core::qrels::Qrels;
use gbrain_core::run::Run;

use super::say;

/// Values of queries.
#[derive(Debug, Clone)]
pub struct Population {
    pub name: String,
    /// The value of each query, and how far it moves between two runs that are equally good.
    pub values: Vec<(f64, f64)>,
}

impl Population {
    pub fn mean(&self) -> f64 {
        self.values.iter().map(|(value, _)| value).sum::<f64>() / self.values.len() as f64
    }

    /// Whether every value is 0 or 1.
    pub fn is_rate(&self) -> bool {
        self.values.iter().all(|(value, _)| *value == 0.0 || *value == 1.0)
    }

    /// So many queries, drawn with replacement.
    pub fn sample(&self, n: usize, rng: &mut fastrand::Rng) -> Vec<(f64, f64)> {
        (0..n).map(|_| self.values[rng.usize(..self.values.len())]).collect()
    }

    fn of(name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        // Every fifth query moves to the other side of its value, as far as there is room.
        let moved = |(at, value): (usize, f64)| {
            let room = value.max(1.0 - value);
            (value, if at % 5 == 0 { 0.6 * room } else { 0.0 })
        };
        let values = values.into_iter().enumerate().map(moved).collect();
        Self { name: name.to_owned(), values }
    }
}

/// Made-up populations, and measured ones where there is data.
pub fn all(data: Option<&Path>) -> Result<Vec<Population>> {
    let mut all = rates();
    all.extend(shapes());
    match data {
        None => say("SKIPPED: GBRAIN_TEST_DATA is not set: no measured values"),
        Some(data) => all.extend(measured(data)?),
    }
    Ok(all)
}

/// Rates, at the edges and in between.
pub fn rates() -> Vec<Population> {
    let rate = |percent: u32| {
        let values = (0..100).map(move |at| f64::from(u8::from(at < percent)));
        Population::of(&format!("rate .{percent:02}"), values)
    };
    [1, 2, 5, 10, 30, 50, 70, 90, 95, 98, 99].map(rate).to_vec()
}

/// Shapes that per-query values have: ties at 0 and 1, skew, hardly any spread.
pub fn shapes() -> Vec<Population> {
    let gain = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let of = |at: usize, shares: [usize; 3]| match at {
        at if at < shares[0] => 1.0,
        at if at < shares[1] => gain(at % 9 + 1),
        at if at < shares[2] => 0.0,
        at => (at * 37 % 100) as f64 / 100.0,
    };
    let shape = |name: &str, shares| Population::of(name, (0..100).map(|at| of(at, shares)));
    vec![
        shape("ndcg-like", [55, 85, 97]),
        shape("ties at both ends", [45, 50, 98]),
        shape("mostly 1", [96, 99, 99]),
        shape("mostly 0", [1, 3, 95]),
        shape("spread", [0, 0, 0]),
        Population::of("hardly any spread", (0..100).map(|at| 0.8 + f64::from(at % 10) / 100.0)),
        Population::of("one value", (0..100).map(|_| 0.5)),
    ]
}

/// Measures of judged runs, query by query; what a query moves by is what its measure moves by when
/// the scores of the run are disturbed.
fn measured(data: &Path) -> Result<Vec<Population>> {
    let mut all = Vec::new();
    for collection in ["cranfield_bm25s", "cacm_anserini_bm25"] {
        let folder = data.join("metrics/golden").join(collection);
        if !folder.is_dir() {
            say(format!("SKIPPED: {} is not there: no values of it", folder.display()));
            continue;
        }
        let qrels = Qrels::parse(&std::fs::read(folder.join("qrels.txt"))?)?;
        let run = std::fs::read_to_string(folder.join("run.trec"))?;
        let disturbed = disturbed(&run).context("a run of other lines than TREC's")?;
        let measures = Measure::parse_list("nDCG@10 R@10 RR AP P@1")?;
        let scores = |text: &str| -> Result<Vec<Vec<f64>>> {
            let run = Run::parse(text.as_bytes())?;
            let found = evaluate(&qrels, &run, &measures, MissingQueries::Zero);
            Ok(found.per_query.into_iter().map(|query| query.scores).collect())
        };
        let (before, after) = (scores(&run)?, scores(&disturbed)?);
        for (at, measure) in measures.iter().enumerate() {
            let pairs = before.iter().zip(&after);
            let values = pairs.map(|(b, a)| (b[at].clamp(0.0, 1.0), (a[at] - b[at]).abs()));
            let name = format!("{collection} {measure}");
            all.push(Population { name, values: values.collect() });
        }
    }
    Ok(all)
}

/// The run with every score a little off: neighbours change places.
fn disturbed(run: &str) -> Option<String> {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut text = String::with_capacity(run.len());
    for line in run.lines().filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [query, q0, doc, rank, score, tag] = fields[..] else { return None };
        let score = score.parse::<f64>().ok()? * (0.9 + 0.2 * rng.f64());
        writeln!(text, "{query} {q0} {doc} {rank} {score} {tag}").ok()?;
    }
    Some(text)
}
