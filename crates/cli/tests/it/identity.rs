//! The short form of `cargo xtask bench identity`: one corpus, one answer, whatever the way.

use gbrain_bench::campaign::identity::{Comparison, Route, Way, compare, demo, questions};
use gbrain_testkit::engine::Engine::{Postgres, Sqlite};

#[test]
fn the_same_corpus_gives_the_same_bytes() {
    let corpus = demo().unwrap();
    let questions = questions(&corpus, 40, 3);
    let way = |engine, threads, route| Way { engine, threads, route };
    let ways = [
        way(Sqlite, 1, Route::Whole),
        way(Sqlite, 8, Route::History(60)),
        way(Postgres, 2, Route::Pieces(3)),
    ];
    let binary = Some((env!("CARGO_BIN_EXE_gbrain").into(), 8));
    let comparison =
        Comparison { corpus: &corpus, questions: &questions, ways: &ways, binary, seed: 3 };
    let report = compare(&comparison, &|_| ()).unwrap();
    assert!(report.differences.is_empty(), "{:#?}", report.differences);
    assert!(report.compared > 300 && report.hits > 50, "{report:?}");
}
