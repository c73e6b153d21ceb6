//! The short form of `cargo xtask campaign lies`.

use clap::ValueEnum as _;
use gbrain_bench::campaign::lies::case::Class;
use gbrain_bench::campaign::lies::{LiesPlan, survey};
use gbrain_testkit::engine::Engine;

use crate::support::setup;

#[test]
fn no_lie_is_green_and_what_is_true_is() {
    let plan = LiesPlan { class: None, name: None, per_class: Some(2), threads: 2 };
    let report = survey(&setup(Engine::Sqlite, 7), &plan).unwrap();
    assert_eq!(report.broken, Vec::<String>::new());
    assert_eq!(report.lies(), 2 * Class::value_variants().len());
    assert!(report.findings().is_empty(), "{:#?}", report.findings());
}
