//! Jobs that run suites. The run is recorded in the transaction that ends the job, under the lease:
//! a due run has one result, however many attempts it took.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::SystemTime;

use gbrain_core::clock::moment;
use gbrain_core::fault::Fault;
use gbrain_core::suite::report::InconclusiveReason;
use gbrain_core::suite::{Suite, SuiteRun};
use gbrain_eval::suite::{
    SuiteJob, SuiteRunner, not_run, placeholder_suite, record_job, registered,
};
use jiff::Timestamp;

use super::measure::MeasuredRun;
use super::worker::{JobOutput, RunningJob, is_temporary};
use crate::workspace_registry::SuiteTools;

/// Runs a suite. A suite that cannot run gives a run with the reason, which is recorded too.
pub(super) fn run(running: &RunningJob<'_>) -> Result<JobOutput, Fault> {
    let order: SuiteJob = running.spec()?;
    let began = SystemTime::now();
    let suite_run = run_order(running, &order)?;
    if running.control.is_stopped() {
        return Err(Fault::cancelled("the run was stopped"));
    }
    let measured = MeasuredRun::of_suite(suite_run.asked, suite_run.verdict, began);
    Ok(JobOutput {
        result: String::new(),
        measured: Some(measured),
        suite: Some(Box::new(suite_run)),
    })
}

fn run_order(running: &RunningJob<'_>, order: &SuiteJob) -> Result<SuiteRun, Fault> {
    let store = running.registry.store();
    let workspace = running.workspace();
    let not_begun = |suite: &Suite, why: &str| {
        let now = store.clock()?;
        Ok(not_run(suite, workspace, order.trigger(), (InconclusiveReason::Broken, why), now))
    };
    let Some(stored) = store.suite(workspace, &order.suite)? else {
        return not_begun(&placeholder_suite(&order.suite), "the suite no longer exists");
    };
    let suite = match registered(&stored) {
        Ok(suite) => suite,
        Err(error) => return not_begun(&placeholder_suite(&order.suite), &error.to_string()),
    };
    let info = &running.job.info;
    if info.attempt >= info.max_attempts {
        let times = info.attempt - 1;
        return not_begun(
            &suite,
            &format!("the run was started {times} times, and its process died each time"),
        );
    }
    // A permanent error or a panic is recorded as a run with that reason.
    match catch_unwind(AssertUnwindSafe(|| run_suite(running, &suite, order))) {
        Ok(Err(fault)) if !is_temporary(&fault) && !running.control.is_stopped() => {
            not_begun(&suite, &fault.message)
        }
        Ok(run) => run,
        Err(_) => not_begun(&suite, "the run panicked"),
    }
}

fn run_suite(running: &RunningJob<'_>, suite: &Suite, order: &SuiteJob) -> Result<SuiteRun, Fault> {
    let (registry, workspace, stop) =
        (running.registry, running.workspace(), running.control.flag());
    let SuiteTools { targets, scrubber, identity: _, catalog, alerts: _ } = registry.suites();
    let service = registry.query_service(workspace)?;
    let config = service.brain().config()?;
    let assistants = registry.assistants(workspace, &config);
    let progress =
        |done: usize, total: usize| running.control.set_progress(done as u64, total as u64);
    let clock = || moment(SystemTime::now());
    let runner =
        SuiteRunner::new(service.brain(), catalog, targets, scrubber, stop, &progress, clock)?;
    let runner = SuiteRunner { assistants: assistants.as_deref(), ..runner };
    running.control.set_note("asking");
    Ok(runner.run(suite, order)?)
}

/// Records the run and ends the job; false if the lease was lost.
pub(super) fn recorded(
    running: &RunningJob<'_>,
    run: &SuiteRun,
    now: Timestamp,
) -> Result<bool, Fault> {
    let (store, job) = (running.registry.store(), running.job.info.id);
    let number = record_job(store, running.workspace(), (job, &running.lease), run, now)?;
    if number.is_some() {
        // Channels are notified without waiting for the next scheduled evaluation.
        running.registry.suites().alerts.evaluate(store, running.workspace(), now);
    }
    Ok(number.is_some())
}
