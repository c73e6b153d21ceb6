//! The shapes of retrieval APIs: each a question made into a request, and an answer read.
//!
//! Traps that the ready shapes know: an API that answers with 5 results unless asked for more hides ranks
//! 6 to 10, so at least 10 are asked for and cut here; reasons and passages come only when asked for; and
//! `mode` is the retrieval mode in one API, the kind of query in another, and how hard to try in a third.

mod custom;
mod gbrain;
mod internal;
mod own;
mod v1;
mod v2026;

use serde_json::{Map, Value, json};

use crate::named;

use super::mapping::{Mapping, ResultPaths, ScoreKind};
use super::path::Path;
use super::template::{Filling, Slot, not_asked};
use super::{IdRule, QuestionFilter, TargetAnswer, TargetError};

pub use custom::Custom;
pub(crate) use gbrain::arguments as gbrain_arguments;

/// The fewest results that are asked for: with less, ranks 6 to 10 are never seen.
pub const LEAST_ASKED: usize = 10;

/// What an API speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// The internal one of the playbook's day: `POST /api/knowledge/search`.
    LightfastInternal,
    /// The public one as it was specified: `POST /v1/search` with `q` and `topK`.
    LightfastV1,
    /// The public one as it shipped: `POST /v1/search` with `query` and `limit`.
    Lightfast2026,
    /// This program's own: `POST /v1/query`.
    Gbrain,
    /// As the settings describe it.
    Custom,
}

named! {
    Api {
        LightfastInternal = "lightfast-internal",
        LightfastV1 = "lightfast-v1",
        Lightfast2026 = "lightfast-2026",
        Gbrain = "gbrain",
        Custom = "custom",
    }
}

/// What the internal API means by `mode`. Its documents disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ModeMeans {
    /// knowledge, graph or hybrid.
    #[default]
    RetrievalMode,
    /// auto, semantic or identifier.
    QueryKind,
}

named! { ModeMeans { RetrievalMode = "retrieval_mode", QueryKind = "query_kind" } }

/// How hard the shipped API is to try, which it calls `mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tier {
    /// No reranking.
    Fast,
    /// Reranking.
    Balanced,
    /// Reranking by the best model.
    Thorough,
}

named! { Tier { Fast = "fast", Balanced = "balanced", Thorough = "thorough" } }

/// A method of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// The question is in the address.
    Get,
    /// The question is in the body.
    #[default]
    Post,
}

named! { Method { Get = "GET", Post = "POST" } }

/// A request, without what is the same for all of them: the address and the key.
#[derive(Debug, Clone, PartialEq)]
pub struct Outgoing {
    /// The method.
    pub method: Method,
    /// Names and values after the `?`.
    pub params: Vec<(String, String)>,
    /// Headers that depend on the question.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Value>,
    /// Parts of the question that have no place in it.
    pub not_asked: Vec<&'static str>,
}

/// A shape with what the settings say of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// See [`Api::LightfastInternal`].
    LightfastInternal {
        /// What `mode` is.
        mode_means: ModeMeans,
    },
    /// See [`Api::LightfastV1`].
    LightfastV1,
    /// See [`Api::Lightfast2026`].
    Lightfast2026 {
        /// How hard to try.
        tier: Option<Tier>,
    },
    /// See [`Api::Gbrain`].
    Gbrain,
    /// See [`Api::Custom`].
    Custom(Box<Custom>),
}

