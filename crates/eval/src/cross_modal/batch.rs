//! Has the rows of a file judged.

use gbrain_core::cross_modal::batch::RowToJudge;
use gbrain_core::cross_modal::{JudgedOutput, JudgingError};

use super::Jury;
use crate::spread::spread;

/// Judges questions, `concurrent` at once, and reports each one to `progress`. Results are in the
/// order of the questions. A stopped jury skips the remaining calls.
pub fn judge_batch(
    jury: &Jury<'_>,
    questions: &[RowToJudge],
    concurrent: usize,
    progress: &(dyn Fn(usize) + Sync),
) -> Vec<(String, Result<JudgedOutput, JudgingError>)> {
    spread(questions.len(), concurrent, |at| {
        let question = &questions[at];
        let judged = jury.judge(&question.case());
        progress(1);
        (question.id.clone(), judged)
    })
}
