//! Who is told: channels that can't be used, messages that do not get through.

use gbrain_store::{AlertStatus, Store};

use super::finding::Finding;
use crate::channels::alert_tools;
use crate::commands::Context;
use crate::commands::alerts::stuck;
use crate::commands::suites::SuiteSource;
use crate::error::CliError;

/// A message that waited this long does not get through.
const WAITED_SECONDS: i64 = 600;

/// Checks channels and messages.
pub(super) fn check(context: &Context<'_>, store: &Store) -> Finding {
    looked(context, store).unwrap_or_else(|error| Finding::unknown("alerts", error))
}

fn looked(context: &Context<'_>, store: &Store) -> Result<Finding, CliError> {
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
        "{firing} alert(s) fire, {} channel(s), {} message(s) queued, {} given up",
        channels.channels.len(),
        counts.queued,
        counts.dead
    );
    let keeps = stuck(context, store, &source)?;
    let finding = if let Some(why) = channels.problem.or(broken) {
        Finding::warn("alerts", format!("{message}; {why}")).remedy("gbrain alerts test CHANNEL")
    } else if let Some(why) = keeps.first() {
        Finding::warn("alerts", format!("{message}; {why}")).remedy("gbrain alerts list")
    } else if is_late {
        Finding::warn("alerts", format!("{message}; nobody sends them"))
            .remedy("gbrain serve, gbrain worker, or gbrain alerts deliver")
    } else if counts.dead > 0 {
        Finding::warn("alerts", message).remedy("gbrain alerts history --state dead")
    } else if firing > 0 {
        Finding::warn("alerts", message).remedy("gbrain alerts list")
    } else {
        Finding::ok("alerts", message)
    };
    Ok(finding
        .detail("firing", firing)
        .detail("channels", channels.channels.len())
        .detail("queued", counts.queued)
        .detail("dead", counts.dead))
}
