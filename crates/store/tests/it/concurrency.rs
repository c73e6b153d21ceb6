//! Two writers and four readers in separate processes; many threads in one.

use std::sync::atomic::{AtomicBool, Ordering};

use gbrain_core::id::Generation;

use crate::child::{Role, spawn};
use crate::database::Database;
use crate::feed::Follower;
use crate::fixture::*;

on_both_engines! {
    processes_share_a_store,
    threads_share_a_store,
    readers_see_one_moment_while_pages_are_purged,
}

fn processes_share_a_store(db: &Database) {
    let store = db.open();
    let (batches, pages) = (12, 10);
    let changes = 2 * batches * (pages + 1);
    let writer = |name| spawn(&db.location(), Role::Write { name, batches, pages });
    let reader = |_| spawn(&db.location(), Role::Follow { until: changes as i64 });
    let readers: Vec<_> = (0..4).map(reader).collect();
    let writers: Vec<_> = (0..2).map(writer).collect();
    for child in writers {
        child.finish();
    }
    for child in readers {
        assert_eq!(child.finish(), [(2 * batches * pages + 1).to_string()]);
    }
    let head = store.head(&ws()).unwrap();
    assert_eq!(head.generation, Generation(changes as i64), "no change is lost");
    assert_eq!(store.history(&ws(), &key("shared")).unwrap().len(), 2 * batches);
    assert_sound(&store);
}

fn threads_share_a_store(db: &Database) {
    let store = db.open();
    std::thread::scope(|scope| {
        for thread in 0..12 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..5 {
                    let page = full(&format!("t{thread}/{n}"), "text");
                    write(&*store, &[&page], 1);
                    assert_eq!(store.page(&ws(), &page.key).unwrap().unwrap().page, page);
                }
            });
        }
    });
    assert_eq!(store.head(&ws()).unwrap().pages, 60);
    assert_sound(&store);
}

fn readers_see_one_moment_while_pages_are_purged(db: &Database) {
    let store = db.open();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for limit in [2, 1000] {
            let (store, done) = (&store, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    Follower::default().catch_up(&*store, limit);
                }
            });
        }
        for n in 0..20 {
            let pages: Vec<_> = (0..5).map(|p| full(&format!("p{p}"), &format!("{n}"))).collect();
            write(&store, &pages.iter().collect::<Vec<_>>(), n);
            store.purge_page(&ws(), &key(&format!("p{}", n % 5)), at(n)).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_sound(&store);
}
