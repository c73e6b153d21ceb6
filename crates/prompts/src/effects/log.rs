//! Append-only logs: one line per row, written completely or not at all.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::PromptError;
use crate::domain::usage::{LONGEST_LINE, LineSplitter, RunIndex, RunRecord, Summary};

/// Number of bytes read per block.
const BLOCK: usize = 1 << 18;

/// Appends a line in one write, under a lock on the file.
///
/// If the last line has no newline (a writer was killed, or the file was edited), a newline is
/// added first, so that the new row is on its own line. A failed write is rolled back.
pub fn append(path: &Path, line: impl FnOnce() -> String) -> Result<(), PromptError> {
    let failed = || PromptError::io(path);
    let mut file = open_for_append(path)?;
    file.lock().map_err(failed())?;
    let mut bytes = Vec::new();
    if !ends_whole(&file).map_err(failed())? {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line().as_bytes());
    let before = file.metadata().map_err(failed())?.len();
    file.write_all(&bytes).map_err(|error| {
        // If the rollback fails too, the next row still starts on its own line.
        let _ = file.set_len(before);
        failed()(error)
    })
}

/// Checks that a log can be appended to, before work that must leave a row.
pub(crate) fn check_appendable(path: &Path) -> Result<(), PromptError> {
    open_for_append(path).map(drop)
}

fn open_for_append(path: &Path) -> Result<File, PromptError> {
    is_there(path)?;
    let open = OpenOptions::new().create(true).append(true).read(true).open(path);
    open.map_err(PromptError::io(path))
}

/// Opens a file of a prompt; `None` if it does not exist. A device or a pipe is refused, because it
/// may never end.
pub(crate) fn open(path: &Path) -> Result<Option<File>, PromptError> {
    if !is_there(path)? {
        return Ok(None);
    }
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(PromptError::io(path)(error)),
    }
}

fn is_there(path: &Path) -> Result<bool, PromptError> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(true),
        Ok(_) => Err(PromptError::NotAFile(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(PromptError::io(path)(error)),
    }
}

fn ends_whole(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    Ok(last == [b'\n'])
}

/// Computes the figures of a log in one pass. A missing log has no rows. Gates count rows with a
/// record of the current text, from a time on if there is one.
pub fn summarise(
    path: &Path,
    since: Option<Timestamp>,
    runs: RunIndex,
) -> Result<Summary, PromptError> {
    let mut summary = Summary::counting(since, runs);
    let Some(mut file) = open(path)? else { return Ok(summary) };
    let mut lines = LineSplitter::new(&mut summary);
    let mut block = vec![0; BLOCK];
    loop {
        match file.read(&mut block) {
            Ok(0) => break,
            Ok(read) => lines.add(&block[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(PromptError::io(path)(error)),
        }
    }
    lines.finish();
    Ok(summary)
}

/// The records of a run log, and the number of malformed lines.
pub fn run_index(path: &Path, prompt_hash: &str) -> Result<(RunIndex, u64), PromptError> {
    let (mut index, mut malformed) = (RunIndex::default(), 0);
    let Some(file) = open(path)? else { return Ok((index, malformed)) };
    let mut lines = BufReader::with_capacity(BLOCK, file);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).map_err(PromptError::io(path))? > 0 {
        let text = std::str::from_utf8(&line).ok().map(str::trim);
        match text.and_then(RunRecord::parse) {
            Some(record) => index.add(&record, prompt_hash),
            None => malformed += u64::from(text != Some("")),
        }
        line.clear();
    }
    Ok((index, malformed))
}

/// The last lines of a log, and its length.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LogTail {
    /// The last lines, oldest first.
    pub lines: Vec<String>,
    /// The length of the log, from which to follow it.
    pub length: u64,
}

/// The last lines of a log, read backwards. A missing log has none.
pub fn tail(path: &Path, count: usize) -> Result<LogTail, PromptError> {
    let Some(file) = open(path)? else { return Ok(LogTail::default()) };
    let length = file.metadata().map_err(PromptError::io(path))?.len();
    let lines = last_lines(&file, length, count).map_err(PromptError::io(path))?;
    Ok(LogTail { lines, length })
}

