//! The hashes of a baseline.

use sha2::{Digest as _, Sha256};

use crate::hash::Hash;

/// Names a query: 16 hexadecimal digits over its lower-cased, trimmed text with white space
/// collapsed. Two spellings that differ only in that are the same question.
pub fn query_hash(query: &str) -> String {
    let words: Vec<&str> = query.split_whitespace().collect();
    Hash::of(words.join(" ").to_lowercase().as_bytes()).short()
}

/// Names a set of queries, as every gbrain computes it: over the sorted query hashes.
pub fn source_hash<'a>(query_hashes: impl Iterator<Item = &'a str>) -> String {
    let mut hashes: Vec<&str> = query_hashes.collect();
    hashes.sort_unstable();
    Hash::of(hashes.join("\n").as_bytes()).to_hex()
}

/// A member at the end of the metadata: the hash, or the signature over it.
pub(super) fn end_member(name: &str, value: &str) -> String {
    format!(",\"{name}\":\"{value}\"")
}

/// A running hash over the metadata and every row as written.
pub(super) struct RowsHash(Sha256);

impl RowsHash {
    /// Begins with the line of metadata as it is written, leaving out the hash and the signature that
    /// stand in it. Text is hashed, not what it means: reading a number and writing it again may
    /// change it.
    pub(super) fn new(metadata: &str, rows_hash: Option<&str>, rows_hmac: Option<&str>) -> Self {
        let mut bare = metadata.to_owned();
        for (name, value) in [("rows_hash", rows_hash), ("rows_hmac", rows_hmac)] {
            if let Some(value) = value {
                bare = bare.replacen(&end_member(name, value), "", 1);
            }
        }
        let mut hasher = Self(Sha256::new());
        hasher.line(&bare);
        hasher
    }

    /// Takes the next line. Line ends are no part of it, so a checkout that changes them is no edit.
    pub(super) fn line(&mut self, line: &str) {
        let line = line.trim();
        self.0.update((line.len() as u64).to_le_bytes());
        self.0.update(line);
    }

    pub(super) fn finish(self) -> String {
        Hash(self.0.finalize().into()).to_hex()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_does_not_make_another_question() {
        assert_eq!(query_hash("  Who  IS\tAda? "), query_hash("who is ada?"));
        assert_ne!(query_hash("who is ada"), query_hash("who is ada?"));
    }

    #[test]
    fn the_order_of_queries_does_not_matter() {
        assert_eq!(source_hash(["b", "a"].into_iter()), source_hash(["a", "b"].into_iter()));
    }
}
