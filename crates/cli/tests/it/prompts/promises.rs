//! The tables of promises name tests, and each of them is a test of this repository.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The sources below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The names of all tests of the sources: functions behind `#[test]`, in macros of property tests too.
fn tests() -> HashSet<String> {
    let mut paths = Vec::new();
    sources(&root().join("crates"), &mut paths);
    let mut names = HashSet::new();
    for path in paths {
        let text = std::fs::read_to_string(path).unwrap();
        for part in text.split("#[test]").skip(1) {
            let name = part.split("fn ").nth(1).and_then(|rest| rest.split('(').next());
            names.extend(name.map(str::to_owned));
        }
    }
    names
}

/// The rows of the tables of a document: promise, tests, outcome.
fn rows(name: &str) -> Vec<[String; 3]> {
    let text = std::fs::read_to_string(root().join(name)).unwrap();
    let cells = |line: &str| {
        let cells: Vec<String> =
            line.trim().trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
        <[String; 3]>::try_from(cells).ok()
    };
    let rows = text.lines().filter(|line| line.starts_with("| ")).filter_map(cells);
    rows.filter(|[_, tests, _]| tests.starts_with('`')).collect()
}

#[test]
fn every_promise_names_tests_that_exist() {
    let tests = tests();
    let rows = rows("docs/promises.md");
    assert!(rows.len() >= 75, "{} promises", rows.len());
    for [promise, named, outcome] in &rows {
        assert_eq!(outcome, "pass", "{promise}");
        for name in named.split(", ") {
            let name = name.trim_matches('`');
            assert!(tests.contains(name), "{promise}: there is no test {name}");
        }
    }
}
