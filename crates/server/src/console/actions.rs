//! The changes that forms of the console make, on one screen. Each answers with the page to show.

use gbrain_console::Section;
use gbrain_core::fault::Fault;
use serde_json::{Value, json};

use super::Fields;
use super::call::ConsoleCall;
use super::label_actions as labels;
use super::pages::memory;

/// A change: the URL its form posts to, and what it does. The result is the URL of the next page.
pub(super) struct ConsoleAction {
    pub(super) path: &'static str,
    /// Name in metrics and the audit log.
    pub(super) id: &'static str,
    pub(super) section: Section,
    pub(super) perform: fn(&ConsoleCall<'_>, &Fields) -> Result<String, Fault>,
}

#[rustfmt::skip]
pub(super) fn actions() -> Vec<ConsoleAction> {
    let action = |path, id, section, perform| ConsoleAction { path, id, section, perform };
    vec![
        action("/runs/{id}/cancel", "console_cancel_run", Section::Runs, cancel_run),

        action("/captures/{id}/promote", "console_promote_capture", Section::Captures, promote_capture),
        action("/labels/grade", "console_grade", Section::Labels, labels::grade),
        action("/labels/conflicts/{id}", "console_settle_label", Section::Labels, labels::settle),
        action("/labels/promote", "console_promote_labels", Section::Labels, labels::promote),
        action("/pages/new", "console_create_page", Section::Memory, memory::create),
        action("/pages/{page}/write", "console_write_page", Section::Memory, memory::write),
        action("/pages/{page}/delete", "console_delete_page", Section::Memory, memory::delete),
        action("/pages/{page}/restore", "console_restore_page", Section::Memory, memory::restore),
    ]
}

fn cancel_run(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let id = fields.require("id")?;
    call.read::<Value>("cancel_run", &[("id", id)])?;
    Ok(format!("/runs/{id}"))
}

fn promote_capture(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let id = fields.require("id")?;
    let expected: Vec<&str> = fields.all("expected").collect();
    let body = json!({ "expected": expected, "active": fields.get("active").is_some() });
    call.send::<Value>("promote_capture", &[("id", id)], &body)?;
    Ok(format!("/captures/{id}"))
}
