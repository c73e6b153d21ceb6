//! Whether a threshold still fits: the same pairs, scored again.

/// How a calibration stands against today's scores.
#[derive(Debug, Clone, PartialEq)]
pub enum Drift {
    /// Another model scores now: the threshold says nothing about it.
    Stale {
        /// The model that was calibrated.
        calibrated: String,
        /// The model that scores.
        now: String,
    },
    /// Scores fell by as much as an alert takes, or more.
    Fell { by: f64 },
    Steady {
        /// How much they fell; negative if they rose.
        by: f64,
    },
    /// There is nothing to compare.
    NoData,
}

/// What a fall must be, in points of the score.
const ALERT: f64 = 0.05;
const TOLERANCE: f64 = 1e-9;

/// Compares a calibration's mean with today's, of the same model only.
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
