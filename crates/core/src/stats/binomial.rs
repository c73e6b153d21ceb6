//! The binomial distribution, exactly.

/// The probability of at most `k` successes in `n` trials of rate `p`.
pub(super) fn at_most(k: u64, n: u64, p: f64) -> f64 {
    let place = usize::try_from(k.min(n)).unwrap_or(usize::MAX);
    cumulative(n, p).nth(place).unwrap_or(1.0)
}

/// The probabilities of at most 0, 1, ... n successes. Terms are kept as logarithms, each made from
/// the one before.
pub(super) fn cumulative(n: u64, p: f64) -> impl Iterator<Item = f64> {
    let p = p.clamp(0.0, 1.0);
    let odds = p.ln() - (-p).ln_1p();
    let (mut term, mut sum) = (n as f64 * (-p).ln_1p(), 0.0);
    (0..=n).map(move |k| {
        if k > 0 {
            term += ((n - k + 1) as f64).ln() - (k as f64).ln() + odds;
        }
        sum += if term.is_nan() { 0.0 } else { term.exp() };
        if k == n { 1.0 } else { f64::min(sum, 1.0) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        for (k, n, p, expected) in [
            (0, 3, 0.5, 0.125),
            (1, 3, 0.5, 0.5),
            (2, 3, 0.5, 0.875),
            (3, 3, 0.5, 1.0),
            (1, 10, 0.1, 0.9f64.powi(10) + 10.0 * 0.1 * 0.9f64.powi(9)),
            (5, 10, 0.0, 1.0),
            (5, 10, 1.0, 0.0),
        ] {
            assert!((at_most(k, n, p) - expected).abs() < 1e-12, "{k} {n} {p}");
        }
        assert!((at_most(5_000, 10_000, 0.5) - 0.503_989).abs() < 1e-5);
    }
}
