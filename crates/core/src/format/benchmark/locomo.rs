//! A conversation of LoCoMo: numbered sessions, and questions with the turns that answer them.
//!
//! Evidence is written `D8:6`. Variants (`D8:6; D9:17`, `D:11:26`) are parsed too; evidence that
//! names no turn (`D`) is reported as a problem. A question id is the sample id and a number.

use jiff::civil::Date;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::EntryError;
use crate::benchmark::{
    DataProblem, DataProblemKind, DatasetDocument, DatasetQuestion, DatasetTurn, DocumentBody,
    Haystack,
};
use crate::page::date;
use crate::qrels::Judgement;

/// The categories by number, as the benchmark's own code names them.
const CATEGORIES: [(u64, &str); 5] =
    [(1, "multi-hop"), (2, "temporal"), (3, "open-domain"), (4, "single-hop"), (5, "adversarial")];

/// A conversation as LoCoMo publishes it.
#[derive(Deserialize)]
pub struct Conversation {
    #[serde(default)]
    sample_id: Value,
    qa: Vec<LocomoQuestion>,
    conversation: Map<String, Value>,
}

#[derive(Deserialize)]
struct LocomoQuestion {
    question: String,
    #[serde(default)]
    answer: Value,
    #[serde(default)]
    evidence: Vec<String>,
    #[serde(default)]
    category: Value,
}

#[derive(Deserialize)]
struct LocomoTurn {
    #[serde(default)]
    speaker: String,
    #[serde(default)]
    dia_id: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    blip_caption: Option<String>,
}

/// Builds the haystack of a conversation; `place` replaces a missing sample id.
pub fn conversation(conversation: Conversation, place: usize) -> Result<Haystack, EntryError> {
    let Conversation { sample_id, qa, conversation } = conversation;
    let mut problems = Vec::new();
    let sample = match sample_id {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            let detail = format!("conversation {} has no sample_id", place + 1);
            problems.push(DataProblem::new(DataProblemKind::NoId, detail));
            format!("conversation-{}", place + 1)
        }
    };
    let mut documents = Vec::new();
    for number in session_numbers(&conversation) {
        let said = conversation[&format!("session_{number}")].clone();
        let said: Vec<LocomoTurn> = serde_json::from_value(said)
            .map_err(|error| EntryError(format!("{sample} session_{number}: {error}")))?;
        let turns: Vec<DatasetTurn> = said.into_iter().filter_map(turn).collect();
        if turns.is_empty() {
            let detail = format!("{sample} session_{number} says nothing");
            problems.push(DataProblem::new(DataProblemKind::EmptySession, detail));
            continue;
        }
        let when = conversation.get(&format!("session_{number}_date_time"));
        let date_text = when.and_then(Value::as_str).map(str::to_owned);
        let id = format!("session_{number}");
        let date = date_text.as_deref().and_then(day);
        if date.is_none() {
            let detail = format!("{sample} {id} has no date");
            problems.push(DataProblem::new(DataProblemKind::NoSessionDate, detail));
        }
        for turn in turns.iter().filter(|turn| turn.id.is_empty()) {
            let detail = format!("{sample} {id}: a turn of {} has no dia_id", turn.speaker);
            problems.push(DataProblem::new(DataProblemKind::NoId, detail));
        }
        documents.push(DatasetDocument {
            whole: id.clone(),
            id,
            date,
            date_text,
            body: DocumentBody::Turns(turns),
        });
    }
    let questions = qa.into_iter().zip(1..).map(|(asked, place)| {
        let id = format!("{sample}_q{place}");
        question(&id, asked, &documents, &mut problems)
    });
    let questions: Vec<DatasetQuestion> = questions.collect();
    for question in questions.iter().filter(|question| question.gold.is_empty()) {
        let detail = format!("{} has no evidence", question.id);
        problems.push(DataProblem::new(DataProblemKind::NothingRelevant, detail));
    }
    if documents.is_empty() && !questions.is_empty() {
        return Err(EntryError(format!("{sample} has no session that says anything")));
    }
    Ok(Haystack { documents, questions, problems })
}

