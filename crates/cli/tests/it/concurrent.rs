//! The short form of `cargo xtask campaign load`: two processes import and four search at once.

use std::time::Duration;

use gbrain_bench::campaign::load::{Load, load};
use gbrain_testkit::engine::Engine;

fn nobody_fails(engine: Engine) {
    let program = env!("CARGO_BIN_EXE_gbrain").into();
    let report =
        load(&Load { program, engine, time: Duration::from_secs(4), seed: 5, pages: 60 }).unwrap();
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
