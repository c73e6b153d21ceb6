//! Erasure from judgements: labels, canonical queries, calibration pairs, qrels and baselines.

use std::cell::RefCell;

use gbrain_core::erasure::{BaselineErasure, BaselineSeal, QrelsErasure, QueryErasure};
use gbrain_core::hash::Hash;

use super::PageErasure;
use crate::Result;
use crate::document::DocumentKind;
use crate::driver::{SqlSession, SqlValue, collect};
use crate::query_set::QueryState;
use crate::types::PurgeKeys;

const FORGET_LABELS: &str =
    "DELETE FROM labels WHERE workspace_id = $1 AND source_id = $2 AND slug = $3";
const QUERIES: &str =
    "SELECT id, body, state FROM canonical_queries WHERE workspace_id = $1 ORDER BY id";
const REWRITE_QUERY: &str = "UPDATE canonical_queries SET body = $3, state = $4 \
     WHERE workspace_id = $1 AND id = $2";
const PAIRS: &str = "SELECT id, document, chunk_id FROM calibration_pairs WHERE workspace_id = $1";
const FORGET_PAIR: &str = "DELETE FROM calibration_pairs WHERE workspace_id = $1 AND id = $2";
const DOCUMENTS: &str =
    "SELECT name, body FROM documents WHERE workspace_id = $1 AND kind = $2 ORDER BY name";
/// A rewritten document keeps its date, because its measurements are as old as before.
const REWRITE_DOCUMENT: &str = "UPDATE documents SET hash = $4, bytes = $5, body = $6 \
     WHERE workspace_id = $1 AND kind = $2 AND name = $3";
const TEXT_OF_SLUG: &str = "SELECT p.source_id, v.content FROM pages p JOIN page_versions v \
     ON v.workspace_id = p.workspace_id AND v.page_id = p.page_id AND v.version = p.version \
     WHERE p.workspace_id = $1 AND p.slug = $2 AND v.content IS NOT NULL";

impl PageErasure<'_> {
    pub(super) fn labels(&mut self) -> Result<()> {
        let key = self.page.key();
        let params = [self.ws.into(), key.source.as_str().into(), key.slug.as_str().into()];
        self.counts.labels = self.session.execute(FORGET_LABELS, &params)?;
        Ok(())
    }

    pub(super) fn canonical_queries(&mut self) -> Result<()> {
        let rows = collect(self.session, QUERIES, &[self.ws.into()], |row| {
            Ok((row.int(0)?, row.text(1)?, row.text(2)?))
        })?;
        for (id, body, state) in rows {
            let Some(QueryErasure { body, is_retired }) = self.canonical_query(&body)? else {
                continue;
            };
            let state = if is_retired { QueryState::Retired.name() } else { &state };
            let params = [self.ws.into(), id.into(), body.as_str().into(), state.into()];
            self.session.execute(REWRITE_QUERY, &params)?;
            match is_retired {
                true => self.counts.queries_retired += 1,
                false => self.counts.queries_changed += 1,
            }
        }
        Ok(())
    }

    /// A snippet that also occurs in another page of the query stays.
    fn canonical_query(&mut self, body: &str) -> Result<Option<QueryErasure>> {
        let requested: RefCell<Vec<String>> = RefCell::new(Vec::new());
        let note = |keys: &[String], _: &str| {
            requested.borrow_mut().extend_from_slice(keys);
            false
        };
        let erased = self.page.erase_from_query(body, &note);
        let keys = requested.into_inner();
        if keys.is_empty() {
            return Ok(erased);
        }
        let texts = texts_of(self.session, self.ws.into(), &keys)?;
        let blanks = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let stands_in = |_: &[String], snippet: &str| {
            let snippet = blanks(snippet);
            texts.iter().any(|text| blanks(text).contains(&snippet))
        };
        Ok(self.page.erase_from_query(body, &stands_in))
    }

    pub(super) fn calibration_pairs(&mut self) -> Result<()> {
        self.counts.calibration_pairs = self.delete(PAIRS, FORGET_PAIR, |page, row| {
            Ok(page.is_pair(&row.text(1)?, &row.text(2)?))
        })?;
        Ok(())
    }

    pub(super) fn documents(&mut self, keys: &PurgeKeys) -> Result<()> {
        for (name, body) in self.bodies(DocumentKind::Qrels)? {
            if let Some(QrelsErasure { text, without_answer }) = self.page.erase_from_qrels(&body) {
                self.put(DocumentKind::Qrels, &name, &text)?;
                self.counts.qrels += 1;
                self.counts.qrels_queries_without_answer += without_answer;
            }
        }
        for (name, body) in self.bodies(DocumentKind::Baseline)? {
            let erased = self.page.erase_from_baseline(&body, keys.baseline.as_ref(), &|_| true);
            if let Some(BaselineErasure { text, seal }) = erased {
                self.put(DocumentKind::Baseline, &name, &text)?;
                self.counts.baselines += 1;
                self.counts.baselines_to_publish_again += u64::from(seal == BaselineSeal::Broken);
            }
        }
        Ok(())
    }

    fn bodies(&mut self, kind: DocumentKind) -> Result<Vec<(String, String)>> {
        let params = [self.ws.into(), kind.name().into()];
        collect(self.session, DOCUMENTS, &params, |row| Ok((row.text(0)?, row.text(1)?)))
    }

    fn put(&mut self, kind: DocumentKind, name: &str, text: &str) -> Result<()> {
        let hash = Hash::of(text.as_bytes());
        let params = [
            self.ws.into(),
            kind.name().into(),
            name.into(),
            (&hash).into(),
            text.len().into(),
            text.into(),
        ];
        self.session.execute(REWRITE_DOCUMENT, &params).map(drop)
    }
}

/// The current texts of the pages that answer keys refer to.
fn texts_of(
    session: &mut dyn SqlSession,
    ws: SqlValue<'_>,
    keys: &[String],
) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for key in keys {
        let (source, slug) = match key.split_once("::") {
            Some((source, slug)) => (Some(source), slug),
            None => (None, key.as_str()),
        };
        session.query(TEXT_OF_SLUG, &[ws.clone(), slug.into()], &mut |row| {
            let is_meant = source.is_none_or(|source| row.text(0).is_ok_and(|of| of == source));
            if is_meant {
                texts.push(row.text(1)?);
            }
            Ok(())
        })?;
    }
    Ok(texts)
}
