//! From candidates to hits: passages, snippets, duplicates, cut, evidence.

use std::cell::OnceCell;

use gbrain_core::chunk::Chunk;
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageId, PageKey};
use gbrain_core::page::PageKind;
use gbrain_core::ranking::{Arm, Edge, Evidence, Hit, PassageHit, TraceStep};
use gbrain_core::search::boost::title_holds;
use gbrain_core::search::candidate::{Candidate, Tier};
use gbrain_core::search::cut;
use gbrain_core::search::dedup::WordSet;
use gbrain_core::search::snippet::snippet;
use gbrain_core::text::{Matches, QueryTerms, matches};
use gbrain_index::Passage;
use jiff::civil::Date;

use crate::BrainError;

use super::Retrieval;
use super::arms::ArmResults;

/// About three lines of a terminal.
const SNIPPET_CHARS: usize = 240;
/// Passages shorter than this are too short to be called duplicates by their words.
const DUPLICATE_WORDS_FROM: usize = 80;

/// Why a candidate is not in the answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Dropped {
    Duplicate { of: PageKey },
    Judged,
    Cut,
    BeyondLimit,
}

/// What became of the candidates.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) hits: Vec<Hit>,
    pub(super) dropped: Vec<(PageId, Dropped)>,
}

/// A passage with what it says of the query.
struct Shown {
    passage: Passage,
    score: Option<f64>,
    matches: OnceCell<Matches>,
    words: OnceCell<WordSet>,
}

impl Shown {
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

/// What has been shown so far, to know what is the same.
struct Seen {
    at: usize,
    /// The day of a chat.
    said: Option<Date>,
    hash: Hash,
    words: Option<WordSet>,
}

impl Retrieval<'_> {
    pub(super) fn hydrate(
        &self,
        candidates: &[Candidate],
        found: &ArmResults,
    ) -> Result<Outcome, BrainError> {
        let mut outcome = Outcome::default();
        let mut seen: Vec<Seen> = Vec::new();
        let kept = cut::keep(candidates, self.request.settings.cut_ratio);
        for (at, candidate) in candidates.iter().enumerate() {
            if found.stay.is_some_and(|stay| at >= stay) {
                outcome.dropped.push((candidate.page, Dropped::Judged));
                continue;
            }
            if at >= kept {
                outcome.dropped.push((candidate.page, Dropped::Cut));
                continue;
            }
            if outcome.hits.len() == self.request.limit {
                outcome.dropped.push((candidate.page, Dropped::BeyondLimit));
                continue;
            }
            self.ask.check_stop()?;
            let first = self.first_passage(candidate, found)?;
            let known = self.same_as(&seen, candidate, first.as_ref());
            if let Some(original) = known {
                let of = outcome.hits[original].key.clone();
                outcome.hits[original].duplicates.push(candidate.key.clone());
                outcome.dropped.push((candidate.page, Dropped::Duplicate { of }));
                continue;
            }
            if let Some(first) = &first {
                seen.push(self.remember(outcome.hits.len(), candidate, first));
            }
            let shown = self.passages_of(candidate, found, first)?;
            let hit = self.hit(candidate, shown, outcome.hits.len() + 1)?;
            outcome.hits.push(hit);
        }
        Ok(outcome)
    }

    /// The best passage of a page: by words where they match, by meaning where that found it,
    /// else where the evidence is, else its beginning.
    fn first_passage(
        &self,
        candidate: &Candidate,
        found: &ArmResults,
    ) -> Result<Option<Shown>, BrainError> {
        if let Some(hit) = found.passages(candidate.page).first() {
            return Ok(Some(Shown::of(self.view.read(hit)?, Some(hit.score))));
        }
        let ordinal = own_evidence(candidate).unwrap_or(0);
        let passage = self.view.passage(candidate.page, ordinal, self.request.filter.trust)?;
        Ok(passage.map(|passage| Shown::of(passage, None)))
    }

    /// The first passage and as many after it as are wanted.
    fn passages_of(
        &self,
        candidate: &Candidate,
        found: &ArmResults,
        first: Option<Shown>,
    ) -> Result<Vec<Shown>, BrainError> {
        let mut shown: Vec<Shown> = first.into_iter().collect();
        for hit in found.passages(candidate.page).into_iter().take(self.plan.passages).skip(1) {
            shown.push(Shown::of(self.view.read(hit)?, Some(hit.score)));
        }
        self.drop_repeats(&mut shown);
        Ok(shown)
    }

