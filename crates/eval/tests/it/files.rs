//! Large and endless inputs: refused early, or read a line at a time.

use std::cell::Cell;
use std::fs::File;
use std::io::{BufReader, Read, Result as IoResult};
use std::path::Path;

use gbrain_eval::{
    EvalError, Input, MAX_DOCUMENT, MAX_LINE, read_baseline, read_captures, read_document,
    read_publishable,
};

/// A gigabyte that is made while it is read, and how much of it was taken.
struct Made<'a> {
    piece: &'a [u8],
    taken: &'a Cell<usize>,
    size: usize,
}

impl Read for Made<'_> {
    fn read(&mut self, out: &mut [u8]) -> IoResult<usize> {
        let size = out.len().min(self.size - self.taken.get());
        for (at, byte) in out[..size].iter_mut().enumerate() {
            *byte = self.piece[(self.taken.get() + at) % self.piece.len()];
        }
        self.taken.set(self.taken.get() + size);
        Ok(size)
    }
}

/// Reads `size` bytes of `piece` again and again; how the reading ended and how much was taken.
fn read<T>(
    piece: &[u8],
    size: usize,
    how: impl Fn(Input<'_>) -> Result<T, EvalError>,
) -> (Result<T, EvalError>, usize) {
    let taken = Cell::new(0);
    let reader = BufReader::with_capacity(1 << 16, Made { piece, taken: &taken, size });
    let result = how(Input::new(Path::new("made"), reader));
    (result, taken.get())
}

const ROW: &[u8] = b"{\"schema_version\":1,\"tool_name\":\"query\",\"query\":\"ada\",\
    \"retrieved_slugs\":[\"people/ada\"],\"source_ids\":[\"default\"],\"latency_ms\":3.25}\n";

#[test]
fn a_gigabyte_without_a_newline_is_refused_at_its_fourth_mebibyte() {
    let check = |(result, taken): (Result<(), EvalError>, usize)| {
        assert!(matches!(result, Err(EvalError::LongLine { line: 1, .. })), "{result:?}");
        assert!(taken <= MAX_LINE + (1 << 17), "{taken} bytes were taken");
    };
    check(read(b"x", 1 << 30, |input| read_captures(input).map(drop)));
    check(read(b"x", 1 << 30, |input| read_baseline(input).map(drop)));
    check(read(b"x", 1 << 30, |input| read_publishable(input).map(drop)));
}

#[test]
fn the_first_bad_line_ends_the_reading() {
    let (result, taken) = read(b"no row\n", 1 << 30, |input| read_captures(input).map(drop));
    assert!(matches!(result, Err(EvalError::Baseline { .. })), "{result:?}");
    assert!(taken <= 1 << 17, "{taken} bytes were taken");
}

#[test]
fn many_small_rows_are_read_to_the_last() {
    let rows = 20_000;
    let (result, taken) = read(ROW, rows * ROW.len(), read_captures);
    let captures = result.unwrap();
    assert_eq!((captures.rows.len(), taken), (rows, rows * ROW.len()));
    assert!(captures.rows.iter().enumerate().all(|(at, row)| row.line == at + 1));
    let (result, _) = read(ROW, rows * ROW.len() - 2, |input| read_captures(input).map(drop));
    let message = format!("{:?}", result.unwrap_err());
    assert!(message.contains("line: 20000"), "{message}");
}

#[test]
fn a_document_that_is_too_large_is_not_read_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.json");
    File::create(&path).unwrap().set_len(MAX_DOCUMENT + 1).unwrap();
    let result = read_document(&path);
    assert!(matches!(result, Err(EvalError::LargeDocument { .. })), "{result:?}");
}

#[test]
fn a_baseline_that_was_edited_cannot_be_published_again() {
    let edited = [
        br#"{"schema_version":1,"_kind":"baseline_metadata","label":"l","published_at":"","#,
        br#""source_hash":"0","thresholds":{"jaccard":1,"top1":1,"latency_multiplier":2},"row_count":1}"#
            .as_slice(),
        b"\n",
        ROW,
    ]
    .concat();
    let (result, _) = read(&edited, edited.len(), |input| read_publishable(input).map(drop));
    let message = format!("{:?}", result.unwrap_err());
    assert!(message.contains("source_hash does not fit"), "{message}");
}
