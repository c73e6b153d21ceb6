//! The change feed: folded, bounded, exact at every generation, in commit order.

use std::collections::BTreeMap;
use std::time::Duration;

use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageId};
use gbrain_core::page::Page;
use gbrain_store::{ChangeBatch, CorpusHead, FeedRange, Store};

use crate::database::Database;
use crate::fixture::*;

on_both_engines! {
    a_batch_folds_changes,
    batches_are_bounded,
    every_generation_can_be_read_back,
    the_end_of_the_feed,
    a_reader_ahead_of_the_store_is_told,
    an_open_transaction_is_never_skipped,
    roots_do_not_depend_on_order,
}

/// A reader that maintains a corpus, like an index.
#[derive(Default)]
pub(crate) struct Follower {
    pub(crate) at: Generation,
    pub(crate) pages: BTreeMap<PageId, Page>,
    /// The derivation version of the stored pages, if it is not the current one.
    pub(crate) derived: Option<u32>,
}

impl Follower {
    /// Applies a batch and checks that it is exact.
    #[track_caller]
    pub(crate) fn apply(&mut self, batch: ChangeBatch) {
        for id in &batch.removals {
            self.pages.remove(id);
        }
        for stored in batch.upserts {
            self.pages.insert(stored.id, stored.page);
        }
        self.at = batch.upto;
        assert_eq!(self.root(), batch.root, "at {:?}", self.at);
        assert_eq!(self.pages.len() as u64, batch.pages);
        assert_eq!(self.pages.values().map(|p| p.chunks.len() as u64).sum::<u64>(), batch.chunks);
    }

    fn root(&self) -> Hash {
        let Some(version) = self.derived else { return root(self.pages.values()) };
        self.pages.values().fold(Hash::default(), |root, page| {
            let (source, slug) = (page.key.source.as_str(), page.key.slug.as_str());
            let version = version.to_le_bytes();
            let parts = [source.as_bytes(), slug.as_bytes(), &page.content_hash.0, &version];
            root.toggle(Hash::of_parts(&parts))
        })
    }

    /// Reads to the end of the feed.
    #[track_caller]
    pub(crate) fn catch_up(&mut self, store: &Store, limit: usize) {
        loop {
            let batch = store.changes(&ws(), self.at, limit, 1 << 20).unwrap();
            let done = batch.upto == batch.head;
            self.apply(batch);
            if done {
                return;
            }
        }
    }
}

fn a_batch_folds_changes(db: &Database) {
    let store = db.open();
    let (a1, a2, b, c) = (plain("a", "1"), full("a", "2"), plain("b", "b"), plain("c", "c"));
    let id = write(&store, &[&a1, &b, &c], 1)[1].id;
    write(&store, &[&a2], 2);
    store.delete_pages(&ws(), &[key("b")], at(3)).unwrap();
    let batch = store.changes(&ws(), Generation(0), 100, 1 << 20).unwrap();
    let pages: Vec<&Page> = batch.upserts.iter().map(|stored| &stored.page).collect();
    assert_eq!(pages, [&c, &a2]);
    assert_eq!(batch.upserts[1].generation, Generation(4));
    assert_eq!(batch.removals, [id]);
    assert_eq!((batch.upto, batch.head), (Generation(5), Generation(5)));
    assert_eq!((batch.pages, batch.chunks, batch.root), (2, 4, root([&a2, &c])));
    assert!(!batch.sources_changed);
}

fn batches_are_bounded(db: &Database) {
    let store = db.open();
    let pages: Vec<Page> = (0..10).map(|n| plain(&format!("p{n}"), &"x".repeat(100))).collect();
    write(&store, &pages.iter().collect::<Vec<_>>(), 1);
    let upto = |limit, bytes| store.changes(&ws(), Generation(2), limit, bytes).unwrap().upto.0;
    assert_eq!(upto(3, 1 << 20), 5);
    assert_eq!(upto(100, 250), 4);
    assert_eq!(upto(100, 1), 3, "at least one");
    assert_eq!(upto(0, 0), 3, "at least one");
    for limit in [1, 2, 7, 100] {
        let mut follower = Follower::default();
        follower.catch_up(&store, limit);
        assert_eq!(follower.pages.len(), 10);
    }
}

