//! Statements, and the pairs of them to compare.
//!
//! Pairs are any two passages of different pages that answer the same query, and each passage with
//! the active takes of its own page. The order of pairs does not depend on the order of passages.
//!
//! A statement's date is the page's effective date or the take's `since`. The import time of a page
//! says nothing about when its claims were valid, so it is not represented here.

use std::cmp::Ordering;

use jiff::civil::Date;

use crate::id::PageKey;
use crate::named;
use crate::page::Take;
use crate::search::Settings;
use crate::source::SourceTrust;

/// The location of a statement in its page.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StatementLocation {
    Passage {
        /// Position among the passages, from 0.
        ordinal: u32,
        chunk_id: String,
    },
    Take {
        /// Position among the page's takes, from 1.
        row: u32,
    },
}

named! {
    /// The origin of a statement's date.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum StatementDateOrigin {
        /// The effective date of the page.
        Page = "page",
        /// The `since` date of the take.
        Take = "take_since",
    }
}

/// The date of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatementDate {
    pub day: Date,
    pub from: StatementDateOrigin,
}

named! {
    /// The curation level of a source, derived from its weight in searches.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum CurationTier {
        Curated = "curated",
        Bulk = "bulk",
        Other = "other",
    }
}

/// A passage or take that makes a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub key: PageKey,
    pub place: StatementLocation,
    pub text: String,
    /// The holder of a take, if known.
    pub holder: Option<String>,
    /// The date from which it is valid, if known.
    pub date: Option<StatementDate>,
    /// The curation level of its source.
    pub tier: CurationTier,
    pub trust: SourceTrust,
}

/// A passage of a ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedStatement {
    pub statement: Statement,
    pub score: f64,
}

named! {
    /// The kind of a pair.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum PairKind {
        /// Passages of two pages.
        CrossPage = "cross_slug_chunks",
        /// A passage and a take of the same page.
        PassageTake = "intra_page_chunk_take",
    }
}

// The names that the reference implementation uses in its reports.

/// Two statements. Invariant: `a` precedes `b` by page and location.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    pub kind: PairKind,
    pub a: Statement,
    pub b: Statement,
    /// The sum of both scores; for a take, the passage's score plus one.
    pub combined_score: f64,
}

impl CurationTier {
    /// The tier of a page.
    pub fn of(settings: &Settings, key: &PageKey) -> Self {
        match settings.source_weight(key) {
            weight if weight > 1.05 => Self::Curated,
            weight if weight < 0.95 => Self::Bulk,
            _ => Self::Other,
        }
    }
}

impl Statement {
    /// A take as a statement of the same page as `passage`; none if the take is inactive. A take
    /// without `since` has the date of the page.
    pub fn of_take(passage: &Self, row: u32, take: &Take, page_date: Option<Date>) -> Option<Self> {
        if !take.active {
            return None;
        }
        let since = take.since.map(|day| StatementDate { day, from: StatementDateOrigin::Take });
        let date = since.or_else(|| {
            page_date.map(|day| StatementDate { day, from: StatementDateOrigin::Page })
        });
        Some(Self {
            key: passage.key.clone(),
            place: StatementLocation::Take { row },
            text: take.claim.clone(),
            holder: take.holder.clone(),
            date,
            tier: passage.tier,
            trust: passage.trust,
        })
    }

    fn order(&self) -> (&PageKey, &StatementLocation) {
        (&self.key, &self.place)
    }
}

impl Pair {
    /// A pair of two statements, given in either order.
    pub fn new(kind: PairKind, one: Statement, other: Statement, combined_score: f64) -> Self {
        let is_ordered = (one.order(), &one.text) <= (other.order(), &other.text);
        let (a, b) = if is_ordered { (one, other) } else { (other, one) };
        Self { kind, a, b, combined_score }
    }

    /// The judging order: highest score first, then by page and location.
    pub fn order(&self, other: &Self) -> Ordering {
        let place = |pair: &Self| (pair.a.order().0.clone(), pair.b.order().0.clone());
        other
            .combined_score
            .total_cmp(&self.combined_score)
            .then_with(|| place(self).cmp(&place(other)))
            .then_with(|| self.a.order().cmp(&other.a.order()))
            .then_with(|| self.b.order().cmp(&other.b.order()))
            .then_with(|| (&self.a.text, &self.b.text).cmp(&(&other.a.text, &other.b.text)))
    }
}

