//! The corpus: small files that inputs are made from, and those that once found something.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::parser::Parser;
use crate::campaign::scaffold::FlagValue as _;

/// The files of a target, in the order of their names; none if it has no directory.
pub(super) fn paths(target: Parser) -> Result<Vec<PathBuf>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(target.name());
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}
