//! How often a drop is found that a report prints as found with a power of .8.

use std::fmt;

use gbrain_core::compare::ROUNDS;
use gbrain_core::stats::{
    Interval, POWER, bounded_mean, clopper_pearson, mean, paired_permutation, smallest_drop_below,
    smallest_drop_surely_below, smallest_paired_drop,
};
use gbrain_eval::spread;

use super::OFF;
use super::population::Population;
use crate::campaign::scaffold;

/// So many times the trials measure a power again that looks wrong.
const MORE_TRIALS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// A gate: the mean is below a floor, a share of the mean of the sample.
    Below(f64),
    /// A gate with a confidence: the whole interval is below a floor.
    SurelyBelow(f64),
    /// A comparison of equal results, with so many tests that decide.
    PairedSame(usize),
    /// A comparison of results that move, with so many tests that decide.
    PairedMoving(usize),
}

pub const RULES: [Rule; 7] = [
    Rule::Below(0.95),
    Rule::Below(0.8),
    Rule::SurelyBelow(0.8),
    Rule::PairedSame(1),
    Rule::PairedSame(8),
    Rule::PairedMoving(1),
    Rule::PairedMoving(8),
];

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Below(share) => write!(f, "gate, floor at {share} of the mean"),
            Self::SurelyBelow(share) => write!(f, "gate, 95 % sure, floor at {share} of the mean"),
            Self::PairedSame(tests) => write!(f, "compare, equal results, {tests} tests"),
            Self::PairedMoving(tests) => write!(f, "compare, results that move, {tests} tests"),
        }
    }
}

/// A printed drop, tried.
#[derive(Debug, Clone)]
pub struct Cell {
    pub rule: Rule,
    /// The population.
    pub of: String,
    /// The size of the sample.
    pub n: usize,
    /// The drop, and how often it was found; none where it cannot be told.
    pub found: Option<(f64, f64)>,
}

impl Cell {
    /// Whether the drop is found less or more often than printed.
    pub fn is_wrong(&self) -> bool {
        self.found.is_some_and(|(_, power)| (power - POWER).abs() > OFF)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, of, n, found } = self;
        match found {
            Some((drop, power)) => {
                write!(f, "{rule}, {of}, n = {n}: a drop of {drop:.3} is found with {power:.3}")
            }
            None => write!(f, "{rule}, {of}, n = {n}: cannot tell"),
        }
    }
}

