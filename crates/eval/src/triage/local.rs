//! Evidence from the local brain: whether a page exists, is complete, visible and has its vectors.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use gbrain_brain::{Brain, BrainError, PageIndexState, Snapshot, VectorCheck, excluded};
use gbrain_core::chunk::texts;
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::{PageFormat, PageInput, PageKind, StoredPage, Visibility, parse};
use gbrain_core::ranking::Arm;
use gbrain_core::request::{Filter, Viewer};
use gbrain_core::stats::percentile;
use gbrain_core::suite::SuiteRun;
use gbrain_core::suite::query::{CanonicalQuery, KeyKind, ResultKey};
use gbrain_core::suite::snippet::is_made_up;
use gbrain_core::triage::{CaseEvidence, DocumentPresence};
use gbrain_store::{PageFilter, VersionInfo, VersionOp};
use jiff::Timestamp;

use super::evidence::must_find;
use super::page_history::PageHistory;
use super::{TriageContext, TriageError};
use crate::retriever::filter_of;

/// Number of found cases that define the usual similarity.
const SIMILARITY_SAMPLE: usize = 50;
const MIN_SAMPLE: usize = 3;
/// Number of pages read per batch.
const BATCH: usize = 200;

pub(super) struct LocalBrain<'a> {
    context: &'a TriageContext<'a>,
    brain: &'a Brain,
    snapshot: Snapshot,
    /// The start of the run.
    began: Timestamp,
    /// Similarity of expected pages in cases that were found: the median and the lowest decile.
    usual: Option<(f64, f64)>,
    /// The page of each passage, by passage id.
    passages: OnceCell<BTreeMap<String, PageKey>>,
    /// Whether the index holds vectors of another model than the configured one.
    pub(super) is_other_model: bool,
}

impl<'a> LocalBrain<'a> {
    pub(super) fn new(
        context: &'a TriageContext<'a>,
        brain: &'a Brain,
        run: &SuiteRun,
        queries: &BTreeMap<String, CanonicalQuery>,
    ) -> Result<Self, TriageError> {
        let snapshot = brain.snapshot(&|_, _| ())?;
        let is_other_model = !brain.vector_report()?.is_settled();
        let began = run.started_at.parse().unwrap_or(Timestamp::MAX);
        let passages = OnceCell::new();
        let mut here =
            Self { context, brain, snapshot, began, usual: None, passages, is_other_model };
        here.usual = here.usual(run, queries)?;
        Ok(here)
    }

    /// The documents that a key may refer to.
    pub(super) fn documents(&self, key: &ResultKey) -> Result<Vec<String>, TriageError> {
        let pages = self.pages(key)?;
        if pages.is_empty() {
            return Ok(vec![key.id.clone()]);
        }
        Ok(pages.iter().map(ToString::to_string).collect())
    }

    /// Adds the evidence about one expected result.
    pub(super) fn check_presence(
        &self,
        query: &CanonicalQuery,
        key: &ResultKey,
        evidence: &mut CaseEvidence,
    ) -> Result<(), TriageError> {
        let pages = self.pages(key)?;
        match self.stored(&pages)? {
            None => self.check_missing(&pages, key, evidence),
            Some(stored) => self.check_existing(query, &stored, evidence),
        }
    }

    /// The first of some pages that exists for the viewer.
    fn stored(&self, pages: &[PageKey]) -> Result<Option<StoredPage>, TriageError> {
        let stored = self.context.store.pages(self.context.workspace, pages)?;
        Ok(stored.into_iter().flatten().find(|one| self.is_visible(one)))
    }

    /// Whether texts may be embedded: a remote model costs money.
    fn may_embed(&self) -> bool {
        self.context.may_cost || !self.snapshot.is_model_remote()
    }

    /// The similarity of a page to a query; `None` if embedding is not allowed.
    fn similarity(&self, query: &str, stored: &StoredPage) -> Result<Option<f64>, TriageError> {
        if !self.may_embed() {
            return Ok(None);
        }
        Ok(self.snapshot.similarity(query, stored)?)
    }

