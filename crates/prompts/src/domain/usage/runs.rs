//! `.runs.jsonl`: the text of each sent run.
//!
//! A row of the usage log has nine keys and no room for the text, so every run that may count for a
//! gate leaves a second line: the hash of the prompt and the hash of the row. A row without such a
//! line has an unknown text. An edited row does not match its line, and a copied row finds its line
//! used.

use std::collections::{HashMap, HashSet};

use gbrain_core::hash::Hash;
use jiff::Timestamp;

use super::super::logs::RunLine;

/// The record of a sent run and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// The time at which its row was appended, in nanoseconds, which is unique.
    pub ts: Timestamp,
    /// The hash of the prompt at that time: template, hooks, defaults and model.
    pub prompt_hash: String,
    /// The hash of the row's line, without its newline.
    pub row_hash: String,
}

/// The text that a row belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunText {
    /// The current text of the prompt.
    Current,
    Other,
    Unknown,
}

/// The records of a prompt, indexed by row hash.
#[derive(Debug, Clone, Default)]
pub struct RunIndex {
    /// Number of records without a row, by row hash: of the current text, and of others.
    open: HashMap<u64, [u32; 2]>,
    seen: HashSet<(i128, u64)>,
}

impl RunRecord {
    /// The record of a row.
    pub fn new(ts: Timestamp, prompt_hash: String, row: &str) -> Self {
        let row = row.trim_end_matches(['\n', '\r']);
        Self { ts, prompt_hash, row_hash: Hash::of(row.as_bytes()).short() }
    }

    /// The line, with a newline.
    pub fn to_line(&self) -> String {
        serde_json::to_string(&RunLine::new(self)).expect("a record has text keys only") + "\n"
    }

    /// Parses a line; `None` if it is malformed.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str::<RunLine>(line).ok()?.record()
    }
}

impl RunIndex {
    /// Adds a record. A copy of a known record is ignored.
    pub fn add(&mut self, record: &RunRecord, prompt_hash: &str) {
        let Ok(row) = u64::from_str_radix(&record.row_hash, 16) else { return };
        if self.seen.insert((record.ts.as_nanosecond(), row)) {
            let is_other = usize::from(record.prompt_hash != prompt_hash);
            self.open.entry(row).or_default()[is_other] += 1;
        }
    }

    /// The text that a row belongs to. Each record matches one row.
    pub fn take(&mut self, line: &[u8]) -> RunText {
        if self.open.is_empty() {
            return RunText::Unknown;
        }
        let key = Hash::of(line).0.first_chunk().map(|first| u64::from_be_bytes(*first));
        match key.and_then(|key| self.open.get_mut(&key)) {
            Some([current, _]) if *current > 0 => {
                *current -= 1;
                RunText::Current
            }
            Some([_, other]) if *other > 0 => {
                *other -= 1;
                RunText::Other
            }
            _ => RunText::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = r#"{"schema_version":1,"ts":"2026-05-05T09:31:00.000000007Z","prompt_hash":"00112233445566aa","row_hash":"8899aabbccddeeff"}"#;

    fn record(nanosecond: i32, prompt_hash: &str, row: &str) -> RunRecord {
        let ts = Timestamp::new(1_777_973_460, nanosecond).unwrap();
        RunRecord::new(ts, prompt_hash.to_owned(), row)
    }

    #[test]
    fn the_first_version_reads_and_writes_back() {
        let record = RunRecord::parse(V1).unwrap();
        assert_eq!(record.ts.subsec_nanosecond(), 7);
        assert_eq!(record.to_line(), format!("{V1}\n"));
        for (old, new) in [
            ("\"schema_version\":1", "\"schema_version\":2"),
            ("8899aabbccddeeff", "8899"),
            ("8899aabbccddeeff", "8899aabbccddeefg"),
            ("00112233445566aa", ""),
            ("2026-05-05T", "yesterday"),
        ] {
            assert!(V1.contains(old));
            assert_eq!(RunRecord::parse(&V1.replace(old, new)), None, "{new}");
        }
    }

    #[test]
    fn a_record_is_for_one_row_as_it_was_written() {
        let mut index = RunIndex::default();
        index.add(&record(1, "now", "row\n"), "now");
        index.add(&record(1, "now", "row\n"), "now");
        index.add(&record(2, "then", "old\n"), "now");
        assert_eq!(index.take(b"row edited"), RunText::Unknown);
        assert_eq!(index.take(b"row"), RunText::Current);
        assert_eq!(index.take(b"row"), RunText::Unknown);
        assert_eq!(index.take(b"old"), RunText::Other);
        assert_eq!(RunIndex::default().take(b"row"), RunText::Unknown);
    }

    #[test]
    fn equal_rows_of_two_runs_are_two() {
        let mut index = RunIndex::default();
        index.add(&record(1, "now", "row\n"), "now");
        index.add(&record(2, "now", "row\n"), "now");
        index.add(&record(3, "then", "row\n"), "now");
        let found: Vec<RunText> = (0..4).map(|_| index.take(b"row")).collect();
        let expected = [RunText::Current, RunText::Current, RunText::Other, RunText::Unknown];
        assert_eq!(found, expected);
    }
}
