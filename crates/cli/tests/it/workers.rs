//! The short form of `cargo xtask campaign workers`.

use gbrain_bench::campaign::workers::{WorkersPlan, run_on_engine};
use gbrain_testkit::engine::Engine;

use crate::support::setup;

fn kills(engine: Engine) {
    let report = run_on_engine(&setup(engine, 3), &WorkersPlan { kills: 6, pages: 250 }).unwrap();
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
    assert!(
        report.count() >= 6 && report.acknowledged > 0 && report.aftermath.jobs > 0,
        "{report:?}"
    );
}

#[test]
fn killed_servers_and_workers_lose_nothing_on_sqlite() {
    kills(Engine::Sqlite);
}

#[test]
fn killed_servers_and_workers_lose_nothing_on_postgres() {
    kills(Engine::Postgres);
}
