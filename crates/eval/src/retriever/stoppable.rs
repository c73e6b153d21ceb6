//! A retriever that stops answering when a flag is set, so that a measurement ends at once.
//!
//! Results up to then are incomplete: the caller checks the flag and reports no verdict.

use std::sync::atomic::{AtomicBool, Ordering};

use gbrain_core::id::PageKey;
use gbrain_core::latency::TimingMethod;
use gbrain_core::provenance::CorpusSnapshot;
use gbrain_core::replay::LostPage;
use gbrain_core::request::Viewer;
use gbrain_core::target::{Question, TargetAnswer, TargetError, TargetErrorKind};

use super::{Retriever, RetrieverInfo};
use crate::EvalError;

/// A retriever with a flag that stops it.
pub struct StoppableRetriever<'a> {
    pub retriever: Box<dyn Retriever + 'a>,
    pub stop: &'a AtomicBool,
}

impl StoppableRetriever<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

impl Retriever for StoppableRetriever<'_> {
    fn info(&self) -> &RetrieverInfo {
        self.retriever.info()
    }

    fn retrieve(&self, question: &Question) -> Result<TargetAnswer, TargetError> {
        if self.is_stopped() {
            return Err(TargetError::new(TargetErrorKind::Cancelled, "the run was interrupted"));
        }
        self.retriever.retrieve(question)
    }

    fn timing(&self, question: &Question) -> TimingMethod {
        self.retriever.timing(question)
    }

    fn at_corpus(
        &self,
        corpus: &CorpusSnapshot,
    ) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        let stop = self.stop;
        let stoppable = |retriever| Box::new(StoppableRetriever { retriever, stop });
        Ok(self.retriever.at_corpus(corpus)?.map(|inner| stoppable(inner) as Box<dyn Retriever>))
    }

    fn why_not(&self, question: &Question, page: &PageKey) -> Option<LostPage> {
        if self.is_stopped() { None } else { self.retriever.why_not(question, page) }
    }

    fn has_pages(&self, names: &[&str], viewer: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        self.retriever.has_pages(names, viewer)
    }
}
