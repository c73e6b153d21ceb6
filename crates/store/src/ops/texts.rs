//! Whether the store still has the texts that it was given.
//!
//! A page is unchanged if its hash is the one in the store, and if the text in the store still has that hash: disks
//! damage what they hold, and a damaged text that is called unchanged is never repaired. Only texts that seem unchanged
//! are looked at. PostgreSQL hashes where they are, so that none travels; SQLite's are read from the file.

use gbrain_core::chunk::Chunk;
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::page::{Page, PageKind};
use gbrain_core::request::Viewer;

use super::check::{byte_offsets, slice};
use super::write;
use crate::driver::{Scope, Session};
use crate::schema::{TEXT_BYTES, TEXT_HASHES};
use crate::store::Store;
use crate::types::{Engine, PageVersion, PageWrite, WriteOutcome};
use crate::{Result, StoreError, row};

/// What is known before anything is locked.
pub(super) enum BeforeWrite {
    /// There is nothing to write.
    Unchanged(Vec<WriteOutcome>),
    /// Something is to be written. The text of these versions is damaged.
    Write(Vec<PageVersion>),
}

impl Store {
    /// The SHA-256 of the stored text of versions, in the order asked for; none where there is no text or it can't be
    /// read. It is computed from the text as it is now. PostgreSQL computes it where the text is.
    pub fn text_hashes(
        &self,
        ws: &WorkspaceId,
        versions: &[PageVersion],
    ) -> Result<Vec<Option<Hash>>> {
        if versions.is_empty() {
            return Ok(Vec::new());
        }
        let engine = self.engine();
        let read = self.read(Scope::Workspace(ws), |session| load(session, ws, engine, versions));
        match read {
            Err(StoreError::Corrupt { .. }) if versions.len() == 1 => Ok(vec![None]),
            // A text that can't be read takes its batch along: each is read by itself.
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
        let preview =
            self.read(Scope::Workspace(ws), |session| write::preview(session, ws, writes, writer))?;
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

/// Whether a page that was read has the text it was written with. The hash of a chat is that of the file that its text
/// was rendered from; its chunks have hashes of their own.
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
    session: &mut dyn Session,
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
