//! Every provider, and every way to fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gbrain_core::id::WorkspaceId;
use gbrain_llm::{EmbeddingPurpose, ModelCallErrorKind, ModelLimits, RetryPolicy};
use gbrain_testkit::providers::Fault;

use crate::site::{KEY, LIMITS, Site, chat, model};

const CHATTERS: [&str; 4] = ["anthropic:m", "openai:m", "google:m", "ollama:m"];

#[test]
fn every_provider_chats() {
    let site = Site::new(|_| Fault::None);
    let client = site.client("1");
    for name in CHATTERS {
        let (said, bill) = client.chat(&model(name), &chat("hello")).unwrap();
        assert_eq!((said.as_str(), bill.attempts), ("you said hello", 1), "{name}");
        assert!(bill.cost.as_nanos() > 0, "{name}");
    }
    assert!(site.server.bodies().iter().all(|body| !body.contains(KEY)));
    assert!(site.server.headers().iter().all(|headers| headers.contains(KEY)));
}

#[test]
fn every_provider_embeds() {
    let site = Site::new(|_| Fault::None);
    let client = site.client("1");
    for name in ["openai:m", "google:m", "cohere:m", "voyage:m", "ollama:m"] {
        let texts = ["red apples", "green pears", "apples that are red"];
        let (vectors, _) =
            client.embed(&model(name), &texts, EmbeddingPurpose::Document, Some(32)).unwrap();
        let near = |a: usize, b: usize| -> f32 {
            vectors[a].iter().zip(&vectors[b]).map(|(x, y)| x * y).sum()
        };
        assert_eq!(vectors.iter().map(Vec::len).collect::<Vec<_>>(), [32; 3], "{name}");
        assert!(near(0, 2) > near(0, 1), "{name}");
    }
    let refused =
        client.embed(&model("anthropic:m"), &["a"], EmbeddingPurpose::Query, None).unwrap_err();
    assert_eq!(refused.kind, ModelCallErrorKind::NoProvider);
}

#[test]
fn every_provider_reranks() {
    let site = Site::new(|_| Fault::None);
    let client = site.client("1");
    for name in ["cohere:rerank-v3.5", "voyage:m", "jina:m"] {
        let documents = ["nothing of it", "red apples", "red pears"];
        let (scores, bill) = client.rerank(&model(name), "red apples", &documents).unwrap();
        assert_eq!(scores, [0.0, 1.0, 0.5], "{name}");
        if name.starts_with("cohere") {
            assert_eq!(bill.cost.to_string(), "$0.002", "by searches");
        }
    }
}

