//! How the nightly quality probe has been doing.

use gbrain_core::doctor::Wellness;
use gbrain_core::probe::{Health, Switch, health};
use gbrain_core::report::visible;
use gbrain_eval::probe::{recent, switch};
use gbrain_store::Store;

use super::finding::{Finding, unknown};
use crate::asking::settings;
use crate::commands::Context;
use crate::error::CliError;

const CHECK: &str = "nightly_quality_probe_health";
/// The longest message: reasons hold what providers said.
const LINE: usize = 600;

/// Checks the runs of the last days, those of the store and those of the audit files.
pub(super) fn check(context: &Context<'_>, store: &Store) -> Finding {
    match look(context, store) {
        Err(error) => unknown(CHECK, error),
        Ok((switch, events, health)) => {
            let message = visible(&health.message(), LINE);
            let finding = match health.wellness() {
                Wellness::Ok => Finding::ok(CHECK, message),
                _ => Finding::warn(CHECK, message),
            };
            let finding = match health.remedy() {
                Some(remedy) => finding.remedy(remedy),
                None => finding,
            };
            finding.detail("enabled", switch == Switch::On).detail("events", events)
        }
    }
}

fn look(context: &Context<'_>, store: &Store) -> Result<(Switch, usize, Health), CliError> {
    let workspace = &context.home.workspace;
    let switch = switch(&settings(store, workspace)?);
    let audit = context.home.audit_dir();
    let events = recent(store, workspace, Some(&audit), context.now)?;
    Ok((switch, events.len(), health(switch, &events, context.now)))
}
