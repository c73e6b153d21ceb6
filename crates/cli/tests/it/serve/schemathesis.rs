//! The short form of `cargo xtask campaign api`: a fuzzer that we did not write reads our document.

use gbrain_bench::campaign::api::{ApiPlan, run_on_engine};
use gbrain_testkit::engine::Engine;

use crate::support::setup;

fn keeps_its_word(engine: Engine, phases: &'static str, examples: usize) {
    let report = run_on_engine(&setup(engine, 5), &ApiPlan { phases, examples }).unwrap();
    assert!(report.violations.is_empty(), "{}", report.violations.join("\n"));
    assert!(report.operations >= 42 && report.requests > 100, "{report:?}");
}

#[test]
fn the_api_matches_its_openapi_document_on_sqlite() {
    keeps_its_word(Engine::Sqlite, "coverage", 1);
}

#[test]
fn the_api_matches_its_openapi_document_on_postgres() {
    keeps_its_word(Engine::Postgres, "fuzzing", 5);
}
