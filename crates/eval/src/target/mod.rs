//! Asking targets: the local brain, an HTTP API, an MCP server, a command, a saved run.

use gbrain_core::target::{Question, TargetAnswer, TargetError};

/// Something that answers questions, from any number of threads at once.
pub trait Ask: Sync {
    /// Answers a question, or says why not. Waits for its turn, tries again where that may help, and
    /// keeps to the target's time limit.
    fn ask(&self, question: &Question) -> Result<TargetAnswer, TargetError>;

    /// The target's name in the settings; `local` is the local brain.
    fn name(&self) -> &str;
}
