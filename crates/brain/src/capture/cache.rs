//! Answers that are kept to be given again.
//!
//! The key is everything that an answer depends on: the program, the workspace and its corpus, the
//! sources and what they are believed, the models, and the whole request with its settings and
//! variants. Of the time only the day counts, in UTC, because rankings depend on nothing finer. So an
//! answer that is given again is the one that would have been found, byte by byte, and nothing ever has
//! to be thrown away because it is old: a write, another setting or another caller is another key.
//!
//! Only answers in which something remote takes part are kept: one from what is here is found again
//! in the time of a millisecond, and keeping it would only cost memory. Degraded answers are not
//! kept, since the next caller may be luckier, and neither are explanations.
//!
//! Deliberately absent: anything that outlives the process, and likeness. A question in other words is
//! another question.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gbrain_core::hash::Hash;
use gbrain_core::ranking::{Hit, PassageHit, Ranking, is_of_the_question};
use gbrain_core::request::{Operation, Request};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rustc_hash::FxHashMap;

use crate::{Ask, Brain, Snapshot};

use super::software;

/// Answers by their key, the least recently used of which go first.
#[derive(Default)]
pub(super) struct Cache(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    entries: FxHashMap<Hash, Entry>,
    /// Keys by when they were last used.
    order: BTreeMap<u64, Hash>,
    clock: u64,
    bytes: usize,
}

struct Entry {
    ranking: Arc<Ranking>,
    bytes: usize,
    used: u64,
}

impl Cache {
    /// The answer of a key.
    pub(super) fn get(&self, key: Hash) -> Option<Arc<Ranking>> {
        let mut kept = self.kept();
        let now = kept.tick();
        let entry = kept.entries.get_mut(&key)?;
        let before = std::mem::replace(&mut entry.used, now);
        let ranking = entry.ranking.clone();
        kept.order.remove(&before);
        kept.order.insert(now, key);
        Some(ranking)
    }

    /// Keeps an answer, and lets others go until all fit into so many bytes. A degraded one, or one
    /// that is larger than that, is not kept.
    pub(super) fn put(&self, key: Hash, ranking: &Ranking, most: usize) {
        let is_whole = ranking.degraded.iter().all(|d| is_of_the_question(d.reason));
        let bytes = size(ranking);
        let mut kept = self.kept();
        if is_whole && bytes <= most {
            kept.forget(key);
            let used = kept.tick();
            kept.bytes += bytes;
            kept.order.insert(used, key);
            kept.entries.insert(key, Entry { ranking: Arc::new(ranking.clone()), bytes, used });
        }
        while kept.bytes > most {
            let Some((_, oldest)) = kept.order.pop_first() else { break };
            kept.forget(oldest);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn forget(&mut self, key: Hash) {
        if let Some(Entry { ranking: _, bytes, used }) = self.entries.remove(&key) {
            self.order.remove(&used);
            self.bytes -= bytes;
        }
    }
}

/// How many bytes of answers a request lets a process keep.
pub(super) fn most_bytes(request: &Request) -> usize {
    (request.settings.cache_mb * 1024.0 * 1024.0) as usize
}

/// The key of an answer, if it is one that is kept.
pub(super) fn key(
    brain: &Brain,
    snapshot: &Snapshot,
    request: &Request,
    ask: &Ask<'_>,
) -> Option<Hash> {
    let is_remote = ask.rerank.is_some()
        || request.vectors && snapshot.embedder().is_some_and(|model| model.is_remote());
    let is_plain = !ask.explain && ask.why_not.is_none();
    let is_kept = request.operation == Operation::Query && is_remote && is_plain;
    if !is_kept || most_bytes(request) == 0 {
        return None;
    }
    let today = request.now.to_zoned(TimeZone::UTC).date();
    let sources: Vec<_> =
        snapshot.sources.iter().map(|source| (source.id.as_str(), source.trust)).collect();
    // Invariant: every type below derives Debug, so the text has every field, and texts in it are
    // quoted: two keys are equal only if all of it is.
    let text = format!(
        "{:?}",
        (
            (software(), brain.workspace(), snapshot.corpus(), sources),
            (snapshot.vector_model(), snapshot.embedder().map(|model| model.id())),
            ask.rerank.map(|reranker| reranker.id),
            today,
            Request { now: Timestamp::UNIX_EPOCH, ..request.clone() },
        )
    );
    Some(Hash::of(text.as_bytes()))
}

/// About how many bytes an answer takes.
fn size(ranking: &Ranking) -> usize {
    size_of::<Ranking>() + size_of::<Entry>() + ranking.hits.iter().map(size_of_hit).sum::<usize>()
}

fn size_of_hit(hit: &Hit) -> usize {
    let passage = |passage: &PassageHit| {
        let texts = [&passage.chunk_id, &passage.section, &passage.snippet];
        let texts: usize = texts.iter().map(|text| text.len()).sum();
        size_of::<PassageHit>() + texts + passage.highlights.len() * size_of::<(u32, u32)>()
    };
    // An edge names four pages and a chunk, of a slug's length each.
    let edges = hit.edges.len() * 512;
    let passages: usize = hit.passages.iter().map(passage).sum();
    let names = hit.title.len() + hit.page_type.len() + 128 * (1 + hit.duplicates.len());
    size_of::<Hit>() + passages + edges + names
}
