//! Fusion by weighted shares.
//!
//! score(page) = Σ over arms of weight × share / Σ weights of the arms that ran, where the share is
//! the page's score in an arm over the best score in it: 1.0 is best in every arm and for every
//! query, so scores of different queries can be compared. In a chat the vectors weigh more, by a
//! factor: what is said in passing is rarely said in the words of the question. It is the convex
//! combination of scores of Bruch, Gai and Ingber (TOIS 2023), which keeps how much better one page
//! is than the next; reciprocal ranks throw that away, and did worse on five of our seven
//! development collections. Where variants of the query took part, a page's share in an arm is the
//! greater of its own and of what they gave it, which was weighted before: a variant never lowers a
//! page, and never changes what the query itself gives. Ties break by what the query alone gives,
//! then by source and slug.

use super::candidate::{Candidate, rank_by_parts};
use super::plan::PlannedArm;
use crate::page::PageKind;
use crate::ranking::{Arm, ScoreEffect, ScorePart};

/// Scores candidates by their scores in the arms' lists. In a chat, the vectors' weight is
/// multiplied by `chat_factor`.
pub fn fuse(candidates: &mut [Candidate], arms: &[PlannedArm], chat_factor: f64) {
    let units: Vec<ArmScale> = arms
        .iter()
        .filter(|planned| planned.weight > 0.0)
        .map(|planned| ArmScale::of(candidates, *planned, chat_factor))
        .collect();
    for candidate in candidates.iter_mut() {
        // Invariant: arms are added in the plan's order, so that the sum is the same every time.
        candidate.score = parts(candidate, &units).map(|(_, part)| part).sum();
    }
    if candidates.iter().any(|candidate| !candidate.variants.is_empty()) {
        for candidate in candidates.iter_mut() {
            let total: f64 = units.iter().map(|unit| unit.weight(candidate)).sum();
            let own = |unit: &ArmScale| unit.weight(candidate) / total * unit.own_share(candidate);
            candidate.query_score = units.iter().map(own).sum();
        }
    }
    rank_by_parts(candidates, "fuse", |candidate| {
        let parts = parts(candidate, &units).filter(|(_, part)| *part != 0.0);
        let parts = parts.map(|(unit, part)| ScorePart {
            name: unit.planned.arm.name(),
            effect: ScoreEffect::Adds(part),
        });
        (describe(candidate, &units), parts.collect())
    });
}

/// An arm with the best score in it.
struct ArmScale {
    planned: PlannedArm,
    chat_factor: f64,
    best: f64,
}

impl ArmScale {
    fn of(candidates: &[Candidate], planned: PlannedArm, chat_factor: f64) -> Self {
        let scores = candidates.iter().filter_map(|candidate| candidate.arm_entry(planned.arm));
        let best = scores.map(|entry| entry.score).fold(0.0, f64::max);
        Self { planned, chat_factor, best }
    }

    fn weight(&self, candidate: &Candidate) -> f64 {
        let is_said = self.planned.arm == Arm::Vectors && candidate.kind == PageKind::Chat;
        self.planned.weight * if is_said { self.chat_factor } else { 1.0 }
    }

    /// By the query, or by a variant where that is more.
    fn share(&self, candidate: &Candidate) -> f64 {
        self.own_share(candidate).max(candidate.variant_share(self.planned.arm))
    }

    /// Being unlike the query is worth nothing, not less.
    fn own_share(&self, candidate: &Candidate) -> f64 {
        let score = candidate.arm_entry(self.planned.arm).map_or(0.0, |entry| entry.score);
        if self.best > 0.0 { score.max(0.0) / self.best } else { 0.0 }
    }
}

/// The contribution of each arm to a page's score.
fn parts<'u>(
    candidate: &Candidate,
    units: &'u [ArmScale],
) -> impl Iterator<Item = (&'u ArmScale, f64)> {
    let total: f64 = units.iter().map(|unit| unit.weight(candidate)).sum();
    let part =
        move |unit: &'u ArmScale| (unit, unit.weight(candidate) / total * unit.share(candidate));
    units.iter().map(part)
}

