//! Dates as people write them in pages.

use jiff::civil::{Date, date};

/// The end of a month or year that an imprecise date resolves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeriodEdge {
    Start,
    End,
}

const FIRST: Date = date(1990, 1, 1);
const LAST: Date = date(2100, 12, 31);

/// Whether a page may carry this date. There is no clock here, so the range is fixed.
pub(crate) fn is_plausible(day: Date) -> bool {
    (FIRST..=LAST).contains(&day)
}

/// Reads a whole day: `2021-06-15`, `2021/06/15`, `20210615`, either with a time after it,
/// `15 June 2021` or `June 15, 2021`.
pub(crate) fn day(text: &str) -> Option<Date> {
    let text = text.trim();
    leading_day(text)
        .filter(|(_, rest)| ends_date(rest))
        .map(|(day, _)| day)
        .or_else(|| written_day(text))
}

/// Reads a day, a month (`2021-06`, `June 2021`) or a year; a coarse one stands for its `edge`.
pub(crate) fn parse_coarse_date(text: &str, edge: PeriodEdge) -> Option<Date> {
    let text = text.trim();
    if let Some(day) = day(text) {
        return Some(day);
    }
    let words: Vec<&str> = words(text).collect();
    let (year, month) = match words.as_slice() {
        [year] => match year.split_once(['-', '/']) {
            Some((year, month)) => (year_of(year)?, Some(number(month, 2)?)),
            None => (year_of(year)?, None),
        },
        [month, year] => (year_of(year)?, Some(month_of(month)?)),
        _ => return None,
    };
    let month_at = |fallback: i8| month.unwrap_or(fallback);
    match edge {
        PeriodEdge::Start => Date::new(year, month_at(1), 1).ok(),
        PeriodEdge::End => Date::new(year, month_at(12), 1).ok().map(Date::last_of_month),
    }
}

/// A day at the very start of a text, and what follows it.
pub(crate) fn leading_day(text: &str) -> Option<(Date, &str)> {
    let bytes = text.as_bytes();
    let separator = *bytes.get(4)?;
    let length = if matches!(separator, b'-' | b'/' | b'.') { 10 } else { 8 };
    if bytes.len() < length || !bytes[..length].is_ascii() {
        return None;
    }
    let (digits, rest) = text.split_at(length);
    let parts = match length {
        10 if bytes[7] == separator => [&digits[..4], &digits[5..7], &digits[8..]],
        8 => [&digits[..4], &digits[4..6], &digits[6..]],
        _ => return None,
    };
    let day = Date::new(year_of(parts[0])?, number(parts[1], 2)?, number(parts[2], 2)?).ok()?;
    (!rest.starts_with(|c: char| c.is_ascii_digit())).then_some((day, rest))
}

/// The number of a month's name or its usual abbreviation.
pub(crate) fn month_of(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let word = word.trim_end_matches('.').to_ascii_lowercase();
    let found = MONTHS.iter().position(|month| {
        *month == word || (word.len() >= 3 && word.len() <= 4 && month.starts_with(&word))
    })?;
    Some(found as i8 + 1)
}

fn ends_date(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || c == 'T' || c == 't')
}

fn written_day(text: &str) -> Option<Date> {
    let words: Vec<&str> = words(text).collect();
    let (day, month, year) = match words.as_slice() {
        [first, second, year] if month_of(first).is_some() => (second, first, year),
        [first, second, year] => (first, second, year),
        _ => return None,
    };
    let day = day.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    Date::new(year_of(year)?, month_of(month)?, number(day, 2)?).ok()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', ',']).filter(|word| !word.is_empty())
}

fn year_of(text: &str) -> Option<i16> {
    if text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}

fn number(text: &str, longest: usize) -> Option<i8> {
    let fits =
        (1..=longest).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_days() {
        let expected = Some(date(2021, 6, 15));
        for text in [
            "2021-06-15",
            "2021/06/15",
            "20210615",
            "2021-06-15T10:00:00Z",
            "2021-06-15 10:00",
            "15 June 2021",
            "Jun 15, 2021",
            "June 15th 2021",
        ] {
            assert_eq!(day(text), expected, "{text}");
        }
        for text in
            ["2021-13-01", "2021-02-30", "2021-06", "2021", "soon", "2021-06-155", "", "é021-06-15"]
        {
            assert_eq!(day(text), None, "{text}");
        }
    }

    #[test]
    fn coarse_dates_take_an_edge() {
        assert_eq!(parse_coarse_date("2021", PeriodEdge::Start), Some(date(2021, 1, 1)));
        assert_eq!(parse_coarse_date("2021", PeriodEdge::End), Some(date(2021, 12, 31)));
        assert_eq!(parse_coarse_date("2024-02", PeriodEdge::End), Some(date(2024, 2, 29)));
        assert_eq!(parse_coarse_date("March 2024", PeriodEdge::End), Some(date(2024, 3, 31)));
        assert_eq!(parse_coarse_date("Feb. 2024", PeriodEdge::Start), Some(date(2024, 2, 1)));
        assert_eq!(parse_coarse_date("2024-02-03", PeriodEdge::End), Some(date(2024, 2, 3)));
        assert_eq!(parse_coarse_date("later", PeriodEdge::End), None);
    }
}