/// The pairs among the passages of one ranking, and of each passage with the active takes of its
/// page, in judging order. Duplicate takes count once.
pub fn pairs_of(passages: &[RankedStatement], takes: &[Statement]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (at, one) in passages.iter().enumerate() {
        for other in &passages[at + 1..] {
            if one.statement.key != other.statement.key {
                let score = one.score + other.score;
                let (one, other) = (one.statement.clone(), other.statement.clone());
                pairs.push(Pair::new(PairKind::CrossPage, one, other, score));
            }
        }
        for take in takes.iter().filter(|take| take.key == one.statement.key) {
            let (passage, score) = (one.statement.clone(), one.score + 1.0);
            pairs.push(Pair::new(PairKind::PassageTake, passage, take.clone(), score));
        }
    }
    pairs.sort_by(Pair::order);
    pairs.dedup_by(|one, other| (&one.a, &one.b) == (&other.a, &other.b));
    pairs
}

#[cfg(test)]
pub(crate) mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;
    use crate::id::SourceId;

    /// A passage of a page.
    pub(crate) fn passage(slug: &str, ordinal: u32, text: &str) -> Statement {
        Statement {
            key: PageKey::parse(slug, &SourceId::default()).unwrap(),
            place: StatementLocation::Passage { ordinal, chunk_id: format!("{slug}#{ordinal}") },
            text: text.to_owned(),
            holder: None,
            date: None,
            tier: CurationTier::Other,
            trust: SourceTrust::Trusted,
        }
    }

    fn ranked(slug: &str, ordinal: u32, score: f64) -> RankedStatement {
        RankedStatement { statement: passage(slug, ordinal, &format!("{slug} {ordinal}")), score }
    }

    fn names(pairs: &[Pair]) -> Vec<String> {
        let name = |statement: &Statement| match &statement.place {
            StatementLocation::Passage { ordinal, .. } => {
                format!("{}#{ordinal}", statement.key.slug)
            }
            StatementLocation::Take { row } => format!("{}!{row}", statement.key.slug),
        };
        let pair = |pair: &Pair| format!("{} {}", name(&pair.a), name(&pair.b));
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn pages_are_paired_and_takes_with_their_page() {
        let take = |slug: &str, row| Statement {
            place: StatementLocation::Take { row },
            ..passage(slug, 0, "t")
        };
        let passages = [ranked("b", 0, 0.5), ranked("a", 1, 0.9), ranked("a", 0, 0.2)];
        let pairs = pairs_of(&passages, &[take("a", 1), take("a", 1), take("c", 1)]);
        assert_eq!(names(&pairs), ["a#1 a!1", "a#1 b#0", "a#0 a!1", "a#0 b#0"]);
        assert_eq!(pairs[0].combined_score, 1.9);
        assert_eq!(pairs[0].kind, PairKind::PassageTake);
    }

    #[test]
    fn a_take_has_its_own_date() {
        let page = passage("a", 0, "x");
        let page_date = Some(date(2020, 1, 1));
        let mut take = Take {
            claim: "c".into(),
            kind: "fact".into(),
            holder: Some("ada".into()),
            weight: 0.5,
            since: Some(date(2024, 5, 1)),
            until: None,
            active: true,
        };
        let dated =
            |take: &Take| Statement::of_take(&page, 3, take, page_date).unwrap().date.unwrap();
        assert_eq!(
            dated(&take),
            StatementDate { day: date(2024, 5, 1), from: StatementDateOrigin::Take }
        );
        take.since = None;
        assert_eq!(
            dated(&take),
            StatementDate { day: date(2020, 1, 1), from: StatementDateOrigin::Page }
        );
        take.active = false;
        assert_eq!(Statement::of_take(&page, 3, &take, page_date), None);
    }

    #[test]
    fn tiers_follow_weights() {
        let mut settings = Settings::default();
        settings.set("source_weight.wiki", "1.2").unwrap();
        settings.set("source_weight.mail", "0.8").unwrap();
        let tier = |key: &str| {
            CurationTier::of(&settings, &PageKey::parse(key, &SourceId::default()).unwrap())
        };
        assert_eq!(
            [tier("wiki::a"), tier("mail::a"), tier("a")],
            [CurationTier::Curated, CurationTier::Bulk, CurationTier::Other]
        );
    }

    proptest! {
        #[test]
        fn the_order_of_passages_does_not_matter(
            places in prop::collection::vec((0..4_u32, 0..3_u32, 0..3_u8), 0..7),
            turn in 0..7_usize,
        ) {
            let mut passages: Vec<RankedStatement> = places
                .iter()
                .map(|(page, ordinal, score)| ranked(&format!("p{page}"), *ordinal, f64::from(*score)))
                .collect();
            let before = pairs_of(&passages, &[]);
            if !passages.is_empty() {
                let turn = turn % passages.len();
                passages.rotate_left(turn);
            }
            passages.reverse();
            prop_assert_eq!(pairs_of(&passages, &[]), before);
        }
    }
}
