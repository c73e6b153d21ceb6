//! How often intervals hold what they are about.

use std::fmt;

use gbrain_core::contradiction::{CanaryCounts, HitCount};
use gbrain_core::stats::{
    BootstrapOptions, Interval, bootstrap_mean, bounded_mean, clopper_pearson, wilson,
};
use gbrain_eval::spread;

use super::population::Population;
use super::{COVERAGE, SIZES};
use crate::campaign::scaffold;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// A rate, exactly.
    ClopperPearson,
    /// A mean of values between 0 and 1.
    Mean,
    /// A mean of paired differences.
    Paired,
    /// A rate of contradictions, corrected for the judge's errors.
    Corrected,
    /// The accuracy of a judge.
    Informedness,
    /// A rate by Wilson's formula; no floor.
    Wilson,
    /// A mean by the percentile bootstrap; no floor.
    Bootstrap,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::ClopperPearson => "rate (Clopper-Pearson)",
            Self::Mean => "mean (Gaffke)",
            Self::Paired => "paired difference (Gaffke)",
            Self::Corrected => "corrected contradiction rate",
            Self::Informedness => "judge's informedness",
            Self::Wilson => "rate (Wilson), not used in gates",
            Self::Bootstrap => "mean (percentile bootstrap), not used",
        }
    }

    fn has_floor(self) -> bool {
        !matches!(self, Self::Wilson | Self::Bootstrap)
    }
}

/// A method on samples of one size from one population.
#[derive(Debug, Clone)]
pub struct Cell {
    pub method: Method,
    /// The population.
    pub of: String,
    /// The size of samples.
    pub n: usize,
    /// The share of intervals that hold the truth.
    pub coverage: f64,
    /// Their mean width.
    pub width: f64,
}

impl Cell {
    /// Whether it covers too little.
    pub fn is_held(&self) -> bool {
        self.method.has_floor() && self.coverage < COVERAGE
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, of, n, coverage, .. } = self;
        write!(f, "{}, {of}, n = {n}: coverage {coverage:.3}", method.name())
    }
}

/// The coverage of every method, on what it is for.
pub fn survey(populations: &[Population], sizes: &[usize], samples: usize, seed: u64) -> Vec<Cell> {
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for &n in sizes {
        for population in populations {
            let methods: &[Method] = if population.is_rate() {
                &[Method::ClopperPearson, Method::Wilson, Method::Paired]
            } else {
                &[Method::Mean, Method::Paired, Method::Bootstrap]
            };
            tasks.extend(methods.iter().map(|method| Task::Drawn(*method, population, n)));
        }
    }
    for pairs in sizes.iter().copied().filter(|n| [4, 10, 30, 200].contains(n)) {
        for planted in [20, 60, 200] {
            for errs in [[0.0, 0.0], [0.02, 0.02], [0.2, 0.2], [0.4, 0.05]] {
                tasks.push(Task::Informed(planted, errs));
                tasks.extend([0.0, 0.02, 0.1, 0.3, 0.5, 0.9, 0.97, 1.0].map(|rate| Task::Judged {
                    pairs,
                    planted,
                    errs,
                    rate,
                }));
            }
        }
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let progress = scaffold::Progress::new("cells", tasks.len());
    spread(tasks.len(), threads, |at| {
        progress.step();
        let mut rng = fastrand::Rng::with_seed(seed.wrapping_add(at as u64 * 7919));
        tasks[at].cell(samples, &mut rng)
    })
}

enum Task<'a> {
    Drawn(Method, &'a Population, usize),
    Judged { pairs: usize, planted: usize, errs: [f64; 2], rate: f64 },
    Informed(usize, [f64; 2]),
}

impl Task<'_> {
    fn cell(&self, samples: usize, rng: &mut fastrand::Rng) -> Cell {
        match self {
            Self::Drawn(method, population, n) => {
                // The bootstrap is slow and only shown.
                let samples = if *method == Method::Bootstrap { samples.min(300) } else { samples };
                let truth = truth(*method, population);
                let draw = |rng: &mut fastrand::Rng| drawn(*method, &population.sample(*n, rng));
                tally((*method, population.name.clone(), *n), truth, samples, rng, draw)
            }
            Self::Judged { pairs, planted, errs, rate } => {
                let of = format!("rate {rate}, judge {errs:?}, {planted} + {planted} planted");
                tally((Method::Corrected, of, *pairs), *rate, samples, rng, |rng| {
                    let is = hits(*pairs, *rate, rng);
                    let accused = hits(is, 1.0 - errs[0], rng) + hits(pairs - is, errs[1], rng);
                    let found = judge(*planted, *errs, rng).correct(counted(accused, *pairs))?;
                    Some(found.interval)
                })
            }
            Self::Informed(planted, errs) => {
                let of = format!("judge {errs:?}");
                let truth = 1.0 - errs[0] - errs[1];
                tally((Method::Informedness, of, *planted), truth, samples, rng, |rng| {
                    Some(judge(*planted, *errs, rng).informedness()?.interval)
                })
            }
        }
    }
}

