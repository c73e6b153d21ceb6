//! The row file of a run: appended during the run, and resumable after an interruption.
//!
//! Promises: each row is one write; if the process is killed at any time, the next run finds
//! complete rows and removes a truncated last one; a finished file contains every question once, in
//! the order of the dataset, and at most one summary, at its end.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use gbrain_core::benchmark::{BY_TYPE_SUMMARY, ByType, QuestionOutcome};
use gbrain_core::format::benchmark::{BenchmarkRow, ByTypeSummary};
use serde_json::Value;

use crate::output::{IsStream, is_stream, open_rows};
use crate::{EvalError, write_atomically};

/// A row with its line number and text.
struct StoredRow {
    number: usize,
    outcome: QuestionOutcome,
    line: String,
}

/// Rows of a run, in memory and optionally in a file.
pub struct RowFile {
    path: Option<PathBuf>,
    file: Option<File>,
    kept: Vec<StoredRow>,
    /// Lines that are not rows, unchanged.
    foreign: Vec<String>,
    /// Whether the file is in dataset order so far.
    is_ordered: bool,
    is_stream: IsStream,
}

/// The content of a file to resume from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResumeState {
    /// Number of completed questions.
    pub done: usize,
    /// Failed questions, which are asked again.
    pub failed: usize,
    /// Unparseable lines, which stay in the file.
    pub unreadable: usize,
    /// Whether a truncated last line was removed.
    pub cut_off: bool,
}

impl RowFile {
    /// A new file, or none. An existing file is replaced.
    pub fn create(path: Option<&Path>) -> Result<Self, EvalError> {
        let opened = path.map(|path| open_rows(path).map_err(io_error(path))).transpose()?;
        let is_stream = opened.as_ref().map_or(IsStream::No, |(_, is_stream)| *is_stream);
        let (file, path) = (opened.map(|(file, _)| file), path.map(Path::to_owned));
        let (kept, foreign) = (Vec::new(), Vec::new());
        Ok(Self { path, file, kept, foreign, is_ordered: true, is_stream })
    }

