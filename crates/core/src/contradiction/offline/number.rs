//! Conflicts about quantities and times.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::contradiction::date::{Mention, ONCE};
use crate::contradiction::verdict::Severity;
use crate::page::date::month_of;

use super::reading::{Denial, Reading};
use super::slot::{faces_another_way, shares_subject};
use super::words::WORDS;
use super::{ChangeMention, Conflict};

/// The unit of a quantity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unit {
    /// Money, by currency sign.
    Money(char),
    Percent,
    /// A time of day.
    Clock,
    /// A day of a month, or of the week.
    Day,
    /// Counted things, by the stem of the noun; empty for a bare number.
    Things(String),
}

/// A quantity in a sentence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quantity {
    pub(super) value: f64,
    pub(super) unit: Unit,
    /// Whether it is an approximation.
    pub(super) is_rough: bool,
    /// Whether it is spelled out.
    pub(super) is_word: bool,
    /// Byte range in the sentence.
    pub(super) at: Range<usize>,
}

impl Quantity {
    /// Whether it has a unit or a noun.
    pub(super) fn is_named(&self) -> bool {
        !matches!(&self.unit, Unit::Things(noun) if noun.is_empty())
    }
}

static QUANTITY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)
        (?P<rough>\b(?:about|around|roughly|approximately|nearly|almost|over|under|below|above|up\ to|more\ than|less\ than|at\ least|at\ most|some)\s+|~)?
        (?:
          (?P<clock>\b\d{1,2}:\d\d(?:\s*[ap]m)?)\b
        | (?P<sign>[$€£¥])\s?(?P<money>\d[\d,]*(?:\.\d+)?)\s?(?P<scale>k|m|mm|bn|b|thousand|million|billion)?\b
        | \b(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?\s(?P<day>\d{1,2})(?:st|nd|rd|th)?\b
        | \b(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\b
        | \b(?P<number>\d[\d,]*(?:\.\d+)?)(?P<short>k|m)?(?P<percent>\s?%|\s+percent\b)?
        | \b(?P<word>two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred)\b
        )",
    )
    .expect("our patterns are valid")
});

/// The quantities of a sentence that are not part of a date.
pub(super) fn quantities(text: &str, times: &[Mention]) -> Vec<Quantity> {
    let is_free = |at: &Range<usize>| {
        !times.iter().any(|time| time.at.start < at.end && at.start < time.at.end)
    };
    let found = QUANTITY.captures_iter(text).filter_map(|captures| {
        let group = |name: &str| captures.name(name).map(|found| found.as_str());
        let whole = captures.get(0)?;
        let start = captures.name("rough").map_or(whole.start(), |rough| rough.end());
        let at = start..whole.end();
        let (value, unit) = if let Some(clock) = group("clock") {
            (minutes(clock)?, Unit::Clock)
        } else if let Some(sign) = group("sign") {
            let scale = scale(group("scale").unwrap_or_default());
            (number(group("money")?)? * scale, Unit::Money(sign.chars().next()?))
        } else if let Some(month) = group("month") {
            (f64::from(month_of(month)?) * 100.0 + number(group("day")?)?, Unit::Day)
        } else if let Some(weekday) = group("weekday") {
            (weekday_number(weekday)?, Unit::Day)
        } else if let Some(word) = group("word") {
            // A spelled-out number needs a noun after it: "the two of them" is no count.
            let noun = noun_after(&text[at.end..]);
            (written_number(word)?, Unit::Things(Some(noun).filter(|noun| !noun.is_empty())?))
        } else {
            let value = number(group("number")?)? * scale(group("short").unwrap_or_default());
            match group("percent") {
                Some(_) => (value, Unit::Percent),
                None if follows_letter(text, at.start) => return None,
                None => (value, Unit::Things(noun_after(&text[at.end..]))),
            }
        };
        let [is_rough, is_word] = ["rough", "word"].map(|name| captures.name(name).is_some());
        Some(Quantity { value, unit, is_rough, is_word, at })
    });
    found.filter(|quantity| is_free(&quantity.at)).collect()
}