/// So many samples per population, rule and size, each with so many trials.
pub fn survey(
    populations: &[Population],
    sizes: &[usize],
    samples: usize,
    trials: usize,
    seed: u64,
) -> Vec<Cell> {
    let mut tasks = Vec::new();
    for rule in RULES {
        for &n in sizes {
            for population in populations {
                tasks.extend((0..samples).map(|_| (rule, population, n)));
            }
        }
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let progress = scaffold::Progress::new("cells", tasks.len());
    spread(tasks.len(), threads, |at| {
        progress.step();
        let (rule, population, n) = tasks[at];
        let mut rng = fastrand::Rng::with_seed(seed.wrapping_add(at as u64 * 104_729));
        let sample = population.sample(n, &mut rng);
        let found = rule.found(&sample, trials, &mut rng);
        Cell { rule, of: population.name.clone(), n, found }
    })
}

impl Rule {
    /// The drop that is printed for a sample, and how often it is found.
    fn found(
        self,
        sample: &[(f64, f64)],
        trials: usize,
        rng: &mut fastrand::Rng,
    ) -> Option<(f64, f64)> {
        let values: Vec<f64> = sample.iter().map(|(value, _)| *value).collect();
        let centre = mean(&values)?;
        let drop = self.printed(sample, &values, centre)?;
        let share = drop / centre;
        let mut power = |trials: usize| {
            let fires = (0..trials).filter(|_| {
                let lost: Vec<bool> = values.iter().map(|_| rng.f64() < share).collect();
                self.fires(sample, &lost, centre, rng)
            });
            fires.count() as f64 / trials as f64
        };
        let first = power(trials);
        // Far off may be the luck of few trials: more of them, drawn anew, decide.
        let is_near = (first - POWER).abs() <= OFF / 2.0;
        Some((drop, if is_near { first } else { power(trials * MORE_TRIALS) }))
    }

    fn printed(self, sample: &[(f64, f64)], values: &[f64], centre: f64) -> Option<f64> {
        match self {
            Self::Below(share) => smallest_drop_below(values, share * centre),
            Self::SurelyBelow(share) => smallest_drop_surely_below(values, share * centre, 0.95),
            Self::PairedSame(tests) => smallest_paired_drop(values, values, level(tests)),
            Self::PairedMoving(tests) => {
                let after: Vec<f64> = sample.iter().map(|(value, by)| value + by).collect();
                smallest_paired_drop(values, &after, level(tests))
            }
        }
    }

    /// Whether the rule fires when some have lost their value.
    fn fires(
        self,
        sample: &[(f64, f64)],
        lost: &[bool],
        centre: f64,
        rng: &mut fastrand::Rng,
    ) -> bool {
        let left = || -> Vec<f64> {
            let pairs = sample.iter().zip(lost);
            pairs.map(|((value, _), lost)| if *lost { 0.0 } else { *value }).collect()
        };
        match self {
            Self::Below(share) => mean(&left()).is_some_and(|mean| mean < share * centre),
            Self::SurelyBelow(share) => {
                interval(&left()).is_some_and(|interval| interval.high < share * centre)
            }
            Self::PairedSame(tests) | Self::PairedMoving(tests) => {
                let moves = matches!(self, Self::PairedMoving(_));
                let pairs = sample.iter().zip(lost);
                let differences: Vec<f64> = pairs
                    .map(|((value, by), lost)| match lost {
                        true if *value > 0.0 => -value,
                        true | false if moves && rng.bool() => *by,
                        true | false if moves => -by,
                        true | false => 0.0,
                    })
                    .collect();
                differences.iter().sum::<f64>() < 0.0
                    && is_significant(&differences, level(tests), rng.u64(..))
            }
        }
    }
}

/// The test of a comparison, with fewer rounds where the answer is clear.
fn is_significant(differences: &[f64], level: f64, seed: u64) -> bool {
    const FEW: u32 = 1_000;
    let p = paired_permutation(differences, FEW, seed);
    let doubt = 4.0 * (level * (1.0 - level) / f64::from(FEW)).sqrt();
    let is_clear = (p - level).abs() > doubt;
    (if is_clear { p } else { paired_permutation(differences, ROUNDS, seed) }) <= level
}

fn level(tests: usize) -> f64 {
    0.05 / tests as f64
}

/// The interval that a gate prints: of a rate exactly, of a mean as it is.
fn interval(values: &[f64]) -> Option<Interval> {
    if values.iter().all(|value| *value == 0.0 || *value == 1.0) {
        let successes = values.iter().filter(|value| **value == 1.0).count() as u64;
        return clopper_pearson(successes, values.len() as u64, 0.95);
    }
    bounded_mean(values, Interval::UNIT, 0.95)
}

/// By rule and size: how many drops were printed, and between which powers they were found.
pub fn table(cells: &[Cell]) -> String {
    let mut table = scaffold::table([
        "rule",
        "n",
        "cannot tell",
        "printed",
        "least power",
        "mean",
        "most power",
    ]);
    for rule in RULES {
        let mut sizes: Vec<usize> =
            cells.iter().filter(|cell| cell.rule == rule).map(|cell| cell.n).collect();
        sizes.sort_unstable();
        sizes.dedup();
        for n in sizes {
            let of = || cells.iter().filter(|cell| cell.rule == rule && cell.n == n);
            let powers: Vec<f64> = of().filter_map(|cell| Some(cell.found?.1)).collect();
            let shown = |value: f64| format!("{value:.3}");
            let ends = [
                powers.iter().copied().reduce(f64::min),
                mean(&powers),
                powers.iter().copied().reduce(f64::max),
            ];
            let [least, middle, most] = ends.map(|end| end.map_or("-".to_owned(), shown));
            let untold = of().count() - powers.len();
            let row = [rule.to_string(), n.to_string(), untold.to_string()];
            table.add_row([&row[..], &[powers.len().to_string(), least, middle, most]].concat());
        }
    }
    table.to_string()
}
