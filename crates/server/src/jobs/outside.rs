//! A target as callers over a wire may ask it: without private pages, and only until the job must
//! stop. A page that is private now is not there in the past either.

use gbrain_core::capture::Retrieved;
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::latency::Timing;
use gbrain_core::page::Visibility;
use gbrain_core::provenance::CorpusAt;
use gbrain_core::replay::{Live, Lost};
use gbrain_core::request::{Request, Viewer};
use gbrain_eval::{Answer, EvalError, RetrieveError, Retriever, Target};
use gbrain_store::{Store, StoreError};

use super::halt::Going;

/// A target seen from outside.
pub(super) struct Outside<'a> {
    pub(super) target: &'a dyn Target,
    pub(super) going: &'a Going,
    pub(super) store: &'a Store,
    pub(super) workspace: &'a WorkspaceId,
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
        Ok(inner.map(|inner| Box::new(FromOutside { inner, outside: self }) as Box<dyn Retriever>))
    }

    fn has_pages(&self, names: &[&str], _: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        self.target.has_pages(names, Viewer::Untrusted)
    }

    fn page_count(&self) -> Option<u64> {
        self.target.page_count()
    }
}

struct FromOutside<'a> {
    inner: Box<dyn Retriever + 'a>,
    outside: &'a Outside<'a>,
}

impl FromOutside<'_> {
    /// The pages of an answer that are not private now.
    fn visible(&self, pages: Vec<Retrieved>) -> Result<Vec<Retrieved>, StoreError> {
        let key = |page: &Retrieved| PageKey::parse(&page.to_string(), &SourceId::default()).ok();
        let keys: Vec<Option<PageKey>> = pages.iter().map(key).collect();
        let known: Vec<PageKey> = keys.iter().flatten().cloned().collect();
        let Outside { store, workspace, .. } = self.outside;
        let mut seen = store.visibilities(workspace, &known)?.into_iter();
        let mut is_visible = |key: &Option<PageKey>| {
            key.is_some() && seen.next().flatten() == Some(Visibility::World)
        };
        let pages = pages.into_iter().zip(&keys);
        Ok(pages.filter(|(_, key)| is_visible(key)).map(|(page, _)| page).collect())
    }
}

impl Retriever for FromOutside<'_> {
    fn retrieve(&self, request: &Request, id: Option<&str>) -> Result<Answer, RetrieveError> {
        if self.outside.going.is_halted() {
            return Err(RetrieveError("the run was stopped".to_owned()));
        }
        let failed = |why: String| {
            // It may name files; what is told is read over a wire.
            tracing::warn!(message = %why, "a row could not be asked again");
            RetrieveError("the brain could not answer; the worker's log says why".to_owned())
        };
        let answer = self.inner.retrieve(&untrusted(request), id);
        let mut answer = answer.map_err(|RetrieveError(why)| failed(why))?;
        answer.pages = self.visible(answer.pages).map_err(|error| failed(error.to_string()))?;
        Ok(answer)
    }

    fn timing(&self, request: &Request) -> Timing {
        self.inner.timing(request)
    }

    fn why_not(&self, request: &Request, page: &PageKey) -> Option<Lost> {
        let is_hidden =
            self.visible(vec![Retrieved::from(page)]).map_or(true, |left| left.is_empty());
        if self.outside.going.is_halted() || is_hidden {
            return None;
        }
        self.inner.why_not(&untrusted(request), page)
    }
}

fn untrusted(request: &Request) -> Request {
    let mut request = request.clone();
    request.filter.trust = Viewer::Untrusted;
    request
}
