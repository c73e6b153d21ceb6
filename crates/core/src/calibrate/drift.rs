//! Checks whether a threshold still fits, by scoring the same pairs again.

/// The drift of scores since a calibration.
#[derive(Debug, Clone, PartialEq)]
pub enum Drift {
    /// Another model is configured now; the threshold does not apply to it.
    Stale { calibrated: String, now: String },
    /// Scores fell by at least the alert threshold.
    Fell { by: f64 },
    Steady {
        /// The fall of the scores; negative if they rose.
        by: f64,
    },
    /// There is nothing to compare.
    NoData,
}

/// The drop that counts as drift, in score points.
const ALERT: f64 = 0.05;
const TOLERANCE: f64 = 1e-9;

/// Compares the mean of a calibration with the current mean of the same model.
pub fn drift(calibrated: (&str, f64), now: (&str, Option<f64>)) -> Drift {
    let ((old_model, old), (model, mean)) = (calibrated, now);
    if old_model != model {
        return Drift::Stale { calibrated: old_model.to_owned(), now: model.to_owned() };
    }
    let Some(mean) = mean.filter(|mean| mean.is_finite()) else { return Drift::NoData };
    let by = old - mean;
    if by >= ALERT - TOLERANCE { Drift::Fell { by } } else { Drift::Steady { by } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falls_and_other_models() {
        let check = |now: f64| drift(("m", 0.80), ("m", Some(now)));
        assert!(matches!(check(0.75), Drift::Fell { .. }));
        assert!(matches!(check(0.7501), Drift::Steady { .. }));
        assert!(matches!(check(0.9), Drift::Steady { by } if by < 0.0));
        assert_eq!(drift(("m", 0.8), ("m", None)), Drift::NoData);
        assert_eq!(check(f64::NAN), Drift::NoData);
        let stale = drift(("m", 0.8), ("n", Some(0.1)));
        assert_eq!(stale, Drift::Stale { calibrated: "m".to_owned(), now: "n".to_owned() });
    }
}
