//! Hydration: turns candidates into hits with passages, snippets, duplicates, cut and evidence.

use std::cell::OnceCell;

use gbrain_core::chunk::Chunk;
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageId, PageKey};
use gbrain_core::page::PageKind;
use gbrain_core::ranking::{Arm, Edge, Hit, MatchEvidence, PassageHit, TraceStep};
use gbrain_core::search::boost::title_holds;
use gbrain_core::search::candidate::{Candidate, RankTier};
use gbrain_core::search::cut;
use gbrain_core::search::dedup::WordSet;
use gbrain_core::search::snippet::snippet;
use gbrain_core::text::{Matches, QueryTerms, matches};
use gbrain_index::Passage;
use jiff::civil::Date;

use crate::BrainError;

use super::RetrievalRun;
use super::arms::ArmResults;

/// About three lines of a terminal.
const SNIPPET_CHARS: usize = 240;
/// Shorter passages are not compared by words to detect duplicates.
const DUPLICATE_WORDS_FROM: usize = 80;

/// Why a candidate is not in the answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DropReason {
    Duplicate { of: PageKey },
    BelowThreshold,
    Cut,
    BeyondLimit,
}

#[derive(Debug, Default)]
pub(super) struct HydrateOutcome {
    pub(super) hits: Vec<Hit>,
    pub(super) dropped: Vec<(PageId, DropReason)>,
}

/// A passage of a hit, with its matches of the query.
struct ShownPassage {
    passage: Passage,
    score: Option<f64>,
    matches: OnceCell<Matches>,
    words: OnceCell<WordSet>,
}

impl ShownPassage {
    fn of(passage: Passage, score: Option<f64>) -> Self {
        Self { passage, score, matches: OnceCell::new(), words: OnceCell::new() }
    }

    fn matches(&self, terms: &QueryTerms) -> &Matches {
        self.matches.get_or_init(|| matches(&self.passage.text, terms))
    }

    fn words(&self) -> &WordSet {
        self.words.get_or_init(|| WordSet::of(&self.passage.text))
    }
}

/// The first passage of an earlier hit, to detect duplicates.
struct SeenPassage {
    at: usize,
    /// The day of a chat.
    chat_day: Option<Date>,
    hash: Hash,
    words: Option<WordSet>,
}

