//! Finds dates in texts, and pairs that need no judge because they are about different times.
//!
//! A pair is excluded only if both texts name a time, the times are more than thirty days apart,
//! and neither text has a paragraph with two times, which may describe a change. If both statements
//! have their own dates, the prompt contains them and the judge can decide that one replaces the
//! other, so such pairs are judged. So are pairs that both name a unique event (a founding, a
//! birth, a deadline), because then different times are the contradiction. Every pair carries the
//! rule that included or excluded it.
//!
//! A month, quarter or year is a span: any time within it is not apart from it. A bare year counts
//! only in a context where a reader would take it for one (`in 2021`, `(2021)`): 2000 chairs are
//! not a date. Not here: dates without a year, and languages other than English.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use jiff::civil::Date;
use regex::{Captures, Regex};

use crate::named;
use crate::page::date::{PeriodEdge, day, month_of, parse_coarse_date};
use crate::search::window::DateWindow;

use super::pair::Pair;

/// Times at most this many days apart count as the same time.
pub(crate) const NEAR_DAYS: i32 = 30;

named! {
    /// The rule that includes or excludes a pair.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum DateRule {
        /// Judged: a paragraph names two times.
        TwoDates = "two_dates",
        /// Judged: both statements have their own dates, which the prompt contains.
        OwnDates = "own_dates",
        /// Judged: one text names no time.
        Undated = "undated",
        /// Judged: both name the time of a unique event, such as a founding.
        Once = "once",
        /// Judged: the times are close.
        Near = "near",
        /// Excluded: the times are far apart.
        Apart = "apart",
    }
}

/// A time that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    pub window: DateWindow,
    /// Byte range in the text.
    pub at: Range<usize>,
}

impl DateRule {
    /// The rule for a pair.
    pub fn of(pair: &Pair) -> Self {
        let (a, b) = (&pair.a, &pair.b);
        if has_two_dates(&a.text) || has_two_dates(&b.text) {
            return Self::TwoDates;
        }
        if a.date.is_some() && b.date.is_some() {
            return Self::OwnDates;
        }
        match (latest(&a.text), latest(&b.text)) {
            (Some(earlier), Some(later)) if days_between(&earlier, &later) > NEAR_DAYS => {
                if happens_once(&a.text, &b.text) {
                    Self::Once
                } else {
                    Self::Apart
                }
            }
            (Some(_), Some(_)) => Self::Near,
            _ => Self::Undated,
        }
    }

    /// Whether the pair is judged.
    pub fn keeps(self) -> bool {
        self != Self::Apart
    }
}

/// Words for unique events, which cannot have two different times.
pub(super) const ONCE: &[&str] = &[
    "found",
    "founded",
    "born",
    "launch",
    "launched",
    "launches",
    "died",
    "joined",
    "left",
    "incorporated",
    "married",
    "graduated",
    "expires",
    "ends",
    "ended",
    "due",
    "deadline",
    "released",
    "closes",
    "runs",
    "acquired",
    "retired",
    "established",
    "opened",
    "built",
];

/// Whether both texts name the same unique event.
fn happens_once(one: &str, other: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect()
    };
    let (one, other) = (words(one), words(other));
    ONCE.iter().any(|word| one.contains(*word) && other.contains(*word))
}

/// Days from the end of the earlier to the start of the later; 0 if they overlap.
pub(crate) fn days_between(one: &DateWindow, other: &DateWindow) -> i32 {
    let (first, second) = if one.until <= other.until { (one, other) } else { (other, one) };
    let days = first.until.until(second.from).map_or(0, |span| span.get_days());
    days.max(0)
}

/// Every time that a text names, in order of appearance.
pub fn mentions(text: &str) -> Vec<Mention> {
    let found = MENTION.captures_iter(text);
    found.filter_map(|captures| mention(&captures)).collect()
}

fn has_two_dates(text: &str) -> bool {
    paragraphs(text).any(|paragraph| {
        let mentions = mentions(paragraph);
        mentions.iter().any(|mention| mention.window != mentions[0].window)
    })
}

fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    static BLANK: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\n[ \t\r]*\n").expect("our patterns are valid"));
    BLANK.split(text)
}

