//! Jobs that run suites. The run is recorded with the end of the job, in one transaction and under the lease: a due run
//! has one result, however often it was begun.

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

/// Runs a suite. A suite that can't run gives a run with the reason, which is recorded too.
pub(super) fn run(held: &Held<'_>) -> Result<Done, Fault> {
    let order: SuiteJob = held.spec()?;
    let began = SystemTime::now();
    let suite_run = run_order(held, &order)?;
    if held.going.is_halted() {
        return Err(Fault::cancelled("the run was stopped"));
    }
    let measured = Measured::of_suite(suite_run.asked, suite_run.verdict, began);
    Ok(Done { result: String::new(), measured: Some(measured), suite: Some(Box::new(suite_run)) })
}

fn run_order(held: &Held<'_>, order: &SuiteJob) -> Result<SuiteRun, Fault> {
    let store = held.house.store();
    let workspace = held.workspace();
    let not_begun = |suite: &Suite, why: &str| {
        let now = store.clock()?;
        Ok(not_run(suite, workspace, order.trigger(), (Reason::Broken, why), now))
    };
    let Some(stored) = store.suite(workspace, &order.suite)? else {
        return not_begun(&stand_in(&order.suite), "the suite is not there any more");
    };
    let suite = match registered(&stored) {
        Ok(suite) => suite,
        Err(error) => return not_begun(&stand_in(&order.suite), &error.to_string()),
    };
    let info = &held.job.info;
    if info.attempt >= info.max_attempts {
        let times = info.attempt - 1;
        return not_begun(
            &suite,
            &format!("it was begun {times} times, and its process died each time"),
        );
    }
    // An error that another attempt would meet too is a run with that reason, and so is a panic.
    match catch_unwind(AssertUnwindSafe(|| run_suite(held, &suite, order))) {
        Ok(Err(fault)) if !is_passing(&fault) && !held.going.is_halted() => {
            not_begun(&suite, &fault.message)
        }
        Ok(run) => run,
        Err(_) => not_begun(&suite, "the run ended in a panic"),
    }
}

fn run_suite(held: &Held<'_>, suite: &Suite, order: &SuiteJob) -> Result<SuiteRun, Fault> {
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
        // Channels are notified without waiting for the next scheduled evaluation.
        held.house.suites().alerts.evaluate(store, held.workspace(), now);
    }
    Ok(number.is_some())
}
