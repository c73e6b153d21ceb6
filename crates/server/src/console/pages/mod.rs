//! The pages, on one screen.

mod compare;
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
        page("/runs", "console_runs", Section::Runs, runs::list),
        page("/runs/{id}", "console_run", Section::Runs, runs::show),
        page("/runs/{id}/rows/{line}", "console_run_row", Section::Runs, runs::row),
        page("/suite-runs/{id}", "console_suite_run", Section::Suites, suite_runs::show),
        page("/compare", "console_compare", Section::Compare, compare::show),
    ]
}
