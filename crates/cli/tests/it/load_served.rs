//! The short form of `cargo xtask campaign serve`.

use std::time::Duration;

use gbrain_bench::campaign::engine::Engine;
use gbrain_bench::campaign::serve::{Load, serve};

fn bears(engine: Engine) {
    let program = env!("CARGO_BIN_EXE_gbrain").into();
    let (time, crowds) = (Duration::from_secs(6), Duration::from_secs(2));
    let report = serve(&Load { program, engine, time, crowds, seed: 7, pages: 60 }).unwrap();
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
    assert!(report.questions > 0 && report.acknowledged > 0, "{report:?}");
    assert!(report.captures > 0 && report.aftermath.jobs > 0, "{report:?}");
}

#[test]
fn a_server_bears_mixed_load_on_sqlite() {
    bears(Engine::Sqlite);
}

#[test]
fn a_server_bears_mixed_load_on_postgres() {
    bears(Engine::Postgres);
}
