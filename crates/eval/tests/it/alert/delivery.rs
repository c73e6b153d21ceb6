//! Delivery over HTTP: forms, faults, order, hanging receivers.

use gbrain_core::alert::verify_signature;
use gbrain_testkit::receivers::{Receivers, Refusal};

use super::*;

const TRIGGER: DeliveryAction = DeliveryAction::Trigger;
const RESOLVE: DeliveryAction = DeliveryAction::Resolve;

fn room(receivers: &Receivers) -> Room {
    let mut room = Room::new(json!({
        "pager": { "kind": "pagerduty", "routing_key_env": "PD", "url": receivers.url("/pagerduty") },
        "chat": { "kind": "slack", "url_env": "CHAT" },
        "hook": { "kind": "webhook", "url": receivers.url("/hook"), "secret_env": "HOOK" },
        "other": { "kind": "webhook", "url": receivers.url("/other"), "secret_env": "HOOK" },
    }));
    room.set("CHAT", &receivers.url(&format!("/chat/{}", SECRETS[1])));
    room
}

#[test]
fn every_form_is_taken() {
    let receivers = Receivers::start().unwrap();
    let room = room(&receivers);
    let ids: Vec<i64> = ["pager", "chat", "hook"]
        .iter()
        .flat_map(|channel| {
            [TRIGGER, RESOLVE].map(|action| room.queue(channel, "gbrain/default/s/run", action))
        })
        .collect();
    assert_eq!(room.send(), DeliveryTally { sent: 6, ..DeliveryTally::default() });
    assert!(ids.iter().all(|id| room.message(*id).state == DeliveryState::Sent));
    let taken = receivers.taken();
    let of = |path: &str| taken.iter().filter(|one| one.path.starts_with(path)).collect::<Vec<_>>();
    let pages = of("/pagerduty");
    let actions: Vec<&Value> = pages.iter().map(|one| &one.body["event_action"]).collect();
    assert_eq!(actions, ["trigger", "resolve"]);
    assert!(pages.iter().all(|one| one.body["dedup_key"] == "gbrain/default/s/run"));
    assert_eq!(pages[0].body["routing_key"], SECRETS[0]);
    assert!(
        of("/chat")[0].body["text"]
            .as_str()
            .unwrap()
            .ends_with("about gbrain/default/s/run &lt;&amp;&gt;")
    );
    for hook in of("/hook") {
        let at =
            verify_signature(SECRETS[2], hook.header("x-gbrain-signature"), hook.text.as_bytes());
        let now = Timestamp::now().as_second();
        assert!(at.is_some_and(|at| (now - at).abs() < 60), "{hook:?}");
        assert!(
            hook.header("idempotency-key").starts_with("default-")
                && hook.header("x-gbrain-delivery") == hook.header("idempotency-key")
        );
        assert_eq!(hook.body["dedup_key"], "gbrain/default/s/run");
    }
    room.shows_no_secret();
}

/// The receiver's status decides whether a message is retried.
#[test]
fn statuses_and_faults() {
    let check = |refusal: Refusal, state: DeliveryState, says: &str| {
        let receivers = Receivers::start_with(move |number, _| match number {
            1 => refusal,
            _ => Refusal::None,
        })
        .unwrap();
        let room = room(&receivers);
        let id = room.queue("pager", "k", TRIGGER);
        room.send();
        room.is(id, state, says);
        if state == DeliveryState::Queued {
            let message = room.message(id);
            let wait = message.run_after.duration_since(Timestamp::now()).as_secs_f64();
            assert!(wait <= 1.0, "{wait}");
            std::thread::sleep(Duration::from_millis(1100));
            room.send();
            room.is(id, DeliveryState::Sent, "");
        }
    };
    use DeliveryState::{Dead, Queued, Sent};
    check(Refusal::Status(500, None), Queued, "status 500");
    check(Refusal::Status(503, None), Queued, "status 503");
    check(Refusal::Status(408, None), Queued, "status 408");
    check(Refusal::Status(429, None), Queued, "status 429");
    check(Refusal::Status(400, None), Dead, "status 400");
    check(Refusal::Status(401, None), Dead, "status 401");
    check(Refusal::Status(404, None), Dead, "status 404");
    check(Refusal::Status(302, None), Dead, "has moved");
    check(Refusal::Close, Queued, "no response");
    check(Refusal::Garbage, Queued, "no response");
    check(Refusal::Hang(Duration::from_secs(3)), Queued, "");
    check(Refusal::Cut, Sent, "");
}

#[test]
fn retry_after_is_respected() {
    let receivers = Receivers::start_with(|number, _| match number {
        1 => Refusal::Status(429, Some(7)),
        _ => Refusal::None,
    })
    .unwrap();
    let room = room(&receivers);
    let id = room.queue("pager", "k", TRIGGER);
    room.send();
    let wait = room.message(id).run_after.duration_since(Timestamp::now()).as_secs_f64();
    assert!((5.0..=7.5).contains(&wait), "{wait}");
    assert_eq!((room.send(), receivers.requests()), (DeliveryTally::default(), 1), "not before");
}

