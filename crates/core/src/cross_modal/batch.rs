//! Judges a batch: reads the rows of a benchmark and combines their verdicts.
//!
//! Guarantees: every line is counted. A row that cannot be judged makes the batch an error; an
//! unjudged row never helps it pass.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::JudgeInput;
use crate::benchmark::BY_TYPE_SUMMARY;
use crate::gate::Verdict;
use crate::named;

/// A row to judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowToJudge {
    /// The question id, or `line-N`.
    pub id: String,
    pub question: String,
    pub answer: Option<String>,
    pub hypothesis: String,
}

impl RowToJudge {
    /// The input for a panel.
    pub fn case(&self) -> JudgeInput<'_> {
        JudgeInput {
            task: &self.question,
            expected: self.answer.as_deref(),
            output: &self.hypothesis,
        }
    }
}

/// A line that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedLine {
    /// Line number, from 1.
    pub line: usize,
    pub why: String,
}

/// A row without an answer, because the answering system failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnansweredRow {
    /// The question id, or `line-N`.
    pub id: String,
    pub error: String,
}

/// The rows of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rows {
    /// Questions to judge, in order.
    pub questions: Vec<RowToJudge>,
    pub upstream: Vec<UnansweredRow>,
    pub malformed: Vec<MalformedLine>,
    /// Questions beyond the limit.
    pub beyond_limit: usize,
}

enum Line {
    Question(RowToJudge),
    UnansweredRow(UnansweredRow),
    /// An empty line or the summary.
    Passed,
}

impl Rows {
    /// Parses JSON lines. Empty lines and the summary by type are skipped. A row with an `error` is
    /// not judged; a row without a question or an answer, or with a duplicate id, is malformed.
    pub fn read(text: &str) -> Self {
        let mut rows = Self::default();
        let mut ids = BTreeSet::new();
        for (at, text) in text.lines().enumerate() {
            let line = at + 1;
            let read = read_line(line, text.trim_start_matches('\u{feff}'));
            let (id, read) = match read {
                Ok(Line::Passed) => continue,
                Ok(Line::Question(question)) => (question.id.clone(), Ok(Line::Question(question))),
                Ok(Line::UnansweredRow(upstream)) => {
                    (upstream.id.clone(), Ok(Line::UnansweredRow(upstream)))
                }
                Err(why) => (format!("line-{line}"), Err(why)),
            };
            let is_new = ids.insert(id.clone());
            let read = if is_new { read } else { Err(format!("duplicate id {id:?}")) };
            match read {
                Ok(Line::Question(question)) => rows.questions.push(question),
                Ok(Line::UnansweredRow(upstream)) => rows.upstream.push(upstream),
                Ok(Line::Passed) => {}
                Err(why) => rows.malformed.push(MalformedLine { line, why }),
            }
        }
        rows
    }

    /// Keeps the first `limit` questions. Rows that cannot be judged still count.
    #[must_use]
    pub fn limited(mut self, limit: usize) -> Self {
        self.beyond_limit += self.questions.len().saturating_sub(limit);
        self.questions.truncate(limit);
        self
    }
}

fn read_line(line: usize, text: &str) -> Result<Line, String> {
    if text.trim().is_empty() {
        return Ok(Line::Passed);
    }
    let row: Value =
        serde_json::from_str(text).map_err(|error| crate::reading::without_position(&error))?;
    let row = row.as_object().ok_or("not an object")?;
    if row.get("kind").and_then(Value::as_str) == Some(BY_TYPE_SUMMARY) {
        return Ok(Line::Passed);
    }
    let id = text_of(row, "question_id").unwrap_or_else(|| format!("line-{line}"));
    match row.get("error") {
        None | Some(Value::Null) => {}
        Some(Value::String(error)) if error.is_empty() => {}
        Some(Value::String(error)) => {
            return Ok(Line::UnansweredRow(UnansweredRow { id, error: error.clone() }));
        }
        Some(error) => {
            return Ok(Line::UnansweredRow(UnansweredRow { id, error: error.to_string() }));
        }
    }
    Ok(Line::Question(RowToJudge {
        id,
        question: text_of(row, "question").ok_or("no text under `question`")?,
        answer: answer(row)?,
        hypothesis: text_of(row, "hypothesis").ok_or("no text under `hypothesis`")?,
    }))
}