    /// Reads a file to resume from; [`RowFile::begin`] continues in `output` (the same file,
    /// another, or none). Rejects rows of another run, repeated questions and edited rows.
    pub fn resume(
        from: &Path,
        output: Option<&Path>,
        run: &str,
    ) -> Result<(Self, ResumeState), EvalError> {
        let text = match std::fs::read(from) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            // The first run of a resume loop.
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(EvalError::Io { path: from.to_owned(), source }),
        };
        let mut resumed = ResumeState::default();
        let (mut kept, mut foreign) = (Vec::new(), Vec::new());
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut bad = BadRows::new(from);
        let ends_with_newline = text.is_empty() || text.ends_with('\n');
        let count = text.lines().count();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            if at + 1 == count && !ends_with_newline && serde_json::from_str::<Value>(line).is_err()
            {
                resumed.cut_off = true;
                continue;
            }
            match parse_line(line) {
                RowLine::Summary => {}
                RowLine::Unreadable => {
                    resumed.unreadable += 1;
                    foreign.push(line.to_owned());
                }
                RowLine::Row { outcome, .. } if outcome.run != run => {
                    return Err(EvalError::OtherRun {
                        path: from.to_owned(),
                        found: outcome.run.clone(),
                        run: run.to_owned(),
                    });
                }
                RowLine::Row { outcome, .. } if outcome.error.is_some() => resumed.failed += 1,
                RowLine::Row { outcome, is_intact } => {
                    let (number, id) = (at + 1, &outcome.question_id);
                    if let Some(first) = seen.insert(id.clone(), number) {
                        bad.add(number, format!("question `{id}` is already in line {first}"));
                    } else if !is_intact {
                        bad.add(number, format!("the row of `{id}` was edited"));
                    }
                    kept.push(StoredRow { number, outcome: *outcome, line: line.to_owned() });
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

    /// The resumed rows, with their line numbers from 1.
    pub fn resumed(&self) -> impl Iterator<Item = (usize, &QuestionOutcome)> {
        self.kept.iter().map(|kept| (kept.number, &kept.outcome))
    }

    /// Starts writing: the file may change from now on.
    pub fn begin(&mut self) -> Result<(), EvalError> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        if !is_stream(&path).map_err(io_error(&path))? {
            return self.rewrite(None);
        }
        let (mut file, is_stream) = open_rows(&path).map_err(io_error(&path))?;
        file.write_all(self.text(None).as_bytes()).map_err(io_error(&path))?;
        (self.file, self.is_stream) = (Some(file), is_stream);
        Ok(())
    }

    /// The ids of the completed questions.
    pub fn done(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().map(|kept| kept.outcome.question_id.as_str())
    }

    /// Adds a row; returns it as a line.
    pub fn push(&mut self, outcome: QuestionOutcome) -> Result<&str, EvalError> {
        let row = BenchmarkRow::from(outcome.clone()).sealed();
        let mut line = serde_json::to_string(&row).expect("rows have text keys only");
        line.push('\n');
        if let (Some(file), Some(path)) = (&mut self.file, &self.path) {
            file.write_all(line.as_bytes()).map_err(io_error(path))?;
        }
        line.pop();
        self.kept.push(StoredRow { number: self.kept.len() + 1, outcome, line });
        Ok(&self.kept.last().expect("one was pushed").line)
    }

    /// Sorts rows in dataset order and appends a summary. Rows written to a pipe or device stay in
    /// the order of completion.
    pub fn finish(
        &mut self,
        order: &[String],
        summary_measured: Option<String>,
    ) -> Result<(), EvalError> {
        let positions: std::collections::HashMap<&str, usize> =
            order.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
        let position_of =
            |kept: &StoredRow| positions.get(kept.outcome.question_id.as_str()).copied();
        let is_sorted = self.kept.is_sorted_by_key(|kept| position_of(kept).unwrap_or(usize::MAX));
        self.kept.sort_by_key(|kept| position_of(kept).unwrap_or(usize::MAX));
        let summary = summary_measured.map(|measured| summary_line(&self.by_type(), measured));
        if !is_sorted || !self.is_ordered || summary.is_some() {
            self.rewrite(summary.as_deref())?;
        }
        match (&self.file, &self.path) {
            (Some(file), Some(path)) if self.is_stream == IsStream::No => {
                file.sync_all().map_err(io_error(path))
            }
            _ => Ok(()),
        }
    }

    /// Recall by question type.
    pub fn by_type(&self) -> ByType {
        ByType::of(self.kept.iter().map(|kept| &kept.outcome))
    }

    pub fn into_outcomes(self) -> Vec<QuestionOutcome> {
        self.kept.into_iter().map(|kept| kept.outcome).collect()
    }

    /// Rewrites the whole file atomically. A stream only gets the summary.
    fn rewrite(&mut self, summary: Option<&str>) -> Result<(), EvalError> {
        let Some(path) = self.path.clone() else { return Ok(()) };
        if let (IsStream::Yes, Some(file)) = (self.is_stream, &mut self.file) {
            let line = summary.map_or_else(String::new, |summary| format!("{summary}\n"));
            return file.write_all(line.as_bytes()).map_err(io_error(&path));
        }
        let text = self.text(summary);
        self.file = None;
        write_atomically(&path, text.as_bytes())?;
        self.file = Some(OpenOptions::new().append(true).open(&path).map_err(io_error(&path))?);
        Ok(())
    }

    fn text(&self, summary: Option<&str>) -> String {
        let lines = self.foreign.iter().chain(self.kept.iter().map(|kept| &kept.line));
        let lines = lines.map(String::as_str).chain(summary);
        lines.flat_map(|line| [line, "\n"]).collect()
    }
}

/// The last line of a file, as the format defines it.
pub fn summary_line(by_type: &ByType, measured: String) -> String {
    let summary = ByTypeSummary::of(by_type, measured);
    serde_json::to_string(&summary).expect("summaries have text keys only")
}

enum RowLine {
    Row { outcome: Box<QuestionOutcome>, is_intact: bool },
    Summary,
    Unreadable,
}

fn parse_line(line: &str) -> RowLine {
    let Ok(value) = serde_json::from_str::<Value>(line) else { return RowLine::Unreadable };
    if value.get("kind").and_then(Value::as_str) == Some(BY_TYPE_SUMMARY) {
        return RowLine::Summary;
    }
    match serde_json::from_value::<BenchmarkRow>(value) {
        Ok(row) => {
            let is_intact = row.is_intact();
            RowLine::Row { outcome: Box::new(row.into()), is_intact }
        }
        Err(_) => RowLine::Unreadable,
    }
}

/// Rows that prevent resuming.
pub(super) struct BadRows {
    path: PathBuf,
    count: usize,
    shown: Vec<String>,
}

impl BadRows {
    const MAX_SHOWN: usize = 5;

    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), count: 0, shown: Vec::new() }
    }

    pub(super) fn add(&mut self, line: usize, reason: String) {
        self.count += 1;
        if self.shown.len() < Self::MAX_SHOWN {
            self.shown.push(format!("line {line}: {reason}"));
        }
    }

    pub(super) fn result(self) -> Result<(), EvalError> {
        let Self { path, count, shown } = self;
        if count == 0 { Ok(()) } else { Err(EvalError::BadRows { path, count, shown }) }
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> EvalError {
    let path = path.to_owned();
    move |source| EvalError::Io { path, source }
}
