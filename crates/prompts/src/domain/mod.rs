//! Prompts that are promoted on evidence: what `kick` runs and `eva` looks after.
//!
//! A prompt is a directory: `meta.yml`, a template, and what belongs to them. Here is what such files
//! mean and what follows from them. No I/O and no clock: reading, writing and running are in `effects`.

mod assertion;
pub mod bodies;
mod checkup;
mod evaluation;
mod evidence;
mod fingerprint;
mod history;
mod index;
mod judge;
mod legacy;
mod lifecycle;
pub mod logs;
mod meta;
mod script;
mod settings;
mod skill;
mod template;
pub mod usage;
mod vars;
mod words;
mod yml;

pub use assertion::{Assertion, Failure};
pub use checkup::{
    Finding, Level, Parts, aliases, check_aliases, check_evidence, check_log, checkup, is_alias,
    old_layout,
};
pub use evaluation::{Case, Evaluation, Inputs, Rubric, Triggering};
pub use evidence::{Evidence, HashScope, MissingEvidence, Move, Stale, evidence_lines};
pub use fingerprint::{Fingerprint, PromptHashes};
pub use history::{EvalRow, Green, eval_rows, last_whole};
pub use index::{IndexError, IndexRow, alias_block, rewrite_aliases, rewrite_readme};
pub use judge::{rubric_prompt, score, triggering_prompt, verdict};
pub use legacy::{Legacy, migrate};
pub use lifecycle::{Gate, Requirement, Thresholds, Transition, Unmet, progress};
pub use meta::{Input, Meta, MetaError, Promotion, Status, edited};
pub use script::{Script, ScriptError};
pub use settings::{Settings, SettingsError};
pub use skill::{SkillError, skill};
pub use template::{Rendered, placeholders, render};
pub use vars::{VarError, Vars, is_key};
pub use words::{Words, words};
pub use yml::{FlatError, flat};
