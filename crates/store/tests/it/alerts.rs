//! Alerts, messages, silences and incidents, one caller at a time.

use std::time::Duration;

use gbrain_store::{
    AlertBoard, AlertCursor, AlertState, AlertStatus, Delivery, DeliveryAction, DeliveryClaim,
    DeliveryCounts, DeliveryEnd, DeliveryFilter, DeliveryState, DropMessageOutcome, Incident,
    IncidentState, Lease, NewDelivery, RequeueMessageOutcome, Silence, Store, StoreError,
};

use crate::database::Database;
use crate::fixture::*;
use crate::jobs::other;
use crate::playbook::*;

on_both_engines! {
    alerts_are_raised_from_where_the_board_was_seen,
    a_message_goes_from_queue_to_end,
    messages_of_a_key_keep_their_order,
    a_dead_message_lets_the_next_pass,
    a_dead_message_is_queued_again_unless_it_was_passed,
    a_message_is_dropped_unless_somebody_sends_it,
    nothing_passes_a_message_that_is_queued_again,
    a_sender_may_leave_channels_alone,
    a_sender_that_lost_its_message_is_not_heard,
    workspaces_share_a_sender,
    messages_are_listed_and_pruned,
    silences_end,
    incidents_are_opened_noted_and_resolved,
    broken_alerts_are_refused_whole,
}

fn ids(messages: &[Delivery]) -> Vec<i64> {
    messages.iter().map(|message| message.id).collect()
}

/// Ends a message on behalf of its sender.
fn end(store: &Store, message: &Delivery, end: &DeliveryEnd, second: i64) -> bool {
    let lease = message.lease().expect("a claimed message has a lease");
    store.end_delivery(&message.workspace, message.id, &lease, end, at(second)).unwrap()
}

fn retry(second: i64) -> DeliveryEnd {
    DeliveryEnd::Retry { at: at(second), error: "503".to_owned() }
}

fn dead() -> DeliveryEnd {
    DeliveryEnd::Dead { error: "400".to_owned() }
}

fn alerts_are_raised_from_where_the_board_was_seen(db: &Database) {
    let store = db.open();
    assert_eq!(store.alert_board(&ws()).unwrap(), AlertBoard::default());
    for _ in 0..3 {
        store.add_suite_run(&ws(), &new_run("smoke", None), at(1)).unwrap();
    }
    let raise = |seen, run, states: &[AlertState], messages: &[NewDelivery]| {
        store.store_alert_evaluation(&ws(), seen, run, states, messages, at(2)).unwrap()
    };
    let nothing = AlertCursor::default();
    let firing = [alert("b", AlertStatus::Firing), alert("a", AlertStatus::Firing)];
    assert!(raise(nothing, 2, &firing, &[message("pager", "b", "1"), message("pager", "a", "2")]));
    assert!(!raise(nothing, 3, &firing, &[message("pager", "b", "never")]), "somebody has looked");
    let board = store.alert_board(&ws()).unwrap();
    assert_eq!(board.cursor, AlertCursor { run: 2, revision: 1 });
    assert_eq!(board.states, [firing[1].clone(), firing[0].clone()], "by key");
    // There were no new runs, which can be an alert too: the revision increases.
    assert!(raise(board.cursor, 2, &[], &[message("pager", "silence", "3")]));
    assert!(!raise(board.cursor, 2, &[], &[message("pager", "silence", "never")]));
    let cursor = store.alert_board(&ws()).unwrap().cursor;
    assert_eq!(cursor, AlertCursor { run: 2, revision: 2 });
    let over = AlertState { since: at(9), suite: None, ..alert("a", AlertStatus::Resolved) };
    assert!(raise(cursor, 3, std::slice::from_ref(&over), &[]));
    assert_eq!(store.alert_board(&ws()).unwrap().states, [over, firing[0].clone()]);
    let sent = store.deliveries(&ws(), &DeliveryFilter::default(), 9).unwrap();
    let payloads: Vec<&str> = sent.iter().map(|message| message.payload.as_str()).collect();
    assert_eq!(payloads, ["3", "2", "1"], "what was refused queued nothing");
    assert_sound(&store);
}

