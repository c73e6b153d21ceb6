//! Calibration formats: labelled pairs, thresholds with their verifications, and the overview.

mod pair;
mod standing;
mod threshold;

pub use pair::{
    CollectedBody, PAIR_VERSION, PairBody, PairEntry, PairsBody, ReviewRow, SkippedPair, read_pairs,
};
pub use standing::{ScoreRow, StandingBody};
pub use threshold::{
    Deployment, HistoryBody, PreviousThreshold, ThresholdBody, ThresholdInfo, Verification,
};
