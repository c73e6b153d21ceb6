//! Two writers and four readers in processes of their own; many threads in one.

use gbrain_core::id::Generation;

use crate::child::{Role, finish, spawn};
use crate::database::Database;
use crate::fixture::*;

on_both_engines! { processes_share_a_store, threads_share_a_store }

fn processes_share_a_store(db: &Database) {
    let store = db.open();
    let (batches, pages) = (12, 10);
    let changes = 2 * batches * (pages + 1);
    let writer = |name| spawn(&db.location(), Role::Write { name, batches, pages });
    let reader = |_| spawn(&db.location(), Role::Follow { until: changes as i64 });
    let readers: Vec<_> = (0..4).map(reader).collect();
    let writers: Vec<_> = (0..2).map(writer).collect();
    for child in writers {
        finish(child);
    }
    for child in readers {
        assert_eq!(finish(child), [(2 * batches * pages + 1).to_string()]);
    }
    let head = store.head(&ws()).unwrap();
    assert_eq!(head.generation, Generation(changes as i64), "no change is lost");
    assert_eq!(store.history(&ws(), &key("shared")).unwrap().len(), 2 * batches);
    assert_sound(&*store);
}

fn threads_share_a_store(db: &Database) {
    let store = db.open();
    std::thread::scope(|scope| {
        for thread in 0..12 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..5 {
                    let page = full(&format!("t{thread}/{n}"), "text");
                    write(&**store, &[&page], 1);
                    assert_eq!(store.page(&ws(), &page.key).unwrap().unwrap().page, page);
                }
            });
        }
    });
    assert_eq!(store.head(&ws()).unwrap().pages, 60);
    assert_sound(&*store);
}
