//! Collects pairs: results that reviewers marked borderline, pairs from files, and relevant and
//! irrelevant pairs from canonical queries.
//!
//! Promises: queries are scrubbed; a pair exists once, even if its text changed, and collecting
//! again changes nothing; a vote does not override a manual label, and a canonical query overrides
//! neither.

use std::collections::{BTreeMap, BTreeSet};

use gbrain_core::calibrate::{
    CalibrationPair, LabelCounts, MOST, PairLabel, PairOrigin, chunk_of_text,
};
use gbrain_core::format::calibration::{
    PAIR_VERSION, PairBody, PairCollectionBody, PairEntry, ReviewRow, SkippedPair,
};
use gbrain_core::format::feedback::BorderlineComment;
use gbrain_core::format::suite::{RetrievalBody, Signal};
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::scrub::Scrubber;
use gbrain_core::suite::anonymous::anonymous;
use gbrain_core::suite::case::matches_expected;
use gbrain_core::suite::query::{CanonicalQuery, KeyKind, QueryState};
use gbrain_store::{
    Feedback, NewPair, RetrievalFilter, RetrievalLog, RetrievalOrigin, Store, StoreError, WriteKind,
};
use jiff::Timestamp;

use super::passage::{Passage, Passages};
use super::{CalibrateError, pairs};
use crate::suite::stored;

/// Results of a low-rated answer that are listed for review.
const REVIEW_DEPTH: usize = 3;
/// Documents outside this many results of a query count as irrelevant.
const NEAR_DEPTH: usize = 20;
/// Size limit of a passage text in bytes.
const MAX_TEXT_BYTES: usize = 100_000;

#[derive(Debug, Clone, Default)]
pub struct PairSources {
    pub entries: Vec<PairEntry>,
    /// Whether canonical queries contribute relevant and irrelevant pairs.
    pub canonical: bool,
}

/// Collects calibration pairs from feedback, files and canonical queries.
pub struct PairCollector<'a> {
    pub store: &'a Store,
    pub workspace: &'a WorkspaceId,
    pub passages: Passages<'a>,
    /// Scrubs queries before they are stored.
    pub scrubber: &'a Scrubber,
    /// Progress callback: pairs done and total.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    pub now: Timestamp,
}

struct CollectedPair {
    query: String,
    passage: Passage,
    label: PairLabel,
    origin: PairOrigin,
}

