//! An answer: the output of `search --json` and `query --json` and the body of the HTTP API.

use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::id::SourceId;
use crate::ranking::{
    AnswerGrade, ArmReport, CorpusFingerprint, DegradedStage, Hit, Ranking, RelationReport,
    ServingInfo, WhyNot,
};
use crate::request::{Detail, Filter, Operation, Request, RetrievalMode, Viewer};
use crate::search::MinScore;
use crate::search::intent::{IntentKind, Recency};

/// The version of [`Answer`].
pub(crate) const ANSWER_VERSION: u32 = 1;

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer<'a> {
    /// Version of this format.
    schema_version: u32,
    operation: Operation,
    /// The query text as typed.
    query: &'a str,
    /// The other request parameters.
    request: WireRequest<'a>,
    /// The detected intent of the query.
    intent: IntentKind,
    /// Whether recent pages were preferred.
    recency: Recency,
    /// The detail that was used.
    detail_resolved: Detail,
    /// The retrieval mode that was used.
    retrieval_mode_resolved: RetrievalMode,
    /// How a relational query was interpreted; null for other queries.
    relation: Option<&'a RelationReport>,
    /// Whether vectors were searched.
    vector_enabled: bool,
    embedder: Option<&'a str>,
    /// Whether variants of the query were searched.
    expansion_applied: bool,
    /// The reranking model; null when nothing was reranked.
    rerank_model: Option<&'a str>,
    /// The rerank score below which results were dropped; null when there is no threshold.
    rerank_threshold: Option<f64>,
    /// Result counts and timings of each retrieval arm.
    arms: &'a [ArmReport],
    /// Stages that failed; the answer comes from the remaining stages.
    degraded: &'a [DegradedStage],
    corpus: &'a CorpusFingerprint,
    /// Answer quality by the evidence of the first hit: strong, moderate or weak.
    grade: AnswerGrade,
    /// The hits, best first.
    hits: &'a [Hit],
    /// Where the page named by `why_not` was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<&'a WhyNot>,
    /// How the answer was served.
    served: &'a ServingInfo,
}

/// The request as it was interpreted.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AskedRequest")]
struct WireRequest<'a> {
    /// Requested number of pages.
    limit: usize,
    detail: Option<Detail>,
    retrieval_mode: RetrievalMode,
    /// Only these sources; all when empty.
    sources: &'a [SourceId],
    /// Only these types; all when empty.
    types: &'a [String],
    /// Only these tags; all when empty.
    tags: &'a [String],
    /// Only pages dated on or after this day.
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    since: Option<Date>,
    /// Only pages dated on or before this day.
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    until: Option<Date>,
    /// The visibility that the answer was built for.
    trust: Viewer,
    vectors: bool,
    /// Whether query expansion was requested.
    expand: bool,
    /// The query variants, in the order in which the model returned them.
    variants: &'a [String],
    /// The time that recency is measured against.
    #[schemars(with = "String", extend("format" = "date-time"))]
    now: Timestamp,
    /// Fingerprint of the search settings.
    settings_hash: String,
}

impl<'a> Answer<'a> {
    /// The wire form of a ranking with the request it answers.
    pub fn new(request: &'a Request, ranking: &'a Ranking, served: &'a ServingInfo) -> Self {
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
                match request.settings.min_score_for(model) {
                    MinScore::Score(least) => Some(least),
                    MinScore::None | MinScore::OtherModel => None,
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
            expand: expansion.is_requested(),
            variants: expansion.variants(),
            now: *now,
            settings_hash: settings.hash(),
        }
    }
}
