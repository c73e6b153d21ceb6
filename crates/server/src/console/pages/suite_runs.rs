//! A run of a suite, with the causes of its failures.

use gbrain_console::Page;
use gbrain_console::page::suite_run::Triage;
use gbrain_core::fault::Fault;

use super::runs::view;
use crate::console::Fields;
use crate::console::call::ConsoleCall;
use crate::console::reports::parsed;

pub(super) fn show(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let id = fields.require("id")?;
    let report = parsed(call.bytes("show_suite_run", &[("id", id)], None)?)?;
    let view = view(fields, format!("/suite-runs/{id}"))?;
    Ok(report.page_with_triage(triage(call, id).as_ref(), &view))
}

/// The causes, for readers who may see them. A run that cannot be triaged is shown without.
fn triage(call: &ConsoleCall<'_>, id: &str) -> Option<Triage> {
    let is_allowed = call.may("triage_suite_run");
    is_allowed.then(|| call.read("triage_suite_run", &[("id", id)]).ok()).flatten()
}