fn last_lines(file: &File, length: u64, count: usize) -> io::Result<Vec<String>> {
    let (mut start, mut held) = (length, VecDeque::new());
    // One more line than requested, because the first may be truncated; bounded for a file that is
    // one long line.
    let most = (count + 1).saturating_mul(LONGEST_LINE).max(BLOCK);
    while start > 0 && newlines(&held) <= count + 1 && held.len() < most {
        let size = (BLOCK as u64).min(start);
        start -= size;
        let mut block = vec![0; size as usize];
        file.read_exact_at(&mut block, start)?;
        block.into_iter().rev().for_each(|byte| held.push_front(byte));
    }
    let bytes = Vec::from(held);
    let text = String::from_utf8_lossy(&bytes);
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if start > 0 && !lines.is_empty() {
        lines.remove(0);
    }
    let skipped = lines.len().saturating_sub(count);
    Ok(lines[skipped..].iter().map(|&line| line.to_owned()).collect())
}

fn newlines(bytes: &VecDeque<u8>) -> usize {
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

/// Passes each line that is appended after an offset to `take`, until it returns an error. The log
/// may not exist yet.
pub fn follow(
    path: &Path,
    mut at: u64,
    every: Duration,
    mut take: impl FnMut(&str) -> io::Result<()>,
) -> Result<(), PromptError> {
    loop {
        if let Some(file) = open(path)? {
            let (lines, end) = lines_behind(file, at).map_err(PromptError::io(path))?;
            at = end;
            if lines.iter().try_for_each(|line| take(line)).is_err() {
                return Ok(());
            }
        }
        std::thread::sleep(every);
    }
}

/// The complete lines after an offset, and the offset of their end.
fn lines_behind(mut file: File, mut at: u64) -> io::Result<(Vec<String>, u64)> {
    file.seek(SeekFrom::Start(at))?;
    let mut reader = BufReader::new(file);
    let (mut lines, mut line) = (Vec::new(), Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
        at += line.len() as u64;
        lines.push(String::from_utf8_lossy(&line).trim_end().to_owned());
        line.clear();
    }
    Ok((lines, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unterminated_line_is_preserved_and_the_next_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        append(&path, || "a\n".to_owned()).unwrap();
        std::fs::write(&path, "a\nhalf").unwrap();
        append(&path, || "b\n".to_owned()).unwrap();
        append(&path, || "c\n".to_owned()).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a\nhalf\nb\nc\n");
    }

    #[test]
    fn a_log_is_a_file_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let check = |name: &str| {
            let path = dir.path().join(name);
            let refused = |result: Result<(), PromptError>| {
                assert!(matches!(result, Err(PromptError::NotAFile(_))), "{name}");
            };
            refused(append(&path, || "a\n".to_owned()));
            refused(check_appendable(&path));
            refused(summarise(&path, None, RunIndex::default()).map(|_| ()));
            refused(run_index(&path, "").map(|_| ()));
            refused(tail(&path, 1).map(|_| ()));
        };
        std::fs::create_dir(dir.path().join("folder")).unwrap();
        check("folder");
        for device in ["/dev/full", "/dev/zero", "/dev/null"] {
            let name = device.replace('/', "-");
            std::os::unix::fs::symlink(device, dir.path().join(&name)).unwrap();
            check(&name);
        }
    }

    #[test]
    fn the_last_lines_of_any_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let lines = |count| tail(&path, count).unwrap().lines;
        assert_eq!(tail(&path, 3).unwrap(), LogTail::default());
        let text: String = (0..100_000).map(|n| format!("row {n}\n")).collect();
        std::fs::write(&path, text.trim_end()).unwrap();
        assert_eq!(lines(2), ["row 99998", "row 99999"]);
        assert_eq!(lines(60_000).len(), 60_000);
        assert_eq!(lines(200_000).len(), 100_000);
        assert_eq!(lines(0), Vec::<String>::new());
    }

    /// Lines appended between `tail` and `follow` are not lost; an incomplete line is waited for.
    #[test]
    fn following_goes_on_where_the_tail_ended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, "a\n").unwrap();
        let LogTail { length, .. } = tail(&path, 1).unwrap();
        std::fs::write(&path, "a\nb\nhal").unwrap();
        let (lines, at) = lines_behind(File::open(&path).unwrap(), length).unwrap();
        assert_eq!((lines, at), (vec!["b".to_owned()], 4));
        std::fs::write(&path, "a\nb\nhalf\n").unwrap();
        assert_eq!(lines_behind(File::open(&path).unwrap(), at).unwrap().0, ["half"]);
    }
}
