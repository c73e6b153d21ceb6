//! Test collections in the BEIR layout: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::measures::Grades;

/// A document.
#[derive(Debug, Deserialize)]
pub(crate) struct Document {
    #[serde(rename = "_id")]
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) title: String,
    pub(crate) text: String,
}

/// A query that has judgements.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) grades: Grades,
}

#[derive(Deserialize)]
struct Asked {
    #[serde(rename = "_id")]
    id: String,
    text: String,
}

/// The documents of a collection.
pub(crate) fn documents(dir: &Path) -> Result<Vec<Document>> {
    lines(&dir.join("corpus.jsonl"))
}

/// The queries with at least one relevant document, in the order of the file.
pub(crate) fn queries(dir: &Path) -> Result<Vec<Query>> {
    let mut judged = qrels(&dir.join("qrels/test.tsv"))?;
    let asked: Vec<Asked> = lines(&dir.join("queries.jsonl"))?;
    let with_grades = asked.into_iter().filter_map(|Asked { id, text }| {
        let grades = judged.remove(&id)?;
        grades.values().any(|grade| *grade > 0).then_some(Query { id, text, grades })
    });
    Ok(with_grades.collect())
}

/// Writes documents as pages whose slugs are their ids.
pub(crate) fn write_pages(documents: &[Document], dir: &Path) -> Result<()> {
    for document in documents {
        // A JSON string is a YAML string.
        let title = serde_json::to_string(&document.title)?;
        let page = format!("---\ntitle: {title}\n---\n\n{}\n", document.text);
        fs::write(dir.join(format!("{}.md", document.id)), page)?;
    }
    Ok(())
}

fn qrels(path: &Path) -> Result<FxHashMap<String, Grades>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut judged: FxHashMap<String, Grades> = FxHashMap::default();
    for line in text.lines().skip(1) {
        let mut fields = line.split('\t');
        let (Some(query), Some(document), Some(grade)) =
            (fields.next(), fields.next(), fields.next())
        else {
            anyhow::bail!("{}: `{line}` is not query, document, grade", path.display());
        };
        judged
            .entry(query.to_owned())
            .or_default()
            .insert(document.to_owned(), grade.trim().parse()?);
    }
    Ok(judged)
}

fn lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    text.lines()
        .map(|line| serde_json::from_str(line).with_context(|| path.display().to_string()))
        .collect()
}
