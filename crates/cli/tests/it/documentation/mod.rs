//! The documentation: generated pages are current, links resolve, and examples run when pasted.

mod architecture;
mod cli;
mod configuration;
mod examples;
mod links;

use std::fs;
use std::path::{Path, PathBuf};

const UPDATE: &str = "GBRAIN_UPDATE_SNAPSHOTS";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Compares a generated page with the file in `docs`, or writes the file if that was asked for.
#[track_caller]
fn check_generated(name: &str, actual: &str) {
    let path = root().join("docs").join(name);
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, actual).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let changed = expected.lines().zip(actual.lines()).find(|(old, new)| old != new);
    let (old, new) = changed.unwrap_or(("(the end)", "(the end)"));
    assert!(
        expected == actual,
        "docs/{name} is out of date. The first line that differs:\n-{old}\n+{new}\nWrite it again and review it:\n  \
         {UPDATE}=1 cargo xtask with cargo nextest run -p gbrain-cli -E 'test(documentation::)'"
    );
}

/// Every Markdown page of the project: those at the root and those below `docs`.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut open = vec![root().join("docs")];
    pages.extend(markdown_in(&root()).0);
    while let Some(dir) = open.pop() {
        let (files, dirs) = markdown_in(&dir);
        pages.extend(files);
        open.extend(dirs);
    }
    pages.sort();
    pages
}

/// The Markdown files and the directories of a directory.
fn markdown_in(dir: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let (dirs, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let is_markdown = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    (files.into_iter().filter(is_markdown).collect(), dirs)
}

/// The path of a page relative to the root of the repository, for messages.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
