//! Judges run again without a key, a price or a network.

use std::sync::Arc;

use gbrain_core::money::Usd;
use gbrain_llm::{
    Cassette, CassetteMode, Chat, EmbeddingPurpose, ModelCallErrorKind, ModelClient, ModelLimits,
    Prices, Providers,
};
use gbrain_testkit::providers::Fault;

use crate::site::{KEY, Site, chat, model};

fn keyless(path: &std::path::Path) -> ModelClient {
    let tape = Cassette::open(path, CassetteMode::ReplayOnly).unwrap();
    let environment = Arc::new(|_: &str| None);
    ModelClient::new(Providers::default(), Prices::default(), ModelLimits::default(), environment)
        .cassette(tape)
}

#[test]
fn a_recorded_run_needs_nothing() {
    let site = Site::new(|_| Fault::None);
    let path = site.path("tape.ndjson");
    let recorded = site.client("1").cassette(Cassette::open(&path, CassetteMode::Record).unwrap());
    let again = Chat { repeat: 1, ..chat("one") };
    for question in [chat("one"), chat("two"), again.clone()] {
        recorded.chat(&model("openai:m"), &question).unwrap();
    }
    let documents = ["red", "green"];
    recorded.rerank(&model("voyage:m"), "red", &documents).unwrap();
    let requests = site.server.requests();
    recorded.chat(&model("openai:m"), &chat("one")).unwrap();
    assert_eq!(site.server.requests(), requests, "what is on the cassette is not asked again");
    assert!(!std::fs::read_to_string(&path).unwrap().contains(KEY));

    let client = keyless(&path);
    assert!(client.ready(&model("openai:anything")).is_ok());
    let (said, bill) = client.chat(&model("openai:m"), &chat("two")).unwrap();
    assert_eq!((said.as_str(), bill.cost, bill.replayed), ("you said two", Usd::ZERO, true));
    client.chat(&model("openai:m"), &again).unwrap();
    let (scores, _) = client.rerank(&model("voyage:m"), "red", &documents).unwrap();
    assert_eq!(scores, [1.0, 0.0]);
    let replaying = Cassette::open(&path, CassetteMode::ReplayOnly).unwrap();
    let with_money = site.client("1").cassette(replaying);
    let error =
        with_money.embed(&model("openai:m"), &["a"], EmbeddingPurpose::Query, None).unwrap_err();
    assert_eq!(error.kind, ModelCallErrorKind::NotRecorded);
    assert_eq!(site.server.requests(), requests, "nobody was asked");
}

#[test]
fn another_prompt_is_stale_and_another_question_is_unknown() {
    let site = Site::new(|_| Fault::None);
    let path = site.path("tape.ndjson");
    let recorded = site.client("1").cassette(Cassette::open(&path, CassetteMode::Record).unwrap());
    recorded.chat(&model("openai:m"), &chat("one")).unwrap();
    let client = keyless(&path);
    let kind = |name: &str, chat: &Chat| client.chat(&model(name), chat).unwrap_err().kind;
    let edited = Chat { system: "Repeat!".to_owned(), ..chat("one") };
    assert_eq!(kind("openai:m", &edited), ModelCallErrorKind::StaleCassette);
    let longer = Chat { max_tokens: 101, ..chat("one") };
    assert_eq!(kind("openai:m", &longer), ModelCallErrorKind::StaleCassette);
    assert_eq!(kind("openai:m", &chat("three")), ModelCallErrorKind::NotRecorded);
    assert_eq!(kind("openai:other", &chat("one")), ModelCallErrorKind::NotRecorded);
    let repeat = Chat { repeat: 1, ..chat("one") };
    assert_eq!(kind("openai:m", &repeat), ModelCallErrorKind::NotRecorded);
    // Where it may be recorded, a stale one is asked again.
    let recorded = site.client("1").cassette(Cassette::open(&path, CassetteMode::Record).unwrap());
    recorded.chat(&model("openai:m"), &edited).unwrap();
    assert!(keyless(&path).chat(&model("openai:m"), &edited).is_ok());
}
