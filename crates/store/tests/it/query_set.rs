//! Canonical queries.

use gbrain_core::hash::Hash;
use gbrain_store::{
    NewQuery, OnDuplicate, QueryFilter, QueryState, Store, StoreError, StoredCanonicalQuery,
    WriteKind,
};

use crate::database::Database;
use crate::fixture::*;
use crate::playbook::query;

on_both_engines! {
    a_text_is_kept_once,
    queries_are_listed,
    a_state_is_said_by_people,
    threads_put_queries_at_once,
    broken_queries_are_refused_whole,
}

fn put(
    store: &Store,
    queries: &[NewQuery],
    known: OnDuplicate,
    second: i64,
) -> Vec<(i64, WriteKind)> {
    let put = store.put_queries(&ws(), queries, known, at(second)).unwrap();
    put.into_iter().map(|put| (put.id, put.kind)).collect()
}

fn a_text_is_kept_once(db: &Database) {
    use WriteKind::{Added, Changed, Unchanged};
    let store = db.open();
    let both = [query("a"), query("b"), query("a")];
    assert_eq!(put(&store, &both, OnDuplicate::Keep, 1), [(1, Added), (2, Added), (1, Unchanged)]);
    let active = NewQuery { state: QueryState::Active, origin: "manual".to_owned(), ..query("a") };
    assert_eq!(put(&store, std::slice::from_ref(&active), OnDuplicate::Keep, 2), [(1, Unchanged)]);
    assert_eq!(store.canonical_query(&ws(), 1).unwrap().unwrap().origin, "feedback");
    assert_eq!(put(&store, std::slice::from_ref(&active), OnDuplicate::Replace, 3), [(1, Changed)]);
    assert_eq!(put(&store, &[active], OnDuplicate::Replace, 4), [(1, Unchanged)]);
    let expected = StoredCanonicalQuery {
        id: 1,
        text_hash: Hash::of(b"a"),
        state: QueryState::Candidate,
        source: "github".to_owned(),
        difficulty: Some("hard".to_owned()),
        origin: "manual".to_owned(),
        body: r#"{"text":"a"}"#.to_owned(),
        created_at: at(1),
        reviewed_at: None,
    };
    assert_eq!(store.canonical_query(&ws(), 1).unwrap(), Some(expected));
    let easy = NewQuery { difficulty: None, ..query("b") };
    assert_eq!(put(&store, &[easy], OnDuplicate::Replace, 5), [(2, Changed)]);
    assert_eq!(
        put(&store, &[query("c")], OnDuplicate::Replace, 6),
        [(3, Added)],
        "no number is lost"
    );
    assert!(store.delete_query(&ws(), 3).unwrap());
    assert!(!store.delete_query(&ws(), 3).unwrap());
    assert_eq!(put(&store, &[query("c")], OnDuplicate::Keep, 7), [(4, Added)]);
    assert_eq!(store.canonical_query(&ws(), 3).unwrap(), None);
    assert_sound(&store);
}

fn queries_are_listed(db: &Database) {
    let store = db.open();
    let of = |text: &str, source: &str, difficulty: Option<&str>, origin: &str| NewQuery {
        source: source.to_owned(),
        difficulty: difficulty.map(str::to_owned),
        origin: origin.to_owned(),
        ..query(text)
    };
    let queries = [
        of("1", "slack", Some("easy"), "support"),
        of("2", "github", Some("hard"), "support"),
        of("3", "slack", None, "manual"),
        of("4", "slack", Some("hard"), "manual"),
    ];
    put(&store, &queries, OnDuplicate::Keep, 1);
    store.set_query_state(&ws(), 4, QueryState::Active, at(2)).unwrap();
    let check = |filter: QueryFilter, limit, expected: &[i64]| {
        let found = store.canonical_queries(&ws(), &filter, limit).unwrap();
        assert_eq!(found.iter().map(|q| q.id).collect::<Vec<_>>(), expected, "{filter:?}");
    };
    let all = QueryFilter::default;
    let text = |text: &str| Some(text.to_owned());
    check(all(), 9, &[1, 2, 3, 4]);
    check(all(), 2, &[1, 2]);
    check(QueryFilter { after: Some(2), ..all() }, 9, &[3, 4]);
    check(QueryFilter { source: text("slack"), ..all() }, 9, &[1, 3, 4]);
    check(QueryFilter { difficulty: text("hard"), ..all() }, 9, &[2, 4]);
    check(QueryFilter { origin: text("manual"), ..all() }, 9, &[3, 4]);
    check(QueryFilter { state: Some(QueryState::Active), ..all() }, 9, &[4]);
    check(QueryFilter { source: text("slack"), origin: text("support"), ..all() }, 9, &[1]);
    check(QueryFilter { source: text("Slack"), ..all() }, 9, &[]);
}

fn a_state_is_said_by_people(db: &Database) {
    let store = db.open();
    put(&store, &[query("a")], OnDuplicate::Keep, 1);
    for (second, state) in (2..).zip([QueryState::Active, QueryState::Retired]) {
        assert!(store.set_query_state(&ws(), 1, state, at(second)).unwrap());
        let found = store.canonical_query(&ws(), 1).unwrap().unwrap();
        assert_eq!((found.state, found.reviewed_at), (state, Some(at(second))));
    }
    assert!(!store.set_query_state(&ws(), 2, QueryState::Active, at(3)).unwrap());
    // A query that is stored again keeps its state.
    put(&store, &[NewQuery { source: "new".to_owned(), ..query("a") }], OnDuplicate::Replace, 4);
    let found = store.canonical_query(&ws(), 1).unwrap().unwrap();
    assert_eq!((found.state, found.source.as_str()), (QueryState::Retired, "new"));
}

fn threads_put_queries_at_once(db: &Database) {
    let store = db.open();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..5 {
                    // Shared ones in every order, and one unique to the thread.
                    let mut batch: Vec<_> = (0..5).map(|q| query(&format!("{q}"))).collect();
                    batch.push(query(&format!("{thread} {n}")));
                    fastrand::shuffle(&mut batch);
                    let known = if n % 2 == 0 { OnDuplicate::Keep } else { OnDuplicate::Replace };
                    put(&*store, &batch, known, n);
                }
            });
        }
    });
    let found = store.canonical_queries(&ws(), &QueryFilter::default(), 100).unwrap();
    assert_eq!(found.len(), 5 + 40);
    assert_eq!(found.last().unwrap().id, 45, "no number is lost");
    assert_sound(&store);
}

fn broken_queries_are_refused_whole(db: &Database) {
    let store = db.open();
    let nul = || "a\0".to_owned();
    for broken in [
        NewQuery { source: nul(), ..query("b") },
        NewQuery { difficulty: Some(nul()), ..query("b") },
        NewQuery { origin: nul(), ..query("b") },
        NewQuery { body: nul(), ..query("b") },
    ] {
        let error = store.put_queries(&ws(), &[query("a"), broken], OnDuplicate::Keep, at(1));
        assert!(matches!(error, Err(StoreError::Nul { .. })), "{error:?}");
    }
    assert_eq!(store.canonical_queries(&ws(), &QueryFilter::default(), 9).unwrap(), []);
    assert_eq!(store.put_queries(&ws(), &[], OnDuplicate::Keep, at(1)).unwrap(), []);
}
