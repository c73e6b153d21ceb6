//! The payload that a commit stores about itself.

use gbrain_core::hash::Hash;
use gbrain_core::id::Generation;
use gbrain_core::page::DERIVE_VERSION;
use gbrain_core::text::ANALYSER_VERSION;
use serde::{Deserialize, Serialize};

use crate::contract::Corpus;
use crate::statistics::{ChunkTotals, CorpusTotals};

/// The version of the files: fields, records and this payload.
const FORMAT_VERSION: u32 = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Payload {
    pub(super) corpus: Corpus,
    pub(super) statistics: CorpusTotals,
    /// The model whose vectors are stored.
    pub(super) model: Option<String>,
}

/// A property of an index that does not match its reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) what: &'static str,
    pub(super) found: String,
    pub(super) expected: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct WirePayload {
    format_version: u32,
    analyser_version: u32,
    derive_version: u32,
    store: String,
    generation: i64,
    root: String,
    pages: u64,
    chunks: u64,
    world: [u64; 2],
    private: [u64; 2],
    model: Option<String>,
    /// The hash of the other fields. Absent in commits of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checksum: Option<String>,
}

impl Payload {
    /// Serialises the payload of a commit that belongs to `store`.
    pub(super) fn write(&self, store: &str) -> String {
        let Corpus { generation, root, pages, chunks } = self.corpus;
        let CorpusTotals { world, private } = self.statistics;
        let mut wire = WirePayload {
            format_version: FORMAT_VERSION,
            analyser_version: ANALYSER_VERSION,
            derive_version: DERIVE_VERSION,
            store: store.to_owned(),
            generation: generation.0,
            root: root.to_hex(),
            pages,
            chunks,
            world: [world.chunks, world.tokens],
            private: [private.chunks, private.tokens],
            model: self.model.clone(),
            checksum: None,
        };
        wire.checksum = Some(wire.checksum());
        serde_json::to_string(&wire).expect("a plain record always serialises")
    }

    /// Reads a payload if it has this version and belongs to `store`.
    pub(super) fn read(payload: Option<&str>, store: &str) -> Result<Self, Mismatch> {
        let unreadable = || Mismatch::new("its commit", "unreadable", "readable");
        let wire: WirePayload =
            payload.and_then(|json| serde_json::from_str(json).ok()).ok_or_else(unreadable)?;
        wire.check(store)?;
        if wire.checksum.as_ref().is_some_and(|checksum| *checksum != wire.checksum()) {
            return Err(Mismatch::new("its commit", "damaged", "as it was written"));
        }
        let totals = |[chunks, tokens]: [u64; 2]| ChunkTotals { chunks, tokens };
        Ok(Self {
            corpus: Corpus {
                generation: Generation(wire.generation),
                root: Hash::from_hex(&wire.root).ok_or_else(unreadable)?,
                pages: wire.pages,
                chunks: wire.chunks,
            },
            statistics: CorpusTotals { world: totals(wire.world), private: totals(wire.private) },
            model: wire.model,
        })
    }
}

impl WirePayload {
    /// The hash of everything but the checksum.
    fn checksum(&self) -> String {
        let rest = Self { checksum: None, ..self.clone() };
        let text = serde_json::to_vec(&rest).expect("a plain record always serialises");
        Hash::of(&text).short()
    }

    fn check(&self, store: &str) -> Result<(), Mismatch> {
        let numbers = [
            ("its format", self.format_version, FORMAT_VERSION),
            ("its analyser", self.analyser_version, ANALYSER_VERSION),
            ("its derivation of pages", self.derive_version, DERIVE_VERSION),
        ];
        for (what, found, expected) in numbers {
            if found != expected {
                return Err(Mismatch::new(what, found, expected));
            }
        }
        if self.store != store {
            return Err(Mismatch::new("its store", &self.store, store));
        }
        Ok(())
    }
}

impl Mismatch {
    fn new(what: &'static str, found: impl ToString, expected: impl ToString) -> Self {
        Self { what, found: found.to_string(), expected: expected.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_read_back() {
        let payload = Payload {
            corpus: Corpus { generation: Generation(7), root: Hash::of(b"x"), pages: 2, chunks: 3 },
            statistics: CorpusTotals {
                world: ChunkTotals { chunks: 2, tokens: 20 },
                private: ChunkTotals { chunks: 1, tokens: 9 },
            },
            model: Some("model-1".to_owned()),
        };
        let written = payload.write("store-1");
        assert_eq!(Payload::read(Some(&written), "store-1"), Ok(payload));
        assert_eq!(Payload::read(Some(&written), "store-2").unwrap_err().what, "its store");
        let current = format!("\"format_version\":{FORMAT_VERSION}");
        let older = written.replace(&current, "\"format_version\":0");
        assert_eq!(Payload::read(Some(&older), "store-1").unwrap_err().found, "0");
        assert_eq!(Payload::read(None, "store-1").unwrap_err().found, "unreadable");
        let other = written.replace("model-1", "model-2");
        assert_eq!(Payload::read(Some(&other), "store-1").unwrap_err().found, "damaged");
    }
}
