//! Pairs, thresholds and their scores.

use gbrain_core::hash::Hash;
use gbrain_store::{
    NewPair, NewThreshold, RerankScore, RerankThreshold, Store, StoreError, StoredPair,
    ThresholdStatus, WriteKind,
};

use crate::database::Database;
use crate::fixture::*;
use crate::playbook::{pair, threshold};

on_both_engines! {
    a_pair_is_kept_once,
    a_threshold_comes_back_with_its_scores,
    one_of_a_model_is_active,
    a_setting_goes_with_its_threshold,
    threads_activate_at_once,
    a_threshold_says_more_later,
    broken_calibrations_are_refused_whole,
}

use ThresholdStatus::{Active, Candidate, Rejected, Superseded};

fn a_pair_is_kept_once(db: &Database) {
    use WriteKind::{Added, Changed, Unchanged};
    let store = db.open();
    let put = |pairs: &[NewPair], second| -> Vec<_> {
        let put = store.put_pairs(&ws(), pairs, at(second)).unwrap();
        put.into_iter().map(|put| (put.id, put.kind)).collect()
    };
    let both = [pair("q", "a"), pair("q", "b"), pair("q", "a")];
    assert_eq!(put(&both, 1), [(1, Added), (2, Added), (1, Unchanged)]);
    let relevant = NewPair { label: "relevant".to_owned(), ..pair("q", "a") };
    assert_eq!(put(&[relevant, pair("other", "a")], 2), [(1, Changed), (3, Added)]);
    let expected = StoredPair {
        id: 1,
        query_hash: Hash::of(b"q"),
        chunk_id: "a#0".to_owned(),
        document: "a".to_owned(),
        label: "relevant".to_owned(),
        body: pair("q", "a").body,
        created_at: at(2),
    };
    let ids = |label, limit| -> Vec<i64> {
        store.pairs(&ws(), label, limit).unwrap().into_iter().map(|pair| pair.id).collect()
    };
    assert_eq!(store.pairs(&ws(), Some("relevant"), 9).unwrap(), [expected]);
    assert_eq!(ids(None, 9), [3, 1, 2], "newest first");
    assert_eq!((ids(None, 1), ids(Some("borderline"), 9)), (vec![3], vec![3, 2]));
    assert!(store.delete_pair(&ws(), 2).unwrap());
    assert!(!store.delete_pair(&ws(), 2).unwrap());
    assert_eq!(put(&[pair("q", "b")], 3), [(4, Added)]);
    // Another passage replaces two pairs, with a new number; missing pairs are ignored.
    let instead = NewPair { chunk_id: "b#1".to_owned(), replaces: vec![4, 3], ..pair("q", "b") };
    assert_eq!(put(std::slice::from_ref(&instead), 4), [(5, Changed)]);
    assert_eq!(put(&[instead], 5), [(5, Unchanged)]);
    assert_eq!(ids(None, 9), [5, 1]);
    let first = NewPair { replaces: vec![4711], ..pair("q", "c") };
    assert_eq!(put(&[first], 6), [(6, Added)]);
    assert_sound(&store);
}

fn a_threshold_comes_back_with_its_scores(db: &Database) {
    let store = db.open();
    assert_eq!(store.add_threshold(&ws(), &threshold("rerank-v3.5"), at(1)).unwrap(), 1);
    assert_eq!(store.add_threshold(&ws(), &threshold("other"), at(2)).unwrap(), 2);
    let expected = RerankThreshold {
        id: 1,
        model: "rerank-v3.5".to_owned(),
        status: Candidate,
        threshold: 0.31,
        n: 2,
        mean: 0.4,
        sigma: 0.09,
        body: "{}".to_owned(),
        created_at: at(1),
        decided_at: None,
    };
    assert_eq!(store.threshold(&ws(), 1).unwrap(), Some(expected.clone()));
    assert_eq!(store.threshold(&ws(), 3).unwrap(), None);
    assert_eq!(store.thresholds(&ws(), Some("rerank-v3.5"), 9).unwrap(), [expected]);
    let ids: Vec<_> = store.thresholds(&ws(), None, 9).unwrap().iter().map(|t| t.id).collect();
    assert_eq!(ids, [2, 1], "newest first");
    let scores = [RerankScore { pair: 1, score: 0.5 }, RerankScore { pair: 2, score: 0.25 }];
    assert_eq!(store.rerank_scores(&ws(), 1).unwrap(), scores, "by pair");
    assert_eq!(store.rerank_scores(&ws(), 9).unwrap(), []);
    assert_sound(&store);
}

fn statuses(store: &Store) -> Vec<ThresholdStatus> {
    let mut thresholds = store.thresholds(&ws(), None, 99).unwrap();
    thresholds.sort_by_key(|threshold| threshold.id);
    thresholds.into_iter().map(|threshold| threshold.status).collect()
}

