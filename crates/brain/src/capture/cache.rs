//! Answers that are kept to be given again.
//!
//! The key is everything that an answer depends on: the program, the workspace and its corpus, the
//! sources and what they are believed, the models, and the whole request with its settings and
//! variants. Of the time only the day counts, in UTC, because rankings depend on nothing finer. So an
//! answer that is given again is the one that would have been found, byte by byte, and nothing ever has
//! to be thrown away because it is old: a write, another setting or another caller is another key.
//!
//! Only answers in which something remote takes part are kept: one from what is here is found again
//! in a few milliseconds, and captures go on telling what finding costs. Degraded answers are not
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
    let is_whole = !snapshot.is_stale();
    let is_kept = request.operation == Operation::Query && is_remote && is_plain && is_whole;
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

#[cfg(test)]
mod tests {
    use gbrain_core::hook::HookError;
    use gbrain_core::id::{SourceId, WorkspaceId};
    use gbrain_core::request::{Detail, Expansion, Filter, RetrievalMode, Viewer};
    use gbrain_core::search::Settings;
    use gbrain_store::{Location, OpenMode, Store};
    use jiff::SignedDuration;

    use super::*;
    use crate::{IndexKind, Judged, Reranker, WorkspaceOptions, built_in_models};

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

    fn judge(_: &str, judged: &[Judged]) -> Result<Vec<f64>, HookError> {
        Ok(vec![1.0; judged.len()])
    }

    fn ask(id: &str) -> Ask<'_> {
        Ask { rerank: Some(Reranker { id, judge: &judge }), ..Ask::default() }
    }

    /// Brains of two workspaces of one store, both empty.
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
        let key_of = |brain: &Brain, request: &Request, ask: &Ask<'_>| {
            key(brain, &brain.snapshot(&|_, _| ()).unwrap(), request, ask)
        };
        let changed = |change: &dyn Fn(&mut Request)| {
            let mut request = request();
            change(&mut request);
            key_of(&ours, &request, &ask("one"))
        };
        let day = SignedDuration::from_hours(24);
        let mut keys = vec![
            key_of(&ours, &request(), &ask("one")),
            key_of(&ours, &request(), &ask("two")),
            key_of(&theirs, &request(), &ask("one")),
            changed(&|r| r.query = "quay".to_owned()),
            changed(&|r| r.limit = 9),
            changed(&|r| r.detail = Some(Detail::Low)),
            changed(&|r| r.mode = RetrievalMode::Knowledge),
            changed(&|r| r.vectors = false),
            changed(&|r| r.expansion = Expansion::Given(vec!["a".to_owned(), "b".to_owned()])),
            changed(&|r| r.expansion = Expansion::Given(vec!["b".to_owned(), "a".to_owned()])),
            changed(&|r| r.expansion = Expansion::Given(vec!["a\", \"b".to_owned()])),
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
        let ranking = brain.answer(&request(), &Ask::default()).unwrap().ranking;
        let cache = Cache::default();
        let (one, key) = (size(&ranking), |n: u8| Hash::of(&[n]));
        for n in 0..3 {
            cache.put(key(n), &ranking, 3 * one);
        }
        assert!(cache.get(key(0)).is_some());
        cache.put(key(3), &ranking, 3 * one);
        let kept = |cache: &Cache| (0..4).map(|n| cache.get(key(n)).is_some()).collect::<Vec<_>>();
        assert_eq!(kept(&cache), [true, false, true, true]);
        // Kept twice, it counts once; less room lets others go.
        cache.put(key(3), &ranking, 3 * one);
        assert_eq!(cache.kept().bytes, 3 * one);
        cache.put(key(3), &ranking, one);
        assert_eq!(kept(&cache), [false, false, false, true]);
        cache.put(key(2), &ranking, one - 1);
        assert_eq!((kept(&cache), cache.kept().bytes), (vec![false; 4], 0));
        assert!(cache.kept().order.is_empty());
    }
}
