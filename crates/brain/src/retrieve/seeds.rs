//! Resolves the names in a question to pages.

use std::sync::Arc;

use gbrain_core::request::Filter;
use gbrain_core::search::relation::RelationQuestion;
use gbrain_core::text::{QueryTerms, matches, name_key};
use gbrain_index::{PageEntry, WordsQuery};

use crate::BrainError;

use super::RetrievalRun;
use super::names::{MAX_NAME_BYTES, entitled};

/// How many pages are considered when a seed is not a page name.
const MAX_GUESSES: usize = 10;
/// The longest name searched for in a query, in words.
const NAME_WORDS: usize = 6;
/// How many names of a query start walks.
const MAX_SEEDS: usize = 3;

impl RetrievalRun<'_> {
    /// The pages that a question's seeds name, at most one each. A seed may have any source and
    /// type: filters apply to answers only.
    pub(super) fn resolve_seeds(
        &self,
        question: &RelationQuestion,
    ) -> Result<Vec<Arc<PageEntry>>, BrainError> {
        let mut resolved: Vec<Arc<PageEntry>> = Vec::new();
        for seed in &question.seeds {
            if let Some(entry) = self.resolve_seed(seed)?
                && resolved.iter().all(|known| known.id != entry.id)
            {
                resolved.push(entry);
            }
        }
        Ok(resolved)
    }

    fn resolve_seed(&self, seed: &str) -> Result<Option<Arc<PageEntry>>, BrainError> {
        for variant in variants(seed) {
            if let Some(entry) = self.named(&variant)? {
                return Ok(Some(entry));
            }
        }
        self.guess(seed)
    }

    fn named(&self, name: &str) -> Result<Option<Arc<PageEntry>>, BrainError> {
        let key = name_key(name);
        if key.is_empty() || key.len() > MAX_NAME_BYTES {
            return Ok(None);
        }
        let named = entitled(self.view.named(&key, &self.everything())?, self.sources);
        Ok(named.into_iter().next().map(|named| named.entry))
    }

    /// The best page by words whose title contains all words of the seed, or whose title's words
    /// are all in the seed.
    fn guess(&self, seed: &str) -> Result<Option<Arc<PageEntry>>, BrainError> {
        let terms = QueryTerms::of(seed);
        if terms.is_empty() {
            return Ok(None);
        }
        let wanted = terms.terms.len();
        let query = WordsQuery { terms, ..self.words.clone() };
        for hit in self.view.words(&query, &self.everything(), MAX_GUESSES)? {
            let Some(entry) = self.view.entry(hit.page, self.request.filter.trust)? else {
                continue;
            };
            let title = QueryTerms::of(&entry.title);
            let title_has_seed = matches(&entry.title, &query.terms).terms == wanted;
            let seed_has_title =
                !title.is_empty() && matches(seed, &title).terms == title.terms.len();
            if title_has_seed || seed_has_title {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Names of pages that occur in the query, longest first, left to right, without overlap.
    pub(super) fn names_in_query(&self) -> Result<Vec<String>, BrainError> {
        let words: Vec<&str> = self.request.query.split_whitespace().collect();
        let mut used = vec![false; words.len()];
        let mut names = Vec::new();
        for length in (1..=NAME_WORDS.min(words.len())).rev() {
            for start in 0..=words.len() - length {
                let range = start..start + length;
                if names.len() == MAX_SEEDS || used[range.clone()].iter().any(|used| *used) {
                    continue;
                }
                let name = words[range.clone()].join(" ");
                if !QueryTerms::of(&name).dropped.is_empty() && length == 1 {
                    continue;
                }
                if self.named(&name)?.is_some() {
                    used[range].fill(true);
                    names.push(name);
                }
            }
        }
        Ok(names)
    }

    fn everything(&self) -> Filter {
        Filter { trust: self.request.filter.trust, ..Filter::default() }
    }
}

/// The seed as written, without its article, and without a word for its kind.
fn variants(seed: &str) -> Vec<String> {
    const KINDS: [&str; 12] = [
        "service",
        "project",
        "team",
        "company",
        "component",
        "goal",
        "ticket",
        "incident",
        "meeting",
        "repo",
        "system",
        "app",
    ];
    let mut variants = vec![seed.to_owned()];
    let first_word = |text: &str| text.split_whitespace().next().unwrap_or_default().to_lowercase();
    let mut core = seed.trim();
    if matches!(first_word(core).as_str(), "the" | "a" | "an" | "our" | "my") {
        core = core.split_once(' ').map_or(core, |(_, rest)| rest.trim());
        variants.push(core.to_owned());
    }
    if let Some((rest, last)) = core.rsplit_once(' ')
        && KINDS.contains(&last.to_lowercase().as_str())
    {
        variants.push(rest.trim().to_owned());
    }
    if let Some((kind, rest)) = core.split_once(' ')
        && KINDS.contains(&kind.to_lowercase().as_str())
    {
        variants.push(rest.trim().to_owned());
    }
    variants
}

#[cfg(test)]
mod tests {
    use super::variants;

    #[test]
    fn articles_and_kinds_may_go() {
        assert_eq!(
            variants("the tide router service"),
            ["the tide router service", "tide router service", "tide router"]
        );
        assert_eq!(variants("team Harbour"), ["team Harbour", "Harbour"]);
        assert_eq!(variants("Acme"), ["Acme"]);
    }
}
