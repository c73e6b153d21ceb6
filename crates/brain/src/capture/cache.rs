//! The answer cache.
//!
//! The key covers everything an answer depends on: program, workspace, corpus, sources and their
//! trust, models, and the whole request with settings and variants. Of the time only the UTC day
//! counts, because rankings depend on nothing finer. A cached answer is therefore byte for byte the
//! one that a search would give, and entries never expire: a write, a changed setting or another
//! kind of caller changes the key.
//!
//! Only answers that involve a remote model are cached: a local search takes a few milliseconds,
//! and captures keep measuring its cost. Degraded answers and explanations are not cached.
//!
//! Deliberately absent: persistence across processes, and similarity matching. A rephrased query is
//! a different query.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gbrain_core::hash::Hash;
use gbrain_core::ranking::{Hit, PassageHit, Ranking, is_query_specific};
use gbrain_core::request::{Operation, Request};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rustc_hash::FxHashMap;

use crate::{Brain, QueryOptions, Snapshot};

use super::software;

/// Answers by key; the least recently used are evicted first.
#[derive(Default)]
pub(super) struct AnswerCache(Mutex<CacheEntries>);

#[derive(Default)]
struct CacheEntries {
    entries: FxHashMap<Hash, CacheEntry>,
    /// Keys by time of last use.
    order: BTreeMap<u64, Hash>,
    clock: u64,
    bytes: usize,
}

struct CacheEntry {
    ranking: Arc<Ranking>,
    bytes: usize,
    used: u64,
}

impl AnswerCache {
    pub(super) fn get(&self, key: Hash) -> Option<Arc<Ranking>> {
        let mut cache = self.lock();
        let now = cache.tick();
        let entry = cache.entries.get_mut(&key)?;
        let before = std::mem::replace(&mut entry.used, now);
        let ranking = entry.ranking.clone();
        cache.order.remove(&before);
        cache.order.insert(now, key);
        Some(ranking)
    }

    /// Caches an answer and evicts others until all fit into `max_total` bytes. Degraded and oversized
    /// answers are not cached.
    pub(super) fn put(&self, key: Hash, ranking: &Ranking, max_total: usize) {
        let is_complete = ranking.degraded.iter().all(|d| is_query_specific(d.reason));
        let bytes = size(ranking);
        let mut cache = self.lock();
        if is_complete && bytes <= max_total {
            cache.remove_entry(key);
            let used = cache.tick();
            cache.bytes += bytes;
            cache.order.insert(used, key);
            cache
                .entries
                .insert(key, CacheEntry { ranking: Arc::new(ranking.clone()), bytes, used });
        }
        while cache.bytes > max_total {
            let Some((_, oldest)) = cache.order.pop_first() else { break };
            cache.remove_entry(oldest);
        }
    }

    fn lock(&self) -> MutexGuard<'_, CacheEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheEntries {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn remove_entry(&mut self, key: Hash) {
        if let Some(CacheEntry { ranking: _, bytes, used }) = self.entries.remove(&key) {
            self.order.remove(&used);
            self.bytes -= bytes;
        }
    }
}

/// The size limit of the cache in bytes, from the request's settings.
pub(super) fn max_bytes(request: &Request) -> usize {
    (request.settings.cache_mb * 1024.0 * 1024.0) as usize
}

/// The cache key of an answer; `None` if it must not be cached.
pub(super) fn answer_key(
    brain: &Brain,
    snapshot: &Snapshot,
    request: &Request,
    options: &QueryOptions<'_>,
) -> Option<Hash> {
    let is_remote = options.rerank.is_some()
        || request.vectors && snapshot.embedder().is_some_and(|model| model.is_remote());
    let is_plain = !options.explain && options.why_not.is_none();
    let is_complete = !snapshot.is_stale();
    let is_cacheable =
        request.operation == Operation::Query && is_remote && is_plain && is_complete;
    if !is_cacheable || max_bytes(request) == 0 {
        return None;
    }
    let today = request.now.to_zoned(TimeZone::UTC).date();
    let sources: Vec<_> =
        snapshot.sources.iter().map(|source| (source.id.as_str(), source.trust)).collect();
    // Invariant: every type below derives Debug, so the text contains every field, and strings in
    // it are quoted: two keys are equal only if all fields are.
    let text = format!(
        "{:?}",
        (
            (software(), brain.workspace(), snapshot.corpus(), sources),
            (snapshot.vector_model(), snapshot.embedder().map(|model| model.id())),
            options.rerank.map(|reranker| reranker.id),
            today,
            Request { now: Timestamp::UNIX_EPOCH, ..request.clone() },
        )
    );
    Some(Hash::of(text.as_bytes()))
}

/// Approximate size of an answer in bytes.
fn size(ranking: &Ranking) -> usize {
    size_of::<Ranking>()
        + size_of::<CacheEntry>()
        + ranking.hits.iter().map(size_of_hit).sum::<usize>()
}

fn size_of_hit(hit: &Hit) -> usize {
    let passage = |passage: &PassageHit| {
        let texts = [&passage.chunk_id, &passage.section, &passage.snippet];
        let texts: usize = texts.iter().map(|text| text.len()).sum();
        size_of::<PassageHit>() + texts + passage.highlights.len() * size_of::<(u32, u32)>()
    };
    // An edge names four pages and a chunk, each about as long as a slug.
    let edges = hit.edges.len() * 512;
    let passages: usize = hit.passages.iter().map(passage).sum();
    let names = hit.title.len() + hit.page_type.len() + 128 * (1 + hit.duplicates.len());
    size_of::<Hit>() + passages + edges + names
}

