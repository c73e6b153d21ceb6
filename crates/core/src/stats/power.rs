//! The power of a number of queries: the smallest drop that a rule notices with a probability of
//! [`POWER`].
//!
//! A drop says nothing about how it comes about, and the power depends on that. The model here,
//! which every report names: each query loses its whole value with one probability, independently
//! of the others; the drop is that probability times the mean. Losing everything spreads values
//! furthest, so a drop of the same size by small losses everywhere is seen at least as often by a
//! bar for the mean.
//!
//! The queries themselves are taken as they are: the same ones are asked again. The power is
//! computed for the rule that decides, by drawing orders in which queries are lost: the number of
//! losses after which the rule fires is counted, and the number of losses is binomial. `None` means
//! that there is no such drop: not even a loss of everything is noticed often enough, or there is
//! nothing to lose. `cargo xtask campaign statistics` compares the result with simulated power.

use super::beta::binomial_at_least;
use super::bounded_mean::is_surely_below;
use super::normal::quantile;
use super::permutation::{CoinTosses, exact_p, fewest_changes};
use super::rng::Rng;

/// The probability with which the smallest drop is noticed.
pub const POWER: f64 = 0.8;

const SEED: u64 = 42;
/// Most orders of losses that are drawn: the power is then known to about .005. Of many values fewer are
/// drawn, because the share of losses after which a rule fires hardly varies there.
const DRAWS: usize = 4_000;
/// Differences of which all signs are counted while powers are computed; more are approximated.
const COUNTED: usize = 14;

/// The smallest drop of the mean of `values`, all between 0 and 1, with which the mean is below `floor`.
pub fn smallest_drop_below(values: &[f64], floor: f64) -> Option<f64> {
    let lost = LossModel::of(values)?;
    let all: f64 = values.iter().sum();
    let fires_after = |order: &[f64]| {
        let mut left = all;
        let is_below = |left: f64| left / (values.len() as f64) < floor;
        if is_below(left) {
            return Some(0);
        }
        order
            .iter()
            .position(|value| {
                left -= value;
                // A remainder from rounding counts as zero.
                is_below(left.max(0.0))
            })
            .map(|at| at + 1)
    };
    let draws = (20_000_000 / values.len()).clamp(400, DRAWS);
    lost.smallest_drop(draws, fires_after)
}

/// The smallest drop of the mean of `values`, all between 0 and 1, with which the whole interval of the
/// mean at a confidence is below `floor`.
pub fn smallest_drop_surely_below(values: &[f64], floor: f64, confidence: f64) -> Option<f64> {
    let lost = LossModel::of(values)?;
    let zeros = values.len() - lost.values.len();
    let fires_after = |order: &[f64]| {
        first(order.len(), |lost| {
            let left = order[lost..].iter().copied();
            let left: Vec<f64> = left.chain(std::iter::repeat_n(0.0, zeros + lost)).collect();
            is_surely_below(&left, floor, confidence)
        })
    };
    let draws = (400_000 / values.len()).clamp(20, DRAWS);
    lost.smallest_drop(draws, fires_after)
}

/// The smallest drop of the mean from `before` to `after` that the two-sided paired permutation test
/// finds at `alpha`. Queries that are not lost, and those that have nothing to lose, move as they do here, up
/// or down by chance.
pub fn smallest_paired_drop(before: &[f64], after: &[f64], alpha: f64) -> Option<f64> {
    smallest_paired_drop_until(before, after, alpha, &|| false)
}

/// The same; none too when it is stopped between two draws.
pub(crate) fn smallest_paired_drop_until(
    before: &[f64],
    after: &[f64],
    alpha: f64,
    is_stopped: &dyn Fn() -> bool,
) -> Option<f64> {
    if before.len() != after.len() || !(alpha > 0.0 && alpha < 1.0) {
        return None;
    }
    let lost = LossModel::of(before)?;
    let noise: Vec<f64> = before.iter().zip(after).map(|(b, a)| (a - b).abs()).collect();
    if !noise.iter().all(|size| size.is_finite()) {
        return None;
    }
    if noise.iter().all(|size| *size == 0.0) {
        let needed = fewest_changes(alpha);
        return lost.drop_of(&Losses::certain(lost.values.len(), needed));
    }
    let mut coins = CoinTosses::new(SEED);
    let mut rng = Rng::new(SEED);
    let mut order: Vec<usize> = (0..before.len()).filter(|at| before[*at] > 0.0).collect();
    let mut losses = Losses::none(order.len());
    let test = SignTest::new(alpha);
    for _ in 0..(400_000 / before.len()).clamp(50, DRAWS / 2) {
        if is_stopped() {
            return None;
        }
        rng.shuffle(&mut order);
        let mut moves: Vec<f64> =
            noise.iter().map(|size| if coins.toss() { *size } else { -*size }).collect();
        // Moves and their mirror image: what luck gives the one, it takes from the other.
        losses.add(test.losses_until_found(&moves, before, &order));
        moves.iter_mut().for_each(|by| *by = -*by);
        losses.add(test.losses_until_found(&moves, before, &order));
    }
    lost.drop_of(&losses)
}

