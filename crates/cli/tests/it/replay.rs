//! The short form of `cargo xtask campaign replay`.

use gbrain_bench::campaign::identity::demo;
use gbrain_bench::campaign::replay::{EngineRun, prepare, run_on_engine};
use gbrain_testkit::engine::Engine;

fn replays(engine: Engine) {
    let (growth, questions) = prepare(demo().unwrap(), 60, 5);
    let report =
        run_on_engine(&EngineRun { engine, growth: &growth, questions: &questions }).unwrap();
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
    assert!(report.captured == 69 && report.scrubbed >= 12, "{report:?}");
}

#[test]
fn a_replay_finds_what_changed_on_sqlite() {
    replays(Engine::Sqlite);
}

#[test]
fn a_replay_finds_what_changed_on_postgres() {
    replays(Engine::Postgres);
}
