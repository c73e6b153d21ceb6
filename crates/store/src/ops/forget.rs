//! What is left of a page's text beside the page, erased with it.
//!
//! Reports and logs can be had again or do without: whatever has the page's name in it loses its text.
//! What people made by hand (canonical queries, pairs) goes only if it names the page or a passage of it.
//! Answers of models name nothing, so all of them go.

use std::collections::BTreeSet;

use gbrain_core::id::{PageId, PageKey, WorkspaceId};
use serde_json::Value as Json;

use crate::Result;
use crate::driver::{Session, Value, collect};
use crate::judging::RunKind;

const FORGET_ANSWERS: &str = "DELETE FROM model_answers WHERE workspace_id = $1";
/// A run of the probe is about questions of its own and holds nothing of any page; without it the probe
/// would be due again.
const FORGET_RUNS: &str = "DELETE FROM eval_runs WHERE workspace_id = $1 \
     AND (body LIKE $2 ESCAPE '!' OR body LIKE $3 ESCAPE '!') AND kind <> $4";
const FORGET_REPORTS: &str = "UPDATE suite_runs SET report = NULL WHERE workspace_id = $1 \
     AND (report LIKE $2 ESCAPE '!' OR report LIKE $3 ESCAPE '!')";
const FORGET_LOGS: &str = "UPDATE retrieval_logs SET body = NULL WHERE workspace_id = $1 \
     AND (body LIKE $2 ESCAPE '!' OR body LIKE $3 ESCAPE '!') RETURNING id";
const FORGET_COMMENTS: &str = "UPDATE feedback_events SET comment = NULL \
     WHERE workspace_id = $1 AND retrieval_log_id = $2 AND comment IS NOT NULL";
const PASSAGES: &str = "SELECT DISTINCT chunk_id FROM chunks \
     WHERE workspace_id = $1 AND page_id = $2";
const QUERIES: &str = "SELECT id, body FROM canonical_queries WHERE workspace_id = $1";
const FORGET_QUERY: &str = "DELETE FROM canonical_queries WHERE workspace_id = $1 AND id = $2";
const PAIRS: &str = "SELECT id, body, document, chunk_id FROM calibration_pairs \
     WHERE workspace_id = $1";
const FORGET_PAIR: &str = "DELETE FROM calibration_pairs WHERE workspace_id = $1 AND id = $2";

/// Erases the text of a page that is still there.
pub(super) fn page(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    key: &PageKey,
    id: PageId,
) -> Result<()> {
    session.execute(FORGET_ANSWERS, &[ws.into()])?;
    let mut params = in_texts(ws, key).to_vec();
    params.push(RunKind::QualityProbe.name().into());
    session.execute(FORGET_RUNS, &params)?;
    // Logs before runs, as whoever prunes goes through them: nobody waits for somebody who waits for him.
    for log in collect(session, FORGET_LOGS, &params[..3], |row| row.int(0))? {
        session.execute(FORGET_COMMENTS, &[ws.into(), log.into()])?;
    }
    session.execute(FORGET_REPORTS, &params[..3])?;
    let passages = collect(session, PASSAGES, &[ws.into(), id.0.into()], |row| row.text(0))?;
    let names = Names::new(key, passages);
    forget_those(session, ws, QUERIES, 0, FORGET_QUERY, &names)?;
    forget_those(session, ws, PAIRS, 2, FORGET_PAIR, &names)
}

/// The workspace, and the page's slug anywhere in a text: as it is, and as JSON writes it.
fn in_texts<'a>(ws: &'a WorkspaceId, key: &PageKey) -> [Value<'a>; 3] {
    let escaped = |slug: &str| slug.replace('!', "!!").replace('%', "!%").replace('_', "!_");
    let plain = key.slug.as_str();
    let quoted = Json::from(plain).to_string();
    let written = &quoted[1..quoted.len() - 1];
    let [plain, written] = [plain, written].map(|slug| format!("%{}%", escaped(slug)));
    [ws.into(), plain.into(), written.into()]
}

/// Erases the rows that name the page: in the JSON behind their number, or in columns behind that.
fn forget_those(
    session: &mut dyn Session,
    ws: &WorkspaceId,
    rows: &str,
    columns: usize,
    forget: &str,
    names: &Names,
) -> Result<()> {
    let named = collect(session, rows, &[ws.into()], |row| {
        let mut is_named = names.are_in_json(&row.text(1)?);
        for column in 2..2 + columns {
            is_named |= names.have(&row.text(column)?);
        }
        Ok((row.int(0)?, is_named))
    })?;
    for (id, _) in named.into_iter().filter(|(_, is_named)| *is_named) {
        session.execute(forget, &[ws.into(), id.into()])?;
    }
    Ok(())
}

/// What a page and its passages are called.
struct Names {
    pages: [String; 2],
    passages: BTreeSet<String>,
}

impl Names {
    fn new(key: &PageKey, passages: Vec<String>) -> Self {
        let pages = [key.slug.as_str().to_owned(), key.to_string()];
        Self { pages, passages: passages.into_iter().collect() }
    }

    /// Whether a text is the name of the page or of a passage: `slug`, `source::slug`, one of them with
    /// `#` and more behind it, or the id of a chunk.
    fn have(&self, text: &str) -> bool {
        let is_page = |name: &String| {
            text.strip_prefix(name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
        };
        self.pages.iter().any(is_page) || self.passages.contains(text)
    }

    /// Whether a string of a JSON text is such a name. What is no JSON is searched as it is.
    fn are_in_json(&self, text: &str) -> bool {
        match serde_json::from_str(text) {
            Ok(json) => self.are_in(&json),
            Err(_) => text.contains(&self.pages[0]),
        }
    }

    fn are_in(&self, json: &Json) -> bool {
        match json {
            Json::String(text) => self.have(text),
            Json::Array(values) => values.iter().any(|value| self.are_in(value)),
            Json::Object(fields) => {
                fields.iter().any(|(key, value)| self.have(key) || self.are_in(value))
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use gbrain_core::id::SourceId;

    use super::*;

    #[test]
    fn only_names_are_names() {
        let key = PageKey::parse("wiki::go", &SourceId::default()).unwrap();
        let names = Names::new(&key, vec!["0123456789abcdef".to_owned()]);
        let check = |json: &str, expected: bool| {
            assert_eq!(names.are_in_json(json), expected, "{json}");
        };
        check(r#"{"expected":[{"kind":"document","id":"wiki::go"}]}"#, true);
        check(r#"{"expected":["go"]}"#, true);
        check(r#"{"expected":["go#3"]}"#, true);
        check(r#"{"wiki::go#3":["a snippet"]}"#, true);
        check(r#"[[{"id":"0123456789abcdef"}]]"#, true);
        check(r#"{"text":"let it go","expected":["default::going","lego","other::go"]}"#, false);
        check(r#"{"n":1,"x":null,"y":true}"#, false);
        check("not JSON, let it go", true);
        check("not JSON", false);
    }
}
