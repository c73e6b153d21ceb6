//! The only place that prints. stdout is data, stderr is talk.
//!
//! Text that others wrote is escaped on a terminal and exact in a pipe or a file; stdout and stderr are judged each for
//! itself (`text.rs`).
//!
//! Data that could not be written is remembered, and [`Terminal::exit`] turns it into exit code 2. A reader that
//! has closed its end of a pipe (`gbrain list | head`) has what it wanted: that is no failure.

mod layout;
mod pager;
mod report;
mod text;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gbrain_brain::BrainError;
use gbrain_core::address::without_passwords;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressState, ProgressStyle};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::error::{CliError, Exit};
use text::{Destination, LineEnds, TextStyle, styled};

pub(crate) use pager::Pager;
pub(crate) use text::ExternalWriter;

/// Stdout and stderr, with the output flags.
#[derive(Debug)]
pub(crate) struct Terminal {
    json: bool,
    quiet: bool,
    /// Whether stdout is printed at all.
    discards_data: bool,
    /// Shows data that is longer than the screen.
    pager: Option<Pager>,
    /// Why data could not be written, the first time that happened.
    failure: Mutex<Option<io::Error>>,
}

impl Terminal {
    /// Creates the terminal from `--json` and `--quiet`, without a pager.
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        Self { json, quiet, discards_data: false, pager: None, failure: Mutex::default() }
    }

    /// A terminal that prints warnings and errors only, as `gbrain --quiet ... > /dev/null` does.
    pub(crate) fn discarding() -> Self {
        Self { discards_data: true, ..Self::new(false, true) }
    }

    /// Adds a pager, for commands that print lists and pages.
    pub(crate) fn with_pager(self, pager: Option<Pager>) -> Self {
        Self { pager, ..self }
    }

    /// Whether `--json` was given.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether stderr is a terminal.
    pub(crate) fn is_watched(&self) -> bool {
        std::io::stderr().is_terminal()
    }

    /// Whether stdout is a terminal.
    pub(crate) fn has_terminal_stdout(&self) -> bool {
        io::stdout().is_terminal()
    }

    pub(crate) fn out(&self, text: impl AsRef<str>) {
        let written = self.try_out(text);
        self.record(written);
    }

    /// Prints data that must arrive: the caller decides what a failure means, a closed pipe included.
    pub(crate) fn try_out(&self, text: impl AsRef<str>) -> io::Result<()> {
        if self.discards_data {
            return Ok(());
        }
        let stdout = io::stdout();
        let rendered = Destination::of(&stdout).render(text.as_ref(), LineEnds::Kept);
        write_to(stdout.lock(), rendered.as_bytes())
    }

    /// Prints data that may be long: through the pager if it does not fit on the screen.
    pub(crate) fn out_paged(&self, text: impl AsRef<str>) {
        if self.discards_data {
            return;
        }
        let stdout = io::stdout();
        let destination = Destination::of(&stdout);
        let rendered = destination.render(text.as_ref(), LineEnds::Kept);
        let pager = self.pager.as_ref().filter(|_| destination.is_longer_than_screen(&rendered));
        if pager.is_none_or(|pager| pager.show(&rendered).is_err()) {
            self.record(write_to(stdout.lock(), rendered.as_bytes()));
        }
    }

    /// Prints a report: on a terminal with coloured verdicts, fitted to the width.
    pub(crate) fn report(&self, text: impl AsRef<str>) {
        let columns = Destination::of(&io::stdout()).columns();
        self.out_paged(report::report(text.as_ref(), columns));
    }

    /// Prints a whole text: its exact bytes, and on a terminal a line end if it has none.
    pub(crate) fn write_text(&self, text: &str) {
        let end = if text.ends_with('\n') || !io::stdout().is_terminal() { "" } else { "\n" };
        self.out_paged(format!("{text}{end}"));
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
                self.talk(incomplete_output(&error).to_text().trim_end());
                Exit::NoVerdict
            }
        }
    }

    /// Prints a line of data. On a terminal, line ends in quoted text are escaped.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        self.out(format!("{}\n", field(text.as_ref())));
    }

    /// Prints the JSON document.
    pub(crate) fn json(&self, value: &impl Serialize) {
        self.out(json_text(value));
    }

    /// Prints a remark. On a terminal, line ends in quoted text are escaped.
    pub(crate) fn remark(&self, text: impl AsRef<str>) {
        self.remark_text(&field(text.as_ref()));
    }

    /// Prints a remark of several lines. The caller puts quoted text on one line each.
    pub(crate) fn remark_text(&self, text: &str) {
        if !self.quiet {
            self.talk(text);
        }
    }

    /// Prints a warning. On a terminal, line ends in quoted text are escaped.
    pub(crate) fn warn(&self, text: impl AsRef<str>) {
        self.warn_text(&field(text.as_ref()));
    }

    /// Prints a warning of several lines. The caller puts quoted text on one line each. As in an error, no password
    /// is shown.
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
        // A failure to write to stderr can't be reported anywhere.
        let _ = stderr.lock().write_all(rendered.as_bytes());
    }

    /// A progress bar for indexing, as a function to call with changes done and total.
    pub(crate) fn indexing(&self) -> impl Fn(i64, i64) + Sync + use<> {
        let bar = self.progress("indexing");
        move |done, total| {
            bar.set_length(total.unsigned_abs());
            advance(&bar, done.unsigned_abs());
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

    /// A progress bar on stderr; invisible when quiet, when stderr is not a terminal, and until its length is known.
    /// It disappears when it is dropped.
    pub(crate) fn progress(&self, what: &'static str) -> ProgressBar {
        let hidden = self.quiet || !self.is_watched();
        let target =
            if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let line = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            // A failure to draw can't be reported anywhere.
            let _ = write!(out, "{}", progress_line(what, state));
        };
        let style = ProgressStyle::with_template("{line}").expect("the template is well formed");
        ProgressBar::with_draw_target(Some(0), target)
            .with_style(style.with_key("line", line))
            .with_finish(ProgressFinish::AndClear)
    }
}

