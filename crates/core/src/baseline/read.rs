//! Reading captures and baselines, a line at a time.
//!
//! A byte order mark, carriage returns and blank lines are tolerated. One malformed line refuses
//! the whole file, with its number: a gate on part of a file would be a gate on something else.

use serde_json::Value;

use crate::capture::CapturedRow;
use crate::format::capture::{RowError, read_object, read_row};

use super::hash::{RowsHash, query_hash, source_hash};
use super::key::{BaselineKey, SignatureCheck};
use super::metadata::{BaselineMetadata, ThresholdsError, WireMetadata, is_metadata};
use super::own_fields::{METADATA_FIELDS, ROW_FIELDS, first_own};
use crate::named;

/// Why a file of captures or a baseline can't be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BaselineError {
    /// A line is no row.
    #[error("line {line}: {source}")]
    Row { line: usize, source: RowError },
    /// The metadata can't be read.
    #[error("line {line}: the metadata of the baseline can't be read ({detail})")]
    Metadata { line: usize, detail: String },
    /// Metadata somewhere else than first.
    #[error("line {line}: metadata of a baseline after the first row; two files in one?")]
    SecondMetadata { line: usize },
    #[error("there are no rows in it")]
    Empty,
    /// Captures where a baseline was expected.
    #[error(
        "it is no baseline: its first line is no metadata; make one with `gbrain baseline publish`"
    )]
    NoMetadata,
    /// A threshold that nothing can be measured against.
    #[error(transparent)]
    Thresholds(#[from] ThresholdsError),
    /// The file was cut off or edited.
    #[error("it was edited or cut off after it was published: {what}")]
    Edited {
        /// The mismatch in words.
        what: String,
    },
    /// A key is configured and the file is not signed.
    #[error("it is not signed, and a baseline key is configured")]
    Unsigned,
    /// A key is configured and the signature is not of this key and this content.
    #[error("its signature does not fit: {what}")]
    BadSignature {
        /// The mismatch in words.
        what: String,
    },
}

named! {
    /// The strength of a file's integrity evidence.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum BaselineIntegrity {
        /// The file is signed, and the signature is valid under the configured key.
        Signed = "signature_verified",
        /// The hash is valid. It has no key, so only accidental edits would be detected.
        Intact = "hash_verified",
        /// The hash is valid and the file is signed, but no key is configured.
        SignatureNotChecked = "signature_not_checked",
        /// The file has no hash: another gbrain made it.
        NotTamperEvident = "edits_cannot_be_detected",
    }
}

impl BaselineIntegrity {
    /// The check that was made, in a few words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Signed => "signature verified",
            Self::Intact => "hash verified",
            Self::SignatureNotChecked => "hash verified, signature not checked",
            Self::NotTamperEvident => "no hash: edits cannot be detected",
        }
    }

    /// A warning for readers of a report, if there is one.
    pub fn warning(self) -> Option<&'static str> {
        match self {
            Self::Signed | Self::Intact => None,
            Self::SignatureNotChecked => Some(
                "the baseline is signed and its signature was not checked: no key is configured \
                 (GBRAIN_BASELINE_KEY or --key-file)",
            ),
            Self::NotTamperEvident => Some(
                "the baseline has no rows_hash: edits cannot be detected; publish it again to get one",
            ),
        }
    }
}

/// A baseline, read and verified.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    pub metadata: BaselineMetadata,
    /// Its rows, in the order of the file.
    pub rows: Vec<CapturedRow>,
    /// Whether an edit would have been seen.
    pub integrity: BaselineIntegrity,
}

/// A file that replay takes: captures, or a baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct CaptureFile {
    /// The metadata, if it is a baseline.
    pub baseline: Option<(BaselineMetadata, BaselineIntegrity)>,
    /// Its rows, in the order of the file.
    pub rows: Vec<CapturedRow>,
}

/// Takes the lines of a file one after another.
#[derive(Default)]
pub struct BaselineReader {
    line: usize,
    head: Option<(BaselineMetadata, RowsHash)>,
    /// A field that only we write, in a file without `rows_hash`, and its line.
    own_field: Option<(&'static str, usize)>,
    /// Whether rows of a baseline stand without its metadata.
    is_headless: bool,
    signature: SignatureCheck,
    rows: Vec<CapturedRow>,
    objects: Option<Vec<Value>>,
}

impl BaselineReader {
    /// A reader that keeps the object of every row too, for [`BaselineReader::finish_publishable`].
    pub fn keeping_objects() -> Self {
        Self { objects: Some(Vec::new()), ..Self::default() }
    }

