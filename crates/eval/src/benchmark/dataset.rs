//! Reads published datasets: locates, hashes and parses their files.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use gbrain_core::benchmark::{
    DataProblem, DataProblemKind, DatasetDocument, DatasetQuestion, DocumentBody, Haystack,
};
use gbrain_core::format::benchmark::{Conversation, conversation, haystack};
use gbrain_core::hash::{Hash, Hasher};
use gbrain_core::qrels::{Qrels, QrelsError, documents_of_jsonl, queries_of_jsonl};

use super::values::{DatasetObjectError, DatasetObjectReader};
use crate::EvalError;

#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    #[error(transparent)]
    Values(#[from] DatasetObjectError),
    #[error("entry {number}: {reason}")]
    Entry { number: usize, reason: String },
    #[error("entry {number}: question `{id}` appears a second time")]
    Repeated { number: usize, id: String },
    /// A folder with several splits and no test split.
    #[error("the folder qrels has several splits and no test.tsv")]
    NoSplit,
    #[error("the corpus contains no documents")]
    NoDocuments,
    /// The judgements belong to another corpus.
    #[error("none of the {judged} judged documents is in the corpus: check that the ids match")]
    NothingJudged { judged: usize },
    #[error("the dataset contains no questions")]
    Empty,
    #[error("{}", path.display())]
    Collection { path: PathBuf, source: QrelsError },
}

/// Opens a file; decompresses one that ends in `.gz`.
pub fn open(path: &Path) -> Result<Box<dyn Read + Send>, EvalError> {
    let file =
        File::open(path).map_err(|source| EvalError::Io { path: path.to_owned(), source })?;
    Ok(match path.extension() {
        Some(extension) if extension == "gz" => Box::new(MultiGzDecoder::new(BufReader::new(file))),
        _ => Box::new(file),
    })
}

/// SHA-256 of the files' bytes, concatenated.
pub fn sha256(paths: &[PathBuf]) -> Result<Hash, EvalError> {
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; 1 << 20];
    for path in paths {
        let io_error = |source: io::Error| EvalError::Io { path: path.clone(), source };
        let mut file = File::open(path).map_err(io_error)?;
        loop {
            match file.read(&mut buffer).map_err(io_error)? {
                0 => break,
                read => hasher.update(&buffer[..read]),
            }
        }
    }
    Ok(hasher.finish())
}

/// Reads the entries of LongMemEval one at a time.
pub struct LongMemEval {
    values: DatasetObjectReader<Box<dyn Read + Send>>,
    path: PathBuf,
    number: usize,
}

impl LongMemEval {
    pub fn open(path: &Path) -> Result<Self, EvalError> {
        Ok(Self { values: DatasetObjectReader::new(open(path)?), path: path.to_owned(), number: 0 })
    }

    /// Counts the entries of a file, up to a limit, to estimate their cost before reading them.
    pub fn count(path: &Path, limit: u64) -> Result<u64, EvalError> {
        let mut entries = Self::open(path)?;
        let mut count = 0;
        while count < limit && entries.next_entry()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// The next entry as raw JSON; the caller parses it.
    pub fn next_entry(&mut self) -> Result<Option<(usize, Vec<u8>)>, EvalError> {
        let next = self.values.next_object_bytes();
        let next = next.map_err(|error| of(&self.path, DatasetError::Values(error)))?;
        Ok(next.map(|entry| {
            self.number += 1;
            (self.number, entry)
        }))
    }
}

/// Parses an entry of LongMemEval.
pub fn read_entry(path: &Path, number: usize, entry: &[u8]) -> Result<Haystack, EvalError> {
    haystack(entry)
        .map_err(|error| of(path, DatasetError::Entry { number, reason: error.to_string() }))
}

/// Reads the conversations of LoCoMo.
pub fn locomo(path: &Path) -> Result<Vec<Haystack>, EvalError> {
    let mut values = DatasetObjectReader::new(open(path)?);
    let mut haystacks = Vec::new();
    while let Some(value) =
        values.next_object_bytes().map_err(|error| of(path, DatasetError::Values(error)))?
    {
        let number = haystacks.len() + 1;
        let entry = |reason: String| of(path, DatasetError::Entry { number, reason });
        let read: Conversation =
            serde_json::from_slice(&value).map_err(|error| entry(error.to_string()))?;
        haystacks.push(conversation(read, number - 1).map_err(|error| entry(error.to_string()))?);
    }
    if haystacks.iter().all(|haystack| haystack.questions.is_empty()) {
        return Err(of(path, DatasetError::Empty));
    }
    Ok(haystacks)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// Documents: JSON lines with `_id`, `title`, `text`.
    pub corpus: PathBuf,
    /// Queries: JSON lines with `_id`, `text`, or tab-separated lines of id and text.
    pub queries: PathBuf,
    pub qrels: PathBuf,
}

impl Collection {
    /// The files of a BEIR folder, with its test split or its only one.
    pub fn of_folder(folder: &Path) -> Result<Self, EvalError> {
        let dir = folder.join("qrels");
        let entries = std::fs::read_dir(&dir)
            .map_err(|source| EvalError::Io { path: dir.clone(), source })?;
        let files = entries.filter_map(Result::ok).map(|entry| entry.path());
        let is_table = |path: &PathBuf| path.extension().is_some_and(|end| end == "tsv");
        let mut splits: Vec<PathBuf> = files.filter(is_table).collect();
        splits.sort();
        let test = dir.join("test.tsv");
        let qrels = match &splits[..] {
            [only] => only.clone(),
            _ if splits.contains(&test) => test,
            _ => return Err(of(folder, DatasetError::NoSplit)),
        };
        let corpus = folder.join("corpus.jsonl");
        Ok(Self { corpus, queries: folder.join("queries.jsonl"), qrels })
    }

