//! Provenance: what produced a result, and what differs between two results.
//!
//! Fingerprints are compared, never trusted to be complete: a factor that one side did not record
//! is unknown, which is neither equal nor different.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named;
use crate::ranking::CorpusPrint;
use crate::search::Settings;

/// The program that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Software {
    /// Its release.
    pub version: String,
    /// A fingerprint of the source that rankings depend on.
    pub code: String,
}

/// The corpus that was searched, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CapturedCorpus")]
pub struct CorpusAt {
    /// The store's name. Generations of different stores have nothing to do with each other.
    pub store: String,
    /// The generation that was searched.
    pub generation: i64,
    /// Its content.
    #[serde(flatten)]
    pub print: CorpusPrint,
}

/// Everything that produced a result. What was not recorded is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Provenance {
    pub software: Option<Software>,
    /// Every number of the pipeline.
    pub settings: Option<Settings>,
    pub corpus: Option<CorpusAt>,
    /// The model whose vectors were searched: none when it was not recorded, and none inside when
    /// none were.
    pub embedder: Option<Option<String>>,
    /// The target, where it is not a brain of this program: its name and where it is.
    pub target: Option<String>,
}

/// Something that a ranking depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Factor {
    Code,
    /// The numbers of the pipeline.
    Settings,
    Corpus,
    Model,
}

/// How a factor compares between two results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Difference {
    /// It is the same.
    Same,
    Differs,
    /// One side did not record it.
    Unknown,
}

named! { Factor { Code = "code", Settings = "settings", Corpus = "corpus", Model = "model" } }
named! { Difference { Same = "same", Differs = "differs", Unknown = "unknown" } }

/// How every factor compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Differences {
    /// The program.
    pub code: Difference,
    /// The numbers of the pipeline.
    pub settings: Difference,
    /// The pages.
    pub corpus: Difference,
    /// The embedding model.
    pub model: Difference,
}

impl Differences {
    /// How one factor compares.
    pub fn of(&self, factor: Factor) -> Difference {
        match factor {
            Factor::Code => self.code,
            Factor::Settings => self.settings,
            Factor::Corpus => self.corpus,
            Factor::Model => self.model,
        }
    }
}

impl Provenance {
    /// What differs between this and another provenance.
    pub fn differences(&self, other: &Self) -> Differences {
        let code = |provenance: &Self| provenance.software.as_ref().map(|s| s.code.clone());
        let corpus = |provenance: &Self| provenance.corpus.as_ref().map(|c| c.print.root);
        Differences {
            code: compare(code(self), code(other)),
            settings: compare(self.settings.as_ref(), other.settings.as_ref()),
            corpus: compare(corpus(self), corpus(other)),
            model: compare(self.embedder.as_ref(), other.embedder.as_ref()),
        }
    }

    /// What was recorded, as names and values for people.
    pub fn prints(&self) -> Vec<(&'static str, String)> {
        let mut prints = Vec::new();
        prints.extend(self.target.clone().map(|target| ("target", target)));
        if let Some(Software { version, code }) = &self.software {
            prints.push(("software", version.clone()));
            prints.push(("code", code.clone()));
        }
        if let Some(settings) = &self.settings {
            prints.push(("settings", settings.hash()));
        }
        if let Some(CorpusAt { store, generation, print }) = &self.corpus {
            let CorpusPrint { pages, chunks, root } = print;
            prints.push(("corpus", root.short()));
            prints.push(("corpus_size", format!("{pages} pages, {chunks} chunks")));
            prints.push(("corpus_at", format!("generation {generation} of {store}")));
        }
        if let Some(embedder) = &self.embedder {
            prints.push(("model", embedder.clone().unwrap_or_else(|| "none".to_owned())));
        }
        prints
    }
}

fn compare<T: PartialEq>(a: Option<T>, b: Option<T>) -> Difference {
    match (a, b) {
        (Some(a), Some(b)) if a == b => Difference::Same,
        (Some(_), Some(_)) => Difference::Differs,
        (None, _) | (_, None) => Difference::Unknown,
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
    fn what_was_not_recorded_is_unknown() {
        let differences = made_by("a").differences(&made_by("b"));
        assert_eq!(differences.of(Factor::Code), Difference::Differs);
        assert_eq!(differences.of(Factor::Corpus), Difference::Unknown);
        assert_eq!(made_by("a").differences(&made_by("a")).code, Difference::Same);
    }

    #[test]
    fn no_vectors_is_a_model_that_was_recorded() {
        let without = Provenance { embedder: Some(None), ..Provenance::default() };
        let with = Provenance { embedder: Some(Some("m".to_owned())), ..Provenance::default() };
        assert_eq!(without.differences(&with).model, Difference::Differs);
        assert_eq!(without.differences(&without).model, Difference::Same);
    }
}
