//! The one error type of the command line: what went wrong, what to do, how to exit.

use std::error::Error;
use std::fmt::Write as _;
use std::process::ExitCode;

use gbrain_brain::BrainError;
use gbrain_core::id::IdError;
use gbrain_eval::EvalError;
use gbrain_index::IndexError;
use gbrain_store::StoreError;

/// A public contract: 0 did its work whole, 1 measured something wrong, 2 no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Pass,
    Fail,
    NoVerdict,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Pass => Self::from(0),
            Exit::Fail => Self::from(1),
            Exit::NoVerdict => Self::from(2),
        }
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) struct CliError {
    /// A stable word for scripts.
    pub(crate) kind: &'static str,
    /// What went wrong, whole.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hints: Vec<String>,
}

impl CliError {
    /// An error of the words that were typed.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { kind: "usage", message: message.into(), hints: Vec::new() }
    }

    /// An error of the settings.
    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self { kind: "config", message: message.into(), hints: Vec::new() }
    }

    /// A file that could not be read or written.
    pub(crate) fn io(what: impl std::fmt::Display, error: &std::io::Error) -> Self {
        Self { kind: "io", message: format!("{what}: {error}"), hints: Vec::new() }
    }

    /// A file that was read and says nothing that can be understood.
    pub(crate) fn input(what: impl std::fmt::Display, error: &dyn Error) -> Self {
        Self { kind: "input", message: format!("{what}: {}", chain(error)), hints: Vec::new() }
    }

    /// The same error with a remedy.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What a person reads on stderr.
    pub(crate) fn to_text(&self) -> String {
        let mut text = format!("error: {}\n", self.message);
        for hint in &self.hints {
            writeln!(text, "hint: {hint}").expect("writing to a string succeeds");
        }
        text
    }

    /// What `--json` prints on stdout.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "status": "error",
            "error": { "kind": self.kind, "message": self.message, "hints": self.hints },
        })
    }
}

/// An error and its sources, each once.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            write!(text, ": {cause_text}").expect("writing to a string succeeds");
        }
        source = cause.source();
    }
    text
}

impl From<BrainError> for CliError {
    fn from(error: BrainError) -> Self {
        let message = chain(&error);
        match error {
            BrainError::Store(error) => error.into(),
            BrainError::Index(error) => error.into(),
            BrainError::Id(error) => error.into(),
            BrainError::NoPage { near, .. } => {
                let error = Self { kind: "not_found", message, hints: Vec::new() };
                near.iter()
                    .take(3)
                    .fold(error, |error, key| error.hint(format!("did you mean `{key}`?")))
            }
            BrainError::Setting { key, .. } => {
                Self::config(message).hint(format!("set it again, or `gbrain config unset {key}`"))
            }
            BrainError::Page { .. } => Self { kind: "page", message, hints: Vec::new() },
            BrainError::Io { .. } | BrainError::Watch(_) | BrainError::Threads(_) => {
                Self { kind: "io", message, hints: Vec::new() }
            }
        }
    }
}

impl From<EvalError> for CliError {
    fn from(error: EvalError) -> Self {
        let message = chain(&error);
        match error {
            EvalError::Brain(error) => error.into(),
            EvalError::Io { .. } => Self { kind: "io", message, hints: Vec::new() },
            EvalError::Baseline { .. }
            | EvalError::NotText { .. }
            | EvalError::LongLine { .. }
            | EvalError::LargeDocument { .. } => Self { kind: "input", message, hints: Vec::new() },
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::Busy => "busy",
            StoreError::NotInitialised => "not_initialised",
            StoreError::UnknownWorkspace { .. } => "unknown_workspace",
            StoreError::UnknownSource { .. } => "unknown_source",
            _ => "store",
        };
        Self { kind, message: chain(&error), hints: Vec::new() }
    }
}

impl From<IndexError> for CliError {
    fn from(error: IndexError) -> Self {
        let hint = "the index can be made again from the store at any time: `gbrain reindex`";
        Self { kind: "index", message: chain(&error), hints: Vec::new() }.hint(hint)
    }
}

impl From<IdError> for CliError {
    fn from(error: IdError) -> Self {
        Self::usage(error.to_string())
    }
}