impl RetrievalRun<'_> {
    pub(super) fn hydrate(
        &self,
        candidates: &[Candidate],
        found: &ArmResults,
    ) -> Result<HydrateOutcome, BrainError> {
        let mut outcome = HydrateOutcome::default();
        let mut seen: Vec<SeenPassage> = Vec::new();
        let shown_words = cut::keep(candidates, self.request.settings.cut_ratio);
        for (at, candidate) in candidates.iter().enumerate() {
            if found.above_threshold.is_some_and(|count| at >= count) {
                outcome.dropped.push((candidate.page, DropReason::BelowThreshold));
                continue;
            }
            if at >= shown_words {
                outcome.dropped.push((candidate.page, DropReason::Cut));
                continue;
            }
            if outcome.hits.len() == self.request.limit {
                outcome.dropped.push((candidate.page, DropReason::BeyondLimit));
                continue;
            }
            self.options.check_stop()?;
            let first = self.first_passage(candidate, found)?;
            let known = self.find_duplicate(&seen, candidate, first.as_ref());
            if let Some(original) = known {
                let of = outcome.hits[original].key.clone();
                outcome.hits[original].duplicates.push(candidate.key.clone());
                outcome.dropped.push((candidate.page, DropReason::Duplicate { of }));
                continue;
            }
            if let Some(first) = &first {
                seen.push(self.seen_passage(outcome.hits.len(), candidate, first));
            }
            let shown = self.passages_of(candidate, found, first)?;
            let hit = self.hit(candidate, shown, outcome.hits.len() + 1)?;
            outcome.hits.push(hit);
        }
        Ok(outcome)
    }

    /// The best passage of a page: by words if they match, by vector if that found it, else the one
    /// with the evidence, else the first.
    fn first_passage(
        &self,
        candidate: &Candidate,
        found: &ArmResults,
    ) -> Result<Option<ShownPassage>, BrainError> {
        if let Some(hit) = found.passages(candidate.page).first() {
            return Ok(Some(ShownPassage::of(self.view.read(hit)?, Some(hit.score))));
        }
        let ordinal = own_evidence(candidate).unwrap_or(0);
        let passage = self.view.passage(candidate.page, ordinal, self.request.filter.trust)?;
        Ok(passage.map(|passage| ShownPassage::of(passage, None)))
    }

    /// The first passage and as many more as the plan wants.
    fn passages_of(
        &self,
        candidate: &Candidate,
        found: &ArmResults,
        first: Option<ShownPassage>,
    ) -> Result<Vec<ShownPassage>, BrainError> {
        let mut shown: Vec<ShownPassage> = first.into_iter().collect();
        for hit in found.passages(candidate.page).into_iter().take(self.plan.passages).skip(1) {
            shown.push(ShownPassage::of(self.view.read(hit)?, Some(hit.score)));
        }
        self.drop_repeats(&mut shown);
        Ok(shown)
    }

    /// Neighbouring passages overlap by design; nearly identical ones are shown once.
    fn drop_repeats(&self, shown: &mut Vec<ShownPassage>) {
        let ordinals: Vec<u32> = shown.iter().map(|shown| shown.passage.ordinal).collect();
        let is_adjacent = |a: &u32| ordinals.iter().any(|b| a.abs_diff(*b) == 1);
        if !ordinals.iter().any(is_adjacent) {
            return;
        }
        let min_overlap = self.request.settings.duplicate_overlap;
        let mut shown_words: Vec<WordSet> = Vec::new();
        shown.retain(|shown| {
            let words = shown.words();
            let is_new = shown_words.iter().all(|known| !known.is_near(words, min_overlap));
            shown_words.push(words.clone());
            is_new
        });
    }

    /// The earlier hit that this page duplicates. Named pages are never dropped, and chats of
    /// different days are never duplicates.
    fn find_duplicate(
        &self,
        seen: &[SeenPassage],
        candidate: &Candidate,
        first: Option<&ShownPassage>,
    ) -> Option<usize> {
        let first =
            first.filter(|_| candidate.tier == RankTier::Found && candidate.edges.is_empty())?;
        let chat_day = chat_day(candidate);
        let seen = || seen.iter().filter(|seen| seen.chat_day == chat_day);
        if let Some(same) = seen().find(|seen| seen.hash == first.passage.hash) {
            return Some(same.at);
        }
        if !self.plan.fused || first.passage.text.len() < DUPLICATE_WORDS_FROM {
            return None;
        }
        let words = first.words();
        let min_overlap = self.request.settings.duplicate_overlap;
        let is_adjacent = |seen: &&SeenPassage| {
            seen.words.as_ref().is_some_and(|known| known.is_near(words, min_overlap))
        };
        seen().find(is_adjacent).map(|seen| seen.at)
    }

    fn seen_passage(&self, at: usize, candidate: &Candidate, first: &ShownPassage) -> SeenPassage {
        let by_words = self.plan.fused && first.passage.text.len() >= DUPLICATE_WORDS_FROM;
        let words = by_words.then(|| first.words().clone());
        SeenPassage { at, chat_day: chat_day(candidate), hash: first.passage.hash, words }
    }

    fn hit(
        &self,
        candidate: &Candidate,
        shown: Vec<ShownPassage>,
        rank: usize,
    ) -> Result<Hit, BrainError> {
        let evidence = self.evidence(candidate, &shown);
        let entry = self.view.entry(candidate.page, self.request.filter.trust)?;
        let page_type = entry.map(|entry| entry.page_type.clone()).unwrap_or_default();
        let mut trace = Vec::new();
        if self.options.explain {
            trace = candidate.trace.clone();
            let passages = if shown.len() == 1 { "passage" } else { "passages" };
            let note = format!("{} {passages}, evidence {evidence}", shown.len());
            trace.push(TraceStep {
                stage: "answer",
                rank: Some(rank),
                score: Some(candidate.score),
                note,
                parts: Vec::new(),
            });
        }
        Ok(Hit {
            rank,
            key: candidate.key.clone(),
            title: candidate.title.clone(),
            page_type,
            effective_date: candidate.effective_date,
            score: candidate.score,
            evidence,
            create_safety: evidence.create_safety(),
            passages: shown
                .into_iter()
                .map(|shown| self.passage_hit(&candidate.key, shown))
                .collect(),
            edges: self.with_chunk_ids(&candidate.edges)?,
            duplicates: Vec::new(),
            trace,
        })
    }

    /// Whether a passage contains every word of the query.
    fn holds_all(&self, shown: Option<&ShownPassage>) -> bool {
        let terms = &self.words.terms;
        shown.is_some_and(|shown| {
            !terms.terms.is_empty() && shown.matches(terms).terms == terms.terms.len()
        })
    }

    fn evidence(&self, candidate: &Candidate, shown: &[ShownPassage]) -> MatchEvidence {
        if candidate.tier != RankTier::Found {
            MatchEvidence::ExactName
        } else if !candidate.edges.is_empty() {
            MatchEvidence::Relation
        } else if title_holds(&candidate.title, &self.name) {
            MatchEvidence::TitleMatch
        } else if self.holds_all(shown.first()) {
            MatchEvidence::AllWords
        } else if candidate.arm_entry(Arm::Words).is_none() && is_by_meaning(candidate) {
            MatchEvidence::Meaning
        } else {
            MatchEvidence::SomeWords
        }
    }

    fn passage_hit(&self, key: &PageKey, shown: ShownPassage) -> PassageHit {
        let chunk_id = chunk_id(key, &shown.passage);
        let cut =
            snippet(&shown.passage.text, &shown.matches(&self.words.terms).spans, SNIPPET_CHARS);
        let Passage { ordinal, part, section, start, end, .. } = shown.passage;
        PassageHit {
            chunk_id,
            ordinal,
            part,
            section,
            start,
            end,
            score: shown.score,
            snippet: cut.text,
            highlights: cut.highlights,
        }
    }

    /// Adds chunk ids to edges; walks only know the ordinals of evidence chunks.
    fn with_chunk_ids(&self, edges: &[Edge]) -> Result<Vec<Edge>, BrainError> {
        let trust = self.request.filter.trust;
        let mut named = Vec::with_capacity(edges.len());
        for edge in edges {
            let owner = self.view.entry_by_key(&edge.evidence_page, trust)?;
            let chunk_id = match (edge.evidence_ordinal, owner) {
                (Some(ordinal), Some(owner)) => self
                    .view
                    .passage(owner.id, ordinal, trust)?
                    .map(|passage| chunk_id(&edge.evidence_page, &passage)),
                _ => None,
            };
            named.push(Edge { evidence_chunk: chunk_id, ..edge.clone() });
        }
        Ok(named)
    }
}

/// Whether similarity found the page: by vector, or through a query variant.
fn is_by_meaning(candidate: &Candidate) -> bool {
    candidate.arm_entry(Arm::Vectors).is_some() || !candidate.variants.is_empty()
}

/// The day of a chat; `None` for other kinds of pages.
fn chat_day(candidate: &Candidate) -> Option<Date> {
    candidate.effective_date.filter(|_| candidate.kind == PageKind::Chat)
}

/// The chunk of the candidate itself that holds the evidence of one of its edges.
fn own_evidence(candidate: &Candidate) -> Option<u32> {
    candidate.edges.iter().find(|edge| edge.evidence_page == candidate.key)?.evidence_ordinal
}

fn chunk_id(key: &PageKey, passage: &Passage) -> String {
    chunk_of(passage).id(key)
}

fn chunk_of(passage: &Passage) -> Chunk {
    let Passage { ordinal, part, section: _, start, end, hash, text: _ } = passage;
    Chunk {
        ordinal: *ordinal,
        part: *part,
        section: String::new(),
        start: *start,
        end: *end,
        hash: *hash,
    }
}
