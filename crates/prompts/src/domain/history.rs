//! `.eval.jsonl`: one line per evaluation, and the state of the last complete one.

use jiff::Timestamp;

use super::logs::EvalLine;

/// One run of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalRow {
    pub ts: Timestamp,
    /// The number of cases.
    pub total: u64,
    pub passed: u64,
    /// The names of the failed cases.
    pub failed_cases: Vec<String>,
    /// Whether only selected cases ran. Such a row opens no gate.
    pub partial: bool,
    /// The hash of the prompt (template, hooks, defaults and model); rows of other tools have none.
    pub prompt_hash: Option<String>,
    /// The hash of the cases: `eval.yml` and the input files that it names.
    pub eval_hash: Option<String>,
    /// The model that answered, if one was named.
    pub model: Option<String>,
}

/// The state of the evaluation for the prompt as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvalState {
    /// The last complete one passed, with this prompt and these cases.
    Green,
    /// It passed, but has no hash of the prompt, so it opens no gate.
    Unsigned,
    Red,
    /// It was about another prompt or other cases.
    Stale,
    Missing,
    /// There is no `eval.yml`.
    Undefined,
}

impl EvalState {
    /// A short name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Unsigned => "green, of an unknown text",
            Self::Red => "red",
            Self::Stale => "stale",
            Self::Missing => "missing",
            Self::Undefined => "no eval.yml",
        }
    }

    /// The reason that it opens no gate; `None` if it does.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::Green => None,
            Self::Unsigned => Some("the last whole run does not say of which text it was"),
            Self::Red => Some("the last whole run failed"),
            Self::Stale => Some(
                "the text, verifier, defaults, model or cases changed since the last whole run",
            ),
            Self::Missing => Some("never run whole"),
            Self::Undefined => Some("there is no eval.yml"),
        }
    }
}

impl EvalRow {
    /// Whether every case passed. An evaluation without cases does not pass.
    pub fn all_passed(&self) -> bool {
        self.total > 0 && self.passed == self.total && self.failed_cases.is_empty()
    }

    /// The line, with a newline.
    pub fn to_line(&self) -> String {
        serde_json::to_string(&EvalLine::new(self)).expect("a row has text keys only") + "\n"
    }

    /// Parses a line; `None` if it is malformed or contradicts itself.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str::<EvalLine>(line).ok()?.row()
    }
}

/// The rows of a log, and the number of malformed lines.
pub fn eval_rows(text: &str) -> (Vec<EvalRow>, u64) {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let (mut rows, mut malformed) = (Vec::new(), 0);
    for line in lines {
        match EvalRow::parse(line) {
            Some(row) => rows.push(row),
            None => malformed += 1,
        }
    }
    (rows, malformed)
}

/// The evaluation state by the last complete row, for a prompt and its cases.
pub fn last_whole(rows: &[EvalRow], prompt_hash: &str, eval_hash: Option<&str>) -> EvalState {
    let Some(eval_hash) = eval_hash else { return EvalState::Undefined };
    let Some(row) = rows.iter().rfind(|row| !row.partial) else { return EvalState::Missing };
    let differs = |of: &Option<String>, now: &str| of.as_ref().is_some_and(|of| of != now);
    if !row.all_passed() {
        EvalState::Red
    } else if differs(&row.prompt_hash, prompt_hash) || differs(&row.eval_hash, eval_hash) {
        EvalState::Stale
    } else if row.prompt_hash.is_none() || row.eval_hash.is_none() {
        EvalState::Unsigned
    } else {
        EvalState::Green
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(passed: u64, total: u64, partial: bool, prompt: Option<&str>) -> EvalRow {
        EvalRow {
            ts: "2026-05-05T09:31:00Z".parse().unwrap(),
            total,
            passed,
            failed_cases: (passed..total).map(|case| format!("case {case}")).collect(),
            partial,
            prompt_hash: prompt.map(str::to_owned),
            eval_hash: prompt.map(|_| "e".to_owned()),
            model: None,
        }
    }

    #[track_caller]
    fn check(rows: &[EvalRow], expected: EvalState) {
        assert_eq!(last_whole(rows, "p", Some("e")), expected);
    }

    #[test]
    fn only_a_whole_run_of_this_text_is_green() {
        check(&[], EvalState::Missing);
        check(&[row(2, 2, false, Some("p"))], EvalState::Green);
        check(&[row(1, 2, false, Some("p")), row(1, 1, true, Some("p"))], EvalState::Red);
        check(&[row(1, 1, true, Some("p"))], EvalState::Missing);
        check(&[row(2, 2, false, Some("p")), row(0, 1, true, Some("p"))], EvalState::Green);
        check(&[row(2, 2, false, Some("other"))], EvalState::Stale);
        check(&[row(2, 2, false, None)], EvalState::Unsigned);
        check(&[row(0, 0, false, Some("p"))], EvalState::Red);
        assert_eq!(last_whole(&[row(2, 2, false, Some("p"))], "p", None), EvalState::Undefined);
        assert_eq!(last_whole(&[row(2, 2, false, Some("p"))], "p", Some("f")), EvalState::Stale);
    }

    #[test]
    fn a_row_reads_back_and_lies_are_not_rows() {
        let line = row(1, 2, true, Some("p")).to_line();
        assert!(line.starts_with(r#"{"ts":"2026-05-05T09:31:00Z","all_passed":false,"total":2,"passed":1,"failed_cases":["case 1"],"#));
        assert_eq!(EvalRow::parse(&line), Some(row(1, 2, true, Some("p"))));
        let card = r#"{"ts":"2026-05-05T09:31:00Z","all_passed":true,"total":2,"passed":2,"failed_cases":[]}"#;
        assert_eq!(EvalRow::parse(card), Some(row(2, 2, false, None)));
        let (rows, malformed) = eval_rows(&format!(
            "{card}\n\n{}\n{}\nx\n",
            card.replace("\"passed\":2", "\"passed\":1"),
            card.replace("\"total\":2,\"passed\":2", "\"total\":0,\"passed\":0"),
        ));
        assert_eq!((rows.len(), malformed), (1, 3));
    }
}
