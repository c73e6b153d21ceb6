//! Spans of time that a question names, relative to the day it is asked: `two weeks ago`, `in the
//! past month`, `last Tuesday`.
//!
//! The words that name the time say nothing about the subject: pages dated in the span are
//! preferred, and these words are left out of the search, where they would find every page that
//! counts weeks. Spans are wide, because people round and write things down later. Dates that are
//! written out stay in the question: texts quote them.

use std::ops::Range;

use jiff::Span;
use jiff::civil::{Date, Weekday};

/// A range of days, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateWindow {
    pub from: Date,
    pub until: Date,
}

impl DateWindow {
    /// Whether a day lies in it.
    pub fn holds(&self, day: Date) -> bool {
        (self.from..=self.until).contains(&day)
    }
}

/// A span of time in a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeReference {
    pub window: DateWindow,
    /// The question without the words that say so.
    pub rest: String,
}

/// The first span of time that a question names, if something is left to ask without it.
pub fn find_time_reference(query: &str, today: Date) -> Option<TimeReference> {
    let words = words(query);
    let lower: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
    let (window, said) = (0..lower.len()).find_map(|at| phrase(&lower, at, today))?;
    let start = before(&lower, said.start);
    let bytes = words[start].1.start..words[said.end - 1].1.end;
    let rest = format!("{} {}", query[..bytes.start].trim_end(), query[bytes.end..].trim_start());
    let rest = rest.trim().to_owned();
    rest.chars().any(char::is_alphanumeric).then_some(TimeReference { window, rest })
}

/// The words of a question in lower case, with their bytes.
fn words(query: &str) -> Vec<(String, Range<usize>)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in query.char_indices().chain([(query.len(), ' ')]) {
        match (c.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push((query[from..at].to_lowercase(), from..at));
                start = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
    words
}

/// A span that begins at a word: the days, and the words that name it.
fn phrase(words: &[&str], at: usize, today: Date) -> Option<(DateWindow, Range<usize>)> {
    let rest = &words[at..];
    let end = |length: usize| at..at + length;
    match *rest {
        ["yesterday", ..] => Some((around(today, 1, 1), end(1))),
        ["past" | "last" | "previous", "couple", "of", unit, ..] => {
            Some((back(today, 2 * days(unit)?), end(4)))
        }
        ["past" | "last" | "previous", count, unit, ..] if number(count).is_some() => {
            Some((back(today, number(count)? * days(unit)?), end(3)))
        }
        ["past" | "this", unit, ..] if days(unit).is_some() => {
            Some((back(today, days(unit)?), end(2)))
        }
        // The calendar's last month, or the last thirty days: both are meant by it.
        ["last" | "previous", unit, ..] if days(unit).is_some() => {
            Some((back(today, 2 * days(unit)?), end(2)))
        }
        ["last" | "past", day, ..] => {
            let ago = days_since(weekday(day)?, today);
            Some((around(today, ago, 1), end(2)))
        }
        ["couple", "of", unit, "ago", ..] => Some((ago(today, 2, days(unit)?), end(4))),
        [count, unit, "ago", ..] => Some((ago(today, number(count)?, days(unit)?), end(3))),
        _ => None,
    }
}

/// Takes in the words before a span that belong to it: `in the`, `during`, `a`.
fn before(words: &[&str], start: usize) -> usize {
    const LEADING: [&str; 9] =
        ["the", "in", "during", "over", "within", "from", "about", "around", "a"];
    let mut start = start;
    while start > 0 && LEADING.contains(&words[start - 1]) {
        start -= 1;
    }
    start
}

fn back(today: Date, days: i64) -> DateWindow {
    DateWindow { from: shift(today, days), until: today }
}

/// So many units ago: half a unit on either side, and more the longer it is ago.
fn ago(today: Date, count: i64, unit: i64) -> DateWindow {
    let days = count * unit;
    around(today, days, (days / 7).max(unit / 2).max(1))
}

fn around(today: Date, days: i64, slack: i64) -> DateWindow {
    DateWindow { from: shift(today, days + slack), until: shift(today, (days - slack).max(0)) }
}

fn shift(today: Date, days: i64) -> Date {
    today.saturating_sub(Span::new().days(days.clamp(0, 400_000)))
}

fn days(unit: &str) -> Option<i64> {
    Some(match unit.strip_suffix('s').unwrap_or(unit) {
        "day" => 1,
        "week" | "weekend" => 7,
        "fortnight" => 14,
        "month" => 30,
        "quarter" => 91,
        "year" => 365,
        _ => return None,
    })
}

fn number(word: &str) -> Option<i64> {
    const WORDS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    match word {
        "a" | "an" => Some(1),
        "few" | "several" => Some(3),
        word => match WORDS.iter().position(|name| *name == word) {
            Some(number) => Some(number as i64),
            None => word.parse().ok().filter(|number| (1..=1000).contains(number)),
        },
    }
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        _ => return None,
    })
}

/// Days since the last such day of the week: from one to seven.
fn days_since(day: Weekday, today: Date) -> i64 {
    match i64::from(day.until(today.weekday())) {
        0 => 7,
        days => days,
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(query: &str, expected: Option<(&str, &str, &str)>) {
        // A Thursday.
        let found = find_time_reference(query, date(2026, 6, 18));
        let found = found.map(|f| (f.window.from.to_string(), f.window.until.to_string(), f.rest));
        let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
        assert_eq!(found, expected, "{query}");
    }

    #[test]
    fn spans() {
        check(
            "what broke in the past two weeks?",
            Some(("2026-06-04", "2026-06-18", "what broke ?")),
        );
        check("what broke yesterday", Some(("2026-06-16", "2026-06-18", "what broke")));
        check(
            "which berth closed a week ago",
            Some(("2026-06-08", "2026-06-14", "which berth closed")),
        );
        check("Last month's tides", Some(("2026-04-19", "2026-06-18", "'s tides")));
        check("lunch with Ada last Tuesday", Some(("2026-06-15", "2026-06-17", "lunch with Ada")));
        check("lunch last Thursday", Some(("2026-06-10", "2026-06-12", "lunch")));
        check("a couple of months ago Bo called", Some(("2026-04-04", "2026-05-04", "Bo called")));
        check("prices 3 years ago", Some(("2022-12-19", "2023-12-18", "prices")));
    }

    #[test]
    fn invalid_windows_are_ignored() {
        check("how many weeks passed between the two floods", None);
        check("the last invoice", None);
        check("a long time ago", None);
        check("yesterday", None);
        check("", None);
        check("release of 2026-03", None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(query in ".{0,60}", ago in "(past|last|this) (99999|two|ÄÖ|0) (days|years)") {
            let _ = find_time_reference(&query, date(2026, 6, 18));
            let _ = find_time_reference(&format!("{query} {ago}"), date(-9999, 1, 1));
        }
    }
}
