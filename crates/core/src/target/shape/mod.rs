//! The shapes of retrieval APIs: a question made into a request, and an answer read.

mod custom;
mod gbrain;
mod own;

use serde_json::{Map, Value};

use crate::named;

use super::mapping::{AnswerMapping, ResultPaths, ScoreKind};
use super::path::Path;
use super::template::{Placeholder, TemplateValues, unsupported_fields};
use super::{DocumentIdRule, TargetAnswer, TargetError};

pub use custom::CustomApi;
pub(crate) use gbrain::arguments as gbrain_arguments;

named! {
    /// The protocol of an API.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum ApiKind {
        /// The internal one of the playbook's day: `POST /api/knowledge/search`.
        LightfastInternal = "lightfast-internal",
        /// The public one as it was specified: `POST /v1/search` with `q` and `topK`.
        LightfastV1 = "lightfast-v1",
        /// The public one as it shipped: `POST /v1/search` with `query` and `limit`.
        Lightfast2026 = "lightfast-2026",
        /// This program's own: `POST /v1/query`.
        Gbrain = "gbrain",
        /// As the settings describe it.
        Custom = "custom",
    }
}

named! {
    /// The meaning of `mode` in the internal API, on which its documentation is inconsistent.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum ModeMeaning {
        /// knowledge, graph or hybrid.
        #[default]
        RetrievalMode = "retrieval_mode",
        /// auto, semantic or identifier.
        QueryKind = "query_kind",
    }
}

named! {
    /// The search effort of the shipped API, which it calls `mode`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum SearchEffort {
        Fast = "fast",
        Balanced = "balanced",
        /// Reranking by the best model.
        Thorough = "thorough",
    }
}

named! {
    /// A method of HTTP.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum HttpMethod {
        /// The question is in the address.
        Get = "GET",
        /// The question is in the body.
        #[default]
        Post = "POST",
    }
}

/// A request without the parts that all requests share: the address and the key.
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingRequest {
    pub method: HttpMethod,
    /// Names and values after the `?`.
    pub params: Vec<(String, String)>,
    /// Headers that depend on the question.
    pub headers: Vec<(String, String)>,
    pub body: Option<Value>,
    /// Parts of the question that have no place in it.
    pub not_asked: Vec<&'static str>,
}

/// The protocol of an API with all of its settings.
#[derive(Debug, Clone, PartialEq)]
pub enum RetrievalApi {
    Gbrain,
    /// Described by its settings or by a preset.
    Custom(Box<CustomApi>),
}

impl RetrievalApi {
    /// Whether the question's vector is a part of the request.
    pub fn wants_vector(&self) -> bool {
        matches!(self, Self::Custom(custom) if custom.has(Placeholder::Vector))
    }

    /// Whether a part of a question has a place in the request.
    pub fn has(&self, slot: Placeholder) -> bool {
        match self {
            Self::Gbrain => gbrain::has(slot),
            Self::Custom(custom) => custom.has(slot),
        }
    }

    /// The request of a question.
    pub fn outgoing(&self, filling: &TemplateValues<'_>) -> OutgoingRequest {
        match self {
            Self::Custom(custom) => custom.outgoing(filling),
            Self::Gbrain => OutgoingRequest {
                method: HttpMethod::Post,
                params: Vec::new(),
                headers: Vec::new(),
                body: Some(gbrain::body(filling)),
                not_asked: unsupported_fields(filling.question, |slot| self.has(slot)),
            },
        }
    }

    /// Reads an answer of at most `k` results. `document` is where the id of a result is, if not
    /// where the shape has it.
    pub fn answer(
        &self,
        answer: &Value,
        ids: &DocumentIdRule,
        document: Option<&Path>,
        k: usize,
    ) -> Result<TargetAnswer, TargetError> {
        match self {
            Self::Gbrain => gbrain::read(answer, ids, document, k),
            Self::Custom(custom) => {
                let mut read = custom.mapping.read_with(answer, ids, document, k)?;
                custom.note_bypass(answer, &mut read);
                Ok(read)
            }
        }
    }
}

/// The format of an answer that was not requested over HTTP.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerFormat {
    /// As this program answers a query.
    Gbrain,
    /// As this program prints an answer.
    Own,
    /// As the settings describe it.
    Mapped(Box<AnswerMapping>),
}

impl AnswerFormat {
    /// Reads an answer of at most `k` results.
    pub fn answer(
        &self,
        answer: &Value,
        ids: &DocumentIdRule,
        document: Option<&Path>,
        k: usize,
    ) -> Result<TargetAnswer, TargetError> {
        match self {
            Self::Gbrain => gbrain::read(answer, ids, document, k),
            Self::Own => own::mapping().read_with(answer, ids, document, k),
            Self::Mapped(mapping) => mapping.read_with(answer, ids, document, k),
        }
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

/// An object of the fields that have a value.
fn object(fields: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let present = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(present.collect::<Map<_, _>>())
}
