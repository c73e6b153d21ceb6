//! Evaluation documents, and labels.

use gbrain_core::hash::Hash;
use gbrain_store::{
    Document, DocumentInfo, DocumentKind, LabelReview, NewLabel, Store, StoreError, StoredLabel,
    Withdrawal,
};

use crate::database::Database;
use crate::fixture::*;
use crate::jobs::other;

on_both_engines! {
    documents_are_kept_under_names,
    documents_are_ordered_by_bytes,
    documents_that_race_replace_each_other,
    broken_documents_are_refused,
    labels_are_kept,
    a_label_is_replaced_and_keeps_its_number,
    every_reviewer_keeps_a_judgement,
    a_settled_grade_counts_until_the_next_judgement,
    a_withdrawn_judgement_gives_way_to_the_latest_other,
    threads_label_at_once,
    broken_labels_are_refused_whole,
    a_removed_workspace_takes_both,
}

use DocumentKind::{Baseline, Qrels};

fn documents_are_kept_under_names(db: &Database) {
    let store = db.open();
    let put =
        |kind, name, body, second| store.put_document(&ws(), kind, name, body, at(second)).unwrap();
    assert_eq!(store.document(&ws(), Baseline, "main").unwrap(), None);
    let long = "zeile ünd\n".repeat(200_000);
    assert!(!put(Baseline, "main", &long, 1));
    assert!(!put(Qrels, "main", "", 2), "of another kind");
    assert!(put(Qrels, "main", "q1 0 a 1\n", 3));
    let expected = Document {
        info: DocumentInfo {
            name: "main".to_owned(),
            hash: Hash::of(b"q1 0 a 1\n"),
            bytes: 9,
            created_at: at(3),
        },
        body: "q1 0 a 1\n".to_owned(),
    };
    assert_eq!(store.document(&ws(), Qrels, "main").unwrap(), Some(expected.clone()));
    assert_eq!(store.documents(&ws(), Qrels).unwrap(), [expected.info]);
    let baseline = store.document(&ws(), Baseline, "main").unwrap().unwrap();
    assert_eq!((baseline.info.bytes, baseline.body == long), (long.len() as u64, true));
    assert!(store.delete_document(&ws(), Qrels, "main").unwrap());
    assert!(!store.delete_document(&ws(), Qrels, "main").unwrap());
    assert_eq!(store.documents(&ws(), Qrels).unwrap(), []);
    assert_eq!(store.documents(&ws(), Baseline).unwrap().len(), 1);
    assert_eq!(store.head(&ws()).unwrap().generation.0, 0, "not part of the corpus");
}

fn documents_are_ordered_by_bytes(db: &Database) {
    let store = db.open();
    let mut names = ["b", "Z", "ä", "a b", "a-b", "日本", "ab", "a/b"];
    for name in names {
        store.put_document(&ws(), Qrels, name, "x", at(1)).unwrap();
    }
    names.sort_unstable();
    let listed = store.documents(&ws(), Qrels).unwrap();
    assert_eq!(listed.iter().map(|info| info.name.as_str()).collect::<Vec<_>>(), names);
}

