//! A run from its order on: the target opened, the index waited for, the questions asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gbrain_brain::{Assistants, Brain};
use gbrain_core::fault::chain;
use gbrain_core::format::suite::SuiteRunBody;
use gbrain_core::id::{Generation, WorkspaceId};
use gbrain_core::scrub::Scrubber;
use gbrain_core::suite::Suite;
use gbrain_core::suite::graph::Facts;
use gbrain_core::suite::report::Reason;
use gbrain_core::target::{LOCAL, RationaleEdge};
use gbrain_store::{Store, StoreError};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{
    Checked, Freshness, Occasion, Reranker, Scorer, SuiteJob, SuiteMeans, TargetBook, await_index,
    broken, run, unverifiable,
};
use crate::retriever::Retriever;

/// How long the index is waited for at most.
const INDEX_WAIT: Duration = Duration::from_secs(600);

/// What a run is made with before anything is open.
pub struct Conductor<'a> {
    /// Where everything is kept.
    pub store: &'a Store,
    /// The brain of the workspace.
    pub brain: &'a Brain,
    /// Where targets are looked up.
    pub targets: &'a TargetBook,
    /// Who is asked instead of the suite's own target.
    pub instead: Option<&'a str>,
    /// Models that help the local brain, where the owner named some.
    pub assistants: Option<&'a Assistants>,
    /// Who scores borderline pairs; none where no reranker is set.
    pub reranker: Option<&'a Reranker>,
    /// What is taken out of texts that are kept.
    pub scrubber: &'a Scrubber,
    /// Set when it is to stop.
    pub stop: &'a Arc<AtomicBool>,
    /// Told how many questions are done, and of how many.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    /// The time.
    pub clock: fn() -> Timestamp,
}

impl Conductor<'_> {
    /// Runs a suite as it was ordered. Whatever keeps it from beginning is a run with that reason.
    pub fn run(self, suite: &Suite, order: &SuiteJob) -> Result<SuiteRunBody, StoreError> {
        let elsewhere = self.instead.is_some_and(|target| target != suite.target);
        let target = self.instead.unwrap_or(&suite.target).to_owned();
        let suite = &Suite { target, ..suite.clone() };
        let workspace = self.brain.workspace().clone();
        let occasion = Occasion { key: &order.key, trigger: &order.trigger, doubt: None };
        let (clock, stop) = (self.clock, self.stop);
        let unmade = |reason: Reason, why: &str| {
            // Whoever stopped it knows why it did not begin.
            let is_stopped = stop.load(Ordering::Acquire);
            let reason = if is_stopped { Reason::Cancelled } else { reason };
            let body = broken(suite, &workspace, &occasion, (reason, why), clock());
            Ok(SuiteRunBody { elsewhere, ..body })
        };
        let is_local = suite.target == LOCAL;
        if is_local {
            match self.fresh(suite, order) {
                Ok(Freshness::Fresh) => (),
                Ok(Freshness::Behind(changes)) => {
                    let why =
                        format!("the index is {changes} changes behind what was to be measured");
                    return unmade(Reason::IndexBehind, &why);
                }
                Err(why) => return unmade(Reason::Broken, &why),
            }
        }
        let target = match self.targets.open(&suite.target, self.brain, self.assistants, self.stop)
        {
            Ok(target) => target,
            Err(error) => return unmade(Reason::Broken, &error.to_string()),
        };
        let today = clock().to_zoned(TimeZone::UTC).date();
        let checked = Checked { store: self.store, workspace: &workspace, today };
        let known = |edge: &RationaleEdge| checked.fact(edge);
        let facts: &Facts<'_> = if is_local { &known } else { &unverifiable };
        let whom = (target.as_ref(), elsewhere);
        self.asked(suite, &occasion, &workspace, whom, facts)
    }

    fn asked(
        self,
        suite: &Suite,
        occasion: &Occasion<'_>,
        workspace: &WorkspaceId,
        (target, elsewhere): (&dyn Retriever, bool),
        facts: &Facts<'_>,
    ) -> Result<SuiteRunBody, StoreError> {
        let Conductor { store, reranker, scrubber, stop, progress, clock, .. } = self;
        let score = |query: &str, texts: &[&str]| match reranker {
            Some(reranker) => reranker.score(query, texts),
            None => Err("no reranker is set".to_owned()),
        };
        let scorer = reranker.map(|reranker| Scorer { model: reranker.name(), score: &score });
        let means = SuiteMeans {
            store,
            workspace,
            target,
            elsewhere,
            facts,
            scorer,
            scrubber,
            stop,
            progress,
            clock,
        };
        run(&means, suite, occasion)
    }

    /// Waits for what the order tells of, and for all that is there when the run begins.
    fn fresh(&self, suite: &Suite, order: &SuiteJob) -> Result<Freshness, String> {
        let head = self.store.head(self.brain.workspace()).map_err(|error| chain(&error))?;
        let wanted = order.generation.unwrap_or_default().max(head.generation.0);
        let longest = Duration::try_from(suite.max_duration).unwrap_or_default();
        let until = Instant::now() + longest.min(INDEX_WAIT);
        await_index(self.brain, Generation(wanted), until, self.stop).map_err(|error| chain(&error))
    }
}
