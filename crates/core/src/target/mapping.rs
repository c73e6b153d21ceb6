//! Reading an answer by a description of where things are in it.
//!
//! Promises, for whatever a target sends: no panic; a result without an id, a field of the wrong type, a
//! time below zero or results that are not where the description says are
//! [`TargetErrorKind::Malformed`](super::TargetErrorKind::Malformed), and never an empty answer.
//!
//! What is let pass: null is the same as missing; an id may be a whole number; a field that a result
//! lacks is none; the same document may stand several times, as targets that answer with chunks do; more
//! results than were asked for are cut off.

use serde_json::Value;

use crate::fault::{message_in, one_line};
use crate::named;
use crate::request::RetrievalMode;

use super::path::{NotThere, Path, kind_of};
use super::{
    Found, IdRule, Judgement, Rationale, RationaleEdge, RationaleEntity, StageIds, TargetAnswer,
    TargetError, Timings,
};

/// What the number of a result means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ScoreKind {
    /// Higher is better.
    #[default]
    Score,
    /// Lower is better: its negative becomes the score.
    Distance,
}

named! { ScoreKind { Score = "score", Distance = "distance" } }

/// What times are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TimeUnit {
    /// Milliseconds.
    #[default]
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Seconds.
    Seconds,
}

named! { TimeUnit { Milliseconds = "ms", Microseconds = "us", Seconds = "s" } }

/// Where the parts of a result are. With rows they are looked for in each row, without in the whole
/// answer, where each path gives one value a result.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultPaths {
    /// One value a result; none if the answer has columns.
    pub rows: Option<Path>,
    /// The id.
    pub document: Path,
    /// The chunk's id.
    pub chunk: Option<Path>,
    /// The source.
    pub source: Option<Path>,
    /// The score.
    pub score: Option<Path>,
    /// The title.
    pub title: Option<Path>,
    /// The passage that is shown.
    pub snippet: Option<Path>,
    /// The chunk's text.
    pub text: Option<Path>,
    /// What the score means.
    pub score_kind: ScoreKind,
}

/// Where times are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimingPaths {
    /// Finding by words.
    pub lexical: Option<Path>,
    /// Finding by meaning.
    pub dense: Option<Path>,
    /// Reranking.
    pub rerank: Option<Path>,
    /// Fetching what is shown.
    pub hydration: Option<Path>,
    /// The whole request.
    pub total: Option<Path>,
    /// What they are counted in.
    pub unit: TimeUnit,
}

/// Where the parts of an edge are.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgePaths {
    /// Its meaning.
    pub kind: Path,
    /// Where it starts.
    pub from: Path,
    /// Where it ends.
    pub to: Path,
    /// How sure.
    pub confidence: Option<Path>,
    /// Chunks that say so.
    pub evidence: Option<Path>,
}

/// Where entities are.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityPaths {
    /// One value an entity.
    pub entities: Path,
    /// In an entity, its id.
    pub id: Path,
    /// In an entity, its other names.
    pub aliases: Option<Path>,
}

/// Where reasons are.
#[derive(Debug, Clone, PartialEq)]
pub struct RationalePaths {
    /// One value an edge.
    pub edges: Path,
    /// In an edge.
    pub edge: EdgePaths,
    /// What the question was about.
    pub entities: Option<EntityPaths>,
    /// Chunks that say so, for all edges together.
    pub evidence: Option<Path>,
}

/// Where the documents of each stage are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StagePaths {
    /// Found by words.
    pub lexical: Option<Path>,
    /// Found by meaning.
    pub vector: Option<Path>,
    /// Judged.
    pub rerank: Option<Path>,
    /// The scores of those that were judged.
    pub rerank_scores: Option<Path>,
}

/// Where everything is in an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Mapping {
    /// The results.
    pub results: ResultPaths,
    /// The times.
    pub timings: TimingPaths,
    /// The reasons.
    pub rationale: Option<RationalePaths>,
    /// The stages.
    pub stages: StagePaths,
    /// Which half answered.
    pub mode: Option<Path>,
    /// Names of stages that did not do their work, or true.
    pub fallbacks: Option<Path>,
    /// The least score that was to be kept.
    pub threshold: Option<Path>,
    /// Whether it decided anything.
    pub threshold_applied: Option<Path>,
    /// How many documents were considered.
    pub candidates: Option<Path>,
    /// The target's name for the request.
    pub request_id: Option<Path>,
}

