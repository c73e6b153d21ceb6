//! Feedback of callers on answers.

use gbrain_core::fault::Fault;
use gbrain_core::format::feedback::FeedbackInput;
use gbrain_core::request::Viewer;
use gbrain_eval::feedback::add_feedback;

use super::bounds::{at_most, within};
use crate::http::{NoParameters, OperationCall, Reply};

/// Stores feedback on an answer.
pub(crate) fn store_feedback(
    call: &OperationCall<'_>,
    _: NoParameters,
    input: FeedbackInput,
) -> Result<Reply, Fault> {
    at_most("`request_id`", input.request_id.as_deref(), 200)?;
    at_most("`comment`", input.comment.as_deref(), 4000)?;
    at_most("`borderline`", input.borderline.as_deref(), 1024)?;
    within("log", input.log, 1..=i64::MAX)?;
    let (registry, workspace) = (call.registry, &call.principal.workspace);
    let scrubber = &registry.suites().scrubber;
    Reply::json(&add_feedback(
        registry.store(),
        workspace,
        scrubber,
        Viewer::Untrusted,
        &input,
        call.now,
    )?)
}