fn describe(candidate: &Candidate, units: &[ArmScale]) -> String {
    let parts: Vec<String> = parts(candidate, units)
        .filter(|(unit, _)| {
            let arm = unit.planned.arm;
            candidate.arm_entry(arm).is_some() || candidate.variant_share(arm) > 0.0
        })
        .map(|(unit, part)| format!("{} gives {part:.4}", unit.planned.arm))
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{PageId, PageKey, Slug, SourceId};

    fn candidate(slug: &str, scores: &[(Arm, f64)]) -> Candidate {
        let key = PageKey::new(SourceId::default(), Slug::new(slug).unwrap());
        let kind = if slug == "chat" { PageKind::Chat } else { PageKind::Markdown };
        let mut candidate = Candidate::new(PageId(1), key, "", kind);
        for (arm, score) in scores {
            candidate.add_arm_score(*arm, None, *score, String::new);
        }
        candidate
    }

    fn check(candidates: &[(&str, &[(Arm, f64)])], weights: [f64; 2], expected: &[(&str, f64)]) {
        let mut candidates: Vec<_> = candidates.iter().map(|(s, a)| candidate(s, a)).collect();
        let arms = [Arm::Words, Arm::Vectors].into_iter().zip(weights);
        let arms: Vec<_> = arms.map(|(arm, weight)| PlannedArm { arm, weight }).collect();
        fuse(&mut candidates, &arms, 3.0);
        let found = candidates.iter().map(|c| (c.key.slug.as_str(), c.score));
        for ((slug, score), (expected_slug, expected_score)) in found.zip(expected) {
            assert_eq!(slug, *expected_slug);
            assert!((score - expected_score).abs() < 1e-12, "{slug}: {score}");
        }
    }

    #[test]
    fn shares_are_of_the_best() {
        use Arm::{Vectors, Words};
        check(
            &[("a", &[(Words, 8.0), (Vectors, 0.2)]), ("b", &[(Words, 4.0), (Vectors, 0.8)])],
            [1.0, 1.0],
            &[("b", 0.75), ("a", 0.625)],
        );
        check(
            &[("a", &[(Words, 8.0)]), ("b", &[(Vectors, 0.8)])],
            [3.0, 1.0],
            &[("a", 0.75), ("b", 0.25)],
        );
    }

    #[test]
    fn meaning_weighs_more_in_a_chat() {
        use Arm::{Vectors, Words};
        check(
            &[("a", &[(Words, 8.0), (Vectors, 0.4)]), ("chat", &[(Words, 4.0), (Vectors, 0.8)])],
            [1.0, 1.0],
            &[("chat", 0.875), ("a", 0.75)],
        );
    }

    #[test]
    fn a_variant_adds_what_it_gives_and_loses_ties() {
        use Arm::{Vectors, Words};
        let arms = [PlannedArm { arm: Words, weight: 1.0 }];
        let fused = |candidates: &[(&str, f64, f64)]| {
            let page = |(slug, own, varied): &(&str, f64, f64)| {
                let mut page = candidate(slug, &[(Words, *own)]);
                page.add_variant_share(Words, *varied, String::new);
                page.add_variant_share(Words, 0.1, String::new);
                page.add_variant_share(Vectors, 1.0, String::new);
                page
            };
            let mut pages: Vec<Candidate> = candidates.iter().map(page).collect();
            fuse(&mut pages, &arms, 1.0);
            pages.iter().map(|page| (page.key.slug.to_string(), page.score)).collect::<Vec<_>>()
        };
        let named = |slug: &str, score: f64| (slug.to_owned(), score);
        // The share is the greater one; an arm that is not planned adds nothing.
        assert_eq!(
            fused(&[("a", 2.0, 0.5), ("b", 8.0, 0.5), ("c", 6.0, 0.5)]),
            [named("b", 1.0), named("c", 0.75), named("a", 0.5)]
        );
        // Equal with and without: the one that the query itself found comes first.
        assert_eq!(
            fused(&[("a", 0.0, 0.5), ("b", 8.0, 0.5), ("c", 4.0, 0.0)]),
            [named("b", 1.0), named("c", 0.5), named("a", 0.5)]
        );
    }

    #[test]
    fn the_unlike_and_the_weightless_add_nothing() {
        use Arm::{Vectors, Words};
        check(&[("a", &[(Words, 2.0), (Vectors, -0.5)])], [1.0, 1.0], &[("a", 0.5)]);
        check(
            &[("b", &[(Words, 1.0)]), ("a", &[(Words, 1.0), (Vectors, 0.5)])],
            [1.0, 0.0],
            &[("a", 1.0), ("b", 1.0)],
        );
        check(&[("a", &[(Words, 0.0)])], [1.0, 1.0], &[("a", 0.0)]);
        check(&[("a", &[(Words, 1.0)])], [0.0, 0.0], &[("a", 0.0)]);
    }
}
