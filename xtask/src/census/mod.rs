//! `cargo xtask census`: the size, shape and language of the source, counted by one method.
//!
//! Reviews of structure and naming quote these figures, so that "smaller" and "plainer" are measured
//! and not claimed. What is counted is written beside each row. Tests (files below `tests/`, `tests.rs`
//! and `#[cfg(test)]`) are counted apart. Nothing here is a limit: a figure is a place to look.

mod names;
mod paths;
mod prose;
mod shapes;
mod sizes;
mod source;

use std::fs;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::cargo;
use source::SourceFile;

/// A figure and how it is counted.
struct Row {
    name: &'static str,
    value: String,
    method: &'static str,
}

impl Row {
    fn new(name: &'static str, value: impl ToString, method: &'static str) -> Self {
        Self { name, value: value.to_string(), method }
    }
}

/// Prints the census of the workspace.
pub(crate) fn run() -> Result<ExitCode> {
    let files = read()?;
    print!("{}", sizes::by_crate(&files));
    section("Sizes", &sizes::rows(&files));
    section("Shapes", &shapes::rows(&files));
    section("Paths", &paths::rows(&files)?);
    section("Names", &names::rows(&files));
    section("Prose", &prose::rows(&files));
    println!("\n{}", names::most_defined(&files));
    println!("\n{}", shapes::listed(&files));
    Ok(ExitCode::SUCCESS)
}

fn section(title: &str, rows: &[Row]) {
    println!("\n## {title}\n\n| figure | value | counted |\n|---|---|---|");
    for Row { name, value, method } in rows {
        println!("| {name} | {value} | {method} |");
    }
}

/// Every Rust file that git tracks.
fn read() -> Result<Vec<SourceFile>> {
    let root = cargo::workspace_root();
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.rs"])
        .current_dir(&root)
        .output()
        .context("could not run git")?;
    ensure!(output.status.success(), "git ls-files failed: is this a checkout?");
    let listed = String::from_utf8(output.stdout).context("a path is not UTF-8")?;
    let paths = listed.split('\0').filter(|path| !path.is_empty());
    // A file that was deleted and not committed is still listed.
    let present = paths.filter(|path| root.join(path).is_file());
    present
        .map(|path| {
            let text = fs::read_to_string(root.join(path)).with_context(|| path.to_owned())?;
            Ok(SourceFile::parse(path.to_owned(), &text))
        })
        .collect()
}

/// The value below which a share of the sorted `values` lies.
fn quantile(values: &[usize], share: f64) -> usize {
    let last = values.len().saturating_sub(1);
    values.get((share * last as f64).round() as usize).copied().unwrap_or(0)
}
