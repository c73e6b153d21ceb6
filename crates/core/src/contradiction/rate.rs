//! How often: rates with what they are worth, and the pair rate corrected for the judge's errors.
//!
//! A judge that calls one consistent pair in five a contradiction finds 20 % of contradictions in a
//! brain without any. Planted pairs tell its sensitivity `s` (contradictions it catches) and its false
//! alarms `f` (consistent pairs it accuses); with a raw rate `p` the true rate is (p - f) / (s - f)
//! (Rogan and Gladen, American Journal of Epidemiology 107, 1978).
//!
//! The interval is Fieller's: all rates r for which p - f - r (s - f) is within chance of nothing,
//! where chance is that of all three, p, s and f, each a share of its own sample. Their variances are
//! taken with one success and one failure added (Agresti and Coull, American Statistician 52, 1998), so
//! that a judge that made no mistake among the planted pairs is not taken to be perfect, as Lang and
//! Reiczigel (Preventive Veterinary Medicine 113, 2014) do for sensitivity and specificity.
//! Chosen by simulation: coverage stays between 93 and 97 % from 200 pairs and 60 + 60 planted ones on,
//! and may be above 97 % for judges that hardly err.
//!
//! The ratio is biased, because what it is divided by is uncertain: with 60 + 60 planted pairs and a
//! judge that errs 20 % of the time by nearly one point. The estimate has its bias to the second order
//! taken out. It is not clamped: estimates below nothing and above it cancel out over runs, and an
//! estimate that can't be below nothing is too high on average by points at a true rate of 2 %. A
//! reader is shown the clamped value.

use crate::stats::{Interval, wilson};

/// Below so many queries a rate is an anecdote, and the report says so.
pub const SMALL_SAMPLE: u64 = 30;

/// The lower end of sensitivity + specificity - 1 that a judge must reach. A judge that errs 20 % of the
/// time has 0.6, and with 60 + 60 planted pairs a lower end of about 0.43; one that errs a third of
/// the time has 0.33 and never passes. At 0.3 the interval of a run of a thousand pairs is still some
/// thirty points wide; below, it says nothing.
pub const INFORMEDNESS_FLOOR: f64 = 0.3;

/// Planted pairs of each kind in a run, unless told otherwise. With a thousand pairs and a judge that
/// errs 20 % of the time the corrected rate is known to within 5 to 9 points either way; with 60 it is
/// 8 to 14.
pub const CANARIES_OF_EACH: usize = 200;

const CONFIDENCE: f64 = 0.95;
const Z: f64 = 1.959_963_984_540_054;

/// So many of so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// How many are.
    pub hits: u64,
    /// Of how many.
    pub n: u64,
}

/// What a judge made of the planted pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CanaryCounts {
    /// Planted contradictions that it called one.
    pub caught: Counted,
    /// Planted consistent pairs that it called a contradiction.
    pub accused: Counted,
}

/// A judge's sensitivity + specificity - 1 (Youden, Cancer 3, 1950): 0 for one that guesses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Informedness {
    /// As measured.
    pub value: f64,
    /// Where it lies with 95 % confidence, from the Wilson intervals of both (Newcombe, Statistics in
    /// Medicine 17, 1998, method 10).
    pub interval: Interval,
}

/// A pair rate without the judge's errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorrectedRate {
    /// The estimate, which may be below 0 or above 1.
    pub estimate: f64,
    /// The estimate as a share: between 0 and 1.
    pub shown: f64,
    /// Where the rate lies with 95 % confidence.
    pub interval: Interval,
}

impl Counted {
    /// The share; none of nothing.
    pub fn rate(self) -> Option<f64> {
        (self.n > 0).then(|| self.hits as f64 / self.n as f64)
    }

    /// Where the rate lies with 95 % confidence (Wilson).
    pub fn interval(self) -> Option<Interval> {
        wilson(self.hits, self.n, CONFIDENCE)
    }

    /// One more, which is or is not.
    pub fn add(&mut self, is_hit: bool) {
        self.n += 1;
        self.hits += u64::from(is_hit);
    }

    /// The variance of the rate, with one success and one failure added.
    fn variance(self) -> f64 {
        let n = self.n as f64 + 2.0;
        let rate = (self.hits as f64 + 1.0) / n;
        rate * (1.0 - rate) / n
    }
}

impl CanaryCounts {
    /// What the judge is worth; none when a kind was not judged at all.
    pub fn informedness(&self) -> Option<Informedness> {
        let (caught, accused) = (self.caught.rate()?, self.accused.rate()?);
        let (caught_at, accused_at) = (self.caught.interval()?, self.accused.interval()?);
        let value = caught - accused;
        let below = (caught - caught_at.low).hypot(accused_at.high - accused);
        let above = (caught_at.high - caught).hypot(accused - accused_at.low);
        Some(Informedness { value, interval: Interval { low: value - below, high: value + above } })
    }

