//! A judged question: its panel, and hashes of everything in the prompt.

use super::{JudgeInput, JudgePrompt, Panel};
use crate::hash::Hash;
use crate::money::Usd;

/// A question judged by a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedOutput {
    pub panel: Panel,
    /// Hash of the instructions and the reply schema.
    pub prompt_sha: Hash,
    /// Hash of the task, the expected answer and the output, as in the prompt.
    pub input_sha: Hash,
    /// Hash of the unmodified output.
    pub output_sha: Hash,
}

impl JudgedOutput {
    pub fn new(panel: Panel, prompt: &JudgePrompt, case: &JudgeInput<'_>) -> Self {
        Self {
            panel,
            prompt_sha: prompt.prompt_sha,
            input_sha: prompt.input_sha,
            output_sha: Hash::of(case.output.as_bytes()),
        }
    }
}

/// Why a question has no panel. Failed calls do not count: they are part of a panel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JudgingError {
    pub message: String,
    /// The cost before the failure.
    pub cost: Usd,
}
