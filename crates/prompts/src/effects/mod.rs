//! Reads, writes and runs prompts: runs, logs, evaluation and promotion.

mod assessment;
mod doctor;
mod error;
mod evaluate;
mod export;
mod hook;
mod index;
mod kick;
mod library;
mod log;
mod migrate;
mod new;
mod promote;
mod prompt;
mod sender;
mod signals;

pub use assessment::{MalformedLines, PromptAssessment};
pub use doctor::{Checkup, doctor};
pub use error::PromptError;
pub use evaluate::{CaseReport, EvalOptions, EvalReport, Progress, evaluate};
pub use export::{ExportedSkill, export_skill};
pub use index::{IndexReport, index};
pub use kick::{KickRequest, KickResult, RunProblem, VarSource, kick};
pub use library::{Library, PromptEntry};
pub use log::{LogTail, append, follow, run_index, summarise, tail};
pub use migrate::{MigratedFile, migrate};
pub use new::{NewPrompt, new};
pub use promote::{Demotion, PromotionResult, demote, promote};
pub use prompt::{LibraryPrompt, MetaEdit, Template, day};
pub use sender::{Command, SendOutcome};