impl Shape {
    /// Where it is, after the address of the server; a custom one has its whole address in the
    /// settings.
    pub fn path(&self) -> &'static str {
        match self {
            Self::LightfastInternal { .. } => "/api/knowledge/search",
            Self::LightfastV1 | Self::Lightfast2026 { .. } => "/v1/search",
            Self::Gbrain => "/v1/query",
            Self::Custom(_) => "",
        }
    }

    /// The most results that it gives.
    pub fn most(&self) -> Option<usize> {
        match self {
            Self::LightfastV1 => Some(50),
            Self::Lightfast2026 { .. } => Some(100),
            Self::Gbrain => Some(1000),
            Self::LightfastInternal { .. } | Self::Custom(_) => None,
        }
    }

    /// Whether the question's vector is a part of the request.
    pub fn wants_vector(&self) -> bool {
        matches!(self, Self::Custom(custom) if custom.has(Slot::Vector))
    }

    /// Whether it has a place for something that a question may say.
    pub fn has(&self, slot: Slot) -> bool {
        match self {
            Self::LightfastInternal { mode_means } => internal::has(slot, *mode_means),
            Self::LightfastV1 => v1::has(slot),
            Self::Lightfast2026 { .. } => v2026::has(slot),
            Self::Gbrain => gbrain::has(slot),
            Self::Custom(custom) => custom.has(slot),
        }
    }

    /// The request of a question.
    pub fn outgoing(&self, filling: &Filling<'_>) -> Outgoing {
        let body = match self {
            Self::Custom(custom) => return custom.outgoing(filling),
            Self::LightfastInternal { mode_means } => internal::body(filling, *mode_means),
            Self::LightfastV1 => v1::body(filling),
            Self::Lightfast2026 { tier } => v2026::body(filling, *tier),
            Self::Gbrain => gbrain::body(filling),
        };
        Outgoing {
            method: Method::Post,
            params: Vec::new(),
            headers: Vec::new(),
            body: Some(body),
            not_asked: not_asked(filling.question, |slot| self.has(slot)),
        }
    }

    /// Reads an answer of at most `k` results. `document` is where the id of a result is, if not where
    /// the shape has it.
    pub fn answer(
        &self,
        answer: &Value,
        ids: &IdRule,
        document: Option<&Path>,
        k: usize,
    ) -> Result<TargetAnswer, TargetError> {
        let mapping = match self {
            Self::LightfastInternal { .. } => internal::mapping(),
            Self::LightfastV1 => v1::mapping(),
            Self::Lightfast2026 { .. } => v2026::mapping(),
            Self::Gbrain => return gbrain::read(answer, ids, document, k),
            Self::Custom(custom) => custom.mapping.clone(),
        };
        let mut read = Reading::Mapped(Box::new(mapping)).answer(answer, ids, document, k)?;
        if let Self::Lightfast2026 { .. } = self {
            v2026::note_bypass(answer, &mut read);
        }
        Ok(read)
    }
}

/// How an answer is read that comes without a request of HTTP.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// As this program answers a query.
    Gbrain,
    /// As this program prints an answer.
    Own,
    /// As the settings describe it.
    Mapped(Box<Mapping>),
}

impl Reading {
    /// Reads an answer of at most `k` results.
    pub fn answer(
        &self,
        answer: &Value,
        ids: &IdRule,
        document: Option<&Path>,
        k: usize,
    ) -> Result<TargetAnswer, TargetError> {
        let mut mapping = match self {
            Self::Gbrain => return gbrain::read(answer, ids, document, k),
            Self::Own => own::mapping(),
            Self::Mapped(mapping) => mapping.as_ref().clone(),
        };
        if let Some(document) = document {
            mapping.results.document = document.clone();
        }
        mapping.read(answer, ids, k)
    }
}

/// A path that is written in this program.
fn path(text: &str) -> Path {
    Path::parse(text).expect("paths in this program are paths")
}

/// Rows of the fields of the playbook's APIs.
fn rows(rows: &str, document: &str) -> ResultPaths {
    ResultPaths {
        rows: Some(path(rows)),
        document: path(document),
        chunk: None,
        source: Some(path("$.source")),
        score: Some(path("$.score")),
        title: Some(path("$.title")),
        snippet: None,
        text: None,
        score_kind: ScoreKind::Score,
    }
}

/// As many results as are asked for.
fn asked_for(k: usize) -> usize {
    k.max(LEAST_ASKED)
}

/// An object of what is said.
fn object(fields: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let said = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(said.collect::<Map<_, _>>())
}

/// The filters of the playbook's APIs; none if nothing is left out.
fn filters(filter: &QuestionFilter) -> Option<Value> {
    let QuestionFilter { sources, types, authors, states, labels, after, before } = filter;
    let list = |names: &[String]| (!names.is_empty()).then(|| json!(names));
    let filters = object([
        ("sources", list(sources)),
        ("types", list(types)),
        ("authors", list(authors)),
        ("states", list(states)),
        ("labels", list(labels)),
        ("after", after.map(|date| json!(date.to_string()))),
        ("before", before.map(|date| json!(date.to_string()))),
    ]);
    (!filter.is_empty()).then_some(filters)
}