fn a_message_goes_from_queue_to_end(db: &Database) {
    let store = db.open();
    let resolve = NewDelivery { action: DeliveryAction::Resolve, ..message("chat", "k", "{}") };
    assert_eq!(store.add_deliveries(&ws(), &[resolve], at(1)).unwrap(), [1]);
    assert!(store.add_deliveries(&ws(), &[], at(1)).unwrap().is_empty());
    let queued = Delivery {
        workspace: ws(),
        id: 1,
        channel: "chat".to_owned(),
        dedup_key: "k".to_owned(),
        action: DeliveryAction::Resolve,
        state: DeliveryState::Queued,
        attempt: 0,
        run_after: at(1),
        worker: None,
        lease_until: None,
        created_at: at(1),
        ended_at: None,
        error: None,
        payload: "{}".to_owned(),
    };
    let now = || store.deliveries(&ws(), &DeliveryFilter::default(), 9).unwrap().remove(0);
    assert_eq!((now(), now().lease()), (queued.clone(), None));
    assert_eq!(ids(&send(&store, "w", 0, 2)), Vec::<i64>::new());
    let claimed = send(&store, "w", 9, 2).remove(0);
    let expected = Delivery {
        attempt: 1,
        worker: Some("w".to_owned()),
        lease_until: Some(at(12)),
        ..queued.clone()
    };
    assert_eq!(claimed, expected);
    assert_eq!(send(&store, "w", 9, 3), [], "somebody sends it");
    assert!(end(&store, &claimed, &retry(20), 4));
    let failed = Delivery {
        attempt: 1,
        worker: Some("w".to_owned()),
        run_after: at(20),
        error: Some("503".to_owned()),
        ..queued
    };
    assert_eq!(now(), failed);
    assert_eq!(send(&store, "w", 9, 19), [], "not yet");
    let claimed = send(&store, "v", 9, 20).remove(0);
    assert_eq!(claimed.attempt, 2);
    assert!(end(&store, &claimed, &DeliveryEnd::Sent, 21));
    let sent = now();
    assert_eq!((sent.state, sent.ended_at), (DeliveryState::Sent, Some(at(21))));
    assert_eq!((sent.lease_until, sent.error, sent.attempt), (None, None, 2));
    assert!(!end(&store, &claimed, &DeliveryEnd::Sent, 22), "it is over");
    assert_eq!(send(&store, "w", 9, 99), []);
}

fn messages_of_a_key_keep_their_order(db: &Database) {
    let store = db.open();
    let messages = [
        message("pager", "k", "1"),
        message("pager", "k", "2"),
        message("chat", "k", "3"),
        message("pager", "l", "4"),
        message("pager", "k", "5"),
    ];
    store.add_deliveries(&ws(), &messages, at(1)).unwrap();
    let first = send(&store, "w", 9, 2);
    assert_eq!(ids(&first), [1, 3, 4], "one of a channel and a key");
    assert!(end(&store, &first[0], &retry(50), 3));
    assert_eq!(send(&store, "w", 9, 4), [], "the second waits for the first");
    for message in &first[1..] {
        assert!(end(&store, message, &DeliveryEnd::Sent, 4));
    }
    assert_eq!(send(&store, "w", 9, 49), []);
    for (second, id) in [(50, 1), (52, 2), (54, 5)] {
        let next = send(&store, "w", 9, second);
        assert_eq!(ids(&next), [id]);
        assert_eq!(send(&store, "v", 9, second), []);
        assert!(end(&store, &next[0], &DeliveryEnd::Sent, second + 1));
    }
}

fn a_dead_message_lets_the_next_pass(db: &Database) {
    let store = db.open();
    let both = [message("pager", "k", "1"), message("pager", "k", "2")];
    store.add_deliveries(&ws(), &both, at(1)).unwrap();
    let first = send(&store, "w", 9, 2).remove(0);
    assert!(end(&store, &first, &dead(), 3));
    assert_eq!(ids(&send(&store, "w", 9, 4)), [2]);
    let counts = store.delivery_counts(&ws()).unwrap();
    let expected = DeliveryCounts { queued: 1, dead: 1, oldest_queued: Some(at(1)) };
    assert_eq!(counts, expected);
    assert_eq!(store.delivery_counts(&ws()).unwrap().dead, 1);
}

fn a_dead_message_is_queued_again_unless_it_was_passed(db: &Database) {
    let store = db.open();
    let both = [message("pager", "k", "1"), message("pager", "k", "2")];
    store.add_deliveries(&ws(), &both, at(1)).unwrap();
    let again = |id: i64, second: i64| store.requeue_delivery(&ws(), id, at(second)).unwrap();
    assert_eq!(
        (again(1, 1), again(9, 1)),
        (RequeueMessageOutcome::NotDead, RequeueMessageOutcome::NotDead)
    );
    let first = send(&store, "w", 9, 2).remove(0);
    assert!(end(&store, &first, &dead(), 3));
    assert_eq!(again(1, 4), RequeueMessageOutcome::Queued);
    let first = send(&store, "w", 9, 4).remove(0);
    assert_eq!((first.id, first.attempt, first.ended_at), (1, 2, None));
    assert!(end(&store, &first, &dead(), 5));
    let second = send(&store, "w", 9, 6).remove(0);
    assert_eq!(again(1, 7), RequeueMessageOutcome::Overtaken, "somebody sends the one behind it");
    assert!(end(&store, &second, &DeliveryEnd::Sent, 7));
    assert_eq!(again(1, 8), RequeueMessageOutcome::Overtaken);
    assert_sound(&store);
}

