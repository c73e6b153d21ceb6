//! Contradiction rates with their uncertainty, and the pair rate corrected for the judge's errors.
//!
//! A judge that calls one consistent pair in five a contradiction finds 20 % contradictions in a
//! brain without any. Planted pairs measure its sensitivity `s` (the share of contradictions it
//! catches) and its false alarm rate `f` (the share of consistent pairs it flags). With a raw rate
//! `p`, the true rate is (p - f) / (s - f) (Rogan and Gladen, American Journal of Epidemiology 107,
//! 1978).
//!
//! The interval contains all rates r for which p - f - r (s - f) is not significantly different
//! from 0 (Fieller 1954). The sampling errors of p, s and f are combined from their own intervals
//! as the root of squared distances (MOVER; Zou and Donner, Statistics in Medicine 27, 2008), so
//! that the result is correct at 0 and 1, where a variance is not. The interval of p is the exact
//! one of Clopper and Pearson, those of s and f are Wilson's: a judge without errors on the planted
//! pairs is not assumed to be perfect, and 4 of 4 pairs are not assumed to be all. For a judge that
//! is known to be perfect, the result is the Clopper-Pearson interval. Chosen by simulation:
//! coverage is at least .94 for 4 to 1,000 pairs, 20 to 200 planted pairs of each kind and judges
//! with error rates of 0 to 40 %; it stays below .98 from 200 pairs on for judges with an error
//! rate of 20 %, and is higher for few pairs and for judges with few errors. If no rate fits,
//! because fewer pairs are flagged than the false alarm rate predicts or more than the sensitivity
//! allows, the raw rate is clamped to that limit first: the interval starts at 0 or ends at 1, and
//! is not empty.
//!
//! The ratio is biased, because its denominator is uncertain: by nearly one point with 60 + 60
//! planted pairs and a judge with an error rate of 20 %. The second-order bias is subtracted from
//! the estimate. The estimate is not clamped: positive and negative errors cancel over runs,
//! whereas a clamped estimate would be too high by points on average at a true rate of 2 %. Reports
//! show the clamped value.

use crate::stats::{Interval, clopper_pearson, wilson};

/// Reports warn about rates over fewer queries.
pub(crate) const SMALL_SAMPLE: u64 = 30;

/// Minimum lower bound of sensitivity + specificity - 1. A judge with an error rate of 20 % has
/// 0.6, and with 60 + 60 planted pairs a lower bound of about 0.43; one with an error rate of one
/// third has 0.33 and never passes. At 0.3 the interval of a run of a thousand pairs is about
/// thirty points wide; below that it is useless.
pub(crate) const INFORMEDNESS_FLOOR: f64 = 0.3;

/// Minimum lower bound of a judge's sensitivity (exact 95 % interval) for "no contradiction found"
/// to be a pass. A judge that misses more than two in five cannot support that result; one that
/// catches four in five of 60 planted pairs has a lower bound of 0.68. Contradictions that such a
/// judge does find stand: [`INFORMEDNESS_FLOOR`] limits its false alarms.
pub(crate) const SENSITIVITY_FLOOR: f64 = 0.6;

/// Default number of planted pairs of each kind in a run. With a thousand pairs and a judge with an
/// error rate of 20 %, the corrected rate is known to within 5 to 9 points either way; with 60 it
/// is 8 to 14.
pub const CANARIES_OF_EACH: usize = 200;

const CONFIDENCE: f64 = 0.95;

/// A number of hits out of `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HitCount {
    pub hits: u64,
    pub n: u64,
}

/// A judge's results on the planted pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CanaryCounts {
    /// Planted contradictions that it flagged.
    pub caught: HitCount,
    /// Planted consistent pairs that it flagged.
    pub accused: HitCount,
}

/// A judge's sensitivity + specificity - 1 (Youden, Cancer 3, 1950); 0 for guessing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Informedness {
    pub value: f64,
    /// The 95 % confidence interval: the exact intervals of both, combined as Newcombe combines
    /// Wilson's (Statistics in Medicine 17, 1998, method 10), which cover .87 for judges with few
    /// errors.
    pub interval: Interval,
}