#[cfg(test)]
mod tests {
    use gbrain_core::hook::HookError;
    use gbrain_core::id::{SourceId, WorkspaceId};
    use gbrain_core::request::{Detail, Expansion, Filter, RetrievalMode, Viewer};
    use gbrain_core::search::Settings;
    use gbrain_store::{Location, OpenMode, Store};
    use jiff::SignedDuration;

    use super::*;
    use crate::{IndexKind, RerankPassage, Reranker, WorkspaceOptions, built_in_models};

    fn request() -> Request {
        Request {
            operation: Operation::Query,
            query: "ferry".to_owned(),
            limit: 10,
            detail: None,
            mode: RetrievalMode::Hybrid,
            filter: Filter { trust: Viewer::Trusted, ..Filter::default() },
            vectors: true,
            expansion: Expansion::Off,
            now: Timestamp::UNIX_EPOCH,
            settings: Settings::default(),
        }
    }

    fn judge(_: &str, judged: &[RerankPassage]) -> Result<Vec<f64>, HookError> {
        Ok(vec![1.0; judged.len()])
    }

    fn options(id: &str) -> QueryOptions<'_> {
        QueryOptions { rerank: Some(Reranker { id, judge: &judge }), ..QueryOptions::default() }
    }

    /// Brains of two empty workspaces of one store.
    fn brains(dir: &std::path::Path) -> [Brain; 2] {
        let (now, location) = (Timestamp::UNIX_EPOCH, Location::Sqlite(dir.join("brain.db")));
        let store: Arc<Store> =
            gbrain_store::Store::open(&location, OpenMode::Init, now).unwrap().into();
        let team = WorkspaceId::new("team").unwrap();
        store.add_workspace(&team, now).unwrap();
        [WorkspaceId::default(), team].map(|workspace| {
            let (index, index_dir) = (IndexKind::Memory, dir.join("index"));
            let models = built_in_models();
            let options = WorkspaceOptions { index, index_dir, workspace, models };
            Brain::with_store(store.clone(), options).unwrap()
        })
    }

    #[test]
    fn whatever_an_answer_depends_on_is_in_its_key() {
        let dir = tempfile::tempdir().unwrap();
        let [ours, theirs] = brains(dir.path());
        let key_of = |brain: &Brain, request: &Request, options: &QueryOptions<'_>| {
            answer_key(brain, &brain.snapshot(&|_, _| ()).unwrap(), request, options)
        };
        let changed = |change: &dyn Fn(&mut Request)| {
            let mut request = request();
            change(&mut request);
            key_of(&ours, &request, &options("one"))
        };
        let day = SignedDuration::from_hours(24);
        let mut keys = vec![
            key_of(&ours, &request(), &options("one")),
            key_of(&ours, &request(), &options("two")),
            key_of(&theirs, &request(), &options("one")),
            changed(&|r| r.query = "quay".to_owned()),
            changed(&|r| r.limit = 9),
            changed(&|r| r.detail = Some(Detail::Low)),
            changed(&|r| r.mode = RetrievalMode::Knowledge),
            changed(&|r| r.vectors = false),
            changed(&|r| r.expansion = Expansion::Variants(vec!["a".to_owned(), "b".to_owned()])),
            changed(&|r| r.expansion = Expansion::Variants(vec!["b".to_owned(), "a".to_owned()])),
            changed(&|r| r.expansion = Expansion::Variants(vec!["a\", \"b".to_owned()])),
            changed(&|r| r.filter.trust = Viewer::Untrusted),
            changed(&|r| r.filter.sources = vec![SourceId::default()]),
            changed(&|r| r.filter.types = vec!["a".to_owned()]),
            changed(&|r| r.filter.tags = vec!["a".to_owned()]),
            changed(&|r| r.filter.since = Some(jiff::civil::date(2026, 1, 1))),
            changed(&|r| r.filter.until = Some(jiff::civil::date(2026, 1, 1))),
            changed(&|r| r.now += day),
            changed(&|r| r.settings.rerank_threshold = 0.5),
            changed(&|r| r.settings.pool = 41.0),
            changed(&|r| {
                r.settings.source_weights.insert("wiki".to_owned(), 0.5);
            }),
        ];
        assert!(keys.iter().all(Option::is_some));
        let same = changed(&|r| r.now += day - SignedDuration::from_secs(1));
        assert_eq!(same, keys[0], "of the time, only the day counts");
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
        assert_eq!(changed(&|r| r.operation = Operation::Search), None);
    }

    #[test]
    fn the_least_recently_used_go_first() {
        let dir = tempfile::tempdir().unwrap();
        let [brain, _] = brains(dir.path());
        let ranking = brain.answer(&request(), &QueryOptions::default()).unwrap().ranking;
        let cache = AnswerCache::default();
        let (one, key) = (size(&ranking), |n: u8| Hash::of(&[n]));
        for n in 0..3 {
            cache.put(key(n), &ranking, 3 * one);
        }
        assert!(cache.get(key(0)).is_some());
        cache.put(key(3), &ranking, 3 * one);
        let kept =
            |cache: &AnswerCache| (0..4).map(|n| cache.get(key(n)).is_some()).collect::<Vec<_>>();
        assert_eq!(kept(&cache), [true, false, true, true]);
        // A second insert counts once; a smaller limit evicts others.
        cache.put(key(3), &ranking, 3 * one);
        assert_eq!(cache.lock().bytes, 3 * one);
        cache.put(key(3), &ranking, one);
        assert_eq!(kept(&cache), [false, false, false, true]);
        cache.put(key(2), &ranking, one - 1);
        assert_eq!((kept(&cache), cache.lock().bytes), (vec![false; 4], 0));
        assert!(cache.lock().order.is_empty());
    }
}
