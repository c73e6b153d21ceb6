//! Checks of alert delivery: channels that can't be used, messages that were not delivered.

use gbrain_store::{AlertStatus, Store};

use super::finding::{DoctorCheck, unknown};
use crate::channels::alert_tools;
use crate::commands::CommandContext;
use crate::commands::alerts::stuck;
use crate::commands::suites::SuiteSource;
use crate::error::CliError;
use crate::terminal::count;

/// A message that waited this long does not get through.
const WAITED_SECONDS: i64 = 600;

/// Checks channels and messages.
pub(super) fn check(context: &CommandContext<'_>, store: &Store) -> DoctorCheck {
    inspect(context, store).unwrap_or_else(|error| unknown("alerts", error))
}

fn inspect(context: &CommandContext<'_>, store: &Store) -> Result<DoctorCheck, CliError> {
    let source = SuiteSource::new(&context.home, None);
    let tools = alert_tools(&context.home, source.clone())?;
    let channels = (tools.registry.read)();
    let counts = store.delivery_counts(&context.home.workspace)?;
    let now = context.now.as_second();
    let is_late = counts.oldest_queued.is_some_and(|at| now - at.as_second() > WAITED_SECONDS);
    let broken = channels.channels.iter().find_map(|(name, found)| match found {
        Err(why) => Some(why.clone()),
        Ok(channel) => {
            let variable = *tools.registry.unset(channel).first()?;
            Some(format!("channel `{name}`: the variable {variable} is not set here"))
        }
    });
    let board = store.alert_board(&context.home.workspace)?;
    let firing = board.states.iter().filter(|one| one.state == AlertStatus::Firing).count();
    let message = format!(
        "{}, {}, {} queued, {} given up",
        count(firing, "alert fires", "alerts fire"),
        count(channels.channels.len(), "channel", "channels"),
        count(counts.queued, "message", "messages"),
        counts.dead
    );
    let keeps = stuck(context, store, &source)?;
    let finding = if let Some(why) = channels.problem.or(broken) {
        DoctorCheck::warn("alerts", format!("{message}; {why}"))
            .remedy("gbrain alerts test CHANNEL")
    } else if let Some(why) = keeps.first() {
        DoctorCheck::warn("alerts", format!("{message}; {why}")).remedy("gbrain alerts list")
    } else if is_late {
        DoctorCheck::warn("alerts", format!("{message}; no process sends them"))
            .remedy("gbrain serve, gbrain worker, or gbrain alerts deliver")
    } else if counts.dead > 0 {
        DoctorCheck::warn("alerts", message).remedy("gbrain alerts history --state dead")
    } else if firing > 0 {
        DoctorCheck::warn("alerts", message).remedy("gbrain alerts list")
    } else {
        DoctorCheck::ok("alerts", message)
    };
    Ok(finding
        .detail("firing", firing)
        .detail("channels", channels.channels.len())
        .detail("queued", counts.queued)
        .detail("dead", counts.dead))
}
