//! The questions of a run, asked until they are through, the time is over or somebody stops them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gbrain_core::suite::Suite;
use gbrain_core::suite::query::CanonicalQuery;
use gbrain_core::suite::report::Ended;
use gbrain_core::target::{Question, TargetAnswer, TargetError, TargetErrorKind};
use jiff::Timestamp;

use crate::spread::spread;
use crate::target::Ask;

/// A query with what came back, and when it was asked.
pub(crate) struct QueryAnswer<'q> {
    pub(crate) query: &'q CanonicalQuery,
    pub(crate) at: Timestamp,
    pub(crate) answer: Result<TargetAnswer, TargetError>,
}

/// Queries to ask together, and until when.
pub(crate) struct QueryBatch<'a> {
    pub(crate) suite: &'a Suite,
    pub(crate) target: &'a dyn Ask,
    pub(crate) until: Instant,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) progress: &'a (dyn Fn(usize, usize) + Sync),
    pub(crate) clock: fn() -> Timestamp,
}

impl QueryBatch<'_> {
    /// Asks, so many at once, in the order of the queries.
    pub(crate) fn ask<'q>(&self, queries: &[&'q CanonicalQuery]) -> (Vec<QueryAnswer<'q>>, Ended) {
        let done = AtomicUsize::new(0);
        // What every further question would hear too.
        let refusal: OnceLock<TargetError> = OnceLock::new();
        let asked = spread(queries.len(), self.suite.concurrency, |at| {
            let left = self.left()?;
            let (query, when) = (queries[at], (self.clock)());
            let answer = match refusal.get() {
                Some(error) => Err(error.clone()),
                None => self.target.ask(&question(self.suite, query, left)),
            };
            if let Err(error) = &answer
                && error.kind.is_final()
                && error.kind != TargetErrorKind::Cancelled
            {
                let _ = refusal.set(error.clone());
            }
            (self.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, queries.len());
            // A question that was called off was not asked, and neither was one that the suite's own time cut
            // short: the target did not miss it.
            let is_cut = Instant::now() >= self.until;
            let is_off = matches!(&answer, Err(error) if error.kind == TargetErrorKind::Cancelled
                || (is_cut && error.kind == TargetErrorKind::Timeout));
            (!is_off).then_some(QueryAnswer { query, at: when, answer })
        });
        let asked: Vec<QueryAnswer<'q>> = asked.into_iter().flatten().collect();
        let ended = match asked.len() == queries.len() {
            // The last answers may have come late: the run took longer than it may.
            true if Instant::now() > self.until && !queries.is_empty() => Ended::OverTime,
            true => Ended::Whole,
            false if self.stop.load(Ordering::Acquire) => Ended::Cancelled,
            false => Ended::OverTime,
        };
        (asked, ended)
    }

    /// How much time is left for a question; none if it may not begin.
    fn left(&self) -> Option<Duration> {
        let is_stopped = self.stop.load(Ordering::Acquire);
        let left = self.until.checked_duration_since(Instant::now())?;
        (!is_stopped && !left.is_zero()).then_some(left)
    }
}

/// How a query is asked: deep enough for ranks six to ten, with highlights, and with reasons. A target may
/// answer any query by links, and some tell the mode of an answer among its reasons only.
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
