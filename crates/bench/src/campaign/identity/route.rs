//! The ways on which a corpus comes into a brain.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Result, bail};
use fastrand::Rng;
use gbrain_brain::IndexKind;
use gbrain_brain::import::{ImportOptions, StoredTexts, import};
use gbrain_core::id::SourceId;
use gbrain_testkit::process::Gbrain;
use jiff::Timestamp;
use tempfile::TempDir;

use super::corpus::{Corpus, File};
use super::{Place, Way, succeed};

/// The way on which a corpus comes into a brain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// One import of everything.
    Whole,
    /// So many imports, each of a random part more.
    Pieces(usize),
    /// First another corpus; then so many edits and deletions, in several imports.
    History(usize),
}

pub trait Importer {
    /// Imports a directory as a source.
    fn import(&self, dir: &Path, source: &str, threads: usize) -> Result<()>;
}

impl Route {
    pub fn name(self) -> String {
        match self {
            Self::Whole => "whole".to_owned(),
            Self::Pieces(pieces) => format!("in {pieces} pieces"),
            Self::History(changes) => format!("after {changes} edits and deletions"),
        }
    }
}

impl Corpus {
    /// Brings the corpus into a brain.
    pub(crate) fn bring(&self, way: &Way, seed: u64, importer: &dyn Importer) -> Result<()> {
        let mut rng = Rng::with_seed(seed);
        let mut states: Vec<Vec<File>> = match way.route {
            Route::Whole => Vec::new(),
            Route::Pieces(pieces) => self.pieces(pieces, &mut rng),
            Route::History(changes) => self.history(changes, &mut rng),
        };
        states.push(self.files.clone());
        let mut folder = CorpusFolder::new()?;
        for state in states {
            folder.lay_out(state)?;
            let mut sources: Vec<&str> = self.sources().into_iter().collect();
            rng.shuffle(&mut sources);
            for source in sources {
                folder.bring_source(source, way.threads, importer)?;
            }
        }
        Ok(())
    }

    /// Growing parts of the corpus, in random order.
    fn pieces(&self, pieces: usize, rng: &mut Rng) -> Vec<Vec<File>> {
        let mut files = self.files.clone();
        rng.shuffle(&mut files);
        let size = files.len().div_ceil(pieces.max(1));
        (1..pieces).map(|piece| files.iter().take(piece * size).cloned().collect()).collect()
    }

    /// Past states, oldest first: pages that will be deleted, pages with another text, and some that
    /// are not there yet. So many edits and deletions lead from the first to the corpus.
    fn history(&self, changes: usize, rng: &mut Rng) -> Vec<Vec<File>> {
        const STEPS: usize = 4;
        let mut order: Vec<usize> = (0..self.files.len()).collect();
        rng.shuffle(&mut order);
        let (late, early) = order.split_at(self.files.len() / 20);
        let editable: Vec<usize> =
            early.iter().copied().filter(|at| self.files[*at].path.ends_with(".md")).collect();
        let deletions = self.doomed.len().min(changes / 2);
        let edits: Vec<usize> =
            editable.iter().copied().cycle().take(changes - deletions).collect();
        let past = |step: usize| {
            let done = |total: usize| total * step / STEPS;
            let mut drafts: BTreeMap<usize, usize> = BTreeMap::new();
            for at in &edits[done(edits.len())..] {
                *drafts.entry(*at).or_default() += 1;
            }
            let absent = &late[done(late.len())..];
            let files = self.files.iter().enumerate().filter(|(at, _)| !absent.contains(at));
            let files = files.map(|(at, file)| {
                drafts.get(&at).map_or_else(|| file.clone(), |n| earlier_version(file, *n))
            });
            files.chain(self.doomed[done(deletions)..deletions].iter().cloned()).collect()
        };
        (0..STEPS).map(past).collect()
    }
}

/// An earlier text of a file, so many edits ago: a paragraph less, another more.
pub(crate) fn earlier_version(file: &File, ago: usize) -> File {
    let paragraphs: Vec<&str> = file.text.split("\n\n").collect();
    let dropped = paragraphs.len() / 2 + 1;
    let kept = paragraphs
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != dropped)
        .map(|(_, paragraph)| *paragraph);
    let text = kept.collect::<Vec<_>>().join("\n\n");
    let note = format!("\n\nDraft {ago} of this page still spoke of {}.\n", file.path);
    let older = File { text: text + &note, ..file.clone() };
    // Half a fenced block or half a frontmatter may be no page.
    if older.page().is_some() {
        older
    } else {
        File { text: file.text.clone() + &note, ..file.clone() }
    }
}

/// A directory that holds one state of a corpus after another, a directory per source.
pub(crate) struct CorpusFolder {
    dir: TempDir,
    /// What is in it, by path.
    on_disk: BTreeMap<String, String>,
}

impl CorpusFolder {
    pub(crate) fn new() -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("gbrain-tree-").tempdir()?;
        Ok(Self { dir, on_disk: BTreeMap::new() })
    }

    /// Makes it hold a state, touching only what differs from the last one.
    pub(crate) fn lay_out(&mut self, state: Vec<File>) -> Result<()> {
        let wanted: BTreeMap<String, String> = state
            .into_iter()
            .map(|file| (format!("{}/{}", file.source, file.path), file.text))
            .collect();
        for path in self.on_disk.keys().filter(|path| !wanted.contains_key(*path)) {
            std::fs::remove_file(self.dir.path().join(path))?;
        }
        let is_new = |path: &str, text: &String| self.on_disk.get(path) != Some(text);
        for (path, text) in wanted.iter().filter(|(path, text)| is_new(path, text)) {
            let file = self.dir.path().join(path);
            std::fs::create_dir_all(file.parent().expect("it is below the directory"))?;
            std::fs::write(file, text)?;
        }
        self.on_disk = wanted;
        Ok(())
    }

    /// Brings what it holds into a brain, source by source.
    pub(crate) fn bring(&self, threads: usize, importer: &dyn Importer) -> Result<()> {
        let sources = self.on_disk.keys().filter_map(|path| Some(path.split_once('/')?.0));
        let sources: BTreeSet<&str> = sources.collect();
        sources.into_iter().try_for_each(|source| self.bring_source(source, threads, importer))
    }

    fn bring_source(&self, source: &str, threads: usize, importer: &dyn Importer) -> Result<()> {
        let dir = self.dir.path().join(source);
        std::fs::create_dir_all(&dir)?;
        importer.import(&dir, source, threads)
    }
}

impl Importer for Place {
    fn import(&self, dir: &Path, source: &str, threads: usize) -> Result<()> {
        let brain = self.open(IndexKind::Disk)?;
        let source = SourceId::new(source)?;
        brain.ensure_source(&source, Timestamp::now())?;
        let options = ImportOptions {
            source,
            threads: Some(threads),
            allow_empty: false,
            halt: None,
            stored: StoredTexts::Check,
        };
        let summary = import(&brain, &[dir.to_owned()], &options, Timestamp::now(), &|_| ())?;
        if let Some(failure) = summary.failed.first() {
            bail!("{}: {}", failure.path.display(), failure.reason);
        }
        Ok(())
    }
}

impl Importer for Gbrain {
    fn import(&self, dir: &Path, source: &str, threads: usize) -> Result<()> {
        let (dir, threads) = (dir.to_string_lossy(), threads.to_string());
        succeed(&self.run(&["import", &dir, "--source", source, "--threads", &threads])?)
    }
}