fn every_generation_can_be_read_back(db: &Database) {
    let store = db.open();
    let mut heads: Vec<CorpusHead> = vec![store.head(&ws()).unwrap()];
    for step in 0..12 {
        let name = format!("p{}", step % 4);
        match step % 3 {
            2 => drop(store.delete_pages(&ws(), &[key(&name)], at(step)).unwrap()),
            _ => drop(write(&store, &[&full(&name, &format!("text {step}"))], step)),
        }
        let head = store.head(&ws()).unwrap();
        if head.generation.0 as usize == heads.len() {
            heads.push(head);
        }
    }
    for head in &heads {
        assert_eq!(store.head_at(&ws(), head.generation).unwrap(), Some(*head));
        let mut follower = Follower::default();
        while follower.at < head.generation {
            let (after, until) = (follower.at, Some(head.generation));
            let range = FeedRange { after, until, max_changes: 5, max_bytes: 1 << 20 };
            follower.apply(store.read_feed(&ws(), &range).unwrap());
        }
        assert_eq!(root(follower.pages.values()), head.root);
    }
    assert_eq!(store.head_at(&ws(), Generation(99)).unwrap(), None);
}

fn the_end_of_the_feed(db: &Database) {
    let store = db.open();
    let empty = store.changes(&ws(), Generation(0), 10, 10).unwrap();
    assert_eq!((empty.upto, empty.head, empty.pages), (Generation(0), Generation(0), 0));
    let page = plain("a", "1");
    write(&store, &[&page, &plain("b", "2")], 1);
    let end = store.changes(&ws(), Generation(2), 10, 10).unwrap();
    assert_eq!((end.upto, end.pages), (Generation(2), 2));
    assert!(end.upserts.is_empty() && end.removals.is_empty());
    let range = FeedRange {
        after: Generation(1),
        until: Some(Generation(1)),
        max_changes: 9,
        max_bytes: 9,
    };
    let standing = store.read_feed(&ws(), &range).unwrap();
    assert_eq!((standing.upto, standing.pages), (Generation(1), 1));
    assert_eq!(standing.root, page.fingerprint());
}

fn a_reader_ahead_of_the_store_is_told(db: &Database) {
    let store = db.open();
    write(&store, &[&plain("a", "1")], 1);
    let batch = store.changes(&ws(), Generation(7), 10, 10).unwrap();
    assert_eq!((batch.upto, batch.head), (Generation(1), Generation(1)));
    assert!(batch.upserts.is_empty());
}

fn an_open_transaction_is_never_skipped(db: &Database) {
    let store = db.open();
    write(&store, &[&plain("a", "1")], 1);
    let before = store.head(&ws()).unwrap();
    let mut older = db.connect();
    older.begin_write(&ws());
    let hex = before.root.to_hex();
    older
        .batch(&format!(
            "INSERT INTO changes (workspace_id, generation, op, root, pages, chunks, at) \
             VALUES ('default', 2, 'source', '{hex}', 1, 1, 0); \
             UPDATE workspaces SET head = 2 WHERE id = 'default'"
        ))
        .unwrap();
    std::thread::scope(|scope| {
        let younger = scope.spawn(|| write(&store, &[&plain("b", "2")], 2)[0].generation);
        std::thread::sleep(Duration::from_millis(300));
        assert!(!younger.is_finished(), "the younger writer waits for the older");
        let during = store.changes(&ws(), Generation(0), 100, 1 << 20).unwrap();
        assert_eq!((during.upto, during.sources_changed), (Generation(1), false));
        older.batch("COMMIT").unwrap();
        assert_eq!(younger.join().unwrap(), Generation(3));
        let after = store.changes(&ws(), during.upto, 100, 1 << 20).unwrap();
        assert_eq!((after.upto, after.sources_changed), (Generation(3), true));
        assert_eq!(after.upserts.len(), 1);
    });
    assert_sound(&store);
}

fn roots_do_not_depend_on_order(db: &Database) {
    let store = db.open();
    let mut pages: Vec<Page> = (0..20).map(|n| full(&format!("p{n}"), &format!("t{n}"))).collect();
    fastrand::shuffle(&mut pages);
    for part in pages.chunks(3) {
        write(&store, &part.iter().collect::<Vec<_>>(), 1);
    }
    // The other engine must have the same value, which depends only on the pages.
    assert_eq!(store.head(&ws()).unwrap().root, root(&pages));
}
