//! A question asked once more, deeper: at which rank is it, if it is found at all?

use std::time::Duration;

use gbrain_core::suite::query::CanonicalQuery;
use gbrain_core::target::{Question, StageIds, TargetAnswer, TargetError};
use gbrain_core::triage::Evidence;

use super::TriageMeans;

/// How deep is looked.
const DEEP: usize = 100;
/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// What came back; none if nobody was asked.
pub(super) struct Again {
    answer: Option<Result<TargetAnswer, TargetError>>,
    is_whole: bool,
}

impl Again {
    /// Asks, where something was missed.
    pub(super) fn new(means: &TriageMeans<'_>, query: &CanonicalQuery, own: &Evidence) -> Self {
        let is_wanted = own.is_missed && own.error.is_none();
        let ask = means.again.filter(|_| is_wanted);
        let k = ask.and_then(|ask| ask.info().max_results).map_or(DEEP, |most| most.min(DEEP));
        let question = Question {
            id: Some(query.id.clone()),
            mode: query.mode,
            filter: query.filter.clone(),
            highlights: false,
            within: Some(PATIENCE),
            ..Question::new(query.text.clone(), k)
        };
        Self { answer: ask.map(|ask| ask.retrieve(&question)), is_whole: means.may_cost }
    }

    /// What the stages have now.
    pub(super) fn stages(&self) -> Option<&StageIds> {
        self.answer.as_ref()?.as_ref().ok()?.stages.as_ref()
    }

    /// Where it is in the deeper answer.
    pub(super) fn rank(&self, is_it: &dyn Fn(&str) -> bool, evidence: &mut Evidence) {
        let answer = match &self.answer {
            None => return,
            Some(Err(error)) => {
                evidence.notes.push(format!("asked again, it does not answer: {}", error.kind));
                return;
            }
            Some(Ok(answer)) => answer,
        };
        let how = if self.is_whole { "" } else { " without models" };
        let place = answer.documents().iter().position(|one| is_it(one)).map(|at| at + 1);
        match place {
            Some(rank) if rank > evidence.depth => evidence.deeper_rank = Some(rank),
            // What was missed and is there now says nothing about why it was missed.
            Some(rank) => evidence.notes.push(format!("asked again{how}, it is at rank {rank}")),
            None => (),
        }
    }
}
