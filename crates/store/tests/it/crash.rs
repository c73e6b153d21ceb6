//! Killed between and inside transactions: batches are atomic, and acknowledged ones are durable.

use std::time::Duration;

use crate::child::{Role, report_line, spawn};
use crate::database::Database;
use crate::fixture::*;

on_both_engines! { a_killed_writer_loses_nothing_acknowledged }

fn a_killed_writer_loses_nothing_acknowledged(db: &Database) {
    let mut start = 0;
    for round in 0..6 {
        let acknowledged = write_and_kill(db, start, Duration::from_millis(7 * round));
        // PostgreSQL may still be processing the killed client's last statements: taking the lock
        // waits.
        let store = db.open();
        store.config_set(&ws(), "round", &round.to_string()).unwrap();
        let head = store.head(&ws()).unwrap();
        assert_eq!(head.pages % 50, 0, "a batch is whole");
        assert!(head.pages >= 50 * acknowledged as u64, "{} {acknowledged}", head.pages);
        assert_sound(&store);
        start = head.pages as usize / 50;
    }
    assert!(start > 0);
}

/// Lets a child write until it has reported two batches, then a little longer; returns the last
/// reported one.
fn write_and_kill(db: &Database, start: usize, longer: Duration) -> usize {
    let mut child = spawn(&db.location(), Role::WriteForever { start });
    let mut lines = child.lines();
    let mut told = || {
        let mut reports = lines.by_ref().map_while(Result::ok);
        reports.find_map(|line| report_line(&line).map(|n| n.parse::<usize>().unwrap()))
    };
    let mut last = 0;
    for _ in 0..2 {
        last = told().unwrap_or(last);
    }
    std::thread::sleep(longer);
    child.kill();
    while let Some(batch) = told() {
        last = batch;
    }
    last
}