/// A text that is not blank.
fn text_of(row: &Map<String, Value>, key: &str) -> Option<String> {
    let text = row.get(key).and_then(Value::as_str)?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

/// The expected answer; LongMemEval also has numeric answers.
fn answer(row: &Map<String, Value>) -> Result<Option<String>, String> {
    match row.get("answer") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(answer)) if answer.trim().is_empty() => Ok(None),
        Some(Value::String(answer)) => Ok(Some(answer.clone())),
        Some(Value::Number(answer)) => Ok(Some(answer.to_string())),
        Some(_) => Err("`answer` is neither a text nor a number".to_owned()),
    }
}

named! {
    /// The verdict on one row.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum RowVerdict {
        Pass = "pass",
        /// The panel reached no verdict.
        Inconclusive = "inconclusive",
        Fail = "fail",
        Error = "error",
        UpstreamError = "upstream_error",
    }
}

impl From<Verdict> for RowVerdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Inconclusive => Self::Inconclusive,
            Verdict::Fail => Self::Fail,
        }
    }
}

named! {
    /// The verdict on all rows, from good to bad.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum BatchVerdict {
        Pass = "pass",
        Inconclusive = "inconclusive",
        Fail = "fail",
        /// A row could not be judged, or there are no rows.
        Error = "error",
    }
}

impl BatchVerdict {
    /// The exit code: 0 pass, 1 fail, 2 inconclusive or error.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Fail => 1,
            Self::Inconclusive | Self::Error => 2,
        }
    }
}

/// Number of rows by verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VerdictCounts {
    pub pass: usize,
    pub fail: usize,
    /// Rows without a verdict.
    pub inconclusive: usize,
    /// Rows that could not be judged.
    pub error: usize,
    /// Rows that were not answered.
    pub upstream_error: usize,
    /// Lines that could not be parsed.
    pub malformed: usize,
}

impl VerdictCounts {
    /// Counts rows, in addition to `malformed` lines.
    pub fn of(rows: impl IntoIterator<Item = RowVerdict>, malformed: usize) -> Self {
        let mut counts = Self { malformed, ..Self::default() };
        for row in rows {
            *match row {
                RowVerdict::Pass => &mut counts.pass,
                RowVerdict::Inconclusive => &mut counts.inconclusive,
                RowVerdict::Fail => &mut counts.fail,
                RowVerdict::Error => &mut counts.error,
                RowVerdict::UpstreamError => &mut counts.upstream_error,
            } += 1;
        }
        counts
    }

    pub fn total(&self) -> usize {
        let Self { pass, fail, inconclusive, error, upstream_error, malformed } = *self;
        pass + fail + inconclusive + error + upstream_error + malformed
    }

