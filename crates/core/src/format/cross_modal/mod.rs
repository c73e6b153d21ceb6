//! Panel judgements on the wire: the receipt of one judgement and the summary of a batch.
//!
//! Both are self-contained: they hold every model, score, failure, cost and hash behind the verdict.

mod receipt;
mod summary;

pub use receipt::{
    Receipt, ReceiptParts, WireAggregate, WireAgreement, WireCall, WireDimension, WireJudgement,
    WireRubric, WireVote,
};
pub use summary::{Summary, SummaryParts, WireMalformed, WireQuestion, WireSeat};

/// The version of [`Receipt`] and [`Summary`].
pub(crate) const CROSS_MODAL_VERSION: u32 = 1;
