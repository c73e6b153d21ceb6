//! Arithmetic means and the standard deviation.

/// The mean; none without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The mean of values by weight; none when nothing weighs. Weights that are not positive numbers
/// leave their value out.
pub(crate) fn weighted_mean(weighted: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (value, weight) in weighted.into_iter().filter(|(_, weight)| *weight > 0.0) {
        sum += value * weight;
        weights += weight;
    }
    (weights > 0.0).then(|| sum / weights)
}

/// The standard deviation of a sample (n - 1); none below two values.
pub(crate) fn deviation(values: &[f64]) -> Option<f64> {
    let centre = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(mean(&[]), None);
        assert_eq!(
            weighted_mean([(1.0, 3.0), (0.0, 1.0), (9.0, 0.0), (9.0, f64::NAN)]),
            Some(0.75)
        );
        assert_eq!(weighted_mean([(1.0, 0.0)]), None);
        assert_eq!(
            deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]),
            Some((32.0f64 / 7.0).sqrt())
        );
        assert_eq!(deviation(&[1.0]), None);
    }
}
