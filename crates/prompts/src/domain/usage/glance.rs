//! Reads only those fields of a row that the figures need, without building the row.
//!
//! Rows written by `kick` have one canonical form, so most lines need only a comparison with fixed
//! text and a few numbers. Other lines take the slow path, and both paths agree on every line.

use super::row::{UsageRow, second};

/// The fields of a row that the figures need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageFields {
    /// `YYYY-MM-DDTHH:MM:SSZ`, which sorts by time.
    pub ts: [u8; 20],
    /// Whether a model was called.
    pub sent: bool,
    /// The exit code of its command.
    pub exit_code: i64,
    /// The verdict of the verifier, if there is one.
    pub verified: Option<bool>,
    /// The duration of the run.
    pub duration_ms: u64,
    /// The number of words of the prompt.
    pub prompt_words: u64,
    /// The number of words of the answer.
    pub output_words: u64,
}

impl UsageFields {
    /// Parses a line; `None` if it is not a row.
    pub fn parse(line: &[u8]) -> Option<Self> {
        Self::of_canonical(line).or_else(|| UsageRow::parse(line).map(|row| Self::of(&row)))
    }

    fn of(row: &UsageRow) -> Self {
        let mut ts = [b'0'; 20];
        let text = second(row.ts);
        if let Some(text) = text.as_bytes().first_chunk::<20>() {
            ts = *text;
        }
        Self {
            ts,
            sent: row.sent,
            exit_code: row.exit_code,
            verified: row.verified,
            duration_ms: row.duration_ms,
            prompt_words: row.prompt_words,
            output_words: row.output_words,
        }
    }

    /// The fast path, for lines exactly as [`UsageRow::to_line`] writes them. `None` says nothing
    /// about the line.
    fn of_canonical(line: &[u8]) -> Option<Self> {
        let rest = line.strip_prefix(b"{\"ts\":\"")?;
        let (ts, rest) = rest.split_first_chunk::<20>()?;
        if !is_moment(ts) {
            return None;
        }
        let rest = rest.strip_prefix(b"\",\"case\":")?;
        let rest = match rest.strip_prefix(b"null") {
            Some(rest) => rest,
            None => text(rest)?,
        };
        let rest = text(rest.strip_prefix(b",\"vars_hash\":")?)?;
        let (sent, rest) = truth(rest.strip_prefix(b",\"sent\":")?)?;
        let (exit_code, rest) = signed(rest.strip_prefix(b",\"exit_code\":")?)?;
        let rest = rest.strip_prefix(b",\"verified\":")?;
        let (verified, rest) = match rest.strip_prefix(b"null") {
            Some(rest) => (None, rest),
            None => truth(rest).map(|(truth, rest)| (Some(truth), rest))?,
        };
        let (duration_ms, rest) = number(rest.strip_prefix(b",\"duration_ms\":")?)?;
        let (prompt_words, rest) = number(rest.strip_prefix(b",\"prompt_words\":")?)?;
        let (output_words, rest) = number(rest.strip_prefix(b",\"output_words\":")?)?;
        let ts = *ts;
        let glance =
            Self { ts, sent, exit_code, verified, duration_ms, prompt_words, output_words };
        (rest == b"}").then_some(glance)
    }
}

/// Whether the text is a timestamp with a day and a second that are always valid; the last days of
/// a month take the slow path.
fn is_moment(ts: &[u8; 20]) -> bool {
    let shape = b"0000-00-00T00:00:00Z";
    let fits =
        ts.iter().zip(shape).all(|(&c, &s)| if s == b'0' { c.is_ascii_digit() } else { c == s });
    let pair = |at: usize| (ts[at] & 15) * 10 + (ts[at + 1] & 15);
    fits && (1..=12).contains(&pair(5))
        && (1..=28).contains(&pair(8))
        && pair(11) < 24
        && pair(14) < 60
        && pair(17) < 60
}

/// The rest after a string without escapes in plain ASCII.
fn text(rest: &[u8]) -> Option<&[u8]> {
    let rest = rest.strip_prefix(b"\"")?;
    let end = rest.iter().position(|&c| c == b'"' || c == b'\\' || !(b' '..=b'~').contains(&c))?;
    rest[end..].strip_prefix(b"\"")
}

fn truth(rest: &[u8]) -> Option<(bool, &[u8])> {
    let yes = rest.strip_prefix(b"true").map(|rest| (true, rest));
    yes.or_else(|| rest.strip_prefix(b"false").map(|rest| (false, rest)))
}

fn signed(rest: &[u8]) -> Option<(i64, &[u8])> {
    let (magnitude, after) = number(rest.strip_prefix(b"-").unwrap_or(rest))?;
    let magnitude = i64::try_from(magnitude).ok()?;
    match (rest.first() == Some(&b'-'), magnitude) {
        // JSON's -0 is not an integer.
        (true, 0) => None,
        (true, magnitude) => Some((-magnitude, after)),
        (false, magnitude) => Some((magnitude, after)),
    }
}

/// A number of at most 18 digits, so that it cannot overflow.
fn number(rest: &[u8]) -> Option<(u64, &[u8])> {
    let digits = rest.iter().take_while(|c| c.is_ascii_digit()).count();
    let leads_with_zero = digits > 1 && rest[0] == b'0';
    if digits == 0 || digits > 18 || leads_with_zero {
        return None;
    }
    let value = rest[..digits].iter().fold(0, |value, digit| value * 10 + u64::from(digit & 15));
    Some((value, &rest[digits..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROW: &str = r#"{"ts":"2026-05-05T09:31:00Z","case":"a","vars_hash":"none","sent":true,"exit_code":-1,"verified":null,"duration_ms":18342,"prompt_words":612,"output_words":0}"#;

    #[test]
    fn the_short_way_is_taken_for_what_is_written() {
        let glance = UsageFields::of_canonical(ROW.as_bytes()).unwrap();
        assert_eq!((glance.exit_code, glance.duration_ms, glance.output_words), (-1, 18342, 0));
        let row = UsageRow::parse(ROW.as_bytes()).unwrap();
        assert!(UsageFields::of_canonical(row.to_line().trim_end().as_bytes()).is_some());
        let minus_nothing = ROW.replace(":-1,", ":-0,");
        assert_eq!(UsageFields::parse(minus_nothing.as_bytes()), None);
    }

    proptest! {
        /// Both ways agree on rows that were changed in one place.
        #[test]
        fn both_ways_agree(at in 0..ROW.len(), with in prop::sample::select(b"\"{}[],:0129-ntfe\\ \xff.Z".to_vec()), insert: bool) {
            let mut line = ROW.as_bytes().to_vec();
            if insert { line.insert(at, with) } else { line[at] = with }
            if let Some(short) = UsageFields::of_canonical(&line) {
                let row = UsageRow::parse(&line);
                prop_assert_eq!(Some(short), row.map(|row| UsageFields::of(&row)));
            }
        }
    }
}