impl Mapping {
    /// A description that says where results and their ids are, and nothing else.
    pub fn new(results: ResultPaths) -> Self {
        Self {
            results,
            timings: TimingPaths::default(),
            rationale: None,
            stages: StagePaths::default(),
            mode: None,
            fallbacks: None,
            threshold: None,
            threshold_applied: None,
            candidates: None,
            request_id: None,
        }
    }

    /// Reads an answer of at most `k` results.
    pub fn read(
        &self,
        answer: &Value,
        ids: &IdRule,
        k: usize,
    ) -> Result<TargetAnswer, TargetError> {
        let Self {
            results,
            timings,
            rationale,
            stages,
            mode,
            fallbacks,
            threshold,
            threshold_applied,
            candidates,
            request_id,
        } = self;
        let mode = one(answer, mode.as_ref(), text)?;
        Ok(TargetAnswer {
            results: results.read(answer, ids, k)?,
            timings: timings.read(answer)?,
            rationale: rationale.as_ref().map_or(Ok(None), |paths| paths.read(answer, ids))?,
            // A target may have modes that nobody here knows.
            mode: mode.and_then(|mode| RetrievalMode::from_name(&mode)),
            fallbacks: names_of_fallbacks(answer, fallbacks.as_ref())?,
            threshold: one(answer, threshold.as_ref(), number)?,
            threshold_applied: one(answer, threshold_applied.as_ref(), flag)?,
            stages: stages.read(answer, ids)?,
            candidates: one(answer, candidates.as_ref(), count)?,
            request_id: one(answer, request_id.as_ref(), id)?,
            ..TargetAnswer::default()
        })
    }
}

impl ResultPaths {
    fn read(&self, answer: &Value, ids: &IdRule, k: usize) -> Result<Vec<Found>, TargetError> {
        let found = match &self.rows {
            Some(rows) => {
                let rows = rows.all(answer).map_err(|error| no_results(answer, &error))?;
                let rows = rows.into_iter().take(k).enumerate();
                rows.map(|(at, row)| self.row(row).map_err(|error| in_result(at, error)))
                    .collect::<Result<Vec<_>, _>>()?
            }
            None => self.columns(answer, k)?,
        };
        let named = found.into_iter().enumerate();
        named.map(|(at, one)| ids.apply(one).map_err(|error| in_result(at, error))).collect()
    }

    fn row(&self, row: &Value) -> Result<Found, TargetError> {
        let score = one(row, self.score.as_ref(), number)?;
        Ok(Found {
            document: must(row, &self.document)?,
            chunk: one(row, self.chunk.as_ref(), id)?,
            source: one(row, self.source.as_ref(), id)?,
            score: score.map(|score| self.score_kind.of(score)),
            title: one(row, self.title.as_ref(), text)?,
            snippet: one(row, self.snippet.as_ref(), text)?,
            text: one(row, self.text.as_ref(), text)?,
        })
    }

    /// Columns: each path gives one value a result, null where there is none.
    fn columns(&self, answer: &Value, k: usize) -> Result<Vec<Found>, TargetError> {
        let documents = self.document.all(answer).map_err(|error| no_results(answer, &error))?;
        let length = documents.len();
        let mut found: Vec<Found> = Vec::new();
        for (at, document) in documents.into_iter().take(k).enumerate() {
            let document = id(document).map_err(|wrong| in_result(at, wrong.at(&self.document)))?;
            found.push(Found { document, ..Found::default() });
        }
        let column = |path: Option<&Path>| match path {
            None => Ok(Vec::new()),
            Some(path) => column(answer, path, length),
        };
        for (one, value) in found.iter_mut().zip(column(self.score.as_ref())?) {
            let score = number_or_null(value).map_err(|wrong| wrong.of(self.score.as_ref()))?;
            one.score = score.map(|score| self.score_kind.of(score));
        }
        let texts: [(&Option<Path>, fn(&mut Found) -> &mut Option<String>); 5] = [
            (&self.chunk, |found| &mut found.chunk),
            (&self.source, |found| &mut found.source),
            (&self.title, |found| &mut found.title),
            (&self.snippet, |found| &mut found.snippet),
            (&self.text, |found| &mut found.text),
        ];
        for (path, field) in texts {
            for (one, value) in found.iter_mut().zip(column(path.as_ref())?) {
                *field(one) = text_or_null(value).map_err(|wrong| wrong.of(path.as_ref()))?;
            }
        }
        Ok(found)
    }
}

fn column<'v>(
    answer: &'v Value,
    path: &Path,
    length: usize,
) -> Result<Vec<&'v Value>, TargetError> {
    let values = path.find(answer);
    if values.len() == length {
        return Ok(values);
    }
    Err(TargetError::malformed(format!(
        "there are {length} ids and {} values of {path}: they can't be told apart",
        values.len()
    )))
}

