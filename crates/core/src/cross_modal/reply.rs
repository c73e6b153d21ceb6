//! Parses a judge's reply into a vote.
//!
//! Guarantees: a vote has exactly the rubric's dimensions, each an integer from 1 to 10. A reply
//! with a missing dimension, an additional one or a score out of range is an error, never a partial
//! vote.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{HIGHEST, LOWEST, Rubric};
use crate::repair::{Repair, RepairError, repair};

/// The scores of one judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeVote {
    /// A score for each dimension, in the rubric's order.
    pub scores: Vec<u8>,
    pub improvements: Vec<String>,
    /// Repairs that were needed to parse the reply.
    pub repairs: BTreeSet<Repair>,
}

/// Why a reply is not a vote.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReplyError {
    #[error(transparent)]
    Json(#[from] RepairError),
    #[error("the reply has no object `scores`")]
    NoScores,
    #[error("the reply does not score `{0}`")]
    Missing(String),
    /// A dimension that the rubric does not have.
    #[error("the reply scores {0:?}, which the rubric does not have")]
    Extra(String),
    #[error("the reply scores `{key}` with {found}; a score is a whole number from 1 to 10")]
    Score { key: String, found: String },
}

/// Maximum number of characters of a reply that an error quotes.
const QUOTED: usize = 40;

/// Parses a reply: `{"scores": {"depth": 7, ...}, "improvements": ["..."]}`. A score may also be an
/// object with the number under `score`. Improvements that are not strings are ignored.
pub fn read(rubric: &Rubric, reply: &str) -> Result<JudgeVote, ReplyError> {
    let repaired = repair(reply)?;
    let scores = repaired.value.get("scores").and_then(Value::as_object);
    let scores = scores.ok_or(ReplyError::NoScores)?;
    if let Some(extra) = scores.keys().find(|key| rubric.dimension_index(key).is_none()) {
        return Err(ReplyError::Extra(short(extra)));
    }
    let read = |dimension: &super::RubricDimension| score(scores, &dimension.key);
    Ok(JudgeVote {
        scores: rubric.dimensions.iter().map(read).collect::<Result<_, _>>()?,
        improvements: improvements(&repaired.value),
        repairs: repaired.repairs,
    })
}

fn score(scores: &Map<String, Value>, key: &str) -> Result<u8, ReplyError> {
    let found = scores.get(key).ok_or_else(|| ReplyError::Missing(key.to_owned()))?;
    let number = found.as_object().map_or(Some(found), |object| object.get("score"));
    // 7.0 is an integer too.
    let score = number
        .and_then(Value::as_f64)
        .and_then(|number| (LOWEST..=HIGHEST).find(|score| f64::from(*score) == number));
    score.ok_or_else(|| ReplyError::Score { key: key.to_owned(), found: short(&found.to_string()) })
}

fn improvements(reply: &Value) -> Vec<String> {
    let listed = reply.get("improvements").and_then(Value::as_array);
    let texts = listed.into_iter().flatten().filter_map(Value::as_str).map(str::trim);
    texts.filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

fn short(text: &str) -> String {
    text.chars().take(QUOTED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(reply: &str, expected: Result<&[u8], &str>) {
        let vote = read(&Rubric::qa(), reply).map(|vote| vote.scores);
        let expected = expected.map(<[u8]>::to_vec).map_err(str::to_owned);
        assert_eq!(vote.map_err(|error| error.to_string()), expected, "{reply}");
    }

    #[test]
    fn a_vote_has_the_dimensions_of_the_rubric_in_its_order() {
        check(r#"{"scores": {"directness": 8, "correctness": 7}}"#, Ok(&[7, 8]));
        check(
            "```\n{scores: {correctness: {score: 10, why: 'right'}, directness: 1.0,},}\n```",
            Ok(&[10, 1]),
        );
    }

    #[test]
    fn anything_else_is_no_vote() {
        check(r#"{"scores": {"correctness": 7}}"#, Err("the reply does not score `directness`"));
        check(
            r#"{"scores": {"correctness": 7, "directness": 7, "Correctness": 7}}"#,
            Err("the reply scores \"Correctness\", which the rubric does not have"),
        );
        for bad in ["0", "11", "7.5", "\"7\"", "null", "-1", "1e2", "{}", "[7]", "true"] {
            let reply = format!(r#"{{"scores": {{"correctness": {bad}, "directness": 7}}}}"#);
            let message = format!(
                "the reply scores `correctness` with {}; a score is a whole number from 1 to 10",
                serde_json::from_str::<Value>(bad).unwrap()
            );
            check(&reply, Err(&message));
        }
        check(r#"{"correctness": 7, "directness": 7}"#, Err("the reply has no object `scores`"));
        check("[1]", Err("the reply has no object `scores`"));
        check("I'd say 7.", Err("the reply contains no JSON object"));
    }

    #[test]
    fn improvements_are_texts() {
        let reply =
            r#"{"scores": {"correctness": 7, "directness": 7}, "improvements": [" a ", 3, ""]}"#;
        assert_eq!(read(&Rubric::qa(), reply).unwrap().improvements, ["a"]);
    }
}
