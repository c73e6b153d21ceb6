//! Runs judged queries, whose relevant pages are known.

use gbrain_core::gate::{JudgedResult, QueryResult};
use gbrain_core::qrels::{JudgedPages, JudgedQuery, relevant_pages};
use gbrain_core::request::{Expansion, Filter, Operation, Request, RetrievalMode, Viewer};
use gbrain_core::target::{Question, StageFallback};
use jiff::Timestamp;

use crate::retriever::RetrieverInfo;
use crate::spread::spread;
use crate::{EvalError, Retriever};

/// The pipeline that answers judged queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgedPipeline {
    /// Reproducible: no cache, no expansion, no remote model, fixed time.
    Fixed,
    Production,
}

impl JudgedPipeline {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Production => "production",
        }
    }
}

/// The query time of the fixed pipeline, so that recency alone cannot fail a gate.
const PINNED: i64 = 1_767_225_600;

/// The results of judged queries, and which judged pages exist.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedRun {
    /// The result of every query, in the order of the file.
    pub queries: Vec<JudgedResult>,
    /// Which judged pages exist.
    pub pages: JudgedPages,
}

/// Runs all queries in parallel and returns results in the order of the file. Bare ids are pages of
/// the default source. If the target can look up pages and has none of the judged ones, nothing is
/// asked.
pub fn judge(
    retriever: &dyn Retriever,
    mut queries: Vec<JudgedQuery>,
    k: usize,
    pipeline: JudgedPipeline,
    concurrency: usize,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<JudgedRun, EvalError> {
    let pages = judged_pages(retriever, &mut queries)?;
    let results = spread(queries.len(), concurrency, |place| {
        let result = ask(retriever, &question(&queries[place], k, pipeline, retriever.info()));
        progress(1);
        result
    });
    let judged = queries.into_iter().zip(results).map(|(mut query, result)| {
        if let QueryResult::Ranked(pages) = &result {
            query.as_retrieved(pages);
        }
        JudgedResult::new(query, result, k)
    });
    Ok(JudgedRun { queries: judged.collect(), pages })
}

/// Looks up judged pages, if the target can.
fn judged_pages(
    retriever: &dyn Retriever,
    queries: &mut [JudgedQuery],
) -> Result<JudgedPages, EvalError> {
    if !retriever.info().capabilities.page_lookup {
        return Ok(JudgedPages::NotKnown);
    }
    queries.iter_mut().for_each(JudgedQuery::in_default_source);
    let names = relevant_pages(queries);
    let Some(has) = retriever.has_pages(&names, Viewer::Trusted)? else {
        return Ok(JudgedPages::NotKnown);
    };
    let missing = names.iter().zip(has).filter(|(_, has)| !has);
    let missing = missing.map(|(name, _)| (*name).to_owned()).collect();
    let pages = JudgedPages::Known { judged: names.len(), missing };
    if pages.is_none_there() {
        let example = names.first().map(|name| (*name).to_owned()).unwrap_or_default();
        return Err(EvalError::NoJudgedPage { judged: names.len(), example });
    }
    Ok(pages)
}

fn question(
    query: &JudgedQuery,
    k: usize,
    pipeline: JudgedPipeline,
    RetrieverInfo { live, max_results, .. }: &RetrieverInfo,
) -> Question {
    let pinned = Timestamp::from_second(PINNED).expect("the pinned time is in range");
    let request = Request {
        operation: Operation::Query,
        query: query.text.clone().unwrap_or_default(),
        limit: k,
        detail: None,
        mode: RetrievalMode::Hybrid,
        filter: Filter { trust: Viewer::Trusted, ..Filter::default() },
        vectors: true,
        expansion: Expansion::Off,
        now: match pipeline {
            JudgedPipeline::Fixed => pinned,
            JudgedPipeline::Production => live.now,
        },
        settings: live.settings.clone(),
    };
    Question { id: Some(query.id.clone()), ..Question::of_request(&request, *max_results) }
}

/// A degraded answer is an error: it would measure another pipeline.
fn ask(retriever: &dyn Retriever, question: &Question) -> QueryResult {
    match retriever.retrieve(question) {
        Err(error) => QueryResult::Errored(retriever.info().error_text(&error)),
        Ok(answer) => match answer.fallbacks.first() {
            Some(StageFallback { stage, reason }) => {
                QueryResult::Errored(format!("stage `{stage}` could not do its work: {reason}"))
            }
            None => {
                QueryResult::Ranked(answer.documents().into_iter().map(str::to_owned).collect())
            }
        },
    }
}