impl PairCollector<'_> {
    pub fn collect(&self, sources: &PairSources) -> Result<PairCollectionBody, CalibrateError> {
        let mut passed_over = Vec::new();
        let mut fresh = if sources.canonical { self.canonical()? } else { Vec::new() };
        let borderline = self.borderline()?;
        let total = borderline.len() + sources.entries.len();
        for (at, (query, document)) in borderline.iter().enumerate() {
            (self.progress)(at, total);
            let entry = PairEntry {
                query: query.clone(),
                document: document.clone(),
                chunk: None,
                label: PairLabel::Borderline,
                text: None,
            };
            self.resolve(&entry, PairOrigin::Feedback, &mut fresh, &mut passed_over)?;
        }
        for (entry, at) in sources.entries.iter().zip(1..) {
            (self.progress)(borderline.len() + at, total);
            if entry.text.as_ref().is_some_and(|text| text.len() > MAX_TEXT_BYTES) {
                let why = format!("`text` is longer than {MAX_TEXT_BYTES} bytes");
                return Err(CalibrateError::Pair { at, why });
            }
            self.resolve(entry, PairOrigin::Manual, &mut fresh, &mut passed_over)?;
        }
        self.store_pairs(fresh, passed_over)
    }

    /// Resolves a pair's text, or records why it is skipped.
    fn resolve(
        &self,
        entry: &PairEntry,
        origin: PairOrigin,
        fresh: &mut Vec<CollectedPair>,
        passed_over: &mut Vec<SkippedPair>,
    ) -> Result<(), CalibrateError> {
        let PairEntry { query, document, chunk, label, text } = entry;
        let query = anonymous(&self.scrubber.scrub(query).text).trim().to_owned();
        let given = text.as_deref().filter(|text| !text.trim().is_empty());
        let passage = match given {
            Some(text) => {
                let is_named = chunk.is_some();
                let chunk = chunk.clone().unwrap_or_else(|| chunk_of_text(document, text));
                Some(Passage { document: document.clone(), chunk, text: text.to_owned(), is_named })
            }
            None => self.passages.find(&query, document, chunk.as_deref())?,
        };
        let label = *label;
        match passage {
            Some(passage) => fresh.push(CollectedPair { query, passage, label, origin }),
            None => passed_over.push(SkippedPair {
                document: document.clone(),
                why: "its text is not available here (deleted, private or in another target): provide it as `text`"
                    .to_owned(),
            }),
        }
        Ok(())
    }

    /// Query and document pairs that reviewers marked borderline, each once.
    fn borderline(&self) -> Result<BTreeSet<(String, String)>, StoreError> {
        let mut borderline = BTreeSet::new();
        for (log, feedback) in self.logs(Signal::BorderlineLabel)? {
            let labels = feedback.iter().filter(|one| is(one, Signal::BorderlineLabel));
            for comment in labels.filter_map(|one| one.comment.as_deref()) {
                if let Ok(BorderlineComment { document }) = serde_json::from_str(comment) {
                    borderline.insert((log.fields.query_text.clone(), document));
                }
            }
        }
        Ok(borderline)
    }

    /// Results voted down that have no label yet.
    fn review(&self, known: &[CalibrationPair]) -> Result<Vec<ReviewRow>, StoreError> {
        let mut rows = BTreeSet::new();
        for (log, feedback) in self.logs(Signal::UserVote)? {
            let is_low = |one: &Feedback| is(one, Signal::UserVote) && one.score < Some(0.0);
            let body = log.fields.body.as_deref().filter(|_| feedback.iter().any(is_low));
            let Some(body) = body.and_then(|b| serde_json::from_str::<RetrievalBody>(b).ok())
            else {
                continue;
            };
            let query = log.fields.query_text;
            let hash = CanonicalQuery::normalized_text_hash(&query);
            let is_known = |document: &String| {
                known.iter().any(|pair| {
                    pair.document == *document
                        && CanonicalQuery::normalized_text_hash(&pair.query) == hash
                })
            };
            let low = body.result_ids.into_iter().take(REVIEW_DEPTH);
            rows.extend(low.filter(|document| !is_known(document)).map(|document| ReviewRow {
                query: query.clone(),
                document,
                label: None,
            }));
        }
        Ok(rows.into_iter().collect())
    }

    /// Live retrievals with feedback of a kind, and all their feedback.
    fn logs(&self, signal: Signal) -> Result<Vec<(RetrievalLog, Vec<Feedback>)>, StoreError> {
        let filter = RetrievalFilter {
            traffic: Some(RetrievalOrigin::Live),
            signal_type: Some(signal.name().to_owned()),
            ..RetrievalFilter::default()
        };
        let logs = self.store.retrieval_logs(self.workspace, &filter)?;
        let ids: Vec<i64> = logs.iter().map(|log| log.id).collect();
        let feedback = self.store.feedback(self.workspace, &ids)?;
        Ok(logs.into_iter().zip(feedback).collect())
    }

    /// Relevant pairs from the keys of canonical queries, and for each query an irrelevant one: the
    /// key of another query that is neither a key nor among the first results of this one.
    fn canonical(&self) -> Result<Vec<CollectedPair>, CalibrateError> {
        let all = stored(self.store, self.workspace)?;
        let asked = all.iter().filter(|one| one.state == QueryState::Active);
        let mut found = Vec::new();
        for query in asked.filter(|one| has_documents(one)).take(MOST) {
            let results = self.passages.results(&query.text)?;
            let is_key = |document: &str| is_key(query, document);
            let best = results.iter().find(|one| is_key(&one.document));
            let passage = best.and_then(|one| self.passages.passage(one));
            let near = results.into_iter().take(NEAR_DEPTH);
            let seen: BTreeSet<String> = near.map(|one| one.document).collect();
            found.push((query, passage, seen));
        }
        let mut fresh = Vec::new();
        let count = found.len();
        for (at, (query, passage, seen)) in found.iter().enumerate() {
            let mut add = |passage: &Passage, label| {
                fresh.push(CollectedPair {
                    query: query.text.clone(),
                    passage: passage.clone(),
                    label,
                    origin: PairOrigin::Canonical,
                });
            };
            passage.iter().for_each(|passage| add(passage, PairLabel::Relevant));
            let others = (1..count).map(|step| &found[(at + step) % count].1);
            let is_far =
                |far: &&Passage| !seen.contains(&far.document) && !is_key(query, &far.document);
            if let Some(far) = others.flatten().find(is_far) {
                add(far, PairLabel::Irrelevant);
            }
        }
        Ok(fresh)
    }

    /// Stores pairs unless a more trusted origin contradicts them.
    fn store_pairs(
        &self,
        fresh: Vec<CollectedPair>,
        mut passed_over: Vec<SkippedPair>,
    ) -> Result<PairCollectionBody, CalibrateError> {
        let known = pairs(self.store, self.workspace, None, usize::MAX)?;
        let mut origins: BTreeMap<PairIdentity, PairOrigin> =
            known.iter().map(|pair| (identity_of(pair), pair.origin)).collect();
        // Of two equal pairs only the last is written.
        let mut new: Vec<(PairIdentity, NewPair)> = Vec::new();
        for CollectedPair { query, passage, label, origin } in fresh {
            let Passage { document, chunk, text, is_named } = passage;
            let query_hash = CanonicalQuery::normalized_text_hash(&query);
            // A known passage keeps its identity, whether or not it is named now.
            let is_it = |one: &&CalibrationPair| {
                one.chunk == chunk && CanonicalQuery::normalized_text_hash(&one.query) == query_hash
            };
            let is_named = known.iter().find(is_it).map_or(is_named, |one| one.is_named);
            let of = if is_named { &chunk } else { &document };
            let identity = (query_hash, is_named, of.clone());
            let origins = origins.entry(identity.clone()).or_insert(origin);
            if *origins > origin {
                passed_over
                    .push(SkippedPair { document, why: format!("overridden by a {origins} pair") });
                continue;
            }
            *origins = origin;
            let named = Some(is_named);
            let body = PairBody { schema_version: PAIR_VERSION, query, text, origin, named };
            let (chunk_id, label, body) = (chunk, label.name().to_owned(), super::json(&body));
            // An older text of the same pair.
            let is_older =
                |one: &&CalibrationPair| identity_of(one) == identity && one.chunk != chunk_id;
            let replaces = known.iter().filter(is_older).map(|one| one.id).collect();
            let pair = NewPair { query_hash, chunk_id, document, label, body, replaces };
            match new.iter_mut().find(|(other, _)| *other == identity) {
                Some((_, known)) => *known = pair,
                None => new.push((identity, pair)),
            }
        }
        let new: Vec<NewPair> = new.into_iter().map(|(_, pair)| pair).collect();
        let put = self.store.put_pairs(self.workspace, &new, self.now)?;
        let count = |kind| put.iter().filter(|one| one.kind == kind).count();
        let known = pairs(self.store, self.workspace, None, usize::MAX)?;
        let counts = LabelCounts::of(known.iter().map(|pair| pair.label));
        Ok(PairCollectionBody {
            added: count(WriteKind::Added),
            changed: count(WriteKind::Changed),
            unchanged: count(WriteKind::Unchanged),
            passed_over,
            pairs: counts,
            missing: counts.missing(),
            review: self.review(&known)?,
        })
    }
}

/// The identity of a pair: the query, and the passage if it is named, else the document.
type PairIdentity = (Hash, bool, String);

fn identity_of(pair: &CalibrationPair) -> PairIdentity {
    let (query, of) = pair.identity();
    (query, pair.is_named, of.to_owned())
}

fn is(feedback: &Feedback, signal: Signal) -> bool {
    feedback.signal_type == signal.name()
}

fn has_documents(query: &CanonicalQuery) -> bool {
    let mut keys = query.expected.iter().chain(&query.acceptable);
    keys.any(|key| key.kind == KeyKind::Document)
}

/// Whether a document is a key of a query.
pub(super) fn is_key(query: &CanonicalQuery, document: &str) -> bool {
    let keys = query.expected.iter().chain(&query.acceptable);
    keys.filter(|key| key.kind == KeyKind::Document).any(|key| matches_expected(&key.id, document))
}