    /// The files, in the order in which they are hashed.
    pub fn files(&self) -> Vec<PathBuf> {
        vec![self.corpus.clone(), self.queries.clone(), self.qrels.clone()]
    }

    /// Reads the collection: all queries with a relevant document become questions.
    pub fn read(&self) -> Result<Haystack, EvalError> {
        let Self { corpus, queries, qrels } = self;
        let judged = read_file(qrels, Qrels::parse)?;
        let asked = read_file(queries, queries_of_jsonl)?;
        let documents = read_file(corpus, documents_of_jsonl)?;
        if documents.is_empty() {
            return Err(of(corpus, DatasetError::NoDocuments));
        }
        let mut texts: std::collections::HashMap<String, String> = asked.into_iter().collect();
        let mut problems = missing_documents(&judged, &documents);
        if problems.len() == judged.judgements() {
            let error = DatasetError::NothingJudged { judged: problems.len() };
            return Err(of(qrels, error));
        }
        let mut questions = Vec::new();
        for query in judged.queries {
            if query.relevant().next().is_none() {
                let detail = format!("query `{}` has no relevant document", query.id);
                problems.push(DataProblem::new(DataProblemKind::NothingRelevant, detail));
                continue;
            }
            let Some(text) = texts.remove(&query.id).or(query.text) else {
                let detail = format!("query `{}` is judged but has no text", query.id);
                problems.push(DataProblem::new(DataProblemKind::NoQueryText, detail));
                continue;
            };
            questions.push(DatasetQuestion {
                id: query.id,
                kind: String::new(),
                text,
                asked: None,
                answer: None,
                gold: query.judgements,
                gold_turns: Vec::new(),
                is_abstention: false,
            });
        }
        if questions.is_empty() {
            return Err(of(qrels, DatasetError::Empty));
        }
        let documents = documents.into_iter().map(|(id, title, text)| DatasetDocument {
            whole: id.clone(),
            id,
            date: None,
            date_text: None,
            body: DocumentBody::Text { title, text },
        });
        Ok(Haystack { documents: documents.collect(), questions, problems })
    }
}

/// Judgements of documents that are not in the corpus.
fn missing_documents(qrels: &Qrels, documents: &[(String, String, String)]) -> Vec<DataProblem> {
    let known: HashSet<&str> = documents.iter().map(|(id, ..)| id.as_str()).collect();
    let judged = qrels.queries.iter().flat_map(|query| {
        query.judgements.iter().map(move |judgement| (query.id.as_str(), judgement.doc.as_str()))
    });
    let missing = judged.filter(|(_, doc)| !known.contains(doc));
    let problem = |(query, doc)| {
        let detail = format!("query `{query}`: document `{doc}` is judged but not in the corpus");
        DataProblem::new(DataProblemKind::MissingDocument, detail)
    };
    missing.map(problem).collect()
}

fn read_file<T>(
    path: &Path,
    read: impl FnOnce(&[u8]) -> Result<T, QrelsError>,
) -> Result<T, EvalError> {
    let mut bytes = Vec::new();
    open(path)?
        .read_to_end(&mut bytes)
        .map_err(|source| EvalError::Io { path: path.to_owned(), source })?;
    read(&bytes)
        .map_err(|source| of(path, DatasetError::Collection { path: path.to_owned(), source }))
}

/// A dataset error with its file.
pub fn of(path: &Path, source: DatasetError) -> EvalError {
    EvalError::Dataset { path: path.to_owned(), source: Box::new(source) }
}
