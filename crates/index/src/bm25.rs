//! BM25 in integers.
//!
//! A chunk's score is the sum over the query's terms of `weight · idf · tf · (k1 + 1) / (tf + k1 ·
//! (1 - b + b · length / average))` with `idf = ln(1 + (N - df + 0.5) / (df + 0.5))`: Lucene's
//! variant, which bm25s calls `lucene` (Robertson and Zaragoza 2009, section 3; Kamphuis et al.
//! 2020). `N`, `df` and `average` count the chunks that the caller may see, and `weight` saturates
//! with the term's frequency in the query. `length` goes through tantivy's one-byte code, which is
//! exact up to 40 tokens; for longer chunks the error is at most one eighth.
//!
//! Each term's part is computed in `f32` and truncated to an integer, so a sum does not depend on
//! the order of its terms, and the index in memory and the one on disk agree to the last bit.

use gbrain_core::text::TokenKind;
use tantivy::fieldnorm::FieldNormReader;

use crate::contract::WordsQuery;
use crate::statistics::ChunkTotals;

/// Points per unit of score, unless the sum would overflow.
const SCALE: f64 = 65536.0;
/// The weight of an identifier relative to the words it consists of.
const IDENTIFIER_WEIGHT: f64 = 0.5;
/// BM25's saturation of repeated query words; 8 is Okapi's value (Robertson and Walker 1999).
const K3: f64 = 8.0;
/// Upper limit of a sum, so that it fits in 32 bits.
const MAX_POINTS: f64 = 2_147_483_648.0;

/// The form of the words in a posting list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TermForm {
    /// Stems, bigrams and emoji. They determine the length of a chunk.
    Stem,
    /// Exact forms that differ from their stems, identifiers and stop words.
    Exact,
}

/// A posting list that a query reads: the chunks of one term's stem or exact form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ListSpec<'q> {
    pub(crate) form: TermForm,
    pub(crate) text: &'q str,
    pub(crate) adds: ListContribution,
    boost: f64,
}

/// How a list contributes points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListContribution {
    /// Independently of other lists.
    Alone,
    /// On top of the preceding stem list, which contains every chunk of this list with at least
    /// the same frequency.
    ToStem,
}

/// Scoring parameters of one query in one corpus.
#[derive(Debug, Clone)]
pub(crate) struct Scorer {
    /// `k1 · (1 - b + b · length / average)` by length code.
    lengths: [f32; 256],
    /// The limit of each list's points as its term frequency grows.
    weights: Vec<f32>,
    scale: f64,
    k1: f64,
    b: f64,
    average: f64,
}

/// Term frequencies and length of a whole page: its chunks taken together.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageTally {
    /// Frequency of each list's term in the page.
    tfs: Vec<u32>,
    /// Length in tokens, as decoded from the length codes of its chunks.
    tokens: u64,
}

impl PageTally {
    pub(crate) fn new(lists: usize) -> Self {
        Self { tfs: vec![0; lists], tokens: 0 }
    }

    /// Adds `tf` occurrences of the term of list number `list`.
    pub(crate) fn add_occurrences(&mut self, list: usize, tf: u32) {
        self.tfs[list] = self.tfs[list].saturating_add(tf);
    }

    /// Adds the length of a chunk.
    pub(crate) fn add_chunk_length(&mut self, length_code: u8) {
        self.tokens += u64::from(FieldNormReader::id_to_fieldnorm(length_code));
    }
}

/// The lists that a query reads, in the order of its terms. A word's exact form directly follows
/// its stem.
pub(crate) fn lists(query: &WordsQuery) -> Vec<ListSpec<'_>> {
    let mut lists = Vec::new();
    for term in &query.terms.terms {
        let term_weight = query_term_weight(term.count);
        let mut list = |form, text, boost, adds| {
            lists.push(ListSpec { form, text, boost: boost * term_weight, adds })
        };
        match term.kind {
            TokenKind::Identifier => {
                list(TermForm::Exact, &term.stem, IDENTIFIER_WEIGHT, ListContribution::Alone)
            }
            TokenKind::Stop => list(TermForm::Exact, &term.stem, 1.0, ListContribution::Alone),
            TokenKind::Word | TokenKind::Bigram | TokenKind::Emoji => {
                list(TermForm::Stem, &term.stem, 1.0, ListContribution::Alone)
            }
        }
        if let Some(exact) = term.exact.as_deref().filter(|_| query.exact_weight > 0.0) {
            list(TermForm::Exact, exact, query.exact_weight, ListContribution::ToStem);
        }
    }
    lists
}

/// The weight of a word that occurs `count` times in the query.
fn query_term_weight(count: u32) -> f64 {
    let count = f64::from(count);
    count * (K3 + 1.0) / (count + K3)
}

