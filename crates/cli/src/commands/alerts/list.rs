//! `gbrain alerts list`, `show` and `history`.

use std::collections::BTreeMap;

use clap::Args;
use gbrain_core::alert::Alert;
use gbrain_core::format::alert::{
    AlertWithDeliveries, AlertsBody, DeliveriesBody, DeliveryBody, SilenceBody,
};
use gbrain_eval::alert::wire;
use gbrain_store::{AlertStatus, Delivery, DeliveryFilter, DeliveryState, Store};

use super::other_workspace_hint;
use crate::channels::alert_tools;
use crate::commands::CommandContext;
use crate::commands::suites::SuiteSource;
use crate::error::{CliError, Exit};
use crate::terminal::{count, field, local_time, local_time_of, table};

/// Messages that are looked through for what keeps them.
const LOOKED_AT: usize = 1_000;
/// Messages of an alert that are shown.
const SHOWN: usize = 20;

#[derive(Debug, Args)]
pub(super) struct AlertListArgs {
    /// List resolved alerts too.
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain alerts show gbrain/default/weekly/recall@5/all")]
pub(super) struct AlertShowArgs {
    /// Its key, as `gbrain alerts list` shows it.
    key: String,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain alerts history --state dead\n  gbrain alerts history --channel pagerduty"
)]
pub(super) struct AlertHistoryArgs {
    /// Of this alert only.
    key: Option<String>,
    /// At most so many.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// queued, sent or dead only.
    #[arg(long, value_name = "STATE")]
    state: Option<DeliveryState>,
    /// To this channel only.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Messages with lower numbers than this.
    #[arg(long, value_name = "ID")]
    before: Option<i64>,
}

pub(super) fn list(
    context: &CommandContext<'_>,
    args: &AlertListArgs,
    source: &SuiteSource,
) -> Result<Exit, CliError> {
    let store = context.store()?;
    let state = (!args.all).then_some(AlertStatus::Firing);
    let workspace = &context.home.workspace;
    let body = wire::alerts(&store, workspace, state, store.clock()?)?;
    if context.terminal.is_json() {
        context.terminal.json(&body);
        return Ok(Exit::Pass);
    }
    let AlertsBody { alerts, silences, deliveries } = &body;
    match alerts.is_empty() {
        true => context.terminal.remark("nothing fires"),
        false => {
            let head = ["STATE", "SEVERITY", "SINCE", "QUEUED", "KEY", "WHAT"];
            context.terminal.out_paged(table(&head, alerts.iter().map(row)));
        }
    }
    for (key, why) in alerts.iter().filter_map(|one| Some((&one.key, one.still_open.as_ref()?))) {
        context.terminal.line(format!("{key} stays open: {why}"));
    }
    for SilenceBody { id, key, reason, from: _, until } in silences {
        context
            .terminal
            .line(format!("silence {id}: {key} until {}: {reason}", local_time_of(until)));
    }
    if deliveries.queued + deliveries.dead > 0 {
        let oldest = deliveries.oldest_queued;
        let oldest = oldest
            .map(|since| format!(", the oldest since {}", local_time(since)))
            .unwrap_or_default();
        context.terminal.line(format!(
            "messages: {} queued{oldest}; {} given up (`gbrain alerts history --state dead`)",
            deliveries.queued, deliveries.dead
        ));
    }
    for problem in stuck(context, &store, source)? {
        context.terminal.warn(problem);
    }
    Ok(Exit::Pass)
}

/// A row of the table. It shows when the last message was queued; `alerts history` shows whether it was delivered.
fn row(alert: &Alert) -> Vec<String> {
    let queued = match (&alert.notified_at, alert.silenced) {
        (_, true) => "silenced".to_owned(),
        (Some(at), false) => local_time(*at),
        (None, false) => "none".to_owned(),
    };
    let Alert { state, severity, since, key, summary, .. } = alert;
    let since = local_time(*since);
    vec![state.to_string(), severity.to_string(), since, queued, key.clone(), summary.clone()]
}

/// The reasons why queued messages are not sent, by channel.
pub(crate) fn stuck(
    context: &CommandContext<'_>,
    store: &Store,
    source: &SuiteSource,
) -> Result<Vec<String>, CliError> {
    let tools = alert_tools(&context.home, source.clone())?;
    let channels = (tools.registry.read)();
    let queued = DeliveryFilter { state: Some(DeliveryState::Queued), ..DeliveryFilter::default() };
    let mut waiting: BTreeMap<String, Vec<Delivery>> = BTreeMap::new();
    for delivery in store.deliveries(&context.home.workspace, &queued, LOOKED_AT)? {
        waiting.entry(delivery.channel.clone()).or_default().push(delivery);
    }
    let why = |(name, messages): (&String, &Vec<Delivery>)| {
        let waiting = count(messages.len(), "message waits", "messages wait");
        let why = match channels.channel(name) {
            Err(why) => Some(why),
            Ok(channel) => match tools.registry.unset(channel).first() {
                Some(variable) => Some(format!("the variable {variable} is not set here")),
                None => messages.iter().find_map(|one| one.error.clone()),
            },
        };
        Some(format!("{waiting} for the channel `{name}`: {}", why?))
    };
    Ok(waiting.iter().filter_map(why).collect())
}

