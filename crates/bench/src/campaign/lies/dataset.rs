//! Questions in the layout of LongMemEval, with sessions that are found or are not.

use fastrand::Rng;
use serde_json::{Value, json};

use super::scene::word;

/// Questions of a dataset; one in five has no answer.
pub const QUESTIONS: usize = 30;
const SESSIONS: usize = 6;
const TYPES: [&str; 3] = ["single-session-user", "multi-session", "temporal-reasoning"];

/// Whether retrieval finds the sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difficulty {
    /// The session that answers has the words of the question.
    Easy,
    /// For two questions of three it has none of them, and others have.
    Hard,
}

pub fn questions(difficulty: Difficulty, rng: &mut Rng) -> Value {
    Value::Array((0..QUESTIONS).map(|at| question(at, difficulty, rng)).collect())
}

fn question(at: usize, difficulty: Difficulty, rng: &mut Rng) -> Value {
    let thing = word(rng);
    let is_found = difficulty == Difficulty::Easy || at.is_multiple_of(3);
    let turn = |text: String, answers: bool| json!([{ "role": "user", "content": text, "has_answer": answers }]);
    let about = |is_about: bool, rng: &mut Rng| match is_about {
        true => format!("I bought a {thing} in the harbour market"),
        false => format!("Yesterday it was {} and {}", word(rng), word(rng)),
    };
    let mut sessions = vec![turn(about(is_found, rng), true)];
    let mut ids = vec![format!("answer_{at:02}")];
    for n in 1..SESSIONS {
        sessions.push(turn(about(!is_found, rng), false));
        ids.push(format!("other_{at:02}_{n}"));
    }
    let dates: Vec<String> =
        (0..SESSIONS).map(|n| format!("2023/05/{:02} (Fri) 01:49", n + 1)).collect();
    let suffix = if at % 5 == 4 { "_abs" } else { "" };
    json!({
        "question_id": format!("q{at:02}{suffix}"), "question_type": TYPES[at % TYPES.len()],
        "question": format!("Where did I buy the {thing} in the harbour market?"), "answer": "there",
        "question_date": "2023/06/25 (Sun) 04:48", "haystack_dates": dates,
        "answer_session_ids": [ids[0]], "haystack_session_ids": ids, "haystack_sessions": sessions,
    })
}
