//! Retrieval logs and their feedback.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gbrain_store::{
    CaptureFilter, Feedback, NewFeedback, NewRetrievalLog, RetrievalFields, RetrievalFilter,
    RetrievalLog, RetrievalOrigin, RunParts, Store, StoreError,
};

use crate::captures::capture;
use crate::database::Database;
use crate::fixture::*;
use crate::playbook::{retrieval, said};

on_both_engines! {
    a_retrieval_comes_back_as_it_was,
    retrievals_are_found,
    feedback_comes_later_too,
    live_ones_are_pruned_alone,
    captures_and_logs_go_together,
    threads_log_at_once,
    broken_logs_are_refused_whole,
    many_are_logged_and_listed_in_no_time,
}

fn ids(store: &Store, filter: &RetrievalFilter) -> Vec<i64> {
    store.retrieval_logs(&ws(), filter).unwrap().into_iter().map(|log| log.id).collect()
}

fn a_retrieval_comes_back_as_it_was(db: &Database) {
    let store = db.open();
    let empty =
        NewRetrievalLog { at: at(2), fields: RetrievalFields::default(), feedback: Vec::new() };
    let full = retrieval("größe 🦀", 1);
    let logged = store.add_retrieval_logs(&ws(), &[full.clone(), empty.clone()], at(5)).unwrap();
    assert_eq!(logged, [1, 2]);
    let log =
        |id, new: NewRetrievalLog| RetrievalLog { id, created_at: new.at, fields: new.fields };
    let found = store.retrieval_logs(&ws(), &RetrievalFilter::default()).unwrap();
    assert_eq!(found, [log(2, empty), log(1, full)], "newest first");
    let of_number = RetrievalFilter { id: Some(2), ..RetrievalFilter::default() };
    assert_eq!(ids(&store, &of_number), [2]);
    let feedback = store.feedback(&ws(), &[2, 1, 9]).unwrap();
    let word = |id, signal: &str, score| Feedback {
        id,
        retrieval_log_id: 1,
        signal_type: signal.to_owned(),
        score: Some(score),
        comment: Some(r#"{"case":"ünd"}"#.to_owned()),
        created_at: at(5),
    };
    let words = vec![word(1, "eval_recall_at_5", 1.0), word(2, "eval_snippet", 0.0)];
    assert_eq!(feedback, [vec![], words, vec![]], "in the order of the numbers");
    assert!(store.add_retrieval_logs(&ws(), &[], at(1)).unwrap().is_empty());
    assert_eq!(store.feedback(&ws(), &[]).unwrap(), Vec::<Vec<Feedback>>::new());
    assert_sound(&store);
}

fn retrievals_are_found(db: &Database) {
    let store = db.open();
    let of = |second: i64, experiment: Option<&str>, mode: &str, signal: Option<&str>| {
        let mut log = retrieval(&second.to_string(), second);
        log.fields.experiment_id = experiment.map(str::to_owned);
        log.fields.retrieval_mode = Some(mode.to_owned());
        log.feedback = signal.map(|signal| said(signal, 1.0)).into_iter().collect();
        log
    };
    let logs = [
        of(1, None, "graph", None),
        of(2, Some("run 1"), "graph", Some("user_vote")),
        of(3, Some("run 2"), "hybrid", Some("user_vote")),
        of(4, None, "hybrid", Some("user_comment")),
        // Logged later, requested earlier.
        of(0, Some("run 1"), "hybrid", None),
    ];
    store.add_retrieval_logs(&ws(), &logs, at(9)).unwrap();
    let check = |filter: RetrievalFilter, expected: &[i64]| {
        assert_eq!(ids(&store, &filter), expected, "{filter:?}");
    };
    let all = RetrievalFilter::default;
    let text = |text: &str| Some(text.to_owned());
    check(all(), &[4, 3, 2, 1, 5]);
    check(RetrievalFilter { limit: Some(2), ..all() }, &[4, 3]);
    check(RetrievalFilter { since: Some(at(2)), until: Some(at(4)), ..all() }, &[3, 2]);
    check(RetrievalFilter { traffic: Some(RetrievalOrigin::Live), ..all() }, &[4, 1]);
    check(RetrievalFilter { traffic: Some(RetrievalOrigin::Experiments), ..all() }, &[3, 2, 5]);
    let of_run = || Some(RetrievalOrigin::Experiment("run 1".to_owned()));
    check(RetrievalFilter { traffic: of_run(), ..all() }, &[2, 5]);
    check(RetrievalFilter { traffic: of_run(), since: Some(at(1)), ..all() }, &[2]);
    check(RetrievalFilter { retrieval_mode: text("graph"), ..all() }, &[2, 1]);
    check(RetrievalFilter { request_id: text("req 3"), ..all() }, &[3]);
    check(RetrievalFilter { signal_type: text("user_vote"), ..all() }, &[3, 2]);
    let vote = RetrievalFilter { signal_type: text("user_vote"), traffic: of_run(), ..all() };
    check(vote, &[2]);
    let mut seen = Vec::new();
    store
        .scan_retrieval_logs(&ws(), &all(), &mut |log| {
            seen.push(log.id);
            Ok(if log.id == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
        .unwrap();
    assert_eq!(seen, [4, 3], "and no more");
    let error = store.scan_retrieval_logs(&ws(), &all(), &mut |_| Err(StoreError::Busy));
    assert!(matches!(error, Err(StoreError::Busy)));
}

fn feedback_comes_later_too(db: &Database) {
    let store = db.open();
    store.add_retrieval_logs(&ws(), &[retrieval("q", 1)], at(1)).unwrap();
    let bare = NewFeedback { score: None, comment: None, ..said("user_comment", 0.0) };
    assert_eq!(store.add_feedback(&ws(), 1, &bare, at(2)).unwrap(), Some(3));
    assert_eq!(store.add_feedback(&ws(), 2, &bare, at(2)).unwrap(), None, "of nothing");
    let words = store.feedback(&ws(), &[1]).unwrap().remove(0);
    assert_eq!(words.len(), 3);
    assert_eq!((words[2].score, &words[2].comment, words[2].created_at), (None, &None, at(2)));
    let filter =
        RetrievalFilter { signal_type: Some("user_comment".to_owned()), ..Default::default() };
    assert_eq!(ids(&store, &filter), [1]);
    assert_eq!(store.add_feedback(&ws(), 1, &bare, at(3)).unwrap(), Some(4), "no number is lost");
}

fn live(query: &str, second: i64) -> NewRetrievalLog {
    let mut log = retrieval(query, second);
    log.fields.experiment_id = None;
    log
}

fn live_ones_are_pruned_alone(db: &Database) {
    let store = db.open();
    let mut owners = live("d", 1);
    owners.fields.user_id = Some("local".to_owned());
    let logs = [live("a", 1), retrieval("b", 1), live("c", 3), owners];
    store.add_retrieval_logs(&ws(), &logs, at(5)).unwrap();
    assert_eq!(store.prune_live_logs(&ws(), at(3), Some("local")).unwrap(), 1);
    assert_eq!(ids(&store, &RetrievalFilter::default()), [3, 4, 2]);
    assert_eq!(store.prune_live_logs(&ws(), at(3), None).unwrap(), 1);
    assert_eq!(ids(&store, &RetrievalFilter::default()), [3, 2]);
    assert_sound(&store);
}

fn captures_and_logs_go_together(db: &Database) {
    let store = db.open();
    let captures = [capture("a"), capture("b")];
    store.add_captures_with_logs(&ws(), &captures, &[live("a", 1)], at(1)).unwrap();
    let count = || store.count_captures(&ws(), &CaptureFilter::default()).unwrap();
    assert_eq!((count(), ids(&store, &RetrievalFilter::default())), (2, vec![1]));
    let mut broken = live("b", 1);
    broken.fields.total_ms = Some(f64::NAN);
    assert!(store.add_captures_with_logs(&ws(), &captures, &[broken], at(2)).is_err());
    let nul = [capture("\0")];
    assert!(store.add_captures_with_logs(&ws(), &nul, &[live("b", 1)], at(2)).is_err());
    assert_eq!((count(), ids(&store, &RetrievalFilter::default())), (2, vec![1]), "all or none");
}

fn threads_log_at_once(db: &Database) {
    let store = db.open();
    let pruned = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (store, pruned) = (&store, &pruned);
            scope.spawn(move || {
                for n in 0..5 {
                    let batch: Vec<_> =
                        (0..10).map(|q| retrieval(&format!("{thread} {n} {q}"), q)).collect();
                    let ids = store.add_retrieval_logs(&ws(), &batch, at(9)).unwrap();
                    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "{ids:?}");
                    let found = store.feedback(&ws(), &ids).unwrap();
                    // Pruning and feedback may race: the log has all of its feedback, or neither
                    // exists.
                    assert!(found.iter().all(|words| matches!(words.len(), 0 | 2)));
                    store.add_feedback(&ws(), ids[0], &said("user_vote", 1.0), at(9)).unwrap();
                    if thread == 0 {
                        let erase =
                            store.prune_suite_history(&ws(), at(200_000), RunParts::All, 10);
                        pruned.fetch_add(erase.unwrap().logs, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let pruned = pruned.into_inner();
    assert_eq!(ids(&store, &RetrievalFilter::default()).len() as u64, 400 - pruned);
    assert_eq!(pruned, 50);
    assert_sound(&store);
}

fn broken_logs_are_refused_whole(db: &Database) {
    let store = db.open();
    let check = |change: &dyn Fn(&mut NewRetrievalLog), wanted: &str| {
        let mut broken = retrieval("the secret query", 1);
        change(&mut broken);
        let error = store.add_retrieval_logs(&ws(), &[retrieval("q", 1), broken], at(1));
        let error = error.unwrap_err();
        match &error {
            StoreError::Nul { .. } => assert_eq!(wanted, "nul"),
            StoreError::Constraint { which } => assert!(which.contains(wanted), "{which}"),
            other => panic!("{other:?}"),
        }
        assert!(!error.to_string().contains("secret"), "{error}");
    };
    let nul = || Some("\0".to_owned());
    let long = || Some("x".repeat(201));
    check(&|log| log.fields.query_text = "\0".to_owned(), "nul");
    check(&|log| log.fields.request_id = nul(), "nul");
    check(&|log| log.fields.user_id = nul(), "nul");
    check(&|log| log.fields.body = nul(), "nul");
    check(&|log| log.feedback[1].comment = nul(), "nul");
    check(&|log| log.fields.query_text = "x".repeat(51_201), "log_query");
    check(&|log| log.fields.request_id = long(), "log_request");
    check(&|log| log.fields.experiment_id = long(), "log_experiment");
    check(&|log| log.fields.total_ms = Some(-1.0), "log_total");
    check(&|log| log.fields.dense_ms = Some(f64::INFINITY), "log_dense");
    check(&|log| log.fields.rerank_ms = Some(f64::NAN), "log_number");
    check(&|log| log.fields.rerank_threshold = Some(f64::NEG_INFINITY), "log_threshold");
    check(&|log| log.feedback[0].score = Some(f64::NAN), "feedback_score");
    check(&|log| log.feedback[0].score = Some(f64::INFINITY), "feedback_score");
    check(&|log| log.feedback[0].signal_type = String::new(), "feedback_signal");
    assert_eq!(ids(&store, &RetrievalFilter::default()), Vec::<i64>::new());
    assert_eq!(store.add_retrieval_logs(&ws(), &[retrieval("q", 1)], at(1)).unwrap(), [1]);
}

/// Batches are inserted at some thousands per second, and the newest are found by an index
/// regardless of the table's size.
fn many_are_logged_and_listed_in_no_time(db: &Database) {
    let store = db.open();
    let batch = |n: i64| -> Vec<NewRetrievalLog> {
        let log = |q: i64| {
            let mut log = retrieval("who owns the notifications service?", n * 500 + q);
            log.fields.experiment_id = (n % 10 == 0).then(|| format!("run {n}"));
            log
        };
        (0..500).map(log).collect()
    };
    for n in 0..40 {
        store.add_retrieval_logs(&ws(), &batch(n), at(0)).unwrap();
    }
    let start = Instant::now();
    for n in 0..40 {
        let traffic = Some(RetrievalOrigin::Experiment(format!("run {}", n - n % 10)));
        let of_run = RetrievalFilter { traffic, limit: Some(10), ..Default::default() };
        assert_eq!(ids(&store, &of_run).len(), 10);
        let since = Some(at(n * 500 + 490));
        let until = Some(at(n * 500 + 500));
        let of_time = RetrievalFilter { since, until, ..Default::default() };
        assert_eq!(ids(&store, &of_time).len(), 10);
    }
    // 80 lists; reading all 20,000 rows for each takes many seconds.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}
