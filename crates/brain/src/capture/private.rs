//! The names of private pages, for captures that leave this machine.

use gbrain_core::capture::PrivateNames;
use gbrain_core::id::WorkspaceId;
use gbrain_core::identity::IdentityKey;
use gbrain_core::page::Visibility;
use gbrain_store::{PageFilter, Store, StoreError};

const BATCH: usize = 2_000;

/// The private pages of a workspace, live and deleted. `identity` is the key of the workspace.
pub fn private_names(
    store: &Store,
    ws: &WorkspaceId,
    identity: Option<IdentityKey>,
) -> Result<PrivateNames, StoreError> {
    let filter = PageFilter {
        visibility: Some(Visibility::Private),
        include_deleted: true,
        ..PageFilter::default()
    };
    let (mut keys, mut after) = (Vec::new(), None);
    loop {
        let pages = store.list(ws, &filter, after.as_ref(), BATCH)?;
        let is_last = pages.len() < BATCH;
        keys.extend(pages.into_iter().map(|page| page.key));
        if is_last {
            return Ok(PrivateNames::new(keys, identity));
        }
        after = keys.last().cloned();
    }
}