fn latest(text: &str) -> Option<DateWindow> {
    mentions(text).into_iter().map(|mention| mention.window).max_by_key(|window| window.until)
}

/// Formats of a time, longest first.
static MENTION: LazyLock<Regex> = LazyLock::new(|| {
    let month = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?";
    let year = r"(?:19|20)\d\d";
    let day = r"\d{1,2}(?:st|nd|rd|th)?";
    let before = r"(?:in|since|by|until|till|from|during|before|after|of|year|early|late|mid|end|fy|around|circa|summer|winter|spring|autumn|fall)";
    let pattern = format!(
        r"(?ix)
        \b(?P<iso>{year}[-/]\d\d[-/]\d\d)\b
        | \b(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})/(?P<slash_year>{year})\b
        | \b(?P<written>{day}\s+(?:of\s+)?{month}[,\s]\s*{year} | {month}\s+{day},?\s+{year} | {month},?\s+{year})\b
        | \bq(?P<quarter>[1-4])[\s,/-]*(?:of\s+)?(?P<quarter_year>{year}|'\d\d)\b
        | \b(?P<year_first>{year})[\s,/-]*q(?P<quarter_last>[1-4])\b
        | \b(?P<year_month>{year}-(?:0[1-9]|1[0-2]))\b
        | (?:\b{before}[\s-]+|\()(?P<year>{year})\b"
    );
    Regex::new(&pattern).expect("our patterns are valid")
});

fn mention(captures: &Captures<'_>) -> Option<Mention> {
    let group = |name: &str| captures.name(name).map(|found| found.as_str());
    let at = captures.name("year").or_else(|| captures.get(0))?.range();
    let window = if let Some(iso) = group("iso") {
        one_day(day(iso)?)
    } else if let Some(year) = group("slash_year") {
        slash(group("first")?, group("second")?, year)?
    } else if let Some(written) = group("written") {
        written_window(written)?
    } else if let Some(number) = group("quarter") {
        quarter(group("quarter_year")?, number)?
    } else if let Some(number) = group("quarter_last") {
        quarter(group("year_first")?, number)?
    } else {
        span(group("year_month").or_else(|| group("year"))?)?
    };
    Some(Mention { window, at })
}

fn one_day(day: Date) -> DateWindow {
    DateWindow { from: day, until: day }
}

fn span(text: &str) -> Option<DateWindow> {
    Some(DateWindow {
        from: parse_coarse_date(text, PeriodEdge::Start)?,
        until: parse_coarse_date(text, PeriodEdge::End)?,
    })
}

/// `15 June 2021`, `June 15th, 2021` or `June 2021`.
fn written_window(text: &str) -> Option<DateWindow> {
    let words: Vec<&str> = text
        .split([' ', ',', '\n', '\t'])
        .filter(|word| !word.is_empty() && !word.eq_ignore_ascii_case("of"))
        .collect();
    let month = words.iter().find(|word| word.starts_with(char::is_alphabetic))?;
    month_of(month)?;
    span(&words.join(" "))
}

/// `3/4/2021` is the third of April or the fourth of March; the window spans both.
fn slash(first: &str, second: &str, year: &str) -> Option<DateWindow> {
    let [first, second] = [first.parse::<i8>().ok()?, second.parse::<i8>().ok()?];
    let year = year.parse::<i16>().ok()?;
    let american = Date::new(year, first, second).ok();
    let european = Date::new(year, second, first).ok();
    let from = american.into_iter().chain(european).min()?;
    let until = american.into_iter().chain(european).max()?;
    Some(DateWindow { from, until })
}

fn quarter(year: &str, number: &str) -> Option<DateWindow> {
    let year: i16 = match year.strip_prefix('\'') {
        Some(short) => 2000 + short.parse::<i16>().ok()?,
        None => year.parse().ok()?,
    };
    let last = number.parse::<i8>().ok()? * 3;
    let from = Date::new(year, last - 2, 1).ok()?;
    Some(DateWindow { from, until: Date::new(year, last, 1).ok()?.last_of_month() })
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::super::pair::tests::passage;
    use super::super::pair::{PairKind, StatementDate, StatementDateOrigin};
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let found: Vec<_> = mentions(text)
            .iter()
            .map(|mention| (mention.window.from.to_string(), mention.window.until.to_string()))
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn times_by_example() {
        check(
            "on 2024-03-05, and 2024/03/06",
            &[("2024-03-05", "2024-03-05"), ("2024-03-06", "2024-03-06")],
        );
        check("due 25/12/2023", &[("2023-12-25", "2023-12-25")]);
        check("due 3/4/2021", &[("2021-03-04", "2021-04-03")]);
        check("15 June 2021", &[("2021-06-15", "2021-06-15")]);
        check("raised in MARCH 2024.", &[("2024-03-01", "2024-03-31")]);
        check("Sept. 3rd, 2022 was", &[("2022-09-03", "2022-09-03")]);
        check("the 3rd of May, 2022", &[("2022-05-03", "2022-05-03")]);
        check("Q3 2024 and 2023-Q1", &[("2024-07-01", "2024-09-30"), ("2023-01-01", "2023-03-31")]);
        check("q4'25", &[("2025-10-01", "2025-12-31")]);
        check("since 2019", &[("2019-01-01", "2019-12-31")]);
        check("Ada (2021)", &[("2021-01-01", "2021-12-31")]);
        check("2024-06", &[("2024-06-01", "2024-06-30")]);
    }

    #[test]
    fn texts_without_a_date_are_ignored() {
        for text in [
            "2000 chairs",
            "room 2021",
            "$2024",
            "2024-13-40",
            "march forward",
            "1 may 5",
            "in 20210 steps",
            "may 2021x",
            "",
        ] {
            check(text, &[]);
        }
    }

    #[track_caller]
    fn rule(a: &str, b: &str, expected: DateRule) {
        let pair = Pair::new(PairKind::CrossPage, passage("a", 0, a), passage("b", 0, b), 0.0);
        assert_eq!(DateRule::of(&pair), expected, "{a} / {b}");
    }

    #[test]
    fn far_apart_is_left_out() {
        rule("in March 2021 x", "in April 2021 y", DateRule::Near);
        rule("in March 2021 x", "on 2021-05-15 y", DateRule::Apart);
        rule("in March 2021 x", "y", DateRule::Undated);
        rule("from 2021-01-01 to 2024-01-01 x", "on 2019-05-15 y", DateRule::TwoDates);
        rule("on 2021-01-01 x\n\nin 2021-01-01", "on 2019-05-15 y", DateRule::Apart);
        rule("Q1 2024", "15 August 2024", DateRule::Apart);
        rule("in 2024", "15 August 2024", DateRule::Near);
        rule("Acme was founded in 1999.", "Acme was founded in 2004.", DateRule::Once);
        rule("Ada was born in March 1980.", "Ada: born in 1985", DateRule::Once);
        rule("Acme was founded in 1999.", "Acme moved in 2004.", DateRule::Apart);
    }

    #[test]
    fn own_dates_are_for_the_judge() {
        let dated = |slug: &str, text: &str, day| {
            let date = Some(StatementDate { day, from: StatementDateOrigin::Page });
            super::super::Statement { date, ..passage(slug, 0, text) }
        };
        let a = dated("a", "on 2019-01-01", date(2019, 1, 1));
        let b = dated("b", "on 2024-01-01", date(2024, 1, 1));
        let pair = Pair::new(PairKind::CrossPage, a.clone(), b, 0.0);
        assert_eq!(DateRule::of(&pair), DateRule::OwnDates);
        let pair = Pair::new(PairKind::CrossPage, a, passage("b", 0, "on 2024-01-01"), 0.0);
        assert_eq!(DateRule::of(&pair), DateRule::Apart);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(?s).{0,60}", number in "[0-9/ -]{0,14}") {
            for mention in mentions(&format!("{text} in {number} {text}")) {
                prop_assert!(mention.window.from <= mention.window.until);
            }
        }

        #[test]
        fn distance_has_no_direction(a in 0..4000_i32, b in 0..4000_i32, wide in 0..400_i32) {
            let start = date(2015, 1, 1);
            let at = |days: i32| start.saturating_add(jiff::Span::new().days(days));
            let one = DateWindow { from: at(a), until: at(a + wide) };
            let other = DateWindow { from: at(b), until: at(b) };
            prop_assert_eq!(days_between(&one, &other), days_between(&other, &one));
        }
    }
}