/// A digit after a letter or a hyphen is part of a name.
fn follows_letter(text: &str, at: usize) -> bool {
    text[..at]
        .chars()
        .next_back()
        .is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '#' | '.'))
}

fn number(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok()
}

/// The value of a spelled-out number.
fn written_number(word: &str) -> Option<f64> {
    const WORDS: &[(&str, f64)] = &[
        ("two", 2.0),
        ("three", 3.0),
        ("four", 4.0),
        ("five", 5.0),
        ("six", 6.0),
        ("seven", 7.0),
        ("eight", 8.0),
        ("nine", 9.0),
        ("ten", 10.0),
        ("eleven", 11.0),
        ("twelve", 12.0),
        ("twenty", 20.0),
        ("thirty", 30.0),
        ("forty", 40.0),
        ("fifty", 50.0),
        ("hundred", 100.0),
    ];
    let word = word.to_ascii_lowercase();
    WORDS.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
}

fn scale(word: &str) -> f64 {
    match word.to_ascii_lowercase().as_str() {
        "k" | "thousand" => 1e3,
        "m" | "mm" | "million" => 1e6,
        "b" | "bn" | "billion" => 1e9,
        _ => 1.0,
    }
}

fn minutes(clock: &str) -> Option<f64> {
    let is_afternoon = clock.to_ascii_lowercase().contains("pm");
    let digits = clock.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c.is_whitespace());
    let (hours, minutes) = digits.split_once(':')?;
    let hours = number(hours)? + if is_afternoon { 12.0 } else { 0.0 };
    Some(hours * 60.0 + number(minutes)?)
}

/// Weekdays are numbered from 0, below the days of months, which start at 101.
fn weekday_number(name: &str) -> Option<f64> {
    const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let name = name.to_ascii_lowercase();
    DAYS.iter().position(|day| name.starts_with(day)).map(|place| place as f64)
}

/// The stem of the counted noun.
fn noun_after(rest: &str) -> String {
    let first = rest.split_whitespace().next().unwrap_or_default();
    if !rest.starts_with(' ') || !first.starts_with(char::is_lowercase) {
        return String::new();
    }
    let mut noun = String::new();
    crate::text::analyse(first, &mut |token| {
        if noun.is_empty() && token.kind == crate::text::TokenKind::Word {
            noun = WORDS.meaning(token.stem.to_owned());
        }
    });
    noun
}

/// Conflict: different quantities for the same subject.
pub(super) fn quantity(one: &Reading, other: &Reading) -> Option<Conflict> {
    if one.denial != Denial::None || other.denial != Denial::None || faces_another_way(one, other) {
        return None;
    }
    one.quantities.iter().find_map(|mine| {
        let yours = the_only(other, &mine.unit, one)?;
        let is_alone = the_only(one, &yours.unit, other).is_some_and(|again| again == mine);
        // Two dogs and three dogs may be different dogs: spelled-out counts need a named or
        // definite subject.
        let is_known = one.names.intersection(&other.names).count() > 0
            || one.is_definite() && other.is_definite()
            || !mine.is_word && !yours.is_word;
        (is_alone && is_known && differ(mine, yours) && shares_subject(one, other)).then(|| {
            let [low, high] = if mine.value <= yours.value { [mine, yours] } else { [yours, mine] };
            let axis = format!("{}: {} or {}", unit_name(&mine.unit), shown(low), shown(high));
            let change = if one.is_of_another_time(other) {
                ChangeMention::DifferentTimes
            } else {
                ChangeMention::None
            };
            let severity = match mine.unit {
                Unit::Money(_) | Unit::Percent | Unit::Day => Severity::High,
                Unit::Clock | Unit::Things(_) => Severity::Medium,
            };
            Conflict { axis, severity, confidence: 0.8, change }
        })
    })
}

