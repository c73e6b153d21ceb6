//! Asks a question again with a larger depth, to find the rank of a missed result.

use std::time::Duration;

use gbrain_core::suite::query::CanonicalQuery;
use gbrain_core::target::{Question, StageIds, TargetAnswer, TargetError};
use gbrain_core::triage::CaseEvidence;

use super::TriageContext;

/// The depth of the repeated question.
const DEEP_K: usize = 100;
/// The timeout of the repeated question.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The answer to the deeper question; `None` if it was not asked.
pub(super) struct DeeperAnswer {
    answer: Option<Result<TargetAnswer, TargetError>>,
    is_whole: bool,
}

impl DeeperAnswer {
    /// Asks again if a result was missed.
    pub(super) fn new(
        context: &TriageContext<'_>,
        query: &CanonicalQuery,
        own: &CaseEvidence,
    ) -> Self {
        let is_wanted = own.is_missed && own.error.is_none();
        let ask = context.again.filter(|_| is_wanted);
        let k = ask.and_then(|ask| ask.info().max_results).map_or(DEEP_K, |most| most.min(DEEP_K));
        let question = Question {
            id: Some(query.id.clone()),
            mode: query.mode,
            filter: query.filter.clone(),
            highlights: false,
            within: Some(ANSWER_TIMEOUT),
            ..Question::new(query.text.clone(), k)
        };
        Self { answer: ask.map(|ask| ask.retrieve(&question)), is_whole: context.may_cost }
    }

    pub(super) fn stage_ids(&self) -> Option<&StageIds> {
        self.answer.as_ref()?.as_ref().ok()?.stages.as_ref()
    }

    /// Adds the rank of a result in the deeper answer.
    pub(super) fn add_rank_evidence(
        &self,
        is_it: &dyn Fn(&str) -> bool,
        evidence: &mut CaseEvidence,
    ) {
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
            // A result that is within the depth now does not explain why it was missed.
            Some(rank) => evidence.notes.push(format!("asked again{how}, it is at rank {rank}")),
            None => (),
        }
    }
}
