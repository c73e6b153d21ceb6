//! Jobs that run suites. The run is recorded with the job's end, in one transaction and under the lease:
//! a due run has one result, whoever began it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::SystemTime;

use gbrain_core::clock::moment;
use gbrain_core::fault::Fault;
use gbrain_core::suite::report::Reason;
use gbrain_core::suite::{Suite, SuiteRun};
use gbrain_eval::suite::{SuiteJob, SuiteRunner, not_run, record_job, registered, stand_in};
use jiff::Timestamp;

use super::measure::Measured;
use super::worker::{Done, Held, is_passing};
use crate::house::SuiteTools;

/// Runs a suite. Whatever keeps it from running is recorded as a run with that reason.
pub(super) fn run(held: &Held<'_>) -> Result<Done, Fault> {
    let order: SuiteJob = held.spec()?;
    let began = SystemTime::now();
    let body = made(held, &order)?;
    if held.going.is_halted() {
        return Err(Fault::cancelled("the run was stopped"));
    }
    let measured = Measured::of_suite(body.asked, body.verdict, began);
    Ok(Done { result: String::new(), measured: Some(measured), suite: Some(Box::new(body)) })
}

fn made(held: &Held<'_>, order: &SuiteJob) -> Result<SuiteRun, Fault> {
    let store = held.house.store();
    let workspace = held.workspace();
    let unmade = |suite: &Suite, why: &str| {
        let now = store.clock()?;
        Ok(not_run(suite, workspace, order.trigger(), (Reason::Broken, why), now))
    };
    let Some(stored) = store.suite(workspace, &order.suite)? else {
        return unmade(&stand_in(&order.suite), "the suite is not there any more");
    };
    let suite = match registered(&stored) {
        Ok(suite) => suite,
        Err(error) => return unmade(&stand_in(&order.suite), &error.to_string()),
    };
    let info = &held.job.info;
    if info.attempt >= info.max_attempts {
        let times = info.attempt - 1;
        return unmade(
            &suite,
            &format!("it was begun {times} times, and its process died each time"),
        );
    }
    // What another attempt would meet too is told as a run, and so is what nobody thought of.
    match catch_unwind(AssertUnwindSafe(|| conducted(held, &suite, order))) {
        Ok(Err(fault)) if !is_passing(&fault) && !held.going.is_halted() => {
            unmade(&suite, &fault.message)
        }
        Ok(made) => made,
        Err(_) => unmade(&suite, "the run ended in a panic"),
    }
}

fn conducted(held: &Held<'_>, suite: &Suite, order: &SuiteJob) -> Result<SuiteRun, Fault> {
    let (house, workspace, stop) = (held.house, held.workspace(), held.going.flag());
    let SuiteTools { targets, scrubber, identity: _, desk, alerts: _ } = house.suites();
    let door = house.door(workspace)?;
    let config = door.brain().config()?;
    let assistants = house.assistants(workspace, &config);
    let progress = |done: usize, total: usize| held.going.at(done as u64, total as u64);
    let clock = || moment(SystemTime::now());
    let runner = SuiteRunner::new(door.brain(), desk, targets, scrubber, stop, &progress, clock)?;
    let runner = SuiteRunner { assistants: assistants.as_deref(), ..runner };
    held.going.say("asking");
    Ok(runner.run(suite, order)?)
}

/// Records the run and ends the job; false for a worker that lost it.
pub(super) fn recorded(held: &Held<'_>, run: &SuiteRun, now: Timestamp) -> Result<bool, Fault> {
    let (store, job) = (held.house.store(), held.job.info.id);
    let number = record_job(store, held.workspace(), (job, &held.lease), run, now)?;
    if number.is_some() {
        // Whoever is to be told does not wait for the next look.
        held.house.suites().alerts.evaluate(store, held.workspace(), now);
    }
    Ok(number.is_some())
}
