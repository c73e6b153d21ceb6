//! Prompts on disk: runs, logs, evaluation and promotion.

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
mod standing;

pub use doctor::{Checkup, doctor};
pub use error::PromptError;
pub use evaluate::{CaseReport, Choice, EvalReport, Progress, evaluate};
pub use export::{Exported, export_skill};
pub use index::{Indexed, index};
pub use kick::{Given, Kick, Kicked, RunProblem, kick};
pub use library::{Library, Listed};
pub use log::{Tail, append, follow, run_index, summarise, tail};
pub use migrate::{Migrated, migrate};
pub use new::{New, new};
pub use promote::{Demotion, Moved, demote, promote};
pub use prompt::{MetaEdit, Prompt, Template, day};
pub use sender::{Command, Sent};
pub use standing::{MalformedLines, Standing};
