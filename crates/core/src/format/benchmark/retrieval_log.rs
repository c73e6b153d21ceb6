//! LongMemEval's retrieval log: one object per line, as its `run_retrieval.py` prints them.

use serde_json::{Value, json};

use crate::benchmark::official::{OfficialFigures, USER};
use crate::benchmark::{DatasetDocument, DatasetQuestion, Haystack};

/// The line of one question. `ranking` holds places of documents in the haystack.
pub fn log_line(
    haystack: &Haystack,
    question: &DatasetQuestion,
    found: &[usize],
    official: &OfficialFigures,
) -> Value {
    let OfficialFigures { session, turn, counts: _ } = official;
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

/// A document with the user turns only, as in LongMemEval's corpus.
fn item(document: &DatasetDocument) -> Value {
    let said = document.turns().iter().filter(|turn| turn.speaker == USER);
    let text: Vec<&str> = said.map(|turn| turn.text.as_str()).collect();
    json!({ "corpus_id": document.id, "text": text.join(" "), "timestamp": document.date_text })
}
