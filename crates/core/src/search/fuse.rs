//! Weighted reciprocal rank fusion.
//!
//! score(page) = Σ over arms of weight / (k + rank), ranks from 1 (Cormack, Clarke and Buettcher,
//! SIGIR 2009), times (k + 1) / Σ weights of the arms that ran: 1.0 is first in every arm, whatever
//! the query, so scores of different queries can be compared. Ties break by source, then slug.

use super::candidate::{Candidate, settle};
use super::plan::PlannedArm;

/// Scores candidates by their places in the arms' lists.
pub fn fuse(candidates: &mut [Candidate], arms: &[PlannedArm], k: f64) {
    let total: f64 = arms.iter().map(|planned| planned.weight).sum();
    let unit = if total > 0.0 { (k + 1.0) / total } else { 0.0 };
    for candidate in candidates.iter_mut() {
        // Invariant: arms are added in the plan's order, so that the sum is the same every time.
        candidate.score =
            arms.iter().map(|planned| contribution(candidate, planned, k, unit)).sum();
    }
    settle(candidates, "fuse", |candidate| describe(candidate, arms, k, unit));
}

fn contribution(candidate: &Candidate, planned: &PlannedArm, k: f64, unit: f64) -> f64 {
    let place = candidate.in_arm(planned.arm);
    place.map_or(0.0, |entry| unit * planned.weight / (k + entry.rank as f64))
}

fn describe(candidate: &Candidate, arms: &[PlannedArm], k: f64, unit: f64) -> String {
    let parts: Vec<String> = arms
        .iter()
        .filter(|planned| planned.weight > 0.0)
        .filter_map(|planned| {
            let entry = candidate.in_arm(planned.arm)?;
            let part = contribution(candidate, planned, k, unit);
            Some(format!("{} #{} gives {part:.4}", planned.arm, entry.rank))
        })
        .collect();
    parts.join(", ")
}
