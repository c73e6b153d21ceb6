//! The short form of `cargo xtask campaign purge`, and what the command prints.

use gbrain_bench::campaign::engine::Engine;
use gbrain_bench::campaign::purge::{PurgeHunt, hunt};

#[test]
fn exactly_the_traces_of_a_purged_page_are_gone() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let report = hunt(&PurgeHunt {
            program: env!("CARGO_BIN_EXE_gbrain").into(),
            engine,
            purges: 6,
            per_brain: 6,
            kill_every: 3,
            seed: 11,
        })
        .unwrap();
        assert_eq!(report.violations, Vec::<String>::new(), "{}", engine.name());
        assert_eq!(report.purges, 6);
        assert!(report.changed > 20 && report.same > 1_000, "{report:?}");
    }
}