    /// Whether the viewer may know of a page.
    fn is_visible(&self, stored: &StoredPage) -> bool {
        self.context.trust == Viewer::Trusted || stored.page.visibility == Visibility::World
    }

    /// The pages that a key may refer to, including deleted ones.
    fn pages(&self, key: &ResultKey) -> Result<Vec<PageKey>, TriageError> {
        if key.kind != KeyKind::Document {
            return Ok(self.passages()?.get(&key.id).cloned().into_iter().collect());
        }
        let Ok(page) = PageKey::parse(&key.id, &SourceId::default()) else {
            return Ok(Vec::new());
        };
        if key.id.contains("::") {
            Ok(vec![page])
        } else {
            Ok(self.brain.keys_of_slug(&page.slug)?)
        }
    }

    /// The page of every passage: a passage id does not name its page.
    fn passages(&self) -> Result<&BTreeMap<String, PageKey>, TriageError> {
        if let Some(known) = self.passages.get() {
            return Ok(known);
        }
        let (store, ws) = (self.context.store, self.context.workspace);
        let mut all = BTreeMap::new();
        let mut after = None;
        loop {
            let infos = store.list(ws, &PageFilter::default(), after.as_ref(), BATCH)?;
            let Some(last) = infos.last() else { break };
            after = Some(last.key.clone());
            let keys: Vec<PageKey> = infos.into_iter().map(|info| info.key).collect();
            for stored in store.pages(ws, &keys)?.into_iter().flatten() {
                let key = stored.page.key;
                all.extend(stored.page.chunks.iter().map(|one| (one.id(&key), key.clone())));
            }
        }
        Ok(self.passages.get_or_init(|| all))
    }

    /// Adds the evidence about a page that does not exist.
    fn check_missing(
        &self,
        pages: &[PageKey],
        key: &ResultKey,
        evidence: &mut CaseEvidence,
    ) -> Result<(), TriageError> {
        evidence.presence = DocumentPresence::Absent;
        if key.kind != KeyKind::Document {
            evidence.notes.push("no page has such a passage".to_owned());
            return Ok(());
        }
        // The history of a deleted page is private to the owner.
        for page in pages.iter().filter(|_| self.context.trust == Viewer::Trusted) {
            let history = self.history(page)?;
            let (presence, note) = match self.at_run(&history) {
                _ if history.is_empty() => continue,
                None => (DocumentPresence::Absent, "it was written after the run"),
                Some(then) if then.op == VersionOp::Delete => {
                    (DocumentPresence::Superseded, "it was deleted before the run")
                }
                // A deletion after the run does not explain a miss.
                Some(_) => (DocumentPresence::Unknown, "it was deleted after the run"),
            };
            evidence.presence = presence;
            evidence.is_deleted = presence == DocumentPresence::Superseded;
            evidence.notes.push(note.to_owned());
            return Ok(());
        }
        let page = PageKey::parse(&key.id, &SourceId::default());
        let Some(page) = page.ok().filter(|_| self.context.trust == Viewer::Trusted) else {
            return Ok(());
        };
        let others = self.brain.keys_of_slug(&page.slug)?;
        if others.iter().any(|other| !pages.contains(other)) {
            evidence.notes.push("a page of its name is in another source".to_owned());
        }
        Ok(())
    }

    /// Adds the evidence about a page that exists.
    fn check_existing(
        &self,
        query: &CanonicalQuery,
        stored: &StoredPage,
        evidence: &mut CaseEvidence,
    ) -> Result<(), TriageError> {
        let history = self.history(&stored.page.key)?;
        let filter = filter_of(&query.filter, Viewer::Untrusted).unwrap_or_default();
        if let Some((presence, note)) = self.before_repair(query, stored, &history, &filter)? {
            evidence.presence = presence;
            evidence.notes.push(note);
            return Ok(());
        }
        if history.last().is_some_and(|last| self.is_after(last)) {
            evidence.notes.push("it was changed after the run".to_owned());
        }
        let (presence, note) = self.presence(query, stored, &history, &filter)?;
        evidence.presence = presence;
        evidence.notes.extend(note);
        // An unavailable model did not fail: the index holds vectors of another one.
        if !self.snapshot.has_model() {
            evidence.fallbacks.retain(|stage| stage != Arm::Vectors.name());
        }
        let own = self.similarity(&query.text, stored)?;
        if let (Some(own), Some((usual, least))) = (own, self.usual) {
            evidence.similarity = Some(own);
            evidence.usual_similarity = Some(usual);
            evidence.least_similarity = Some(least);
        }
        Ok(())
    }