fn a_message_is_dropped_unless_somebody_sends_it(db: &Database) {
    let store = db.open();
    store.add_workspace(&other(), at(0)).unwrap();
    store
        .add_deliveries(&ws(), &["1", "2"].map(|text| message("pager", "k", text)), at(1))
        .unwrap();
    let drop = |id, second| store.drop_delivery(&ws(), id, "gone", at(second)).unwrap();
    let sent = send(&store, "w", 9, 2).remove(0);
    assert_eq!(drop(1, 3), DropMessageOutcome::BeingSent);
    assert_eq!(drop(1, 12), DropMessageOutcome::Dropped, "its sender let the lease run out");
    assert!(!end(&store, &sent, &DeliveryEnd::Sent, 13), "and is not heard any more");
    assert_eq!(drop(1, 14), DropMessageOutcome::NotQueued);
    assert_eq!(drop(9, 14), DropMessageOutcome::NotQueued);
    assert_eq!(
        store.drop_delivery(&other(), 2, "gone", at(14)).unwrap(),
        DropMessageOutcome::NotQueued
    );
    let filter = DeliveryFilter { state: Some(DeliveryState::Dead), ..DeliveryFilter::default() };
    let dead = store.deliveries(&ws(), &filter, 9).unwrap().remove(0);
    assert_eq!((dead.id, dead.error.as_deref(), dead.ended_at), (1, Some("gone"), Some(at(12))));
    assert_eq!(ids(&send(&store, "w", 9, 15)), [2], "the next one passes it");
    assert_sound(&store);
}

/// A sender has claimed the next message, but has not finished it.
fn nothing_passes_a_message_that_is_queued_again(db: &Database) {
    let store = db.open();
    store
        .add_deliveries(&ws(), &["1", "2"].map(|text| message("pager", "k", text)), at(1))
        .unwrap();
    assert!(end(&store, &send(&store, "w", 9, 2)[0], &dead(), 3));
    let mut sender = db.connect();
    sender.begin_write(&ws());
    let lease = at(99).as_millisecond();
    let take = format!(
        "UPDATE alert_deliveries SET attempt = 1, worker = 'v', lease_until = {lease} WHERE id = 2"
    );
    sender.batch(&take).unwrap();
    std::thread::scope(|scope| {
        let again = scope.spawn(|| store.requeue_delivery(&ws(), 1, at(4)).unwrap());
        std::thread::sleep(Duration::from_millis(300));
        sender.batch("COMMIT").unwrap();
        assert_eq!(again.join().unwrap(), RequeueMessageOutcome::Overtaken);
    });
    assert_sound(&store);
}

fn a_sender_may_leave_channels_alone(db: &Database) {
    let store = db.open();
    let messages = [message("pager", "k", "1"), message("chat", "k", "2")];
    store.add_deliveries(&ws(), &messages, at(1)).unwrap();
    let claim = |except: &[&str], second: i64| {
        let except = except.iter().map(|name| (*name).to_owned()).collect();
        let worker = "w".to_owned();
        let claim = DeliveryClaim { worker, lease_until: at(second + 10), limit: 9, except };
        ids(&store.claim_deliveries(&claim, at(second)).unwrap())
    };
    assert_eq!(claim(&["pager", "chat"], 2), [] as [i64; 0]);
    assert_eq!(claim(&["pager", "other"], 2), [2]);
    assert_eq!(claim(&[], 2), [1]);
}

fn a_sender_that_lost_its_message_is_not_heard(db: &Database) {
    let store = db.open();
    store.add_deliveries(&ws(), &[message("pager", "k", "1")], at(1)).unwrap();
    let lost = send(&store, "first", 9, 2).remove(0);
    assert_eq!(send(&store, "second", 9, 11), [], "its lease runs");
    let kept = send(&store, "second", 9, 12).remove(0);
    assert_eq!((kept.id, kept.attempt), (1, 2));
    let strangers = [
        lost.lease().unwrap(),
        Lease { worker: "first".to_owned(), attempt: 2 },
        Lease { worker: "second".to_owned(), attempt: 1 },
        Lease { worker: "second".to_owned(), attempt: 3 },
    ];
    for lease in &strangers {
        for word in [DeliveryEnd::Sent, retry(13), dead()] {
            assert!(!store.end_delivery(&ws(), 1, lease, &word, at(13)).unwrap(), "{lease:?}");
        }
    }
    assert!(!store.end_delivery(&ws(), 9, &strangers[0], &DeliveryEnd::Sent, at(13)).unwrap());
    let there = store.deliveries(&ws(), &DeliveryFilter::default(), 9).unwrap();
    assert_eq!(there, std::slice::from_ref(&kept));
    // Late, but not claimed by another: it counts.
    assert!(end(&store, &kept, &DeliveryEnd::Sent, 99));
    assert!(!end(&store, &kept, &retry(100), 99));
}

