//! Lines, functions and files.

use std::collections::BTreeMap;

use super::source::SourceFile;
use super::{Row, quantile};

#[derive(Default)]
struct Lines {
    files: usize,
    code: usize,
    tests: usize,
    comments: usize,
}

/// A table of lines by crate.
pub(super) fn by_crate(files: &[SourceFile]) -> String {
    let mut crates: BTreeMap<&str, Lines> = BTreeMap::new();
    let mut all = Lines::default();
    for file in files {
        let one = crates.entry(file.crate_name()).or_default();
        for counted in [one, &mut all] {
            counted.files += 1;
            for line in &file.lines {
                let has_code = !line.code.trim().is_empty();
                counted.code += usize::from(has_code && !line.is_test);
                counted.tests += usize::from(has_code && line.is_test);
                counted.comments += usize::from(!has_code && !line.comment.trim().is_empty());
            }
        }
    }
    let mut text =
        "| crate | files | code | tests | comments |\n|---|---|---|---|---|\n".to_owned();
    for (name, lines) in crates.into_iter().chain([("all", all)]) {
        let Lines { files, code, tests, comments } = lines;
        text.push_str(&format!("| {name} | {files} | {code} | {tests} | {comments} |\n"));
    }
    text
}

/// Sizes of functions and files of the product.
pub(super) fn rows(files: &[SourceFile]) -> Vec<Row> {
    let mut functions: Vec<(usize, String)> = Vec::new();
    let mut lengths: Vec<usize> = Vec::new();
    for file in files.iter().filter(|file| is_product(file)) {
        let product = file.lines.iter().filter(|line| !line.is_test).count();
        if product > 0 {
            lengths.push(product);
        }
        let named = file.functions().into_iter().filter(|one| !one.is_test);
        functions.extend(
            named.map(|one| (one.length, format!("{}:{} {}", file.path, one.line, one.name))),
        );
    }
    functions.sort();
    lengths.sort_unstable();
    let function_lengths: Vec<usize> = functions.iter().map(|(length, _)| *length).collect();
    let longest =
        functions.last().map_or_else(String::new, |(length, name)| format!("{length} ({name})"));
    let three = |values: &[usize]| format!("{} / {}", quantile(values, 0.5), quantile(values, 0.9));
    vec![
        Row::new("functions", function_lengths.len(), "outside of tests, with a body"),
        Row::new(
            "function lines, median / p90",
            three(&function_lengths),
            "`fn` to its closing brace",
        ),
        Row::new("longest function", longest, ""),
        Row::new("file lines, median / p90", three(&lengths), "lines that are not tests"),
        Row::new("longest file", lengths.last().copied().unwrap_or(0), ""),
        Row::new(
            "files over 600 lines",
            lengths.iter().filter(|length| **length > 600).count(),
            "",
        ),
    ]
}

/// Whether a file is part of the program, and not of its tests, benchmarks and tasks.
pub(super) fn is_product(file: &SourceFile) -> bool {
    let name = file.crate_name();
    !["bench", "testkit", "xtask"].contains(&name) && !file.path.contains("/tests/")
}
