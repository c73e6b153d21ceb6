//! `gbrain autopilot`: runs what is due by itself.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use gbrain_core::format::probe::{AutopilotDuty, AutopilotLook};
use gbrain_core::id::WorkspaceId;
use gbrain_core::report::text;
use gbrain_eval::alert::{AlertEvaluator, DeliveryOutcome};
use gbrain_eval::autopilot::{Tended, tick};
use gbrain_eval::keep::{LetGo, let_go};
use gbrain_eval::suite::{Scheduled, queue_due};
use gbrain_server::AlertTools;
use gbrain_store::{Store, StoreError};
use jiff::SignedDuration;

use crate::asking::interrupted;
use crate::channels::deliver;
use crate::commands::Context;
use crate::commands::eval::duration;
use crate::error::{CliError, Exit};
use crate::models::models;
use crate::serving::{LOOK, LogArgs, autopilot};

/// How long messages are sent at most, by one that looks once.
const SENDING: Duration = Duration::from_secs(60);

/// Arguments of `autopilot`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    gbrain config set autopilot.nightly_quality_probe.enabled true\n  gbrain autopilot\n  \
    gbrain autopilot --once --json\n\n\
    Looks now and then what is due in all workspaces of the database, and runs it, until it is \
    interrupted; nothing that fails ends it. Suites that are due are queued, and run by `gbrain serve` and \
    `gbrain worker`. Any number of autopilots, servers and workers may look: \
    each thing is done by one of them. With --once it looks once, as from cron.\n\n\
    Exit codes: 0 what was due passed, or nothing was; 1 something was measured and found wrong; 2 \
    something has no verdict. Without --once: 0 when it was told to end.")]
pub(crate) struct AutopilotArgs {
    /// Look once, and end.
    #[arg(long)]
    once: bool,
    /// How often to look.
    #[arg(long, value_name = "DUR", default_value = LOOK, value_parser = duration)]
    interval: SignedDuration,
    /// How many seconds without a sign of life until another process goes on with what was begun.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..=3600))]
    lease: u16,
    #[command(flatten)]
    log: LogArgs,
}

/// Looks until the process is told to end.
pub(crate) fn run(context: &Context<'_>, args: &AutopilotArgs) -> Result<Exit, CliError> {
    args.log.start(&context.home, context.terminal)?;
    let store: Arc<Store> = context.store()?.into();
    let lease = Duration::from_secs(args.lease.into());
    let autopilot = autopilot(context, store, models(&context.home)?, lease, args.interval)?;
    if !args.once {
        context.terminal.remark("looking what is due; interrupt to stop");
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
    let_go(store.as_ref(), store.clock()?, &mut |workspace, gone| {
        duties.extend(kept(workspace.as_str().to_owned(), gone));
    })?;
    tick(&autopilot.probes, &interrupted(), &mut |workspace, tended| {
        duties.push(on_the_wire(workspace.as_str().to_owned(), tended));
    })?;
    let look = AutopilotLook::new(duties);
    if context.terminal.is_json() {
        context.terminal.json(&look);
    } else {
        context.terminal.out(text::autopilot(&look));
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
            DeliveryOutcome::Sent => ("told", None),
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

/// What was let go; nothing where there was nothing.
fn kept(workspace: String, gone: Result<LetGo, StoreError>) -> Option<AutopilotDuty> {
    let (state, error) = match gone {
        Ok(gone) if gone == LetGo::default() => return None,
        Ok(_) => ("erased", None),
        Err(error) => ("broken", Some(error.to_string())),
    };
    let (duty, state) = ("retention".to_owned(), state.to_owned());
    Some(AutopilotDuty { workspace, duty, state, report: None, error })
}

fn queued(workspace: String, scheduled: Scheduled) -> AutopilotDuty {
    let (suite, state, error) = match scheduled {
        Scheduled::Fired { suite, .. } => (suite, "queued", None),
        Scheduled::Broken { suite, why } => (suite, "broken", Some(why)),
    };
    let (duty, state) = (format!("suite:{suite}"), state.to_owned());
    AutopilotDuty { workspace, duty, state, report: None, error }
}

fn on_the_wire(workspace: String, tended: Tended) -> AutopilotDuty {
    let (state, report, error) = match tended {
        Tended::Probed(probed) => ("ran", Some(probed.report), None),
        Tended::NotDue => ("not_due", None, None),
        Tended::Stopped => ("stopped", None, None),
        Tended::Broken(error) => ("broken", None, Some(error)),
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
            duty("hook", "told", None),
            duty("chat", "queued", unset),
            duty("hook", "told", None),
            duty("chat", "queued", Some("status 500")),
        ];
        let found = grouped(tried);
        let expected = vec![
            duty("chat", "queued", Some("2 messages: the variable CHAT is not set")),
            duty("hook", "told", None),
            duty("hook", "told", None),
            duty("chat", "queued", Some("status 500")),
        ];
        assert_eq!(found, expected);
    }
}