fn one_of_a_model_is_active(db: &Database) {
    let store = db.open();
    for model in ["a", "a", "b", "a"] {
        store.add_threshold(&ws(), &threshold(model), at(1)).unwrap();
    }
    let set = |id, status, second| {
        store.set_rerank_threshold_status(&ws(), id, status, &[], at(second)).unwrap()
    };
    assert!(set(1, Active, 2) && set(3, Active, 2));
    assert_eq!(statuses(&store), [Active, Candidate, Active, Candidate]);
    assert!(set(2, Active, 3));
    assert_eq!(statuses(&store), [Superseded, Active, Active, Candidate], "of its model only");
    assert_eq!(store.threshold(&ws(), 1).unwrap().unwrap().decided_at, Some(at(3)));
    assert!(set(2, Active, 4), "once more");
    assert!(set(4, Rejected, 5));
    assert!(set(1, Active, 6), "back to the one before");
    assert_eq!(statuses(&store), [Active, Superseded, Active, Rejected]);
    assert!(!set(9, Active, 7), "there is none");
    assert_eq!(statuses(&store), [Active, Superseded, Active, Rejected]);
}

fn a_setting_goes_with_its_threshold(db: &Database) {
    let store = db.open();
    store.add_threshold(&ws(), &threshold("a"), at(1)).unwrap();
    let deploy = |id, value: &str| {
        store.set_rerank_threshold_status(&ws(), id, Active, &[("rerank.threshold", value)], at(2))
    };
    assert!(!deploy(9, "0.9").unwrap());
    assert_eq!(store.config_get(&ws(), "rerank.threshold").unwrap(), None);
    assert!(deploy(1, "0\0").is_err());
    assert_eq!(statuses(&store), [Candidate], "both or neither");
    assert!(deploy(1, "0.31").unwrap());
    assert_eq!(store.config_get(&ws(), "rerank.threshold").unwrap().as_deref(), Some("0.31"));
}

fn a_threshold_says_more_later(db: &Database) {
    let store = db.open();
    store.add_threshold(&ws(), &threshold("a"), at(1)).unwrap();
    // Each thread appends a letter, and none is lost.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let store = &store;
            scope.spawn(move || {
                let more = |found: &RerankThreshold| format!("{}x", found.body);
                assert!(store.edit_threshold(&ws(), 1, &more).unwrap().is_some());
            });
        }
    });
    let found = store.threshold(&ws(), 1).unwrap().unwrap();
    assert_eq!((&*found.body, found.status), ("{}xxxxxxxx", Candidate));
    assert_eq!(store.edit_threshold(&ws(), 9, &|_| String::new()).unwrap(), None);
    assert!(store.edit_threshold(&ws(), 1, &|_| "\0".to_owned()).is_err());
    assert_eq!(store.threshold(&ws(), 1).unwrap().unwrap().body, found.body);
}

fn threads_activate_at_once(db: &Database) {
    let store = db.open();
    for _ in 0..8 {
        store.add_threshold(&ws(), &threshold("a"), at(1)).unwrap();
    }
    std::thread::scope(|scope| {
        for id in 1..=8 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..5 {
                    let value = id.to_string();
                    let settings = [("rerank.threshold", value.as_str())];
                    assert!(
                        store
                            .set_rerank_threshold_status(&ws(), id, Active, &settings, at(n))
                            .unwrap()
                    );
                }
            });
        }
    });
    let active = statuses(&store).iter().position(|status| *status == Active).unwrap() + 1;
    let of = |wanted| statuses(&store).iter().filter(|status| **status == wanted).count();
    assert_eq!((of(Active), of(Superseded)), (1, 7));
    let set = store.config_get(&ws(), "rerank.threshold").unwrap();
    assert_eq!(set, Some(active.to_string()), "the setting is that of the active one");
}

fn broken_calibrations_are_refused_whole(db: &Database) {
    let store = db.open();
    let check = |change: &dyn Fn(&mut NewThreshold), wanted: &str| {
        let mut broken = threshold("a");
        change(&mut broken);
        match store.add_threshold(&ws(), &broken, at(1)) {
            Err(StoreError::Nul { .. }) => assert_eq!(wanted, "nul"),
            Err(StoreError::Constraint { which }) => assert!(which.contains(wanted), "{which}"),
            other => panic!("{other:?}"),
        }
    };
    check(&|t| t.model = "\0".to_owned(), "nul");
    check(&|t| t.body = "\0".to_owned(), "nul");
    check(&|t| t.model = String::new(), "threshold_model");
    check(&|t| t.threshold = f64::NAN, "threshold");
    check(&|t| t.mean = f64::INFINITY, "mean");
    check(&|t| t.sigma = -0.1, "sigma");
    check(&|t| t.scores[1].score = f64::NEG_INFINITY, "rerank_score");
    check(&|t| t.scores[1].pair = 2, "rerank_scores");
    assert_eq!(store.thresholds(&ws(), None, 9).unwrap(), []);
    let nul = NewPair { body: "\0".to_owned(), ..pair("q", "b") };
    let error = store.put_pairs(&ws(), &[pair("q", "a"), nul], at(1)).unwrap_err();
    assert!(matches!(error, StoreError::Nul { .. }), "{error:?}");
    let long = NewPair { chunk_id: "x".repeat(1025), ..pair("q", "b") };
    let error = store.put_pairs(&ws(), &[pair("q", "a"), long], at(1)).unwrap_err();
    assert!(matches!(&error, StoreError::Constraint { which } if which == "pair_chunk"));
    assert_eq!(store.pairs(&ws(), None, 9).unwrap(), []);
}