/// The sums of differences after each number of losses.
fn sums_by_losses(moves: &[f64], before: &[f64], order: &[usize]) -> Vec<Sums> {
    let mut sums = Sums::default();
    moves.iter().for_each(|by| sums.add(*by, 1.0));
    let mut all = vec![sums];
    for at in order {
        sums.add(moves[*at], -1.0);
        sums.add(-before[*at], 1.0);
        all.push(sums);
    }
    all
}

/// The first of 0 to `most` for which `holds`, which stays true once it is.
fn first(most: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    if !holds(most) {
        return None;
    }
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = usize::midpoint(low, high);
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    Some(high)
}

/// The model of losses.
struct LossModel {
    values: Vec<f64>,
    mean: f64,
}

impl LossModel {
    fn of(all: &[f64]) -> Option<Self> {
        if all.is_empty() || !all.iter().all(|value| (0.0..=1.0 + 1e-9).contains(value)) {
            return None;
        }
        let values: Vec<f64> = all.iter().copied().filter(|value| *value > 0.0).collect();
        let mean = values.iter().sum::<f64>() / all.len() as f64;
        Some(Self { values, mean })
    }

    fn smallest_drop(
        &self,
        draws: usize,
        fires_after: impl Fn(&[f64]) -> Option<usize>,
    ) -> Option<f64> {
        let mut order = self.values.clone();
        let is_same = order.windows(2).all(|pair| pair[0] == pair[1]);
        let mut losses = Losses::none(order.len());
        let mut rng = Rng::new(SEED);
        for _ in 0..if is_same { 1 } else { draws } {
            rng.shuffle(&mut order);
            losses.add(fires_after(&order));
        }
        self.drop_of(&losses)
    }

    fn drop_of(&self, losses: &Losses) -> Option<f64> {
        Some(losses.smallest_share()? * self.mean)
    }
}

/// After how many losses a rule fires, by how many draws of an order.
struct Losses {
    /// `by_number[j]`: draws in which it fires after j losses and not after fewer.
    by_number: Vec<u32>,
    draws: u32,
}

impl Losses {
    fn none(rows: usize) -> Self {
        Self { by_number: vec![0; rows + 1], draws: 0 }
    }

    /// The rule counts losses and nothing else.
    fn certain(rows: usize, needed: usize) -> Self {
        let mut losses = Self::none(rows);
        losses.add(Some(needed).filter(|needed| *needed <= rows));
        losses
    }

    fn add(&mut self, fires_after: Option<usize>) {
        self.draws += 1;
        if let Some(number) = fires_after {
            self.by_number[number] += 1;
        }
    }

    /// The probability that the rule fires when each row is lost with probability `share`.
    fn power(&self, share: f64) -> f64 {
        let rows = (self.by_number.len() - 1) as u64;
        let counted = self.by_number.iter().zip(0..).filter(|(draws, _)| **draws > 0);
        let fires = counted
            .map(|(draws, number)| f64::from(*draws) * binomial_at_least(number, rows, share));
        fires.sum::<f64>() / f64::from(self.draws.max(1))
    }

    /// The smallest share of lost rows with enough power; none when the rule fires anyway, or never
    /// often enough.
    fn smallest_share(&self) -> Option<f64> {
        if self.power(0.0) >= POWER || self.power(1.0) < POWER {
            return None;
        }
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if self.power(middle) < POWER { low = middle } else { high = middle }
        }
        Some(high)
    }
}

/// The two-sided paired permutation test at a level, made quickly where the answer is clear.
struct SignTest {
    alpha: f64,
    /// The normal deviate of the level.
    z: f64,
}

/// So many deviates from the critical value, the approximation decides.
const CLEAR: f64 = 0.25;

impl SignTest {
    fn new(alpha: f64) -> Self {
        Self { alpha, z: quantile(1.0 - alpha / 2.0) }
    }

    /// Number of queries that must be lost, in this order, for the test to find a drop.
    fn losses_until_found(&self, moves: &[f64], before: &[f64], order: &[usize]) -> Option<usize> {
        let sums = sums_by_losses(moves, before, order);
        first(order.len(), |lost| {
            self.is_clear(&sums[lost]).unwrap_or_else(|| {
                let mut moves = moves.to_vec();
                for at in &order[..lost] {
                    moves[*at] = -before[*at];
                }
                self.finds_drop(&moves)
            })
        })
    }

