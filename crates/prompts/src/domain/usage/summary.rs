//! Figures over all rows of a log, in one pass over its bytes.

use jiff::Timestamp;

use super::{Median, RunIndex, RunText, UsageFields, second};

/// Longer lines are malformed: no row comes near this length.
pub const LONGEST_LINE: usize = 64 * 1024;

/// Number of latest durations that are kept for a chart.
const LATEST: usize = 40;

/// Verdicts of sent rows, counted for a gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerdictCounts {
    pub verified: u64,
    pub refuted: u64,
    /// Rows without a verifier.
    pub unverified: u64,
}

/// The figures of a usage log.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    pub total: u64,
    /// Rows that were sent.
    pub sent: VerdictCounts,
    /// The rows that a gate counts.
    pub counted: GateCounts,
    /// The latest time of any row, as it is written.
    pub last_ts: Option<[u8; 20]>,
    /// Median duration of sent rows.
    pub duration_ms: Median,
    /// Median prompt length of sent rows.
    pub prompt_words: Median,
    /// Median answer length of sent rows.
    pub output_words: Median,
    /// Number of malformed lines.
    pub malformed: u64,
    /// The line number of the first one, from 1.
    pub first_malformed: Option<u64>,
    since: Option<[u8; 20]>,
    runs: RunIndex,
    latest: Vec<u64>,
    lines: u64,
}

/// Sent rows by their text, from the time on that a prompt sets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GateCounts {
    /// Rows of the prompt as it is now.
    pub sent: VerdictCounts,
    /// The subset whose command exited with 0.
    pub succeeded: VerdictCounts,
    /// Rows of another text, verifier, default or model.
    pub other_text: u64,
    /// Rows without a matching record of their text.
    pub unknown_text: u64,
}

impl VerdictCounts {
    /// The number of counted rows.
    pub fn all(&self) -> u64 {
        self.verified + self.refuted + self.unverified
    }

    /// The number of counted rows; `None` if it overflows.
    pub(crate) fn checked_total(&self) -> Option<u64> {
        self.verified.checked_add(self.refuted)?.checked_add(self.unverified)
    }

    /// Rows that the verifier did not refute.
    pub fn not_refuted(&self) -> u64 {
        self.verified + self.unverified
    }

    fn add(&mut self, verified: Option<bool>) {
        *match verified {
            Some(true) => &mut self.verified,
            Some(false) => &mut self.refuted,
            None => &mut self.unverified,
        } += 1;
    }
}

impl Summary {
    /// A summary whose gates count rows with a record, from a time on if there is one.
    pub fn counting(since: Option<Timestamp>, runs: RunIndex) -> Self {
        let since = since.and_then(|since| second(since).as_bytes().first_chunk().copied());
        Self { since, runs, ..Self::default() }
    }

    /// Adds a line, without its newline. An empty line is ignored.
    pub fn add_line(&mut self, line: &[u8]) {
        self.lines += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return;
        }
        match UsageFields::parse(line) {
            Some(row) => self.add(&row, line),
            None => self.add_malformed(),
        }
    }

    fn add_malformed(&mut self) {
        self.malformed += 1;
        self.first_malformed.get_or_insert(self.lines);
    }

    fn add(&mut self, row: &UsageFields, line: &[u8]) {
        self.total += 1;
        self.last_ts = self.last_ts.max(Some(row.ts));
        if !row.sent {
            return;
        }
        self.sent.add(row.verified);
        let text = self.runs.take(line);
        if self.since.is_none_or(|since| row.ts >= since) {
            self.counted.add(row, text);
        }
        self.duration_ms.add(row.duration_ms);
        self.prompt_words.add(row.prompt_words);
        self.output_words.add(row.output_words);
        let at = (self.sent.all() - 1) as usize % LATEST;
        match self.latest.get_mut(at) {
            Some(slot) => *slot = row.duration_ms,
            None => self.latest.push(row.duration_ms),
        }
    }

    /// The durations of the latest sent rows, oldest first.
    pub fn latest_durations(&self) -> Vec<u64> {
        let (new, old) = self.latest.split_at(match self.latest.len() {
            LATEST => self.sent.all() as usize % LATEST,
            _ => 0,
        });
        [old, new].concat()
    }

    /// The time of the latest row.
    pub fn last(&self) -> Option<&str> {
        self.last_ts.as_ref().and_then(|ts| std::str::from_utf8(ts).ok())
    }
}

impl GateCounts {
    fn add(&mut self, row: &UsageFields, text: RunText) {
        match text {
            RunText::Other => self.other_text += 1,
            RunText::Unknown => self.unknown_text += 1,
            RunText::Current => {
                self.sent.add(row.verified);
                if row.exit_code == 0 {
                    self.succeeded.add(row.verified);
                }
            }
        }
    }
}

/// Splits blocks of bytes into lines of any length.
#[derive(Debug)]
pub struct LineSplitter<'a> {
    summary: &'a mut Summary,
    begun: Vec<u8>,
    is_too_long: bool,
}

impl<'a> LineSplitter<'a> {
    /// A splitter that adds its lines to a summary.
    pub fn new(summary: &'a mut Summary) -> Self {
        Self { summary, begun: Vec::new(), is_too_long: false }
    }

