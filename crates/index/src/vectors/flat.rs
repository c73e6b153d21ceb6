//! Vectors in memory, in one run.

use super::block::CodeBlocks;
use super::near::ScoredPassage;
use super::query::VectorQuery;
use super::row::VectorRow;
use super::shortlist::Shortlist;

/// Numbered vectors, for an index in memory and for measuring the scan in isolation.
#[derive(Debug)]
pub struct FlatVectors {
    centre: Vec<f32>,
    rows: Vec<u8>,
    inverse_lengths: Vec<f32>,
    codes: CodeBlocks,
}

impl FlatVectors {
    /// An empty set for a model with this centre.
    pub fn new(centre: &[f32]) -> Self {
        let (rows, inverse_lengths, codes) = (Vec::new(), Vec::new(), CodeBlocks::default());
        Self { centre: centre.to_vec(), rows, inverse_lengths, codes }
    }

    /// Adds a vector, which gets the next number.
    pub fn push(&mut self, vector: &[f32]) {
        self.push_row(&VectorRow::of(vector));
    }

    pub fn len(&self) -> usize {
        self.inverse_lengths.len()
    }

    pub fn is_empty(&self) -> bool {
        self.inverse_lengths.is_empty()
    }

    /// The codes, in blocks.
    pub fn codes(&self) -> &[u8] {
        self.codes.as_bytes()
    }

    /// The numbers and cosines of the `k` nearest vectors, from a shortlist of `depth`.
    pub fn nearest(&self, query: &VectorQuery, depth: usize, k: usize) -> Vec<(u32, f64)> {
        let (mut found, _) = self.shortlisted(query, depth, |_| true);
        let compare = |a: &ScoredPassage<'_>, b: &ScoredPassage<'_>| {
            b.score.total_cmp(&a.score).then(a.place.at.cmp(&b.place.at))
        };
        if k < found.len() {
            found.select_nth_unstable_by(k, compare);
            found.truncate(k);
        }
        found.sort_unstable_by(compare);
        found.iter().take(k).map(|near| (near.place.at, near.score)).collect()
    }

    pub(crate) fn push_row(&mut self, row: &VectorRow) {
        self.codes.push(&row.code(&self.centre));
        self.rows.extend(row.values.iter().map(|value| *value as u8));
        self.inverse_lengths.push(row.inverse_length);
    }

    /// The vectors of the shortlist with their cosines, in no order, and whether it was full.
    pub(crate) fn shortlisted(
        &self,
        query: &VectorQuery,
        depth: usize,
        mut admits: impl FnMut(u32) -> bool,
    ) -> (Vec<ScoredPassage<'_>>, bool) {
        let mut shortlist = Shortlist::new(depth);
        let has_direction = |at: u32| self.inverse_lengths[at as usize] > 0.0;
        let codes = (0, self.codes.as_bytes(), self.len());
        shortlist.scan(query, codes, has_direction, &mut admits);
        let (places, is_full) = shortlist.finish();
        let near = places.into_iter().map(|place| {
            let at = place.at as usize;
            let row = &self.rows[at * self.centre.len()..(at + 1) * self.centre.len()];
            let inverse_length = self.inverse_lengths[at];
            let score = query.cosine(row, inverse_length);
            ScoredPassage { score, place, row: row.into(), inverse_length }
        });
        (near.collect(), is_full)
    }
}
