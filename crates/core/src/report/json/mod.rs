//! Reports as JSON: the keys of the specification and additional ones. The same inputs give the
//! same bytes, except for times.

mod baseline;
mod compare;
mod gate;
mod prune;
mod replay;
mod score;

pub use baseline::{
    BASELINE_VERSION, BaselineDiff, BaselineLog, BaselineVerified, BaselinesVerified, ChangedRow,
    IntegrityStatus, PublishBody,
};
pub use compare::CompareReport;
pub use gate::GateReport;
pub use prune::{PRUNE_VERSION, PruneBody, PruneCounts};
pub use replay::ReplayReport;
pub use score::{
    NO_JUDGED_HIT, PerQuery, QueryScore, ScoreCounts, ScoreReport, ScoreWarning, SegmentScore,
    Segments, TiedQueries,
};
