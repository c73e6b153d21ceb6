//! The pages, on one screen.

mod captures;
mod compare;
mod explain;
mod labels;
pub(super) mod memory;
mod monitor;
mod runs;
mod suite_runs;

use gbrain_console::{Page, Section};
use gbrain_core::fault::Fault;

use super::Fields;
use super::call::ConsoleCall;

/// A page of the console: its URL and what it renders.
pub(super) struct ConsolePage {
    pub(super) path: &'static str,
    /// Name in metrics and the audit log.
    pub(super) id: &'static str,
    pub(super) section: Section,
    pub(super) render: fn(&ConsoleCall<'_>, &Fields) -> Result<Page, Fault>,
}

#[rustfmt::skip]
pub(super) fn pages() -> Vec<ConsolePage> {
    let page = |path, id, section, render| ConsolePage { path, id, section, render };
    vec![
        page("/", "console_overview", Section::Overview, monitor::overview),
        page("/suites", "console_suites", Section::Suites, monitor::suites),
        page("/suites/{name}", "console_suite", Section::Suites, monitor::suite),
        page("/alerts", "console_alerts", Section::Alerts, monitor::alerts),
        page("/incidents", "console_incidents", Section::Incidents, monitor::incidents),
        page("/incidents/{id}", "console_incident", Section::Incidents, monitor::incident),
        page("/calibration", "console_calibration", Section::Calibration, monitor::calibration),
        page("/probe", "console_probe", Section::Probe, monitor::probe),
        page("/benchmarks", "console_benchmarks", Section::Benchmarks, monitor::benchmarks),
        page("/contradictions", "console_contradictions", Section::Contradictions, monitor::contradictions),
        page("/prompts", "console_prompts", Section::Prompts, monitor::prompts),
        page("/spending", "console_spending", Section::Spending, monitor::spending),
        page("/runs", "console_runs", Section::Runs, runs::list),

        page("/captures", "console_captures", Section::Captures, captures::list),
        page("/captures/{id}", "console_capture", Section::Captures, captures::show),
        page("/labels", "console_labels", Section::Labels, labels::queue),
        page("/labels/conflicts", "console_label_conflicts", Section::Labels, labels::conflicts),
        page("/explain", "console_explain", Section::Explain, explain::page),
        page("/pages", "console_pages", Section::Memory, memory::list),
        page("/pages/new", "console_new_page", Section::Memory, memory::draft),
        page("/pages/{page}", "console_page", Section::Memory, memory::view),
        page("/pages/{page}/history", "console_page_history", Section::Memory, memory::history),
        page("/pages/{page}/edit", "console_edit_page", Section::Memory, memory::edit),
        page("/pages/{page}/delete", "console_confirm_delete", Section::Memory, memory::confirm_delete),
        page("/runs/{id}", "console_run", Section::Runs, runs::show),
        page("/runs/{id}/rows/{line}", "console_run_row", Section::Runs, runs::row),
        page("/suite-runs/{id}", "console_suite_run", Section::Suites, suite_runs::show),
        page("/compare", "console_compare", Section::Compare, compare::show),
    ]
}