    /// The problem that a page had when the run began, if it was repaired since: it was missing,
    /// deleted, or had another text or other fields.
    fn before_repair(
        &self,
        query: &CanonicalQuery,
        stored: &StoredPage,
        history: &[VersionInfo],
        filter: &Filter,
    ) -> Result<Option<(DocumentPresence, String)>, TriageError> {
        let found = |presence, note: &str| Ok(Some((presence, note.to_owned())));
        let Some(then) = self.at_run(history) else {
            return found(DocumentPresence::Absent, "it was written after the run");
        };
        if then.op == VersionOp::Delete {
            let note = "it was deleted before the run, and is back since";
            return found(DocumentPresence::Superseded, note);
        }
        if then.version == stored.version {
            return Ok(None);
        }
        let (store, ws, key) = (self.context.store, self.context.workspace, &stored.page.key);
        let Some(was) = store.page_at_version(ws, key, then.version)? else { return Ok(None) };
        // Private versions do not exist for an untrusted viewer.
        if !self.is_visible(&was) {
            return found(DocumentPresence::Absent, "it was not there when the run began");
        }
        if let Some(why) = excluded(&was, filter) {
            return Ok(Some((DocumentPresence::FilteredOut, format!("when the run began, {why}"))));
        }
        let holds = |page: &StoredPage| {
            !query.snippets.iter().any(|one| is_made_up(&one.text, &page.page.content))
        };
        if must_find(query).len() == 1 && !holds(&was) && holds(stored) {
            let note =
                "its text did not hold what must be shown when the run began, and does since";
            return found(DocumentPresence::ChunksMissing, note);
        }
        let is_repaired = self.past().is_better(&query.text, &stored.page, &was.page);
        let note = "its text fits the query better since than when the run began";
        if is_repaired { found(DocumentPresence::Superseded, note) } else { Ok(None) }
    }

