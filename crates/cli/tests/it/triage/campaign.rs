//! The short form of `cargo xtask campaign triage`.

use gbrain_bench::campaign::triage::{Survey, survey};

#[test]
fn planted_faults_are_called_what_they_are() {
    let program = env!("CARGO_BIN_EXE_gbrain").into();
    let report = survey(&Survey { program, variants: 3, seed: 7, only: None, threads: 2 }).unwrap();
    assert_eq!((report.outcomes.len(), &report.violations[..]), (15, &[][..]));
    for outcome in &report.outcomes {
        assert!(outcome.green.is_none(), "{outcome:?}");
        assert!(outcome.is_right(), "{outcome:#?}");
    }
}
