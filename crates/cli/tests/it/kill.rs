//! The short form of `cargo xtask campaign kill`.

use std::time::Duration;

use gbrain_bench::campaign::kill::{Hunt, hunt};
use gbrain_testkit::engine::Engine;

fn kills(engine: Engine) {
    let program = env!("CARGO_BIN_EXE_gbrain").into();
    let budget = Duration::from_secs(20);
    let report = hunt(&Hunt { program, engine, kills: 8, seed: 11, pages: 60, budget }).unwrap();
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
    assert!(report.kills() > 0 && report.compared > 0, "{report:?}");
}

#[test]
fn kills_lose_nothing_on_sqlite() {
    kills(Engine::Sqlite);
}

#[test]
fn kills_lose_nothing_on_postgres() {
    kills(Engine::Postgres);
}
