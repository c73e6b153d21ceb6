//! Reading captures and baselines, a line at a time.
//!
//! A byte order mark, carriage returns and blank lines are tolerated. One malformed line refuses
//! the whole file, with its number: a gate on part of a file would be a gate on something else.

use serde_json::Value;

use crate::capture::CapturedRow;
use crate::format::capture::{RowError, read_object, read_row};

use super::hash::{RowsHash, query_hash, source_hash};
use super::metadata::{Metadata, ThresholdsError, WireMetadata, is_metadata};

/// Why a file of captures or a baseline can't be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BaselineError {
    /// A line is no row.
    #[error("line {line}: {source}")]
    Row {
        /// From 1.
        line: usize,
        /// Why.
        source: RowError,
    },
    /// The metadata can't be read.
    #[error("line {line}: the metadata of the baseline can't be read ({detail})")]
    Metadata {
        /// From 1.
        line: usize,
        /// Why.
        detail: String,
    },
    /// Metadata somewhere else than first.
    #[error("line {line}: metadata of a baseline after the first row; two files in one?")]
    SecondMetadata {
        /// From 1.
        line: usize,
    },
    /// Nothing in it.
    #[error("there are no rows in it")]
    Empty,
    /// Captures where a baseline was expected.
    #[error(
        "it is no baseline: its first line is no metadata; make one with `gbrain bench publish`"
    )]
    NoMetadata,
    /// A threshold that nothing can be measured against.
    #[error(transparent)]
    Thresholds(#[from] ThresholdsError),
    /// The file was cut off or edited.
    #[error("it was edited or cut off after it was published: {what}")]
    Edited {
        /// What does not fit.
        what: String,
    },
}

/// Whether a file can tell that it was edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    /// Its hash is there and right.
    Intact,
    /// It has none: made by another gbrain.
    NotTamperEvident,
}

/// A baseline, read and verified.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// Its first line.
    pub metadata: Metadata,
    /// Its rows, in the order of the file.
    pub rows: Vec<CapturedRow>,
    /// Whether an edit would have been seen.
    pub integrity: Integrity,
}

/// A file that replay takes: captures, or a baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Captures {
    /// The metadata, if it is a baseline.
    pub baseline: Option<(Metadata, Integrity)>,
    /// Its rows, in the order of the file.
    pub rows: Vec<CapturedRow>,
}

/// Takes the lines of a file one after another.
#[derive(Default)]
pub struct Reader {
    line: usize,
    head: Option<(Metadata, RowsHash)>,
    rows: Vec<CapturedRow>,
}

impl Reader {
    /// Takes the next line.
    pub fn line(&mut self, text: &str) -> Result<(), BaselineError> {
        self.line += 1;
        let text = if self.line == 1 { text.trim_start_matches('\u{feff}') } else { text };
        let text = text.trim();
        if text.is_empty() {
            return Ok(());
        }
        let line = self.line;
        let value = read_object(text).map_err(|source| BaselineError::Row { line, source })?;
        if value.as_object().is_some_and(is_metadata) {
            return self.metadata(value, text);
        }
        if let Some((_, hash)) = &mut self.head {
            hash.line(text);
        }
        let row = read_row(value, line).map_err(|source| BaselineError::Row { line, source })?;
        self.rows.push(row);
        Ok(())
    }

    fn metadata(&mut self, value: Value, text: &str) -> Result<(), BaselineError> {
        let line = self.line;
        if self.head.is_some() || !self.rows.is_empty() {
            return Err(BaselineError::SecondMetadata { line });
        }
        let wire: WireMetadata = serde_json::from_value(value)
            .map_err(|error| BaselineError::Metadata { line, detail: error.to_string() })?;
        let metadata = Metadata::from(wire);
        metadata.thresholds.check()?;
        let hash = RowsHash::new(text, metadata.rows_hash.as_deref());
        self.head = Some((metadata, hash));
        Ok(())
    }

    /// The file as captures or a baseline; a baseline is verified.
    pub fn finish(self) -> Result<Captures, BaselineError> {
        let Self { head, rows, .. } = self;
        if rows.is_empty() {
            return Err(BaselineError::Empty);
        }
        let Some((metadata, hash)) = head else { return Ok(Captures { baseline: None, rows }) };
        let integrity = verify(&metadata, hash, &rows)?;
        Ok(Captures { baseline: Some((metadata, integrity)), rows })
    }

    /// The file as a baseline, verified.
    pub fn finish_baseline(self) -> Result<Baseline, BaselineError> {
        let Captures { baseline, rows } = self.finish()?;
        let (metadata, integrity) = baseline.ok_or(BaselineError::NoMetadata)?;
        Ok(Baseline { metadata, rows, integrity })
    }
}

fn verify(
    metadata: &Metadata,
    hash: RowsHash,
    rows: &[CapturedRow],
) -> Result<Integrity, BaselineError> {
    let edited = |what: String| Err(BaselineError::Edited { what });
    if metadata.row_count != rows.len() {
        return edited(format!("it says {} rows and has {}", metadata.row_count, rows.len()));
    }
    let hashes: Vec<String> = rows.iter().map(|row| query_hash(&row.query)).collect();
    for (row, hash) in rows.iter().zip(&hashes) {
        if row.query_hash.as_ref().is_some_and(|kept| kept != hash) {
            return edited(format!("line {}: the query is not the one that was hashed", row.line));
        }
    }
    if source_hash(hashes.iter().map(String::as_str)) != metadata.source_hash {
        return edited("source_hash does not fit its queries".to_owned());
    }
    match &metadata.rows_hash {
        None => Ok(Integrity::NotTamperEvident),
        Some(kept) if *kept == hash.finish() => Ok(Integrity::Intact),
        Some(_) => edited("rows_hash does not fit its rows and thresholds".to_owned()),
    }
}
