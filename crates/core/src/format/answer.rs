//! An answer: what `search --json` and `query --json` print and the HTTP API returns.

use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::id::SourceId;
use crate::ranking::{
    ArmReport, CorpusPrint, Degraded, Grade, Hit, Ranking, RelationReport, Served, WhyNot,
};
use crate::request::{Detail, Filter, Operation, Request, RetrievalMode, Viewer};
use crate::search::Least;
use crate::search::intent::{IntentKind, Recency};

/// The version of [`Answer`].
pub(crate) const ANSWER_VERSION: u32 = 1;

/// An answer on the wire.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer<'a> {
    /// The version of this shape.
    schema_version: u32,
    /// What was asked for.
    operation: Operation,
    /// What was asked, as typed.
    query: &'a str,
    /// The rest of the request.
    request: WireRequest<'a>,
    /// What the question was understood to be.
    intent: IntentKind,
    /// Whether recent pages were preferred.
    recency: Recency,
    /// The detail it was answered in.
    detail_resolved: Detail,
    /// The mode it was answered in.
    retrieval_mode_resolved: RetrievalMode,
    /// How a relational question was understood; null for others.
    relation: Option<&'a RelationReport>,
    /// Whether vectors were searched.
    vector_enabled: bool,
    /// The model whose vectors were searched.
    embedder: Option<&'a str>,
    /// Whether variants of the query took part.
    expansion_applied: bool,
    /// The model that judged the best candidates; null when none did.
    rerank_model: Option<&'a str>,
    /// The score of that model below which results were left out; null when none was.
    rerank_threshold: Option<f64>,
    /// What every way of finding pages brought.
    arms: &'a [ArmReport],
    /// Stages that could not do their work; the answer is what the others found.
    degraded: &'a [Degraded],
    /// The corpus that was searched.
    corpus: &'a CorpusPrint,
    /// How well the brain answers: strong, moderate or weak, by the evidence of the first hit.
    grade: Grade,
    /// The answer, best first.
    hits: &'a [Hit],
    /// Where the page fell out that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<&'a WhyNot>,
    /// How the answer came about.
    served: &'a Served,
}

/// The request as it was understood.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AskedRequest")]
struct WireRequest<'a> {
    /// How many pages were asked for.
    limit: usize,
    /// The detail that was asked for.
    detail: Option<Detail>,
    /// The mode that was asked for.
    retrieval_mode: RetrievalMode,
    /// Only these sources; all when empty.
    sources: &'a [SourceId],
    /// Only these types; all when empty.
    types: &'a [String],
    /// Only these tags; all when empty.
    tags: &'a [String],
    /// Only from this day on.
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    since: Option<Date>,
    /// Only up to this day.
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    until: Option<Date>,
    /// Whose eyes the answer is for.
    trust: Viewer,
    /// Whether vectors were allowed.
    vectors: bool,
    /// Whether other ways to ask the same were asked for.
    expand: bool,
    /// These other ways, in the order in which the model gave them.
    variants: &'a [String],
    /// The time that recency is measured against.
    #[schemars(with = "String", extend("format" = "date-time"))]
    now: Timestamp,
    /// Names the settings.
    settings_hash: String,
}

impl<'a> Answer<'a> {
    /// The wire form of a ranking with the request it answers.
    pub fn new(request: &'a Request, ranking: &'a Ranking, served: &'a Served) -> Self {
        let Ranking {
            intent,
            recency,
            detail,
            mode,
            relation,
            embedder,
            expansion_applied,
            rerank_model,
            arms,
            degraded,
            corpus,
            hits,
            why_not,
        } = ranking;
        Self {
            schema_version: ANSWER_VERSION,
            operation: request.operation,
            query: &request.query,
            request: WireRequest::new(request),
            intent: *intent,
            recency: *recency,
            detail_resolved: *detail,
            retrieval_mode_resolved: *mode,
            relation: relation.as_ref(),
            vector_enabled: embedder.is_some(),
            embedder: embedder.as_deref(),
            expansion_applied: *expansion_applied,
            rerank_model: rerank_model.as_deref(),
            rerank_threshold: rerank_model.as_deref().and_then(|model| {
                match request.settings.least_for(model) {
                    Least::Score(least) => Some(least),
                    Least::Nothing | Least::OfAnother => None,
                }
            }),
            arms,
            degraded,
            corpus,
            grade: ranking.grade(),
            hits,
            why_not: why_not.as_ref(),
            served,
        }
    }
}

impl<'a> WireRequest<'a> {
    fn new(request: &'a Request) -> Self {
        let Request {
            operation: _,
            query: _,
            limit,
            detail,
            mode,
            filter,
            vectors,
            expansion,
            now,
            settings,
        } = request;
        // `truth_only` follows from the resolved detail, which the answer carries.
        let Filter { sources, types, tags, since, until, trust, truth_only: _ } = filter;
        Self {
            limit: *limit,
            detail: *detail,
            retrieval_mode: *mode,
            sources,
            types,
            tags,
            since: *since,
            until: *until,
            trust: *trust,
            vectors: *vectors,
            expand: expansion.is_asked(),
            variants: expansion.variants(),
            now: *now,
            settings_hash: settings.hash(),
        }
    }
}
