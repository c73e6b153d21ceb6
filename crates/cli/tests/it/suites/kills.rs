//! The short form of `cargo xtask campaign schedule`.

use gbrain_bench::campaign::schedule::{SchedulePlan, run_on_engine};
use gbrain_testkit::engine::Engine;

use crate::support::setup;

fn kills(engine: Engine) {
    let report = run_on_engine(&setup(engine, 3), &SchedulePlan { kills: 6, runs: 30 }).unwrap();
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
    assert_eq!(report.recorded, 30, "{report:?}");
    // How many of them is a matter of how fast this machine is; how many meet a run, too.
    assert!((1..=6).contains(&report.kills), "{report:?}");
}

#[test]
fn killed_schedulers_record_every_due_run_once_on_sqlite() {
    kills(Engine::Sqlite);
}

#[test]
fn killed_schedulers_record_every_due_run_once_on_postgres() {
    kills(Engine::Postgres);
}
