//! The state that measuring must not change.

use anyhow::Result;
use gbrain_brain::Brain;
use gbrain_core::id::PageKey;
use gbrain_core::search::Settings;
use gbrain_store::{CaptureFilter, CorpusHead, PageFilter, PageInfo, Source};

/// How many pages are listed at once.
const LISTED: usize = 1_000;

/// The state of a brain: everything that a write, a setting or a capture would change.
#[derive(Debug, PartialEq)]
pub(super) struct Still {
    settings: Settings,
    config: Vec<(String, String)>,
    head: CorpusHead,
    sources: Vec<Source>,
    pages: Vec<PageInfo>,
    captures: u64,
    failures: u64,
}

impl Still {
    pub(super) fn of(brain: &Brain) -> Result<Self> {
        let (store, ws) = (brain.store(), brain.workspace());
        Ok(Self {
            settings: brain.settings()?,
            config: store.config_list(ws)?,
            head: store.head(ws)?,
            sources: store.sources(ws)?,
            pages: pages(brain)?,
            captures: store.count_captures(ws, &CaptureFilter::default())?,
            failures: store.count_capture_failures(ws, None, None)?,
        })
    }

    /// The names of what differs from another state.
    pub(super) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let Self { settings, config, head, sources, pages, captures, failures } = self;
        let all = [
            (*settings != other.settings, "settings"),
            (*config != other.config, "config"),
            (*head != other.head, "head"),
            (*sources != other.sources, "sources"),
            (*pages != other.pages, "pages"),
            (*captures != other.captures, "captures"),
            (*failures != other.failures, "failures"),
        ];
        all.into_iter().filter_map(|(differs, name)| differs.then_some(name)).collect()
    }
}

/// Every page, deleted ones too.
fn pages(brain: &Brain) -> Result<Vec<PageInfo>> {
    let filter = PageFilter { include_deleted: true, ..PageFilter::default() };
    let mut pages: Vec<PageInfo> = Vec::new();
    loop {
        let after: Option<&PageKey> = pages.last().map(|page| &page.key);
        let more = brain.store().list(brain.workspace(), &filter, after, LISTED)?;
        if more.is_empty() {
            return Ok(pages);
        }
        pages.extend(more);
    }
}
