//! Replays and gates.

use gbrain_console::{Page, page};
use gbrain_core::fault::Fault;

use crate::console::Fields;
use crate::console::call::ConsoleCall;

pub(super) fn list(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let runs = call.read("list_runs", &fields.only(&["state", "before", "limit"]))?;
    Ok(page::runs::page(&runs))
}