    /// Whether it finds a drop, where its approximation is good and far from the critical value.
    fn is_clear(&self, sums: &Sums) -> Option<bool> {
        if sums.all >= 0.0 {
            return Some(false);
        }
        // The sum of random signs is normal but for its kurtosis (Cornish and Fisher 1938).
        let kurtosis = -2.0 * sums.fourths / (sums.squares * sums.squares);
        let critical = self.z + kurtosis / 24.0 * (self.z.powi(3) - 3.0 * self.z);
        let away = -sums.all / sums.squares.sqrt() - critical;
        // Sums of differences of one size lie on a grid; the approximation is off by up to half its step.
        let half_step = (-kurtosis / 2.0).sqrt();
        (-2.0 / kurtosis >= 12.0 && away.abs() > CLEAR + half_step).then_some(away > 0.0)
    }

    fn finds_drop(&self, differences: &[f64]) -> bool {
        let moved: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
        if moved.iter().sum::<f64>() >= 0.0 {
            return false;
        }
        match exact_p(&moved, COUNTED, 500) {
            Some(p) => p <= self.alpha,
            None => root_of_sign_tail(&moved) >= self.z,
        }
    }
}

/// r*, the normal deviate whose tail is the probability that random signs give a sum at least as far
/// out (Barndorff-Nielsen, Biometrika 73, 1986; the cumulant of a random sign times d is ln cosh).
fn root_of_sign_tail(moved: &[f64]) -> f64 {
    let observed = moved.iter().sum::<f64>().abs();
    let furthest: f64 = moved.iter().map(|d| d.abs()).sum();
    if observed >= furthest * (1.0 - 1e-9) {
        return f64::INFINITY;
    }
    // The derivative is concave: Newton's steps from below stay below.
    let squares: f64 = moved.iter().map(|d| d * d).sum();
    let mut tilt = observed / squares;
    let mut spread = squares;
    for _ in 0..50 {
        let (mut first, mut second) = (0.0, 0.0);
        for d in moved {
            let tanh = (tilt * d).tanh();
            first += d * tanh;
            second += d * d * (1.0 - tanh * tanh);
        }
        spread = second;
        if observed - first < 1e-9 * observed {
            break;
        }
        tilt += (observed - first) / second;
    }
    let log_cosh = |x: f64| x.abs() + (-2.0 * x.abs()).exp().ln_1p() - std::f64::consts::LN_2;
    let cumulant: f64 = moved.iter().map(|d| log_cosh(tilt * d)).sum();
    let w = (2.0 * (tilt * observed - cumulant)).max(0.0).sqrt();
    let u = tilt * spread.sqrt();
    if w < 1e-5 { w } else { w + (u / w).ln() / w }
}

/// Sums of differences, of their squares and of their fourth powers.
#[derive(Clone, Copy, Default)]
struct Sums {
    all: f64,
    squares: f64,
    fourths: f64,
}

