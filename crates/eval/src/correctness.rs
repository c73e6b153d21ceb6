//! Asking queries whose right answers are known.

use gbrain_core::gate::{Judged, QueryResult};
use gbrain_core::qrels::{JudgedPages, JudgedQuery, relevant_pages};
use gbrain_core::replay::Live;
use gbrain_core::request::{Expansion, Filter, Operation, Request, RetrievalMode, Viewer};
use jiff::Timestamp;

use crate::spread::spread;
use crate::{EvalError, Retriever, Target};

/// Which pipeline answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipeline {
    /// The same on every day: no cache, no expansion, no remote model, time pinned.
    Fixed,
    /// What users get.
    Production,
}

impl Pipeline {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Production => "production",
        }
    }
}

/// The time of the fixed pipeline: recency must not make a gate red by itself.
const PINNED: i64 = 1_767_225_600;

/// Queries that were asked, and what is known of the pages that they judge.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedRun {
    /// Every query with what it gave, in the order of the file.
    pub queries: Vec<Judged>,
    /// Which judged pages exist.
    pub pages: JudgedPages,
}

/// Asks every query, in parallel; results in the order of the file. Bare ids are pages of the default
/// source. Where the target knows its pages and has none of those that are judged, nothing is asked.
pub fn judge(
    target: &dyn Target,
    mut queries: Vec<JudgedQuery>,
    k: usize,
    pipeline: Pipeline,
    concurrency: usize,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<JudgedRun, EvalError> {
    let pages = judged_pages(target, &mut queries)?;
    let retriever = target.retriever(None)?.expect("every target has a newest corpus");
    let results = spread(queries.len(), concurrency, |place| {
        let request = request(&queries[place], k, pipeline, target.live());
        let result = ask(retriever.as_ref(), &request, &queries[place].id);
        progress(1);
        result
    });
    let judged = queries.into_iter().zip(results).map(|(mut query, result)| {
        if let QueryResult::Ranked(pages) = &result {
            query.as_retrieved(pages);
        }
        Judged::new(query, result, k)
    });
    Ok(JudgedRun { queries: judged.collect(), pages })
}

/// Looks judged pages up where the target knows its own.
fn judged_pages(
    target: &dyn Target,
    queries: &mut [JudgedQuery],
) -> Result<JudgedPages, EvalError> {
    if target.has_pages(&[], Viewer::Trusted)?.is_none() {
        return Ok(JudgedPages::NotKnown);
    }
    queries.iter_mut().for_each(JudgedQuery::in_default_source);
    let names = relevant_pages(queries);
    let Some(has) = target.has_pages(&names, Viewer::Trusted)? else {
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

fn request(query: &JudgedQuery, k: usize, pipeline: Pipeline, live: &Live) -> Request {
    let pinned = Timestamp::from_second(PINNED).expect("the pinned time is in range");
    Request {
        operation: Operation::Query,
        query: query.text.clone().unwrap_or_default(),
        limit: k,
        detail: None,
        mode: RetrievalMode::Hybrid,
        filter: Filter { trust: Viewer::Trusted, ..Filter::default() },
        vectors: true,
        expansion: Expansion::Off,
        now: match pipeline {
            Pipeline::Fixed => pinned,
            Pipeline::Production => live.now,
        },
        settings: live.settings.clone(),
    }
}

/// A degraded answer is no answer: it would measure another pipeline.
fn ask(retriever: &dyn Retriever, request: &Request, id: &str) -> QueryResult {
    match retriever.retrieve(request, Some(id)) {
        Err(error) => QueryResult::Errored(error.to_string()),
        Ok(answer) => match answer.degraded.first() {
            Some((stage, reason)) => {
                QueryResult::Errored(format!("stage `{stage}` could not do its work: {reason}"))
            }
            None => QueryResult::Ranked(answer.pages.iter().map(ToString::to_string).collect()),
        },
    }
}
