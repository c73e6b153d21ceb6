//! Pairs, collected: what people called borderline of answers, what files bring, and, for telling good from
//! bad, what canonical queries must find and what lies far from them.
//!
//! Promises: queries are scrubbed; a pair is there once, also where its text has changed, and collecting
//! again changes nothing; what a person
//! reviewed is not overruled by a vote, nor either by a key.

use std::collections::{BTreeMap, BTreeSet};

use gbrain_core::calibrate::{
    CalibrationPair, Label, LabelCounts, MOST, PairOrigin, chunk_of_text,
};
use gbrain_core::format::calibration::{
    CollectedBody, PAIR_VERSION, PairBody, PairEntry, Passed, ReviewRow,
};
use gbrain_core::format::feedback::BorderlineComment;
use gbrain_core::format::suite::{RetrievalBody, Signal};
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::scrub::Scrubber;
use gbrain_core::suite::anonymous::anonymous;
use gbrain_core::suite::case::is_meant;
use gbrain_core::suite::query::{CanonicalQuery, KeyKind, QueryState};
use gbrain_store::{
    Feedback, NewPair, RetrievalFilter, RetrievalLog, Store, StoreError, Traffic, WriteKind,
};
use jiff::Timestamp;

use super::passage::{Passage, Passages};
use super::{CalibrateError, pairs};
use crate::suite::stored;

/// Results of a low-rated answer that somebody is to look at.
const LOOK_AT: usize = 3;
/// What is not among so many results of a query is far from it.
const FAR: usize = 20;
/// The longest text of a passage, in bytes.
const LONGEST: usize = 100_000;

/// Where pairs come from.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    pub entries: Vec<PairEntry>,
    /// Whether canonical queries bring relevant and irrelevant pairs.
    pub canonical: bool,
}

/// What collects.
pub struct Collection<'a> {
    /// Where feedback and pairs are.
    pub store: &'a Store,
    pub workspace: &'a WorkspaceId,
    /// Where texts are looked up.
    pub passages: Passages<'a>,
    /// What is taken out of queries.
    pub scrubber: &'a Scrubber,
    /// Told how many are done, and of how many.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    pub now: Timestamp,
}

/// A pair on its way.
struct Fresh {
    query: String,
    passage: Passage,
    label: Label,
    origin: PairOrigin,
}

