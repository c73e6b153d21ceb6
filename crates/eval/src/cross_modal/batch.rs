//! The rows of a file before a jury.

use gbrain_core::cross_modal::batch::Question;
use gbrain_core::cross_modal::{Judged, JudgingError};

use super::Jury;
use crate::spread::spread;

/// Has every question judged, so many at once, and says after each that it is done. Results are in the
/// order of the questions. A jury that was stopped goes through the rest without asking.
pub fn judge_batch(
    jury: &Jury<'_>,
    questions: &[Question],
    concurrent: usize,
    progress: &(dyn Fn(usize) + Sync),
) -> Vec<(String, Result<Judged, JudgingError>)> {
    spread(questions.len(), concurrent, |at| {
        let question = &questions[at];
        let judged = jury.judge(&question.case());
        progress(1);
        (question.id.clone(), judged)
    })
}
