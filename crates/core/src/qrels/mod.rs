//! Qrels: which documents answer which queries, and how well.
//!
//! Read from bytes in four shapes, told apart by looking: the gate's JSON, the older JSON list, TREC
//! qrels and BEIR's TSV. Promises: queries and judgements keep the order of the file; a document is
//! judged once per query; what was odd but readable is in `lints`, what was not is an error that
//! says where and what to do.
//!
//! Deliberately absent: I/O, and any check that a judged document exists; a target says it as
//! [`JudgedPages`].

mod beir;
mod entries;
mod error;
mod existence;
mod file;
mod gate;
mod grade;
mod legacy;
mod lint;
mod rows;
mod segment;
mod write;

use std::borrow::Cow;

use entries::QrelsText;
use grade::whole_grade;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::reading::meter::ReadingMeter;

pub use beir::{corpus_ids, documents_of_jsonl, queries_of_jsonl};
pub use error::{QrelsError, QrelsLocation};
pub use existence::{JudgedPages, relevant_pages};
pub use file::{PageRef, QrelsFile, QrelsQueryEntry};
pub use lint::QrelsWarning;
pub use segment::{QuerySegment, SegmentBy};
pub(crate) use write::ensure_writable;
pub use write::{WriteError, trec_qrels};

/// The source of a page that names none.
pub(crate) const DEFAULT_SOURCE: &str = "default";

/// One document's grade for one query. Above zero is relevant; below zero counts as zero gain.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The document; `source_id::slug` in gbrain's own shapes.
    pub doc: String,
    /// How relevant it is; finite, and whole in every file.
    pub grade: f64,
}

/// One query with its judgements.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JudgedQuery {
    /// Its id, unique in the file.
    pub id: String,
    /// Text of the query; TREC and BEIR qrels do not contain it.
    pub text: Option<String>,
    /// Every judged document, each once.
    pub judgements: Vec<Judgement>,
    /// The document that must come first.
    pub expected_top1: Option<String>,
    /// Documents that the file names by a bare slug and that stand here as pages of the default source.
    pub bare: Vec<String>,
    /// The groups that the query belongs to, if the file names them: most do not, and there may be
    /// many queries.
    pub segment: Option<Box<QuerySegment>>,
    /// The axis of its vector under the deterministic embedder.
    pub embedding_dim: Option<u64>,
}

/// How a file spells its judgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QrelsFormat {
    /// The gate's JSON object, `schema_version` 1.
    Gate,
    /// The older list of queries.
    Legacy,
    /// `query iteration document grade` lines.
    Trec,
    /// BEIR's `query-id corpus-id score` table.
    Beir,
}

crate::named! { QrelsFormat { Gate = "gate", Legacy = "legacy", Trec = "trec", Beir = "beir" } }

/// Queries with their judgements, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Qrels {
    /// The queries; ids are unique.
    pub queries: Vec<JudgedQuery>,
    /// How the file spelled them.
    pub shape: QrelsFormat,
    /// Warnings about the file.
    pub lints: Vec<QrelsWarning>,
}

impl JudgedQuery {
    /// The documents with a grade above zero.
    pub fn relevant(&self) -> impl Iterator<Item = &str> {
        self.judgements.iter().filter(|j| j.grade > 0.0).map(|j| j.doc.as_str())
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn memory(&self) -> usize {
        const TEXT: usize = size_of::<String>() + 8;
        let Self { id, text, judgements, expected_top1, bare, .. } = self;
        let judged = judgements.iter().map(|one| size_of::<Judgement>() + 8 + one.doc.len());
        let bare = bare.iter().map(|slug| TEXT + slug.len());
        let texts = [Some(id), text.as_ref(), expected_top1.as_ref()].into_iter().flatten();
        let texts = texts.map(|text| 8 + text.len());
        size_of::<Self>() + judged.sum::<usize>() + bare.sum::<usize>() + texts.sum::<usize>()
    }
}

impl Qrels {
    /// Reads any shape. A byte order mark and CRLF line ends are tolerated.
    pub fn parse(bytes: &[u8]) -> Result<Self, QrelsError> {
        Self::parse_metered(bytes, &mut ReadingMeter::unlimited())
    }

    /// The same within limits.
    pub fn parse_metered(bytes: &[u8], meter: &mut ReadingMeter<'_>) -> Result<Self, QrelsError> {
        let text = utf8(bytes)?;
        match text.trim_start().bytes().next() {
            None => Err(QrelsError::Empty),
            Some(b'{' | b'[') => parse_json(text, meter),
            Some(_) => rows::parse(text, meter),
        }
    }

    /// Qrels from queries in memory, under the rules of a file.
    pub fn new(queries: Vec<JudgedQuery>, shape: QrelsFormat) -> Result<Self, QrelsError> {
        let mut lints = Vec::new();
        let queries = settled(queries, &mut lints, &mut ReadingMeter::unlimited())?;
        Ok(Self { queries, shape, lints })
    }