    /// A raw pair rate, corrected; none when nothing was counted or the judge is no better than
    /// guessing.
    pub fn correct(&self, raw: Counted) -> Option<CorrectedRate> {
        let rate = raw.rate()?;
        let (caught, accused) = (self.caught.rate()?, self.accused.rate()?);
        let (over, under) = (rate - accused, caught - accused);
        if under <= 0.0 {
            return None;
        }
        let spread = [raw.variance(), self.caught.variance(), self.accused.variance()];
        let estimate = unbiased(over, under, spread);
        let shown = estimate.clamp(0.0, 1.0);
        Some(CorrectedRate { estimate, shown, interval: fieller(over, under, spread) })
    }
}

/// over / under without its bias to the second order. Both hold the same false alarms, so they vary
/// together.
fn unbiased(over: f64, under: f64, [_, caught, accused]: [f64; 3]) -> f64 {
    let square = under * under;
    over / under * (1.0 - (caught + accused) / square) + accused / square
}

/// The rates r between 0 and 1 for which (over - r under)² is at most z² times its variance, which is
/// raw + r² caught + (1 - r)² accused. When `under` is not told apart from nothing, that is all of them.
fn fieller(over: f64, under: f64, [raw, caught, accused]: [f64; 3]) -> Interval {
    let z2 = Z * Z;
    let a = under * under - z2 * (caught + accused);
    let half_b = z2 * accused - over * under;
    let c = over * over - z2 * (raw + accused);
    let discriminant = half_b * half_b - a * c;
    if a <= 0.0 || discriminant < 0.0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let root = discriminant.sqrt();
    let end = |sign: f64| ((-half_b + sign * root) / a).clamp(0.0, 1.0);
    Interval { low: end(-1.0), high: end(1.0) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::rng::Rng;

    fn counted(hits: u64, n: u64) -> Counted {
        Counted { hits, n }
    }

    #[test]
    fn by_hand() {
        // (0.26 - 0.2) / (0.8 - 0.2) = 0.1, and many planted pairs leave no bias.
        let judge = CanaryCounts {
            caught: counted(800_000, 1_000_000),
            accused: counted(200_000, 1_000_000),
        };
        let found = judge.correct(counted(260_000, 1_000_000)).unwrap();
        assert!((found.estimate - 0.1).abs() < 1e-5, "{found:?}");
        assert!(found.interval.contains(0.1) && found.interval.high - found.interval.low < 0.006);
        assert!((judge.informedness().unwrap().value - 0.6).abs() < 1e-12);
        // A judge that does not err changes nothing.
        let perfect =
            CanaryCounts { caught: counted(100_000, 100_000), accused: counted(0, 100_000) };
        assert!((perfect.correct(counted(7, 100)).unwrap().estimate - 0.07).abs() < 1e-4);
    }

    #[test]
    fn what_can_not_be_said_is_not_said() {
        let guesses = CanaryCounts { caught: counted(30, 60), accused: counted(30, 60) };
        assert_eq!(guesses.correct(counted(5, 10)), None);
        assert_eq!(CanaryCounts::default().correct(counted(5, 10)), None);
        assert_eq!(CanaryCounts::default().informedness(), None);
        let good = CanaryCounts { caught: counted(60, 60), accused: counted(0, 60) };
        assert_eq!(good.correct(counted(0, 0)), None);
        let poor = CanaryCounts { caught: counted(6, 10), accused: counted(4, 10) };
        let all = poor.correct(counted(5, 10)).unwrap().interval;
        assert_eq!((all.low, all.high), (0.0, 1.0));
    }

    #[test]
    fn a_judge_that_errs_a_fifth_of_the_time_passes_the_floor() {
        let low = |caught, accused, n| {
            let judge = CanaryCounts { caught: counted(caught, n), accused: counted(accused, n) };
            judge.informedness().unwrap().interval.low
        };
        assert!((low(48, 12, 60) - 0.4334).abs() < 5e-5, "{}", low(48, 12, 60));
        assert!(low(48, 12, 60) > INFORMEDNESS_FLOOR);
        assert!(low(40, 20, 60) < INFORMEDNESS_FLOOR);
    }

    /// What a run of so many pairs and planted pairs would have said.
    struct Simulation {
        pairs: u64,
        planted: u64,
        /// How often the judge misses a contradiction, and accuses a consistent pair.
        errs: [f64; 2],
    }

    struct Outcome {
        coverage: f64,
        bias: f64,
        width: f64,
    }

    impl Simulation {
        fn draw(rng: &mut Rng, n: u64, rate: f64) -> u64 {
            let below = |bits: u64| (bits >> 11) as f64 / (1_u64 << 53) as f64;
            (0..n).filter(|_| below(rng.next()) < rate).count() as u64
        }

        fn run(&self, seed: u64, rate: f64) -> CorrectedRate {
            let (mut rng, [missed, alarmed]) = (Rng::new(seed), self.errs);
            let contradictory = Self::draw(&mut rng, self.pairs, rate);
            let hits = Self::draw(&mut rng, contradictory, 1.0 - missed)
                + Self::draw(&mut rng, self.pairs - contradictory, alarmed);
            let judge = CanaryCounts {
                caught: counted(Self::draw(&mut rng, self.planted, 1.0 - missed), self.planted),
                accused: counted(Self::draw(&mut rng, self.planted, alarmed), self.planted),
            };
            judge.correct(counted(hits, self.pairs)).expect("such a judge is better than guessing")
        }

        fn outcome(&self, seeds: std::ops::Range<u64>, rate: f64) -> Outcome {
            let n = (seeds.end - seeds.start) as f64;
            let runs: Vec<_> = seeds.map(|seed| self.run(seed, rate)).collect();
            let mean = |of: &dyn Fn(&CorrectedRate) -> f64| runs.iter().map(of).sum::<f64>() / n;
            Outcome {
                coverage: mean(&|run| f64::from(u8::from(run.interval.contains(rate)))),
                bias: mean(&|run| run.estimate - rate),
                width: mean(&|run| run.interval.high - run.interval.low),
            }
        }
    }

    const A_FIFTH: [f64; 2] = [0.2, 0.2];

    /// The claim: intervals cover the truth in 93 to 97 % of 200 runs, and the estimate is right on
    /// average to half a point. Two hundred runs know a coverage only to 1.5 points, so the next test
    /// asks many more.
    #[test]
    fn two_hundred_runs_cover_the_truth() {
        let sizes = Simulation { pairs: 1000, planted: CANARIES_OF_EACH as u64, errs: A_FIFTH };
        for rate in [0.02, 0.1, 0.3] {
            let Outcome { coverage, bias, width } = sizes.outcome(0..200, rate);
            println!("rate {rate}: coverage {coverage}, bias {bias:.4}, width {width:.3}");
            assert!((0.93..=0.97).contains(&coverage), "{rate}: coverage {coverage}");
            assert!(bias.abs() < 0.005, "{rate}: bias {bias}");
        }
    }

    #[test]
    fn every_size_covers_the_truth() {
        for (pairs, planted) in [(200, 60), (200, 100), (1000, 60), (1000, 100), (1000, 200)] {
            let sizes = Simulation { pairs, planted, errs: A_FIFTH };
            for rate in [0.02, 0.1, 0.3] {
                let Outcome { coverage, bias, width } = sizes.outcome(1000..4000, rate);
                println!(
                    "{pairs} pairs, {planted}+{planted}, rate {rate}: coverage {coverage:.3}, bias {bias:.4}, width {width:.3}"
                );
                assert!((0.93..=0.97).contains(&coverage), "{pairs} {planted} {rate}: {coverage}");
                assert!(bias.abs() < 0.005, "{pairs} {planted} {rate}: bias {bias}");
            }
        }
    }

    #[test]
    fn judges_that_hardly_err_are_covered_too() {
        for errs in [[0.02, 0.02], [0.4, 0.05]] {
            let sizes = Simulation { pairs: 1000, planted: 200, errs };
            for rate in [0.0, 0.02, 0.1, 0.3] {
                let Outcome { coverage, bias, .. } = sizes.outcome(0..1000, rate);
                assert!(coverage >= 0.93, "{errs:?} {rate}: {coverage}");
                assert!(bias.abs() < 0.005, "{errs:?} {rate}: bias {bias}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_correction_is_in_order(hits in 0..500_u64, caught in 0..60_u64, accused in 0..60_u64) {
            let judge = CanaryCounts { caught: counted(caught, 60), accused: counted(accused, 60) };
            if let Some(found) = judge.correct(counted(hits, 500)) {
                let Interval { low, high } = found.interval;
                prop_assert!(0.0 <= low && low <= high && high <= 1.0, "{found:?}");
                prop_assert!((0.0..=1.0).contains(&found.shown) && found.estimate.is_finite());
            }
            let at = judge.informedness().unwrap();
            prop_assert!(at.interval.contains(at.value));
        }
    }
}
