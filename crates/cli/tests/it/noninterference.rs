//! The short form of `cargo xtask campaign noninterference`.

use gbrain_bench::campaign::noninterference::{Interface, NoninterferencePlan, compare};
use gbrain_testkit::engine::Engine;

use crate::support::setup;

fn private_pages_change_no_answer(engine: Engine) {
    let plan = NoninterferencePlan { requests: 400, pages: 30 };
    let report = compare(&setup(engine, 11), &plan).unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
    assert_eq!(report.never, Vec::<String>::new());
    for interface in [Interface::Http, Interface::McpHttp, Interface::McpStdio, Interface::Commands]
    {
        assert!(report.through(interface) > 0, "{interface:?}: {report:#?}");
    }
    for operation in ["query", "search", "get_page", "put_page", "tool query", "gbrain search"] {
        assert!(report.operations[operation].succeeded > 0, "{operation}: {report:#?}");
    }
}

#[test]
fn private_pages_change_no_answer_on_sqlite() {
    private_pages_change_no_answer(Engine::Sqlite);
}

#[test]
fn private_pages_change_no_answer_on_postgres() {
    private_pages_change_no_answer(Engine::Postgres);
}
