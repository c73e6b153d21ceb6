//! Calibration as it is kept, taken in and told: pairs, thresholds with their trials, how a workspace stands.

mod pair;
mod standing;
mod threshold;

pub use pair::{
    CollectedBody, PAIR_VERSION, PairBody, PairEntry, PairsBody, Passed, ReviewRow, read_pairs,
};
pub use standing::{ScoreRow, StandingBody};
pub use threshold::{
    Deployment, HistoryBody, PreviousThreshold, ThresholdBody, ThresholdInfo, Verification,
};
