//! How the nightly quality probe has been doing.

use gbrain_core::doctor::DoctorStatus;
use gbrain_core::probe::{Health, ProbeSwitch, health};
use gbrain_core::report::visible;
use gbrain_eval::probe::{probe_switch, recent};
use gbrain_store::Store;

use super::finding::{DoctorCheck, unknown};
use crate::commands::CommandContext;
use crate::error::CliError;
use crate::model_access::settings;

const CHECK: &str = "nightly_quality_probe_health";
/// The longest message: reasons hold what providers said.
const LINE: usize = 600;

/// Checks the runs of the last days, those of the store and those of the audit files.
pub(super) fn check(context: &CommandContext<'_>, store: &Store) -> DoctorCheck {
    match inspect(context, store) {
        Err(error) => unknown(CHECK, error),
        Ok((switch, events, health)) => {
            let message = visible(&health.message(), LINE);
            let finding = match health.doctor_status() {
                DoctorStatus::Ok => DoctorCheck::ok(CHECK, message),
                _ => DoctorCheck::warn(CHECK, message),
            };
            let finding = match health.remedy() {
                Some(remedy) => finding.remedy(remedy),
                None => finding,
            };
            finding.detail("enabled", switch == ProbeSwitch::On).detail("events", events)
        }
    }
}

fn inspect(
    context: &CommandContext<'_>,
    store: &Store,
) -> Result<(ProbeSwitch, usize, Health), CliError> {
    let workspace = &context.home.workspace;
    let switch = probe_switch(&settings(store, workspace)?);
    let audit = context.home.audit_dir();
    let events = recent(store, workspace, Some(&audit), context.now)?;
    Ok((switch, events.len(), health(switch, &events, context.now)))
}