    /// Neighbours in a page overlap by design; those that say nearly the same are shown once.
    fn drop_repeats(&self, shown: &mut Vec<Shown>) {
        let ordinals: Vec<u32> = shown.iter().map(|shown| shown.passage.ordinal).collect();
        let is_near = |a: &u32| ordinals.iter().any(|b| a.abs_diff(*b) == 1);
        if !ordinals.iter().any(is_near) {
            return;
        }
        let least = self.request.settings.duplicate_overlap;
        let mut kept: Vec<WordSet> = Vec::new();
        shown.retain(|shown| {
            let words = shown.words();
            let is_new = kept.iter().all(|known| !known.is_near(words, least));
            kept.push(words.clone());
            is_new
        });
    }

    /// The hit that already says what this page says. Named pages are never left out, and what was
    /// said on another day was said again.
    fn same_as(
        &self,
        seen: &[Seen],
        candidate: &Candidate,
        first: Option<&Shown>,
    ) -> Option<usize> {
        let first =
            first.filter(|_| candidate.tier == Tier::Found && candidate.edges.is_empty())?;
        let said = said(candidate);
        let seen = || seen.iter().filter(|seen| seen.said == said);
        if let Some(same) = seen().find(|seen| seen.hash == first.passage.hash) {
            return Some(same.at);
        }
        if !self.plan.fused || first.passage.text.len() < DUPLICATE_WORDS_FROM {
            return None;
        }
        let words = first.words();
        let least = self.request.settings.duplicate_overlap;
        let is_near =
            |seen: &&Seen| seen.words.as_ref().is_some_and(|known| known.is_near(words, least));
        seen().find(is_near).map(|seen| seen.at)
    }

    fn remember(&self, at: usize, candidate: &Candidate, first: &Shown) -> Seen {
        let by_words = self.plan.fused && first.passage.text.len() >= DUPLICATE_WORDS_FROM;
        let words = by_words.then(|| first.words().clone());
        Seen { at, said: said(candidate), hash: first.passage.hash, words }
    }

    fn hit(
        &self,
        candidate: &Candidate,
        shown: Vec<Shown>,
        rank: usize,
    ) -> Result<Hit, BrainError> {
        let evidence = self.evidence(candidate, &shown);
        let entry = self.view.entry(candidate.page, self.request.filter.trust)?;
        let page_type = entry.map(|entry| entry.page_type.clone()).unwrap_or_default();
        let mut trace = Vec::new();
        if self.ask.explain {
            trace = candidate.trace.clone();
            let note = format!("{} passages, evidence {evidence}", shown.len());
            trace.push(TraceStep {
                stage: "answer",
                rank: Some(rank),
                score: Some(candidate.score),
                note,
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

    /// Whether a passage holds every word of the query.
    fn holds_all(&self, shown: Option<&Shown>) -> bool {
        let terms = &self.words.terms;
        shown.is_some_and(|shown| {
            !terms.terms.is_empty() && shown.matches(terms).terms == terms.terms.len()
        })
    }

    fn evidence(&self, candidate: &Candidate, shown: &[Shown]) -> Evidence {
        if candidate.tier != Tier::Found {
            Evidence::ExactName
        } else if !candidate.edges.is_empty() {
            Evidence::Relation
        } else if title_holds(&candidate.title, &self.name) {
            Evidence::TitleMatch
        } else if self.holds_all(shown.first()) {
            Evidence::AllWords
        } else if candidate.in_arm(Arm::Words).is_none() && is_by_meaning(candidate) {
            Evidence::Meaning
        } else {
            Evidence::SomeWords
        }
    }

    fn passage_hit(&self, key: &PageKey, shown: Shown) -> PassageHit {
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

    /// A walk knows evidence chunks by their place; an answer quotes their ids.
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

/// Whether meaning brought a page: its vector, or a model that said the same in other words.
fn is_by_meaning(candidate: &Candidate) -> bool {
    candidate.in_arm(Arm::Vectors).is_some() || !candidate.variants.is_empty()
}

/// The day of a chat; pages of other kinds tell of no moment.
fn said(candidate: &Candidate) -> Option<Date> {
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
