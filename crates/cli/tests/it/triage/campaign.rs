//! The short form of `cargo xtask campaign triage`.

use gbrain_bench::campaign::triage::{TriagePlan, survey};
use gbrain_testkit::engine::Engine;

use crate::support::setup;

#[test]
fn planted_faults_are_called_what_they_are() {
    let plan = TriagePlan { variants: 3, kind: None, threads: 2 };
    let report = survey(&setup(Engine::Sqlite, 7), &plan).unwrap();
    assert_eq!((report.outcomes.len(), &report.violations[..]), (15, &[][..]));
    for outcome in &report.outcomes {
        assert!(outcome.green.is_none(), "{outcome:?}");
        assert!(outcome.is_right(), "{outcome:#?}");
    }
}
