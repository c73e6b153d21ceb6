//! `gbrain autopilot`: runs what is due by itself.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use gbrain_core::format::probe::{AutopilotDuty, AutopilotPassBody};
use gbrain_core::id::WorkspaceId;
use gbrain_core::report::text;
use gbrain_eval::alert::{AlertEvaluator, DeliveryOutcome};
use gbrain_eval::autopilot::{ProbeTickResult, tick};
use gbrain_eval::retention::{PruneCounts, apply_retention};
use gbrain_eval::suite::{ScheduleResult, queue_due};
use gbrain_server::AlertTools;
use gbrain_store::{Store, StoreError};
use jiff::SignedDuration;

use crate::channels::deliver;
use crate::commands::CommandContext;
use crate::commands::eval::duration;
use crate::error::{CliError, Exit};
use crate::model_access::interrupted;
use crate::models::configured_embedder;
use crate::serving::{DEFAULT_INTERVAL, LoggingArgs, autopilot};

/// How long messages are sent at most, by one that looks once.
const SENDING: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    gbrain config set autopilot.nightly_quality_probe.enabled true\n  gbrain autopilot\n  \
    gbrain autopilot --once --json\n\n\
    Checks periodically for due work in all workspaces of the database and runs it, until it is \
    interrupted; a failure does not end it. Due suites are queued, and run by `gbrain serve` and \
    `gbrain worker`. Any number of autopilots, servers and workers may run: \
    each piece of work is done by one of them. With --once it checks once, as from cron.\n\n\
    Exit codes: 0 all due work passed, or none was due; 1 a measurement failed; 2 a measurement is \
    inconclusive. Without --once: 0 when terminated.")]
pub(crate) struct AutopilotArgs {
    /// Check once and exit.
    #[arg(long)]
    once: bool,
    /// How often to check for due work.
    #[arg(long, value_name = "DUR", default_value = DEFAULT_INTERVAL, value_parser = duration)]
    interval: SignedDuration,
    /// Lease timeout: seconds without a heartbeat before another process may take the work over.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..=3600))]
    lease: u16,
    #[command(flatten)]
    log: LoggingArgs,
}

/// Looks until the process is told to end.
pub(crate) fn run(context: &CommandContext<'_>, args: &AutopilotArgs) -> Result<Exit, CliError> {
    args.log.start(&context.home, context.terminal)?;
    let store: Arc<Store> = context.store()?.into();
    let lease = Duration::from_secs(args.lease.into());
    let autopilot =
        autopilot(context, store, configured_embedder(&context.home)?, lease, args.interval)?;
    if !args.once {
        context.terminal.remark("checking for due work; interrupt to stop");
        gbrain_server::run_scheduler(autopilot)?;
        return Ok(Exit::Pass);
    }
    let mut duties = Vec::new();
    let store = autopilot.probes.store.clone();
    queue_due(store.as_ref(), store.clock()?, &mut |workspace, scheduled| {
        duties.push(queued(workspace.as_str().to_owned(), scheduled));
    })?;
    waiting(store.as_ref(), &mut duties)?;
    told(&autopilot.alerts, store.as_ref(), &mut duties)?;
    apply_retention(store.as_ref(), store.clock()?, &mut |workspace, pruned| {
        duties.extend(kept(workspace.as_str().to_owned(), pruned));
    })?;
    tick(&autopilot.probes, &interrupted(), &mut |workspace, tick_result| {
        duties.push(on_the_wire(workspace.as_str().to_owned(), tick_result));
    })?;
    let look = AutopilotPassBody::new(duties);
    if context.terminal.is_json() {
        context.terminal.json(&look);
    } else {
        context.terminal.report(text::autopilot(&look));
    }
    Ok(match look.exit_code() {
        0 => Exit::Pass,
        1 => Exit::Fail,
        _ => Exit::NoVerdict,
    })
}

/// Raises alerts, and sends what is due.
fn told(
    tools: &AlertTools,
    store: &Store,
    duties: &mut Vec<AutopilotDuty>,
) -> Result<(), CliError> {
    let duty = |workspace: &WorkspaceId, state: &str, error: Option<String>| AutopilotDuty {
        workspace: workspace.as_str().to_owned(),
        duty: "alerts".to_owned(),
        state: state.to_owned(),
        report: None,
        error,
    };
    let evaluator = AlertEvaluator { store, registry: &tools.registry, settings: &tools.settings };
    evaluator.evaluate_all(store.clock()?, &mut |workspace, looked| match looked {
        Ok(raised) if raised.problems.is_empty() => (),
        Ok(raised) => duties.push(duty(workspace, "broken", Some(raised.problems.join("; ")))),
        Err(error) => duties.push(duty(workspace, "broken", Some(error.to_string()))),
    })?;
    let tried = Mutex::new(Vec::new());
    deliver(tools, store, SENDING, &interrupted(), &|delivery, outcome| {
        let (state, error) = match outcome {
            DeliveryOutcome::Sent => ("notified", None),
            DeliveryOutcome::Later(why) => ("queued", Some(why.clone())),
            DeliveryOutcome::Dead(why) => ("broken", Some(why.clone())),
        };
        let name = format!("alerts:{}", delivery.channel);
        let duty = AutopilotDuty { duty: name, ..duty(&delivery.workspace, state, error) };
        tried.lock().unwrap_or_else(PoisonError::into_inner).push(duty);
    })?;
    duties.extend(grouped(tried.into_inner().unwrap_or_else(PoisonError::into_inner)));
    Ok(())
}

