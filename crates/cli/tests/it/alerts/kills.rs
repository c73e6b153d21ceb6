//! The short form of `cargo xtask campaign alerts`.

use std::time::Duration;

use gbrain_bench::campaign::alerts::{AlertsPlan, run_on_engine};
use gbrain_testkit::engine::Engine;

use crate::support::setup;

fn check(engine: Engine, kills: usize) {
    let (alerts, down) = (200, Duration::from_secs(2));
    let report = run_on_engine(&setup(engine, 5), &AlertsPlan { kills, alerts, down }).unwrap();
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
    assert_eq!(report.arrived, alerts, "{report:?}");
    assert!(report.turned_away > 0, "{report:?}");
    // How many of them is a matter of how fast this machine is.
    assert!((kills.min(1)..=kills).contains(&report.kills), "{report:?}");
}

#[test]
fn messages_survive_killed_senders_on_sqlite() {
    check(Engine::Sqlite, 4);
}

#[test]
fn messages_survive_killed_senders_on_postgres() {
    check(Engine::Postgres, 4);
}

#[test]
fn messages_arrive_once_without_kills_on_sqlite() {
    check(Engine::Sqlite, 0);
}

#[test]
fn messages_arrive_once_without_kills_on_postgres() {
    check(Engine::Postgres, 0);
}
