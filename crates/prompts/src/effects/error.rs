//! Errors of prompt commands.

use std::io;
use std::path::PathBuf;

use gbrain_core::fault::{Fault, FaultKind};

use crate::domain::{
    FlatError, IndexError, MetaError, MissingEvidence, PromptStatus, SkillError, Stale, VarError,
};

/// An error of a prompt command.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// There is no library here.
    #[error("there is no `prompts` directory in {} or above it", .0.display())]
    NoLibrary(PathBuf),
    /// There is no such prompt.
    #[error("there is no prompt `{0}`")]
    NoPrompt(String),
    /// A name is invalid.
    #[error("`{0}` is not a name of a prompt: letters, digits, `-`, `_` and `.`")]
    Id(String),
    /// A prompt of this name exists.
    #[error("there is a prompt `{0}` already")]
    Exists(String),
    /// A prompt without meta.yml.
    #[error("prompt `{0}` has no meta.yml")]
    NoMeta(String),
    /// A prompt without a template.
    #[error("prompt `{0}` has no prompt.xml and no prompt.md")]
    NoTemplate(String),
    /// A prompt with two templates.
    #[error("prompt `{0}` has a prompt.xml and a prompt.md: which one is it?")]
    TwoTemplates(String),
    /// There is no such case.
    #[error("prompt `{id}` has no case `{case}`")]
    NoCase { id: String, case: String },
    /// A meta.yml is invalid.
    #[error("{}", path.display())]
    Meta { path: PathBuf, source: MetaError },
    /// A YAML file is invalid.
    #[error("{}", path.display())]
    Yaml { path: PathBuf, source: FlatError },
    /// A variable is invalid.
    #[error(transparent)]
    Var(#[from] VarError),
    /// A file is not UTF-8 text.
    #[error("{} is not UTF-8 text", .0.display())]
    NotText(PathBuf),
    /// The guard refused the run.
    #[error("guard.sh ended with {code}: nothing was rendered or sent")]
    Guard { code: i32 },
    /// Required inputs have no value.
    #[error("required input without a value: {}", .0.join(", "))]
    Unset(Vec<String>),
    /// A command cannot be parsed.
    #[error("`{0}` is not a command")]
    Command(String),
    /// An evaluation without cases.
    #[error("prompt `{0}` has no eval.yml")]
    NoEval(String),
    /// A ready prompt cannot be promoted further.
    #[error("prompt `{id}` is ready: there is nothing above")]
    Ready {
        id: String,
        /// Set if another text became ready.
        stale: Option<Stale>,
    },
    /// The prompt is already at or below that status.
    #[error("prompt `{0}` is {1} already")]
    NotAbove(String, PromptStatus),
    /// An edit did not find its key.
    #[error("{} has no line `{key}: …` that could be changed", path.display())]
    Edit { path: PathBuf, key: &'static str },
    /// Only a ready prompt can be a skill.
    #[error("prompt `{0}` is not ready")]
    NotReady(String),
    /// The status of the prompt has no evidence.
    #[error("prompt `{id}` is not shown to be ready: {why}")]
    NoEvidence { id: String, why: MissingEvidence },
    /// A hook cannot run, or would check nothing.
    #[error("{} can't be used: {reason}", path.display())]
    Hook { path: PathBuf, reason: String },
    /// A path is a directory, a device or a pipe instead of a regular file.
    #[error("{} is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// A signal arrived before anything was sent.
    #[error("signal {0} came before anything was sent")]
    Interrupted(i32),
    /// The row of a sent run could not be appended.
    #[error("the run was sent and its row could not be appended; the row is {row}")]
    RowNotWritten { row: String, source: Box<PromptError> },
    /// The prompt cannot be exported as a skill.
    #[error(transparent)]
    Skill(#[from] SkillError),
    /// A file has no markers for its list.
    #[error("{}", path.display())]
    Index { path: PathBuf, source: IndexError },
    /// A file cannot be read or written.
    #[error("{}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl PromptError {
    /// Wraps an I/O error with the path of its file.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoLibrary(_) => {
                "make one: `eva new ID`, or say where it is: --root DIR or EVA_ROOT".to_owned()
            }
            Self::NoPrompt(_) => "`eva list` shows what there is".to_owned(),
            Self::NoMeta(_) | Self::NoTemplate(_) => {
                "`eva new ID` shows what belongs there".to_owned()
            }
            Self::NoCase { id, .. } => format!("`eva show {id}` lists the cases"),
            Self::Unset(names) => format!("give it: --var {}=VALUE", names.first()?),
            Self::NoEval(id) => format!("write prompts/{id}/eval.yml; `eva new` makes a sample"),
            Self::Ready { id, stale: Some(stale) } => {
                format!("its evidence is stale: {stale}; to collect new: eva demote {id}")
            }
            Self::Ready { id, stale: None } => format!("to collect new evidence: eva demote {id}"),
            Self::NotReady(_) => "promote it first, or --force".to_owned(),
            Self::NoEvidence { id, why } => format!("{}, or --force", why.remedy(id)),
            Self::Hook { .. } => {
                "nothing was sent: correct the file, or make it not executable".to_owned()
            }
            Self::NotAFile(_) => {
                "move it away: a file of that name is made when it is needed".to_owned()
            }
            Self::RowNotWritten { .. } => {
                "make room or correct the file, then append the row by hand".to_owned()
            }
            Self::Skill(_) => "say in meta.yml what it does and when to use it".to_owned(),
            Self::Index { .. } => "put the two marks where the list belongs".to_owned(),
            _ => return None,
        })
    }
}

impl From<PromptError> for Fault {
    fn from(error: PromptError) -> Self {
        use PromptError as E;
        let kind = match &error {
            E::NoLibrary(_) | E::NoPrompt(_) | E::NoCase { .. } | E::NoEval(_) => {
                FaultKind::NotFound
            }
            E::Id(_) | E::Var(_) | E::Unset(_) | E::Command(_) => FaultKind::Usage,
            E::Exists(_) | E::Ready { .. } | E::NotAbove(..) | E::NotReady(_) | E::Guard { .. } => {
                FaultKind::Conflict
            }
            E::NoEvidence { .. } => FaultKind::Conflict,
            E::Io { .. } | E::NotAFile(_) | E::RowNotWritten { .. } => FaultKind::Io,
            _ => FaultKind::Input,
        };
        let hint = error.hint();
        let fault = Self::of(kind, &error);
        match hint {
            Some(hint) => fault.hint(hint),
            None => fault,
        }
    }
}
