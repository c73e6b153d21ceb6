//! `check` finds what it promises to find.

use gbrain_store::Invariant;

use crate::database::Database;
use crate::fixture::*;

on_both_engines! { damage_is_found }

fn damage_is_found(db: &Database) {
    let store = db.open();
    let pages: Vec<_> = (0..5).map(|n| full(&format!("p{n}"), &format!("text {n}"))).collect();
    write(&*store, &pages.iter().collect::<Vec<_>>(), 1);
    assert_sound(&*store);
    let zeros = "0".repeat(64);
    let cases = [
        (format!("UPDATE workspaces SET root = '{zeros}'"), vec![Invariant::Root, Invariant::Feed]),
        ("UPDATE workspaces SET pages = 4".to_owned(), vec![Invariant::Counts, Invariant::Feed]),
        ("DELETE FROM changes WHERE generation = 2".to_owned(), vec![Invariant::Feed]),
        (
            "UPDATE page_versions SET content = 'x' WHERE page_id = 1".to_owned(),
            vec![Invariant::Content],
        ),
        (
            "DELETE FROM chunks WHERE page_id = 1 AND ordinal = 1".to_owned(),
            vec![Invariant::Chunks],
        ),
        ("UPDATE pages SET version = 2 WHERE page_id = 1".to_owned(), vec![Invariant::Versions]),
        ("UPDATE pages SET title = 'x' WHERE page_id = 1".to_owned(), vec![Invariant::Versions]),
    ];
    for (damage, wanted) in cases {
        let db = match db {
            Database::Sqlite(_) => Database::sqlite(),
            Database::Postgres { .. } => Database::postgres(),
        };
        let store = db.open();
        write(&*store, &pages.iter().collect::<Vec<_>>(), 1);
        db.raw(&damage).unwrap();
        let mut found: Vec<_> = store.check(&ws()).unwrap().iter().map(|f| f.invariant).collect();
        found.dedup();
        for invariant in wanted {
            assert!(found.contains(&invariant), "{damage}: {found:?}");
        }
    }
}
