//! Reads and writes single pages.

use gbrain_core::id::{PageKey, Slug};
use gbrain_core::page::{PageFormat, PageInput, StoredPage, parse};
use gbrain_core::ranking::Edge;
use gbrain_core::request::Viewer;
use gbrain_core::search::edit_distance;
use gbrain_store::{PageFilter, PageWrite, VersionInfo, WriteOutcome};
use jiff::Timestamp;

use crate::retrieve::LinkGraph;
use crate::{Brain, BrainError};

/// The result of `put`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutOutcome {
    pub outcome: WriteOutcome,
    /// Corrections that parsing made, and the parts that it dropped.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PageLinks {
    /// Outgoing and incoming edges, strongest first.
    pub edges: Vec<Edge>,
    /// Link targets without a page.
    pub unresolved: Vec<String>,
}

impl Brain {
    /// Writes a page. It is durable when this returns.
    pub fn put(
        &self,
        key: &PageKey,
        content: &str,
        format: PageFormat,
        now: Timestamp,
    ) -> Result<PutOutcome, BrainError> {
        let file_name = key.slug.as_str().rsplit('/').next();
        let input = PageInput { key: key.clone(), file_name, content, format };
        let page = parse(input).map_err(|source| BrainError::Page { key: key.clone(), source })?;
        let write = PageWrite { page: &page, origin: None };
        let mut outcomes = self.store().write_pages(self.workspace(), &[write], now)?;
        let outcome = outcomes.pop().expect("one write has one outcome");
        Ok(PutOutcome { outcome, warnings: page.warnings })
    }

    /// The live version of a page, or an older one.
    pub fn page(&self, key: &PageKey, version: Option<u32>) -> Result<StoredPage, BrainError> {
        let page = match version {
            None => self.store().page(self.workspace(), key)?,
            Some(version) => self.store().page_at_version(self.workspace(), key, version)?,
        };
        page.map_or_else(|| Err(self.no_page(key)?), Ok)
    }

    /// The versions of a page, oldest first.
    pub fn history(&self, key: &PageKey) -> Result<Vec<VersionInfo>, BrainError> {
        let versions = self.store().history(self.workspace(), key)?;
        if versions.is_empty() { Err(self.no_page(key)?) } else { Ok(versions) }
    }

    /// All live or deleted pages with this slug, by source.
    pub fn keys_of_slug(&self, slug: &Slug) -> Result<Vec<PageKey>, BrainError> {
        let sources = self.store().sources(self.workspace())?;
        let mut keys = Vec::new();
        for source in sources {
            let key = PageKey::new(source.id, slug.clone());
            if !self.store().history(self.workspace(), &key)?.is_empty() {
                keys.push(key);
            }
        }
        Ok(keys)
    }

    /// The outgoing and incoming edges of a page that a caller may see; cancelled if `is_stopped`.
    pub fn links(
        &self,
        key: &PageKey,
        trust: Viewer,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<PageLinks, BrainError> {
        let fresh = self.fresh_view(&|_, _| match is_stopped() {
            true => Err(BrainError::Halted),
            false => Ok(()),
        })?;
        let sources = self.sources_at(fresh.head)?;
        let mut graph = LinkGraph::new(fresh.view.as_ref(), &sources, trust, is_stopped);
        match fresh.view.entry_by_key(key, trust)? {
            Some(entry) => {
                let edges = graph.edges_of(&entry)?.into_iter().map(|found| found.edge).collect();
                Ok(PageLinks { edges, unresolved: graph.unresolved(&entry)? })
            }
            None => Err(self.no_page(key)?),
        }
    }

    /// The error for a missing page, with similar names.
    pub(crate) fn no_page(&self, key: &PageKey) -> Result<BrainError, BrainError> {
        const MAX_DISTANCE: usize = 3;
        let slug = key.slug.as_str();
        let prefix = slug.split_inclusive('/').next().filter(|segment| segment.ends_with('/'));
        let filter = PageFilter { prefix: prefix.map(str::to_owned), ..PageFilter::default() };
        let pages = self.store().list(self.workspace(), &filter, None, 2_000)?;
        let mut near: Vec<(usize, PageKey)> = pages
            .into_iter()
            .map(|page| (edit_distance(page.key.slug.as_str(), slug), page.key))
            .filter(|(distance, _)| *distance <= MAX_DISTANCE)
            .collect();
        near.sort();
        Ok(BrainError::NoPage {
            key: key.clone(),
            near: near.into_iter().map(|(_, key)| key).collect(),
        })
    }
}
