//! Any target where the local brain is asked: in a replay, a gate, judged queries.
//!
//! A target elsewhere has one corpus, the one it has now, and settings of its own. What a captured request
//! says and the target has no place for is told with the answer, so that a row is not held against it.

use gbrain_core::capture::Retrieved;
use gbrain_core::id::PageKey;
use gbrain_core::latency::Timing;
use gbrain_core::provenance::{CorpusAt, Provenance};
use gbrain_core::replay::{Live, Lost};
use gbrain_core::request::{Filter, Operation, Request, RetrievalMode, Viewer};
use gbrain_core::search::Settings;
use gbrain_core::search::intent::is_identifier;
use gbrain_core::target::{Question, QuestionFilter};
use jiff::Timestamp;

use super::Ask;
use crate::{Answer, EvalError, RetrieveError, Retriever, Target};

/// A target elsewhere, as something that can be measured.
pub struct AsTarget<'a> {
    ask: &'a dyn Ask,
    live: Live,
}

impl<'a> AsTarget<'a> {
    /// A target, and the time of questions that have none.
    pub fn new(ask: &'a dyn Ask, now: Timestamp) -> Self {
        Self { ask, live: Live { settings: Settings::default(), now } }
    }

    /// What is known of what answers: its name and where it is.
    pub fn provenance(&self) -> Provenance {
        let target = format!("{} ({})", self.ask.name(), self.ask.place());
        Provenance { target: Some(target), ..Provenance::default() }
    }
}

impl Target for AsTarget<'_> {
    fn live(&self) -> &Live {
        &self.live
    }

    fn retriever(
        &self,
        corpus: Option<&CorpusAt>,
    ) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        Ok(match corpus {
            None => Some(Box::new(Asked(self))),
            Some(_) => None,
        })
    }

    fn has_pages(&self, _: &[&str], _: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        Ok(None)
    }

    fn page_count(&self) -> Option<u64> {
        None
    }
}

struct Asked<'a>(&'a AsTarget<'a>);

impl Retriever for Asked<'_> {
    fn retrieve(&self, request: &Request, id: Option<&str>) -> Result<Answer, RetrieveError> {
        let ask = self.0.ask;
        let (question, mut not_asked) = question(request, id, ask.most());
        let answer = ask.ask(&question).map_err(|error| RetrieveError(error.to_string()))?;
        not_asked.extend(&answer.not_asked);
        let fallbacks = answer.fallbacks.iter();
        Ok(Answer {
            pages: answer.documents().into_iter().map(Retrieved::parse).collect(),
            latency_ms: ask.is_timed().then(|| answer.total_ms()),
            degraded: fallbacks.map(|stage| (stage.clone(), "fallback".to_owned())).collect(),
            provenance: self.0.provenance(),
            not_asked,
        })
    }

    fn timing(&self, _: &Request) -> Timing {
        if self.0.ask.is_timed() { Timing::Wall } else { Timing::Untimed }
    }

    fn why_not(&self, _: &Request, _: &PageKey) -> Option<Lost> {
        None
    }
}

/// The question of a request, and what of the request is not in it.
fn question(
    request: &Request,
    id: Option<&str>,
    most: Option<usize>,
) -> (Question, Vec<&'static str>) {
    let Request {
        operation,
        query,
        limit,
        detail,
        mode,
        filter,
        vectors,
        expansion,
        now,
        settings: _,
    } = request;
    // Who may see what follows from the target's key.
    let Filter { sources, types, tags, since, until, trust: _, truth_only: _ } = filter;
    let k = most.map_or(*limit, |most| most.min(*limit));
    // Nobody looks for an identifier by meaning, so leaving that out asks for nothing.
    let words_only = *operation == Operation::Query && !vectors && !is_identifier(query);
    let lost = [
        (*operation == Operation::Search, "operation"),
        (k < *limit, "k"),
        (detail.is_some(), "detail"),
        (words_only, "vectors"),
        (!expansion.variants().is_empty(), "variants"),
    ];
    let question = Question {
        id: id.map(str::to_owned),
        text: query.clone(),
        k,
        // What everybody does unless asked otherwise need not be asked.
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
        workspace: None,
        rationale: false,
        // As users ask it, so that what it takes is what they wait for.
        highlights: true,
        now: Some(*now),
        within: None,
    };
    (question, lost.into_iter().filter(|(is_lost, _)| *is_lost).map(|(_, name)| name).collect())
}

#[cfg(test)]
mod tests {
    use gbrain_core::request::{Detail, Expansion, Viewer};

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
    fn what_can_not_be_asked_is_told() {
        let check = |change: fn(&mut Request), expected: &[&str]| {
            let mut request = request();
            change(&mut request);
            assert_eq!(question(&request, None, Some(50)).1, expected);
        };
        check(|_| (), &[]);
        check(|request| request.operation = Operation::Search, &["operation"]);
        check(|request| request.limit = 51, &["k"]);
        check(|request| request.detail = Some(Detail::Low), &["detail"]);
        check(|request| request.vectors = false, &["vectors"]);
        let identifier = |request: &mut Request| {
            (request.vectors, request.query) = (false, "HRB-131".to_owned());
        };
        check(identifier, &[]);
        check(|request| request.expansion = Expansion::Given(vec!["b".to_owned()]), &["variants"]);
        check(|request| request.mode = RetrievalMode::Graph, &[]);
    }
}
