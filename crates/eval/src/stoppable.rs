//! A target that stops answering once it is asked to: what is left of a measurement ends at once.
//!
//! What was measured until then is no result; the caller looks at the flag and gives no verdict.

use std::sync::atomic::{AtomicBool, Ordering};

use gbrain_core::id::PageKey;
use gbrain_core::latency::Timing;
use gbrain_core::provenance::CorpusAt;
use gbrain_core::replay::{Live, Lost};
use gbrain_core::request::{Request, Viewer};

use crate::{Answer, EvalError, RetrieveError, Retriever, Target};

/// A target with a flag that stops it.
pub struct StoppableTarget<'a> {
    target: &'a dyn Target,
    stop: &'a AtomicBool,
}

impl<'a> StoppableTarget<'a> {
    /// A target that answers until the flag is set.
    pub fn new(target: &'a dyn Target, stop: &'a AtomicBool) -> Self {
        Self { target, stop }
    }
}

impl Target for StoppableTarget<'_> {
    fn live(&self) -> &Live {
        self.target.live()
    }

    fn retriever(
        &self,
        corpus: Option<&CorpusAt>,
    ) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        let inner = self.target.retriever(corpus)?;
        let stop = self.stop;
        Ok(inner.map(|inner| Box::new(StoppableRetriever { inner, stop }) as Box<dyn Retriever>))
    }

    fn has_pages(&self, names: &[&str], trust: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        self.target.has_pages(names, trust)
    }

    fn page_count(&self) -> Option<u64> {
        self.target.page_count()
    }
}

struct StoppableRetriever<'a> {
    inner: Box<dyn Retriever + 'a>,
    stop: &'a AtomicBool,
}

impl StoppableRetriever<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

impl Retriever for StoppableRetriever<'_> {
    fn retrieve(&self, request: &Request, id: Option<&str>) -> Result<Answer, RetrieveError> {
        if self.is_stopped() {
            return Err(RetrieveError("the run was interrupted".to_owned()));
        }
        self.inner.retrieve(request, id)
    }

    fn timing(&self, request: &Request) -> Timing {
        self.inner.timing(request)
    }

    fn why_not(&self, request: &Request, page: &PageKey) -> Option<Lost> {
        if self.is_stopped() { None } else { self.inner.why_not(request, page) }
    }
}
