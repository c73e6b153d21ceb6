//! Why qrels could not be read.

use std::fmt;

use crate::reading::meter::ReadingMeterError;

/// Where in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QrelsLocation {
    /// An entry of `queries`, from 0.
    Entry(usize),
    /// A line, from 1.
    Line(usize),
}

impl fmt::Display for QrelsLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(at) => write!(f, "entry {at} of `queries`"),
            Self::Line(line) => write!(f, "line {line}"),
        }
    }
}

/// Why qrels could not be read. Every message names the place and the remedy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum QrelsError {
    #[error(transparent)]
    Interrupted(ReadingMeterError),
    #[error("the qrels file is empty; judge at least one query")]
    Empty,
    /// Bytes that are no text.
    #[error("byte {byte} is not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// The first bad byte.
        byte: usize,
    },
    #[error("line {line} is not valid JSON: {reason}")]
    Json {
        line: usize,
        /// The error of the parser.
        reason: String,
    },
    /// A version that this program does not know.
    #[error(
        "schema_version is {found}; this program reads version 1: write `\"schema_version\": 1`, or use a newer gbrain"
    )]
    SchemaVersion {
        /// The unexpected value, as JSON.
        found: String,
    },
    /// A list without entries.
    #[error("there is no query; `queries` needs at least one entry")]
    NoQueries,
    /// An entry or a line of the wrong form.
    #[error("{place}: {reason}")]
    Malformed {
        place: QrelsLocation,
        /// The error and the expected form.
        reason: String,
    },
    /// A query that asks nothing.
    #[error("{place}: `query` is blank; write what is asked")]
    BlankQuery { place: QrelsLocation },
    /// A query without anything to find.
    #[error(
        "{place}: nothing is relevant; list at least one page in `relevant_slugs` or `relevant`"
    )]
    NoRelevant { place: QrelsLocation },
    /// A page without a source in the explicit shape.
    #[error(
        "{place}: page {slug} has no source_id, and there is no default: add `\"source_id\"`, or list \
         slugs of the default source in `relevant_slugs` and `first_relevant_slug`"
    )]
    NoSource {
        place: QrelsLocation,
        /// Its slug, as JSON.
        slug: String,
    },
    /// A grade that is no number.
    #[error("{place}: grade {grade} of `{doc}` is not a finite number")]
    BadGrade { place: QrelsLocation, doc: String, grade: String },
    /// A grade with a fraction or an exponent, of which trec_eval reads the digits before it.
    #[error(
        "{place}: grade {grade} of `{doc}` is not a whole number; trec_eval would read it as {read}: \
         write whole grades, such as 0, 1 and 2"
    )]
    FractionalGrade {
        place: QrelsLocation,
        doc: String,
        grade: String,
        /// The number that `atol` would read.
        read: i64,
    },
    /// Two entries with one id.
    #[error("entry {at} repeats query_id `{id}`; give every query its own id")]
    DuplicateQuery {
        /// The second entry, from 0.
        at: usize,
        id: String,
    },
    /// One document, two grades.
    #[error("query `{query}` judges `{doc}` both {} and {}; keep one of them", grades.0, grades.1)]
    JudgedTwice { query: String, doc: String, grades: (f64, f64) },
}

impl QrelsError {
    /// An entry or a line of the wrong form.
    pub(crate) fn malformed(place: QrelsLocation, reason: impl Into<String>) -> Self {
        Self::Malformed { place, reason: reason.into() }
    }
}
