//! A target as callers over a wire may ask it: without private pages, and only until the job must
//! stop.

use gbrain_core::id::PageKey;
use gbrain_core::latency::Timing;
use gbrain_core::provenance::CorpusAt;
use gbrain_core::replay::{Live, Lost};
use gbrain_core::request::{Request, Trust};
use gbrain_eval::{Answer, EvalError, RetrieveError, Retriever, Target};

use super::halt::Going;

/// A target seen from outside.
pub(super) struct Outside<'a> {
    pub(super) target: &'a dyn Target,
    pub(super) going: &'a Going,
}

impl Target for Outside<'_> {
    fn live(&self) -> &Live {
        self.target.live()
    }

    fn retriever(
        &self,
        corpus: Option<&CorpusAt>,
    ) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        let inner = self.target.retriever(corpus)?;
        Ok(inner
            .map(|inner| Box::new(FromOutside { inner, going: self.going }) as Box<dyn Retriever>))
    }

    fn has_pages(&self, names: &[&str], _: Trust) -> Result<Option<Vec<bool>>, EvalError> {
        self.target.has_pages(names, Trust::Untrusted)
    }

    fn page_count(&self) -> Option<u64> {
        self.target.page_count()
    }
}

struct FromOutside<'a> {
    inner: Box<dyn Retriever + 'a>,
    going: &'a Going,
}

impl Retriever for FromOutside<'_> {
    fn retrieve(&self, request: &Request, id: Option<&str>) -> Result<Answer, RetrieveError> {
        if self.going.is_halted() {
            return Err(RetrieveError("the run was stopped".to_owned()));
        }
        self.inner.retrieve(&untrusted(request), id).map_err(|RetrieveError(why)| {
            // It may name files; what is told is read over a wire.
            tracing::warn!(message = %why, "a row could not be asked again");
            RetrieveError("the brain could not answer; the worker's log says why".to_owned())
        })
    }

    fn timing(&self, request: &Request) -> Timing {
        self.inner.timing(request)
    }

    fn why_not(&self, request: &Request, page: &PageKey) -> Option<Lost> {
        if self.going.is_halted() {
            return None;
        }
        self.inner.why_not(&untrusted(request), page)
    }
}

fn untrusted(request: &Request) -> Request {
    let mut request = request.clone();
    request.filter.trust = Trust::Untrusted;
    request
}
