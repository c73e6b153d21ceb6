//! Blame: which of corpus, settings, model and code moved a query.
//!
//! A ranking is a function of these four. Every corner that can be restored is queried again: if
//! the captured corpus reproduces the captured ranking, the corpus moved the query. If no corner
//! reproduces it, the code did, provided that every other factor could be restored; otherwise the
//! cause is unknown.

use crate::named;
use crate::provenance::{FactorDifference, FactorDifferences};

named! {
    /// The factor that moved a query.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Blame {
        Corpus = "corpus",
        /// The numbers of the pipeline.
        Settings = "settings",
        /// Pages and numbers together: neither alone.
        CorpusAndSettings = "corpus_and_settings",
        Model = "model",
        /// The program: nothing else is left.
        Code = "code",
        /// A factor could not be put back, or was not recorded.
        Undetermined = "undetermined",
    }
}

/// Whether a corner brings the captured ranking back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterfactualResult {
    Restores,
    Differs,
    /// The corner could not be queried.
    Unavailable,
    /// It is the same as the one that moved.
    SameAsNow,
}

/// The corners of one moved query, each with all other factors as they are now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counterfactuals {
    /// With the captured corpus.
    pub corpus: CounterfactualResult,
    /// With the captured settings.
    pub settings: CounterfactualResult,
    pub both: CounterfactualResult,
}

/// Derives the cause from the rankings of the corners and the factors that differ.
pub fn blame(corners: Counterfactuals, differences: &FactorDifferences) -> Blame {
    if corners.corpus == CounterfactualResult::Restores {
        return Blame::Corpus;
    }
    if corners.settings == CounterfactualResult::Restores {
        return Blame::Settings;
    }
    if corners.both == CounterfactualResult::Restores {
        return Blame::CorpusAndSettings;
    }
    let is_put_back = |difference, corner| match difference {
        FactorDifference::Same => true,
        FactorDifference::Differs => corner != CounterfactualResult::Unavailable,
        FactorDifference::Unknown => false,
    };
    if !is_put_back(differences.corpus, corners.corpus)
        || !is_put_back(differences.settings, corners.settings)
    {
        return Blame::Undetermined;
    }
    match (differences.model, differences.code) {
        (FactorDifference::Same, FactorDifference::Differs) => Blame::Code,
        (FactorDifference::Differs, FactorDifference::Same) => Blame::Model,
        // Same code, same everything, another ranking: the code has a fault of its own.
        (FactorDifference::Same, FactorDifference::Same) => Blame::Code,
        (_, _) => Blame::Undetermined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FactorDifference::{Differs, Same, Unknown};

    fn check(
        corners: [CounterfactualResult; 3],
        differences: [FactorDifference; 4],
        expected: Blame,
    ) {
        let [corpus, settings, both] = corners;
        let [code, of_settings, of_corpus, model] = differences;
        let differences =
            FactorDifferences { code, settings: of_settings, corpus: of_corpus, model };
        assert_eq!(blame(Counterfactuals { corpus, settings, both }, &differences), expected);
    }

    #[test]
    fn a_corner_that_restores_names_the_factor() {
        use CounterfactualResult::{Differs as No, Restores, SameAsNow};
        check([Restores, SameAsNow, SameAsNow], [Same, Same, Differs, Same], Blame::Corpus);
        check([No, Restores, No], [Same, Differs, Differs, Same], Blame::Settings);
        check([No, No, Restores], [Same, Differs, Differs, Same], Blame::CorpusAndSettings);
    }

    #[test]
    fn code_is_blamed_only_if_all_other_factors_were_restored() {
        use CounterfactualResult::{Differs as No, SameAsNow, Unavailable};
        check([SameAsNow; 3], [Differs, Same, Same, Same], Blame::Code);
        check([No, SameAsNow, No], [Differs, Same, Differs, Same], Blame::Code);
        check([Unavailable; 3], [Differs, Same, Differs, Same], Blame::Undetermined);
        check([SameAsNow; 3], [Differs, Same, Unknown, Same], Blame::Undetermined);
        check([SameAsNow; 3], [Same, Same, Same, Differs], Blame::Model);
        check([SameAsNow; 3], [Differs, Same, Same, Differs], Blame::Undetermined);
    }
}
