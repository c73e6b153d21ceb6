//! Which rubric is meant.
//!
//! Promises: nothing is compared with an expected answer that is not there.

use super::batch::Rows;
use super::{Rubric, RubricError};

/// What is known of the questions: how many have an expected answer, and how many have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answers {
    /// Questions with an expected answer.
    pub with: usize,
    pub without: usize,
}

impl Answers {
    /// Of one question.
    pub fn of(expected: Option<&str>) -> Self {
        let with = usize::from(expected.is_some());
        Self { with, without: 1 - with }
    }

    /// Of the questions that are to be judged.
    pub fn of_rows(rows: &Rows) -> Self {
        let with = rows.questions.iter().filter(|question| question.answer.is_some()).count();
        Self { with, without: rows.questions.len() - with }
    }
}

/// Why no rubric is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// There is none of that name.
    #[error("there is no rubric {0:?}; there are `task-v1` and `qa-v1`")]
    Unknown(String),
    /// Its dimensions make no rubric.
    #[error(transparent)]
    Dimensions(#[from] RubricError),
    /// It compares with what is not there.
    #[error(
        "the rubric `{rubric}` compares with an expected answer, and {without} of {total} have none"
    )]
    NothingExpected {
        rubric: String,
        /// How many have none.
        without: usize,
        total: usize,
    },
}

/// The rubric that was named, with the dimensions that were named. Where nobody names one, what has an
/// expected answer is compared with it (`qa-v1`), and an output without is judged by its task
/// (`task-v1`).
pub fn choose(
    name: Option<&str>,
    dimensions: Option<&str>,
    answers: Answers,
) -> Result<Rubric, ChoiceError> {
    let Answers { with, without } = answers;
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
        let found = choose(name, dimensions, Answers { with, without });
        let found = found.map_or_else(|error| error.to_string(), |rubric| rubric.name());
        assert_eq!(found, expected);
    }

    #[test]
    fn what_has_an_expected_answer_is_compared_with_it() {
        check([None, None], 3, 0, "qa-v1");
        check([None, None], 0, 3, "task-v1");
        check([Some("task-v1"), None], 3, 0, "task-v1");
        check([Some("task-v1"), None], 2, 1, "task-v1");
        check([None, Some("directness")], 2, 1, "custom-v1");
        check([None, Some("depth")], 0, 1, "custom-v1");
    }

    #[test]
    fn nothing_is_compared_with_what_is_not_there() {
        let compares = "compares with an expected answer, and";
        check([None, None], 2, 1, &format!("the rubric `qa-v1` {compares} 1 of 3 have none"));
        check(
            [Some("qa-v1"), None],
            0,
            1,
            &format!("the rubric `qa-v1` {compares} 1 of 1 have none"),
        );
        check(
            [Some("qa-v1"), Some("correctness")],
            0,
            2,
            &format!("the rubric `custom-v1` {compares} 2 of 2 have none"),
        );
        check(
            [Some("qa"), None],
            1,
            0,
            "there is no rubric \"qa\"; there are `task-v1` and `qa-v1`",
        );
    }
}