impl Scorer {
    /// A scorer for lists with the given numbers of live chunks.
    pub(crate) fn new(
        query: &WordsQuery,
        lists: &[ListSpec<'_>],
        document_frequencies: &[u64],
        totals: ChunkTotals,
    ) -> Self {
        let points_limit = |(list, df): (&ListSpec<'_>, &u64)| match df {
            0 => 0.0,
            _ => list.boost * idf(*df, totals.chunks) * (query.k1 + 1.0),
        };
        let limits: Vec<f64> = lists.iter().zip(document_frequencies).map(points_limit).collect();
        let scale = scale_for(limits.iter().sum());
        let average = totals.tokens.max(1) as f64 / totals.chunks.max(1) as f64;
        Self {
            lengths: std::array::from_fn(|code| length_part(query, code as u8, average)),
            weights: limits.iter().map(|limit| (limit * scale) as f32).collect(),
            scale,
            k1: query.k1,
            b: query.b,
            average,
        }
    }

    /// The points of a whole page: BM25 as if its chunks were one.
    pub(crate) fn page_points(&self, page: &PageTally) -> u32 {
        let relative = page.tokens as f64 / self.average;
        let length_part = (self.k1 * (1.0 - self.b + self.b * relative)) as f32;
        let matching = self.weights.iter().zip(&page.tfs).filter(|(_, tf)| **tf > 0);
        matching.map(|(weight, tf)| points(*weight, *tf, length_part)).sum()
    }

    #[inline]
    pub(crate) fn points(&self, list: usize, tf: u32, length_code: u8) -> u32 {
        points(self.weights[list], tf, self.lengths[usize::from(length_code)])
    }

    pub(crate) fn lengths(&self) -> &[f32; 256] {
        &self.lengths
    }

    /// The maximum points of list number `list`.
    pub(crate) fn weight(&self, list: usize) -> f32 {
        self.weights[list]
    }

    /// Converts points to a score.
    pub(crate) fn score(&self, points: u32) -> f64 {
        f64::from(points) / self.scale
    }
}

/// The points of a term for a chunk. Grows with `weight` and `tf`, falls with `length_part`.
#[inline]
pub(crate) fn points(weight: f32, tf: u32, length_part: f32) -> u32 {
    let tf = tf as f32;
    (weight * (tf / (tf + length_part))) as u32
}

pub(crate) fn length_code(tokens: u64) -> u8 {
    FieldNormReader::fieldnorm_to_id(u32::try_from(tokens).unwrap_or(u32::MAX))
}

fn length_part(query: &WordsQuery, code: u8, average: f64) -> f32 {
    let length = f64::from(FieldNormReader::id_to_fieldnorm(code));
    (query.k1 * (1.0 - query.b + query.b * length / average)) as f32
}

fn idf(df: u64, chunks: u64) -> f64 {
    let (df, chunks) = (df as f64, chunks as f64);
    (1.0 + (chunks - df + 0.5).max(0.0) / (df + 0.5)).ln()
}

/// The largest power of two up to [`SCALE`] at which no sum overflows.
fn scale_for(most: f64) -> f64 {
    let mut scale = SCALE;
    while most * scale >= MAX_POINTS {
        scale /= 2.0;
    }
    scale
}

#[cfg(test)]
mod tests {
    use gbrain_core::text::QueryTerms;

    use super::*;

    fn query(text: &str) -> WordsQuery {
        WordsQuery { terms: QueryTerms::of(text), k1: 1.2, b: 0.75, exact_weight: 0.5 }
    }

    #[test]
    fn one_term_by_hand() {
        let query = query("quay");
        let lists = lists(&query);
        let scorer = Scorer::new(&query, &lists, &[1], ChunkTotals { chunks: 4, tokens: 40 });
        // idf = ln(1 + 3.5 / 1.5); tf 2 in 10 tokens, which is the average: 2 · 2.2 / (2 + 1.2).
        let expected = (1.0 + 3.5 / 1.5_f64).ln() * 2.0 * 2.2 / 3.2;
        let found = scorer.score(scorer.points(0, 2, length_code(10)));
        assert!((found - expected).abs() < 1e-4, "{found} is not {expected}");
    }

    #[test]
    fn exact_forms_are_lists_of_their_own() {
        let query = query("running quay");
        let found: Vec<_> = lists(&query).iter().map(|l| (l.form, l.text, l.boost)).collect();
        assert_eq!(
            found,
            [
                (TermForm::Stem, "run", 1.0),
                (TermForm::Exact, "running", 0.5),
                (TermForm::Stem, "quay", 1.0)
            ]
        );
    }

    #[test]
    fn sums_never_overflow() {
        assert_eq!(scale_for(100.0), SCALE);
        assert!(scale_for(1e6) * 1e6 < MAX_POINTS);
    }
}
