//! ARCHITECTURE.md names files of the map, and functions and types of the walkthroughs, that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::root;

#[test]
fn names_of_the_architecture_exist() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (mut files, mut words) = (Vec::new(), BTreeSet::new());
    read(&root().join("crates"), &mut files, &mut words);
    let walkthroughs = text.split("## Walkthroughs").nth(1).unwrap();
    let walkthroughs = walkthroughs.split("\n## ").next().unwrap();
    let missing: Vec<&str> = quoted(&text)
        .filter(|name| is_path(name) && !files.iter().any(|file| is_at(file, name)))
        .chain(quoted(walkthroughs).filter(|name| is_name(name) && !is_defined(name, &words)))
        .collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names what does not exist: {missing:#?}");
}

/// The texts between single backticks, outside of blocks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2))
}

fn is_path(name: &str) -> bool {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_/.".contains(c));
    let crates =
        ["core", "embed", "store", "index", "llm", "brain", "eval", "prompts", "server", "cli"];
    let begins = crates.iter().any(|name_of| name.starts_with(&format!("{name_of}/")));
    is_plain && (name.ends_with(".rs") || begins)
}

/// Whether a file of the sources, or one of its directories, has this path without `src`.
fn is_at(file: &Path, name: &str) -> bool {
    let file = file.to_string_lossy().replace("/src/", "/");
    let name = name.trim_end_matches('/');
    file.ends_with(&format!("/{name}")) || file.contains(&format!("/{name}/")) || {
        file.ends_with(&format!("/{name}.rs"))
    }
}

/// Whether a text is the name of a function or a type, not of a key, a flag or a command.
fn is_name(name: &str) -> bool {
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':');
    is_word && !is_path(name) && !name.starts_with(char::is_numeric)
}

fn is_defined(name: &str, words: &BTreeSet<String>) -> bool {
    name.split("::").all(|part| words.contains(part))
}

/// Adds the files below a directory, and every word of their code.
fn read(dir: &Path, files: &mut Vec<PathBuf>, words: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, files, words);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            words.extend(text.split(|c| !is_word(c)).map(str::to_owned));
            files.push(path);
        }
    }
}