fn tally(
    (method, of, n): (Method, String, usize),
    truth: f64,
    samples: usize,
    rng: &mut fastrand::Rng,
    mut draw: impl FnMut(&mut fastrand::Rng) -> Option<Interval>,
) -> Cell {
    // An end that is the truth is found to some digits only.
    let holds = |interval: &Interval| interval.low <= truth + 1e-7 && truth - 1e-7 <= interval.high;
    let intervals: Vec<Interval> = (0..samples).filter_map(|_| draw(rng)).collect();
    let all = intervals.len().max(1) as f64;
    let coverage = intervals.iter().filter(|interval| holds(interval)).count() as f64 / all;
    let width = intervals.iter().map(|interval| interval.high - interval.low).sum::<f64>() / all;
    Cell { method, of, n, coverage, width }
}

fn truth(method: Method, population: &Population) -> f64 {
    if method != Method::Paired {
        return population.mean();
    }
    let differences = population.values.iter().map(difference);
    differences.sum::<f64>() / population.values.len() as f64
}

/// High values fall and low ones rise: skewed, with a mean other than 0.
fn difference((value, by): &(f64, f64)) -> f64 {
    if *value > 0.5 { -by } else { *by }
}

fn drawn(method: Method, sample: &[(f64, f64)]) -> Option<Interval> {
    let values: Vec<f64> = sample.iter().map(|(value, _)| *value).collect();
    let successes = values.iter().filter(|value| **value == 1.0).count() as u64;
    match method {
        Method::ClopperPearson => clopper_pearson(successes, values.len() as u64, 0.95),
        Method::Wilson => wilson(successes, values.len() as u64, 0.95),
        Method::Mean => bounded_mean(&values, Interval::UNIT, 0.95),
        Method::Bootstrap => bootstrap_mean(
            &values,
            &BootstrapOptions { rounds: 1000, ..BootstrapOptions::default() },
        ),
        Method::Paired => {
            let differences: Vec<f64> = sample.iter().map(difference).collect();
            bounded_mean(&differences, Interval { low: -1.0, high: 1.0 }, 0.95)
        }
        Method::Corrected | Method::Informedness => None,
    }
}

fn hits(n: usize, rate: f64, rng: &mut fastrand::Rng) -> usize {
    (0..n).filter(|_| rng.f64() < rate).count()
}

fn counted(hits: usize, n: usize) -> HitCount {
    HitCount { hits: hits as u64, n: n as u64 }
}

fn judge(planted: usize, [missed, alarmed]: [f64; 2], rng: &mut fastrand::Rng) -> CanaryCounts {
    CanaryCounts {
        caught: counted(hits(planted, 1.0 - missed, rng), planted),
        accused: counted(hits(planted, alarmed, rng), planted),
    }
}

/// By method and size: the least coverage and where, the mean, the most, and the mean width.
pub fn table(cells: &[Cell]) -> String {
    let mut table =
        scaffold::table(["interval", "n", "cells", "least", "mean", "most", "width", "least in"]);
    let methods = [
        Method::ClopperPearson,
        Method::Mean,
        Method::Paired,
        Method::Corrected,
        Method::Informedness,
        Method::Wilson,
        Method::Bootstrap,
    ];
    let sizes = || SIZES.into_iter().chain([60]);
    for (method, n) in methods.into_iter().flat_map(|method| sizes().map(move |n| (method, n))) {
        let of: Vec<&Cell> =
            cells.iter().filter(|cell| cell.method == method && cell.n == n).collect();
        let Some(least) = of.iter().min_by(|a, b| a.coverage.total_cmp(&b.coverage)) else {
            continue;
        };
        let mean = |value: &dyn Fn(&Cell) -> f64| {
            of.iter().map(|cell| value(cell)).sum::<f64>() / of.len() as f64
        };
        let most = of.iter().map(|cell| cell.coverage).fold(0.0, f64::max);
        table.add_row([
            method.name().to_owned(),
            n.to_string(),
            of.len().to_string(),
            format!("{:.3}", least.coverage),
            format!("{:.3}", mean(&|cell| cell.coverage)),
            format!("{most:.3}"),
            format!("{:.3}", mean(&|cell| cell.width)),
            least.of.clone(),
        ]);
    }
    table.to_string()
}
