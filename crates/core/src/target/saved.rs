//! Answers that were saved: TREC lines, rows of a run, rows of a benchmark, or answers as this program
//! prints them, one a line or in a list.
//!
//! Promises: a query that is not in the file has no answer, which is not the same as an empty one; a
//! query that is there twice is an error.

use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use crate::fault::shortened;
use crate::qrels::doc_id;
use crate::run::Run;

use super::path::Path;
use super::shape::AnswerFormat;
use super::{DocumentIdRule, Question, TargetAnswer, TargetError, TargetErrorKind, TargetResult};

/// Keys under which a document has its rows.
const LISTS: [&str; 4] = ["rows", "per_question", "questions", "results"];
/// Keys of a query's id, and of its text.
const IDS: [&str; 3] = ["query_id", "question_id", "id"];
const TEXTS: [&str; 2] = ["query", "question"];

/// The answers of a saved run, by query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SavedAnswers {
    answers: Vec<TargetAnswer>,
    by_id: FxHashMap<String, usize>,
    by_text: FxHashMap<String, usize>,
}

impl SavedAnswers {
    /// Reads a file of any shape. `document` is where the id of a result is, if it is not where the
    /// shape has it.
    pub fn parse(
        bytes: &[u8],
        ids: &DocumentIdRule,
        document: Option<&Path>,
    ) -> Result<Self, TargetError> {
        let start = bytes.trim_ascii_start().first();
        let mut saved = Self::default();
        if matches!(start, Some(b'{' | b'[')) {
            let reader = RowReader { ids, document };
            for row in rows(bytes)? {
                if let Some((id, text, answer)) = reader.row(&row)? {
                    saved.add(id, text, answer)?;
                }
            }
        } else {
            let run =
                Run::parse(bytes).map_err(|error| TargetError::malformed(error.to_string()))?;
            for (query, hits) in run.rankings() {
                let found = hits.iter().map(|hit| TargetResult {
                    document: hit.doc.to_string(),
                    score: hit.score,
                    ..TargetResult::default()
                });
                let results = found.map(|one| ids.apply(one)).collect::<Result<_, _>>()?;
                saved.add(Some(query.to_owned()), None, of(results))?;
            }
        }
        if saved.answers.is_empty() {
            return Err(TargetError::malformed("there is no answer in it"));
        }
        Ok(saved)
    }

    /// Maps texts to queries, for rows without a text of their own.
    pub fn with_texts(mut self, texts: Vec<(String, String)>) -> Self {
        for (id, text) in texts {
            if let Some(at) = self.by_id.get(&id) {
                self.by_text.entry(text).or_insert(*at);
            }
        }
        self
    }

    /// The answer to a question: by its id, or else by its text.
    pub fn answer(&self, question: &Question) -> Result<TargetAnswer, TargetError> {
        let by_id = question.id.as_ref().and_then(|id| self.by_id.get(id));
        let Some(at) = by_id.or_else(|| self.by_text.get(&question.text)) else {
            let message = match &question.id {
                Some(id) => format!("query {} is not in it", shortened(id)),
                None => "the query is not in it".to_owned(),
            };
            return Err(TargetError::new(TargetErrorKind::NotRecorded, message));
        };
        let mut answer = self.answers[*at].clone();
        answer.results.truncate(question.k);
        Ok(answer)
    }

    /// Number of saved answers.
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    fn add(
        &mut self,
        id: Option<String>,
        text: Option<String>,
        answer: TargetAnswer,
    ) -> Result<(), TargetError> {
        let at = self.answers.len();
        if let Some(id) = id
            && self.by_id.insert(id.clone(), at).is_some()
        {
            let id = shortened(&id);
            return Err(TargetError::malformed(format!("query {id} is in it twice")));
        }
        // The same words under two ids are the first of them.
        if let Some(text) = text {
            self.by_text.entry(text).or_insert(at);
        }
        self.answers.push(answer);
        Ok(())
    }
}

fn of(results: Vec<TargetResult>) -> TargetAnswer {
    TargetAnswer { results, ..TargetAnswer::default() }
}

/// The rows of a document, or of lines.
fn rows(bytes: &[u8]) -> Result<Vec<Value>, TargetError> {
    if let Ok(document) = serde_json::from_slice::<Value>(bytes) {
        return Ok(match document {
            Value::Array(rows) => rows,
            Value::Object(mut fields) => {
                match LISTS.into_iter().find(|list| is_rows(&fields, list)) {
                    Some(list) => {
                        fields[list].as_array_mut().map(std::mem::take).unwrap_or_default()
                    }
                    None => vec![Value::Object(fields)],
                }
            }
            other => vec![other],
        });
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| TargetError::malformed(format!("it is not UTF-8: {error}")))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let row = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            TargetError::malformed(format!("line {} is not JSON: {error}", at + 1))
        })
    };
    lines.map(row).collect()
}

fn is_rows(fields: &Map<String, Value>, list: &str) -> bool {
    let first = fields.get(list).and_then(Value::as_array).and_then(|rows| rows.first());
    first.is_some_and(|row| row.get("retrieved").is_some() || row.get("results").is_some())
}

struct RowReader<'a> {
    ids: &'a DocumentIdRule,
    document: Option<&'a Path>,
}

type SavedRow = (Option<String>, Option<String>, TargetAnswer);