fn workspaces_share_a_sender(db: &Database) {
    let store = db.open();
    store.add_workspace(&other(), at(0)).unwrap();
    let many: Vec<_> = (0..20).map(|n| message("pager", &n.to_string(), "")).collect();
    store.add_deliveries(&ws(), &many, at(1)).unwrap();
    store.add_deliveries(&other(), &many[..3], at(5)).unwrap();
    let by_workspace = |messages: &[Delivery]| {
        let ours = messages.iter().filter(|message| message.workspace == ws()).count();
        (ours, messages.len() - ours)
    };
    assert_eq!(by_workspace(&send(&store, "w", 4, 6)), (2, 2));
    assert_eq!(by_workspace(&send(&store, "w", 4, 6)), (2, 1), "no more of them");
    assert_eq!(by_workspace(&send(&store, "w", 100, 6)), (16, 0));
    assert_eq!(send(&store, "w", 100, 6), []);
}

fn messages_are_listed_and_pruned(db: &Database) {
    let store = db.open();
    let messages =
        [message("pager", "k", "1"), message("chat", "k", "2"), message("pager", "l", "3")];
    store.add_deliveries(&ws(), &messages, at(1)).unwrap();
    let claimed = send(&store, "w", 9, 2);
    assert!(end(&store, &claimed[0], &DeliveryEnd::Sent, 3));
    assert!(end(&store, &claimed[1], &dead(), 5));
    let check = |filter: DeliveryFilter, expected: &[i64]| {
        assert_eq!(ids(&store.deliveries(&ws(), &filter, 9).unwrap()), expected, "{filter:?}");
    };
    let all = DeliveryFilter::default;
    check(all(), &[3, 2, 1]);
    check(DeliveryFilter { state: Some(DeliveryState::Dead), ..all() }, &[2]);
    check(DeliveryFilter { channel: Some("pager".to_owned()), ..all() }, &[3, 1]);
    check(DeliveryFilter { dedup_key: Some("k".to_owned()), ..all() }, &[2, 1]);
    check(DeliveryFilter { before: Some(3), ..all() }, &[2, 1]);
    assert_eq!(ids(&store.deliveries(&ws(), &all(), 2).unwrap()), [3, 2]);
    assert_eq!(store.prune_deliveries(&ws(), at(5)).unwrap(), 1);
    assert_eq!(store.prune_deliveries(&ws(), at(99)).unwrap(), 1, "not what is to be sent");
    check(all(), &[3]);
    assert_eq!(store.add_deliveries(&ws(), &messages[..1], at(9)).unwrap(), [4]);
    assert_sound(&store);
}

fn silences_end(db: &Database) {
    let store = db.open();
    for (from, until) in [(1, 10), (20, 30), (5, 6)] {
        store.add_silence(&ws(), &silence(from, until)).unwrap();
    }
    let open = |second| -> Vec<i64> {
        store.silences(&ws(), Some(at(second))).unwrap().iter().map(|s| s.id).collect()
    };
    assert_eq!(
        (open(0), open(6), open(10), open(30)),
        (vec![1, 2, 3], vec![1, 2], vec![2], vec![])
    );
    assert!(store.end_silence(&ws(), 1, at(7)).unwrap());
    assert!(!store.end_silence(&ws(), 1, at(8)).unwrap());
    assert!(store.end_silence(&ws(), 2, at(8)).unwrap(), "one to come");
    assert!(!store.end_silence(&ws(), 2, at(8)).unwrap());
    assert!(!store.end_silence(&ws(), 3, at(8)).unwrap(), "it was over");
    assert!(!store.end_silence(&ws(), 9, at(8)).unwrap());
    let of = |id, from, until| Silence {
        id,
        starts_at: at(from),
        ends_at: at(until),
        body: "{}".to_owned(),
    };
    let all = [of(1, 1, 7), of(2, 20, 20), of(3, 5, 6)];
    assert_eq!(store.silences(&ws(), None).unwrap(), all);
}

