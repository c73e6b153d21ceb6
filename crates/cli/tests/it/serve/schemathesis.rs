//! The short form of `cargo xtask campaign api`: a fuzzer that we did not write reads our document.

use gbrain_bench::campaign::api::{Hunt, hunt};
use gbrain_testkit::engine::Engine;

fn keeps_its_word(engine: Engine, phases: &'static str, examples: usize) {
    let program = env!("CARGO_BIN_EXE_gbrain").into();
    let report = hunt(&Hunt { program, engine, phases, examples, seed: 5 }).unwrap();
    assert!(report.violations.is_empty(), "{}", report.violations.join("\n"));
    assert!(report.operations >= 42 && report.requests > 100, "{report:?}");
}

#[test]
fn the_document_is_kept_on_sqlite() {
    keeps_its_word(Engine::Sqlite, "coverage", 1);
}

#[test]
fn the_document_is_kept_on_postgres() {
    keeps_its_word(Engine::Postgres, "fuzzing", 5);
}
