//! The only place that prints. stdout is data, stderr is talk.
//!
//! Text that others wrote is escaped on a terminal and exact in a pipe or a file; stdout and stderr are judged each for
//! itself (`text.rs`).
//!
//! Data that could not be written is remembered, and [`Terminal::exit`] turns it into exit code 2. A reader that
//! has closed its end of a pipe (`gbrain list | head`) has what it wanted: that is no failure.

mod text;

use std::ffi::OsStr;
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gbrain_brain::BrainError;
use gbrain_core::address::without_passwords;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::error::{CliError, Exit};
use text::{Destination, LineEnds, TextStyle, styled};

pub(crate) use text::ExternalWriter;

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
        let stdout = io::stdout();
        let rendered = Destination::of(&stdout).render(text.as_ref(), LineEnds::Kept);
        write_to(stdout.lock(), rendered.as_bytes())
    }

    /// Prints a whole text: its exact bytes, and on a terminal a line end if it has none.
    pub(crate) fn whole_text(&self, text: &str) {
        let end = if text.ends_with('\n') || !io::stdout().is_terminal() { "" } else { "\n" };
        self.out(format!("{text}{end}"));
    }

    /// Stdout for a stream of data, such as rows of an export or the answer of a model.
    pub(crate) fn stdout(&self) -> ExternalWriter<io::Stdout> {
        let stdout = io::stdout();
        let destination = Destination::of(&stdout);
        ExternalWriter::new(stdout, destination)
    }

    /// Stderr for the lines of a log.
    pub(crate) fn stderr(&self) -> ExternalWriter<io::Stderr> {
        let stderr = io::stderr();
        let destination = Destination::of(&stderr);
        ExternalWriter::new(stderr, destination)
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

    /// Prints a line of data. On a terminal it is one line, whatever it quotes.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        self.out(format!("{}\n", field(text.as_ref())));
    }

    /// Prints the JSON document.
    pub(crate) fn json(&self, value: &impl Serialize) {
        self.out(json_text(value));
    }

    /// A remark. On a terminal it is one line, whatever it quotes.
    pub(crate) fn remark(&self, text: impl AsRef<str>) {
        self.remark_text(&field(text.as_ref()));
    }

    /// A remark of several lines. What it quotes must be on one line each.
    pub(crate) fn remark_text(&self, text: &str) {
        if !self.quiet {
            self.talk(text);
        }
    }

    /// A warning. On a terminal it is one line, whatever it quotes.
    pub(crate) fn warn(&self, text: impl AsRef<str>) {
        self.warn_text(&field(text.as_ref()));
    }

    /// A warning of several lines. What it quotes must be on one line each. As in an error, no password is shown.
    pub(crate) fn warn_text(&self, text: &str) {
        let text = without_passwords(text);
        self.talk(&format!("{} {text}", styled(TextStyle::Yellow, "warning:")));
    }

    /// An error: JSON on stdout when JSON was asked for, and words on stderr always.
    pub(crate) fn error(&self, error: &CliError) {
        if self.json {
            self.json(&error.to_json());
        }
        self.talk(error.to_text().trim_end());
    }

    /// Words about a failure, whole.
    pub(crate) fn failure_text(&self, text: &str) {
        self.talk(text.trim_end());
    }

    fn talk(&self, text: &str) {
        let stderr = io::stderr();
        let rendered = Destination::of(&stderr).render(&format!("{text}\n"), LineEnds::Kept);
        // Nobody is left to tell.
        let _ = stderr.lock().write_all(rendered.as_bytes());
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

/// Whether a terminal would obey a part of this text.
pub(crate) fn is_unsafe_text(text: &OsStr) -> bool {
    text.to_str().is_none_or(|text| text.chars().any(text::is_unsafe))
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

/// A title, a name, a query or another text of others that stands on one line: on a terminal its line ends and tabs are
/// escaped.
pub(crate) fn field(text: &str) -> String {
    text::field(text)
}

/// Text that stands out.
pub(crate) fn bold(text: &str) -> String {
    styled(TextStyle::Bold, text)
}

/// Text that stands back.
pub(crate) fn dim(text: &str) -> String {
    styled(TextStyle::Dim, text)
}

/// Text that is wrong.
pub(crate) fn red(text: &str) -> String {
    styled(TextStyle::Red, text)
}

/// Text that matched.
pub(crate) fn matched(text: &str) -> String {
    styled(TextStyle::BoldYellow, text)
}

/// A plain table for stdout: no rules but one below the head, nothing at the edges, so that it pipes well. On a terminal
/// a cell is one line, whatever it quotes.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(head.iter().map(comfy_table::Cell::new));
    let stdout = Destination::of(&io::stdout());
    for row in rows {
        table.add_row(row.into_iter().map(|cell| stdout.cell(cell)));
    }
    let text = table.to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
}