    /// Adds the next bytes of the file.
    pub fn add(&mut self, mut block: &[u8]) {
        if self.is_too_long || !self.begun.is_empty() {
            let Some(end) = memchr::memchr(b'\n', block) else { return self.go_on(block) };
            self.go_on(&block[..end]);
            self.end();
            block = &block[end + 1..];
        }
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', block) {
            self.summary.add_line(&block[start..end]);
            start = end + 1;
        }
        self.go_on(&block[start..]);
    }

    /// Adds the last line, if it has no newline.
    pub fn finish(mut self) {
        if self.is_too_long || !self.begun.is_empty() {
            self.end();
        }
    }

    fn go_on(&mut self, part: &[u8]) {
        if self.is_too_long || self.begun.len() + part.len() > LONGEST_LINE {
            self.is_too_long = true;
            self.begun.clear();
        } else {
            self.begun.extend_from_slice(part);
        }
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.is_too_long) {
            self.summary.lines += 1;
            self.summary.add_malformed();
        } else {
            self.summary.add_line(&self.begun);
        }
        self.begun.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::RunRecord;
    use super::*;
    use proptest::prelude::*;

    fn row(second: u8, sent: bool, verified: &str, exit: u8, duration: u64) -> String {
        format!(
            "{{\"ts\":\"2026-05-05T09:31:{second:02}Z\",\"case\":null,\"vars_hash\":\"none\",\"sent\":{sent},\
             \"exit_code\":{exit},\"verified\":{verified},\"duration_ms\":{duration},\"prompt_words\":2,\
             \"output_words\":3}}\n"
        )
    }

    fn summary(text: &[u8], block: usize, since: Option<&str>) -> Summary {
        let since = since.map(|since| since.parse().unwrap());
        let mut summary = Summary::counting(since, records(text, "now"));
        let mut lines = LineSplitter::new(&mut summary);
        text.chunks(block).for_each(|block| lines.add(block));
        lines.finish();
        summary
    }

    /// A record of this text for every line.
    fn records(text: &[u8], prompt_hash: &str) -> RunIndex {
        let mut runs = RunIndex::default();
        for (at, line) in String::from_utf8_lossy(text).lines().enumerate() {
            let ts = Timestamp::from_nanosecond(at as i128).unwrap();
            runs.add(&RunRecord::new(ts, prompt_hash.to_owned(), line), "now");
        }
        runs
    }

    fn sample() -> String {
        [
            row(9, true, "true", 0, 10),
            row(2, true, "false", 0, 30),
            "not a row\n".to_owned(),
            row(3, true, "null", 1, 50),
            row(4, false, "null", 0, 1),
            "\n".to_owned(),
            row(5, true, "\"true\"", 0, 1),
            row(6, true, "true", 0, 20).trim_end().to_owned(),
        ]
        .concat()
    }

    #[test]
    fn by_hand() {
        let found = summary(sample().as_bytes(), 4096, None);
        assert_eq!((found.total, found.malformed, found.first_malformed), (5, 2, Some(3)));
        assert_eq!(found.sent, VerdictCounts { verified: 2, refuted: 1, unverified: 1 });
        assert_eq!(found.counted.sent, found.sent);
        assert_eq!(
            found.counted.succeeded,
            VerdictCounts { verified: 2, refuted: 1, unverified: 0 }
        );
        assert_eq!(found.duration_ms.middle().unwrap().value, 25.0);
        assert_eq!(found.last(), Some("2026-05-05T09:31:09Z"));
        assert_eq!(found.latest_durations(), [10, 30, 50, 20]);
    }

    #[test]
    fn a_gate_does_not_look_at_rows_before_its_moment() {
        let found = summary(sample().as_bytes(), 4096, Some("2026-05-05T09:31:06Z"));
        assert_eq!((found.total, found.sent.all(), found.malformed), (5, 4, 2));
        assert_eq!(found.counted.sent, VerdictCounts { verified: 2, refuted: 0, unverified: 0 });
    }

    #[test]
    fn a_gate_looks_at_rows_of_this_text_only() {
        let text = sample();
        let count = |runs: RunIndex, text: &str| {
            let mut summary = Summary::counting(None, runs);
            let mut lines = LineSplitter::new(&mut summary);
            lines.add(text.as_bytes());
            lines.finish();
            let GateCounts { sent, other_text, unknown_text, .. } = summary.counted;
            (summary.sent.all(), sent.all(), other_text, unknown_text)
        };
        let of = |prompt_hash| records(text.as_bytes(), prompt_hash);
        assert_eq!(count(of("now"), &text), (4, 4, 0, 0));
        assert_eq!(count(of("then"), &text), (4, 0, 4, 0));
        assert_eq!(count(RunIndex::default(), &text), (4, 0, 0, 4));
        // An edited row and a second copy have no record.
        assert_eq!(count(of("now"), &text.replace("false", "true")), (5, 3, 0, 2));
        assert_eq!(count(of("now"), &format!("{text}\n{text}")), (8, 4, 0, 4));
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let text =
            [vec![b'x'; 3 * LONGEST_LINE], b"\n".to_vec(), row(1, true, "true", 0, 1).into()]
                .concat();
        let found = summary(&text, 1000, None);
        assert_eq!((found.total, found.malformed, found.first_malformed), (1, 1, Some(1)));
    }

    #[test]
    fn the_latest_are_the_last_forty() {
        let text: String = (0..103).map(|i| row(1, true, "true", 0, i)).collect();
        let latest = summary(text.as_bytes(), 4096, None).latest_durations();
        assert_eq!(latest, (63..103).collect::<Vec<_>>());
    }

    proptest! {
        /// Where blocks are cut changes nothing.
        #[test]
        fn blocks_do_not_matter(block in 1..700_usize) {
            let whole = summary(sample().as_bytes(), 1 << 20, None);
            let cut = summary(sample().as_bytes(), block, None);
            prop_assert_eq!((cut.total, cut.sent, cut.malformed, cut.first_malformed), (whole.total, whole.sent, whole.malformed, whole.first_malformed));
        }
    }
}