fn incidents_are_opened_noted_and_resolved(db: &Database) {
    let store = db.open();
    assert_eq!(store.open_incident(&ws(), "recall fell", "opened", at(1)).unwrap(), 1);
    assert_eq!(store.open_incident(&ws(), "slow", "opened", at(2)).unwrap(), 2);
    let note = |incident: &Incident| format!("{}, noted", incident.body);
    let noted = store.edit_incident(&ws(), 1, &note).unwrap().unwrap();
    assert_eq!(noted.body, "opened, noted");
    let end = |incident: &Incident| format!("{}, {}", incident.body, incident.state);
    let resolved = store.resolve_incident(&ws(), 1, &end, at(3)).unwrap().unwrap();
    let expected = Incident {
        id: 1,
        state: IncidentState::Resolved,
        opened_at: at(1),
        resolved_at: Some(at(3)),
        title: "recall fell".to_owned(),
        body: "opened, noted, resolved".to_owned(),
    };
    assert_eq!(resolved, expected);
    assert_eq!(store.incident(&ws(), 1).unwrap(), Some(expected.clone()));
    assert_eq!(store.resolve_incident(&ws(), 1, &end, at(4)).unwrap(), None, "it is over");
    assert_eq!(store.incident(&ws(), 1).unwrap(), Some(expected), "and stays as it is");
    assert_eq!(store.edit_incident(&ws(), 9, &note).unwrap(), None);
    let after = store.edit_incident(&ws(), 1, &note).unwrap().unwrap();
    assert_eq!((after.state, after.resolved_at), (IncidentState::Resolved, Some(at(3))));
    let ids = |state, limit| -> Vec<i64> {
        store.incidents(&ws(), state, limit).unwrap().iter().map(|incident| incident.id).collect()
    };
    assert_eq!((ids(None, 9), ids(None, 1)), (vec![2, 1], vec![2]));
    assert_eq!(ids(Some(IncidentState::Open), 9), [2]);
    assert_eq!(ids(Some(IncidentState::Resolved), 9), [1]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let store = &store;
            scope.spawn(move || {
                let add = |incident: &Incident| format!("{}.", incident.body);
                for _ in 0..5 {
                    store.edit_incident(&ws(), 2, &add).unwrap().unwrap();
                }
            });
        }
    });
    let body = store.incident(&ws(), 2).unwrap().unwrap().body;
    assert_eq!(body, format!("opened{}", ".".repeat(40)), "no note is lost");
    assert_sound(&store);
}

fn broken_alerts_are_refused_whole(db: &Database) {
    let store = db.open();
    let cursor = AlertCursor::default();
    let check = |state: AlertState, sent: NewDelivery, wanted: &str| {
        let good = message("pager", "good", "{}");
        match store.store_alert_evaluation(&ws(), cursor, 0, &[state], &[good, sent], at(1)) {
            Err(StoreError::Nul { .. }) => assert_eq!(wanted, "nul"),
            Err(StoreError::Constraint { which }) => assert_eq!(which, wanted),
            other => panic!("{other:?}"),
        }
        assert_eq!(store.alert_board(&ws()).unwrap(), AlertBoard::default());
    };
    let (firing, long) = (AlertStatus::Firing, "x".repeat(256));
    let good = || message("pager", "k", "{}");
    check(alert("a\0", firing), good(), "nul");
    check(alert("a", firing), message("pager", "k", "\0"), "nul");
    check(alert("", firing), good(), "alert_key");
    check(alert(&long, firing), good(), "alert_key");
    check(alert("a", firing), message("pager", &long, "{}"), "delivery_key");
    check(alert("a", firing), message("", "k", "{}"), "delivery_channel");
    assert_eq!(store.deliveries(&ws(), &DeliveryFilter::default(), 9).unwrap(), []);
    let refused = |result: Result<(), StoreError>| assert!(result.is_err(), "{result:?}");
    let nul =
        DeliveryClaim { worker: "\0".to_owned(), lease_until: at(9), limit: 1, except: Vec::new() };
    refused(store.claim_deliveries(&nul, at(1)).map(|_| ()));
    refused(store.add_silence(&ws(), &silence(9, 1)).map(|_| ()));
    refused(store.open_incident(&ws(), "\0", "{}", at(1)).map(|_| ()));
    store.open_incident(&ws(), "t", "{}", at(1)).unwrap();
    refused(store.edit_incident(&ws(), 1, &|_| "\0".to_owned()).map(|_| ()));
    assert_eq!(store.incident(&ws(), 1).unwrap().unwrap().body, "{}");
}
