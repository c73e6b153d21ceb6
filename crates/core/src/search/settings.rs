//! Every number of the pipeline, with its default and the reason for it.

/// The numbers of the pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// BM25 term-frequency saturation. 1.2 is the value the literature and the peers' bars use.
    pub bm25_k1: f64,
    /// BM25 length normalisation. 0.75, for the same reason.
    pub bm25_b: f64,
    /// Weight of a word's exact form beside its stem: a nudge toward the form that was typed.
    pub exact_weight: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { bm25_k1: 1.2, bm25_b: 0.75, exact_weight: 0.15 }
    }
}
