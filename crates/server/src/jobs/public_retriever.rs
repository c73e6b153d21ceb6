//! A retriever as callers over a wire may use it: without private pages, and only until the job must
//! stop. A page that is private now is not there in the past either.

use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::latency::Timing;
use gbrain_core::page::Visibility;
use gbrain_core::provenance::CorpusAt;
use gbrain_core::replay::Lost;
use gbrain_core::request::Viewer;
use gbrain_core::target::{
    BrainOptions, Found, Question, TargetAnswer, TargetError, TargetErrorKind,
};
use gbrain_eval::retriever::RetrieverInfo;
use gbrain_eval::{EvalError, Retriever};
use gbrain_store::{Store, StoreError};

use super::halt::Going;

/// A retriever without private pages.
pub(super) struct PublicRetriever<'a> {
    pub(super) retriever: Box<dyn Retriever + 'a>,
    pub(super) going: &'a Going,
    pub(super) store: &'a Store,
    pub(super) workspace: &'a WorkspaceId,
}

impl PublicRetriever<'_> {
    /// Which documents are pages that are not private now.
    fn are_visible(&self, documents: &[&str]) -> Result<Vec<bool>, StoreError> {
        let key = |name: &&str| PageKey::parse(name, &SourceId::default()).ok();
        let keys: Vec<Option<PageKey>> = documents.iter().map(key).collect();
        let known: Vec<PageKey> = keys.iter().flatten().cloned().collect();
        let mut seen = self.store.visibilities(self.workspace, &known)?.into_iter();
        let mut is_visible = |key: &Option<PageKey>| {
            key.is_some() && seen.next().flatten() == Some(Visibility::World)
        };
        Ok(keys.iter().map(&mut is_visible).collect())
    }

    /// The results of an answer that are not private now.
    fn visible(&self, results: Vec<Found>) -> Result<Vec<Found>, StoreError> {
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
        if self.going.is_halted() {
            return Err(stopped("the run was stopped"));
        }
        let failed = |why: String| {
            // It may name files; reports are read over a wire.
            tracing::warn!(message = %why, "a row could not be asked again");
            let message = "the brain could not answer; the worker's log says why";
            TargetError::new(TargetErrorKind::Unavailable, message)
        };
        let answer = self.retriever.retrieve(&for_the_public(question));
        let mut answer = answer.map_err(|error| failed(error.message))?;
        let results = self.visible(std::mem::take(&mut answer.results));
        answer.results = results.map_err(|error| failed(error.to_string()))?;
        Ok(answer)
    }

    fn timing(&self, question: &Question) -> Timing {
        self.retriever.timing(question)
    }

    fn at_corpus(&self, corpus: &CorpusAt) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        let (going, store, workspace) = (self.going, self.store, self.workspace);
        let past = self.retriever.at_corpus(corpus)?;
        Ok(past.map(|retriever| {
            Box::new(PublicRetriever { retriever, going, store, workspace }) as Box<dyn Retriever>
        }))
    }

    fn why_not(&self, question: &Question, page: &PageKey) -> Option<Lost> {
        let is_visible = self.are_visible(&[&page.to_string()]).is_ok_and(|seen| seen == [true]);
        if self.going.is_halted() || !is_visible {
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
    Question { brain: BrainOptions { viewer, ..question.brain.clone() }, ..question.clone() }
}
