//! Evaluators and senders that race, die and return: every run is evaluated once, and messages
//! arrive in the order of their key, at least once, and exactly once if no sender dies.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use gbrain_store::{
    AlertStatus, DeliveryClaim, DeliveryEnd, DeliveryFilter, DeliveryState, NewDelivery, Store,
};
use jiff::SignedDuration;

use crate::child::{Player, Role, report_line, spawn};
use crate::database::Database;
use crate::fixture::*;
use crate::playbook::*;

on_both_engines! {
    every_run_is_looked_at_once,
    messages_arrive_once_and_in_order,
    messages_arrive_in_order_whatever_senders_do,
    messages_survive_kills,
}

/// Messages of ten keys on two channels; the payload is the position in the key.
fn queue(store: &Store, of_each: usize) -> usize {
    let mut messages: Vec<NewDelivery> = Vec::new();
    for n in 0..of_each {
        for key in 0..10 {
            for channel in ["pager", "chat"] {
                messages.push(message(channel, &format!("k{key}"), &n.to_string()));
            }
        }
    }
    for batch in messages.chunks(37) {
        store.add_deliveries(&ws(), batch, at(0)).unwrap();
    }
    messages.len()
}

/// Received messages: the positions of each key in order of arrival.
#[derive(Default)]
struct Inbox(BTreeMap<String, Vec<usize>>);

impl Inbox {
    fn receive(&mut self, key: &str, place: &str) {
        self.0.entry(key.to_owned()).or_default().push(place.parse().unwrap());
    }

    /// Every message of every key arrived, the first time in order; returns the number of
    /// repetitions.
    fn assert_in_order(&self, of_each: usize) -> usize {
        assert_eq!(self.0.len(), 20, "{:?}", self.0.keys());
        let mut again = 0;
        for (key, places) in &self.0 {
            let mut first_times: Vec<usize> = Vec::new();
            for place in places {
                if !first_times.contains(place) {
                    first_times.push(*place);
                }
            }
            assert_eq!(first_times, (0..of_each).collect::<Vec<_>>(), "{key}: {places:?}");
            again += places.len() - first_times.len();
        }
        again
    }
}

fn every_run_is_looked_at_once(db: &Database) {
    let store = db.open();
    let runs = 60;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..runs {
                store.add_suite_run(&ws(), &new_run("smoke", None), at(n)).unwrap();
            }
        });
        for _ in 0..5 {
            scope.spawn(|| {
                let start = Instant::now();
                loop {
                    assert!(start.elapsed() < Duration::from_secs(60), "it does not end");
                    let board = store.alert_board(&ws()).unwrap();
                    if board.cursor.run == runs {
                        return;
                    }
                    let limit = fastrand::usize(1..5);
                    let seen = store.suite_runs_after(&ws(), board.cursor.run, limit).unwrap();
                    let Some(last) = seen.last() else { continue };
                    // Counts from the board's value, so a lost or repeated evaluation would show.
                    let before =
                        board.states.first().map_or(0, |state| state.body.parse().unwrap());
                    let mut state = alert("count", AlertStatus::Firing);
                    state.body = (before + seen.len()).to_string();
                    let messages: Vec<_> = seen
                        .iter()
                        .map(|run| {
                            message("pager", &format!("k{}", run.id % 3), &run.id.to_string())
                        })
                        .collect();
                    store
                        .store_alert_evaluation(
                            &ws(),
                            board.cursor,
                            last.id,
                            &[state],
                            &messages,
                            at(1),
                        )
                        .unwrap();
                }
            });
        }
    });
    let board = store.alert_board(&ws()).unwrap();
    assert_eq!((board.cursor.run, board.states[0].body.as_str()), (60, "60"));
    let mut sent = store.deliveries(&ws(), &DeliveryFilter::default(), 1000).unwrap();
    sent.reverse();
    let told: Vec<i64> = sent.iter().map(|message| message.payload.parse().unwrap()).collect();
    assert_eq!(told, (1..=60).collect::<Vec<_>>());
    assert_sound(&store);
}

fn messages_arrive_once_and_in_order(db: &Database) {
    let store = db.open();
    let total = queue(&store, 8);
    let inbox = Mutex::new(Inbox::default());
    std::thread::scope(|scope| {
        for n in 0..6 {
            let (store, inbox) = (&store, &inbox);
            scope.spawn(move || {
                while store.delivery_counts(&ws()).unwrap().queued > 0 {
                    for message in send(&*store, &format!("w{n}"), fastrand::usize(1..9), 1) {
                        let key = format!("{} {}", message.channel, message.dedup_key);
                        inbox.lock().unwrap().receive(&key, &message.payload);
                        let lease = message.lease().unwrap();
                        let end = DeliveryEnd::Sent;
                        let was_heard =
                            store.end_delivery(&ws(), message.id, &lease, &end, at(2)).unwrap();
                        assert!(was_heard, "nobody dies here");
                    }
                }
            });
        }
    });
    assert_eq!(inbox.into_inner().unwrap().assert_in_order(8), 0, "each one once");
    let filter = DeliveryFilter { state: Some(DeliveryState::Sent), ..Default::default() };
    assert_eq!(store.deliveries(&ws(), &filter, 1000).unwrap().len(), total);
}