    /// The same reader with signatures checked.
    #[must_use]
    pub fn checking(self, signature: SignatureCheck) -> Self {
        Self { signature, ..self }
    }

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
        if let Some((metadata, hash)) = &mut self.head {
            hash.line(text);
            if metadata.rows_hash.is_none() && self.own_field.is_none() {
                let found = value.as_object().and_then(|row| first_own(row, ROW_FIELDS));
                self.own_field = found.map(|field| (field, line));
            }
        } else if value.get("weight").is_some() && value.get("query_hash").is_some() {
            self.is_headless = true;
        }
        if let Some(objects) = &mut self.objects {
            objects.push(value.clone());
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
        let own = value.as_object().and_then(|object| first_own(object, METADATA_FIELDS));
        let wire: WireMetadata = serde_json::from_value(value)
            .map_err(|error| BaselineError::Metadata { line, detail: error.to_string() })?;
        let metadata = BaselineMetadata::from(wire);
        metadata.thresholds.check()?;
        self.own_field = own.map(|field| (field, line));
        let hash =
            RowsHash::new(text, metadata.rows_hash.as_deref(), metadata.rows_hmac.as_deref());
        self.head = Some((metadata, hash));
        Ok(())
    }

    /// The file as captures or a baseline; a baseline is verified.
    pub fn finish(self) -> Result<CaptureFile, BaselineError> {
        let Self { head, rows, own_field, is_headless, signature, .. } = self;
        if rows.is_empty() {
            return Err(BaselineError::Empty);
        }
        if is_headless {
            return edited("its rows are those of a baseline, and its metadata is gone".to_owned());
        }
        let Some((metadata, hash)) = head else { return Ok(CaptureFile { baseline: None, rows }) };
        verify_counts(&metadata, &rows)?;
        let integrity = match &metadata.rows_hash {
            None => without_hash(own_field, &signature)?,
            Some(kept) => verify_hash(&metadata, kept, &hash.finish(), &signature)?,
        };
        Ok(CaptureFile { baseline: Some((metadata, integrity)), rows })
    }

    /// The rows with the objects they were read from; a baseline is verified, so that publishing
    /// it again can't hide an edit.
    pub fn finish_publishable(mut self) -> Result<Vec<(Value, CapturedRow)>, BaselineError> {
        let objects = self.objects.take().unwrap_or_default();
        let rows = self.finish()?.rows;
        Ok(objects.into_iter().zip(rows).collect())
    }

    /// The file as a baseline, verified.
    pub fn finish_baseline(self) -> Result<Baseline, BaselineError> {
        let CaptureFile { baseline, rows } = self.finish()?;
        let (metadata, integrity) = baseline.ok_or(BaselineError::NoMetadata)?;
        Ok(Baseline { metadata, rows, integrity })
    }
}

fn edited<T>(what: String) -> Result<T, BaselineError> {
    Err(BaselineError::Edited { what })
}

/// Checks the row count and query hashes that every baseline states, ours or another gbrain's.
fn verify_counts(metadata: &BaselineMetadata, rows: &[CapturedRow]) -> Result<(), BaselineError> {
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
    Ok(())
}

/// A file without a hash is one of another gbrain, or one of ours whose hash was deleted.
fn without_hash(
    own_field: Option<(&'static str, usize)>,
    signature: &SignatureCheck,
) -> Result<BaselineIntegrity, BaselineError> {
    if let Some((field, line)) = own_field {
        return edited(format!(
            "line {line} has `{field}`, which only `gbrain baseline publish` writes, and rows_hash is gone"
        ));
    }
    match signature {
        SignatureCheck::Required(_) => Err(BaselineError::Unsigned),
        SignatureCheck::NoKey | SignatureCheck::IfSigned(_) => {
            Ok(BaselineIntegrity::NotTamperEvident)
        }
    }
}

fn verify_hash(
    metadata: &BaselineMetadata,
    kept: &str,
    computed: &str,
    signature: &SignatureCheck,
) -> Result<BaselineIntegrity, BaselineError> {
    if kept != computed {
        return edited("rows_hash does not fit its rows and thresholds".to_owned());
    }
    let rows_hmac = metadata.rows_hmac.as_deref();
    if rows_hmac.is_some() != metadata.key_id.is_some() {
        return edited("it has half a signature: key_id and rows_hmac belong together".to_owned());
    }
    match (signature, rows_hmac) {
        (SignatureCheck::NoKey, None) | (SignatureCheck::IfSigned(_), None) => {
            Ok(BaselineIntegrity::Intact)
        }
        (SignatureCheck::NoKey, Some(_)) => Ok(BaselineIntegrity::SignatureNotChecked),
        (SignatureCheck::Required(_), None) => Err(BaselineError::Unsigned),
        (SignatureCheck::IfSigned(key) | SignatureCheck::Required(key), Some(rows_hmac)) => {
            verify_signature(metadata, computed, rows_hmac, key)
        }
    }
}

fn verify_signature(
    metadata: &BaselineMetadata,
    rows_hash: &str,
    rows_hmac: &str,
    key: &BaselineKey,
) -> Result<BaselineIntegrity, BaselineError> {
    if key.has_signed(rows_hash, rows_hmac) {
        return Ok(BaselineIntegrity::Signed);
    }
    let signer = metadata.key_id.as_deref().unwrap_or_default();
    let what = if signer == key.id() {
        "it was edited after it was signed".to_owned()
    } else {
        format!("it names key {signer}, and the configured key is {}", key.id())
    };
    Err(BaselineError::BadSignature { what })
}
