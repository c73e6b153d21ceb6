//! The only place that prints. stdout is data, stderr is talk.
//!
//! Data that could not be written is remembered, and [`Terminal::exit`] turns it into exit code 2. A reader that
//! has closed its end of a pipe (`gbrain list | head`) has what it wanted: that is no failure.

use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gbrain_brain::BrainError;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use owo_colors::{OwoColorize as _, Style};
use serde::Serialize;

use crate::error::{CliError, Exit};

/// The terminal, or whatever stands in its place.
#[derive(Debug)]
pub(crate) struct Terminal {
    json: bool,
    quiet: bool,
    /// Why data could not be written, the first time that happened.
    failure: Mutex<Option<io::Error>>,
}

impl Terminal {
    /// What the flags ask for.
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        Self { json, quiet, failure: Mutex::default() }
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
        let written = self.try_out(text);
        self.record(written);
    }

    /// Prints data that must arrive: the caller decides what a failure means, a closed pipe included.
    pub(crate) fn try_out(&self, text: impl AsRef<str>) -> io::Result<()> {
        write_to(anstream::stdout().lock(), text.as_ref().as_bytes())
    }

    /// Prints data as it is, escape sequences and all: another program's text.
    pub(crate) fn plain(&self, text: &str) {
        let written = self.try_plain(text);
        self.record(written);
    }

    /// The same for a stream of data, which ends when it can't be written.
    pub(crate) fn try_plain(&self, text: &str) -> io::Result<()> {
        write_to(io::stdout().lock(), text.as_bytes())
    }

    /// Remembers the first failure to write data, except that the reader closed its pipe.
    pub(crate) fn record(&self, written: io::Result<()>) {
        if let Err(error) = written
            && error.kind() != ErrorKind::BrokenPipe
        {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
        }
    }

    /// The exit code of a command that ended with `exit`: 2 if not all of its data could be written.
    pub(crate) fn exit(&self, exit: Exit) -> Exit {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        match failure {
            None => exit,
            Some(error) => {
                self.talk(unwritten(&error).to_text().trim_end());
                Exit::NoVerdict
            }
        }
    }

    /// Prints a line of data.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        self.out(format!("{}\n", text.as_ref()));
    }

    /// Prints the JSON document.
    pub(crate) fn json(&self, value: &impl Serialize) {
        self.out(json_text(value));
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

/// A JSON document as it is printed.
pub(crate) fn json_text(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("our values have text keys only");
    format!("{text}\n")
}

/// Why a command whose output is incomplete did not do its work.
pub(crate) fn unwritten(error: &io::Error) -> CliError {
    CliError::io("stdout", error).hint("the output above is incomplete: run the command again")
}

fn write_to(mut stdout: impl Write, bytes: &[u8]) -> io::Result<()> {
    stdout.write_all(bytes)?;
    stdout.flush()
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
