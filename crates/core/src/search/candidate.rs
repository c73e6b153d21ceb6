//! A page on its way through the pipeline, and the stages that move it.

use jiff::civil::Date;

use crate::id::{PageId, PageKey};
use crate::page::{PageKind, cut_title};
use crate::ranking::{Arm, EXPANSION, Edge, ScorePart, TraceStep};

/// Tier of a page, which sorts before its score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RankTier {
    /// The query is its name: nothing else comes before it. Lower numbers come first.
    Named(u8),
    Found,
}

/// The score and rank of a page in an arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArmEntry {
    pub arm: Arm,
    /// Rank in the arm's list, from 1; none if the arm scored the page later.
    pub rank: Option<usize>,
    /// The arm's own score.
    pub score: f64,
}

/// The scores of a page in an arm for variants of the query.
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
    /// Page key, which breaks ties.
    pub key: PageKey,
    pub title: String,
    /// The kind of the page.
    pub kind: PageKind,
    /// The effective date of the page.
    pub effective_date: Option<Date>,
    /// Pages that link to it, as far as they were counted.
    pub backlinks: u32,
    /// The tier, which sorts before the score.
    pub tier: RankTier,
    /// Scores and ranks by arm.
    pub arms: Vec<ArmEntry>,
    /// Scores for variants of the query, at most one per arm.
    pub variants: Vec<VariantEntry>,
    /// Edges that justify it.
    pub edges: Vec<Edge>,
    /// Score after the stages so far.
    pub score: f64,
    /// Its fused score by the query alone, which breaks ties where variants took part; 0 where none
    /// did.
    pub query_score: f64,
    /// The effect of every stage on the candidate.
    pub trace: Vec<TraceStep>,
    /// Whether the trace says it in words, too. Words are dear, and few ask for them.
    pub has_trace_notes: bool,
}

impl Candidate {
    /// A page without scores.
    pub fn new(page: PageId, key: PageKey, title: &str, kind: PageKind) -> Self {
        Self {
            page,
            key,
            // An index may hold titles from before they had a limit.
            title: cut_title(title).into_owned(),
            kind,
            effective_date: None,
            backlinks: 0,
            tier: RankTier::Found,
            arms: Vec::new(),
            variants: Vec::new(),
            edges: Vec::new(),
            score: 0.0,
            query_score: 0.0,
            trace: Vec::new(),
            has_trace_notes: true,
        }
    }

    /// The explanation in words, if a trace was requested.
    fn trace_note(&self, note: impl FnOnce() -> String) -> String {
        if self.has_trace_notes { note() } else { String::new() }
    }

    /// Adds the score of an arm, and notes it in the trace.
    pub fn add_arm_score(
        &mut self,
        arm: Arm,
        rank: Option<usize>,
        score: f64,
        note: impl FnOnce() -> String,
    ) {
        self.arms.push(ArmEntry { arm, rank, score });
        let stage = arm.name();
        let note = self.trace_note(note);
        self.trace.push(TraceStep { stage, rank, score: Some(score), note, parts: Vec::new() });
    }

    /// Takes what a variant of the query says of it in an arm, and notes it in the trace. The best
    /// of an arm counts.
    pub fn add_variant_share(&mut self, arm: Arm, share: f64, note: impl FnOnce() -> String) {
        match self.variants.iter_mut().find(|entry| entry.arm == arm) {
            Some(entry) => entry.share = entry.share.max(share),
            None => self.variants.push(VariantEntry { arm, share }),
        }
        let note = self.trace_note(note);
        let (stage, score) = (EXPANSION, Some(share));
        self.trace.push(TraceStep { stage, rank: None, score, note, parts: Vec::new() });
    }

    /// The best that variants gave it in an arm; 0 where they gave nothing.
    pub(crate) fn variant_share(&self, arm: Arm) -> f64 {
        self.variants.iter().find(|entry| entry.arm == arm).map_or(0.0, |entry| entry.share)
    }

    /// The entry of one arm.
    pub fn arm_entry(&self, arm: Arm) -> Option<&ArmEntry> {
        self.arms.iter().find(|entry| entry.arm == arm)
    }
}

/// Sorts by tier, score, score of the query alone, and name. A score that is not a number sorts
/// last.
pub fn sort(candidates: &mut [Candidate]) {
    candidates.sort_by(|a, b| {
        a.tier
            .cmp(&b.tier)
            .then_with(|| compare(b.score, a.score))
            .then_with(|| compare(b.query_score, a.query_score))
            .then_with(|| a.key.cmp(&b.key))
    });
}

fn compare(a: f64, b: f64) -> std::cmp::Ordering {
    let finite = |score: f64| if score.is_finite() { score } else { f64::NEG_INFINITY };
    finite(a).total_cmp(&finite(b))
}

/// Sorts, then writes each page's rank and score into its trace.
pub fn rank_candidates(
    candidates: &mut [Candidate],
    stage: &'static str,
    note: impl Fn(&Candidate) -> String,
) {
    rank_by_parts(candidates, stage, |candidate| (note(candidate), Vec::new()));
}

/// Like [`rank_candidates`]; the trace has the parts of the score as numbers, too.
pub(super) fn rank_by_parts(
    candidates: &mut [Candidate],
    stage: &'static str,
    explain: impl Fn(&Candidate) -> (String, Vec<ScorePart>),
) {
    sort(candidates);
    for (at, candidate) in candidates.iter_mut().enumerate() {
        let (note, parts) =
            if candidate.has_trace_notes { explain(candidate) } else { Default::default() };
        let (rank, score) = (Some(at + 1), Some(candidate.score));
        candidate.trace.push(TraceStep { stage, rank, score, note, parts });
    }
}
