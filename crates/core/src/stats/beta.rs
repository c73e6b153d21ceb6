//! The beta distribution: the incomplete beta function by its continued fraction (Press et al.,
//! Numerical Recipes, 3rd ed., 2007, section 6.4), the logarithm of the gamma function by Lanczos'
//! approximation (same book, section 6.1).

/// The probability that a beta variable with shapes `a` and `b`, both positive, is at most `x`.
pub(super) fn beta_cdf(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = front(a, b, x);
    // The fraction converges fast on this side of the mean only.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// x^a (1 - x)^b / B(a, b), which is the density times x (1 - x).
fn front(a: f64, b: f64, x: f64) -> f64 {
    let log = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    log.exp()
}

/// The value that a beta variable exceeds with probability 1 - `p`: Newton's steps, halved where they
/// leave what is known.
pub(super) fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    let mut x = a / (a + b);
    for _ in 0..100 {
        let off = beta_cdf(a, b, x) - p;
        if off < 0.0 {
            low = x
        } else {
            high = x
        }
        let next = x - off * x * (1.0 - x) / front(a, b, x);
        let next = if next > low && next < high { next } else { f64::midpoint(low, high) };
        if (next - x).abs() < 1e-13 {
            return next;
        }
        x = next;
    }
    x
}

/// The probability of at least `k` successes in `n` trials of rate `p`.
pub(super) fn binomial_at_least(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 {
        1.0
    } else if k > n {
        0.0
    } else {
        beta_cdf(k as f64, (n - k + 1) as f64, p)
    }
}

const LANCZOS: [f64; 9] = [
    0.999_999_999_999_809_9,
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];

/// The logarithm of the gamma function of a number of at least 1/2.
fn ln_gamma(x: f64) -> f64 {
    let x = x - 1.0;
    let t = x + 7.5;
    let terms = LANCZOS[1..].iter().zip(1u32..);
    let sum = terms.fold(LANCZOS[0], |sum, (c, at)| sum + c / (x + f64::from(at)));
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// Lentz's evaluation of the continued fraction. It needs about sqrt(max(a, b)) steps.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for step in 1..100_000u32 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::binomial::at_most;

    #[test]
    fn by_hand() {
        // Shapes (1, n): 1 - (1 - x)^n; shapes (2, 2): 3x^2 - 2x^3.
        assert!((beta_cdf(1.0, 4.0, 0.3) - (1.0 - 0.7f64.powi(4))).abs() < 1e-12);
        assert!((beta_cdf(2.0, 2.0, 0.7) - 0.784).abs() < 1e-12);
        assert!((beta_quantile(4.0, 1.0, 0.025) - 0.025f64.powf(0.25)).abs() < 1e-12);
        assert_eq!((beta_cdf(2.0, 3.0, 0.0), beta_cdf(2.0, 3.0, 1.0)), (0.0, 1.0));
    }

    #[test]
    fn agrees_with_binomial_sums() {
        for (k, n, p) in [(1, 4, 0.2), (3, 10, 0.5), (180, 200, 0.87), (1, 2000, 0.0003)] {
            let expected = 1.0 - at_most(k - 1, n, p);
            let found = binomial_at_least(k, n, p);
            assert!((found - expected).abs() < 1e-9, "{k} {n} {p}: {found} {expected}");
        }
        assert_eq!((binomial_at_least(0, 5, 0.1), binomial_at_least(6, 5, 0.1)), (1.0, 0.0));
    }
}