impl ScoreKind {
    fn of(self, number: f64) -> f64 {
        match self {
            Self::Score => number,
            Self::Distance => -number,
        }
    }
}

impl TimingPaths {
    fn read(&self, answer: &Value) -> Result<Timings, TargetError> {
        let Self { lexical, dense, rerank, hydration, total, unit } = self;
        let factor = match unit {
            TimeUnit::Milliseconds => 1.0,
            TimeUnit::Microseconds => 0.001,
            TimeUnit::Seconds => 1000.0,
        };
        let time = |path: &Option<Path>| {
            let time = one(answer, path.as_ref(), time)?;
            Ok::<_, TargetError>(time.map(|time| time * factor))
        };
        Ok(Timings {
            lexical_ms: time(lexical)?,
            dense_ms: time(dense)?,
            rerank_ms: time(rerank)?,
            hydration_ms: time(hydration)?,
            total_ms: time(total)?,
        })
    }
}

impl RationalePaths {
    /// None if the target does not tell; no edges if it tells that there are none.
    fn read(&self, answer: &Value, ids: &IdRule) -> Result<Option<Rationale>, TargetError> {
        let Self { edges, edge, entities, evidence } = self;
        let edges = match edges.all(answer) {
            Ok(edges) => edges,
            Err(NotThere::Missing(_) | NotThere::Other { found: "null", .. }) => return Ok(None),
            Err(error) => return Err(TargetError::malformed(format!("the rationale: {error}"))),
        };
        let read = || {
            Ok(Rationale {
                edges: edge.read(&edges, ids)?,
                entities: entities.as_ref().map_or(Ok(Vec::new()), |paths| paths.read(answer))?,
                evidence: list(answer, evidence.as_ref(), chunk)?,
            })
        };
        read().map(Some).map_err(|error: TargetError| TargetError {
            message: format!("the rationale: {}", error.message),
            ..error
        })
    }
}

impl EdgePaths {
    /// The edges, each once: several results may have the same reason.
    pub(super) fn read(
        &self,
        edges: &[&Value],
        ids: &IdRule,
    ) -> Result<Vec<RationaleEdge>, TargetError> {
        let mut all = Vec::new();
        for edge in edges {
            let edge = RationaleEdge {
                kind: must(edge, &self.kind)?,
                from: ids.stripped(must(edge, &self.from)?),
                to: ids.stripped(must(edge, &self.to)?),
                confidence: one(edge, self.confidence.as_ref(), number)?,
                evidence: list(edge, self.evidence.as_ref(), chunk)?,
            };
            if !all.contains(&edge) {
                all.push(edge);
            }
        }
        Ok(all)
    }
}

impl EntityPaths {
    fn read(&self, answer: &Value) -> Result<Vec<RationaleEntity>, TargetError> {
        let entity = |entity: &Value| {
            Ok(RationaleEntity {
                id: must(entity, &self.id)?,
                aliases: list(entity, self.aliases.as_ref(), text)?,
            })
        };
        self.entities.find(answer).into_iter().map(entity).collect()
    }
}

/// What must be there.
fn must(value: &Value, path: &Path) -> Result<String, TargetError> {
    let found = path.first(value).ok_or_else(|| missing(path))?;
    id(found).map_err(|wrong| wrong.at(path))
}

impl StagePaths {
    fn read(&self, answer: &Value, ids: &IdRule) -> Result<Option<StageIds>, TargetError> {
        let Self { lexical, vector, rerank, rerank_scores } = self;
        let mut told = [lexical, vector, rerank].into_iter().flatten();
        if told.all(|path| path.find(answer).is_empty()) {
            return Ok(None);
        }
        let documents = |path: &Option<Path>| {
            let documents = list(answer, path.as_ref(), id)?;
            Ok::<_, TargetError>(documents.into_iter().map(|one| ids.named(one)).collect())
        };
        let judged: Vec<String> = documents(rerank)?;
        let scores: Vec<Option<f64>> = match rerank_scores {
            None => vec![None; judged.len()],
            Some(path) => {
                let column = column(answer, path, judged.len())?;
                let scores = column.into_iter().map(number_or_null);
                scores.collect::<Result<_, _>>().map_err(|wrong| wrong.at(path))?
            }
        };
        let judged = judged.into_iter().zip(scores);
        Ok(Some(StageIds {
            lexical: documents(lexical)?,
            vector: documents(vector)?,
            rerank: judged.map(|(document, score)| Judgement { document, score }).collect(),
        }))
    }
}

