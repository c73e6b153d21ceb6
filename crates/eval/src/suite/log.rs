//! Logs the retrievals of a run, with the measurements of each.

use gbrain_core::format::suite::{CaseComment, RetrievalBody, Signal};
use gbrain_core::id::WorkspaceId;
use gbrain_core::scrub::Scrubber;
use gbrain_core::suite::Suite;
use gbrain_core::suite::case::CaseResult;
use gbrain_core::suite::graph::Faithfulness;
use gbrain_core::suite::snippet::Highlight;
use gbrain_store::{
    NewFeedback, NewRetrievalLog, RetrievalFields, RetrievalFilter, RetrievalOrigin, Store,
    StoreError,
};
use jiff::Timestamp;

use super::batch::QueryAnswer;

/// The user in logs of measurements.
pub(super) const USER: &str = "eval";

pub(super) struct RunLog<'a> {
    pub(super) suite: &'a Suite,
    pub(super) key: &'a str,
    pub(super) target: &'a str,
    pub(super) scrubber: &'a Scrubber,
}

impl RunLog<'_> {
    /// The log of a retrieval with its measurements.
    pub(super) fn of_case(&self, asked: &QueryAnswer<'_>, case: &CaseResult) -> NewRetrievalLog {
        let (target, id) = (self.target, Some(asked.query.id.as_str()));
        let (fields, body) = match &asked.answer {
            Ok(answer) => {
                let fields = RetrievalFields {
                    request_id: answer.request_id.clone().filter(|id| fits(id)),
                    rerank_threshold: answer.threshold,
                    total_ms: Some(answer.total_ms()).filter(|ms| ms.is_finite()),
                    dense_ms: answer.timings.dense_ms,
                    rerank_ms: answer.timings.rerank_ms,
                    hydration_ms: answer.timings.hydration_ms,
                    ..self.blank(&asked.query.text)
                };
                (fields, RetrievalBody::of_answer(target, id, answer))
            }
            Err(error) => {
                (self.blank(&asked.query.text), RetrievalBody::of_error(target, id, error.kind))
            }
        };
        let mode = case.mode.map(|mode| mode.name().to_owned());
        let top_k = u32::try_from(self.suite.depth).ok();
        NewRetrievalLog {
            at: asked.at,
            fields: RetrievalFields {
                retrieval_mode: mode,
                top_k,
                body: Some(super::json(&body)),
                ..fields
            },
            feedback: self.feedback(case),
        }
    }

    /// The log of a scored borderline pair.
    pub(super) fn of_pair(
        &self,
        query: &str,
        pair: i64,
        score: f64,
        at: Timestamp,
    ) -> NewRetrievalLog {
        let body = RetrievalBody {
            query_id: Some(format!("pair:{pair}")),
            target: self.target.to_owned(),
            schema_version: gbrain_core::format::suite::RETRIEVAL_BODY_VERSION,
            ..RetrievalBody::default()
        };
        let comment = self.comment(&format!("pair:{pair}"), Vec::new());
        let feedback = NewFeedback {
            signal_type: Signal::RerankScore.name().to_owned(),
            score: Some(score).filter(|score| score.is_finite()),
            comment: Some(comment),
        };
        NewRetrievalLog {
            at,
            fields: RetrievalFields { body: Some(super::json(&body)), ..self.blank(query) },
            feedback: vec![feedback],
        }
    }

    /// Stores the logs of a run once: a repeated run finds those of the earlier attempt.
    pub(super) fn store_once(
        &self,
        store: &Store,
        workspace: &WorkspaceId,
        logs: &[NewRetrievalLog],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let own = RetrievalFilter {
            traffic: Some(RetrievalOrigin::Experiment(self.key.to_owned())),
            limit: Some(1),
            ..RetrievalFilter::default()
        };
        if logs.is_empty() || !store.retrieval_logs(workspace, &own)?.is_empty() {
            return Ok(());
        }
        store.add_retrieval_logs(workspace, logs, now)?;
        Ok(())
    }

    fn blank(&self, query: &str) -> RetrievalFields {
        RetrievalFields {
            query_text: self.scrubber.scrub(query).text,
            experiment_id: Some(self.key.to_owned()),
            user_id: Some(USER.to_owned()),
            ..RetrievalFields::default()
        }
    }

    fn feedback(&self, case: &CaseResult) -> Vec<NewFeedback> {
        let share = |is_so: bool| if is_so { 1.0 } else { 0.0 };
        let is_keyed = case.expected > 0;
        let faith = case.faith.filter(|faith| *faith != Faithfulness::Unverified);
        let measured = [
            (Signal::RecallAt5, is_keyed.then(|| share(case.is_hit(5)))),
            (Signal::RecallAt10, is_keyed.then(|| share(case.is_hit(10)))),
            (Signal::Snippet, case.highlight.map(|one| share(one == Highlight::Right))),
            (Signal::Rationale, faith.map(|faith| share(faith == Faithfulness::Faithful))),
            (Signal::GraphAnswer, case.graph_answer.map(share)),
        ];
        let comment = self.comment(&case.id, case.flags.clone());
        let known = measured.into_iter().filter_map(|(signal, score)| Some((signal, score?)));
        known
            .map(|(signal, score)| NewFeedback {
                signal_type: signal.name().to_owned(),
                score: Some(score),
                comment: Some(comment.clone()),
            })
            .collect()
    }

    fn comment(&self, case: &str, flags: Vec<gbrain_core::suite::case::CaseDefect>) -> String {
        let (suite, run_id) = (self.suite.name.clone(), self.key.to_owned());
        super::json(&CaseComment { suite, run_id, case_id: case.to_owned(), flags })
    }
}

fn fits(id: &str) -> bool {
    (1..=200).contains(&id.len()) && !id.contains('\0')
}