/// Moves a bar forward. Threads that work at once report out of order, and a bar never goes back.
pub(crate) fn advance(bar: &ProgressBar, done: u64) {
    bar.set_position(bar.position().max(done));
}

/// The text of a progress bar; nothing while its length is unknown.
fn progress_line(what: &str, state: &ProgressState) -> String {
    const BAR: u64 = 32;
    let Some(total) = state.len().filter(|total| *total > 0) else { return String::new() };
    let done = (BAR * state.pos().min(total) / total) as usize;
    let bar = format!("{}{}", "█".repeat(done), "░".repeat(BAR as usize - done));
    let left = indicatif::HumanDuration(state.eta());
    let mut text = format!("{what:>10} {bar} {}/{}", state.pos(), total);
    if state.pos() > 0 && state.pos() < total {
        let _ = write!(text, "  {left} left");
    }
    text
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
pub(crate) fn incomplete_output(error: &io::Error) -> CliError {
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

pub(crate) fn highlight(text: &str) -> String {
    styled(TextStyle::BoldYellow, text)
}

/// Text that is right.
pub(crate) fn green(text: &str) -> String {
    styled(TextStyle::Green, text)
}

/// Text that needs attention.
pub(crate) fn yellow(text: &str) -> String {
    styled(TextStyle::Yellow, text)
}

/// The name of a verdict or a status, in its colour.
pub(crate) fn coloured_verdict(word: &str) -> String {
    report::verdict(word)
}

/// A paragraph for stdout, broken into lines that fit the terminal: the first behind `first`, the others behind `rest`.
pub(crate) fn wrap(first: &str, rest: &str, text: &str) -> String {
    layout::wrap(text, first, rest, Destination::of(&io::stdout()).columns())
}

/// A plain table for stdout, without rules, so that it pipes well. On a terminal it is fitted to the width, and a cell
/// shows its line ends escaped.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|row| row.into_iter().map(|cell| field(&cell)).collect()).collect();
    layout::table(head, &rows, Destination::of(&io::stdout()).columns())
}

/// A number of things, such as `1 hit` or `2 hits`.
pub(crate) fn count<N>(number: N, one: &str, many: &str) -> String
where
    N: std::fmt::Display + PartialEq + From<u8>,
{
    if number == N::from(1) { format!("1 {one}") } else { format!("{number} {many}") }
}

/// A time of a wire format as [`local_time`]; any other text as it is.
pub(crate) fn local_time_of(text: &str) -> String {
    text.parse().map_or_else(|_| text.to_owned(), local_time)
}

/// A time for people: the local date and time of day, to the minute.
pub(crate) fn local_time(at: Timestamp) -> String {
    let zone = TimeZone::try_system().unwrap_or(TimeZone::UTC);
    at.to_zoned(zone).strftime("%Y-%m-%d %H:%M").to_string()
}
