//! Compares versions of a page: whether an older text answers a query that the present one does
//! not.

use std::collections::BTreeSet;

use gbrain_brain::{BrainError, Snapshot};
use gbrain_core::id::WorkspaceId;
use gbrain_core::page::{Page, StoredPage, Visibility};
use gbrain_core::request::Viewer;
use gbrain_core::text::QueryTerms;
use gbrain_store::{Store, VersionInfo, VersionOp};

/// Minimum gain in similarity for an older text to count as better.
const MIN_SIMILARITY_GAIN: f64 = 0.15;
/// Minimum gain in the share of query terms for an older text to count as better.
const MIN_TERM_GAIN: f64 = 0.3;

pub(super) struct PageHistory<'a> {
    pub(super) store: &'a Store,
    pub(super) workspace: &'a WorkspaceId,
    /// Measures similarity in meaning; `None` if embedding is not allowed.
    pub(super) model: Option<&'a Snapshot>,
    pub(super) trust: Viewer,
}

impl PageHistory<'_> {
    /// The newest older version whose text fits a query better than the present one.
    pub(super) fn better_before(
        &self,
        query: &str,
        stored: &StoredPage,
        history: &[VersionInfo],
    ) -> Result<Option<u32>, BrainError> {
        let Some(older) = self.replaced(history) else { return Ok(None) };
        let before = self.store.page_at_version(self.workspace, &stored.page.key, older)?;
        let Some(before) = before.map(|stored| stored.page) else { return Ok(None) };
        Ok(self.is_better(query, &before, &stored.page).then_some(older))
    }

    /// Whether one text fits a query clearly better than another.
    pub(super) fn is_better(&self, query: &str, better: &Page, worse: &Page) -> bool {
        let (better, worse) = (fit(self.model, query, better), fit(self.model, query, worse));
        better.0 - worse.0 > MIN_SIMILARITY_GAIN || better.1 - worse.1 >= MIN_TERM_GAIN
    }

    /// The last version with another text than the present one that the viewer may know of.
    fn replaced(&self, history: &[VersionInfo]) -> Option<u32> {
        let now = history.last()?;
        let is_other = |one: &&VersionInfo| {
            one.op != VersionOp::Delete
                && one.content_hash != now.content_hash
                && (self.trust == Viewer::Trusted || one.visibility == Visibility::World)
        };
        history.iter().rev().find(is_other).map(|one| one.version)
    }
}

/// The similarity of a text to a query, by meaning and by the share of query terms that it
/// contains.
fn fit(model: Option<&Snapshot>, query: &str, page: &Page) -> (f64, f64) {
    let meaning = model.and_then(|model| model.similarity_anew(query, page)).unwrap_or(0.0);
    let stems = |text: &str| -> BTreeSet<String> {
        let mut stems = BTreeSet::new();
        gbrain_core::text::analyse(text, &mut |token| {
            stems.insert(token.stem.to_owned());
        });
        stems
    };
    let has = stems(&page.content);
    let terms = QueryTerms::of(query).terms;
    let found = terms.iter().filter(|term| has.contains(&term.stem)).count();
    (meaning, found as f64 / terms.len().max(1) as f64)
}
