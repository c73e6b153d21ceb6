//! Replays and gates: the list, one run, and one case of it.

use gbrain_console::page::run_progress::{self, RunState};
use gbrain_console::page::runs::StartForm;
use gbrain_console::page::view::RowView;
use gbrain_console::{Page, page};
use gbrain_core::fault::Fault;
use serde::Deserialize;

use crate::console::Fields;
use crate::console::call::ConsoleCall;
use crate::console::reports::of_run;

pub(super) fn list(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let runs = call.read("list_runs", &fields.only(&["state", "before", "limit"]))?;
    let start = call.may("start_run").then(|| start_form(call)).transpose()?;
    Ok(page::runs::page(&runs, start.as_ref()))
}

/// The names of stored documents.
#[derive(Debug, Deserialize)]
struct Documents {
    documents: Vec<StoredDocument>,
}

#[derive(Debug, Deserialize)]
struct StoredDocument {
    name: String,
}

/// The names that an endpoint for stored documents lists.
pub(super) fn document_names(call: &ConsoleCall<'_>, id: &str) -> Result<Vec<String>, Fault> {
    let Documents { documents } = call.read(id, &[])?;
    Ok(documents.into_iter().map(|document| document.name).collect())
}

fn start_form(call: &ConsoleCall<'_>) -> Result<StartForm, Fault> {
    let (baselines, qrels) =
        (document_names(call, "list_baselines")?, document_names(call, "list_qrels")?);
    Ok(StartForm { baselines, qrels })
}

/// A run: its progress, or its report.
pub(super) fn show(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let id = fields.require("id")?;
    let run: RunState = call.read("show_run", &[("id", id)])?;
    if run.state != "done" {
        return Ok(run_progress::page(&run, call.may("cancel_run")));
    }
    let view = view(fields, format!("/runs/{}", run.id))?;
    let report = of_run(call, &run)?;
    Ok(Page { command: format!("gbrain jobs show {} --result", run.id), ..report.page(&view) })
}

/// One case of a finished run.
pub(super) fn row(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let (id, line) = (fields.require("id")?, fields.require("line")?);
    let run: RunState = call.read("show_run", &[("id", id)])?;
    if run.state != "done" {
        return Err(Fault::conflict(format!("the run is {}: it has no rows yet", run.state)));
    }
    let line = line.parse::<u64>().map_err(|_| Fault::usage("the line of a row is a number"))?;
    let view = RowView { base: format!("/runs/{}", run.id), ..RowView::default() };
    let page = of_run(call, &run)?.row_page(line, &view);
    page.ok_or_else(|| Fault::not_found(format!("run {} lists no row of line {line}", run.id)))
}

/// The filters, the order and the place that a URL names.
pub(super) fn view(fields: &Fields, base: String) -> Result<RowView, Fault> {
    let view = RowView::of(&|name| fields.get(name).map(str::to_owned)).map_err(Fault::usage)?;
    Ok(RowView { base, ..view })
}
