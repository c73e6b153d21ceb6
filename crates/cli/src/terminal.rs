//! The only place that prints. stdout is data, stderr is talk.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gbrain_brain::BrainError;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use owo_colors::{OwoColorize as _, Style};
use serde::Serialize;

use crate::error::CliError;

/// The terminal, or whatever stands in its place.
#[derive(Debug)]
pub(crate) struct Terminal {
    json: bool,
    quiet: bool,
}

impl Terminal {
    /// What the flags ask for.
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        Self { json, quiet }
    }

    /// Whether `--json` was given.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether somebody watches.
    pub(crate) fn is_watched(&self) -> bool {
        std::io::stderr().is_terminal()
    }

    /// Prints data.
    pub(crate) fn out(&self, text: impl AsRef<str>) {
        let mut stdout = anstream::stdout().lock();
        // A reader that has gone away is no reason to fail.
        let _ = stdout.write_all(text.as_ref().as_bytes());
        let _ = stdout.flush();
    }

    /// Prints data as it is, escape sequences and all: it is somebody else's text.
    pub(crate) fn plain(&self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        // A reader that has gone away is no reason to fail.
        let _ = stdout.write_all(text.as_bytes());
        let _ = stdout.flush();
    }

    /// Prints a line of data.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        self.out(format!("{}\n", text.as_ref()));
    }

    /// Prints the JSON document.
    pub(crate) fn json(&self, value: &impl Serialize) {
        let text = serde_json::to_string_pretty(value).expect("our values have text keys only");
        self.out(format!("{text}\n"));
    }

    /// A remark.
    pub(crate) fn remark(&self, text: impl AsRef<str>) {
        if !self.quiet {
            self.talk(text.as_ref());
        }
    }

    /// A warning.
    pub(crate) fn warn(&self, text: impl AsRef<str>) {
        self.talk(&format!("{} {}", "warning:".style(Style::new().yellow()), text.as_ref()));
    }

    /// An error: JSON on stdout when JSON was asked for, and words on stderr always.
    pub(crate) fn error(&self, error: &CliError) {
        if self.json {
            self.json(&error.to_json());
        }
        self.talk(error.to_text().trim_end());
    }

    fn talk(&self, text: &str) {
        let mut stderr = anstream::stderr().lock();
        // Nobody is left to tell.
        let _ = writeln!(stderr, "{text}");
    }

    /// A progress bar for indexing, as a function to call with changes done and total.
    pub(crate) fn indexing(&self) -> impl Fn(i64, i64) + Sync + use<> {
        let bar = self.progress("indexing");
        move |done, total| {
            bar.set_length(total.unsigned_abs());
            bar.set_position(done.unsigned_abs());
            if done >= total {
                bar.finish_and_clear();
            }
        }
    }

    /// The same, ending the work once `stop` is set.
    pub(crate) fn indexing_until(
        &self,
        stop: Arc<AtomicBool>,
    ) -> impl Fn(i64, i64) -> Result<(), BrainError> + Sync + use<> {
        let show = self.indexing();
        move |done, total| {
            show(done, total);
            if stop.load(Ordering::SeqCst) { Err(BrainError::Halted) } else { Ok(()) }
        }
    }

    /// A progress bar on stderr; invisible when quiet or not a terminal.
    pub(crate) fn progress(&self, what: &'static str) -> ProgressBar {
        let hidden = self.quiet || !self.is_watched();
        let target =
            if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let template = "{prefix:>9} {bar:32} {human_pos}/{human_len} {per_sec} {eta}";
        let style = ProgressStyle::with_template(template).expect("the template is well formed");
        let bar = ProgressBar::with_draw_target(Some(0), target).with_style(style);
        bar.set_prefix(what);
        bar
    }
}

/// Text that stands out.
pub(crate) fn bold(text: &str) -> String {
    text.style(Style::new().bold()).to_string()
}

/// Text that stands back.
pub(crate) fn dim(text: &str) -> String {
    text.style(Style::new().dimmed()).to_string()
}

/// Text that is wrong.
pub(crate) fn red(text: &str) -> String {
    text.style(Style::new().red()).to_string()
}

/// Text that matched.
pub(crate) fn matched(text: &str) -> String {
    text.style(Style::new().bold().yellow()).to_string()
}

/// A plain table: no rules but one below the head, nothing at the edges, so that it pipes well.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(head.iter().map(comfy_table::Cell::new));
    for row in rows {
        table.add_row(row);
    }
    let text = table.to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
}
