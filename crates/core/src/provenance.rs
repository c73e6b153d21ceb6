//! Provenance: the factors behind a result, and the differences between two results.
//!
//! Fingerprints are compared, never trusted to be complete: a factor that one side did not record
//! is unknown, which is neither equal nor different.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named;
use crate::ranking::CorpusFingerprint;
use crate::search::Settings;

/// The program that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Software {
    /// Version of the release.
    pub version: String,
    /// A fingerprint of the source that rankings depend on.
    pub code: String,
}

/// The corpus that was searched, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CapturedCorpus")]
pub struct CorpusSnapshot {
    /// The store's name. Generations of different stores have nothing to do with each other.
    pub store: String,
    /// The generation that was searched.
    pub generation: i64,
    /// Hash of its content.
    #[serde(flatten)]
    pub fingerprint: CorpusFingerprint,
}

/// The origin of a result. Factors that were not recorded are none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Provenance {
    pub software: Option<Software>,
    /// Every number of the pipeline.
    pub settings: Option<Settings>,
    pub corpus: Option<CorpusSnapshot>,
    /// The model whose vectors were searched: none when it was not recorded, and none inside when
    /// none were.
    pub embedder: Option<Option<String>>,
    /// The target, where it is not a brain of this program: its name and where it is.
    pub target: Option<String>,
}

named! {
    /// Something that a ranking depends on.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum RankingFactor {
        Code = "code",
        /// The numbers of the pipeline.
        Settings = "settings",
        Corpus = "corpus",
        Model = "model",
    }
}

named! {
    /// The comparison of a factor between two results.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum FactorDifference {
        /// The factor is the same in both.
        Same = "same",
        Differs = "differs",
        /// One side did not record it.
        Unknown = "unknown",
    }
}

/// The comparison of every factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Differences")]
pub struct FactorDifferences {
    pub code: FactorDifference,
    /// The numbers of the pipeline.
    pub settings: FactorDifference,
    pub corpus: FactorDifference,
    pub model: FactorDifference,
}

impl FactorDifferences {
    /// The comparison of one factor.
    pub fn of(&self, factor: RankingFactor) -> FactorDifference {
        match factor {
            RankingFactor::Code => self.code,
            RankingFactor::Settings => self.settings,
            RankingFactor::Corpus => self.corpus,
            RankingFactor::Model => self.model,
        }
    }
}

impl Provenance {
    /// The differences between this provenance and another one.
    pub fn differences(&self, other: &Self) -> FactorDifferences {
        let code = |provenance: &Self| provenance.software.as_ref().map(|s| s.code.clone());
        let corpus = |provenance: &Self| provenance.corpus.as_ref().map(|c| c.fingerprint.root);
        FactorDifferences {
            code: compare(code(self), code(other)),
            settings: compare(self.settings.as_ref(), other.settings.as_ref()),
            corpus: compare(corpus(self), corpus(other)),
            model: compare(self.embedder.as_ref(), other.embedder.as_ref()),
        }
    }

    /// The recorded factors as names and values, for display.
    pub fn summary(&self) -> Vec<(&'static str, String)> {
        let mut entries = Vec::new();
        entries.extend(self.target.clone().map(|target| ("target", target)));
        if let Some(Software { version, code }) = &self.software {
            entries.push(("software", version.clone()));
            entries.push(("code", code.clone()));
        }
        if let Some(settings) = &self.settings {
            entries.push(("settings", settings.hash()));
        }
        if let Some(CorpusSnapshot { store, generation, fingerprint }) = &self.corpus {
            let CorpusFingerprint { pages, chunks, root } = fingerprint;
            entries.push(("corpus", root.short()));
            entries.push(("corpus_size", format!("{pages} pages, {chunks} chunks")));
            entries.push(("corpus_at", format!("generation {generation} of {store}")));
        }
        if let Some(embedder) = &self.embedder {
            entries.push(("model", embedder.clone().unwrap_or_else(|| "none".to_owned())));
        }
        entries
    }
}

fn compare<T: PartialEq>(a: Option<T>, b: Option<T>) -> FactorDifference {
    match (a, b) {
        (Some(a), Some(b)) if a == b => FactorDifference::Same,
        (Some(_), Some(_)) => FactorDifference::Differs,
        (None, _) | (_, None) => FactorDifference::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_by(code: &str) -> Provenance {
        let software = Software { version: "1".to_owned(), code: code.to_owned() };
        Provenance { software: Some(software), ..Provenance::default() }
    }

    #[test]
    fn unrecorded_factors_are_unknown() {
        let differences = made_by("a").differences(&made_by("b"));
        assert_eq!(differences.of(RankingFactor::Code), FactorDifference::Differs);
        assert_eq!(differences.of(RankingFactor::Corpus), FactorDifference::Unknown);
        assert_eq!(made_by("a").differences(&made_by("a")).code, FactorDifference::Same);
    }

    #[test]
    fn no_vectors_is_a_model_that_was_recorded() {
        let without = Provenance { embedder: Some(None), ..Provenance::default() };
        let with = Provenance { embedder: Some(Some("m".to_owned())), ..Provenance::default() };
        assert_eq!(without.differences(&with).model, FactorDifference::Differs);
        assert_eq!(without.differences(&without).model, FactorDifference::Same);
    }
}
