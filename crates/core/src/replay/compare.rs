//! Comparing a captured ranking with a current one.
//!
//! Pages are compared as `source::slug`, or as slugs where one side does not say whose they are.
//! Slugs that carry an e-mail address or a phone number were scrubbed when they were captured, so
//! both sides are scrubbed before they are compared.

use rustc_hash::FxHashSet;

use crate::capture::Retrieved;
use crate::overlap::{jaccard, kendall_tau, rank_biased_overlap};
use crate::provenance::Differences;
use crate::scrub::Scrubber;

use super::{Caveat, Compared};

/// Both rankings in the form in which they are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sides {
    /// What was captured.
    pub captured: Vec<String>,
    /// What came back now.
    pub current: Vec<String>,
}

/// Brings both rankings into one form, without duplicates, cut at `cut`.
pub fn sides(
    captured: &[Retrieved],
    current: &[Retrieved],
    cut: usize,
    scrubber: &Scrubber,
) -> Sides {
    let by_slug = captured.iter().chain(current).any(|page| page.source.is_none());
    let name = |source: Option<&str>, slug: &str| match source.filter(|_| !by_slug) {
        Some(source) => format!("{source}::{}", scrubber.scrub_slug(slug)),
        None => scrubber.scrub_slug(slug),
    };
    let captured = captured.iter().map(|page| name(page.source.as_deref(), &page.slug));
    let current = current.iter().map(|page| name(page.source.as_deref(), &page.slug));
    Sides { captured: distinct(captured, cut), current: distinct(current, cut) }
}

fn distinct(names: impl Iterator<Item = String>, cut: usize) -> Vec<String> {
    let mut seen = FxHashSet::default();
    names.filter(|name| seen.insert(name.clone())).take(cut).collect()
}

/// The measures of one row.
pub fn compare(
    sides: Sides,
    latencies: (Option<f64>, f64),
    caveats: Vec<Caveat>,
    differences: Differences,
) -> Compared {
    let Sides { captured, current } = sides;
    let top1 = match (captured.first(), current.first()) {
        (None, None) => None,
        (a, b) => Some(a == b),
    };
    Compared {
        jaccard: jaccard(&captured, &current),
        top1,
        rbo: rank_biased_overlap(&captured, &current, 0.9),
        kendall: kendall_tau(&captured, &current),
        // Hand-written rows have 0, which is not a latency.
        captured_ms: latencies.0.filter(|ms| *ms > 0.0),
        current_ms: latencies.1,
        captured,
        current,
        caveats,
        differences,
        blame: None,
        lost: Vec::new(),
    }
}
