//! A retriever whose results remote callers may read: it asks as an untrusted viewer, returns only
//! pages that are public now, even from a past corpus, and fails once the job is stopped.

use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::latency::TimingMethod;
use gbrain_core::page::Visibility;
use gbrain_core::provenance::CorpusSnapshot;
use gbrain_core::replay::LostPage;
use gbrain_core::request::Viewer;
use gbrain_core::target::{
    BrainRequestOptions, Question, TargetAnswer, TargetError, TargetErrorKind, TargetResult,
};
use gbrain_eval::retriever::RetrieverInfo;
use gbrain_eval::{EvalError, Retriever};
use gbrain_store::{Store, StoreError};

use super::control::JobControl;

pub(super) struct PublicRetriever<'a> {
    pub(super) retriever: Box<dyn Retriever + 'a>,
    pub(super) control: &'a JobControl,
    pub(super) store: &'a Store,
    pub(super) workspace: &'a WorkspaceId,
}

impl PublicRetriever<'_> {
    /// Which documents are pages that are not private now.
    fn are_visible(&self, documents: &[&str]) -> Result<Vec<bool>, StoreError> {
        let key = |name: &&str| PageKey::parse(name, &SourceId::default()).ok();
        let keys: Vec<Option<PageKey>> = documents.iter().map(key).collect();
        let known: Vec<PageKey> = keys.iter().flatten().cloned().collect();
        let mut visibilities = self.store.visibilities(self.workspace, &known)?.into_iter();
        let mut is_visible = |key: &Option<PageKey>| {
            key.is_some() && visibilities.next().flatten() == Some(Visibility::World)
        };
        Ok(keys.iter().map(&mut is_visible).collect())
    }

    /// The results that are not private now.
    fn visible(&self, results: Vec<TargetResult>) -> Result<Vec<TargetResult>, StoreError> {
        let names: Vec<&str> = results.iter().map(|found| found.document.as_str()).collect();
        let are_visible = self.are_visible(&names)?;
        let results = results.into_iter().zip(are_visible);
        Ok(results.filter(|(_, is_visible)| *is_visible).map(|(found, _)| found).collect())
    }
}

impl Retriever for PublicRetriever<'_> {
    fn info(&self) -> &RetrieverInfo {
        self.retriever.info()
    }

    fn retrieve(&self, question: &Question) -> Result<TargetAnswer, TargetError> {
        let stopped = |message: &str| TargetError::new(TargetErrorKind::Cancelled, message);
        if self.control.is_stopped() {
            return Err(stopped("the run was stopped"));
        }
        let failed = |why: String| {
            // The error may contain file names, and remote callers read the report: it is only logged.
            tracing::warn!(message = %why, "a row could not be replayed");
            let message = "the query failed: see the worker's log";
            TargetError::new(TargetErrorKind::Unavailable, message)
        };
        let answer = self.retriever.retrieve(&for_the_public(question));
        let mut answer = answer.map_err(|error| failed(error.message))?;
        let results = self.visible(std::mem::take(&mut answer.results));
        answer.results = results.map_err(|error| failed(error.to_string()))?;
        Ok(answer)
    }

    fn timing(&self, question: &Question) -> TimingMethod {
        self.retriever.timing(question)
    }

    fn at_corpus(
        &self,
        corpus: &CorpusSnapshot,
    ) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        let (control, store, workspace) = (self.control, self.store, self.workspace);
        let past = self.retriever.at_corpus(corpus)?;
        Ok(past.map(|retriever| {
            Box::new(PublicRetriever { retriever, control, store, workspace }) as Box<dyn Retriever>
        }))
    }

    fn why_not(&self, question: &Question, page: &PageKey) -> Option<LostPage> {
        let is_visible =
            self.are_visible(&[&page.to_string()]).is_ok_and(|visible| visible == [true]);
        if self.control.is_stopped() || !is_visible {
            return None;
        }
        self.retriever.why_not(&for_the_public(question), page)
    }

    fn has_pages(&self, names: &[&str], _: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        self.retriever.has_pages(names, Viewer::Untrusted)
    }
}

fn for_the_public(question: &Question) -> Question {
    let viewer = Some(Viewer::Untrusted);
    Question { brain: BrainRequestOptions { viewer, ..question.brain.clone() }, ..question.clone() }
}
