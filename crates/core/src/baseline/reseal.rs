//! Sealing a baseline again after its owner erased something from its rows.
//!
//! Promises: only a file that was right before gets a new seal, so that an edit can't be hidden behind an erasure; a
//! signed file gets a new signature from its own key only.

use super::hash::{RowsHash, end_member};
use super::key::{BaselineKey, SignatureCheck};
use super::read::{BaselineReader, CaptureFile};

/// The effect of a purge on the seal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResealOutcome {
    /// The file has no hash: captures, or a baseline of another gbrain.
    NoSeal,
    /// The file with its new hash and signature.
    Sealed(String),
    /// The file was edited before, or its signature can't be made again.
    Refused,
}

/// Seals rows that were changed in place. `original` is the file before.
pub fn reseal(original: &str, changed: &str, key: Option<&BaselineKey>) -> ResealOutcome {
    let mut reader = BaselineReader::default().checking(SignatureCheck::if_signed(key));
    let is_read = original.lines().all(|line| reader.line(line).is_ok());
    let captures = if is_read { reader.finish().ok() } else { None };
    let Some(CaptureFile { baseline, .. }) = captures else { return ResealOutcome::Refused };
    let Some((metadata, _)) = baseline else { return ResealOutcome::NoSeal };
    let (rows_hash, rows_hmac) = (metadata.rows_hash.as_deref(), metadata.rows_hmac.as_deref());
    let Some(old_hash) = rows_hash else { return ResealOutcome::NoSeal };
    if rows_hmac.is_some() && key.is_none() {
        return ResealOutcome::Refused;
    }
    let bare = |line: &str| line.trim_start_matches('\u{feff}').trim().to_owned();
    let mut lines = changed.lines().map(bare).filter(|line| !line.is_empty());
    let Some(head) = lines.next() else { return ResealOutcome::Refused };
    let mut hash = RowsHash::new(&head, rows_hash, rows_hmac);
    lines.for_each(|line| hash.line(&line));
    let new_hash = hash.finish();
    let mut sealed = replace(changed, "rows_hash", old_hash, &new_hash);
    if let Some((old, key)) = rows_hmac.zip(key) {
        sealed = replace(&sealed, "rows_hmac", old, &key.sign(&new_hash));
    }
    ResealOutcome::Sealed(sealed)
}

fn replace(text: &str, name: &str, old: &str, new: &str) -> String {
    text.replacen(&end_member(name, old), &end_member(name, new), 1)
}
