//! Many runs at once: the short form of `cargo xtask campaign kick`.

use gbrain_bench::campaign::kick::{Plan, run_on_engine};

#[test]
fn parallel_runs_leave_whole_rows() {
    let plan = Plan {
        kick: env!("CARGO_BIN_EXE_kick").into(),
        parallel: 16,
        each: 8,
        kills: false,
        seed: 1,
    };
    let found = run_on_engine(&plan).unwrap();
    assert_eq!((found.rows, found.records, found.broken), (128, 128, 0));
    assert_eq!(found.failures, Vec::<String>::new());
}

#[test]
fn killed_runs_leave_a_row_or_none() {
    let plan = Plan {
        kick: env!("CARGO_BIN_EXE_kick").into(),
        parallel: 8,
        each: 12,
        kills: true,
        seed: 2,
    };
    let found = run_on_engine(&plan).unwrap();
    assert_eq!((found.broken, found.failures.clone()), (0, Vec::new()));
    assert!(found.killed + found.interrupted > 0, "{found:?}");
    assert!(found.rows >= 96 - found.killed && found.rows <= 96, "{found:?}");
}
