//! What must hold for the files of an index: damaged in any way, it answers as it did, or says why
//! not.

use std::path::{Path, PathBuf};

use fastrand::Rng;
use walkdir::WalkDir;

use super::promises::{Broken, Tools, check_words, require};
use crate::campaign::identity::{ask, demo, questions};

/// How many edits of a case are made.
const EDITS: usize = 4;

/// The brain of a case with an edited index answers as the one that was not edited. A case is lines of
/// `what name where`: what to do, a part of the name of a file, and where in the file, from 0 to 1.
pub(super) fn check_index(bytes: &[u8], tools: &Tools, rng: &mut Rng) -> Result<(), Broken> {
    let dir = tools.dir.path().join("index");
    let failed = |error: std::io::Error| error.to_string();
    // The index on disk follows the store before it is copied.
    let corpus = demo().map_err(|error| error.to_string())?;
    let asked = questions(&corpus, 4, rng.u64(..8));
    let brains = &tools.brains;
    let answers = |brain| -> Result<Vec<String>, String> {
        asked.iter().map(|one| ask(brain, one).map_err(|error| format!("{error:#}"))).collect()
    };
    let expected = answers(brains.disk())?;
    if dir.exists() {
        std::fs::remove_dir_all(&dir).map_err(failed)?;
    }
    let files = copy(&brains.index_dir(), &dir).map_err(failed)?;
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines().filter(|line| !line.trim().is_empty()).take(EDITS) {
        edit(line, &files, rng).map_err(failed)?;
    }
    let brain = match brains.open_at(dir) {
        Ok(brain) => brain,
        Err(error) => return check_words(&gbrain_core::fault::chain(&error)),
    };
    match answers(&brain) {
        Ok(found) => require(found == expected, || format!("{found:?} and not {expected:?}")),
        Err(words) => check_words(&words),
    }
}

/// Copies a directory with its times, by which files are known again.
fn copy(from: &Path, to: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(from).sort_by_file_name() {
        let entry = entry?;
        let place = to.join(entry.path().strip_prefix(from).unwrap_or(entry.path()));
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(&place)?;
            continue;
        }
        std::fs::copy(entry.path(), &place)?;
        let times = std::fs::FileTimes::new().set_modified(entry.metadata()?.modified()?);
        std::fs::File::options().write(true).open(&place)?.set_times(times)?;
        files.push(place);
    }
    Ok(files)
}

/// Makes one edit, and leaves the times of the file as they were: a disk that fails changes none.
fn edit(line: &str, files: &[PathBuf], rng: &mut Rng) -> std::io::Result<()> {
    let mut words = line.split_whitespace();
    let (what, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let place = words.next().and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.5);
    let is_named = |path: &&PathBuf| path.to_string_lossy().ends_with(name);
    let named: Vec<&PathBuf> = files.iter().filter(is_named).filter(|path| path.exists()).collect();
    let Some(path) = named.get(rng.usize(..named.len().max(1))) else { return Ok(()) };
    let modified = std::fs::metadata(path)?.modified()?;
    let mut bytes = std::fs::read(path)?;
    let at = (place.clamp(0.0, 1.0) * bytes.len() as f64) as usize;
    let at = at.min(bytes.len().saturating_sub(1));
    match what {
        "delete" => return std::fs::remove_file(path),
        "truncate" => bytes.truncate(at),
        "empty" => bytes.clear(),
        "append" => bytes.extend_from_slice(line.as_bytes()),
        "zero" => bytes.iter_mut().skip(at).take(64).for_each(|byte| *byte = 0),
        "swap" => {
            let other = &files[rng.usize(..files.len())];
            if other.exists() {
                bytes = std::fs::read(other)?;
            }
        }
        _ if bytes.is_empty() => (),
        _ => bytes[at] ^= 1 << rng.u8(..8),
    }
    // A new file, so that nothing that is mapped changes under its reader.
    std::fs::remove_file(path)?;
    std::fs::write(path, &bytes)?;
    let times = std::fs::FileTimes::new().set_modified(modified);
    std::fs::File::options().write(true).open(path)?.set_times(times)
}
