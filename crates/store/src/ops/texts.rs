//! Verifies stored texts before pages are called unchanged.
//!
//! A page is unchanged if its hash equals the stored one and the stored text still has that hash:
//! disks corrupt data, and a damaged text that counts as unchanged would never be repaired. Only
//! texts that seem unchanged are verified. PostgreSQL computes the hashes on the server, so that no
//! text is transferred; SQLite's texts are read from the file.

use gbrain_core::chunk::Chunk;
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::page::{Page, PageKind};
use gbrain_core::request::Viewer;

use super::check::{byte_offsets, slice};
use super::write;
use crate::driver::{RowScope, SqlSession};
use crate::schema::{TEXT_BYTES, TEXT_HASHES};
use crate::store::Store;
use crate::types::{Engine, PageVersion, PageWrite, WriteOutcome};
use crate::{Result, StoreError, row};

/// The result of planning before anything is locked.
pub(super) enum BeforeWrite {
    /// There is nothing to write.
    Unchanged(Vec<WriteOutcome>),
    /// There is something to write. The texts of these versions are damaged.
    Write(Vec<PageVersion>),
}

impl Store {
    /// The SHA-256 of the stored texts of versions, in the given order; `None` where there is no
    /// text or it cannot be read. It is computed from the text as it is now, on the server for
    /// PostgreSQL.
    pub fn text_hashes(
        &self,
        ws: &WorkspaceId,
        versions: &[PageVersion],
    ) -> Result<Vec<Option<Hash>>> {
        if versions.is_empty() {
            return Ok(Vec::new());
        }
        let engine = self.engine();
        let read =
            self.read(RowScope::Workspace(ws), |session| load(session, ws, engine, versions));
        match read {
            Err(StoreError::Corrupt { .. }) if versions.len() == 1 => Ok(vec![None]),
            // An unreadable text fails its batch: read each one separately.
            Err(StoreError::Corrupt { .. }) => {
                let each = versions.iter().map(|at| Ok(self.text_hashes(ws, &[*at])?[0]));
                each.collect()
            }
            read => read,
        }
    }

    /// Plans writes without writing.
    pub(super) fn before_write(
        &self,
        ws: &WorkspaceId,
        writes: &[PageWrite<'_>],
        writer: Viewer,
    ) -> Result<BeforeWrite> {
        let preview = self
            .read(RowScope::Workspace(ws), |session| write::preview(session, ws, writes, writer))?;
        let versions: Vec<PageVersion> = preview.same.iter().map(|(at, _)| *at).collect();
        let stored = self.text_hashes(ws, &versions)?;
        let damaged = preview.same.iter().zip(stored);
        let damaged =
            damaged.filter(|((_, text), stored)| *stored != Some(Hash::of(text.as_bytes())));
        let damaged: Vec<PageVersion> = damaged.map(|((at, _), _)| *at).collect();
        Ok(match preview.unchanged {
            Some(outcomes) if damaged.is_empty() => BeforeWrite::Unchanged(outcomes),
            _ => BeforeWrite::Write(damaged),
        })
    }
}

/// Whether a page's text has its stored hash. The hash of a chat is that of the file from which its
/// text was rendered; its chunks have separate hashes.
pub(super) fn is_sound(page: &Page) -> bool {
    match page.kind {
        PageKind::Chat => {
            let offsets = byte_offsets(&page.content);
            let text_of = |chunk: &Chunk| slice(&page.content, &offsets, chunk.start, chunk.end);
            let has_hash = |chunk: &Chunk, text: &str| Hash::of(text.as_bytes()) == chunk.hash;
            page.chunks.iter().all(|chunk| text_of(chunk).is_some_and(|text| has_hash(chunk, text)))
        }
        _ => Hash::of(page.content.as_bytes()) == page.content_hash,
    }
}

fn load(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    engine: Engine,
    versions: &[PageVersion],
) -> Result<Vec<Option<Hash>>> {
    let mut found = vec![None; versions.len()];
    let keys = super::load::key_values(versions);
    match engine {
        Engine::Sqlite => session.lookup(&TEXT_BYTES, ws, &keys, &mut |place, row| {
            found[place] = Some(Hash::of(&row.blob(0)?));
            Ok(())
        })?,
        Engine::Postgres => session.lookup(&TEXT_HASHES, ws, &keys, &mut |place, row| {
            found[place] = Some(row::hash(row, 0)?);
            Ok(())
        })?,
    }
    Ok(found)
}
