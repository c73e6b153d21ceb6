//! What callers say of answers.

use gbrain_core::fault::Fault;
use gbrain_core::format::feedback::FeedbackInput;
use gbrain_core::request::Viewer;
use gbrain_eval::feedback::say;

use super::bounds::{at_most, within};
use crate::http::{Call, NoParameters, Reply};

/// Keeps what is said of an answer.
pub(crate) fn give(call: &Call<'_>, _: NoParameters, input: FeedbackInput) -> Result<Reply, Fault> {
    at_most("`request_id`", input.request_id.as_deref(), 200)?;
    at_most("`comment`", input.comment.as_deref(), 4000)?;
    at_most("`borderline`", input.borderline.as_deref(), 1024)?;
    within("log", input.log, 1..=i64::MAX)?;
    let (house, workspace) = (call.house, &call.who.workspace);
    let scrubber = &house.suites().scrubber;
    Reply::json(&say(house.store(), workspace, scrubber, Viewer::Untrusted, &input, call.now)?)
}
