//! Holm's correction (Holm, Scandinavian Journal of Statistics 6, 1979): many tests, one error rate.

/// The adjusted p-values, in the order given: the smallest times m, the next times m - 1, and so on,
/// never falling and never above 1. One is significant when it is at most the error rate wanted for
/// all of them together.
pub(crate) fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut highest = 0.0f64;
    for (at, place) in order.into_iter().enumerate() {
        let remaining = (p_values.len() - at) as f64;
        highest = highest.max((p_values[place] * remaining).min(1.0));
        adjusted[place] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let found = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{found}");
        }
        assert_eq!(holm(&[]), [0.0; 0]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }
}
