//! What is measured: anything that answers a request.

use gbrain_core::capture::Retrieved;
use gbrain_core::id::PageKey;
use gbrain_core::latency::Timing;
use gbrain_core::provenance::{CorpusAt, Provenance};
use gbrain_core::replay::{Live, Lost};
use gbrain_core::request::{Request, Viewer};

use crate::EvalError;

/// An answer, as far as it is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The pages, in order, without duplicates.
    pub pages: Vec<Retrieved>,
    /// How long it took, in milliseconds; none for answers that were saved.
    pub latency_ms: Option<f64>,
    /// Stages whose machinery could not do its work, with the reason.
    pub degraded: Vec<(String, String)>,
    /// What answered.
    pub provenance: Provenance,
    /// Parts of the request that the retriever has no place for.
    pub not_asked: Vec<&'static str>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RetrieveError(pub String);

/// Answers requests from one corpus.
pub trait Retriever: Sync {
    /// Answers a request; the id of the query is for retrievers that know it by that.
    fn retrieve(&self, request: &Request, id: Option<&str>) -> Result<Answer, RetrieveError>;

    /// What the time of a request is measured by. A retriever around another one says what that one
    /// says, unless its answers no longer take that one's time.
    fn timing(&self, request: &Request) -> Timing;

    /// Where a page fell out of the answer to a request, where the retriever can tell.
    fn why_not(&self, request: &Request, page: &PageKey) -> Option<Lost>;
}

/// Something that can be measured: a retriever of its newest corpus, and of past ones where it has
/// them.
pub trait Target: Sync {
    /// What is true of it now.
    fn live(&self) -> &Live;

    /// The retriever of the newest corpus, or of a captured one; none if that can't be had.
    /// Captured corpora are best asked for in the order of their generations.
    fn retriever(
        &self,
        corpus: Option<&CorpusAt>,
    ) -> Result<Option<Box<dyn Retriever + '_>>, EvalError>;

    /// Which of these pages, named `source::slug`, the newest corpus has for such a caller; none where
    /// the target can't say.
    fn has_pages(&self, names: &[&str], trust: Viewer) -> Result<Option<Vec<bool>>, EvalError>;

    /// How many pages the newest corpus has; none where the target can't say.
    fn page_count(&self) -> Option<u64>;
}
