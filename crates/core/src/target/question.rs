//! Questions to a retriever.

use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::named;
use crate::request::{Detail, Expansion, Filter, Operation, Request, RetrievalMode, Viewer};
use crate::search::Settings;
use crate::search::intent::is_identifier;

named! {
    /// The kind of a query, for targets that treat kinds differently. Unlike the [`RetrievalMode`];
    /// some APIs call either of them `mode`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum QueryKind {
        /// The target finds out.
        Auto = "auto",
        /// Words that mean something.
        Semantic = "semantic",
        /// A name such as `#123` or `ABC-12`.
        Identifier = "identifier",
    }
}

/// A filter on documents; empty lists exclude nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct QuestionFilter {
    pub sources: Vec<String>,
    pub types: Vec<String>,
    pub authors: Vec<String>,
    pub states: Vec<String>,
    // The local brain calls them tags.
    pub labels: Vec<String>,
    // The first and the last day.
    #[schemars(with = "Option<String>")]
    pub after: Option<Date>,
    #[schemars(with = "Option<String>")]
    pub before: Option<Date>,
}

impl QuestionFilter {
    /// Whether it leaves nothing out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Parts of a request that only the local brain understands.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BrainRequestOptions {
    pub operation: Operation,
    pub detail: Option<Detail>,
    /// The viewer whose visibility rules apply. For other targets this follows from the target's
    /// key.
    pub viewer: Option<Viewer>,
    pub truth_only: bool,
    /// Leaves the vector arm out.
    pub without_vectors: bool,
    /// Other ways to ask the same.
    pub expansion: Option<Expansion>,
    /// Every number of the pipeline.
    pub settings: Option<Settings>,
}

/// A request to a retriever. The retriever decides about options that are left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Question {
    /// The id of the query, if it has one; saved runs are looked up by it.
    pub id: Option<String>,
    /// The query. Text, never syntax.
    pub text: String,
    /// Number of results, at least 1.
    pub k: usize,
    pub mode: Option<RetrievalMode>,
    pub kind: Option<QueryKind>,
    /// A filter on the documents of the answer.
    pub filter: QuestionFilter,
    /// Parts that only the local brain understands.
    pub brain: BrainRequestOptions,
    /// The workspace that is searched, by the target's name for it; otherwise that of the target's settings.
    pub workspace: Option<String>,
    /// Asks for the edges that justify the answer.
    pub rationale: bool,
    /// Asks for the passages that justify the answer.
    pub highlights: bool,
    /// Asks for the whole text of the passages.
    pub passages: bool,
    /// Asks for the documents that each stage found.
    pub stages: bool,
    /// The time that recency is measured against.
    pub now: Option<Timestamp>,
    /// The longest time for the answer, all attempts together. The target's own limits apply as
    /// well.
    pub within: Option<std::time::Duration>,
}

impl Question {
    /// A question with everything that an answer can show except reasons.
    pub fn new(text: impl Into<String>, k: usize) -> Self {
        Self {
            text: text.into(),
            k,
            highlights: true,
            passages: true,
            stages: true,
            ..Self::default()
        }
    }

    /// A captured request as a question to any retriever, for at most so many results.
    pub fn of_request(request: &Request, max_results: Option<usize>) -> Self {
        let Request {
            operation,
            query,
            limit,
            detail,
            mode,
            filter: Filter { sources, types, tags, since, until, trust, truth_only },
            vectors,
            expansion,
            now,
            settings,
        } = request;
        Self {
            id: None,
            text: query.clone(),
            k: max_results.map_or(*limit, |most| most.min(*limit)),
            // The default behaviour of every target need not be requested.
            mode: Some(*mode).filter(|mode| *mode != RetrievalMode::Hybrid),
            kind: None,
            filter: QuestionFilter {
                sources: sources.iter().map(ToString::to_string).collect(),
                types: types.clone(),
                labels: tags.clone(),
                after: *since,
                before: *until,
                ..QuestionFilter::default()
            },
            brain: BrainRequestOptions {
                operation: *operation,
                detail: *detail,
                viewer: Some(*trust),
                truth_only: *truth_only,
                without_vectors: !vectors,
                expansion: Some(expansion.clone()),
                settings: Some(settings.clone()),
            },
            workspace: None,
            rationale: false,
            // As users ask it, so that it takes as long as they wait.
            highlights: true,
            passages: false,
            stages: false,
            now: Some(*now),
            within: None,
        }
    }

    /// Parts that only the local brain understands and that change the answer.
    pub fn brain_only_options(&self) -> Vec<&'static str> {
        let BrainRequestOptions { operation, detail, without_vectors, expansion, .. } = &self.brain;
        // An identifier is never searched by meaning, so leaving vectors out asks for nothing.
        let words_only =
            *operation == Operation::Query && *without_vectors && !is_identifier(&self.text);
        let has_variants = expansion.as_ref().is_some_and(|one| !one.variants().is_empty());
        let parts = [
            (*operation == Operation::Search, "operation"),
            (detail.is_some(), "detail"),
            (words_only, "vectors"),
            (has_variants, "variants"),
        ];
        parts.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, name)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            operation: Operation::Query,
            query: "a".to_owned(),
            limit: 10,
            detail: None,
            mode: RetrievalMode::Hybrid,
            filter: Filter { trust: Viewer::Trusted, ..Filter::default() },
            vectors: true,
            expansion: Expansion::Off,
            now: Timestamp::UNIX_EPOCH,
            settings: Settings::default(),
        }
    }

    #[test]
    fn parts_that_only_the_brain_understands_are_named() {
        let check = |change: fn(&mut Request), expected: &[&str]| {
            let mut request = request();
            change(&mut request);
            assert_eq!(Question::of_request(&request, Some(50)).brain_only_options(), expected);
        };
        check(|_| (), &[]);
        check(|request| request.operation = Operation::Search, &["operation"]);
        check(|request| request.detail = Some(Detail::Low), &["detail"]);
        check(|request| request.vectors = false, &["vectors"]);
        let identifier = |request: &mut Request| {
            (request.vectors, request.query) = (false, "HRB-131".to_owned());
        };
        check(identifier, &[]);
        check(
            |request| request.expansion = Expansion::Variants(vec!["b".to_owned()]),
            &["variants"],
        );
        check(|request| request.mode = RetrievalMode::Graph, &[]);
    }

    #[test]
    fn a_question_asks_for_no_more_than_a_target_gives() {
        let of = |most| Question::of_request(&request(), most).k;
        assert_eq!([of(None), of(Some(50)), of(Some(4))], [10, 10, 4]);
    }
}