/// A pair rate corrected for the judge's errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorrectedRate {
    /// The estimate; may be below 0 or above 1.
    pub estimate: f64,
    /// The estimate clamped to 0..=1.
    pub shown: f64,
    /// The 95 % confidence interval.
    pub interval: Interval,
}

impl HitCount {
    /// The rate; none if `n` is 0.
    pub fn rate(self) -> Option<f64> {
        (self.n > 0).then(|| self.hits as f64 / self.n as f64)
    }

    /// The 95 % confidence interval (Wilson) that the report format requires.
    pub fn wilson(self) -> Option<Interval> {
        wilson(self.hits, self.n, CONFIDENCE)
    }

    /// The exact 95 % confidence interval (Clopper and Pearson).
    pub fn interval(self) -> Option<Interval> {
        clopper_pearson(self.hits, self.n, CONFIDENCE)
    }

    /// Counts one more observation.
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
    /// The judge's informedness; none if a kind has no judgements.
    pub fn informedness(&self) -> Option<Informedness> {
        let (caught, accused) = (self.caught.rate()?, self.accused.rate()?);
        let (caught_at, accused_at) = (self.caught.interval()?, self.accused.interval()?);
        let value = caught - accused;
        let below = (caught - caught_at.low).hypot(accused_at.high - accused);
        let above = (caught_at.high - caught).hypot(accused - accused_at.low);
        Some(Informedness { value, interval: Interval { low: value - below, high: value + above } })
    }

    /// Corrects a raw pair rate; none if nothing was counted or the judge is no better than
    /// guessing.
    pub fn correct(&self, raw: HitCount) -> Option<CorrectedRate> {
        let rate = raw.rate()?;
        let (caught, accused) = (self.caught.rate()?, self.accused.rate()?);
        let (over, under) = (rate - accused, caught - accused);
        if under <= 0.0 {
            return None;
        }
        let estimate = unbiased(over, under, [self.caught.variance(), self.accused.variance()]);
        let shown = estimate.clamp(0.0, 1.0);
        let flagged = Share { value: rate, interval: raw.interval()? };
        let catches = Share { value: caught, interval: self.caught.wilson()? };
        let alarms = Share { value: accused, interval: self.accused.wilson()? };
        let interval = rates_within_chance(flagged, catches, alarms)
            .or_else(|| rates_within_chance(flagged.within(accused, caught), catches, alarms))?;
        Some(CorrectedRate { estimate, shown, interval })
    }
}

/// A share with its interval.
#[derive(Clone, Copy)]
struct Share {
    value: f64,
    interval: Interval,
}

impl Share {
    fn below(self) -> f64 {
        self.value - self.interval.low
    }

    fn above(self) -> f64 {
        self.interval.high - self.value
    }

    /// Clamps the value to `low..=high` and shifts the interval with it.
    fn within(self, low: f64, high: f64) -> Self {
        let value = self.value.clamp(low, high);
        let by = value - self.value;
        let interval = Interval { low: self.interval.low + by, high: self.interval.high + by };
        Self { value, interval }
    }
}

/// The rates r from 0 to 1 for which the interval of p - (1 - r) f - r s contains 0.
fn rates_within_chance(p: Share, s: Share, f: Share) -> Option<Interval> {
    let centre = |r: f64| p.value - (1.0 - r) * f.value - r * s.value;
    let far = |p: f64, r: f64, f: f64, s: f64| p.hypot((1.0 - r) * f).hypot(r * s);
    let is_low_enough = |r: f64| centre(r) <= far(p.below(), r, f.above(), s.above());
    let is_high_enough = |r: f64| centre(r) >= -far(p.above(), r, f.below(), s.below());
    // The centre decreases in r: the first condition holds from some rate on, the second up to one.
    let low = lowest(is_low_enough)?;
    let high = 1.0 - lowest(|r| is_high_enough(1.0 - r))?;
    (low <= high).then_some(Interval { low, high })
}