pub(super) fn show(context: &CommandContext<'_>, args: &AlertShowArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let workspace = &context.home.workspace;
    let all = wire::alerts(&store, workspace, None, store.clock()?)?.alerts;
    let alert = all.into_iter().find(|alert| alert.key == args.key).ok_or_else(|| {
        let hint = other_workspace_hint(context, &args.key);
        let hint =
            hint.unwrap_or_else(|| "`gbrain alerts list --all` shows those there are".to_owned());
        CliError::usage(format!("there is no alert `{}` in workspace {workspace}", args.key))
            .hint(hint)
    })?;
    let own = DeliveryFilter { dedup_key: Some(args.key.clone()), ..DeliveryFilter::default() };
    let deliveries = store.deliveries(workspace, &own, SHOWN)?;
    let shown =
        AlertWithDeliveries { alert, deliveries: deliveries.iter().map(wire::delivery).collect() };
    if context.terminal.is_json() {
        context.terminal.json(&shown);
        return Ok(Exit::Pass);
    }
    context.terminal.out(as_text(&shown.alert));
    tell_deliveries(context, &shown.deliveries);
    Ok(Exit::Pass)
}

fn as_text(alert: &Alert) -> String {
    let mut lines = vec![
        alert.summary.clone(),
        format!("{} since {}, {}", alert.state, local_time(alert.since), alert.severity),
        format!("owners {}", alert.owners.join(", ")),
    ];
    lines.extend(alert.still_open.iter().map(|why| format!("stays open: {why}")));
    lines.extend(alert.target.iter().map(|target| format!("against {target}")));
    lines.extend(alert.figures.iter().map(|(name, value)| format!("{name}: {}", short(value))));
    if alert.failing_count > 0 {
        lines.push(format!(
            "{}: {}",
            count(alert.failing_count, "failing case", "failing cases"),
            alert.failing.join(", ")
        ));
    }
    if let Some(run) = alert.run {
        lines.push(format!("`gbrain suites show {run}`"));
    }
    if alert.silenced {
        lines.push("silenced".to_owned());
    }
    lines.iter().map(|line| field(line) + "\n").collect()
}

/// A figure as a person reads it: a number has four decimals at most.
fn short(figure: &str) -> String {
    let decimals = figure.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    match figure.parse::<f64>() {
        Ok(number) if decimals > 4 => format!("{number:.4}"),
        _ => figure.to_owned(),
    }
}

pub(super) fn history(
    context: &CommandContext<'_>,
    args: &AlertHistoryArgs,
) -> Result<Exit, CliError> {
    let filter = DeliveryFilter {
        state: args.state,
        channel: args.channel.clone(),
        dedup_key: args.key.clone(),
        before: args.before,
    };
    let store = context.store()?;
    let found = store.deliveries(&context.home.workspace, &filter, usize::from(args.limit))?;
    let deliveries: Vec<DeliveryBody> = found.iter().map(wire::delivery).collect();
    if context.terminal.is_json() {
        context.terminal.json(&DeliveriesBody { deliveries });
    } else if deliveries.is_empty() {
        context.terminal.remark("there are no messages");
    } else {
        tell_deliveries(context, &deliveries);
    }
    Ok(Exit::Pass)
}

fn tell_deliveries(context: &CommandContext<'_>, deliveries: &[DeliveryBody]) {
    if deliveries.is_empty() {
        return;
    }
    let row = |one: &DeliveryBody| {
        let when = one.ended_at.as_deref().or(one.next_at.as_deref());
        let when = when.map(local_time_of).unwrap_or_default();
        let DeliveryBody { id, channel, key, action, state, attempts, error, .. } = one.clone();
        let error = error.unwrap_or_default();
        vec![id.to_string(), channel, action, state, attempts.to_string(), when, key, error]
    };
    let head = ["ID", "CHANNEL", "ACTION", "STATE", "TRIES", "ENDED OR NEXT", "KEY", "ERROR"];
    context.terminal.out_paged(table(&head, deliveries.iter().map(row)));
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn figures_have_four_decimals_at_most() {
        let check = |figure: &str, expected: &str| assert_eq!(short(figure), expected);
        check("0.17845102598403653", "0.1785");
        check("0.5", "0.5");
        check("92%", "92%");
        check("1.2.3.45678", "1.2.3.45678");
    }
}
