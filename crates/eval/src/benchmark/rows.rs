//! The file of rows: appended while a run goes on, taken up again after it was cut off.
//!
//! Promises: a row is one write; whatever the process is killed at, the next run finds whole rows and
//! repairs the last; a finished file holds every question once, in the order of the dataset, and at
//! most one summary, at its end.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use gbrain_core::benchmark::{BY_TYPE_SUMMARY, ByType, Outcome};
use gbrain_core::format::benchmark::{ByTypeSummary, Row};
use serde_json::Value;

use crate::output::{IsStream, is_stream, open_rows};
use crate::{EvalError, write_atomically};

/// A line that is kept: where it stood, what it says, and the line itself.
struct Kept {
    number: usize,
    outcome: Outcome,
    line: String,
}

/// Rows of a run, in memory and where they are asked for in a file.
pub struct RowFile {
    path: Option<PathBuf>,
    file: Option<File>,
    kept: Vec<Kept>,
    /// Lines that are no rows of ours, as they are.
    foreign: Vec<String>,
    /// Whether the file is in the order of the dataset so far.
    is_ordered: bool,
    is_stream: IsStream,
}

/// What a file to take up again held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resumed {
    /// Questions that are done.
    pub done: usize,
    /// Questions that failed and are asked again.
    pub failed: usize,
    /// Lines that can't be read; they stay in the file.
    pub unreadable: usize,
    /// Whether the last line was cut off, and was removed.
    pub cut_off: bool,
}

impl RowFile {
    /// A new file, or none. An existing file is replaced.
    pub fn create(path: Option<&Path>) -> Result<Self, EvalError> {
        let opened = path.map(|path| open_rows(path).map_err(io_of(path))).transpose()?;
        let is_stream = opened.as_ref().map_or(IsStream::No, |(_, is_stream)| *is_stream);
        let (file, path) = (opened.map(|(file, _)| file), path.map(Path::to_owned));
        let (kept, foreign) = (Vec::new(), Vec::new());
        Ok(Self { path, file, kept, foreign, is_ordered: true, is_stream })
    }

