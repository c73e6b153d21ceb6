//! The short form of `cargo xtask campaign faults`: each fault once, with fewer pages, clients and bytes. Times until
//! everything is right again are reported there, and limited here only by what counts as never.

use gbrain_bench::campaign::faults::{Fault, FaultPlan, FaultReport, Sizes, run_on_engine};
use gbrain_testkit::engine::Engine;

use crate::support::setup;

fn try_faults(engine: Engine, faults: &[Fault]) -> FaultReport {
    let plan = FaultPlan { faults: faults.to_vec(), rounds: 1, sizes: Sizes::SHORT };
    let report = run_on_engine(&setup(engine, 11), &plan).unwrap();
    assert_eq!(report.findings(), Vec::<String>::new());
    let expected = faults.iter().filter(|fault| fault.applies_to(engine)).count();
    assert!(expected > 0 && report.rows.len() == expected, "{report:#?}");
    for row in &report.rows {
        assert_eq!(row.rounds, 1, "{row:?}");
        assert!(row.acknowledged > Sizes::SHORT.pages && row.compared > 0, "{row:?}");
    }
    report
}

#[test]
fn signals_on_sqlite() {
    try_faults(Engine::Sqlite, &[Fault::Kill, Fault::Stop]);
}

#[test]
fn signals_on_postgres() {
    try_faults(Engine::Postgres, &[Fault::Kill, Fault::Stop]);
}

#[test]
fn a_full_disk_and_read_only_files_on_sqlite() {
    try_faults(Engine::Sqlite, &[Fault::FullDisk, Fault::ReadOnlyFiles]);
}

#[test]
fn a_full_disk_and_read_only_files_on_postgres() {
    try_faults(Engine::Postgres, &[Fault::FullDisk, Fault::ReadOnlyFiles]);
}

const DAMAGED: [Fault; 3] = [Fault::FlippedFile, Fault::TruncatedFile, Fault::DeletedFile];

#[test]
fn damaged_files_under_a_server_on_sqlite() {
    try_faults(Engine::Sqlite, &DAMAGED);
}

#[test]
fn damaged_files_under_a_server_on_postgres() {
    try_faults(Engine::Postgres, &DAMAGED);
}

#[test]
fn a_database_that_is_moved_or_damaged_on_sqlite() {
    try_faults(Engine::Sqlite, &[Fault::MovedDatabase, Fault::FlippedDatabase]);
}

#[test]
fn postgres_restarted_paused_and_full() {
    let faults = [Fault::RestartedPostgres, Fault::PausedPostgres, Fault::PostgresConnectionLimit];
    try_faults(Engine::Postgres, &faults);
}

#[test]
fn wrong_clocks_on_sqlite() {
    try_faults(Engine::Sqlite, &[Fault::ClockAhead, Fault::ClockBehind]);
}

#[test]
fn wrong_clocks_on_postgres() {
    try_faults(Engine::Postgres, &[Fault::ClockAhead, Fault::ClockBehind]);
}

const CLIENTS: [Fault; 4] =
    [Fault::HalfOpenClients, Fault::SlowClients, Fault::HostileBodies, Fault::MemoryLimit];

fn try_clients(engine: Engine) {
    let report = try_faults(engine, &CLIENTS);
    let health = report.rows.iter().filter_map(|row| row.health).collect::<Vec<_>>();
    assert_eq!(health.len(), 2, "{report:#?}");
    assert!(health.iter().all(|health| health.samples > 0 && health.failures == 0), "{health:?}");
}

#[test]
fn hostile_clients_on_sqlite() {
    try_clients(Engine::Sqlite);
}

#[test]
fn hostile_clients_on_postgres() {
    try_clients(Engine::Postgres);
}
