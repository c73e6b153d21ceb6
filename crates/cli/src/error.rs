//! The one error type of the command line: what went wrong, what to do, how to exit.

use std::error::Error;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::process::ExitCode;

use gbrain_brain::BrainError;
use gbrain_core::baseline::BaselineError;
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
        let mut text = format!("error: {}\n", one_line(&self.message));
        for hint in &self.hints {
            writeln!(text, "hint: {}", one_line(hint)).expect("writing to a string succeeds");
        }
        text
    }

    /// What `--json` prints on stdout.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "status": "error",
            "error": { "kind": self.kind, "message": one_line(&self.message), "hints": self.hints },
        })
    }
}

/// The longest message, in characters.
const LONGEST: usize = 1000;

/// A message that may quote a file: its control characters are escaped, and its middle is left out
/// where it is too long to be read.
fn one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(2 * LONGEST));
    let length = text.chars().count();
    for (at, c) in text.chars().enumerate() {
        match c {
            _ if length > LONGEST && at == LONGEST / 2 => shown.push_str(" … "),
            _ if length > LONGEST && (LONGEST / 2..length - LONGEST / 2).contains(&at) => (),
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
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
        let (kind, hint) = match error {
            EvalError::Brain(error) => return error.into(),
            EvalError::Io { source, .. } => ("io", of_io(&source)),
            EvalError::Baseline { source, .. } => ("input", of_baseline(&source)),
            EvalError::NotText { .. } | EvalError::LongLine { .. } => ("input", Some(ROWS)),
            EvalError::LargeDocument { .. } => ("input", Some("cut it into several files")),
        };
        let error = Self { kind, message, hints: Vec::new() };
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// What a file of rows is, for those who have none.
const ROWS: &str = "captures are NDJSON in UTF-8, as `gbrain eval export` prints them; a baseline is \
                    what `gbrain bench publish` makes of them";

fn of_io(error: &std::io::Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::NotFound => Some("is the path right? it is taken from the current directory"),
        ErrorKind::IsADirectory => Some("name a file in it"),
        _ => None,
    }
}

fn of_baseline(error: &BaselineError) -> Option<&'static str> {
    match error {
        BaselineError::Edited { .. } => Some(
            "take it from version control again, or publish it anew with `gbrain bench publish`",
        ),
        BaselineError::Empty => Some("`gbrain eval export > captured.ndjson` writes some"),
        BaselineError::Thresholds(_) => Some("publish it again with thresholds that are in range"),
        BaselineError::Row { .. }
        | BaselineError::Metadata { .. }
        | BaselineError::SecondMetadata { .. } => Some(ROWS),
        // It names the remedy itself.
        BaselineError::NoMetadata => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_that_can_be_read() {
        assert_eq!(one_line("größe: `a\u{1b}[31m\nb`"), "größe: `a\\u{1b}[31m\\nb`");
        let long = one_line(&format!("start {} end", "ü".repeat(5000)));
        assert!(long.starts_with("start ü") && long.ends_with("ü end"), "{long}");
        assert_eq!(long.chars().count(), LONGEST + 3);
    }
}
