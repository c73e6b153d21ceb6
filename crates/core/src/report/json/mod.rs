//! Reports as JSON: the contract's keys, and more beside them. The same inputs give the same bytes, apart from times.

mod baseline;
mod compare;
mod gate;
mod prune;
mod replay;
mod score;

pub use baseline::{
    BASELINE_VERSION, BaselineDiff, BaselineLog, BaselineVerified, BaselinesVerified, ChangedRow,
    PublishBody, Tampering,
};
pub use compare::CompareReport;
pub use gate::GateReport;
pub use prune::{PRUNE_VERSION, PruneBody, PruneCounts};
pub use replay::ReplayReport;
pub use score::{
    Counts, NO_JUDGED_HIT, PerQuery, QueryScore, Score, SegmentScore, Segments, TiedQueries,
    Warning,
};
