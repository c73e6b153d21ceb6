//! The paired randomisation test (Fisher 1935; for retrieval, Smucker, Allan and Carterette,
//! CIKM 2007): if two systems are equal, the sign of each query's difference is a coin toss.
//!
//! The p-value is exact where that is possible: differences of one size are a sign test (for yes
//! and no that is McNemar's), those of a few sizes are a sum of a few binomial variables, and up to
//! [`EXACT`] differences all assignments of signs are counted. Only past that are assignments drawn.

use super::mcnemar::mcnemar;
use super::rng::Rng;

/// Up to so many differences other than 0, all 2^n assignments of signs are counted: the sums of
/// each half are listed, and pairs of sums counted in order (Pagano and Tritchler, JASA 78, 1983, count
/// on a grid; this needs none).
pub const EXACT: usize = 24;

/// The two-sided p-value of the mean of paired differences: the share of sign assignments whose
/// mean is at least as far from zero, the observed one among them. Where that can't be counted, `rounds`
/// assignments are drawn, the same ones for the same seed. Without a difference, 1.
pub fn paired_permutation(differences: &[f64], rounds: u32, seed: u64) -> f64 {
    paired_permutation_until(differences, rounds, seed, &|| false).unwrap_or(1.0)
}

/// The same, unless it is stopped between two rounds.
pub(crate) fn paired_permutation_until(
    differences: &[f64],
    rounds: u32,
    seed: u64,
    is_stopped: &dyn Fn() -> bool,
) -> Option<f64> {
    let moved: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    exact_p(&moved, EXACT, 20_000).or_else(|| drawn(&moved, rounds, seed, is_stopped))
}

/// The exact p-value of differences none of which is 0; none when there are more than `most` of them, of
/// sizes that leave more than `cases` sums.
pub(super) fn exact_p(moved: &[f64], most: usize, cases: usize) -> Option<f64> {
    if moved.is_empty() || moved.iter().any(|d| !d.is_finite()) {
        return Some(1.0);
    }
    if moved.len() <= most { Some(counted(moved)) } else { by_size(moved, cases) }
}

/// The fewest differences other than 0 with which the two-sided test can reach a p-value of `alpha`:
/// of n that all have one sign, it is 2 / 2^n.
pub(crate) fn fewest_changes(alpha: f64) -> usize {
    if alpha > 0.0 { (2.0 / alpha.min(1.0)).log2().ceil() as usize } else { usize::MAX }
}

/// Sums of the same numbers in another order differ by rounding: this close is equal.
fn bar(moved: &[f64]) -> f64 {
    let all: f64 = moved.iter().map(|d| d.abs()).sum();
    moved.iter().sum::<f64>().abs() - 1e-9 * all
}

