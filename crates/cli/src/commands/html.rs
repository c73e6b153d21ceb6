//! `--html`: a report as a web page in a file of its own, made from the JSON that `--json` prints.

use std::path::{Path, PathBuf};

use clap::Args;
use gbrain_console::page::view::RowView;
use gbrain_console::report::{Report, read};
use gbrain_core::fault::FaultKind;
use gbrain_eval::write_atomically;
use serde::Serialize;

use crate::error::CliError;

/// Flags of a report as a web page.
#[derive(Debug, Args)]
pub(crate) struct HtmlArgs {
    /// Write a self-contained HTML page.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Put every case into the HTML page, not the worst 200 alone.
    #[arg(long, requires = "html")]
    pub(crate) all_rows: bool,
}

impl HtmlArgs {
    /// Writes the page of a report, if one was asked for.
    pub(crate) fn write(&self, report: &impl Serialize) -> Result<(), CliError> {
        let Some(path) = &self.html else { return Ok(()) };
        let json = serde_json::to_string(report).expect("our values have text keys only");
        write_page(path, &parsed(json)?, self.all_rows)
    }
}

/// A report from its text.
pub(crate) fn parsed(text: String) -> Result<Report, CliError> {
    read(text).map_err(|error| CliError::new(FaultKind::Input, error.to_string()))
}

/// Writes the page of a report.
pub(crate) fn write_page(path: &Path, report: &Report, all_rows: bool) -> Result<(), CliError> {
    let page = report.page(&RowView { all_rows, ..RowView::default() });
    Ok(write_atomically(path, gbrain_console::file(&page).as_bytes())?)
}
