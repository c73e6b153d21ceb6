//! The pages that every brain ends up with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::{Page, PageFormat, PageInput, parse, slug_of_path};

/// A file of a source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    pub source: String,
    /// Its path below the source's directory.
    pub path: String,
    pub text: String,
}

/// The final state, and pages that histories hold for a while.
#[derive(Debug, Default)]
pub struct Corpus {
    /// What every brain holds at the end.
    pub files: Vec<File>,
    /// What only the past of some brains holds.
    pub doomed: Vec<File>,
}

impl File {
    /// The page that the file becomes; none if it is no page.
    pub fn page(&self) -> Option<Page> {
        let key = PageKey::new(SourceId::new(&self.source).ok()?, slug_of_path(&self.path).ok()?);
        let file_name = Path::new(&self.path).file_name().and_then(|name| name.to_str());
        parse(PageInput {
            key,
            file_name,
            content: &self.text,
            format: PageFormat::of_path(&self.path)?,
        })
        .ok()
    }
}

impl Corpus {
    pub fn extend(&mut self, other: Self) {
        self.files.extend(other.files);
        self.doomed.extend(other.doomed);
    }

    pub fn sources(&self) -> BTreeSet<&str> {
        self.files.iter().map(|file| file.source.as_str()).collect()
    }
}

/// The demo corpus of the command line. Its doomed pages are copies under other names.
pub fn demo() -> Result<Corpus> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/demo");
    let mut corpus = Corpus::default();
    for source in ["wiki", "journal"] {
        corpus.files.extend(read(&root.join(source), source)?);
    }
    let copies = corpus.files.iter().step_by(3).filter(|file| file.path.ends_with(".md"));
    corpus.doomed =
        copies.map(|file| File { path: format!("attic/{}", file.path), ..file.clone() }).collect();
    Ok(corpus)
}

/// So many pages of the large markdown trees, spread over them, and so many doomed ones.
pub fn markdown(data: &Path, pages: usize, doomed: usize) -> Result<Corpus> {
    let unpacked = tempfile::Builder::new().prefix("gbrain-data-").tempdir()?;
    let mut files = Vec::new();
    for (source, archive) in [("kubernetes", "kubernetes-website"), ("mdn", "mdn-content")] {
        let dir = unpacked.path().join(source);
        unpack(&data.join("markdown").join(format!("{archive}.tar.gz")), &dir)?;
        files.extend(read(&dir, source)?);
    }
    let step = (files.len() / (pages + doomed).max(1)).max(1);
    let mut chosen: Vec<File> =
        files.into_iter().step_by(step).filter(|file| file.page().is_some()).collect();
    chosen.truncate(pages + doomed);
    if chosen.len() < pages + doomed {
        bail!(
            "the markdown trees hold {} pages that can be used, fewer than were asked for",
            chosen.len()
        );
    }
    // Every so many-th is doomed, so that both kinds come from everywhere.
    let every = ((pages + doomed) / doomed.max(1)).max(1);
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    for (at, file) in chosen.into_iter().enumerate() {
        if at % every == 0 && gone.len() < doomed { gone.push(file) } else { kept.push(file) }
    }
    Ok(Corpus { files: kept, doomed: gone })
}

fn unpack(archive: &Path, dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir)?;
    let status = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(dir).status();
    if !status.context("tar can't be run")?.success() {
        bail!("{} can't be unpacked", archive.display());
    }
    Ok(())
}

/// The text files below a directory, by path; of two that come to one slug, the first.
fn read(root: &Path, source: &str) -> Result<Vec<File>> {
    let mut by_slug = BTreeMap::new();
    let mut paths = Vec::new();
    for entry in walkdir::WalkDir::new(root) {
        let entry = entry?;
        let relative = entry.path().strip_prefix(root)?.to_string_lossy().into_owned();
        let is_hidden = relative.split('/').any(|segment| segment.starts_with('.'));
        if entry.file_type().is_file() && !is_hidden && PageFormat::of_path(&relative).is_some() {
            paths.push(relative);
        }
    }
    paths.sort();
    for path in paths {
        let Ok(slug) = slug_of_path(&path) else { continue };
        let Ok(text) = std::fs::read_to_string(root.join(&path)) else { continue };
        by_slug.entry(slug).or_insert_with(|| File { source: source.to_owned(), path, text });
    }
    Ok(by_slug.into_values().collect())
}
