//! Reads canonical queries from JSON lines, a JSON or YAML list, a list under `queries`, or rows of
//! a table; columns that are not part of a query are ignored.

use serde_json::{Map, Value};

use super::QueryEntry;
use crate::reading::plain::plain;
use crate::yaml;

/// A query file that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct QueryFileError {
    pub line: usize,
    pub reason: String,
}

/// Ignored columns of a table of queries.
const PASSED_OVER: [&str; 4] = ["created_at", "reviewed_at", "updated_at", "filters"];

/// Whether rows that name a workspace must name this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceCheck<'a> {
    /// A row of another workspace is an error.
    Workspace(&'a str),
    /// The workspace of a row is ignored.
    Any,
}

/// Reads the queries of a text, each with its line number.
pub fn read_queries(
    text: &str,
    of: WorkspaceCheck<'_>,
) -> Result<Vec<(usize, QueryEntry)>, QueryFileError> {
    let is_lines =
        text.trim_start().starts_with('{') && serde_json::from_str::<Value>(text).is_err();
    if is_lines {
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        return lines.map(|(line, at)| Ok((at, of_line(line, at, of)?))).collect();
    }
    let whole: Value = yaml::read_typed(text).map_err(of_yaml)?;
    let lines = lines(&yaml::parse(text).map_err(of_yaml)?);
    let list = match whole {
        Value::Array(list) => list,
        Value::Object(mut object) => match object.remove("queries") {
            Some(Value::Array(list)) if object.is_empty() => list,
            None => vec![Value::Object(object)],
            Some(_) => return Err(wrong(1, "`queries` is a list, and nothing stands beside it")),
        },
        Value::Null => Vec::new(),
        _ => return Err(wrong(1, "it is neither a list of queries nor lines of JSON")),
    };
    let read = |(value, at): (Value, usize)| {
        let line = lines.get(at - 1).copied().unwrap_or(1);
        let read =
            entry(value, of).map_err(|reason| wrong(line, format!("query {at}: {reason}")))?;
        Ok((line, read))
    };
    list.into_iter().zip(1..).map(read).collect()
}

/// The first line of each query.
fn lines(node: &yaml::Node) -> Vec<usize> {
    let list = node.get(&["queries"]).unwrap_or(node);
    list.items().iter().map(|item| item.line).collect()
}

fn of_yaml(yaml::YamlError { line, reason }: yaml::YamlError) -> QueryFileError {
    QueryFileError { line, reason: plain(&reason) }
}

fn wrong(line: usize, reason: impl Into<String>) -> QueryFileError {
    QueryFileError { line, reason: reason.into() }
}

fn of_line(line: &str, at: usize, of: WorkspaceCheck<'_>) -> Result<QueryEntry, QueryFileError> {
    let value = serde_json::from_str(line).map_err(|error| wrong(at, plain(&error.to_string())))?;
    entry(value, of).map_err(|reason| wrong(at, reason))
}

fn entry(value: Value, of: WorkspaceCheck<'_>) -> Result<QueryEntry, String> {
    let Value::Object(mut row) = value else { return Err("it is no object".to_owned()) };
    let named = row.remove("workspace_id").filter(|value| !value.is_null());
    if let (Some(named), WorkspaceCheck::Workspace(own)) = (named, of)
        && named.as_str() != Some(own)
    {
        return Err(format!("the row is of the workspace {named}, and this is `{own}`"));
    }
    for column in PASSED_OVER {
        row.remove(column);
    }
    row.retain(|_, value| !value.is_null());
    of_table(&mut row);
    serde_json::from_value(Value::Object(row)).map_err(|error| plain(&error.to_string()))
}

/// Translates the columns of a table into query keys.
fn of_table(row: &mut Map<String, Value>) {
    if let Some(active) = row.remove("active") {
        let state = if active == Value::Bool(false) { "retired" } else { "active" };
        row.entry("state").or_insert_with(|| state.into());
    }
    if let Some(tags) = row.remove("suite_tags") {
        row.entry("tags").or_insert(tags);
    }
    if let Some(Value::Number(id)) = row.get("id") {
        let id = id.to_string();
        row.insert("id".to_owned(), id.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found = read_queries(text, WorkspaceCheck::Any).unwrap();
        let texts: Vec<&str> = found.iter().map(|(_, one)| one.query.as_str()).collect();
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_row_of_another_workspace_is_refused_wherever_it_stands() {
        let own = WorkspaceCheck::Workspace("team");
        for text in [
            "{\"query\":\"a\",\"workspace_id\":\"team\"}\n{\"query\":\"b\",\"workspace_id\":\"w\"}\n",
            "- query: a\n- query: b\n  workspace_id: w\n",
            "- query: a\n- query: b\n  workspace_id: 7\n",
        ] {
            let error = read_queries(text, own).unwrap_err();
            assert!(error.line == 2 && error.reason.contains("`team`"), "{error:?}");
            assert_eq!(read_queries(text, WorkspaceCheck::Any).unwrap().len(), 2);
        }
        assert_eq!(read_queries("- query: a\n  workspace_id: null\n", own).unwrap().len(), 1);
    }

    #[test]
    fn every_shape_of_file() {
        check("{\"query\":\"a\"}\n\n{\"query\":\"b\",\"expected\":[\"x\"]}\n", &["a", "b"]);
        check("{\"query\":\"a\"}", &["a"]);
        check("[{\"query\":\"a\"},{\"query_text\":\"b\"}]", &["a", "b"]);
        check("- query: a\n  expected: [x]\n- query: b\n", &["a", "b"]);
        check("queries:\n  - query: a\n", &["a"]);
        check("", &[]);
    }

    #[test]
    fn rows_of_a_table() {
        let row = r#"{"id":7,"workspace_id":"w","query_text":"a","suite_tags":["s"],"active":false,
            "intent":null,"created_at":"2026-01-01","expected":[{"kind":"document","id":"d"}]}"#;
        let found =
            read_queries(row, WorkspaceCheck::Workspace("w")).unwrap().remove(0).1.read().unwrap();
        assert_eq!(
            (&*found.id, found.state.name(), &found.tags[..]),
            ("7", "retired", &["s".to_owned()][..])
        );
    }

    #[test]
    fn errors_have_line_numbers() {
        let line = |text: &str| read_queries(text, WorkspaceCheck::Any).unwrap_err();
        assert_eq!(line("{\"query\":\"a\"}\n{\"colour\":1}").line, 2);
        assert!(line("- colour: red").reason.contains("query 1"));
        assert_eq!(line("queries:\n  - query: a\n  - colour: red\n").line, 3);
        assert_eq!(read_queries("- query: a\n- query: b\n", WorkspaceCheck::Any).unwrap()[1].0, 2);
        assert!(line("3").reason.contains("neither"));
    }
}
