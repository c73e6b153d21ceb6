//! LongMemEval's own retrieval log: one object a line, as its `run_retrieval.py` prints them.

use serde_json::{Value, json};

use crate::benchmark::official::{Official, USER};
use crate::benchmark::{Document, Haystack, Question};

/// The line of one question. `found` ranks the haystack's documents by place.
pub fn log_line(
    haystack: &Haystack,
    question: &Question,
    found: &[usize],
    official: &Official,
) -> Value {
    let Official { session, turn, counts: _ } = official;
    let ranked: Vec<Value> = found.iter().map(|at| item(&haystack.documents[*at])).collect();
    json!({
        "question_id": question.id,
        "question_type": question.kind,
        "question": question.text,
        "answer": question.answer,
        "answer_session_ids": question.gold.iter().map(|gold| &gold.doc).collect::<Vec<_>>(),
        "retrieval_results": {
            "query": question.text,
            "ranked_items": ranked,
            "metrics": { "session": session, "turn": turn.clone().unwrap_or_default() },
        },
    })
}

/// What users said in it, which is all that LongMemEval's corpus holds.
fn item(document: &Document) -> Value {
    let said = document.turns().iter().filter(|turn| turn.speaker == USER);
    let text: Vec<&str> = said.map(|turn| turn.text.as_str()).collect();
    json!({ "corpus_id": document.id, "text": text.join(" "), "timestamp": document.date_text })
}
