//! Every provider, and every way to fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gbrain_core::id::WorkspaceId;
use gbrain_llm::{AskErrorKind, Limits, Purpose, Retry};
use gbrain_testkit::providers::Fault;

use crate::site::{KEY, LIMITS, Site, chat, model};

const CHATTERS: [&str; 4] = ["anthropic:m", "openai:m", "google:m", "ollama:m"];

#[test]
fn every_provider_chats() {
    let site = Site::new(|_| Fault::None);
    let asker = site.asker("1");
    for name in CHATTERS {
        let (said, bill) = asker.chat(&model(name), &chat("hello")).unwrap();
        assert_eq!((said.as_str(), bill.attempts), ("you said hello", 1), "{name}");
        assert!(bill.cost.as_nanos() > 0, "{name}");
    }
    assert!(site.server.bodies().iter().all(|body| !body.contains(KEY)));
    assert!(site.server.headers().iter().all(|headers| headers.contains(KEY)));
}

#[test]
fn every_provider_embeds() {
    let site = Site::new(|_| Fault::None);
    let asker = site.asker("1");
    for name in ["openai:m", "google:m", "cohere:m", "voyage:m", "ollama:m"] {
        let texts = ["red apples", "green pears", "apples that are red"];
        let (vectors, _) = asker.embed(&model(name), &texts, Purpose::Document, Some(32)).unwrap();
        let near = |a: usize, b: usize| -> f32 {
            vectors[a].iter().zip(&vectors[b]).map(|(x, y)| x * y).sum()
        };
        assert_eq!(vectors.iter().map(Vec::len).collect::<Vec<_>>(), [32; 3], "{name}");
        assert!(near(0, 2) > near(0, 1), "{name}");
    }
    let refused = asker.embed(&model("anthropic:m"), &["a"], Purpose::Query, None).unwrap_err();
    assert_eq!(refused.kind, AskErrorKind::NoProvider);
}

#[test]
fn every_provider_reranks() {
    let site = Site::new(|_| Fault::None);
    let asker = site.asker("1");
    for name in ["cohere:rerank-v3.5", "voyage:m", "jina:m"] {
        let documents = ["nothing of it", "red apples", "red pears"];
        let (scores, bill) = asker.rerank(&model(name), "red apples", &documents).unwrap();
        assert_eq!(scores, [0.0, 1.0, 0.5], "{name}");
        if name.starts_with("cohere") {
            assert_eq!(bill.cost.to_string(), "$0.002", "by searches");
        }
    }
}

/// What a fault that never ends becomes, how often it was tried, and whether the provider billed.
#[track_caller]
fn fails(fault: Fault, kind: AskErrorKind, requests: u64) {
    for name in CHATTERS {
        let site = Site::new(move |_| fault);
        let error = site.asker("1").chat(&model(name), &chat("hello")).unwrap_err();
        assert_eq!(error.kind, kind, "{name} {error}");
        assert_eq!(site.server.requests(), requests, "{name}");
        assert!(site.server.seen().iter().all(|one| one.fault == fault && one.model == "m"));
        assert!(!format!("{error} {error:?}").contains(KEY), "the server quotes it, we do not");
        let billed = site.server.billed().len();
        assert_eq!(site.charged().as_nanos() > 0, billed > 0, "charged if it was billed");
        assert_eq!(error.cost, site.charged(), "{name} {kind}: the error says what it cost");
    }
}

#[test]
fn every_failure_has_its_kind() {
    fails(Fault::Status(429, None), AskErrorKind::RateLimited, 3);
    fails(Fault::Status(500, None), AskErrorKind::Unavailable, 3);
    fails(Fault::Status(503, Some(0)), AskErrorKind::Unavailable, 3);
    fails(Fault::Status(401, None), AskErrorKind::Denied, 1);
    fails(Fault::Status(400, None), AskErrorKind::BadRequest, 1);
    fails(Fault::Status(302, None), AskErrorKind::BadRequest, 1);
    fails(Fault::Status(307, None), AskErrorKind::BadRequest, 1);
    fails(Fault::Gateway(502), AskErrorKind::Unavailable, 3);
    fails(Fault::Gateway(504), AskErrorKind::Timeout, 3);
    fails(Fault::Cut, AskErrorKind::Malformed, 1);
    fails(Fault::Garbage, AskErrorKind::Malformed, 1);
    fails(Fault::Empty, AskErrorKind::Malformed, 1);
    fails(Fault::Hang(Duration::from_secs(2)), AskErrorKind::Timeout, 3);
}

#[test]
fn an_answer_that_ends_at_its_limit_is_paid_and_none() {
    for name in CHATTERS {
        let site = Site::saying(|_| "long ".repeat(200), |_| Fault::None);
        let error = site.asker("1").chat(&model(name), &chat("hello")).unwrap_err();
        assert_eq!(error.kind, AskErrorKind::Truncated, "{name}");
        let billed = site.server.billed();
        assert_eq!((billed.len(), billed[0].output), (1, 100), "{name}");
        let cost = billed[0].input * 1000 + billed[0].output * 2000;
        assert_eq!(site.charged().as_nanos() as u64, cost, "{name}");
    }
}

#[test]
fn a_wait_that_is_too_long_is_a_failure() {
    let site = Site::new(|_| Fault::Status(429, Some(3600)));
    let error = site.asker("1").chat(&model("openai:m"), &chat("hello")).unwrap_err();
    assert_eq!((error.kind, site.server.requests()), (AskErrorKind::RateLimited, 1));
}