/// The lowest share for which `holds`, which must be monotonic; none if it fails at 1.
fn lowest(holds: impl Fn(f64) -> bool) -> Option<f64> {
    if holds(0.0) {
        return Some(0.0);
    }
    if !holds(1.0) {
        return None;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if holds(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// over / under without its second-order bias. Both contain the same false alarms, so they are
/// correlated.
fn unbiased(over: f64, under: f64, [caught, accused]: [f64; 2]) -> f64 {
    let square = under * under;
    over / under * (1.0 - (caught + accused) / square) + accused / square
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::rng::Rng;

    fn counted(hits: u64, n: u64) -> HitCount {
        HitCount { hits, n }
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
    fn undefined_rates_are_omitted() {
        let guesses = CanaryCounts { caught: counted(30, 60), accused: counted(30, 60) };
        assert_eq!(guesses.correct(counted(5, 10)), None);
        assert_eq!(CanaryCounts::default().correct(counted(5, 10)), None);
        assert_eq!(CanaryCounts::default().informedness(), None);
        let good = CanaryCounts { caught: counted(60, 60), accused: counted(0, 60) };
        assert_eq!(good.correct(counted(0, 0)), None);
        let poor = CanaryCounts { caught: counted(6, 10), accused: counted(4, 10) };
        let all = poor.correct(counted(5, 10)).unwrap().interval;
        assert_eq!((all.low, all.high), (0.0, 1.0));
        // It accuses nearly all pairs, but called few planted contradictions one: no rate fits.
        let other = CanaryCounts { caught: counted(100, 200), accused: counted(40, 200) };
        let all = other.correct(counted(990, 1000)).unwrap().interval;
        assert!(all.low < 0.9 && all.high == 1.0, "{all:?}");
        let none = other.correct(counted(0, 1000)).unwrap().interval;
        assert!(none.low == 0.0 && none.high > 0.1, "{none:?}");
    }

    /// Four pairs of four are no proof that all are.
    #[test]
    fn few_pairs_leave_doubt() {
        let perfect = CanaryCounts { caught: counted(200, 200), accused: counted(0, 200) };
        for (hits, n) in [(4, 4), (0, 4), (10, 10), (1, 1), (0, 1)] {
            let found = perfect.correct(counted(hits, n)).unwrap();
            let width = found.interval.high - found.interval.low;
            assert!(
                width > 0.3 && found.interval.contains(found.shown),
                "{hits} of {n}: {found:?}"
            );
        }
        let four = perfect.correct(counted(4, 4)).unwrap().interval;
        assert!((four.low - 0.3976).abs() < 0.001 && four.high == 1.0, "{four:?}");
    }

    /// At the edges and in between, for every size of sample.
    #[test]
    fn few_pairs_cover_the_truth() {
        for (pairs, planted) in [(4, 200), (10, 60), (30, 200)] {
            for errs in [[0.0, 0.0], [0.02, 0.02], A_FIFTH] {
                let sizes = Simulation { pairs, planted, errs };
                for rate in [0.0, 0.1, 0.5, 0.97] {
                    let covered = sizes.coverage(0..400, rate);
                    assert!(covered >= 0.93, "{pairs} {planted} {errs:?} {rate}: {covered}");
                }
            }
        }
    }

    #[test]
    fn a_judge_that_errs_a_fifth_of_the_time_passes_the_floor() {
        let low = |caught, accused, n| {
            let judge = CanaryCounts { caught: counted(caught, n), accused: counted(accused, n) };
            judge.informedness().unwrap().interval.low
        };
        assert!((low(48, 12, 60) - 0.4256).abs() < 5e-5, "{}", low(48, 12, 60));
        assert!(low(48, 12, 60) > INFORMEDNESS_FLOOR);
        assert!(low(40, 20, 60) < INFORMEDNESS_FLOOR);
    }

    /// The expected report of a run with these numbers of pairs and planted pairs.
    struct Simulation {
        pairs: u64,
        planted: u64,
        /// How often the judge misses a contradiction, and accuses a consistent pair.
        errs: [f64; 2],
    }

    struct JudgingOutcome {
        coverage: f64,
        bias: f64,
        width: f64,
    }

    impl Simulation {
        fn draw(rng: &mut Rng, n: u64, rate: f64) -> u64 {
            let below = |bits: u64| (bits >> 11) as f64 / (1_u64 << 53) as f64;
            (0..n).filter(|_| below(rng.next()) < rate).count() as u64
        }

        /// How often the interval holds the rate, where there is one.
        fn coverage(&self, seeds: std::ops::Range<u64>, rate: f64) -> f64 {
            let runs: Vec<_> = seeds.filter_map(|seed| self.try_run(seed, rate)).collect();
            // An end that is the rate is found by halving.
            let holds = |run: &CorrectedRate| {
                run.interval.low <= rate + 1e-9 && rate - 1e-9 <= run.interval.high
            };
            runs.iter().filter(|run| holds(run)).count() as f64 / runs.len() as f64
        }

        fn run(&self, seed: u64, rate: f64) -> CorrectedRate {
            self.try_run(seed, rate).expect("such a judge is better than guessing")
        }

        fn try_run(&self, seed: u64, rate: f64) -> Option<CorrectedRate> {
            let (mut rng, [missed, alarmed]) = (Rng::new(seed), self.errs);
            let contradictory = Self::draw(&mut rng, self.pairs, rate);
            let hits = Self::draw(&mut rng, contradictory, 1.0 - missed)
                + Self::draw(&mut rng, self.pairs - contradictory, alarmed);
            let judge = CanaryCounts {
                caught: counted(Self::draw(&mut rng, self.planted, 1.0 - missed), self.planted),
                accused: counted(Self::draw(&mut rng, self.planted, alarmed), self.planted),
            };
            judge.correct(counted(hits, self.pairs))
        }

        fn outcome(&self, seeds: std::ops::Range<u64>, rate: f64) -> JudgingOutcome {
            let n = (seeds.end - seeds.start) as f64;
            let runs: Vec<_> = seeds.map(|seed| self.run(seed, rate)).collect();
            let mean = |of: &dyn Fn(&CorrectedRate) -> f64| runs.iter().map(of).sum::<f64>() / n;
            JudgingOutcome {
                coverage: mean(&|run| f64::from(u8::from(run.interval.contains(rate)))),
                bias: mean(&|run| run.estimate - rate),
                width: mean(&|run| run.interval.high - run.interval.low),
            }
        }
    }

    const A_FIFTH: [f64; 2] = [0.2, 0.2];

    /// The claim: intervals cover the truth in at least 93 % of 200 runs, and hardly ever in all, and the estimate is right on
    /// average to half a point. Two hundred runs know a coverage only to 1.5 points, so the next test
    /// asks many more.
    #[test]
    fn two_hundred_runs_cover_the_truth() {
        let sizes = Simulation { pairs: 1000, planted: CANARIES_OF_EACH as u64, errs: A_FIFTH };
        for rate in [0.02, 0.1, 0.3] {
            let JudgingOutcome { coverage, bias, width } = sizes.outcome(0..200, rate);
            println!("rate {rate}: coverage {coverage}, bias {bias:.4}, width {width:.3}");
            assert!((0.93..=0.985).contains(&coverage), "{rate}: coverage {coverage}");
            assert!(bias.abs() < 0.005, "{rate}: bias {bias}");
        }
    }

    #[test]
    fn every_size_covers_the_truth() {
        for (pairs, planted) in [(200, 60), (200, 100), (1000, 60), (1000, 100), (1000, 200)] {
            let sizes = Simulation { pairs, planted, errs: A_FIFTH };
            for rate in [0.02, 0.1, 0.3] {
                let JudgingOutcome { coverage, bias, width } = sizes.outcome(1000..4000, rate);
                println!(
                    "{pairs} pairs, {planted}+{planted}, rate {rate}: coverage {coverage:.3}, bias {bias:.4}, width {width:.3}"
                );
                assert!((0.93..=0.985).contains(&coverage), "{pairs} {planted} {rate}: {coverage}");
                assert!(bias.abs() < 0.005, "{pairs} {planted} {rate}: bias {bias}");
            }
        }
    }

    #[test]
    fn judges_that_hardly_err_are_covered_too() {
        for errs in [[0.02, 0.02], [0.4, 0.05]] {
            let sizes = Simulation { pairs: 1000, planted: 200, errs };
            for rate in [0.0, 0.02, 0.1, 0.3] {
                let JudgingOutcome { coverage, bias, .. } = sizes.outcome(0..1000, rate);
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