#[test]
fn waits_double_and_a_message_keeps_its_name() {
    let receivers = Receivers::start_with(|number, _| match number {
        1..=3 => Refusal::Status(503, None),
        _ => Refusal::None,
    })
    .unwrap();
    let room = room(&receivers);
    let id = room.queue("hook", "k", TRIGGER);
    let mut waits = Vec::new();
    for _ in 0..3 {
        while room.send() == DeliveryTally::default() {
            std::thread::sleep(Duration::from_millis(20));
        }
        waits.push(room.message(id).run_after.duration_since(Timestamp::now()).as_secs_f64());
    }
    assert!(waits[0] <= 1.0 && (1.0..=4.0).contains(&waits[2]), "{waits:?}");
    while room.message(id).state == DeliveryState::Queued {
        room.send();
        std::thread::sleep(Duration::from_millis(20));
    }
    let name = |head: &str| {
        head.lines().find_map(|line| line.strip_prefix("idempotency-key: ")).unwrap().to_owned()
    };
    let names: Vec<String> = receivers.requests_kept().iter().map(|one| name(&one.head)).collect();
    assert!(names.len() == 4 && names.iter().all(|one| *one == names[0]), "{names:?}");
}

/// A hanging receiver delays only its own messages.
#[test]
fn a_hanging_receiver_does_not_delay_others() {
    let receivers = Receivers::start_with(|_, path| match path {
        "/hook" => Refusal::Hang(Duration::from_secs(30)),
        _ => Refusal::None,
    })
    .unwrap();
    let mut room = room(&receivers);
    room.limits.timeout = Duration::from_secs(20);
    for at in 0..20 {
        room.queue("hook", &format!("k{at}"), TRIGGER);
    }
    for at in 0..20 {
        room.queue("other", &format!("k{at}"), TRIGGER);
    }
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| room.send());
        while receivers.count() < 20 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{}", receivers.count());
            std::thread::sleep(Duration::from_millis(10));
        }
        let took = begun.elapsed();
        assert!(took < room.limits.timeout, "before the first of the others gave up: {took:?}");
    });
    let tries = receivers.requests() - 20;
    assert!(tries <= 16, "it is left alone meanwhile: {tries}");
}

/// A permanently refused message does not block the next, and can be requeued.
#[test]
fn dead_messages() {
    let receivers = Receivers::start_with(|number, _| match number {
        1 => Refusal::Status(400, None),
        _ => Refusal::None,
    })
    .unwrap();
    let room = room(&receivers);
    let first = room.queue("pager", "k", TRIGGER);
    assert_eq!(room.send(), DeliveryTally { dead: 1, ..DeliveryTally::default() });
    room.store.requeue_delivery(&ws(), first, Timestamp::now()).unwrap();
    assert_eq!(room.send(), DeliveryTally { sent: 1, ..DeliveryTally::default() });
    let odd = NewDelivery {
        channel: "pager".to_owned(),
        dedup_key: "k".to_owned(),
        action: TRIGGER,
        payload: "[]".to_owned(),
    };
    let odd = room.store.add_deliveries(&ws(), &[odd], Timestamp::now()).unwrap()[0];
    room.send();
    room.is(odd, DeliveryState::Dead, "cannot be parsed");
}

/// A channel that can't be used here is not lost: it says what is missing, and goes when it is there.
#[test]
fn channels_that_can_not_be_used() {
    let receivers = Receivers::start().unwrap();
    let mut room = room(&receivers);
    room.variables.remove("PD");
    room.channels.insert("odd".to_owned(), json!({ "kind": "pigeon" }));
    room.set("BAD", "not an address");
    room.channels.insert("bad".to_owned(), json!({ "kind": "slack", "url_env": "BAD" }));
    let ids = ["pager", "nowhere", "odd", "bad"].map(|channel| room.queue(channel, "k", TRIGGER));
    let says = ["environment variable PD is not set", "unknown channel `nowhere`", "pigeon", ""];
    assert_eq!(room.send(), DeliveryTally { failed: 4, ..DeliveryTally::default() });
    for (id, says) in ids.into_iter().zip(says) {
        room.is(id, DeliveryState::Queued, says);
    }
    assert_eq!(receivers.requests(), 0);
    room.set("PD", SECRETS[0]);
    std::thread::sleep(Duration::from_millis(5100));
    assert_eq!(room.send().sent, 1);
    room.is(ids[0], DeliveryState::Sent, "");
}

/// After an outage every message arrives once and in order.
#[test]
fn a_receiver_that_was_down() {
    let receivers = Receivers::start().unwrap();
    let (address, room) = (receivers.address(), room(&receivers));
    drop(receivers);
    for at in 0..30 {
        let action = if at % 2 == 0 { TRIGGER } else { RESOLVE };
        room.queue("pager", &format!("k{}", at % 3), action);
    }
    let down = room.send();
    assert!(down.sent == 0 && (1..=16).contains(&down.failed), "{down:?}");
    let receivers = Receivers::start_at(address, |_, _| Refusal::None).unwrap();
    let begun = Instant::now();
    while room.store.delivery_counts(&ws()).unwrap().queued > 0 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        room.send();
        std::thread::sleep(Duration::from_millis(50));
    }
    let taken = receivers.taken();
    assert_eq!(taken.len(), 30, "each one once");
    for key in ["k0", "k1", "k2"] {
        let own = taken.iter().filter(|one| one.body["dedup_key"] == key);
        let actions: Vec<&str> =
            own.map(|one| one.body["event_action"].as_str().unwrap()).collect();
        let start = if key == "k1" { ["resolve", "trigger"] } else { ["trigger", "resolve"] };
        assert_eq!(actions, start.iter().cycle().take(10).copied().collect::<Vec<_>>(), "{key}");
    }
}