impl RowReader<'_> {
    /// One answer; none for a row that is a remark.
    fn row(&self, row: &Value) -> Result<Option<SavedRow>, TargetError> {
        let text = |keys: &[&str]| keys.iter().find_map(|key| as_text(row.get(*key)?));
        let (id, query) = (text(&IDS), text(&TEXTS));
        let answer = if row.get("results").is_some() {
            AnswerFormat::Own.answer(row, self.ids, self.document, usize::MAX)?
        } else if let Some(retrieved) = row.get("retrieved").and_then(Value::as_array) {
            let found = retrieved.iter().map(|one| self.retrieved(one));
            of(found.collect::<Result<_, _>>()?)
        } else if row.get("_kind").is_some() || row.get("kind").is_some() {
            return Ok(None);
        } else {
            return Err(TargetError::malformed("a row has neither `retrieved` nor `results`"));
        };
        if id.is_none() && query.is_none() {
            return Err(TargetError::malformed("a row does not say which query it answers"));
        }
        Ok(Some((id, query, answer)))
    }

    fn retrieved(&self, one: &Value) -> Result<TargetResult, TargetError> {
        let slug = one["slug"].as_str();
        let document = match (one.as_str(), slug) {
            (Some(id), _) => id.to_owned(),
            (None, Some(slug)) => doc_id(one["source_id"].as_str(), slug).into_owned(),
            (None, None) => return Err(TargetError::malformed("what was retrieved has no id")),
        };
        let score = one["score"].as_f64();
        self.ids.apply(TargetResult { document, score, ..TargetResult::default() })
    }
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(file: &str, id: Option<&str>, text: &str) -> Result<Vec<String>, TargetErrorKind> {
        let saved = SavedAnswers::parse(file.as_bytes(), &DocumentIdRule::default(), None);
        let saved = saved.map_err(|error| error.kind)?;
        let question = Question { id: id.map(str::to_owned), ..Question::new(text, 2) };
        let answer = saved.answer(&question).map_err(|error| error.kind)?;
        Ok(answer.documents().into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn every_shape_is_read() {
        let check = |file: &str, id: Option<&str>, text: &str, expected: &[&str]| {
            let expected: Vec<String> = expected.iter().map(|doc| (*doc).to_owned()).collect();
            assert_eq!(asked(file, id, text), Ok(expected), "{file}");
        };
        check("q1 Q0 a 1 3.5 x\nq1 Q0 b 2 2.5 x\nq1 Q0 c 3 1 x\n", Some("q1"), "?", &["a", "b"]);
        let rows = r#"{"query_id":"q1","retrieved":[{"source_id":"w","slug":"a","score":1.5},{"slug":"b"}]}
{"query_id":"q2","retrieved":[]}"#;
        check(rows, Some("q1"), "?", &["w::a", "default::b"]);
        check(rows, Some("q2"), "?", &[]);
        let rows = r#"{"_kind":"run","k":5}
{"question_id":7,"question":"who?","retrieved":["s1","s2","s3"]}"#;
        check(rows, Some("7"), "?", &["s1", "s2"]);
        check(rows, None, "who?", &["s1", "s2"]);
        check(
            &format!(r#"{{"rows":[{}]}}"#, rows.lines().nth(1).unwrap()),
            None,
            "who?",
            &["s1", "s2"],
        );
        let own = r#"[{"id":"q","query":"who?","results":[{"document":"a"}]}]"#;
        check(own, Some("other"), "who?", &["a"]);
        check(r#"{"query":"who?","results":[{"document":"a"}]}"#, None, "who?", &["a"]);
    }

    #[test]
    fn a_missing_answer_is_an_error_and_not_empty() {
        let check = |file: &str, id: &str, kind| assert_eq!(asked(file, Some(id), "?"), Err(kind));
        check("q1 Q0 a 1 3.5 x\n", "q2", TargetErrorKind::NotRecorded);
        check("", "q", TargetErrorKind::Malformed);
        check("{}", "q", TargetErrorKind::Malformed);
        check("[3]", "q", TargetErrorKind::Malformed);
        check("{\"query_id\":\"q\",\"retrieved\":[3]}", "q", TargetErrorKind::Malformed);
        check("{\"retrieved\":[]}", "q", TargetErrorKind::Malformed);
        check("{\"query_id\":\"q\",\"retrieved\":[]}\nnot JSON", "q", TargetErrorKind::Malformed);
        let twice = "{\"query_id\":\"q\",\"retrieved\":[]}\n{\"query_id\":\"q\",\"retrieved\":[]}";
        check(twice, "q", TargetErrorKind::Malformed);
        check("two fields", "q", TargetErrorKind::Malformed);
    }

    #[test]
    fn a_long_id_is_not_repeated_whole() {
        let id = "x".repeat(5000);
        let row = format!("{{\"query_id\":\"{id}\",\"retrieved\":[]}}\n");
        let twice = SavedAnswers::parse(row.repeat(2).as_bytes(), &DocumentIdRule::default(), None)
            .unwrap_err();
        let saved = SavedAnswers::parse(row.as_bytes(), &DocumentIdRule::default(), None).unwrap();
        let other = Question { id: Some(format!("{id}y")), ..Question::new("?", 2) };
        for error in [twice, saved.answer(&other).unwrap_err()] {
            assert!(error.message.contains("xx … xx") && error.message.len() < 1100, "{error}");
        }
    }

    #[test]
    fn texts_of_queries_may_come_from_elsewhere() {
        let saved =
            SavedAnswers::parse(b"q1 Q0 a 1 3.5 x\n", &DocumentIdRule::default(), None).unwrap();
        let text = |id: &str, text: &str| (id.to_owned(), text.to_owned());
        let saved = saved.with_texts(vec![text("q1", "who?"), text("q9", "what?")]);
        assert!(saved.answer(&Question::new("who?", 5)).is_ok());
        assert!(saved.answer(&Question::new("what?", 5)).is_err());
    }
}
