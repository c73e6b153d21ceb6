//! The short form of `cargo xtask campaign kill`.

use std::time::Duration;

use gbrain_bench::campaign::kill::{KillPlan, run_on_engine};
use gbrain_testkit::engine::Engine;

use crate::support::setup;

fn kills(engine: Engine) {
    let plan = KillPlan { kills: 8, pages: 60, time: Duration::from_secs(20) };
    let report = run_on_engine(&setup(engine, 11), &plan).unwrap();
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