    /// Reads a file to go on from; [`RowFile::begin`] goes on in `output` (the same file, another, or
    /// none). Rows of another run are refused, because their numbers do not belong together, and so
    /// are a question that stands twice and a row that is not as it was written.
    pub fn resume(
        from: &Path,
        output: Option<&Path>,
        run: &str,
    ) -> Result<(Self, Resumed), EvalError> {
        let text = match std::fs::read(from) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            // The first run of a loop of resumes.
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(EvalError::Io { path: from.to_owned(), source }),
        };
        let mut resumed = Resumed::default();
        let (mut kept, mut foreign) = (Vec::new(), Vec::new());
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut bad = BadRows::new(from);
        let is_whole = text.is_empty() || text.ends_with('\n');
        let count = text.lines().count();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            if at + 1 == count && !is_whole && serde_json::from_str::<Value>(line).is_err() {
                resumed.cut_off = true;
                continue;
            }
            match read(line) {
                Line::Summary => {}
                Line::Unreadable => {
                    resumed.unreadable += 1;
                    foreign.push(line.to_owned());
                }
                Line::Row { outcome, .. } if outcome.run != run => {
                    return Err(EvalError::OtherRun {
                        path: from.to_owned(),
                        found: outcome.run.clone(),
                        run: run.to_owned(),
                    });
                }
                Line::Row { outcome, .. } if outcome.error.is_some() => resumed.failed += 1,
                Line::Row { outcome, is_intact } => {
                    let (number, id) = (at + 1, &outcome.question_id);
                    if let Some(first) = seen.insert(id.clone(), number) {
                        bad.add(number, format!("question `{id}` stands in line {first} already"));
                    } else if !is_intact {
                        bad.add(number, format!("the row of `{id}` was edited"));
                    }
                    kept.push(Kept { number, outcome: *outcome, line: line.to_owned() });
                }
            }
        }
        bad.result()?;
        resumed.done = kept.len();
        let is_ordered = resumed.failed == 0;
        let path = output.map(Path::to_owned);
        let is_stream = IsStream::No;
        Ok((Self { path, file: None, kept, foreign, is_ordered, is_stream }, resumed))
    }

    /// The rows to go on from, with their lines from 1.
    pub fn resumed(&self) -> impl Iterator<Item = (usize, &Outcome)> {
        self.kept.iter().map(|kept| (kept.number, &kept.outcome))
    }

    /// Goes on: from here on the file may change.
    pub fn begin(&mut self) -> Result<(), EvalError> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        if !is_stream(&path).map_err(io_of(&path))? {
            return self.rewrite(None);
        }
        let (mut file, is_stream) = open_rows(&path).map_err(io_of(&path))?;
        file.write_all(self.text(None).as_bytes()).map_err(io_of(&path))?;
        (self.file, self.is_stream) = (Some(file), is_stream);
        Ok(())
    }

    /// The questions that are done.
    pub fn done(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().map(|kept| kept.outcome.question_id.as_str())
    }

    /// Adds a row; gives it as a line.
    pub fn push(&mut self, outcome: Outcome) -> Result<&str, EvalError> {
        let row = Row::from(outcome.clone()).sealed();
        let mut line = serde_json::to_string(&row).expect("rows have text keys only");
        line.push('\n');
        if let (Some(file), Some(path)) = (&mut self.file, &self.path) {
            file.write_all(line.as_bytes()).map_err(io_of(path))?;
        }
        line.pop();
        self.kept.push(Kept { number: self.kept.len() + 1, outcome, line });
        Ok(&self.kept.last().expect("one was pushed").line)
    }

    /// Puts rows in the order of the dataset and a summary at the end. Rows that went into a pipe or a device stay in
    /// the order in which they were made.
    pub fn finish(
        &mut self,
        order: &[String],
        summary_measured: Option<String>,
    ) -> Result<(), EvalError> {
        let place: std::collections::HashMap<&str, usize> =
            order.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
        let place_of = |kept: &Kept| place.get(kept.outcome.question_id.as_str()).copied();
        let is_sorted = self.kept.is_sorted_by_key(|kept| place_of(kept).unwrap_or(usize::MAX));
        self.kept.sort_by_key(|kept| place_of(kept).unwrap_or(usize::MAX));
        let summary = summary_measured.map(|measured| summary_line(&self.by_type(), measured));
        if !is_sorted || !self.is_ordered || summary.is_some() {
            self.rewrite(summary.as_deref())?;
        }
        match (&self.file, &self.path) {
            (Some(file), Some(path)) if self.is_stream == IsStream::No => {
                file.sync_all().map_err(io_of(path))
            }
            _ => Ok(()),
        }
    }

    /// Recall by kind of question.
    pub fn by_type(&self) -> ByType {
        ByType::of(self.kept.iter().map(|kept| &kept.outcome))
    }

    /// Every outcome.
    pub fn into_outcomes(self) -> Vec<Outcome> {
        self.kept.into_iter().map(|kept| kept.outcome).collect()
    }

    /// Writes the whole file anew, in place of the old one at once. A stream gets what it does not have yet.
    fn rewrite(&mut self, summary: Option<&str>) -> Result<(), EvalError> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        if let (IsStream::Yes, Some(file)) = (self.is_stream, &mut self.file) {
            let line = summary.map_or_else(String::new, |summary| format!("{summary}\n"));
            return file.write_all(line.as_bytes()).map_err(io_of(&path));
        }
        let text = self.text(summary);
        self.file = None;
        write_atomically(&path, text.as_bytes())?;
        self.file = Some(OpenOptions::new().append(true).open(&path).map_err(io_of(&path))?);
        Ok(())
    }

    fn text(&self, summary: Option<&str>) -> String {
        let lines = self.foreign.iter().chain(self.kept.iter().map(|kept| &kept.line));
        let lines = lines.map(String::as_str).chain(summary);
        lines.flat_map(|line| [line, "\n"]).collect()
    }
}

/// The last line of a file, as the contract has it.
pub fn summary_line(by_type: &ByType, measured: String) -> String {
    let summary = ByTypeSummary::of(by_type, measured);
    serde_json::to_string(&summary).expect("summaries have text keys only")
}

enum Line {
    Row { outcome: Box<Outcome>, is_intact: bool },
    Summary,
    Unreadable,
}

fn read(line: &str) -> Line {
    let Ok(value) = serde_json::from_str::<Value>(line) else { return Line::Unreadable };
    if value.get("kind").and_then(Value::as_str) == Some(BY_TYPE_SUMMARY) {
        return Line::Summary;
    }
    match serde_json::from_value::<Row>(value) {
        Ok(row) => {
            let is_intact = row.is_intact();
            Line::Row { outcome: Box::new(row.into()), is_intact }
        }
        Err(_) => Line::Unreadable,
    }
}

/// Rows that can't be resumed from.
pub(super) struct BadRows {
    path: PathBuf,
    count: usize,
    shown: Vec<String>,
}

impl BadRows {
    /// As many are named one by one.
    const SHOWN: usize = 5;

    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), count: 0, shown: Vec::new() }
    }

    pub(super) fn add(&mut self, line: usize, reason: String) {
        self.count += 1;
        if self.shown.len() < Self::SHOWN {
            self.shown.push(format!("line {line}: {reason}"));
        }
    }

    pub(super) fn result(self) -> Result<(), EvalError> {
        let Self { path, count, shown } = self;
        if count == 0 { Ok(()) } else { Err(EvalError::BadRows { path, count, shown }) }
    }
}

fn io_of(path: &Path) -> impl FnOnce(io::Error) -> EvalError {
    let path = path.to_owned();
    move |source| EvalError::Io { path, source }
}