/// The only quantity of a sentence in a unit. For counted things, the noun may be elsewhere in the
/// sentence.
fn the_only<'r>(reading: &'r Reading, unit: &Unit, asking: &Reading) -> Option<&'r Quantity> {
    let fits = |quantity: &&Quantity| match (&quantity.unit, unit) {
        (Unit::Things(mine), Unit::Things(yours)) => {
            mine == yours
                || reading.content.contains(yours) && asking.content.contains(mine)
                || !yours.is_empty() && reading.content.contains(yours)
                || !mine.is_empty() && asking.content.contains(mine)
        }
        (mine, yours) => mine == yours,
    };
    let mut found = reading.quantities.iter().filter(fits);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// Whether two quantities differ; approximations must be far apart, and money may be rounded.
fn differ(one: &Quantity, other: &Quantity) -> bool {
    let (low, high) = (one.value.min(other.value), one.value.max(other.value));
    if one.unit == Unit::Day {
        // A weekday and a day of a month may be the same day.
        return low != high && (low < 7.0) == (high < 7.0);
    }
    let slack = match (one.is_rough || other.is_rough, &one.unit) {
        (true, _) => 1.5,
        (false, Unit::Money(_)) => 1.05,
        (false, _) => 1.0,
    };
    high > low * slack
}

fn unit_name(unit: &Unit) -> &'static str {
    match unit {
        Unit::Money(_) => "amount",
        Unit::Percent => "share",
        Unit::Clock => "time of day",
        Unit::Day => "day",
        Unit::Things(_) => "number",
    }
}

fn shown(quantity: &Quantity) -> String {
    const DAYS: [&str; 7] =
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    let value = quantity.value;
    match &quantity.unit {
        Unit::Money(sign) => format!("{sign}{value}"),
        Unit::Percent => format!("{value}%"),
        Unit::Clock => format!("{}:{:02}", (value / 60.0).floor(), value % 60.0),
        Unit::Day => match DAYS.get(value as usize) {
            Some(day) => (*day).to_owned(),
            None => format!("{}-{}", (value / 100.0).floor(), value % 100.0),
        },
        Unit::Things(noun) => format!("{value} {noun}").trim_end().to_owned(),
    }
}

/// Conflict: different times of a unique event.
pub(super) fn time(one: &Reading, other: &Reading) -> Option<Conflict> {
    if one.denial != Denial::None || other.denial != Denial::None || !one.is_of_another_time(other)
    {
        return None;
    }
    let is_once = ONCE.iter().any(|word| one.says(word) && other.says(word));
    if !is_once || !shares_subject(one, other) || one.times.len() > 1 || other.times.len() > 1 {
        return None;
    }
    let mut days = [one.times.first()?.from, other.times.first()?.from];
    days.sort_unstable();
    let axis = format!("when: {} or {}", days[0], days[1]);
    Some(Conflict { axis, severity: Severity::High, confidence: 0.8, change: ChangeMention::None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(f64, Unit)]) {
        let found: Vec<_> =
            quantities(text, &[]).into_iter().map(|one| (one.value, one.unit)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn quantities_by_example() {
        let things = |noun: &str| Unit::Things(noun.to_owned());
        check("raised $2.5M and €300k", &[(2.5e6, Unit::Money('$')), (3e5, Unit::Money('€'))]);
        check("12 percent, 7%", &[(12.0, Unit::Percent), (7.0, Unit::Percent)]);
        check("at 14:15 or 2:15 pm", &[(855.0, Unit::Clock), (855.0, Unit::Clock)]);
        check("1,200 berths", &[(1200.0, things("berth"))]);
        check("the code is 4411.", &[(4411.0, things(""))]);
        check("on March 5th, a Friday", &[(305.0, Unit::Day), (4.0, Unit::Day)]);
        check("H2O and ABC-12", &[]);
        check("has Two children", &[(2.0, things("children"))]);
        check("the two of them", &[]);
    }
}