fn documents_that_race_replace_each_other(db: &Database) {
    let store = db.open();
    let new = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|n| {
                let store = &store;
                scope.spawn(move || {
                    let body = n.to_string();
                    !store.put_document(&ws(), Qrels, "name", &body, at(n)).unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(new.iter().filter(|new| **new).count(), 1, "one of them was the first");
    let document = store.document(&ws(), Qrels, "name").unwrap().unwrap();
    let n: i64 = document.body.parse().unwrap();
    assert_eq!(document.info.created_at, at(n));
    assert_eq!(document.info.hash, Hash::of(document.body.as_bytes()));
}

fn broken_documents_are_refused(db: &Database) {
    let store = db.open();
    for name in ["", &"x".repeat(513)] {
        let error = store.put_document(&ws(), Qrels, name, "x", at(1)).unwrap_err();
        assert!(matches!(&error, StoreError::Constraint { which } if which == "document_name"));
    }
    store.put_document(&ws(), Qrels, &"x".repeat(512), "x", at(1)).unwrap();
    for error in [
        store.put_document(&ws(), Qrels, "a", "x\0", at(1)).unwrap_err(),
        store.put_document(&ws(), Qrels, "\0", "x", at(1)).unwrap_err(),
        store.document(&ws(), Qrels, "\0").unwrap_err(),
        store.delete_document(&ws(), Qrels, "\0").unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Nul { .. }), "{error:?}");
    }
}

pub(crate) fn label(query: &str, page: &str, grade: i64) -> NewLabel {
    NewLabel {
        query: query.to_owned(),
        key: key(page),
        grade,
        note: None,
        span: None,
        borderline: false,
    }
}

fn put(store: &Store, labels: &[NewLabel], second: i64) -> Vec<i64> {
    store.put_labels(&ws(), labels, "ada", at(second)).unwrap()
}

fn all(store: &Store) -> Vec<StoredLabel> {
    store.labels(&ws(), None, 1000).unwrap()
}

fn numbers(labels: &[StoredLabel]) -> Vec<i64> {
    labels.iter().map(|label| label.id).collect()
}

fn labels_are_kept(db: &Database) {
    let store = db.open();
    assert_eq!(put(&store, &[], 1), Vec::<i64>::new());
    let noted =
        NewLabel { note: Some("weil 🦀".to_owned()), ..label("größe", "wiki::a/b", -1) };
    assert_eq!(put(&store, &[noted.clone(), label("q", "a", 3)], 1), [1, 2]);
    let expected = StoredLabel {
        id: 1,
        query: noted.query,
        key: noted.key,
        grade: -1,
        note: noted.note,
        labelled_by: "ada".to_owned(),
        created_at: at(1),
        settled_by: None,
    };
    assert_eq!(all(&store)[0], expected);
    for n in 0..10 {
        put(&store, &[label(&format!("query {n}"), "a", 1)], 2);
    }
    assert_eq!(numbers(&all(&store)), (1..=12).collect::<Vec<_>>());
    assert_eq!(numbers(&store.labels(&ws(), Some(4), 3).unwrap()), [5, 6, 7]);
    assert_eq!(store.labels(&ws(), Some(12), 3).unwrap(), []);
    assert!(store.delete_label(&ws(), 12).unwrap());
    assert!(!store.delete_label(&ws(), 12).unwrap());
    assert_eq!(put(&store, &[label("new", "a", 1)], 3), [13], "numbers are not used again");
    assert_sound(&store);
}

fn a_label_is_replaced_and_keeps_its_number(db: &Database) {
    let store = db.open();
    put(&store, &[label("q", "a", 1), label("q", "b", 2), label("Q", "a", 3)], 1);
    let again = [label("q", "b", 0), label("q", "wiki::b", 5), label("q", "b", 4)];
    let numbers = put(&store, &again, 2);
    assert_eq!((numbers[0], numbers[2]), (2, 2), "the last of a batch wins");
    let labels = all(&store);
    let found: Vec<_> =
        labels.iter().map(|l| (l.query.as_str(), l.key.to_string(), l.grade)).collect();
    let expected = [
        ("q", "default::a", 1),
        ("q", "default::b", 4),
        ("Q", "default::a", 3),
        ("q", "wiki::b", 5),
    ];
    assert_eq!(found, expected.map(|(query, key, grade)| (query, key.to_owned(), grade)));
    assert_eq!((labels[1].id, labels[1].created_at), (2, at(2)));
    assert_eq!((labels[3].id, labels[0].created_at), (numbers[1], at(1)));
}

fn put_by(store: &Store, label: NewLabel, by: &str, second: i64) -> i64 {
    store.put_labels(&ws(), &[label], by, at(second)).unwrap()[0]
}

fn reviews(store: &Store, id: i64) -> Vec<LabelReview> {
    store.label_reviews(&ws(), id..=id, 100).unwrap()
}

/// The grade that counts, its author, and who settled it.
fn counted(store: &Store, id: i64) -> (i64, String, Option<String>) {
    let StoredLabel { grade, labelled_by, settled_by, .. } =
        store.label(&ws(), id).unwrap().unwrap();
    (grade, labelled_by, settled_by)
}

fn every_reviewer_keeps_a_judgement(db: &Database) {
    let store = db.open();
    let marked =
        NewLabel { span: Some("weil 🦀".to_owned()), borderline: true, ..label("q", "a", 1) };
    assert_eq!(put_by(&store, label("q", "b", 2), "ada", 1), 1);
    assert_eq!(put_by(&store, marked, "bo", 2), 2);
    assert_eq!(put_by(&store, label("q", "a", 3), "ada", 3), 2);
    let review = |reviewer: &str, grade, span: Option<&str>, second| LabelReview {
        label: 2,
        reviewer: reviewer.to_owned(),
        grade,
        borderline: span.is_some(),
        span: span.map(str::to_owned),
        created_at: at(second),
    };
    let both = [review("ada", 3, None, 3), review("bo", 1, Some("weil 🦀"), 2)];
    assert_eq!(reviews(&store, 2), both);
    let some = |limit| store.label_reviews(&ws(), 1..=i64::MAX, limit).unwrap().len();
    assert_eq!((some(100), some(2)), (3, 2));
    assert_eq!(counted(&store, 2), (3, "ada".to_owned(), None));
    // A reviewer replaces the own judgement only.
    put_by(&store, label("q", "a", 0), "bo", 4);
    assert_eq!(reviews(&store, 2), [review("ada", 3, None, 3), review("bo", 0, None, 4)]);
    assert!(store.delete_label(&ws(), 2).unwrap());
    assert_eq!(reviews(&store, 2), []);
    let nul = NewLabel { span: Some("\0".to_owned()), ..label("q", "a", 1) };
    let error = store.put_labels(&ws(), &[nul], "ada", at(5)).unwrap_err();
    assert!(matches!(error, StoreError::Nul { .. }), "{error:?}");
    assert_eq!(store.label(&ws(), 2).unwrap(), None);
    assert_sound(&store);
}

fn a_settled_grade_counts_until_the_next_judgement(db: &Database) {
    let store = db.open();
    put_by(&store, label("q", "a", 3), "ada", 1);
    put_by(&store, label("q", "a", 0), "bo", 2);
    assert!(store.settle_label(&ws(), 1, 2, "cy").unwrap());
    assert_eq!(counted(&store, 1), (2, "bo".to_owned(), Some("cy".to_owned())));
    assert_eq!(reviews(&store, 1).iter().map(|one| one.grade).collect::<Vec<_>>(), [3, 0]);
    assert_eq!(store.withdraw_review(&ws(), 1, "bo").unwrap(), Withdrawal::Kept);
    assert_eq!(counted(&store, 1), (2, "ada".to_owned(), Some("cy".to_owned())));
    put_by(&store, label("q", "a", 1), "bo", 3);
    assert_eq!(counted(&store, 1), (1, "bo".to_owned(), None));
    assert!(!store.settle_label(&ws(), 2, 1, "cy").unwrap());
    store.add_workspace(&other(), at(0)).unwrap();
    assert!(!store.settle_label(&other(), 1, 3, "cy").unwrap(), "not of this workspace");
    assert_eq!(counted(&store, 1).0, 1);
}

fn a_withdrawn_judgement_gives_way_to_the_latest_other(db: &Database) {
    let store = db.open();
    for (by, grade) in [("ada", 1), ("bo", 2), ("cy", 3)] {
        put_by(&store, label("q", "a", grade), by, grade);
    }
    let withdraw = |by| store.withdraw_review(&ws(), 1, by).unwrap();
    assert_eq!(withdraw("dee"), Withdrawal::NotFound);
    assert_eq!((withdraw("cy"), counted(&store, 1).0), (Withdrawal::Kept, 2));
    assert_eq!((withdraw("cy"), counted(&store, 1).0), (Withdrawal::NotFound, 2));
    assert_eq!((withdraw("ada"), counted(&store, 1).0), (Withdrawal::Kept, 2));
    assert_eq!(withdraw("bo"), Withdrawal::Removed);
    assert_eq!((all(&store), reviews(&store, 1)), (vec![], vec![]));
    store.add_workspace(&other(), at(0)).unwrap();
    assert_eq!(store.withdraw_review(&other(), 1, "ada").unwrap(), Withdrawal::NotFound);
    assert_sound(&store);
}

fn threads_label_at_once(db: &Database) {
    let store = db.open();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..10 {
                    // Shared ones in every order, and one unique to the thread.
                    let mut batch: Vec<_> =
                        (0..5).map(|q| label(&format!("{q}"), "a", n)).collect();
                    fastrand::shuffle(&mut batch);
                    batch.push(label(&format!("{thread} {n}"), "b", n));
                    put(&*store, &batch, n);
                }
            });
        }
    });
    let labels = all(&store);
    assert_eq!(labels.len(), 5 + 80);
    assert!(labels.is_sorted_by_key(|label| label.id));
    assert_sound(&store);
}

