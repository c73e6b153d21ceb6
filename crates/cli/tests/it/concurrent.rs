//! The short form of `cargo xtask campaign load`: two processes import and four search at once.

use std::time::Duration;

use gbrain_bench::campaign::load::{LoadPlan, load};
use gbrain_testkit::engine::Engine;

use crate::support::setup;

fn nobody_fails(engine: Engine) {
    let plan = LoadPlan { time: Duration::from_secs(4), pages: 60 };
    let report = load(&setup(engine, 5), &plan).unwrap();
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
    assert!(report.imports >= 4 && report.searches >= 4, "{report:?}");
}

#[test]
fn importers_and_searchers_do_not_fail_on_sqlite() {
    nobody_fails(Engine::Sqlite);
}

#[test]
fn importers_and_searchers_do_not_fail_on_postgres() {
    nobody_fails(Engine::Postgres);
}
