//! Precision.

use super::{About, Graded};

pub(super) const ABOUT: About = About {
    explanation: "the share of the first k that is relevant: relevant among the first k / k, also \
                  when fewer than k were retrieved",
    citation: "van Rijsbergen, Information Retrieval, 2nd ed., 1979, ch. 7; trec_eval P_k",
};

pub(super) fn precision(graded: &Graded, rel: u32, k: usize) -> f64 {
    graded.hits(rel, k).count() as f64 / k as f64
}
