//! Errors that prevent a measurement, as opposed to findings of one.

use std::io::ErrorKind;
use std::path::PathBuf;

use gbrain_brain::BrainError;
use gbrain_core::baseline::BaselineError;
use gbrain_core::fault::{Fault, FaultKind, chain};

use crate::benchmark::{BenchmarkSpecError, DatasetError};

/// Errors that prevent a measurement.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// The brain could not be queried.
    #[error(transparent)]
    Brain(#[from] BrainError),
    /// A file could not be read or written.
    #[error("{}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// A file of captures or a baseline is invalid.
    #[error("{}", path.display())]
    Baseline {
        path: PathBuf,
        #[source]
        source: BaselineError,
    },
    #[error("{}", path.display())]
    Dataset { path: PathBuf, source: Box<DatasetError> },
    #[error(transparent)]
    Spec(#[from] BenchmarkSpecError),
    /// The rows belong to another run.
    #[error("{}: its rows were made by run {found}, and this is run {run}", path.display())]
    OtherRun {
        path: PathBuf,
        /// The run of the rows.
        found: String,
        /// The run to resume.
        run: String,
    },
    /// Rows to resume from do not match the dataset or their own rankings.
    #[error(
        "{}: {count} rows can't be resumed from: {}{}",
        path.display(),
        shown.join("; "),
        if *count > shown.len() { "; and more" } else { "" }
    )]
    BadRows {
        path: PathBuf,
        count: usize,
        /// Descriptions of the first ones.
        shown: Vec<String>,
    },
    /// A file is not UTF-8 text.
    #[error("{}: line {line} is not UTF-8", path.display())]
    NotText { path: PathBuf, line: usize },
    #[error("{}: line {line}: {why}", path.display())]
    Line { path: PathBuf, line: usize, why: String },
    /// A line exceeds the maximum length of a row.
    #[error("{}: line {line} is longer than {} MiB; is it NDJSON, one row a line?", path.display(), limit >> 20)]
    LongLine { path: PathBuf, line: usize, limit: usize },
    /// None of the judged pages exists in the target.
    #[error("none of the {judged} judged pages exists in this brain, for example `{example}`")]
    NoJudgedPage {
        /// The number of pages judged relevant.
        judged: usize,
        example: String,
    },
    #[error("the brain has no pages: nothing can be found again in it")]
    EmptyBrain,
    #[error("{} is larger than {} MiB, which is the most that is read as one document", path.display(), limit >> 20)]
    LargeDocument { path: PathBuf, limit: u64 },
}

impl From<EvalError> for Fault {
    fn from(error: EvalError) -> Self {
        let message = chain(&error);
        let (kind, hint) = match error {
            EvalError::Brain(error) => return error.into(),
            EvalError::Io { source, .. } => (FaultKind::Io, of_io(&source)),
            EvalError::Baseline { source, .. } => (FaultKind::Input, of_baseline(&source)),
            EvalError::Dataset { .. } => (FaultKind::Input, Some(DATASETS)),
            EvalError::Spec(_) => (FaultKind::Usage, None),
            EvalError::OtherRun { .. } => (FaultKind::Conflict, Some(OTHER_RUN)),
            EvalError::BadRows { .. } => (FaultKind::Conflict, Some(BAD_ROWS)),
            EvalError::NotText { .. } | EvalError::LongLine { .. } => {
                (FaultKind::Input, Some(ROWS))
            }
            EvalError::Line { .. } => (FaultKind::Input, None),
            EvalError::NoJudgedPage { .. } => (FaultKind::Input, Some(OTHER_BRAIN)),
            EvalError::EmptyBrain => (FaultKind::Input, Some(EMPTY_BRAIN)),
            EvalError::LargeDocument { .. } => {
                (FaultKind::Input, Some("cut it into several files"))
            }
        };
        let fault = Self::new(kind, message);
        match hint {
            Some(hint) => fault.hint(hint),
            None => fault,
        }
    }
}

/// Describes a file of rows, for users who have none.
const ROWS: &str = "captures are NDJSON in UTF-8, as `gbrain eval export` prints them; a baseline is \
                    what `gbrain baseline publish` makes of them";

/// Where datasets come from.
const DATASETS: &str =
    "`gbrain eval datasets` says where to get each dataset and what it looks like";

/// The remedy for rows that cannot be resumed from.
const BAD_ROWS: &str = "nothing was changed: delete these lines, or write to a new file without \
                        --resume-from";
/// The remedy for rows of another run.
const OTHER_RUN: &str = "dataset, k, granularity, settings, model and program must be the same: give \
                         them as before, or start another file with --output";

/// The remedy for judgements of pages that do not exist.
const OTHER_BRAIN: &str = "use the brain that the judgements are about (--home, --workspace); an id \
                           without a source is a page of the source `default`: write `source::slug` for \
                           pages of others";

/// The remedy for a brain without pages.
const EMPTY_BRAIN: &str =
    "import the corpus first (`gbrain import DIR`), or name the right brain (--home, --workspace)";

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
            "take it from version control again, or publish it anew with `gbrain baseline publish`",
        ),
        BaselineError::Unsigned => Some(
            "publish it again with the key to sign it, or unset GBRAIN_BASELINE_KEY and leave out --key-file",
        ),
        BaselineError::BadSignature { .. } => Some(
            "use the key that signed it, take it from version control again, or publish it anew",
        ),
        BaselineError::Empty => Some("`gbrain eval export > captured.ndjson` writes some"),
        BaselineError::Thresholds(_) => Some("publish it again with thresholds that are in range"),
        BaselineError::Row { .. }
        | BaselineError::Metadata { .. }
        | BaselineError::SecondMetadata { .. } => Some(ROWS),
        // Its message names the remedy.
        BaselineError::NoMetadata => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_faults_of_a_kind() {
        let path = || PathBuf::from("rows.ndjson");
        let check = |error: EvalError, kind: FaultKind, has_hint: bool| {
            let fault = Fault::from(error);
            assert_eq!((fault.kind, !fault.hints.is_empty()), (kind, has_hint), "{fault:?}");
        };
        let io = |kind: ErrorKind| EvalError::Io { path: path(), source: kind.into() };
        check(io(ErrorKind::NotFound), FaultKind::Io, true);
        check(io(ErrorKind::StorageFull), FaultKind::Io, false);
        let baseline = |source| EvalError::Baseline { path: path(), source };
        check(baseline(BaselineError::Empty), FaultKind::Input, true);
        check(baseline(BaselineError::NoMetadata), FaultKind::Input, false);
        check(EvalError::NotText { path: path(), line: 3 }, FaultKind::Input, true);
        check(EvalError::LargeDocument { path: path(), limit: 1 << 20 }, FaultKind::Input, true);
        check(BrainError::Watch("no".to_owned()).into(), FaultKind::Io, false);
    }
}
