//! How many files and calls lie on a path through the program.
//!
//! A path is a list of functions in `paths.txt`, one `file::function` a line below the name of the path,
//! in the order in which they call each other. On the path is each call that takes what the path is about from
//! one file to the next: a due suite, its run, the alert, the message. A function that only forwards its
//! arguments is on the path too, because a reader has to open it. Not on the path are helpers in the file of their
//! caller, which is read from top to bottom, and calls that only look something up (a setting, the clock, a
//! channel). What is below a trait (the index, the target that answers, the HTTP client that posts) ends a branch of
//! the path. A path that joins another ends where they join: the API's query where `QueryService::answer` takes it.
//! The census fails if a listed function does not exist, so the lists follow the code.
//!
//! The figures quoted from before the restructuring (query 75 / 13, capture 16 / 20, replayed row
//! 17 / 14, `POST /v1/query` 22 / 14) were counted by another method and are not comparable, except as an order of
//! magnitude.

use anyhow::{Result, ensure};

use super::Row;
use super::source::SourceFile;

const PATHS: &str = include_str!("paths.txt");

/// Counts of each path.
pub(super) fn rows(files: &[SourceFile]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for path in PATHS.split("\n\n").map(str::trim).filter(|path| !path.is_empty()) {
        let mut lines = path.lines().filter(|line| !line.starts_with('#'));
        let Some(name) = lines.next() else { continue };
        let mut seen: Vec<&str> = Vec::new();
        let mut calls = 0;
        for line in lines {
            let (file, function) = line.rsplit_once("::").unwrap_or((line, ""));
            ensure!(defines(files, file, function), "paths.txt: {name}: {line} does not exist");
            calls += 1;
            if !seen.contains(&file) {
                seen.push(file);
            }
        }
        let value = format!("{} / {calls}", seen.len());
        rows.push(Row::new(name, value, "files / functions of `paths.txt`, each checked to exist"));
    }
    Ok(rows)
}

fn defines(files: &[SourceFile], path: &str, function: &str) -> bool {
    let file = files.iter().find(|file| file.path == path);
    file.is_some_and(|file| file.functions().iter().any(|one| one.name == function))
}
