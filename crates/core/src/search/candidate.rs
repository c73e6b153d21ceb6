//! A page on its way through the pipeline, and the stages that move it.

use jiff::civil::Date;

use crate::id::{PageId, PageKey};
use crate::page::{PageKind, cut_title};
use crate::ranking::{Arm, EXPANSION, Edge, TraceStep};

/// Where a page stands before scores are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// The query is its name: nothing else comes before it. Lower numbers come first.
    Named(u8),
    Found,
}

/// What an arm says of a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArmEntry {
    pub arm: Arm,
    /// Its place in the arm's list, from 1; none if the arm was asked about it later.
    pub rank: Option<usize>,
    /// The arm's own score.
    pub score: f64,
}

/// What variants of the query say of a page in an arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VariantEntry {
    pub arm: Arm,
    /// The best that a variant gave it: its share of that variant's best page, weighted.
    pub share: f64,
}

/// A page on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub page: PageId,
    /// Its name, which breaks ties.
    pub key: PageKey,
    pub title: String,
    /// What kind of text it is.
    pub kind: PageKind,
    /// When what it tells of happened.
    pub effective_date: Option<Date>,
    /// Pages that link to it, as far as they were counted.
    pub backlinks: u32,
    /// Where it stands before scores are compared.
    pub tier: Tier,
    /// What the arms say of it.
    pub arms: Vec<ArmEntry>,
    /// What variants of the query say of it, once an arm.
    pub variants: Vec<VariantEntry>,
    /// Edges that justify it.
    pub edges: Vec<Edge>,
    /// Its score so far.
    pub score: f64,
    /// Its fused score by the query alone, which breaks ties where variants took part; 0 where none
    /// did.
    pub original: f64,
    /// What every stage did to it.
    pub trace: Vec<TraceStep>,
    /// Whether the trace says it in words, too. Words are dear, and few ask for them.
    pub has_words: bool,
}

impl Candidate {
    /// A page that no arm has said anything of yet.
    pub fn new(page: PageId, key: PageKey, title: &str, kind: PageKind) -> Self {
        Self {
            page,
            key,
            // An index may hold titles from before they had a limit.
            title: cut_title(title).into_owned(),
            kind,
            effective_date: None,
            backlinks: 0,
            tier: Tier::Found,
            arms: Vec::new(),
            variants: Vec::new(),
            edges: Vec::new(),
            score: 0.0,
            original: 0.0,
            trace: Vec::new(),
            has_words: true,
        }
    }

    /// What is said in words, where anybody asked for them.
    fn words(&self, note: impl FnOnce() -> String) -> String {
        if self.has_words { note() } else { String::new() }
    }

    /// Takes what an arm says of it, and notes it in the trace.
    pub fn enter(
        &mut self,
        arm: Arm,
        rank: Option<usize>,
        score: f64,
        note: impl FnOnce() -> String,
    ) {
        self.arms.push(ArmEntry { arm, rank, score });
        let stage = arm.name();
        let note = self.words(note);
        self.trace.push(TraceStep { stage, rank, score: Some(score), note });
    }

    /// Takes what a variant of the query says of it in an arm, and notes it in the trace. The best
    /// of an arm counts.
    pub fn vary(&mut self, arm: Arm, share: f64, note: impl FnOnce() -> String) {
        match self.variants.iter_mut().find(|entry| entry.arm == arm) {
            Some(entry) => entry.share = entry.share.max(share),
            None => self.variants.push(VariantEntry { arm, share }),
        }
        let note = self.words(note);
        self.trace.push(TraceStep { stage: EXPANSION, rank: None, score: Some(share), note });
    }

    /// The best that variants gave it in an arm; 0 where they gave nothing.
    pub(crate) fn variant_share(&self, arm: Arm) -> f64 {
        self.variants.iter().find(|entry| entry.arm == arm).map_or(0.0, |entry| entry.share)
    }

    /// What one arm says of it.
    pub fn in_arm(&self, arm: Arm) -> Option<&ArmEntry> {
        self.arms.iter().find(|entry| entry.arm == arm)
    }
}

/// Sorts by tier, score, what the query alone gave, and name. A score that is not a number sorts last.
pub fn sort(candidates: &mut [Candidate]) {
    candidates.sort_by(|a, b| {
        a.tier
            .cmp(&b.tier)
            .then_with(|| compare(b.score, a.score))
            .then_with(|| compare(b.original, a.original))
            .then_with(|| a.key.cmp(&b.key))
    });
}

fn compare(a: f64, b: f64) -> std::cmp::Ordering {
    let finite = |score: f64| if score.is_finite() { score } else { f64::NEG_INFINITY };
    finite(a).total_cmp(&finite(b))
}

/// Sorts, then writes each page's rank and score into its trace.
pub fn settle(
    candidates: &mut [Candidate],
    stage: &'static str,
    note: impl Fn(&Candidate) -> String,
) {
    sort(candidates);
    for (at, candidate) in candidates.iter_mut().enumerate() {
        let (score, note) = (Some(candidate.score), candidate.words(|| note(candidate)));
        candidate.trace.push(TraceStep { stage, rank: Some(at + 1), score, note });
    }
}