#[test]
fn it_is_tried_again_and_waits_as_long_as_it_is_asked_to() {
    let site = Site::new(|number| match number {
        1 => Fault::Status(429, Some(1)),
        2 => Fault::Status(500, None),
        _ => Fault::None,
    });
    let begun = Instant::now();
    let (said, bill) = site.asker("1").chat(&model("anthropic:m"), &chat("hello")).unwrap();
    assert_eq!((said.as_str(), bill.attempts), ("you said hello", 3));
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(site.charged(), bill.cost, "attempts that failed cost nothing");
}

#[test]
fn nobody_listens() {
    let site = Site::new(|_| Fault::None);
    let asker = site.asker("1");
    let Site { server, store, dir } = site;
    drop(server);
    // The listener ends at the connection that wakes it.
    std::thread::sleep(Duration::from_millis(100));
    let error = asker.chat(&model("openai:m"), &chat("hello")).unwrap_err();
    assert!(matches!(error.kind, AskErrorKind::Unreachable | AskErrorKind::Timeout), "{error}");
    drop((store, dir));
}

#[test]
fn a_wait_is_stopped() {
    let site = Site::new(|_| Fault::Status(500, None));
    let cancel = Arc::new(AtomicBool::new(false));
    let retry =
        Retry { attempts: 9, first: Duration::from_secs(30), longest: Duration::from_secs(60) };
    let asker = site.asker_with(Limits { retry, ..Limits::default() });
    let asker = asker.spending(site.spending("1")).until(cancel.clone());
    let begun = Instant::now();
    let error = std::thread::scope(|scope| {
        let call = scope.spawn(|| asker.chat(&model("openai:m"), &chat("hello")).unwrap_err());
        std::thread::sleep(Duration::from_millis(200));
        cancel.store(true, Ordering::Relaxed);
        call.join().unwrap()
    });
    assert_eq!(error.kind, AskErrorKind::Cancelled);
    assert!(begun.elapsed() < Duration::from_secs(30), "the wait is 30 s");
}

#[test]
fn a_call_that_is_stopped_while_it_waits_for_a_place_is_not_sent() {
    let site = Site::new(|_| Fault::Hang(Duration::from_millis(700)));
    let cancel = Arc::new(AtomicBool::new(false));
    let retry = Retry { attempts: 1, ..LIMITS.retry };
    let limits = Limits { concurrency: 1, timeout: Duration::from_secs(1), retry };
    let asker = site.asker_with(limits).spending(site.spending("1")).until(cancel.clone());
    let kinds: Vec<AskErrorKind> = std::thread::scope(|scope| {
        let call = || asker.chat(&model("openai:m"), &chat("hello")).unwrap_err().kind;
        let calls = [scope.spawn(call), scope.spawn(call), scope.spawn(call)];
        while site.server.requests() == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        cancel.store(true, Ordering::Relaxed);
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let stopped = kinds.iter().filter(|kind| **kind == AskErrorKind::Cancelled).count();
    assert_eq!((stopped, site.server.requests()), (2, 1), "{kinds:?}");
    assert_eq!(site.store.charges(&WorkspaceId::default(), "run").unwrap().len(), 1);
}

#[test]
fn a_call_that_waits_for_another_attempt_leaves_its_place_to_others() {
    let site = Site::new(|number| match number {
        1 => Fault::Status(429, Some(5)),
        _ => Fault::None,
    });
    let retry = Retry { longest: Duration::from_secs(10), ..LIMITS.retry };
    let limits = Limits { concurrency: 1, retry, timeout: Duration::from_secs(30) };
    let asker = site.asker_with(limits).spending(site.spending("1"));
    let ask = || asker.chat(&model("openai:m"), &chat("hello")).unwrap();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let slow = scope.spawn(ask);
        while site.server.requests() == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        ask();
        assert!(begun.elapsed() < Duration::from_secs(5), "the other one sleeps meanwhile");
        assert_eq!(slow.join().unwrap().1.attempts, 2);
    });
}

#[test]
fn what_can_not_be_asked_is_not_asked() {
    let site = Site::new(|_| Fault::None);
    let asker = site.asker("1");
    let kind = |name: &str| asker.chat(&model(name), &chat("x")).unwrap_err().kind;
    assert_eq!(kind("nobody:m"), AskErrorKind::NoProvider);
    assert_eq!(kind("openai:unpriced"), AskErrorKind::NoPrice);
    assert_eq!(kind("cohere:m"), AskErrorKind::NoProvider);
    assert!(asker.ready(&model("openai:m")).is_ok());
    assert_eq!(asker.ready(&model("openai:no")).unwrap_err().kind, AskErrorKind::NoPrice);
    let without = site.asker_without_money();
    assert_eq!(
        without.chat(&model("openai:m"), &chat("x")).unwrap_err().kind,
        AskErrorKind::OverBudget
    );
    let keyless = gbrain_llm::Asker::new(
        site.providers(),
        crate::site::prices(),
        Limits::default(),
        Arc::new(|_: &str| None),
    );
    let keyless = keyless.spending(site.spending("1"));
    assert_eq!(keyless.chat(&model("openai:m"), &chat("x")).unwrap_err().kind, AskErrorKind::NoKey);
    assert_eq!(site.server.requests(), 0, "nothing was sent");
    assert_eq!(site.charged().as_nanos(), 0);
}