fn names_of_fallbacks(answer: &Value, path: Option<&Path>) -> Result<Vec<String>, TargetError> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for value in path.find(answer) {
        match value {
            Value::Null | Value::Bool(false) => (),
            Value::Bool(true) => names.push("fallback".to_owned()),
            Value::String(name) => names.push(name.clone()),
            other => return Err(Wrong { found: kind_of(other), wanted: "a name" }.at(path)),
        }
    }
    Ok(names)
}

/// A value that is not what it should be.
#[derive(Debug, Clone, Copy)]
struct Wrong {
    found: &'static str,
    wanted: &'static str,
}

impl Wrong {
    fn at(self, path: &Path) -> TargetError {
        let Self { found, wanted } = self;
        TargetError::malformed(format!("{path} is {found}, not {wanted}"))
    }

    fn of(self, path: Option<&Path>) -> TargetError {
        path.map_or_else(|| TargetError::malformed(format!("{self:?}")), |path| self.at(path))
    }
}

type Read<T> = fn(&Value) -> Result<T, Wrong>;

/// What a path leads to, if it is not null.
fn one<T>(value: &Value, path: Option<&Path>, read: Read<T>) -> Result<Option<T>, TargetError> {
    let Some(path) = path else { return Ok(None) };
    let found = path.first(value).map(|found| read(found).map_err(|wrong| wrong.at(path)));
    found.transpose()
}

/// Everything that a path leads to, and what is in a list that it leads to.
fn list<T>(value: &Value, path: Option<&Path>, read: Read<T>) -> Result<Vec<T>, TargetError> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for found in path.find(value) {
        let items = match found {
            Value::Null => &[][..],
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        for item in items {
            all.push(read(item).map_err(|wrong| wrong.at(path))?);
        }
    }
    Ok(all)
}

fn text(value: &Value) -> Result<String, Wrong> {
    let wrong = Wrong { found: kind_of(value), wanted: "a text" };
    value.as_str().map(str::to_owned).ok_or(wrong)
}

fn text_or_null(value: &Value) -> Result<Option<String>, Wrong> {
    if value.is_null() { Ok(None) } else { id(value).map(Some) }
}

/// An id: a text that says something, or a whole number.
fn id(value: &Value) -> Result<String, Wrong> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Ok(text.clone()),
        Value::String(_) => Err(Wrong { found: "blank", wanted: "an id" }),
        Value::Number(number) if !number.is_f64() => Ok(number.to_string()),
        other => Err(Wrong { found: kind_of(other), wanted: "an id" }),
    }
}

/// A chunk: its id, or an object that has it.
fn chunk(value: &Value) -> Result<String, Wrong> {
    match value {
        Value::Object(fields) => {
            let named = ["chunkId", "chunk_id", "id"].iter().find_map(|name| fields.get(*name));
            named.map_or(Err(Wrong { found: "an object without an id", wanted: "a chunk" }), id)
        }
        other => id(other),
    }
}

fn number(value: &Value) -> Result<f64, Wrong> {
    let wrong = Wrong { found: kind_of(value), wanted: "a number" };
    value.as_f64().filter(|number| number.is_finite()).ok_or(wrong)
}

fn number_or_null(value: &Value) -> Result<Option<f64>, Wrong> {
    if value.is_null() { Ok(None) } else { number(value).map(Some) }
}

fn time(value: &Value) -> Result<f64, Wrong> {
    let time = number(value)?;
    if time < 0.0 { Err(Wrong { found: "below zero", wanted: "a time" }) } else { Ok(time) }
}

fn count(value: &Value) -> Result<u64, Wrong> {
    value.as_u64().ok_or(Wrong { found: kind_of(value), wanted: "a count" })
}

fn flag(value: &Value) -> Result<bool, Wrong> {
    value.as_bool().ok_or(Wrong { found: kind_of(value), wanted: "true or false" })
}

fn missing(path: &Path) -> TargetError {
    TargetError::malformed(format!("there is no {path}"))
}

fn in_result(at: usize, error: TargetError) -> TargetError {
    TargetError { message: format!("result {}: {}", at + 1, error.message), ..error }
}

/// An answer without results may say why.
fn no_results(answer: &Value, error: &NotThere) -> TargetError {
    let said = message_in(answer).map(one_line);
    let said = said.map(|said| format!("; it says: {said}")).unwrap_or_default();
    TargetError::malformed(format!("no results: {error}{said}"))
}
