//! Chooses the rubric.
//!
//! Guarantees: a rubric that needs an expected answer is never used without one.

use super::batch::Rows;
use super::{Rubric, RubricError};

/// Number of questions with and without an expected answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AnswerCounts {
    pub with: usize,
    pub without: usize,
}

impl AnswerCounts {
    pub fn of(expected: Option<&str>) -> Self {
        let with = usize::from(expected.is_some());
        Self { with, without: 1 - with }
    }

    pub fn of_rows(rows: &Rows) -> Self {
        let with = rows.questions.iter().filter(|question| question.answer.is_some()).count();
        Self { with, without: rows.questions.len() - with }
    }
}

/// Why no rubric can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    #[error("unknown rubric {0:?}; use `task-v1` or `qa-v1`")]
    Unknown(String),
    #[error(transparent)]
    Dimensions(#[from] RubricError),
    /// The rubric needs an expected answer, and a question has none.
    #[error(
        "the rubric `{rubric}` needs an expected answer, but {without} of {total} questions have none"
    )]
    NothingExpected {
        rubric: String,
        /// Number of questions without an expected answer.
        without: usize,
        total: usize,
    },
}

/// The named rubric with the named dimensions. By default, questions with an expected answer use
/// `qa-v1`, and outputs without one `task-v1`.
pub fn choose(
    name: Option<&str>,
    dimensions: Option<&str>,
    answers: AnswerCounts,
) -> Result<Rubric, ChoiceError> {
    let AnswerCounts { with, without } = answers;
    let rubric = match name {
        Some(name) => {
            Rubric::built_in(name).ok_or_else(|| ChoiceError::Unknown(name.to_owned()))?
        }
        None if with > 0 => Rubric::qa(),
        None => Rubric::task(),
    };
    let rubric = match dimensions {
        Some(dimensions) => rubric.with_dimensions(dimensions)?,
        None => rubric,
    };
    if without > 0 && rubric.needs_expected() {
        let (rubric, total) = (rubric.name(), with + without);
        return Err(ChoiceError::NothingExpected { rubric, without, total });
    }
    Ok(rubric)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Questions with an expected answer and without, and the rubric's name or the error.
    #[track_caller]
    fn check(named: [Option<&str>; 2], with: usize, without: usize, expected: &str) {
        let [name, dimensions] = named;
        let found = choose(name, dimensions, AnswerCounts { with, without });
        let found = found.map_or_else(|error| error.to_string(), |rubric| rubric.name());
        assert_eq!(found, expected);
    }

    #[test]
    fn rows_with_an_expected_answer_use_the_qa_rubric() {
        check([None, None], 3, 0, "qa-v1");
        check([None, None], 0, 3, "task-v1");
        check([Some("task-v1"), None], 3, 0, "task-v1");
        check([Some("task-v1"), None], 2, 1, "task-v1");
        check([None, Some("directness")], 2, 1, "custom-v1");
        check([None, Some("depth")], 0, 1, "custom-v1");
    }

    #[test]
    fn nothing_is_compared_with_what_is_not_there() {
        let compares = "needs an expected answer, but";
        check(
            [None, None],
            2,
            1,
            &format!("the rubric `qa-v1` {compares} 1 of 3 questions have none"),
        );
        check(
            [Some("qa-v1"), None],
            0,
            1,
            &format!("the rubric `qa-v1` {compares} 1 of 1 questions have none"),
        );
        check(
            [Some("qa-v1"), Some("correctness")],
            0,
            2,
            &format!("the rubric `custom-v1` {compares} 2 of 2 questions have none"),
        );
        check([Some("qa"), None], 1, 0, "unknown rubric \"qa\"; use `task-v1` or `qa-v1`");
    }
}
