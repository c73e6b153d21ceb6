//! HTTP when things go wrong: each fault has its kind, is tried as often as it may help and no more, ends in
//! time, and shows no secret.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gbrain_core::format::target::read_target;
use gbrain_core::replay::LiveContext;
use gbrain_core::target::{Question, TargetErrorKind};
use gbrain_eval::retriever::{TargetEnvironment, open};
use gbrain_testkit::retrieval::Fault;
use jiff::Timestamp;
use serde_json::json;

use super::http::{APIS, server, settings};
use super::{SECRET, environment, target};

/// The error kind and number of requests for a question that always meets a fault.
fn check(fault: Fault, kind: TargetErrorKind, requests: u64) {
    for api in APIS {
        let server = server(move |_| fault);
        let is_late = matches!(fault, Fault::Hang(_) | Fault::Drip(_));
        let timeout = if is_late { 1.0 } else { 60.0 };
        let limits = json!({ "timeout_seconds": timeout, "attempts": 2, "deadline_seconds": 60 });
        let ask = target(settings(api, &server.url(), limits));
        let error = ask.retrieve(&Question::new("a", 5)).unwrap_err();
        let about = format!("{api} with {fault:?}: {error}");
        assert_eq!((error.kind, server.requests()), (kind, requests), "{about}");
        assert!(!error.to_string().contains(SECRET), "{about}");
    }
}

#[test]
fn temporary_errors_are_retried() {
    check(Fault::Status(500, None), TargetErrorKind::Unavailable, 2);
    check(Fault::Status(503, None), TargetErrorKind::Unavailable, 2);
    check(Fault::Status(429, None), TargetErrorKind::RateLimited, 2);
    check(Fault::Status(504, None), TargetErrorKind::Timeout, 2);
    check(Fault::Hang(Duration::from_secs(4)), TargetErrorKind::Timeout, 2);
    check(Fault::Drip(Duration::from_millis(40)), TargetErrorKind::Timeout, 2);
}

#[test]
fn permanent_errors_are_not_retried() {
    check(Fault::Status(400, None), TargetErrorKind::BadRequest, 1);
    check(Fault::Status(404, None), TargetErrorKind::BadRequest, 1);
    check(Fault::Status(422, None), TargetErrorKind::BadRequest, 1);
    check(Fault::Status(401, None), TargetErrorKind::Denied, 1);
    check(Fault::Status(403, None), TargetErrorKind::Denied, 1);
    check(Fault::Redirect, TargetErrorKind::BadRequest, 1);
    check(Fault::Garbage, TargetErrorKind::Malformed, 1);
    check(Fault::WrongShape, TargetErrorKind::Malformed, 1);
    check(Fault::Cut, TargetErrorKind::Malformed, 1);
    check(Fault::Deep(200), TargetErrorKind::Malformed, 1);
    check(Fault::Deep(100_000), TargetErrorKind::Malformed, 1);
    check(Fault::NullIds, TargetErrorKind::Malformed, 1);
}

#[test]
fn an_answer_that_is_too_large_is_not_read_to_its_end() {
    let server = server(|_| Fault::Huge(40 << 20));
    let ask = target(settings("lightfast-v1", &server.url(), json!({})));
    let error = ask.retrieve(&Question::new("a", 5)).unwrap_err();
    assert_eq!(error.kind, TargetErrorKind::Malformed);
    assert!(error.message.contains("larger than the limit of 32 MiB"), "{error}");
}

#[test]
fn a_later_attempt_may_succeed() {
    let passing = [(Fault::Status(500, None), 60), (Fault::Status(429, Some(0)), 60)];
    let late = (Fault::Hang(Duration::from_secs(6)), 2);
    for (fault, timeout) in passing.into_iter().chain([late]) {
        let server = server(move |question| if question.number < 3 { fault } else { Fault::None });
        let limits = json!({ "timeout_seconds": timeout, "attempts": 3, "deadline_seconds": 180 });
        let ask = target(settings("lightfast-v1", &server.url(), limits));
        let answer = ask.retrieve(&Question::new("a", 5)).unwrap();
        assert_eq!((answer.attempts, server.requests()), (3, 3), "{fault:?}");
        // Only the good attempt counts: it ended within one timeout, the others took two.
        let timeout_ms = f64::from(timeout) * 1_000.0;
        assert!(answer.latency_ms < 2.0 * timeout_ms, "{fault:?}: {}", answer.latency_ms);
    }
}

#[test]
fn a_requested_wait_is_respected() {
    let server =
        server(
            |question| if question.number == 1 { Fault::Status(429, Some(1)) } else { Fault::None },
        );
    let ask = target(settings("lightfast-v1", &server.url(), json!({})));
    let started = Instant::now();
    ask.retrieve(&Question::new("a", 5)).unwrap();
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
}

#[test]
fn a_wait_beyond_the_deadline_is_not_begun() {
    let server = server(|_| Fault::Status(429, Some(3_600)));
    let ask = target(settings("lightfast-v1", &server.url(), json!({ "deadline_seconds": 60 })));
    let error = ask.retrieve(&Question::new("a", 5)).unwrap_err();
    assert_eq!((error.kind, server.requests()), (TargetErrorKind::RateLimited, 1));
}

#[test]
fn the_deadline_holds_for_all_attempts_together() {
    let server = server(|_| Fault::Hang(Duration::from_secs(3)));
    let limits = json!({ "timeout_seconds": 1, "attempts": 20, "deadline_seconds": 1.5 });
    let ask = target(settings("lightfast-v1", &server.url(), limits));
    let started = Instant::now();
    assert_eq!(ask.retrieve(&Question::new("a", 5)).unwrap_err().kind, TargetErrorKind::Timeout);
    assert!(started.elapsed() > Duration::from_secs(1), "{:?}", started.elapsed());
    assert!(server.requests() <= 3, "20 attempts are allowed: {}", server.requests());
}

#[test]
fn a_closed_port_is_unreachable() {
    let ask = target(settings("lightfast-v1", "http://127.0.0.1:1", json!({})));
    assert_eq!(
        ask.retrieve(&Question::new("a", 5)).unwrap_err().kind,
        TargetErrorKind::Unreachable
    );
    let ask = target(settings("lightfast-v1", "http://no-such-host.invalid", json!({})));
    assert_eq!(
        ask.retrieve(&Question::new("a", 5)).unwrap_err().kind,
        TargetErrorKind::Unreachable
    );
}

#[test]
fn a_request_can_be_stopped() {
    let server = server(|_| Fault::Status(429, Some(20)));
    let cancel = Arc::new(AtomicBool::new(false));
    let around =
        TargetEnvironment { cancel: cancel.clone(), ..environment(std::path::Path::new("/")) };
    let settings = settings("lightfast-v1", &server.url(), json!({ "concurrency": 1 }));
    let ask = open(
        read_target("prod", &settings).unwrap(),
        LiveContext::at(Timestamp::UNIX_EPOCH),
        &around,
    )
    .unwrap();
    let started = Instant::now();
    std::thread::scope(|scope| {
        // One waits for another attempt, the others for its place.
        let asking: Vec<_> =
            (0..3).map(|_| scope.spawn(|| ask.retrieve(&Question::new("a", 5)))).collect();
        std::thread::sleep(Duration::from_millis(200));
        cancel.store(true, Ordering::SeqCst);
        for one in asking {
            let error = one.join().unwrap().unwrap_err();
            assert_eq!(error.kind, TargetErrorKind::Cancelled);
        }
    });
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}
