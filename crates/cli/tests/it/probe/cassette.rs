//! The whole probe from a file: no key, no network, no money.

use gbrain_core::id::WorkspaceId;
use gbrain_testkit::providers::Fault;
use serde_json::json;

use super::*;

/// Set to make the committed cassette again, after a change of the questions, of a prompt, of a rubric or of
/// the retrieval that the answers depend on:
/// `GBRAIN_RECORD=1 cargo nextest run -p gbrain-cli -E 'test(probe::cassette)'`.
const RECORD: &str = "GBRAIN_RECORD";

const TAPE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/probe.cassette.ndjson");

/// The models that the cassette was recorded with.
fn cast(home: &Home) {
    for (key, value) in [
        ("models.eval.longmemeval", "anthropic:reader"),
        ("models.eval.cross_modal.slot_a", "openai:a"),
        ("models.eval.cross_modal.slot_b", "anthropic:b"),
        ("models.eval.cross_modal.slot_c", "google:c"),
    ] {
        // A cassette needs no price, and `config set` asks for one.
        home.store().config_set(&WorkspaceId::default(), key, value).unwrap();
    }
}

/// The probe of this project's own CI.
#[test]
fn the_committed_cassette_passes() {
    if std::env::var_os(RECORD).is_some() {
        let _ = std::fs::remove_file(TAPE);
        let staged = staged(Home::sqlite(), GOOD, |_| Fault::None);
        comes_to(&staged, &["--cassette", TAPE], "pass", 0);
    }
    for home in Home::both() {
        cast(&home);
        let args = [&RUN[..], &["--cassette", TAPE, "--replay-only", "--json"]].concat();
        let ran = home.run(&args);
        assert_eq!(
            ran.code,
            Some(0),
            "record it again with {RECORD}=1: {}{}",
            ran.stdout,
            ran.stderr
        );
        let report = report(&ran);
        assert_eq!((report.event.outcome.name(), report.event.pass_count), ("pass", 10));
        assert_eq!((report.event.cost_usd, report.event.est_cost_usd), (0.0, 0.0));
        assert_eq!(report.run_id, None);
        assert_eq!(known(&home), [""; 0], "a replay says nothing about tonight");
        assert!(audited(&home).is_empty());
        assert_eq!(home.json(&["spend"])["lines"], json!([]));
    }
}

#[test]
fn calls_missing_on_the_cassette_never_pass() {
    let home = Home::sqlite();
    cast(&home);
    let args = [&RUN[..], &["--cassette", TAPE, "--replay-only", "--json"]].concat();
    home.store()
        .config_set(&WorkspaceId::default(), "models.eval.longmemeval", "anthropic:other")
        .unwrap();
    let ran = home.run(&args);
    let event = report(&ran).event;
    assert_eq!((ran.code, event.outcome.name()), (Some(2), "error"));
    assert!(event.detail.unwrap().contains("not_recorded"));
    home.ok(&["config", "set", "search.expand", "1"]);
    let ran = home.run(&args);
    let event = report(&ran).event;
    assert_eq!((ran.code, event.outcome.name()), (Some(2), "error"));
    assert!(event.detail.unwrap().contains("cassette holds no vectors"));
}
