//! The short form of `cargo xtask campaign budget`.

use gbrain_bench::campaign::budget::{Audit, EngineRun, Report, SpendPlan, run_on_engine};
use gbrain_testkit::engine::Engine;

fn spent(engine: Engine, purse: SpendPlan) -> Report {
    let program = env!("CARGO_BIN_EXE_gbrain-bench").into();
    let report =
        run_on_engine(&EngineRun { program, engine, purse, calls: 200, kills: 2, seed: 5 })
            .unwrap();
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
    assert!(report.kills == 2 && report.looks > 10 && report.has_met(purse), "{report:?}");
    let Audit { answered, refused, failed, killed, attempts, bill, .. } = report.audit;
    assert_eq!(answered + refused + failed + killed, 200, "{report:?}");
    assert!(killed > 0 && attempts > 50 && bill > 0, "{report:?}");
    report
}

/// An ample purse says what all calls cost; a tight budget and a tight day allow a part of it.
fn budgets_hold(engine: Engine) {
    let whole = spent(engine, SpendPlan::Ample).audit.charged;
    spent(engine, SpendPlan::Budget(whole / 3));
    spent(engine, SpendPlan::Day(whole / 3));
}

#[test]
fn budgets_hold_on_sqlite() {
    budgets_hold(Engine::Sqlite);
}

#[test]
fn budgets_hold_on_postgres() {
    budgets_hold(Engine::Postgres);
}