/// Messages that wait or were given up for the same reason are one line of their channel.
fn grouped(tried: Vec<AutopilotDuty>) -> Vec<AutopilotDuty> {
    let mut groups: Vec<(AutopilotDuty, usize)> = Vec::new();
    for duty in tried {
        match groups.iter_mut().find(|(one, _)| *one == duty && duty.error.is_some()) {
            Some((_, count)) => *count += 1,
            None => groups.push((duty, 1)),
        }
    }
    let told = |(duty, count): (AutopilotDuty, usize)| match duty.error {
        Some(why) if count > 1 => {
            AutopilotDuty { error: Some(format!("{count} messages: {why}")), ..duty }
        }
        _ => duty,
    };
    groups.into_iter().map(told).collect()
}

/// Suites that are on and were not due.
fn waiting(store: &Store, duties: &mut Vec<AutopilotDuty>) -> Result<(), CliError> {
    for workspace in store.workspaces()? {
        for suite in store.suites(&workspace.id)?.into_iter().filter(|one| one.enabled) {
            let (workspace, duty) = (workspace.id.to_string(), format!("suite:{}", suite.name));
            let is_told = |one: &AutopilotDuty| one.workspace == workspace && one.duty == duty;
            if !duties.iter().any(is_told) {
                let state = "not_due".to_owned();
                duties.push(AutopilotDuty { workspace, duty, state, report: None, error: None });
            }
        }
    }
    Ok(())
}

/// Describes the pruned rows; none if nothing was pruned.
fn kept(workspace: String, pruned: Result<PruneCounts, StoreError>) -> Option<AutopilotDuty> {
    let (state, error) = match pruned {
        Ok(pruned) if pruned == PruneCounts::default() => return None,
        Ok(_) => ("erased", None),
        Err(error) => ("broken", Some(error.to_string())),
    };
    let (duty, state) = ("retention".to_owned(), state.to_owned());
    Some(AutopilotDuty { workspace, duty, state, report: None, error })
}

fn queued(workspace: String, scheduled: ScheduleResult) -> AutopilotDuty {
    let (suite, state, error) = match scheduled {
        ScheduleResult::Fired { suite, .. } => (suite, "queued", None),
        ScheduleResult::Broken { suite, why } => (suite, "broken", Some(why)),
    };
    let (duty, state) = (format!("suite:{suite}"), state.to_owned());
    AutopilotDuty { workspace, duty, state, report: None, error }
}

fn on_the_wire(workspace: String, tick_result: ProbeTickResult) -> AutopilotDuty {
    let (state, report, error) = match tick_result {
        ProbeTickResult::Ran(result) => ("ran", Some(result.report), None),
        ProbeTickResult::NotDue => ("not_due", None, None),
        ProbeTickResult::Stopped => ("stopped", None, None),
        ProbeTickResult::Broken(error) => ("broken", None, Some(error)),
    };
    AutopilotDuty {
        workspace,
        duty: gbrain_eval::probe::KIND.to_owned(),
        state: state.to_owned(),
        report,
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_wait_for_one_reason_are_one_line() {
        let duty = |channel: &str, state: &str, error: Option<&str>| AutopilotDuty {
            workspace: "default".to_owned(),
            duty: format!("alerts:{channel}"),
            state: state.to_owned(),
            report: None,
            error: error.map(str::to_owned),
        };
        let unset = Some("the variable CHAT is not set");
        let tried = vec![
            duty("chat", "queued", unset),
            duty("hook", "notified", None),
            duty("chat", "queued", unset),
            duty("hook", "notified", None),
            duty("chat", "queued", Some("status 500")),
        ];
        let found = grouped(tried);
        let expected = vec![
            duty("chat", "queued", Some("2 messages: the variable CHAT is not set")),
            duty("hook", "notified", None),
            duty("hook", "notified", None),
            duty("chat", "queued", Some("status 500")),
        ];
        assert_eq!(found, expected);
    }
}