/// Threads with a running clock. Some fail, some let their lease expire before or after sending,
/// and report late.
fn messages_arrive_in_order_whatever_senders_do(db: &Database) {
    let store = db.open();
    queue(&store, 5);
    let (inbox, second) = (Mutex::new(Inbox::default()), AtomicI64::new(1));
    std::thread::scope(|scope| {
        for n in 0..6 {
            let (store, inbox, second) = (&store, &inbox, &second);
            scope.spawn(move || {
                let mut late = Vec::new();
                while store.delivery_counts(&ws()).unwrap().queued > 0 {
                    let now = second.fetch_add(1, Ordering::Relaxed);
                    let said = |message: &gbrain_store::Delivery, end: &DeliveryEnd| {
                        let lease = message.lease().unwrap();
                        store.end_delivery(&ws(), message.id, &lease, end, at(now)).unwrap()
                    };
                    for message in late.drain(..) {
                        // Whether it counts depends on whether another sender claimed the message.
                        said(&message, &DeliveryEnd::Sent);
                    }
                    for message in send(&*store, &format!("w{n}"), fastrand::usize(1..9), now) {
                        let retry = DeliveryEnd::Retry { at: at(now + 3), error: "503".to_owned() };
                        let what_happens = fastrand::u32(..10);
                        if what_happens == 0 {
                            continue;
                        }
                        if what_happens == 1 {
                            assert!(
                                said(&message, &retry) || second.load(Ordering::Relaxed) > now + 9
                            );
                            continue;
                        }
                        let key = format!("{} {}", message.channel, message.dedup_key);
                        let mut inbox = inbox.lock().unwrap();
                        // A real receiver cannot know, but a real sender checks its clock.
                        if second.load(Ordering::Relaxed) > now + 9 {
                            continue;
                        }
                        inbox.receive(&key, &message.payload);
                        drop(inbox);
                        match what_happens {
                            2 => late.push(message),
                            _ => drop(said(&message, &DeliveryEnd::Sent)),
                        }
                    }
                }
            });
        }
    });
    inbox.into_inner().unwrap().assert_in_order(5);
    let counts = store.delivery_counts(&ws()).unwrap();
    assert_eq!((counts.queued, counts.dead, counts.oldest_queued), (0, 0, None));
}

/// The task of a child: sends until nothing is queued, by the database's clock.
pub(crate) fn send_all(store: &Store, tell: &mut dyn FnMut(&str)) {
    let worker = format!("{:016x}", fastrand::u64(..));
    loop {
        let now = store.clock().unwrap();
        let lease_until = now.checked_add(SignedDuration::from_millis(400)).unwrap();
        let claim =
            DeliveryClaim { worker: worker.clone(), lease_until, limit: 5, except: Vec::new() };
        let messages = store.claim_deliveries(&claim, now).unwrap();
        if messages.is_empty() && store.delivery_counts(&ws()).unwrap().queued == 0 {
            return;
        }
        for message in messages {
            std::thread::sleep(Duration::from_millis(fastrand::u64(..4)));
            // A late sender sends no more of its claimed messages.
            if store.clock().unwrap() >= lease_until {
                break;
            }
            let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
            let key = format!("{} {}", message.channel, message.dedup_key);
            tell(&format!("{at} {key} {}", message.payload));
            let lease = message.lease().unwrap();
            let now = store.clock().unwrap();
            store.end_delivery(&ws(), message.id, &lease, &DeliveryEnd::Sent, now).unwrap();
        }
    }
}

/// Everything a child reported until it ended.
fn told(player: &mut Player) -> Vec<(u128, String, String)> {
    let lines = player.lines().map_while(Result::ok);
    let parse = |line: String| {
        let words: Vec<&str> = report_line(&line)?.split(' ').collect();
        // The last line of a killed child may be incomplete.
        let [at, channel, key, place] = words.as_slice() else { return None };
        Some((at.parse().ok()?, format!("{channel} {key}"), (*place).to_owned()))
    };
    lines.filter_map(parse).collect()
}

fn messages_survive_kills(db: &Database) {
    let store = db.open();
    let of_each = 15;
    queue(&store, of_each);
    let mut arrived = Vec::new();
    for round in 0..12 {
        let mut children: Vec<Player> = (0..2).map(|_| spawn(&db.location(), Role::Send)).collect();
        if round < 11 {
            std::thread::sleep(Duration::from_millis(150 + fastrand::u64(..350)));
            children.iter_mut().for_each(Player::kill);
        }
        arrived.extend(children.iter_mut().flat_map(told));
    }
    arrived.sort();
    let mut inbox = Inbox::default();
    arrived.iter().for_each(|(_, key, place)| inbox.receive(key, place));
    let again = inbox.assert_in_order(of_each);
    assert!(again <= 22, "at most the one that each child was at when it was killed: {again}");
    assert_eq!(store.delivery_counts(&ws()).unwrap().queued, 0);
    assert_sound(&store);
}
