//! A gigabyte that comes from nowhere: small rows, and one line without an end.

use std::io::{BufRead, BufReader, Read, Result as IoResult};
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use gbrain_eval::{EvalError, Input, MAX_LINE, read_captures};
use gbrain_testkit::vitals::status_kib;

use crate::campaign::scaffold::Part;

const GIGABYTE: u64 = 1 << 30;

/// Makes rows as they are read. Nothing is kept.
struct Rows {
    left: u64,
    at: u64,
    line: Vec<u8>,
    place: usize,
}

impl Read for Rows {
    fn read(&mut self, out: &mut [u8]) -> IoResult<usize> {
        if self.place == self.line.len() {
            if self.left == 0 {
                return Ok(0);
            }
            self.at += 1;
            self.place = 0;
            self.line = format!(
                "{{\"schema_version\":1,\"id\":{0},\"tool_name\":\"query\",\"query\":\"question {0}\",\
                 \"retrieved_slugs\":[\"notes/{0}\",\"people/ada\"],\"source_ids\":[\"default\"],\
                 \"latency_ms\":3.25}}\n",
                self.at
            )
            .into_bytes();
            self.left = self.left.saturating_sub(self.line.len() as u64);
        }
        let size = out.len().min(self.line.len() - self.place);
        out[..size].copy_from_slice(&self.line[self.place..self.place + size]);
        self.place += size;
        Ok(size)
    }
}

/// A line without an end, and how much of it was taken.
struct Endless<'a> {
    taken: &'a mut u64,
}

impl Read for Endless<'_> {
    fn read(&mut self, out: &mut [u8]) -> IoResult<usize> {
        let size = out.len().min((GIGABYTE - *self.taken) as usize);
        out[..size].fill(b'x');
        *self.taken += size as u64;
        Ok(size)
    }
}

/// Reads both and tells time and memory.
pub(super) fn run() -> Result<Part> {
    let mut taken = 0;
    let start = Instant::now();
    let refused = read_captures(input(BufReader::new(Endless { taken: &mut taken })));
    let is_long = matches!(refused, Err(EvalError::LongLine { line: 1, .. }));
    let is_early = taken <= 2 * MAX_LINE as u64;
    let line = format!(
        "one line of 1 GiB: refused {is_long} after {taken} bytes in {} ms, peak memory {} MiB",
        start.elapsed().as_millis(),
        peak_mib()
    );
    let mut violations = Vec::new();
    if !is_long || !is_early {
        violations.push(line.clone());
    }
    let rows = Rows { left: GIGABYTE, at: 0, line: Vec::new(), place: 0 };
    let start = Instant::now();
    let captures = read_captures(input(BufReader::with_capacity(1 << 16, rows)))?;
    let first = captures.rows.first().map(|row| row.query.as_str());
    let is_whole = first == Some("question 1")
        && captures.rows.last().map(|row| row.line) == Some(captures.rows.len());
    if !is_whole {
        violations.push("small rows were lost".to_owned());
    }
    let small = format!(
        "1 GiB of small rows: {} rows in {} s, {} bytes each in memory, peak memory {} MiB",
        captures.rows.len(),
        start.elapsed().as_secs(),
        (peak_mib() << 20) / captures.rows.len() as u64,
        peak_mib()
    );
    Ok(Part::new("", violations).lines([line, small]))
}

fn input<'a>(reader: impl BufRead + 'a) -> Input<'a> {
    Input::new(Path::new("generated"), reader)
}

/// The most memory that this process ever had.
fn peak_mib() -> u64 {
    status_kib(std::process::id(), "VmHWM") >> 10
}
