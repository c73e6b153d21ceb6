//! Labelling: the queue of queries with their current results, what the labels measure, and the
//! work of several reviewers.
//!
//! Promises: results are those of an untrusted caller, and pages that became private since are left
//! out; captured queries are in the queue of callers with scope admin only, as captures are theirs.

mod candidates;
mod promote;
mod queue;
mod review;

pub(crate) use promote::{
    PairsMadeBody, PromotedLabelsBody, borderline, promote_pairs, promote_queries,
};
pub(crate) use queue::{MeasuresBody, QueueBody, QueuedQueryBody, measures, query, queue};
pub(crate) use review::{AgreementBody, ConflictsBody, SettledBody, agreement, conflicts, settle};