    /// Older versions of pages, as far as the viewer may see them.
    fn past(&self) -> PageHistory<'_> {
        PageHistory {
            store: self.context.store,
            workspace: self.context.workspace,
            model: self.may_embed().then_some(&self.snapshot),
            trust: self.context.trust,
        }
    }

    /// The version at the start of the run; `None` if there was none.
    fn at_run<'v>(&self, history: &'v [VersionInfo]) -> Option<&'v VersionInfo> {
        history.iter().rev().find(|one| !self.is_after(one))
    }

    fn presence(
        &self,
        query: &CanonicalQuery,
        stored: &StoredPage,
        history: &[VersionInfo],
        filter: &Filter,
    ) -> Result<(DocumentPresence, Option<String>), TriageError> {
        if let Some(note) = lost(query, stored, history) {
            return Ok((DocumentPresence::ChunksMissing, Some(note)));
        }
        let check = if self.context.may_cost { VectorCheck::Any } else { VectorCheck::Own };
        let state = self.snapshot.inspect(stored, filter, check)?;
        let PageIndexState { is_indexed, lost_passages, vectors_fit, excluded } = state;
        if !is_indexed {
            let note = "the index does not hold it as the store has it";
            return Ok((DocumentPresence::ChunksMissing, Some(note.to_owned())));
        }
        if lost_passages > 0 {
            let note = format!("the index has lost {lost_passages} of its passages");
            return Ok((DocumentPresence::ChunksMissing, Some(note)));
        }
        if let Some(why) = excluded {
            return Ok((DocumentPresence::FilteredOut, Some(why)));
        }
        let older = self.past().better_before(&query.text, stored, history)?;
        if let Some(version) = older {
            let note =
                format!("version {version} of it fits the query better than the present one");
            return Ok((DocumentPresence::Superseded, Some(note)));
        }
        Ok(match (vectors_fit, self.snapshot.has_model()) {
            (_, false) => {
                let note = "the index holds vectors of a model that is not here";
                (DocumentPresence::VectorsMissing, Some(note.to_owned()))
            }
            (Some(false), _) => {
                let note = "its vectors are not those that its model makes of it";
                (DocumentPresence::VectorsMissing, Some(note.to_owned()))
            }
            (None, _) => (
                DocumentPresence::Whole,
                Some("whose its vectors are was not looked at".to_owned()),
            ),
            (Some(true), _) => (DocumentPresence::Whole, None),
        })
    }

    /// The usual similarity of the run's queries and the pages that they found.
    fn usual(
        &self,
        run: &SuiteRun,
        queries: &BTreeMap<String, CanonicalQuery>,
    ) -> Result<Option<(f64, f64)>, TriageError> {
        let found = run.cases().iter().filter(|case| !case.failing && case.rank.is_some());
        let mut near = Vec::new();
        for case in found.take(SIMILARITY_SAMPLE) {
            let Some(query) = queries.get(&case.query_id) else { continue };
            let Some(key) = must_find(query).first() else { continue };
            let Some(stored) = self.stored(&self.pages(key)?)? else { continue };
            near.extend(self.similarity(&query.text, &stored)?);
        }
        near.sort_by(f64::total_cmp);
        let at = |share: f64| percentile(&near, share).filter(|_| near.len() >= MIN_SAMPLE);
        Ok(at(0.5).zip(at(0.1)))
    }

    fn history(&self, page: &PageKey) -> Result<Vec<VersionInfo>, BrainError> {
        Ok(self.context.store.history(self.context.workspace, page)?)
    }

    fn is_after(&self, version: &VersionInfo) -> bool {
        version.created_at > self.began
    }
}

/// Describes which parts of a page the store has lost.
fn lost(query: &CanonicalQuery, stored: &StoredPage, history: &[VersionInfo]) -> Option<String> {
    let page = &stored.page;
    let left = page.chunks.len();
    let written = history.iter().rev().find(|one| one.op != VersionOp::Delete);
    let expected = written.map_or(left, |one| one.chunks as usize).max(expected_passages(stored));
    if left < expected || left == 0 {
        return Some(format!("the store has {left} of its {expected} passages"));
    }
    let is_other = texts(&page.content, &page.chunks)
        .into_iter()
        .zip(&page.chunks)
        .any(|(text, chunk)| Hash::of(text.as_bytes()) != chunk.hash);
    if is_other {
        return Some("its passages are not those of its text".to_owned());
    }
    // Snippets can be attributed to a page only if it is the only expected one.
    let is_lost = must_find(query).len() == 1
        && query.snippets.iter().any(|snippet| is_made_up(&snippet.text, &page.content));
    is_lost.then(|| "its text does not hold what must be shown of it".to_owned())
}

/// The number of passages that the text gives now, if the stored ones are among them: a page split
/// differently by an older version has lost nothing. Chats are stored rendered and are not parsed
/// again.
fn expected_passages(stored: &StoredPage) -> usize {
    let page = &stored.page;
    let format = match page.kind {
        PageKind::Markdown => PageFormat::Markdown,
        PageKind::Text => PageFormat::Text,
        PageKind::Chat => return 0,
    };
    let input =
        PageInput { key: page.key.clone(), file_name: None, content: &page.content, format };
    let Ok(anew) = parse(input) else { return 0 };
    let is_kept = |hash: &Hash| anew.chunks.iter().any(|one| one.hash == *hash);
    if page.chunks.iter().all(|one| is_kept(&one.hash)) { anew.chunks.len() } else { 0 }
}
