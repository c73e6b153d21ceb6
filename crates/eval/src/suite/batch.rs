//! Asks the questions of a run until all are answered, the time is over or the run is stopped.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gbrain_core::suite::Suite;
use gbrain_core::suite::query::CanonicalQuery;
use gbrain_core::suite::report::RunEnd;
use gbrain_core::target::{Question, TargetAnswer, TargetError, TargetErrorKind};
use jiff::Timestamp;

use crate::retriever::Retriever;
use crate::spread::spread;

/// A query with its answer and the time it was asked.
pub(crate) struct QueryAnswer<'q> {
    pub(crate) query: &'q CanonicalQuery,
    pub(crate) at: Timestamp,
    pub(crate) answer: Result<TargetAnswer, TargetError>,
}

/// Queries to ask together, with a deadline.
pub(crate) struct QueryBatch<'a> {
    pub(crate) suite: &'a Suite,
    pub(crate) target: &'a dyn Retriever,
    pub(crate) until: Instant,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) progress: &'a (dyn Fn(usize, usize) + Sync),
    pub(crate) clock: fn() -> Timestamp,
}

impl QueryBatch<'_> {
    /// Asks the queries concurrently, starting in their order.
    pub(crate) fn ask<'q>(&self, queries: &[&'q CanonicalQuery]) -> (Vec<QueryAnswer<'q>>, RunEnd) {
        let done = AtomicUsize::new(0);
        // An error that every further question would receive too.
        let refusal: OnceLock<TargetError> = OnceLock::new();
        let asked = spread(queries.len(), self.suite.concurrency, |at| {
            let left = self.left()?;
            let (query, when) = (queries[at], (self.clock)());
            let answer = match refusal.get() {
                Some(error) => Err(error.clone()),
                None => self.target.retrieve(&question(self.suite, query, left)),
            };
            if let Err(error) = &answer
                && error.kind.is_final()
                && error.kind != TargetErrorKind::Cancelled
            {
                let _ = refusal.set(error.clone());
            }
            (self.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, queries.len());
            // A cancelled question counts as not asked, and so does one that the suite's own
            // deadline cut short: neither is a failure of the target.
            let is_cut = Instant::now() >= self.until;
            let is_off = matches!(&answer, Err(error) if error.kind == TargetErrorKind::Cancelled
                || (is_cut && error.kind == TargetErrorKind::Timeout));
            (!is_off).then_some(QueryAnswer { query, at: when, answer })
        });
        let asked: Vec<QueryAnswer<'q>> = asked.into_iter().flatten().collect();
        let ended = match asked.len() == queries.len() {
            // The last answers may have come after the deadline.
            true if Instant::now() > self.until && !queries.is_empty() => RunEnd::OverTime,
            true => RunEnd::Whole,
            false if self.stop.load(Ordering::Acquire) => RunEnd::Cancelled,
            false => RunEnd::OverTime,
        };
        (asked, ended)
    }

    /// The time left for a question; `None` if it may not start.
    fn left(&self) -> Option<Duration> {
        let is_stopped = self.stop.load(Ordering::Acquire);
        let left = self.until.checked_duration_since(Instant::now())?;
        (!is_stopped && !left.is_zero()).then_some(left)
    }
}

/// The question for a query: deep enough for ranks six to ten, with highlights and rationale. Any
/// query may be answered by links, and some targets report the mode of an answer only in its
/// rationale.
fn question(suite: &Suite, query: &CanonicalQuery, within: Duration) -> Question {
    Question {
        id: Some(query.id.clone()),
        k: suite.depth,
        mode: query.mode,
        filter: query.filter.clone(),
        rationale: true,
        within: Some(within),
        ..Question::new(query.text.clone(), suite.depth)
    }
}
