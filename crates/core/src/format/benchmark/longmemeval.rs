//! An entry of LongMemEval: a question with its haystack of sessions.
//!
//! Sessions are lists of turns with ids in a parallel list, or objects that contain both. Dates are
//! matched by the session's position in the file, even if other sessions are skipped.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use rustc_hash::FxHashSet;
use serde::Deserialize;
use serde_json::Value;

use super::EntryError;
use crate::benchmark::{
    DataProblem, DataProblemKind, DatasetDocument, DatasetQuestion, DatasetTurn, DocumentBody,
    Haystack,
};
use crate::page::date;
use crate::qrels::Judgement;

/// Suffix of the ids of abstention questions.
pub(super) const ABSTENTION: &str = "_abs";

#[derive(Deserialize)]
struct Entry<S> {
    question_id: Value,
    #[serde(default)]
    question_type: String,
    question: String,
    #[serde(default)]
    answer: Value,
    #[serde(default)]
    question_date: Option<String>,
    #[serde(default)]
    haystack_dates: Vec<Option<String>>,
    #[serde(default)]
    haystack_session_ids: Vec<Value>,
    haystack_sessions: Vec<S>,
    #[serde(default)]
    answer_session_ids: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SessionEntry {
    Turns(Vec<TurnEntry>),
    Object {
        #[serde(default)]
        session_id: Option<Value>,
        #[serde(default)]
        date: Option<String>,
        #[serde(alias = "messages", alias = "session")]
        turns: Vec<TurnEntry>,
    },
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct TurnEntry {
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    has_answer: Option<bool>,
}

/// Parses an entry into a haystack.
pub fn haystack(json: &[u8]) -> Result<Haystack, EntryError> {
    let entry = entry(json)?;
    let id = name(&entry.question_id)
        .ok_or_else(|| EntryError("`question_id` is neither text nor a number".to_owned()))?;
    let mut problems = Vec::new();
    let mut problem = |kind: DataProblemKind, detail: String| {
        problems.push(DataProblem::new(kind, format!("{id}: {detail}")));
    };
    let mut documents = Vec::with_capacity(entry.haystack_sessions.len());
    for (at, session) in entry.haystack_sessions.into_iter().enumerate() {
        let date = entry.haystack_dates.get(at).cloned().flatten();
        let beside = entry.haystack_session_ids.get(at).and_then(name);
        let (own, own_date, turns) = match session {
            SessionEntry::Turns(turns) => (None, None, turns),
            SessionEntry::Object { session_id, date, turns } => {
                (session_id.as_ref().and_then(name), date, turns)
            }
            SessionEntry::Other(_) => {
                let detail =
                    format!("session {} is neither turns nor an object with turns", at + 1);
                problem(DataProblemKind::UnreadableSession, detail);
                continue;
            }
        };
        let session = own.or(beside).unwrap_or_else(|| {
            problem(DataProblemKind::NoId, format!("session {} has no id", at + 1));
            format!("lme_{id}_{at}")
        });
        let turns = turns_of(&session, turns);
        if turns.is_empty() {
            let detail = format!("session {} (`{session}`) says nothing", at + 1);
            problem(DataProblemKind::EmptySession, detail);
            continue;
        }
        let date_text = date.or(own_date);
        let date = date_text.as_deref().and_then(day);
        if date.is_none() {
            problem(DataProblemKind::NoSessionDate, format!("session `{session}` has no date"));
        }
        documents.push(DatasetDocument {
            id: session.clone(),
            whole: session,
            date,
            date_text,
            body: DocumentBody::Turns(turns),
        });
    }
    if documents.is_empty() {
        return Err(EntryError(format!("question `{id}` has no session that says anything")));
    }
    let mut gold: Vec<String> = Vec::new();
    for session in entry.answer_session_ids.iter().filter_map(name) {
        if !gold.contains(&session) {
            gold.push(session);
        }
    }
    let asked = entry.question_date.as_deref().and_then(moment);
    if asked.is_none() {
        problem(DataProblemKind::NoQuestionDate, "the question has no date".to_owned());
    }
    let mut ids = FxHashSet::default();
    for document in documents.iter().filter(|document| !ids.insert(document.id.as_str())) {
        problem(DataProblemKind::RepeatedId, format!("session id `{}` stands again", document.id));
    }
    let is_abstention = id.ends_with(ABSTENTION);
    for session in gold.iter().filter(|id| !is_abstention && !ids.contains(id.as_str())) {
        problem(DataProblemKind::MissingDocument, format!("session `{session}` is not there"));
    }
    if gold.is_empty() && !is_abstention {
        problem(DataProblemKind::NothingRelevant, "no session holds the answer".to_owned());
    }
    let answering = documents.iter().filter(|document| gold.contains(&document.id));
    let answering = answering.flat_map(DatasetDocument::turns).filter(|turn| turn.is_answer);
    let gold_turns = answering.map(|turn| turn.id.clone()).collect();
    let question = DatasetQuestion {
        is_abstention,
        id,
        kind: entry.question_type,
        text: entry.question,
        asked,
        answer: name(&entry.answer),
        gold: gold.into_iter().map(|doc| Judgement { doc, grade: 1.0 }).collect(),
        gold_turns,
    };
    Ok(Haystack { documents, questions: vec![question], problems })
}

/// Parses an entry. Nearly all sessions are lists of turns, so that shape is tried first: trying
/// both shapes for every session doubles the parsing time.
fn entry(json: &[u8]) -> Result<Entry<SessionEntry>, EntryError> {
    let Ok(plain) = serde_json::from_slice::<Entry<Vec<TurnEntry>>>(json) else {
        return serde_json::from_slice(json).map_err(|error| EntryError(error.to_string()));
    };
    let sessions = plain.haystack_sessions.into_iter().map(SessionEntry::Turns).collect();
    Ok(Entry {
        question_id: plain.question_id,
        question_type: plain.question_type,
        question: plain.question,
        answer: plain.answer,
        question_date: plain.question_date,
        haystack_dates: plain.haystack_dates,
        haystack_session_ids: plain.haystack_session_ids,
        haystack_sessions: sessions,
        answer_session_ids: plain.answer_session_ids,
    })
}

/// Turn ids follow LongMemEval: session id and position in the session, from 1.
fn turns_of(session: &str, turns: Vec<TurnEntry>) -> Vec<DatasetTurn> {
    let turn = |(turn, place): (TurnEntry, usize)| {
        let text = turn.content.filter(|text| !text.trim().is_empty())?;
        Some(DatasetTurn {
            id: format!("{session}_{place}"),
            speaker: turn.role.unwrap_or_else(|| "unknown".to_owned()),
            text,
            is_answer: turn.has_answer.unwrap_or(false),
        })
    };
    turns.into_iter().zip(1..).filter_map(turn).collect()
}

/// A string, or a number as a string.
fn name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Parses the day in `2023/05/26 (Fri) 01:49` or `2023-05-26…`.
fn day(text: &str) -> Option<Date> {
    date::leading_day(text.trim()).map(|(day, _)| day)
}

/// Parses such a text as a UTC time; without an hour it is the end of the day.
fn moment(text: &str) -> Option<jiff::Timestamp> {
    let day = day(text)?;
    let hour = text.rsplit(' ').next().and_then(|hour| hour.parse().ok());
    let hour = hour.unwrap_or(jiff::civil::Time::constant(23, 59, 59, 0));
    let at = DateTime::from_parts(day, hour);
    at.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_shapes_of_sessions() {
        let flat = br#"{"question_id":"Q_1","question_type":"multi-session","question":"who?",
            "answer":3,"question_date":"2023/06/25 (Sun) 04:48",
            "haystack_dates":["2023/05/26 (Fri) 01:49","2023/05/27 (Sat) 01:55"],
            "haystack_session_ids":["answer_A_1","B"],
            "haystack_sessions":[[{"role":"user","content":"hi","has_answer":true}],
                                 [{"role":"user","content":" "},{"role":"assistant","content":"ho"}]],
            "answer_session_ids":["answer_A_1"]}"#;
        let nested = br#"{"question_id":"Q_1","question_type":"multi-session","question":"who?",
            "answer":3,"question_date":"2023/06/25 (Sun) 04:48",
            "haystack_sessions":[
              {"session_id":"answer_A_1","date":"2023/05/26 (Fri) 01:49",
               "turns":[{"role":"user","content":"hi","has_answer":true}]},
              {"session_id":"B","date":"2023/05/27 (Sat) 01:55",
               "turns":[{"role":"user","content":" "},{"role":"assistant","content":"ho"}]}],
            "answer_session_ids":["answer_A_1"]}"#;
        let flat = haystack(flat).unwrap();
        assert_eq!(flat, haystack(nested).unwrap());
        assert_eq!(flat.questions[0].gold_turns, ["answer_A_1_1"]);
        assert_eq!(flat.documents[1].turns()[0].id, "B_2");
        assert_eq!(flat.documents[1].date, Some(jiff::civil::date(2023, 5, 27)));
        assert_eq!(flat.questions[0].asked.unwrap().to_string(), "2023-06-25T04:48:00Z");
        assert_eq!(flat.questions[0].answer.as_deref(), Some("3"));
    }