impl Sums {
    fn add(&mut self, difference: f64, sign: f64) {
        let square = difference * difference;
        self.all += sign * difference;
        self.squares += sign * square;
        self.fourths += sign * square * square;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::permutation::paired_permutation;

    /// Of ten rows at 1, a floor of 1 breaks with the first loss: 1 - (1 - q)^10 = .8.
    #[test]
    fn the_first_loss_by_hand() {
        let found = smallest_drop_below(&[1.0; 10], 1.0).unwrap();
        assert!((found - (1.0 - 0.2f64.powf(0.1))).abs() < 1e-9, "{found}");
        // The same rows with as many that are worth nothing: half the mean.
        let mixed: Vec<f64> = (0..20).map(|at| f64::from(at % 2)).collect();
        let half = smallest_drop_below(&mixed, 0.5).unwrap();
        assert!((half - found / 2.0).abs() < 1e-9, "{half}");
    }

    #[test]
    fn the_number_of_losses_decides() {
        // A floor of .85 holds with 17 of 20 and breaks with 16: four losses.
        let q = smallest_drop_below(&[1.0; 20], 0.85).unwrap();
        assert!((binomial_at_least(4, 20, q) - POWER).abs() < 1e-9, "{q}");
        // At 95 % the exact interval of 13 of 20 ends at .846: seven losses.
        let sure = smallest_drop_surely_below(&[1.0; 20], 0.85, 0.95).unwrap();
        assert!((binomial_at_least(7, 20, sure) - POWER).abs() < 1e-9, "{sure}");
        // Six queries that fall have p = 2 / 64.
        let paired = smallest_paired_drop(&[1.0; 50], &[1.0; 50], 0.05).unwrap();
        assert!((binomial_at_least(6, 50, paired) - POWER).abs() < 1e-9, "{paired}");
        let corrected = smallest_paired_drop(&[1.0; 50], &[1.0; 50], 0.05 / 8.0).unwrap();
        assert!((binomial_at_least(9, 50, corrected) - POWER).abs() < 1e-9, "{corrected}");
    }

    #[test]
    fn undetectable_drops_have_no_value() {
        // Five queries never reach p = .05, and a floor of 0 never breaks.
        assert_eq!(smallest_paired_drop(&[1.0; 5], &[1.0; 5], 0.05), None);
        assert_eq!(smallest_drop_below(&[1.0; 5], 0.0), None);
        assert_eq!(smallest_drop_surely_below(&[1.0; 3], 0.2, 0.95), None);
        // Nothing to lose, no values, already below, out of bounds.
        assert_eq!(smallest_paired_drop(&[0.0; 50], &[0.0; 50], 0.05), None);
        assert_eq!(smallest_drop_below(&[], 0.5), None);
        assert_eq!(smallest_drop_below(&[0.5, 0.4], 0.6), None);
        assert_eq!(smallest_paired_drop(&[-0.5; 50], &[0.0; 50], 0.05), None);
        assert_eq!(smallest_paired_drop(&[0.5; 50], &[0.5; 49], 0.05), None);
        assert_eq!(smallest_paired_drop(&[f64::NAN; 9], &[0.5; 9], 0.05), None);
    }

    #[test]
    fn values_that_are_all_equal_still_need_a_drop() {
        assert!(smallest_paired_drop(&[0.25; 30], &[0.25; 30], 0.05).unwrap() > 0.05);
        assert!(smallest_drop_below(&[0.9; 30], 0.8).unwrap() > 0.05);
    }

    /// On a grid the short cut never contradicts the exact test.
    #[test]
    fn the_short_cut_leaves_a_grid_to_the_test() {
        for alpha in [0.05, 0.05 / 8.0, 0.01] {
            let test = SignTest::new(alpha);
            for (moved, lower) in (12..=200).flat_map(|n| (0..=n).map(move |lower| (n, lower))) {
                let moves: Vec<f64> =
                    (0..moved).map(|at| if at < lower { -1.0 } else { 1.0 }).collect();
                let Some(found) = test.is_clear(&sums_by_losses(&moves, &[], &[])[0]) else {
                    continue;
                };
                assert_eq!(
                    found,
                    test.finds_drop(&moves),
                    "{lower} of {moved} fall, level {alpha}"
                );
            }
        }
    }

    /// The short cut decides as the test does.
    #[test]
    fn the_short_cut_agrees_with_the_test() {
        let mut rng = Rng::new(3);
        let mut wrong = 0;
        for _ in 0..300 {
            let moves: Vec<f64> = (0..60)
                .map(|at| if at < 8 { -1.0 } else { (rng.below(41) as f64 - 20.0) / 20.0 })
                .collect();
            let p = paired_permutation(&moves, 5_000, 1);
            let is_found = p <= 0.05 && moves.iter().sum::<f64>() < 0.0;
            let test = SignTest::new(0.05);
            let sums = sums_by_losses(&moves, &[], &[])[0];
            let found = test.is_clear(&sums).unwrap_or_else(|| test.finds_drop(&moves));
            wrong += u32::from(found != is_found);
        }
        assert!(wrong <= 9, "{wrong} of 300");
    }

    /// Losses of 1 and moves of .6 give sums that lie apart: an approximation between them is off.
    #[test]
    fn the_power_of_two_sizes_is_the_tests_own() {
        let value = |at: usize| f64::from(u8::from(at < 13));
        let noise = |at: usize| if (10..45).contains(&at) { 0.6 } else { 0.0 };
        let before: Vec<f64> = (0..200).map(value).collect();
        let after: Vec<f64> = (0..200).map(|at| value(at) + noise(at)).collect();
        let drop = smallest_paired_drop(&before, &after, 0.05).unwrap();
        let share = drop / (13.0 / 200.0);
        let (mut rng, mut coins) = (Rng::new(7), CoinTosses::new(7));
        let mut is_lost = || ((rng.next() >> 11) as f64) < share * (1u64 << 53) as f64;
        let trials = 4_000;
        let found = (0..trials).filter(|_| {
            let moves = (0..200).map(|at| match is_lost() && value(at) > 0.0 {
                true => -value(at),
                false if coins.toss() => noise(at),
                false => -noise(at),
            });
            let moved: Vec<f64> = moves.filter(|by| *by != 0.0).collect();
            moved.iter().sum::<f64>() < 0.0
                && exact_p(&moved, COUNTED, 20_000).is_some_and(|p| p <= 0.05)
        });
        let power = found.count() as f64 / f64::from(trials);
        assert!((power - POWER).abs() < 0.02, "a drop of {drop} is found with {power}");
    }
}
