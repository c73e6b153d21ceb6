//! Test collections in the BEIR layout: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use gbrain_core::qrels::{Judgement, Qrels, queries_of_jsonl};
use rustc_hash::FxHashMap;
use serde::Deserialize;

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
    pub(crate) judgements: Vec<Judgement>,
}

pub(crate) fn documents(dir: &Path) -> Result<Vec<Document>> {
    lines(&dir.join("corpus.jsonl"))
}

/// The queries with at least one relevant document, in the order of the file.
pub(crate) fn queries(dir: &Path) -> Result<Vec<Query>> {
    let read = |name: &str| {
        let path = dir.join(name);
        fs::read(&path).with_context(|| path.display().to_string())
    };
    let qrels = Qrels::parse(&read("qrels/test.tsv")?)?;
    let judged = qrels.queries.into_iter().filter(|query| query.relevant().next().is_some());
    let mut judged: FxHashMap<String, Vec<Judgement>> =
        judged.map(|query| (query.id, query.judgements)).collect();
    let asked = queries_of_jsonl(&read("queries.jsonl")?)?;
    let with_judgements = asked.into_iter().filter_map(|(id, text)| {
        let judgements = judged.remove(&id)?;
        Some(Query { id, text, judgements })
    });
    Ok(with_judgements.collect())
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

fn lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    text.lines()
        .map(|line| serde_json::from_str(line).with_context(|| path.display().to_string()))
        .collect()
}
