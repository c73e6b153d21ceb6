//! Selects the findings of an earlier report that are still current.

use gbrain_core::format::contradiction::WireFinding;
use gbrain_core::id::{PageKey, WorkspaceId};
use gbrain_core::page::{StoredPage, Visibility};
use gbrain_core::request::Viewer;
use gbrain_store::{Store, StoreError};
use rustc_hash::FxHashMap;

/// Number of pages looked up per batch.
const AT_ONCE: usize = 256;

/// The findings whose statements both pages still make, word for word, and that may be shown to
/// this reader. Findings about text that was corrected, deleted, made private or moved out of sight
/// are dropped.
pub fn current_findings(
    store: &Store,
    workspace: &WorkspaceId,
    findings: Vec<WireFinding>,
    trust: Viewer,
) -> Result<Vec<WireFinding>, StoreError> {
    let named = findings.iter().flat_map(|finding| [&finding.a, &finding.b]);
    let mut keys: Vec<PageKey> = named.filter_map(|member| member.key()).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut pages: FxHashMap<PageKey, StoredPage> = FxHashMap::default();
    for keys in keys.chunks(AT_ONCE) {
        let found = store.pages(workspace, keys)?;
        pages.extend(keys.iter().cloned().zip(found).filter_map(|(key, page)| Some((key, page?))));
    }
    let stands = |finding: &WireFinding| {
        [&finding.a, &finding.b].into_iter().all(|member| {
            let page = member.key().and_then(|key| pages.get(&key));
            page.is_some_and(|StoredPage { page, .. }| {
                let is_visible = trust == Viewer::Trusted || page.visibility == Visibility::World;
                is_visible && member.stands_in(page)
            })
        })
    };
    Ok(findings.into_iter().filter(stands).collect())
}