    /// How many judgements there are.
    pub fn judgements(&self) -> usize {
        self.queries.iter().map(|query| query.judgements.len()).sum()
    }

    /// Gives queries their text by id, as a BEIR folder does. Queries that are not judged are left
    /// out; judged ones without a text are told by a lint.
    pub fn with_texts(mut self, texts: Vec<(String, String)>) -> Self {
        let mut by_id: FxHashMap<String, String> = texts.into_iter().collect();
        for query in &mut self.queries {
            query.text = by_id.remove(&query.id);
        }
        let without = self.queries.iter().filter(|query| query.text.is_none());
        let without: Vec<String> = without.map(|query| query.id.clone()).collect();
        if !without.is_empty() {
            self.lints.push(QrelsWarning::NoText { queries: without });
        }
        self
    }
}

/// The text of a file without its byte order mark.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, QrelsError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| QrelsError::NotUtf8 { byte: error.valid_up_to() })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// A page's whole name: a bare slug is in the default source.
pub(crate) fn doc_id<'a>(source: Option<&str>, slug: &'a str) -> Cow<'a, str> {
    match source {
        Some(source) => Cow::Owned(format!("{source}::{slug}")),
        None if slug.contains("::") => Cow::Borrowed(slug),
        None => Cow::Owned(format!("{DEFAULT_SOURCE}::{slug}")),
    }
}

fn parse_json(text: &str, meter: &mut ReadingMeter<'_>) -> Result<Qrels, QrelsError> {
    let source = QrelsText::new(text)?;
    if text.trim_start().starts_with('[') {
        let list = serde_json::from_str(text).ok();
        return legacy::parse(source, list, Vec::new(), meter);
    }
    let top = source.top(meter)?;
    if gate::is_gate(source, &top, meter)? {
        gate::parse(source, top, meter)
    } else {
        legacy::parse_object(source, top, meter)
    }
}

/// Checks what every shape promises: some query, unique ids, each document judged once.
fn settled(
    mut queries: Vec<JudgedQuery>,
    lints: &mut Vec<QrelsWarning>,
    meter: &mut ReadingMeter<'_>,
) -> Result<Vec<JudgedQuery>, QrelsError> {
    /// Memory of a judgement while duplicates are removed.
    const REPEATED_BYTES: usize = 240;
    if queries.is_empty() {
        return Err(QrelsError::NoQueries);
    }
    // Sets and lists that grow leave memory behind that is not given back at once.
    let mut ids: FxHashSet<&str> = FxHashSet::default();
    ids.reserve(queries.len());
    let mut texts: FxHashMap<&str, &str> = FxHashMap::default();
    texts.reserve(queries.iter().filter(|query| query.text.is_some()).count());
    for (at, query) in queries.iter().enumerate() {
        if !ids.insert(&query.id) {
            return Err(QrelsError::DuplicateQuery { at, id: query.id.clone() });
        }
        let Some(text) = &query.text else { continue };
        if let Some(first) = texts.insert(text, &query.id) {
            lints.push(QrelsWarning::SameText { query: query.id.clone(), first: first.to_owned() });
        }
    }
    drop((ids, texts));
    for (at, again) in judged_again(&queries)? {
        let query = &mut queries[at];
        let repeated = again.len() * (REPEATED_BYTES + query.id.len());
        meter.count_held(repeated).map_err(QrelsError::Interrupted)?;
        let mut place = 0..;
        let (twice, once) = std::mem::take(&mut query.judgements)
            .into_iter()
            .partition(|_| place.next().is_some_and(|place| again.binary_search(&place).is_ok()));
        query.judgements = once;
        let lint =
            |Judgement { doc, .. }| QrelsWarning::JudgedAgain { query: query.id.clone(), doc };
        lints.extend(Vec::into_iter(twice).map(lint));
    }
    let none = queries.iter().filter(|query| query.relevant().next().is_none());
    let none: Vec<String> = none.map(|query| query.id.clone()).collect();
    if !none.is_empty() {
        lints.push(QrelsWarning::NothingRelevant { queries: none });
    }
    Ok(queries)
}

/// By query, the places of judgements that repeat an earlier one; different ones are an error.
fn judged_again(queries: &[JudgedQuery]) -> Result<Vec<(usize, Vec<usize>)>, QrelsError> {
    let mut all = Vec::new();
    let mut seen: FxHashMap<&str, f64> = FxHashMap::default();
    for (at, query) in queries.iter().enumerate() {
        seen.clear();
        // A map that grows holds its old places beside the new ones for a moment.
        seen.reserve(query.judgements.len());
        let mut again = Vec::new();
        for (place, Judgement { doc, grade }) in query.judgements.iter().enumerate() {
            match seen.insert(doc, *grade) {
                None => (),
                Some(first) if first == *grade => again.push(place),
                Some(first) => {
                    let (query, doc) = (query.id.clone(), doc.clone());
                    return Err(QrelsError::JudgedTwice { query, doc, grades: (first, *grade) });
                }
            }
        }
        if !again.is_empty() {
            all.push((at, again));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
