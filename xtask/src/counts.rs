//! How many tests passed, failed and were skipped, read from what the runners print.
//!
//! Each runner has its own reader, because nextest repeats the output of a failed test, and that
//! output ends with a result line of libtest.

use std::fmt;
use std::ops::AddAssign;

/// Numbers of tests by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Counts {
    /// Reads the summary line of `cargo nextest run`, the last one if there are several.
    pub(crate) fn from_nextest(output: &str) -> Self {
        let plain = without_ansi(output);
        plain.lines().rev().find_map(nextest_summary).unwrap_or_default()
    }

    /// Adds up the result lines of `cargo test`, one for each test binary.
    pub(crate) fn from_libtest(output: &str) -> Self {
        let mut total = Self::default();
        for line in without_ansi(output).lines() {
            total += libtest_result(line).unwrap_or_default();
        }
        total
    }

    /// The tests that ran.
    pub(crate) fn ran(self) -> u64 {
        self.passed + self.failed
    }

    /// Adds `"3 passed"`; an outcome that is neither passed nor skipped is a failure, so that
    /// a kind of failure unknown here (`timed out`, `exec failed`) is never lost.
    fn add_outcome(&mut self, part: &str) -> Option<()> {
        let (number, outcome) = part.trim().split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match outcome.trim() {
            "passed" => self.passed += number,
            "skipped" | "ignored" => self.skipped += number,
            _ => self.failed += number,
        }
        Some(())
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        let Self { passed, failed, skipped } = other;
        self.passed += passed;
        self.failed += failed;
        self.skipped += skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// Reads `Summary [   0.055s] 3 tests run: 2 passed (1 slow), 1 failed, 0 skipped`.
fn nextest_summary(line: &str) -> Option<Counts> {
    let line = line.trim_start().strip_prefix("Summary [")?;
    let (_, outcomes) = line.split_once(" run: ")?;
    let mut counts = Counts::default();
    for part in without_parentheses(outcomes).split(',') {
        counts.add_outcome(part)?;
    }
    Some(counts)
}

/// Reads `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; ...`.
fn libtest_result(line: &str) -> Option<Counts> {
    let (_, outcomes) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let mut counts = Counts::default();
    for part in outcomes.split(';').take(3) {
        counts.add_outcome(part)?;
    }
    Some(counts)
}

/// nextest puts remarks on an outcome in parentheses, with commas of their own.
fn without_parentheses(text: &str) -> String {
    let mut depth = 0_u32;
    let mut kept = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    kept
}

/// Drops colour and other `ESC [ ... letter` sequences.
fn without_ansi(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, sequence)) = rest.split_once("\u{1b}[") {
        kept.push_str(before);
        let end = sequence.find(|c: char| ('@'..='~').contains(&c));
        rest = end.map_or("", |end| &sequence[end + 1..]);
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(passed: u64, failed: u64, skipped: u64) -> Counts {
        Counts { passed, failed, skipped }
    }

    #[test]
    fn nextest_summaries() {
        let check =
            |line: &str, expected| assert_eq!(Counts::from_nextest(line), expected, "{line}");
        check("     Summary [   0.055s] 3 tests run: 3 passed, 0 skipped", counts(3, 0, 0));
        check("     Summary [   0.055s] 1 test run: 1 passed, 7 skipped", counts(1, 0, 7));
        check(
            "     Summary [   1.200s] 9/10 tests run: 5 passed (1 slow, 2 flaky), 1 failed, \
             2 exec failed, 1 timed out, 4 skipped",
            counts(5, 4, 4),
        );
        check(
            "\u{1b}[32;1m     Summary\u{1b}[0m [   0.055s] \u{1b}[1m2\u{1b}[0m tests run: \
             \u{1b}[1m2\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, \u{1b}[1m0\u{1b}[0m skipped",
            counts(2, 0, 0),
        );
        check("error: could not compile `gbrain-core`", counts(0, 0, 0));
    }

    #[test]
    fn nextest_ignores_the_repeated_output_of_a_failed_test() {
        let output = "    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured\n\
                      Summary [0.1s] 2 tests run: 1 passed, 1 failed, 0 skipped\n\
                      FAIL [0.1s] a b\n";
        assert_eq!(Counts::from_nextest(output), counts(1, 1, 0));
    }

    #[test]
    fn libtest_results_add_up() {
        let output = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; \
                      finished in 0.00s\n\
                      test a ... FAILED\n\
                      test result: \u{1b}[31mFAILED\u{1b}[0m. 1 passed; 2 failed; 0 ignored; \
                      0 measured; 0 filtered out; finished in 1.20s\n";
        assert_eq!(Counts::from_libtest(output), counts(4, 2, 1));
    }

    #[test]
    fn the_closing_line() {
        let mut total = counts(10, 0, 1);
        total += counts(2, 1, 0);
        assert_eq!(total.to_string(), "12 passed, 1 failed, 1 skipped");
        assert_eq!(total.ran(), 13);
    }
}