fn session_numbers(conversation: &Map<String, Value>) -> Vec<u64> {
    let number = |key: &String| key.strip_prefix("session_")?.parse().ok();
    let mut numbers: Vec<u64> = conversation.keys().filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

fn turn(said: LocomoTurn) -> Option<DatasetTurn> {
    let LocomoTurn { speaker, dia_id, text, blip_caption } = said;
    let caption = blip_caption.map(|caption| format!(" [shares {caption}]")).unwrap_or_default();
    let text = format!("{text}{caption}").trim().to_owned();
    (!text.is_empty()).then_some(DatasetTurn { id: dia_id, speaker, text, is_answer: false })
}

fn question(
    id: &str,
    asked: LocomoQuestion,
    documents: &[DatasetDocument],
    problems: &mut Vec<DataProblem>,
) -> DatasetQuestion {
    let mut gold: Vec<Judgement> = Vec::new();
    let mut gold_turns = Vec::new();
    for evidence in asked.evidence.iter().flat_map(|text| text.split([';', ',', ' '])) {
        let evidence = evidence.trim();
        if evidence.is_empty() {
            continue;
        }
        let turn = evidence.replace("D:", "D");
        let holds =
            |document: &&DatasetDocument| document.turns().iter().any(|said| said.id == turn);
        let Some(session) = documents.iter().find(holds) else {
            let detail = format!("{id}: evidence `{evidence}` names no turn");
            problems.push(DataProblem::new(DataProblemKind::UnknownEvidence, detail));
            continue;
        };
        if gold.iter().all(|gold| gold.doc != session.id) {
            gold.push(Judgement { doc: session.id.clone(), grade: 1.0 });
        }
        if !gold_turns.contains(&turn) {
            gold_turns.push(turn);
        }
    }
    DatasetQuestion {
        id: id.to_owned(),
        kind: category(&asked.category),
        text: asked.question,
        asked: None,
        answer: match asked.answer {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        },
        gold,
        gold_turns,
        is_abstention: false,
    }
}

fn category(value: &Value) -> String {
    let known = CATEGORIES.iter().find(|(number, _)| value.as_u64() == Some(*number));
    known.map_or_else(|| format!("category-{value}"), |(_, name)| (*name).to_owned())
}

/// Parses the day in `1:56 pm on 8 May, 2023`.
fn day(text: &str) -> Option<Date> {
    let (_, day) = text.split_once(" on ")?;
    date::day(day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_evidence_and_categories() {
        let json = r#"{"sample_id":"conv-1","conversation":{"speaker_a":"Ada",
            "session_10":[{"speaker":"Ada","dia_id":"D10:1","text":"ten"}],
            "session_2_date_time":"1:56 pm on 8 May, 2023",
            "session_2":[{"speaker":"Bo","dia_id":"D2:1","text":"two","blip_caption":"a cat"}],
            "session_3":[]},
            "qa":[{"question":"a?","answer":2022,"evidence":["D2:1; D10:1"],"category":1},
                  {"question":"b?","evidence":["D:2:1","D"],"category":5}]}"#;
        let haystack = conversation(serde_json::from_str(json).unwrap(), 0).unwrap();
        let ids: Vec<&str> = haystack.documents.iter().map(|d| d.id.as_str()).collect();
        assert_eq!(ids, ["session_2", "session_10"]);
        assert_eq!(haystack.documents[0].date, Some(jiff::civil::date(2023, 5, 8)));
        assert_eq!(haystack.documents[0].turns()[0].text, "two [shares a cat]");
        let [first, second] = &haystack.questions[..] else { panic!("two questions") };
        assert_eq!(first.gold_turns, ["D2:1", "D10:1"]);
        assert_eq!((first.kind.as_str(), first.answer.as_deref()), ("multi-hop", Some("2022")));
        assert_eq!(second.gold_turns, ["D2:1"]);
        assert_eq!(second.kind, "adversarial");
        let kinds: Vec<&str> = haystack.problems.iter().map(|one| one.kind.name()).collect();
        assert_eq!(kinds, ["empty_session", "no_session_date", "unknown_evidence"]);
    }
}
