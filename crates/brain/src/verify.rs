//! Compares the index with the store, page by page and chunk by chunk.

use gbrain_core::hash::Hash;
use gbrain_core::page::StoredPage;
use gbrain_core::ranking::DegradedStage;
use gbrain_core::request::Viewer;
use gbrain_index::View;
use gbrain_store::PageFilter;
use schemars::JsonSchema;
use serde::Serialize;

use crate::damage::is_replaceable;
use crate::{Brain, BrainError};

const BATCH: usize = 200;

/// A discrepancy between the index and the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "VerifyRow")]
pub struct VerifyFinding {
    /// Name of the check.
    pub check: String,
    /// The discrepancy, without page text.
    pub detail: String,
}

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifyReport {
    /// The number of pages compared.
    pub pages: u64,
    /// The number of passages compared.
    pub chunks: u64,
    /// All discrepancies, in the order in which they were found.
    pub findings: Vec<VerifyFinding>,
}

impl VerifyReport {
    fn add_finding(&mut self, check: &str, detail: impl Into<String>) {
        self.findings.push(VerifyFinding { check: check.to_owned(), detail: detail.into() });
    }
}

impl Brain {
    /// Checks the store's invariants, updates the index and compares everything in it with the
    /// store.
    pub fn verify(&self, progress: &dyn Fn(i64, i64)) -> Result<VerifyReport, BrainError> {
        let mut report = VerifyReport::default();
        for finding in self.store().check(self.workspace())? {
            report.add_finding(&format!("store {}", finding.invariant), finding.detail);
        }
        // Ignores cached file states: a failing disk changes bytes without changing times.
        match self.index().check_files() {
            Ok(damaged) if damaged.is_empty() => {}
            // Damaged content is not worth comparing.
            Ok(damaged) => {
                damaged.into_iter().for_each(|what| report.add_finding("index file", what));
                return Ok(report);
            }
            // Rebuilt below.
            Err(error) if is_replaceable(&error) => {}
            Err(error) => return Err(error.into()),
        }
        let fresh = self.fresh_view(&|done, total| {
            progress(done, total);
            Ok(())
        })?;
        if fresh.behind > 0 || fresh.degraded.is_some() {
            let why = match &fresh.degraded {
                Some(DegradedStage { reason, .. }) => {
                    format!("its embedder did not answer ({reason})")
                }
                None => "another process is indexing".to_owned(),
            };
            report.add_finding("index", format!("{} changes behind: {why}", fresh.behind));
            return Ok(report);
        }
        let head = self.store().head(self.workspace())?;
        let corpus = fresh.view.corpus();
        if corpus.root != head.root {
            report.add_finding(
                "index root",
                format!("{} instead of {}", corpus.root.short(), head.root.short()),
            );
        }
        self.compare_pages(fresh.view.as_ref(), &mut report)?;
        let held = fresh.view.count_contents()?;
        for (what, held, expected) in
            [("pages", held.pages, report.pages), ("chunks", held.chunks, report.chunks)]
        {
            if held != expected {
                report.add_finding("index counts", format!("{held} {what} instead of {expected}"));
            }
        }
        Ok(report)
    }

    fn compare_pages(&self, view: &dyn View, report: &mut VerifyReport) -> Result<(), BrainError> {
        let mut after = None;
        loop {
            let filter = PageFilter::default();
            let infos = self.store().list(self.workspace(), &filter, after.as_ref(), BATCH)?;
            let Some(last) = infos.last() else { return Ok(()) };
            after = Some(last.key.clone());
            let keys: Vec<_> = infos.into_iter().map(|info| info.key).collect();
            for stored in self.store().pages(self.workspace(), &keys)?.into_iter().flatten() {
                compare_page(view, &stored, report)?;
            }
        }
    }
}

fn compare_page(
    view: &dyn View,
    stored: &StoredPage,
    report: &mut VerifyReport,
) -> Result<(), BrainError> {
    let key = &stored.page.key;
    report.pages += 1;
    report.chunks += stored.page.chunks.len() as u64;
    let Some(entry) = view.entry_by_key(key, Viewer::Trusted)? else {
        report.add_finding("index page", format!("{key} is missing"));
        return Ok(());
    };
    if (entry.id, entry.version, entry.content_hash)
        != (stored.id, stored.version, stored.page.content_hash)
    {
        report.add_finding(
            "index page",
            format!("{key} is at version {} instead of {}", entry.version, stored.version),
        );
        return Ok(());
    }
    let texts = gbrain_core::chunk::texts(&stored.page.content, &stored.page.chunks);
    for (chunk, text) in stored.page.chunks.iter().zip(texts) {
        if Hash::of(text.as_bytes()) != chunk.hash {
            report.add_finding(
                "store chunk",
                format!("{key} chunk {} does not match its text", chunk.ordinal),
            );
        }
        match view.passage(stored.id, chunk.ordinal, Viewer::Trusted)? {
            Some(passage) if Hash::of(passage.text.as_bytes()) == chunk.hash => {}
            Some(_) => report.add_finding(
                "index chunk",
                format!("{key} chunk {} has a different text", chunk.ordinal),
            ),
            None => report
                .add_finding("index chunk", format!("{key} chunk {} is missing", chunk.ordinal)),
        }
    }
    if view.vectors_fit(stored)? == Some(false) {
        report.add_finding(
            "index vectors",
            format!("{key} has vectors that differ from its model's output"),
        );
    }
    let links = view.links_of(stored.id, Viewer::Trusted)?;
    if links.len() != stored.page.links.len() {
        report.add_finding(
            "index links",
            format!("{key} has {} links instead of {}", links.len(), stored.page.links.len()),
        );
    }
    Ok(())
}