/// The p-value by how many differences of each size are positive; none when that is too many cases.
fn by_size(moved: &[f64], most: usize) -> Option<f64> {
    let mut sizes: Vec<f64> = moved.iter().map(|d| d.abs()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let mut groups: Vec<(f64, usize)> = Vec::new();
    for size in sizes {
        match groups.last_mut() {
            Some((same, count)) if size - *same <= 1e-9 * size => *count += 1,
            _ => groups.push((size, 1)),
        }
    }
    match groups.as_slice() {
        [_] => {
            let lower = moved.iter().filter(|d| **d < 0.0).count();
            Some(mcnemar(lower as u64, (moved.len() - lower) as u64))
        }
        [first, second] => Some(of_two_sizes(*first, *second, bar(moved))),
        groups => of_sizes(groups, bar(moved), most),
    }
}

/// The p-value of differences of two sizes: for each sum of the first, the tails of the second.
fn of_two_sizes(first: (f64, usize), second: (f64, usize), bar: f64) -> f64 {
    let sums = |(size, count): (f64, usize)| -> Vec<(f64, f64)> {
        signs(count).into_iter().map(|(sign, share)| (sign * size, share)).collect()
    };
    let second = sums(second);
    let mut below = vec![0.0];
    below.extend(second.iter().scan(0.0, |sum, (_, share)| {
        *sum += share;
        Some(*sum)
    }));
    let all = below[second.len()];
    let far = sums(first).into_iter().map(|(sum, share)| {
        let low = second.partition_point(|(other, _)| sum + other <= -bar);
        let high = second.partition_point(|(other, _)| sum + other < bar).max(low);
        share * (below[low] + all - below[high])
    });
    far.sum::<f64>().min(1.0)
}

/// The same of any sizes; none when they have more than `most` sums.
fn of_sizes(groups: &[(f64, usize)], bar: f64, most: usize) -> Option<f64> {
    let mut cases = 1usize;
    for (_, count) in groups {
        cases = cases.checked_mul(count + 1).filter(|cases| *cases <= most)?;
    }
    let mut sums = vec![(0.0, 1.0)];
    for (size, count) in groups {
        let signs = signs(*count);
        let mut with = Vec::with_capacity(sums.len() * signs.len());
        for (sum, p) in &sums {
            with.extend(signs.iter().map(|(sign, share)| (sum + sign * size, p * share)));
        }
        sums = with;
    }
    let far = sums.iter().filter(|(sum, _)| sum.abs() >= bar).map(|(_, p)| p);
    Some(far.sum::<f64>().min(1.0))
}

/// The sums of so many signs, each with its probability.
fn signs(count: usize) -> Vec<(f64, f64)> {
    let n = count as f64;
    let mut log = -n * std::f64::consts::LN_2;
    let each = (0..=count).map(|heads| {
        let heads = heads as f64;
        if heads > 0.0 {
            log += ((n - heads + 1.0) / heads).ln();
        }
        (2.0 * heads - n, log.exp())
    });
    each.collect()
}

/// All assignments. Each has a mirror image as far on the other side, so one side counts twice.
fn counted(moved: &[f64]) -> f64 {
    let bar = bar(moved);
    if bar <= 0.0 {
        return 1.0;
    }
    if moved.iter().all(|d| *d < 0.0) || moved.iter().all(|d| *d > 0.0) {
        return 2.0 * 0.5f64.powf(moved.len() as f64);
    }
    let (left, right) = moved.split_at(moved.len() / 2);
    let (left, right) = (sums(left), sums(right));
    // As the left sum rises, more of the right sums reach the bar with it.
    let (mut far, mut reached) = (0, 0);
    for sum in &left {
        while reached < right.len() && sum + right[right.len() - 1 - reached] >= bar {
            reached += 1;
        }
        far += reached;
    }
    (2.0 * far as f64 / (left.len() * right.len()) as f64).min(1.0)
}

/// The sums of all assignments of signs, in order.
fn sums(values: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for value in values {
        sums = sums.iter().flat_map(|sum| [sum + value, sum - value]).collect();
    }
    sums.sort_unstable_by(f64::total_cmp);
    sums
}

/// Rounds of so many differences together are drawn between two questions whether to stop.
const TOSSES_AT_ONCE: usize = 1 << 20;

fn drawn(moved: &[f64], rounds: u32, seed: u64, is_stopped: &dyn Fn() -> bool) -> Option<f64> {
    let bar = bar(moved);
    let mut coins = CoinTosses::new(seed);
    let mut is_far = || {
        let sum: f64 = moved.iter().map(|d| if coins.toss() { *d } else { -*d }).sum();
        sum.abs() >= bar
    };
    let at_once = (TOSSES_AT_ONCE / moved.len().max(1)).max(1) as u32;
    let mut far = 0;
    for round in 0..rounds {
        if round % at_once == 0 && is_stopped() {
            return None;
        }
        far += u32::from(is_far());
    }
    Some((f64::from(far) + 1.0) / (f64::from(rounds) + 1.0))
}

/// Coin tosses, 64 from each random number.
pub(super) struct CoinTosses {
    rng: Rng,
    bits: u64,
    left: u32,
}

impl CoinTosses {
    pub(super) fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), bits: 0, left: 0 }
    }

    pub(super) fn toss(&mut self) -> bool {
        if self.left == 0 {
            (self.bits, self.left) = (self.rng.next(), 64);
        }
        let heads = self.bits & 1 == 1;
        self.bits >>= 1;
        self.left -= 1;
        heads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All assignments, one by one.
    fn one_by_one(differences: &[f64]) -> f64 {
        let observed = differences.iter().sum::<f64>().abs() - 1e-9;
        let all = 1u32 << differences.len();
        let far = (0..all).filter(|signs| {
            let signed = |(at, d): (usize, &f64)| if signs >> at & 1 == 1 { *d } else { -*d };
            differences.iter().enumerate().map(signed).sum::<f64>().abs() >= observed
        });
        far.count() as f64 / f64::from(all)
    }

    #[test]
    fn two_sizes_are_counted_by_their_tails() {
        for (first, second) in
            [((1.0, 7), (0.6, 9)), ((0.25, 1), (1.0, 12)), ((0.5, 10), (0.75, 3))]
        {
            for negatives in 0..first.1 + second.1 {
                let sizes = std::iter::repeat_n(first.0, first.1);
                let sizes = sizes.chain(std::iter::repeat_n(second.0, second.1)).enumerate();
                let signed = |(at, size): (usize, f64)| if at < negatives { -size } else { size };
                let moved: Vec<f64> = sizes.map(signed).collect();
                let p = of_two_sizes(first, second, bar(&moved));
                assert!((p - one_by_one(&moved)).abs() < 1e-12, "{moved:?}: {p}");
            }
        }
    }

    #[test]
    fn agrees_with_all_assignments_one_by_one() {
        for differences in [
            &[0.1, 0.2, 0.3, -0.1, 0.4, 0.05, 0.2, -0.3][..],
            &[1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
            &[0.5, -0.5, 0.25, -0.25, 0.1],
            &[-0.7],
            &[0.3, 0.1, 0.2],
        ] {
            let (found, expected) =
                (paired_permutation(differences, 1, 7), one_by_one(differences));
            assert!((found - expected).abs() < 1e-12, "{differences:?}: {found} {expected}");
            let by_size = by_size(differences, 1000).unwrap();
            assert!((by_size - expected).abs() < 1e-12, "{differences:?}: {by_size}");
            let (drawn, exact) = (drawn(differences, 100_000, 7, &|| false).unwrap(), expected);
            assert!((drawn - exact).abs() < 0.006, "{differences:?}: {drawn} {exact}");
        }
    }

    #[test]
    fn sampling_stops_on_request() {
        let differences: Vec<f64> = (0..2000).map(|n| f64::from(n % 97) - 50.5).collect();
        let calls = std::cell::Cell::new(0);
        let stop_after = |most: u32| {
            calls.set(0);
            paired_permutation_until(&differences, 10_000, 7, &|| {
                calls.set(calls.get() + 1);
                calls.get() > most
            })
        };
        assert_eq!((stop_after(3), calls.get()), (None, 4));
        assert_eq!(stop_after(u32::MAX), Some(paired_permutation(&differences, 10_000, 7)));
        assert!(calls.get() >= 15, "{}", calls.get());
    }

    #[test]
    fn all_of_one_sign_is_two_of_all_assignments() {
        for n in [4, 6, 8, 20, 24] {
            let falls: Vec<f64> = (1..=n).map(|at| -f64::from(at) / 100.0).collect();
            let expected = 2.0 / 2f64.powi(n);
            let found = paired_permutation(&falls, 1, 1);
            assert!((found - expected).abs() < 1e-9, "{n}: {found}");
        }
        // A sign test of any length needs no draws.
        assert!((paired_permutation(&[-1.0; 40], 1, 1) - 2.0 / 2f64.powi(40)).abs() < 1e-15);
        assert_eq!([0.05, 0.05 / 8.0, 1.0, 2.0].map(fewest_changes), [6, 9, 1, 1]);
        assert_eq!(fewest_changes(0.0), usize::MAX);
    }

    #[test]
    fn edges() {
        assert_eq!(paired_permutation(&[], 100, 1), 1.0);
        assert_eq!(paired_permutation(&[0.0, 0.0], 100, 1), 1.0);
        assert_eq!(paired_permutation(&[f64::NAN, 1.0], 100, 1), 1.0);
        assert_eq!(paired_permutation(&[0.3, -0.1, -0.2], 100, 1), 1.0);
        let many: Vec<f64> = (0..40).map(|at| f64::from(at) / 40.0 - 0.31).collect();
        let same = |seed| paired_permutation(&many, 1000, seed);
        assert_eq!(same(1), same(1));
    }
}
