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
        action("/runs", "console_start_run", Section::Runs, start_run),
        action("/runs/{id}/cancel", "console_cancel_run", Section::Runs, cancel_run),

        action("/captures/{id}/promote", "console_promote_capture", Section::Captures, promote_capture),
        action("/labels/grade", "console_grade", Section::Labels, labels::grade),
        action("/labels/conflicts/{id}", "console_settle_label", Section::Labels, labels::settle),
        action("/labels/promote", "console_promote_labels", Section::Labels, labels::promote),
        action("/pages/new", "console_create_page", Section::Memory, memory::create),
        action("/pages/{page}/write", "console_write_page", Section::Memory, memory::write),
        action("/pages/{page}/delete", "console_delete_page", Section::Memory, memory::delete),
        action("/pages/{page}/restore", "console_restore_page", Section::Memory, memory::restore),
        action("/suites/{name}/runs", "console_run_suite", Section::Suites, run_suite),
        action("/alerts/close", "console_close_alert", Section::Alerts, close_alert),
        action("/silences", "console_add_silence", Section::Alerts, add_silence),
        action("/silences/{id}/end", "console_end_silence", Section::Alerts, end_silence),
        action("/incidents", "console_open_incident", Section::Incidents, open_incident),
        action("/incidents/{id}/notes", "console_note_incident", Section::Incidents, note_incident),
        action("/incidents/{id}/resolve", "console_resolve_incident", Section::Incidents, resolve_incident),
        action("/calibration/deploy", "console_deploy_threshold", Section::Calibration, deploy_threshold),
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

fn promote_capture(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let id = fields.require("id")?;
    let expected: Vec<&str> = fields.all("expected").collect();
    let body = json!({ "expected": expected, "active": fields.get("active").is_some() });
    call.send::<Value>("promote_capture", &[("id", id)], &body)?;
    Ok(format!("/captures/{id}"))
}

fn run_suite(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    // A name that exists has only letters, digits and dashes.
    let name = fields.require("name")?;
    call.read::<Value>("run_suite", &[("name", name)])?;
    Ok(format!("/suites/{name}"))
}

fn close_alert(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let body = json!({ "key": fields.require("key")?, "reason": fields.require("reason")? });
    call.send::<Value>("close_alert", &[], &body)?;
    Ok("/alerts".to_owned())
}

fn add_silence(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let (key, reason) = (fields.require("key")?, fields.require("reason")?);
    let body = json!({ "key": key, "for": fields.require("for")?, "reason": reason });
    call.send::<Value>("add_silence", &[], &body)?;
    Ok("/alerts".to_owned())
}

fn end_silence(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    call.read::<Value>("end_silence", &[("id", fields.require("id")?)])?;
    Ok("/alerts".to_owned())
}

fn open_incident(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let run: Option<i64> = fields
        .get("run")
        .map(|run| run.trim().parse().map_err(|_| Fault::usage("the run is a number")))
        .transpose()?;
    let body = json!({ "title": fields.require("title")?, "run": run });
    let opened: Value = call.send("open_incident", &[], &body)?;
    Ok(format!("/incidents/{}", opened["id"]))
}

fn note_incident(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let id = fields.require("id")?;
    call.send::<Value>(
        "note_incident",
        &[("id", id)],
        &json!({ "text": fields.require("text")? }),
    )?;
    Ok(format!("/incidents/{id}"))
}

fn resolve_incident(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let id = fields.require("id")?;
    let lines = fields.require("follow_ups")?.lines().map(str::trim);
    let follow_ups: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let (root_cause, fix) = (fields.require("root_cause")?, fields.require("fix")?);
    let body = json!({ "root_cause": root_cause, "fix": fix, "follow_ups": follow_ups });
    call.send::<Value>("resolve_incident", &[("id", id)], &body)?;
    Ok(format!("/incidents/{id}"))
}

fn deploy_threshold(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    if fields.get("confirm") != Some("yes") {
        return Err(
            Fault::usage("the deployment was not confirmed").hint("check the box, then deploy")
        );
    }
    let id: i64 =
        fields.require("id")?.parse().map_err(|_| Fault::usage("the threshold is a number"))?;
    call.send::<Value>("deploy_threshold", &[], &json!({ "id": id }))?;
    Ok("/calibration".to_owned())
}
