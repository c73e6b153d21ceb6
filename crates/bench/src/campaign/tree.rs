//! A directory of small generated pages that keeps changing.
//!
//! Every version of every page holds a word that no other has, its marker, so that a search can tell
//! which version an index holds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use fastrand::Rng;

const WORDS: [&str; 24] = [
    "harbour", "lantern", "ledger", "winter", "copper", "signal", "meadow", "engine", "parcel",
    "quarry", "timber", "voyage", "anchor", "bridge", "candle", "delta", "ember", "falcon",
    "granite", "hollow", "island", "juniper", "kettle", "lattice",
];

/// How much a tree changes at once.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    pub edits: usize,
    pub additions: usize,
    pub deletions: usize,
}

#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    name: String,
    pages: BTreeMap<String, String>,
    next: usize,
    versions: usize,
}

impl Tree {
    /// An empty tree in a new directory. Markers carry its name, so trees have different names.
    pub fn new(parent: &Path, name: &str) -> Result<Self> {
        let root = parent.join(name);
        std::fs::create_dir_all(&root)?;
        Ok(Self { root, name: name.to_owned(), pages: BTreeMap::new(), next: 0, versions: 0 })
    }

    pub fn root(&self) -> &str {
        self.root.to_str().expect("its parent is a temporary directory with a plain name")
    }

    /// The pages by slug.
    pub fn pages(&self) -> &BTreeMap<String, String> {
        &self.pages
    }

    /// Edits, adds and deletes files.
    pub fn change(&mut self, rng: &mut Rng, change: Change) -> Result<()> {
        for slug in self.pick(rng, change.deletions) {
            self.pages.remove(&slug);
            std::fs::remove_file(self.path(&slug))?;
        }
        for slug in self.pick(rng, change.edits) {
            self.write(rng, slug)?;
        }
        for _ in 0..change.additions {
            let slug = format!("shelf-{}/page-{}", self.next % 7, self.next);
            self.next += 1;
            self.write(rng, slug)?;
        }
        Ok(())
    }

    fn pick(&self, rng: &mut Rng, count: usize) -> Vec<String> {
        rng.choose_multiple(self.pages.keys(), count).into_iter().cloned().collect()
    }

    fn write(&mut self, rng: &mut Rng, slug: String) -> Result<()> {
        self.versions += 1;
        let text = page(rng, &slug, &format!("{}{}", self.name, self.versions));
        let path = self.path(&slug);
        std::fs::create_dir_all(path.parent().expect("a slug has a directory"))?;
        std::fs::write(path, &text)?;
        self.pages.insert(slug, text);
        Ok(())
    }

    fn path(&self, slug: &str) -> PathBuf {
        self.root.join(format!("{slug}.md"))
    }
}

/// The text of a page with this marker. One in twelve is long enough for several chunks.
pub fn page(rng: &mut Rng, slug: &str, marker: &str) -> String {
    let paragraphs = if rng.u8(..12) == 0 { rng.usize(20..60) } else { rng.usize(1..4) };
    let mut text =
        format!("---\ntags: [{}]\n---\n# About {slug}\n\nThe mark is zz{marker}zz.\n", word(rng));
    for _ in 0..paragraphs {
        let words: Vec<&str> = (0..rng.usize(8..40)).map(|_| word(rng)).collect();
        let link = format!("[[shelf-{}/page-{}]]", rng.u8(..7), rng.u8(..80));
        text.push_str(&format!("\n{} depends on {link}.\n", words.join(" ")));
    }
    text
}

pub fn marker(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("The mark is ")?;
    rest.split_once('.').map(|(marker, _)| marker)
}

fn word(rng: &mut Rng) -> &'static str {
    WORDS[rng.usize(..WORDS.len())]
}
