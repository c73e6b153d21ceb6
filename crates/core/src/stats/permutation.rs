//! The paired randomisation test (Fisher 1935; for retrieval, Smucker, Allan and Carterette,
//! CIKM 2007): if two systems are equal, the sign of each query's difference is a coin toss.

use super::rng::Rng;

/// The two-sided p-value of the mean of paired differences: the share of sign assignments whose
/// mean is at least as far from zero, the observed one among them. `rounds` assignments are drawn,
/// the same ones for the same seed. Without a difference, 1.
pub fn paired_permutation(differences: &[f64], rounds: u32, seed: u64) -> f64 {
    let moved: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    if moved.is_empty() || moved.iter().any(|d| !d.is_finite()) {
        return 1.0;
    }
    let observed = moved.iter().sum::<f64>().abs();
    // Sums of the same numbers in another order differ by rounding: equal means nearly equal.
    let bar = observed * (1.0 - 1e-12);
    let mut coins = Coins::new(seed);
    let far = (0..rounds).filter(|_| {
        let sum: f64 = moved.iter().map(|d| if coins.toss() { *d } else { -*d }).sum();
        sum.abs() >= bar
    });
    (far.count() as f64 + 1.0) / (f64::from(rounds) + 1.0)
}

/// Coin tosses, 64 from each random number.
struct Coins {
    rng: Rng,
    bits: u64,
    left: u32,
}

impl Coins {
    fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), bits: 0, left: 0 }
    }

    fn toss(&mut self) -> bool {
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
    fn exact(differences: &[f64]) -> f64 {
        let observed = differences.iter().sum::<f64>().abs() * (1.0 - 1e-12);
        let all = 1u32 << differences.len();
        let far = (0..all).filter(|signs| {
            let signed = |(at, d): (usize, &f64)| if signs >> at & 1 == 1 { *d } else { -*d };
            differences.iter().enumerate().map(signed).sum::<f64>().abs() >= observed
        });
        far.count() as f64 / f64::from(all)
    }

    #[test]
    fn agrees_with_counting_all_assignments() {
        for differences in [
            &[0.1, 0.2, 0.3, -0.1, 0.4, 0.05, 0.2, -0.3][..],
            &[1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
            &[0.5, -0.5, 0.25, -0.25, 0.1],
        ] {
            let (found, expected) =
                (paired_permutation(differences, 100_000, 7), exact(differences));
            assert!((found - expected).abs() < 0.006, "{found} {expected}");
        }
    }

    #[test]
    fn edges() {
        assert_eq!(paired_permutation(&[], 100, 1), 1.0);
        assert_eq!(paired_permutation(&[0.0, 0.0], 100, 1), 1.0);
        assert_eq!(paired_permutation(&[f64::NAN, 1.0], 100, 1), 1.0);
        let same = |seed| paired_permutation(&[0.3, -0.1, 0.2, 0.4], 1000, seed);
        assert_eq!(same(1), same(1));
    }
}
