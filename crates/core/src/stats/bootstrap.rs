//! Percentile bootstrap intervals (Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
//! ch. 13): the distribution of a mean over other queries of the same kind.
//!
//! For values without bounds, such as times. They cover too seldom below some 30 values and have no width
//! when all values are equal: values with bounds have [`super::bounded_mean()`].

use super::Interval;
use super::rng::Rng;

/// Options of the bootstrap. The same seed gives the same interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BootstrapOptions {
    /// Number of samples to draw.
    pub rounds: u32,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The share of sample means inside of the interval, such as 0.95.
    pub confidence: f64,
}

impl Default for BootstrapOptions {
    fn default() -> Self {
        Self { rounds: 10_000, seed: 42, confidence: 0.95 }
    }
}

/// A difference of means with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanDifference {
    /// The mean of the differences.
    pub mean: f64,
    /// Confidence interval of the mean difference.
    pub interval: Interval,
}

/// The interval of the mean; none below two values or with one that is not finite.
pub fn bootstrap_mean(values: &[f64], how: &BootstrapOptions) -> Option<Interval> {
    let n = u64::try_from(values.len()).ok().filter(|n| (2..=u64::from(u32::MAX)).contains(n))?;
    if how.rounds == 0 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut rng = Rng::new(how.seed);
    let mut means: Vec<f64> =
        (0..how.rounds).map(|_| sample_sum(values, n, &mut rng) / n as f64).collect();
    means.sort_unstable_by(f64::total_cmp);
    let outside = (1.0 - how.confidence.clamp(0.0, 1.0)) / 2.0;
    Some(Interval { low: at(&means, outside), high: at(&means, 1.0 - outside) })
}

/// The mean of `after - before`, query by query, with its interval; none when the two are not about
/// the same number of queries.
pub fn paired_bootstrap(
    before: &[f64],
    after: &[f64],
    how: &BootstrapOptions,
) -> Option<MeanDifference> {
    if before.len() != after.len() {
        return None;
    }
    let differences: Vec<f64> = before.iter().zip(after).map(|(b, a)| a - b).collect();
    let interval = bootstrap_mean(&differences, how)?;
    Some(MeanDifference {
        mean: differences.iter().sum::<f64>() / differences.len() as f64,
        interval,
    })
}

/// The sum of as many values as there are, drawn with replacement. Four sums run side by side: one
/// would wait for each addition.
fn sample_sum(values: &[f64], n: u64, rng: &mut Rng) -> f64 {
    let mut sums = [0.0; 4];
    for _ in 0..values.len() / 4 {
        let ([a, b], [c, d]) = (rng.two_below(n), rng.two_below(n));
        sums[0] += values[a];
        sums[1] += values[b];
        sums[2] += values[c];
        sums[3] += values[d];
    }
    for _ in 0..values.len() % 4 {
        sums[0] += values[rng.two_below(n)[0]];
    }
    sums.iter().sum()
}

/// The value at a share of the way through sorted ones, between neighbours if it falls there
/// (Hyndman and Fan 1996, type 7).
fn at(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, part) = (place.floor() as usize, place.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + (sorted[high] - sorted[low]) * part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_all_the_same_leave_no_doubt() {
        let found = bootstrap_mean(&[0.25; 30], &BootstrapOptions::default()).unwrap();
        assert_eq!((found.low, found.high), (0.25, 0.25));
    }

    /// Of two values, a sample mean is the lower with 1/4, between with 1/2, the higher with 1/4.
    #[test]
    fn two_values_by_hand() {
        let narrow = BootstrapOptions { confidence: 0.4, ..BootstrapOptions::default() };
        let found = bootstrap_mean(&[0.0, 1.0], &narrow).unwrap();
        assert_eq!((found.low, found.high), (0.5, 0.5));
        let wide = BootstrapOptions { confidence: 0.6, ..BootstrapOptions::default() };
        let found = bootstrap_mean(&[0.0, 1.0], &wide).unwrap();
        assert_eq!((found.low, found.high), (0.0, 1.0));
    }

    /// For a rate of many trials the interval is near the normal one: p ± 1.96 sqrt(pq / n).
    #[test]
    fn near_the_normal_interval() {
        let values: Vec<f64> = (0..1000).map(|at| f64::from(at % 10 < 3)).collect();
        let found = bootstrap_mean(&values, &BootstrapOptions::default()).unwrap();
        let margin = 1.959_964 * (0.3f64 * 0.7 / 1000.0).sqrt();
        assert!((found.low - (0.3 - margin)).abs() < 0.002, "{found:?}");
        assert!((found.high - (0.3 + margin)).abs() < 0.002, "{found:?}");
    }

    #[test]
    fn paired_differences_are_narrower_than_they_look() {
        let before: Vec<f64> = (0..100).map(|at| f64::from(at % 10) / 10.0).collect();
        let after: Vec<f64> = before.iter().map(|value| value + 0.1).collect();
        let found = paired_bootstrap(&before, &after, &BootstrapOptions::default()).unwrap();
        assert!((found.mean - 0.1).abs() < 1e-12);
        assert!((found.interval.high - found.interval.low).abs() < 1e-12);
        assert_eq!(paired_bootstrap(&before, &after[1..], &BootstrapOptions::default()), None);
    }

    #[test]
    fn edges() {
        let how = BootstrapOptions::default();
        assert_eq!(bootstrap_mean(&[], &how), None);
        assert_eq!(bootstrap_mean(&[f64::NAN, 1.0], &how), None);
        assert_eq!(bootstrap_mean(&[1.0], &how), None);
        assert_eq!(bootstrap_mean(&[1.0, 0.5], &BootstrapOptions { rounds: 0, ..how }), None);
        let values = [0.1, 0.9, 0.4, 0.4, 0.7];
        assert_eq!(bootstrap_mean(&values, &how), bootstrap_mean(&values, &how));
        let other = bootstrap_mean(&values, &BootstrapOptions { seed: 1, ..how });
        assert!(other.is_some());
    }
}
