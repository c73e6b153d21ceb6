//! Judgements of a panel on the wire: the receipt of one, and the summary of many.
//!
//! Both stand for themselves: every model, score, failure, amount and hash that led to the verdict is in
//! them, so that nothing else has to be kept.

mod receipt;
mod summary;

pub use receipt::{
    Receipt, ReceiptParts, WireAggregate, WireAgreement, WireCall, WireDimension, WireJudgement,
    WireRubric, WireVote,
};
pub use summary::{Summary, SummaryParts, WireMalformed, WireQuestion, WireSeat};

/// The version of [`Receipt`] and [`Summary`].
pub(crate) const CROSS_MODAL_VERSION: u32 = 1;