    #[test]
    fn unreadable_sessions_shift_no_date() {
        let json = br#"{"question_id":7,"question":"who?","haystack_sessions":[5,[],
            [{"role":"user","content":"hi"}]],"haystack_dates":["2023/05/01","2023/05/02","2023/05/03"]}"#;
        let haystack = haystack(json).unwrap();
        let kinds: Vec<DataProblemKind> = haystack.problems.iter().map(|one| one.kind).collect();
        let expected = [
            DataProblemKind::UnreadableSession,
            DataProblemKind::NoId,
            DataProblemKind::EmptySession,
            DataProblemKind::NoId,
            DataProblemKind::NoQuestionDate,
            DataProblemKind::NothingRelevant,
        ];
        assert_eq!(kinds, expected);
        assert_eq!(haystack.documents[0].id, "lme_7_2");
        assert_eq!(haystack.documents[0].date, Some(jiff::civil::date(2023, 5, 3)));
    }

    #[test]
    fn invalid_entries_have_a_reason() {
        let error = haystack(br#"{"question":"who?"}"#).unwrap_err();
        assert!(error.to_string().contains("question_id"), "{error}");
        let empty = br#"{"question_id":"q","question":"who?","haystack_sessions":[[]]}"#;
        let error = haystack(empty).unwrap_err();
        assert!(error.to_string().contains("no session that says anything"), "{error}");
    }

    #[test]
    fn missing_dates_and_gold_sessions_are_counted() {
        let json = br#"{"question_id":"q","question":"who?","haystack_session_ids":["a","a"],
            "haystack_sessions":[[{"role":"user","content":"hi"}],[{"role":"user","content":"ho"}]],
            "answer_session_ids":["gone","gone"],"question_date":"some day"}"#;
        let counts = crate::benchmark::count_problems(&haystack(json).unwrap().problems);
        let expected = [
            ("missing_document", 1),
            ("no_question_date", 1),
            ("no_session_date", 2),
            ("repeated_id", 1),
        ];
        let expected = expected.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(counts, expected.into_iter().collect());
    }
}