fn broken_labels_are_refused_whole(db: &Database) {
    let store = db.open();
    // Too long for any database index, but it must be accepted.
    let long = "wörter ".repeat(51_200 / 8);
    assert_eq!(put(&store, &[label(&long, "a", 1), label(&long, "a", 2)], 1), [1, 1]);
    assert_eq!(all(&store)[0].query, long);
    let longer = "x".repeat(51_201);
    let error =
        store.put_labels(&ws(), &[label("q", "a", 1), label(&longer, "a", 1)], "ada", at(1));
    let error = error.unwrap_err();
    assert!(matches!(&error, StoreError::Constraint { which } if which == "label_query"));
    let noted = NewLabel { note: Some("\0".to_owned()), ..label("q", "a", 1) };
    for (label, by) in [(label("\0", "a", 1), "ada"), (noted, "ada"), (label("q", "a", 1), "\0")] {
        let error = store.put_labels(&ws(), &[label], by, at(1)).unwrap_err();
        assert!(matches!(error, StoreError::Nul { .. }), "{error:?}");
    }
    assert_eq!(all(&store).len(), 1);
}

fn a_removed_workspace_takes_both(db: &Database) {
    let store = db.open();
    let unknown = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::UnknownWorkspace(_))), "{result:?}");
    };
    unknown(store.put_document(&other(), Qrels, "n", "x", at(1)).map(|_| ()));
    unknown(store.document(&other(), Qrels, "n").map(|_| ()));
    unknown(store.documents(&other(), Qrels).map(|_| ()));
    unknown(store.delete_document(&other(), Qrels, "n").map(|_| ()));
    unknown(store.put_labels(&other(), &[label("q", "a", 1)], "ada", at(1)).map(|_| ()));
    unknown(store.labels(&other(), None, 1).map(|_| ()));
    unknown(store.delete_label(&other(), 1).map(|_| ()));
    store.add_workspace(&other(), at(0)).unwrap();
    store.put_document(&other(), Qrels, "n", "x", at(1)).unwrap();
    store.put_labels(&other(), &[label("q", "a", 1)], "ada", at(1)).unwrap();
    assert_eq!(store.document(&ws(), Qrels, "n").unwrap(), None);
    assert!(!store.delete_label(&ws(), 1).unwrap(), "not of this workspace");
    store.remove_workspace(&other()).unwrap();
    store.add_workspace(&other(), at(0)).unwrap();
    assert_eq!(store.documents(&other(), Qrels).unwrap(), []);
    assert_eq!(store.labels(&other(), None, 9).unwrap(), []);
}