    /// The worst verdict: error, fail, inconclusive, pass. Without rows, an error.
    pub fn verdict(&self) -> BatchVerdict {
        let Self { pass, fail, inconclusive, error, upstream_error, malformed } = *self;
        if error + upstream_error + malformed > 0 {
            BatchVerdict::Error
        } else if fail > 0 {
            BatchVerdict::Fail
        } else if inconclusive > 0 {
            BatchVerdict::Inconclusive
        } else if pass > 0 {
            BatchVerdict::Pass
        } else {
            BatchVerdict::Error
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_in() {
        let rows = Rows::read(concat!(
            "\u{feff}{\"question_id\":\"q1\",\"question\":\"Who?\",\"answer\":\"Ada\",\"hypothesis\":\"Ada.\"}\n",
            "\n",
            "{\"question\":\"How many?\",\"answer\":3,\"hypothesis\":\"3\",\"error\":\"\"}\n",
            "{\"question_id\":\"q3\",\"question\":\"Why?\",\"hypothesis\":\"\",\"error\":\"no key\"}\n",
            "{\"kind\":\"by_type_summary\",\"question_id\":\"by_type_summary\"}\n",
        ));
        let question = |id: &str, question: &str, answer: &str, hypothesis: &str| RowToJudge {
            id: id.to_owned(),
            question: question.to_owned(),
            answer: Some(answer.to_owned()),
            hypothesis: hypothesis.to_owned(),
        };
        let expected =
            [question("q1", "Who?", "Ada", "Ada."), question("line-3", "How many?", "3", "3")];
        assert_eq!(rows.questions, expected);
        assert_eq!(
            rows.upstream,
            [UnansweredRow { id: "q3".to_owned(), error: "no key".to_owned() }]
        );
        assert_eq!(rows.malformed, []);
    }

    #[track_caller]
    fn malformed(line: &str, why: &str) {
        let rows = Rows::read(line);
        assert_eq!(rows.malformed, [MalformedLine { line: 1, why: why.to_owned() }], "{line}");
        assert_eq!(rows.questions, []);
    }

    #[test]
    fn malformed_rows_are_reported() {
        malformed("{", "EOF while parsing an object at column 1");
        malformed("[]", "not an object");
        malformed("{\"hypothesis\":\"x\"}", "no text under `question`");
        malformed("{\"question\":\"x\",\"hypothesis\":\" \"}", "no text under `hypothesis`");
        malformed("{\"question\":\"x\",\"hypothesis\":7}", "no text under `hypothesis`");
        malformed(
            "{\"question\":\"x\",\"hypothesis\":\"y\",\"answer\":[]}",
            "`answer` is neither a text nor a number",
        );
    }

    #[test]
    fn an_id_stands_once() {
        let row = "{\"question_id\":\"q\",\"question\":\"x\",\"hypothesis\":\"y\"}";
        let rows = Rows::read(&format!("{row}\n{row}\n"));
        assert_eq!(rows.questions.len(), 1);
        let why = "duplicate id \"q\"".to_owned();
        assert_eq!(rows.malformed, [MalformedLine { line: 2, why }]);
    }

    #[test]
    fn a_limit_cuts_questions_only() {
        let row = |id: usize| {
            format!("{{\"question_id\":\"{id}\",\"question\":\"x\",\"hypothesis\":\"y\"}}\n")
        };
        let text: String = (0..5).map(row).chain(["oops\n".to_owned()]).collect();
        let rows = Rows::read(&text).limited(2);
        assert_eq!((rows.questions.len(), rows.beyond_limit, rows.malformed.len()), (2, 3, 1));
    }

    #[track_caller]
    fn check(rows: &[RowVerdict], malformed: usize, expected: BatchVerdict, exit: u8) {
        let counts = VerdictCounts::of(rows.iter().copied(), malformed);
        assert_eq!(counts.total(), rows.len() + malformed);
        assert_eq!((counts.verdict(), counts.verdict().exit_code()), (expected, exit), "{rows:?}");
    }

    #[test]
    fn error_before_fail_before_inconclusive_before_pass() {
        use RowVerdict::{Error, Fail, Inconclusive, Pass, UpstreamError};
        check(&[Pass, Pass], 0, BatchVerdict::Pass, 0);
        check(&[Pass, Inconclusive], 0, BatchVerdict::Inconclusive, 2);
        check(&[Inconclusive, Fail, Pass], 0, BatchVerdict::Fail, 1);
        check(&[Fail, Error], 0, BatchVerdict::Error, 2);
        check(&[Fail, UpstreamError], 0, BatchVerdict::Error, 2);
        check(&[Pass], 1, BatchVerdict::Error, 2);
        check(&[], 0, BatchVerdict::Error, 2);
    }
}
