//! The short form of `cargo xtask campaign lies`.

use gbrain_bench::campaign::lies::case::Class;
use gbrain_bench::campaign::lies::{Survey, survey};

#[test]
fn no_lie_is_green_and_what_is_true_is() {
    let program = env!("CARGO_BIN_EXE_gbrain").into();
    let report = survey(&Survey {
        program,
        seed: 7,
        class: None,
        name: None,
        per_class: Some(2),
        threads: 2,
    })
    .unwrap();
    assert_eq!(report.broken, Vec::<String>::new());
    assert_eq!(report.lies(), 2 * Class::ALL.len());
    assert!(report.findings().is_empty(), "{:#?}", report.findings());
}
