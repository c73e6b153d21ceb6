//! Rankings to hold a number against, of the same documents and in the same run.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::{DatasetQuestion, Haystack};
use crate::hash::Hash;
use crate::named;

named! {
    /// A reference ranking that needs no search, or that one arm makes alone.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ReferenceOrder {
        /// By a seed, the question and the place of the document.
        Random = "random",
        /// Newest first; the undated last.
        Newest = "newest_first",
        /// The gold documents first: the maximum that any ranking can reach.
        Oracle = "oracle",
        Words = "words",
        Vectors = "vectors",
    }
}

/// Places of documents in an order that the seed and the question decide. Ids take no part: what
/// they are called must not move a figure.
pub fn random(haystack: &Haystack, question: &DatasetQuestion, seed: u64) -> Vec<usize> {
    let draw = |at: &usize| {
        let place = (*at as u64).to_le_bytes();
        Hash::of_parts(&[&seed.to_le_bytes(), question.text.as_bytes(), &place])
    };
    let mut places: Vec<usize> = (0..haystack.documents.len()).collect();
    places.sort_by_cached_key(draw);
    places
}

/// Places of documents, newest first; of one day, the later in the file first.
pub fn newest_first(haystack: &Haystack) -> Vec<usize> {
    let mut places: Vec<usize> = (0..haystack.documents.len()).collect();
    places.sort_by_key(|at| Reverse((haystack.documents[*at].date, *at)));
    places
}

/// Places of documents, those that answer best first.
pub fn oracle(haystack: &Haystack, question: &DatasetQuestion) -> Vec<usize> {
    let grades: FxHashMap<&str, f64> =
        question.gold.iter().map(|gold| (gold.doc.as_str(), gold.grade)).collect();
    let grade = |at: &usize| grades.get(haystack.documents[*at].id.as_str()).copied();
    let mut places: Vec<usize> = (0..haystack.documents.len()).collect();
    places.sort_by(|a, b| grade(b).unwrap_or(0.0).total_cmp(&grade(a).unwrap_or(0.0)));
    places
}
