//! The changes that forms of the console make, on one screen. Each answers with the page to show.

use gbrain_console::Section;
use gbrain_core::fault::Fault;
use serde_json::Value;

use super::Fields;
use super::call::ConsoleCall;

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
        action("/runs", "console_start_run", Section::Runs, start_run),
        action("/runs/{id}/cancel", "console_cancel_run", Section::Runs, cancel_run),
    ]
}

/// Starts a replay of a baseline, or a gate on a baseline, on qrels, or on both.
fn start_run(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let mut body = serde_json::Map::new();
    let kind = fields.require("kind")?;
    body.insert("kind".to_owned(), kind.into());
    if kind == "replay" {
        body.insert(
            "against".to_owned(),
            serde_json::json!({ "baseline": fields.require("baseline")? }),
        );
        body.insert("blame".to_owned(), fields.get("blame").is_some().into());
        body.insert("verbose".to_owned(), true.into());
    } else {
        for name in ["baseline", "qrels"] {
            body.extend(fields.get(name).map(|value| (name.to_owned(), value.into())));
        }
        if let Some(k) = fields.get("k") {
            let k = k.parse::<u16>().map_err(|_| Fault::usage("`k` is a number from 1 to 1000"))?;
            body.insert("k".to_owned(), k.into());
        }
    }
    let started: Value = call.send("start_run", &[], &body)?;
    Ok(format!("/runs/{}", started["id"]))
}

fn cancel_run(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let id = fields.require("id")?;
    call.read::<Value>("cancel_run", &[("id", id)])?;
    Ok(format!("/runs/{id}"))
}
