//! The offline judge on sentences that people labelled.
//!
//! Rules were made looking at the errors of one half of the labelled pairs; of the other half only the figures
//! were seen. Halves are by the hash of a row's id. SciFact holds a claim against a whole abstract, which takes
//! knowledge that this judge has not: it is silent there.
//!
//! Nothing here but core and JSON: the tests of core, which cannot depend on this crate, include this very file.

use std::collections::BTreeMap;
use std::path::Path;

use gbrain_core::contradiction::{
    CurationTier, Pair, PairKind, Statement, StatementLocation, StatementRelation, offline,
};
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::source::SourceTrust;
use serde_json::Value;

/// Contradictions that were found, accusations, and contradictions that are there.
#[derive(Debug, Default, Clone, Copy)]
pub struct DetectionCounts {
    /// Accused, and rightly.
    pub right: usize,
    /// Accused.
    pub accused: usize,
    /// Contradictions.
    pub there: usize,
    /// Pairs.
    pub pairs: usize,
}

impl DetectionCounts {
    /// Of the accused, the share that are contradictions.
    pub fn precision(self) -> f64 {
        self.right as f64 / self.accused.max(1) as f64
    }

    /// Of the contradictions, the share that are accused.
    pub fn recall(self) -> f64 {
        self.right as f64 / self.there.max(1) as f64
    }

    pub fn f1(self) -> f64 {
        2.0 * self.right as f64 / (self.accused + self.there).max(1) as f64
    }
}

/// A passage of a page with this name.
pub fn statement(slug: &str, text: &str) -> Statement {
    let key = PageKey::parse(slug, &SourceId::default()).expect("the name is one");
    Statement {
        place: StatementLocation::Passage { ordinal: 0, chunk_id: format!("{slug}#0") },
        key,
        text: text.to_owned(),
        holder: None,
        date: None,
        tier: CurationTier::Other,
        trust: SourceTrust::Trusted,
    }
}

/// Two passages of two pages.
pub fn pair(a: &str, b: &str) -> Pair {
    Pair::new(PairKind::CrossPage, statement("a", a), statement("b", b), 1.0)
}

/// The figures of a file of labelled pairs, by source and half.
pub fn measure(file: &Path) -> std::io::Result<BTreeMap<(String, &'static str), DetectionCounts>> {
    let mut figures: BTreeMap<(String, &str), DetectionCounts> = BTreeMap::new();
    for line in std::fs::read_to_string(file)?.lines() {
        let row: Value = serde_json::from_str(line)?;
        let text = |key: &str| row[key].as_str().unwrap_or_default();
        let is_seen = Hash::of(text("id").as_bytes()).0[0].is_multiple_of(2);
        let source = text("src").split('/').next().unwrap_or_default().to_owned();
        let judgement = offline::judge(&pair(text("a"), text("b")));
        let is_accused = judgement.verdict == StatementRelation::Contradiction;
        let is_one = text("label") == "contradiction";
        let one = figures.entry((source, if is_seen { "seen" } else { "unseen" })).or_default();
        one.pairs += 1;
        one.there += usize::from(is_one);
        one.accused += usize::from(is_accused);
        one.right += usize::from(is_accused && is_one);
    }
    Ok(figures)
}