/// The error for a permanent fault, the number of attempts, and whether the provider billed.
#[track_caller]
fn fails(fault: Fault, kind: ModelCallErrorKind, requests: u64) {
    for name in CHATTERS {
        let site = Site::new(move |_| fault);
        let error = site.client("1").chat(&model(name), &chat("hello")).unwrap_err();
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
    fails(Fault::Status(429, None), ModelCallErrorKind::RateLimited, 3);
    fails(Fault::Status(500, None), ModelCallErrorKind::Unavailable, 3);
    fails(Fault::Status(503, Some(0)), ModelCallErrorKind::Unavailable, 3);
    fails(Fault::Status(401, None), ModelCallErrorKind::Denied, 1);
    fails(Fault::Status(400, None), ModelCallErrorKind::BadRequest, 1);
    fails(Fault::Status(302, None), ModelCallErrorKind::BadRequest, 1);
    fails(Fault::Status(307, None), ModelCallErrorKind::BadRequest, 1);
    fails(Fault::Gateway(502), ModelCallErrorKind::Unavailable, 3);
    fails(Fault::Gateway(504), ModelCallErrorKind::Timeout, 3);
    fails(Fault::Cut, ModelCallErrorKind::Malformed, 1);
    fails(Fault::Garbage, ModelCallErrorKind::Malformed, 1);
    fails(Fault::Empty, ModelCallErrorKind::Malformed, 1);
    fails(Fault::Hang(Duration::from_secs(2)), ModelCallErrorKind::Timeout, 3);
}

#[test]
fn an_answer_that_ends_at_its_limit_is_paid_and_none() {
    for name in CHATTERS {
        let site = Site::saying(|_| "long ".repeat(200), |_| Fault::None);
        let error = site.client("1").chat(&model(name), &chat("hello")).unwrap_err();
        assert_eq!(error.kind, ModelCallErrorKind::Truncated, "{name}");
        let billed = site.server.billed();
        assert_eq!((billed.len(), billed[0].output), (1, 100), "{name}");
        let cost = billed[0].input * 1000 + billed[0].output * 2000;
        assert_eq!(site.charged().as_nanos() as u64, cost, "{name}");
    }
}

#[test]
fn a_wait_that_is_too_long_is_a_failure() {
    let site = Site::new(|_| Fault::Status(429, Some(3600)));
    let error = site.client("1").chat(&model("openai:m"), &chat("hello")).unwrap_err();
    assert_eq!((error.kind, site.server.requests()), (ModelCallErrorKind::RateLimited, 1));
}

#[test]
fn it_is_tried_again_and_waits_as_long_as_it_is_asked_to() {
    let site = Site::new(|number| match number {
        1 => Fault::Status(429, Some(1)),
        2 => Fault::Status(500, None),
        _ => Fault::None,
    });
    let begun = Instant::now();
    let (said, bill) = site.client("1").chat(&model("anthropic:m"), &chat("hello")).unwrap();
    assert_eq!((said.as_str(), bill.attempts), ("you said hello", 3));
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(site.charged(), bill.cost, "attempts that failed cost nothing");
}

#[test]
fn an_unreachable_provider_is_an_error() {
    let site = Site::new(|_| Fault::None);
    let client = site.client("1");
    let Site { server, store, dir } = site;
    drop(server);
    // The listener ends at the connection that wakes it.
    std::thread::sleep(Duration::from_millis(100));
    let error = client.chat(&model("openai:m"), &chat("hello")).unwrap_err();
    assert!(
        matches!(error.kind, ModelCallErrorKind::Unreachable | ModelCallErrorKind::Timeout),
        "{error}"
    );
    drop((store, dir));
}

#[test]
fn a_wait_is_stopped() {
    let site = Site::new(|_| Fault::Status(500, None));
    let cancel = Arc::new(AtomicBool::new(false));
    let retry = RetryPolicy {
        attempts: 9,
        first: Duration::from_secs(30),
        max_wait: Duration::from_secs(60),
    };
    let client = site.client_with(ModelLimits { retry, ..ModelLimits::default() });
    let client = client.spending(site.spending("1")).cancelled_by(cancel.clone());
    let begun = Instant::now();
    let error = std::thread::scope(|scope| {
        let call = scope.spawn(|| client.chat(&model("openai:m"), &chat("hello")).unwrap_err());
        std::thread::sleep(Duration::from_millis(200));
        cancel.store(true, Ordering::Relaxed);
        call.join().unwrap()
    });
    assert_eq!(error.kind, ModelCallErrorKind::Cancelled);
    assert!(begun.elapsed() < Duration::from_secs(30), "the wait is 30 s");
}

#[test]
fn a_call_that_is_stopped_while_it_waits_for_a_place_is_not_sent() {
    let site = Site::new(|_| Fault::Hang(Duration::from_millis(700)));
    let cancel = Arc::new(AtomicBool::new(false));
    let retry = RetryPolicy { attempts: 1, ..LIMITS.retry };
    let limits = ModelLimits { concurrency: 1, timeout: Duration::from_secs(1), retry };
    let client = site.client_with(limits).spending(site.spending("1")).cancelled_by(cancel.clone());
    let kinds: Vec<ModelCallErrorKind> = std::thread::scope(|scope| {
        let call = || client.chat(&model("openai:m"), &chat("hello")).unwrap_err().kind;
        let calls = [scope.spawn(call), scope.spawn(call), scope.spawn(call)];
        while site.server.requests() == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        cancel.store(true, Ordering::Relaxed);
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let stopped = kinds.iter().filter(|kind| **kind == ModelCallErrorKind::Cancelled).count();
    assert_eq!((stopped, site.server.requests()), (2, 1), "{kinds:?}");
    assert_eq!(site.store.charges(&WorkspaceId::default(), "run").unwrap().len(), 1);
}

#[test]
fn a_call_that_waits_for_another_attempt_leaves_its_place_to_others() {
    let site = Site::new(|number| match number {
        1 => Fault::Status(429, Some(5)),
        _ => Fault::None,
    });
    let retry = RetryPolicy { max_wait: Duration::from_secs(10), ..LIMITS.retry };
    let limits = ModelLimits { concurrency: 1, retry, timeout: Duration::from_secs(30) };
    let client = site.client_with(limits).spending(site.spending("1"));
    let ask = || client.chat(&model("openai:m"), &chat("hello")).unwrap();
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
fn invalid_requests_are_not_sent() {
    let site = Site::new(|_| Fault::None);
    let client = site.client("1");
    let kind = |name: &str| client.chat(&model(name), &chat("x")).unwrap_err().kind;
    assert_eq!(kind("nobody:m"), ModelCallErrorKind::NoProvider);
    assert_eq!(kind("openai:unpriced"), ModelCallErrorKind::NoPrice);
    assert_eq!(kind("cohere:m"), ModelCallErrorKind::NoProvider);
    assert!(client.ready(&model("openai:m")).is_ok());
    assert_eq!(client.ready(&model("openai:no")).unwrap_err().kind, ModelCallErrorKind::NoPrice);
    let without = site.asker_without_money();
    assert_eq!(
        without.chat(&model("openai:m"), &chat("x")).unwrap_err().kind,
        ModelCallErrorKind::OverBudget
    );
    let keyless = gbrain_llm::ModelClient::new(
        site.providers(),
        crate::site::prices(),
        ModelLimits::default(),
        Arc::new(|_: &str| None),
    );
    let keyless = keyless.spending(site.spending("1"));
    assert_eq!(
        keyless.chat(&model("openai:m"), &chat("x")).unwrap_err().kind,
        ModelCallErrorKind::NoKey
    );
    assert_eq!(site.server.requests(), 0, "nothing was sent");
    assert_eq!(site.charged().as_nanos(), 0);
}