impl Collection<'_> {
    /// Collects from everywhere.
    pub fn collect(&self, sources: &Sources) -> Result<CollectedBody, CalibrateError> {
        let mut passed_over = Vec::new();
        let mut fresh = if sources.canonical { self.canonical()? } else { Vec::new() };
        let said = self.said()?;
        let total = said.len() + sources.entries.len();
        for (at, (query, document)) in said.iter().enumerate() {
            (self.progress)(at, total);
            let entry = PairEntry {
                query: query.clone(),
                document: document.clone(),
                chunk: None,
                label: Label::Borderline,
                text: None,
            };
            self.take(&entry, PairOrigin::Feedback, &mut fresh, &mut passed_over)?;
        }
        for (entry, at) in sources.entries.iter().zip(1..) {
            (self.progress)(said.len() + at, total);
            if entry.text.as_ref().is_some_and(|text| text.len() > LONGEST) {
                let why = format!("a text takes up to {LONGEST} bytes");
                return Err(CalibrateError::Pair { at, why });
            }
            self.take(entry, PairOrigin::Manual, &mut fresh, &mut passed_over)?;
        }
        self.keep(fresh, passed_over)
    }

    /// A pair with its text, or a word why not.
    fn take(
        &self,
        entry: &PairEntry,
        origin: PairOrigin,
        fresh: &mut Vec<Fresh>,
        passed_over: &mut Vec<Passed>,
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
            Some(passage) => fresh.push(Fresh { query, passage, label, origin }),
            None => passed_over.push(Passed {
                document: document.clone(),
                why: "its text is not to be had here: it is gone, private or of another target; give it as `text`"
                    .to_owned(),
            }),
        }
        Ok(())
    }

    /// What people called borderline: queries with documents, each once.
    fn said(&self) -> Result<BTreeSet<(String, String)>, StoreError> {
        let mut said = BTreeSet::new();
        for (log, words) in self.logs(Signal::BorderlineLabel)? {
            let borderline = words.iter().filter(|one| is(one, Signal::BorderlineLabel));
            for comment in borderline.filter_map(|one| one.comment.as_deref()) {
                if let Ok(BorderlineComment { document }) = serde_json::from_str(comment) {
                    said.insert((log.fields.query_text.clone(), document));
                }
            }
        }
        Ok(said)
    }

    /// What somebody voted down and nobody labelled yet.
    fn review(&self, known: &[CalibrationPair]) -> Result<Vec<ReviewRow>, StoreError> {
        let mut rows = BTreeSet::new();
        for (log, words) in self.logs(Signal::UserVote)? {
            let is_low = |one: &Feedback| is(one, Signal::UserVote) && one.score < Some(0.0);
            let body = log.fields.body.as_deref().filter(|_| words.iter().any(is_low));
            let Some(body) = body.and_then(|b| serde_json::from_str::<RetrievalBody>(b).ok())
            else {
                continue;
            };
            let query = log.fields.query_text;
            let hash = CanonicalQuery::text_hash(&query);
            let is_known = |document: &String| {
                known.iter().any(|pair| {
                    pair.document == *document && CanonicalQuery::text_hash(&pair.query) == hash
                })
            };
            let low = body.result_ids.into_iter().take(LOOK_AT);
            rows.extend(low.filter(|document| !is_known(document)).map(|document| ReviewRow {
                query: query.clone(),
                document,
                label: None,
            }));
        }
        Ok(rows.into_iter().collect())
    }

    /// Live retrievals of which something of a kind was said, with all that was.
    fn logs(&self, signal: Signal) -> Result<Vec<(RetrievalLog, Vec<Feedback>)>, StoreError> {
        let filter = RetrievalFilter {
            traffic: Some(Traffic::Live),
            signal_type: Some(signal.name().to_owned()),
            ..RetrievalFilter::default()
        };
        let logs = self.store.retrieval_logs(self.workspace, &filter)?;
        let ids: Vec<i64> = logs.iter().map(|log| log.id).collect();
        let words = self.store.feedback(self.workspace, &ids)?;
        Ok(logs.into_iter().zip(words).collect())
    }

    /// What canonical queries must find as relevant pairs, and for each as irrelevant what another one must
    /// find: no key of it, and not among its first results.
    fn canonical(&self) -> Result<Vec<Fresh>, CalibrateError> {
        let all = stored(self.store, self.workspace)?;
        let asked = all.iter().filter(|one| one.state == QueryState::Active);
        let mut found = Vec::new();
        for query in asked.filter(|one| has_documents(one)).take(MOST) {
            let results = self.passages.results(&query.text)?;
            let is_key = |document: &str| is_key(query, document);
            let best = results.iter().find(|one| is_key(&one.document));
            let passage = best.and_then(|one| self.passages.passage(one));
            let near = results.into_iter().take(FAR);
            let seen: BTreeSet<String> = near.map(|one| one.document).collect();
            found.push((query, passage, seen));
        }
        let mut fresh = Vec::new();
        let count = found.len();
        for (at, (query, passage, seen)) in found.iter().enumerate() {
            let mut add = |passage: &Passage, label| {
                fresh.push(Fresh {
                    query: query.text.clone(),
                    passage: passage.clone(),
                    label,
                    origin: PairOrigin::Canonical,
                });
            };
            passage.iter().for_each(|passage| add(passage, Label::Relevant));
            let others = (1..count).map(|step| &found[(at + step) % count].1);
            let is_far =
                |far: &&Passage| !seen.contains(&far.document) && !is_key(query, &far.document);
            if let Some(far) = others.flatten().find(is_far) {
                add(far, Label::Irrelevant);
            }
        }
        Ok(fresh)
    }

    /// Keeps what nobody more believed said otherwise of.
    fn keep(
        &self,
        fresh: Vec<Fresh>,
        mut passed_over: Vec<Passed>,
    ) -> Result<CollectedBody, CalibrateError> {
        let known = pairs(self.store, self.workspace, None, usize::MAX)?;
        let mut believed: BTreeMap<Identity, PairOrigin> =
            known.iter().map(|pair| (identity_of(pair), pair.origin)).collect();
        // Of two that are the same pair the last is meant, and one is written.
        let mut new: Vec<(Identity, NewPair)> = Vec::new();
        for Fresh { query, passage, label, origin } in fresh {
            let Passage { document, chunk, text, is_named } = passage;
            let query_hash = CanonicalQuery::text_hash(&query);
            // A passage that is known is the pair that it is, whether or not it is named now.
            let is_it = |one: &&CalibrationPair| {
                one.chunk == chunk && CanonicalQuery::text_hash(&one.query) == query_hash
            };
            let is_named = known.iter().find(is_it).map_or(is_named, |one| one.is_named);
            let of = if is_named { &chunk } else { &document };
            let identity = (query_hash, is_named, of.clone());
            let believed = believed.entry(identity.clone()).or_insert(origin);
            if *believed > origin {
                passed_over
                    .push(Passed { document, why: format!("{believed} pairs say otherwise") });
                continue;
            }
            *believed = origin;
            let named = Some(is_named);
            let body = PairBody { schema_version: PAIR_VERSION, query, text, origin, named };
            let (chunk_id, label, body) = (chunk, label.name().to_owned(), super::json(&body));
            // Another text of the same pair.
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
        Ok(CollectedBody {
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

/// What makes two pairs the same: the query, and the passage where it is named, or the document.
type Identity = (Hash, bool, String);

fn identity_of(pair: &CalibrationPair) -> Identity {
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

/// Whether a document is what a query must find.
pub(super) fn is_key(query: &CanonicalQuery, document: &str) -> bool {
    let keys = query.expected.iter().chain(&query.acceptable);
    keys.filter(|key| key.kind == KeyKind::Document).any(|key| is_meant(&key.id, document))
}
