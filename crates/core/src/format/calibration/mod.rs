//! Calibration formats: labelled pairs, thresholds with their verifications, and the overview.

mod pair;
mod standing;
mod threshold;

pub use pair::{
    PAIR_VERSION, PairBody, PairCollectionBody, PairEntry, PairsBody, ReviewRow, SkippedPair,
    read_pairs,
};
pub use standing::{CalibrationOverviewBody, ScoreRow};
pub use threshold::{
    Deployment, HistoryBody, PreviousThreshold, ThresholdBody, ThresholdInfo, Verification,
};
