//! The ratio of times over rows, with its interval.
//!
//! The estimate is the geometric mean of the rows' ratios: half as long and twice as long cancel. The
//! interval is Student's, on logarithms. With few rows their spread says little, so it is pooled with
//! what is known of such measurements (a moderated t, as in Smyth, "Linear models and empirical Bayes
//! methods", 2004): a row scatters by about [`ROW_NOISE`], which counts as much as [`PRIOR_ROWS`] rows.
//! [`RUN_NOISE`] is added for what all rows of a run have in common, which no number of rows averages
//! out: where code and data happen to lie in memory, and what shares the machine's caches.

use crate::stats::Interval;

use super::{Clock, TimeComparison};

/// Standard deviation of the logarithm of one row's ratio on an unchanged brain, before rows are seen.
const ROW_NOISE: f64 = 0.15;
/// How many degrees of freedom [`ROW_NOISE`] is worth.
const PRIOR_ROWS: usize = 4;
/// Standard deviation of the logarithm of a whole run's ratio on an unchanged brain.
const RUN_NOISE: f64 = 0.08;

/// How many times as long retrievals take now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeRatio {
    /// The clock that was read.
    pub clock: Clock,
    /// The geometric mean over rows.
    pub ratio: f64,
    /// Where it may lie; none when a time is not a number.
    pub interval: Option<Interval>,
    /// The rows that were compared.
    pub n: usize,
    /// Whether wall-clock times were taken while this machine had too much else to do.
    pub is_machine_busy: bool,
}

/// The ratio over every row that is compared, at a confidence; none if no row is.
pub(crate) fn compare_times<'a>(
    rows: impl IntoIterator<Item = &'a TimeComparison>,
    confidence: f64,
) -> Option<TimeRatio> {
    let compared: Vec<&TimeComparison> =
        rows.into_iter().filter(|row| row.clock().is_some()).collect();
    let clock = compared.first()?.clock()?;
    // Times below what a clock can tell are the least that it can.
    let logs: Vec<f64> =
        compared.iter().filter_map(|row| Some(floored(row.ratio()?).ln())).collect();
    let n = logs.len();
    let mean = logs.iter().sum::<f64>() / n as f64;
    let is_machine_busy = compared
        .iter()
        .any(|row| matches!(row, TimeComparison::Wall { is_machine_busy: true, .. }));
    // A value that is not a number is shown as the largest one, and has no interval.
    let interval = mean.is_finite().then(|| interval(&logs, mean, confidence));
    Some(TimeRatio { clock, ratio: mean.exp().min(f64::MAX), interval, n, is_machine_busy })
}

/// Not a number stays so, and makes the mean no number either.
fn floored(ratio: f64) -> f64 {
    if ratio.is_nan() { ratio } else { ratio.clamp(f64::MIN_POSITIVE, f64::MAX) }
}

fn interval(logs: &[f64], mean: f64, confidence: f64) -> Interval {
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let freedom = PRIOR_ROWS + logs.len() - 1;
    let of_a_row = (PRIOR_ROWS as f64 * ROW_NOISE.powi(2) + squares) / freedom as f64;
    let of_the_mean = (of_a_row / logs.len() as f64 + RUN_NOISE.powi(2)).sqrt();
    let reach = student(confidence, freedom) * of_the_mean;
    Interval { low: (mean - reach).exp(), high: (mean + reach).exp().min(f64::MAX) }
}

/// Past so many degrees of freedom the distribution is the normal one to three digits.
const NORMAL_FREEDOM: usize = 1_000;

/// The size that a number of Student's distribution stays within with a probability.
fn student(probability: f64, freedom: usize) -> f64 {
    let freedom = freedom.min(NORMAL_FREEDOM);
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    while within(high, freedom) < probability && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if within(middle, freedom) < probability { low = middle } else { high = middle }
    }
    high
}

/// The probability that a number of Student's distribution is within `t` of zero: the finite series
/// of Abramowitz and Stegun, 26.7.3 and 26.7.4.
fn within(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    let is_odd = freedom % 2 == 1;
    let mut term = if is_odd { cos } else { 1.0 };
    let mut sum = if freedom > 1 { term } else { 0.0 };
    let mut power = if is_odd { 3 } else { 2 };
    while power + 2 <= freedom {
        term *= cos * cos * (power - 1) as f64 / power as f64;
        sum += term;
        power += 2;
    }
    if is_odd { std::f64::consts::FRAC_2_PI * (angle + sin * sum) } else { sin * sum }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::{CpuTime, NotComparedReason};

    fn row(ratio: f64) -> TimeComparison {
        let time = |cpu_ms| CpuTime { cpu_ms, calibration_ms: 0.5, repeats: 5 };
        TimeComparison::Cpu { captured: time(2.0), current: time(2.0 * ratio) }
    }

    #[test]
    fn student_as_in_tables() {
        for (probability, freedom, expected) in [
            (0.95, 1, 12.706),
            (0.95, 2, 4.303),
            (0.95, 3, 3.182),
            (0.95, 4, 2.776),
            (0.95, 5, 2.571),
            (0.99, 10, 3.169),
            (0.90, 23, 1.714),
            (0.95, 100_000, 1.962),
        ] {
            let found = student(probability, freedom);
            assert!((found - expected).abs() < 0.001, "{probability} {freedom}: {found}");
        }
    }

    #[test]
    fn a_slower_machine_is_not_a_slower_retriever() {
        let captured = CpuTime { cpu_ms: 2.0, calibration_ms: 0.1, repeats: 5 };
        let current = CpuTime { cpu_ms: 6.0, calibration_ms: 0.3, repeats: 5 };
        let found = compare_times([&TimeComparison::Cpu { captured, current }], 0.95).unwrap();
        assert!((found.ratio - 1.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn few_rows_have_wide_intervals_and_no_row_has_none() {
        let at = |ratios: &[f64]| {
            let rows: Vec<TimeComparison> = ratios.iter().copied().map(row).collect();
            compare_times(&rows, 0.95).unwrap()
        };
        let one = at(&[1.0]);
        let many = at(&[1.0; 20]);
        let (one, many) = (one.interval.unwrap(), many.interval.unwrap());
        assert!(one.low < 0.7 && one.high > 1.45 && one.high < 2.0, "{one:?}");
        assert!(many.low > 0.8 && many.high < 1.25, "{many:?}");
        assert!(at(&[3.0, 3.0]).interval.unwrap().low > 2.0, "two rows show a threefold slowdown");
        let noisy = at(&[0.2, 5.0, 0.3, 4.0]).interval.unwrap();
        assert!(noisy.low < 0.5 && noisy.high > 2.0, "{noisy:?}");
        assert_eq!(
            compare_times([&TimeComparison::NotCompared(NotComparedReason::NoCpuTime)], 0.95),
            None
        );
    }

    #[test]
    fn rows_that_are_not_compared_do_not_count() {
        let rows =
            [row(1.0), TimeComparison::NotCompared(NotComparedReason::OtherTarget), row(1.0)];
        assert_eq!(compare_times(&rows, 0.95).unwrap().n, 2);
    }

    #[test]
    fn nan_is_beyond_every_threshold() {
        let found = compare_times(&[row(1.0), row(f64::NAN)], 0.95).unwrap();
        assert_eq!((found.ratio, found.interval), (f64::MAX, None));
        let nothing = compare_times(&[row(0.0)], 0.95).unwrap();
        assert!(nothing.ratio >= 0.0 && nothing.ratio.is_finite());
    }
}
