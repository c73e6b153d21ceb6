//! A question with its panel, and what names everything that the judges saw.

use super::{Case, Panel, Prompt};
use crate::hash::Hash;
use crate::money::Usd;

/// What was judged, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub panel: Panel,
    /// Names the words and the shape that judges were given.
    pub prompt_sha: Hash,
    /// Names the task, the expected answer and the output, as judges saw them.
    pub input_sha: Hash,
    /// Names the output as it was written.
    pub output_sha: Hash,
}

impl Judged {
    /// A panel that was asked this about that.
    pub fn new(panel: Panel, prompt: &Prompt, case: &Case<'_>) -> Self {
        Self {
            panel,
            prompt_sha: prompt.prompt_sha,
            input_sha: prompt.input_sha,
            output_sha: Hash::of(case.output.as_bytes()),
        }
    }
}

/// Why a question has no panel. Calls that fail are no such thing: they are calls of a panel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JudgingError {
    pub message: String,
    /// What was paid before it did.
    pub cost: Usd,
}
