//! The rules of prompts that are promoted on evidence: `kick` runs them and `eva` manages them.
//!
//! A prompt is a directory: `meta.yml`, a template and related files. This module parses these
//! files and derives results from them, without I/O or a clock: reading, writing and running are in
//! `effects`.

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
    CheckupFinding, CheckupInputs, FindingLevel, aliases, check_aliases, check_evidence, check_log,
    checkup, is_alias, old_layout,
};
pub use evaluation::{EvalCase, Evaluation, Inputs, Rubric, TriggerQuestions};
pub use evidence::{
    HashScope, MissingEvidence, PromotionAction, Stale, StatusEvidence, evidence_lines,
};
pub use fingerprint::{Fingerprint, PromptHashes};
pub use history::{EvalRow, EvalState, eval_rows, last_whole};
pub use index::{IndexError, IndexRow, alias_block, rewrite_aliases, rewrite_readme};
pub use judge::{rubric_prompt, score, triggering_prompt, verdict};
pub use legacy::{ConvertedPrompt, migrate};
pub use lifecycle::{Gate, Requirement, Thresholds, Transition, UnmetRequirement, progress};
pub use meta::{Meta, MetaError, Promotion, PromptInput, PromptStatus, edited};
pub use script::{Script, ScriptError};
pub use settings::{Settings, SettingsError};
pub use skill::{SkillError, skill};
pub use template::{RenderedPrompt, placeholders, render};
pub use vars::{VarError, Vars, is_key};
pub use words::{WordCounter, words};
pub use yml::{FlatError, flat};
