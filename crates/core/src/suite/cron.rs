//! Cron schedules: minute, hour, day of month, month, day of week, in UTC.
//!
//! As in cron, a day matches if either the day of month or the day of week matches when both are
//! restricted. Names of days and months are case-insensitive; Sunday is 0 or 7. Not supported:
//! seconds, years, `L`, `W`, `#` and time zones.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// A parsed cron schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    text: String,
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    is_any_day: bool,
    is_any_weekday: bool,
}

/// Why a text is not a valid schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid schedule {text:?}: {reason}; write five fields, such as \"0 2 * * 0\"")]
pub struct CronError {
    pub text: String,
    pub reason: String,
}

const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Upper bound of the time between two firings. The 29th of February falls on a given weekday every
/// 28 years, or every 40 across a century without a leap day.
const FURTHEST_DAYS: usize = 366 * 41;

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, CronError> {
        let wrong = |reason: String| CronError { text: text.to_owned(), reason };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(wrong(format!("it has {} fields", fields.len())));
        };
        let sundays = field(weekday, 0, 7, &DAYS).map_err(wrong)?;
        let cron = Self {
            text: fields.join(" "),
            minutes: field(minute, 0, 59, &[]).map_err(wrong)?,
            hours: field(hour, 0, 23, &[]).map_err(wrong)?,
            days: field(day, 1, 31, &[]).map_err(wrong)?,
            months: field(month, 1, 12, &MONTHS).map_err(wrong)?,
            weekdays: (sundays | sundays >> 7) & 0x7f,
            is_any_day: day.starts_with('*'),
            is_any_weekday: weekday.starts_with('*'),
        };
        match cron.after(Timestamp::UNIX_EPOCH) {
            Some(_) => Ok(cron),
            None => Err(wrong("there is no such day".to_owned())),
        }
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Cron {
    /// The first firing time after `moment`.
    pub fn after(&self, moment: Timestamp) -> Option<Timestamp> {
        let start = minute_of(moment).checked_add(1.minute()).ok()?;
        let mut day = start.date();
        for _ in 0..FURTHEST_DAYS {
            if self.fires_on(day) {
                let from = if day == start.date() { start } else { day.at(0, 0, 0, 0) };
                if let Some((hour, minute)) = self.time_from(from) {
                    return at(day, hour, minute);
                }
            }
            day = day.tomorrow().ok()?;
        }
        None
    }

    /// The last firing time up to and including `moment`.
    pub fn until(&self, moment: Timestamp) -> Option<Timestamp> {
        let start = minute_of(moment);
        let mut day = start.date();
        for _ in 0..FURTHEST_DAYS {
            if self.fires_on(day) {
                let to = if day == start.date() { start } else { day.at(23, 59, 0, 0) };
                if let Some((hour, minute)) = self.time_until(to) {
                    return at(day, hour, minute);
                }
            }
            day = day.yesterday().ok()?;
        }
        None
    }

    fn fires_on(&self, day: Date) -> bool {
        let is_day = has(self.days, day.day() as u32);
        let is_weekday = has(self.weekdays, day.weekday().to_sunday_zero_offset() as u32);
        let is_one = match (self.is_any_day, self.is_any_weekday) {
            (false, false) => is_day || is_weekday,
            _ => is_day && is_weekday,
        };
        has(self.months, day.month() as u32) && is_one
    }

    fn time_from(&self, from: DateTime) -> Option<(i8, i8)> {
        let times = (from.hour()..24).flat_map(|hour| (0..60).map(move |minute| (hour, minute)));
        times.into_iter().find(|time| *time >= (from.hour(), from.minute()) && self.is_time(*time))
    }

    fn time_until(&self, to: DateTime) -> Option<(i8, i8)> {
        let times = (0..=to.hour()).rev().flat_map(|hour| (0..60).rev().map(move |m| (hour, m)));
        times.into_iter().find(|time| *time <= (to.hour(), to.minute()) && self.is_time(*time))
    }

    fn is_time(&self, (hour, minute): (i8, i8)) -> bool {
        has(self.hours, hour as u32) && has(self.minutes, minute as u32)
    }
}

fn has(set: u64, at: u32) -> bool {
    set >> at & 1 == 1
}

fn minute_of(moment: Timestamp) -> DateTime {
    let time = moment.to_zoned(TimeZone::UTC).datetime();
    time.date().at(time.hour(), time.minute(), 0, 0)
}

fn at(day: Date, hour: i8, minute: i8) -> Option<Timestamp> {
    Some(day.at(hour, minute, 0, 0).to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// Parses a field (lists of values, ranges and steps) into a bit set.
fn field(text: &str, low: u32, high: u32, names: &[&str]) -> Result<u64, String> {
    let mut set = 0;
    for item in text.split(',') {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => {
                (range, step.parse().ok().filter(|step| (1..=high).contains(step)))
            }
            None => (item, Some(1)),
        };
        let step: u32 = step.ok_or_else(|| format!("{item:?} has no step"))?;
        let one = |text: &str| value(text, low, high, names).ok_or_else(|| format!("{item:?}"));
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (low, high),
            Some((from, to)) => (one(from)?, one(to)?),
            None if item.contains('/') => (one(range)?, high),
            None => (one(range)?, one(range)?),
        };
        if from > to {
            return Err(format!("{item:?} goes backwards"));
        }
        (from..=to).step_by(step as usize).for_each(|at| set |= 1 << at);
    }
    Ok(set)
}

fn value(text: &str, low: u32, high: u32, names: &[&str]) -> Option<u32> {
    let named = names.iter().position(|name| name.eq_ignore_ascii_case(text));
    let named = named.map(|at| at as u32 + u32::from(names.len() == MONTHS.len()));
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| text.parse().ok()).flatten();
    named.or(number).filter(|at| (low..=high).contains(at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn moment(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[track_caller]
    fn check(cron: &str, from: &str, next: &str) {
        let cron: Cron = cron.parse().unwrap();
        assert_eq!(cron.after(moment(from)), Some(moment(next)), "{cron}");
        assert_eq!(cron.until(moment(next)), Some(moment(next)), "{cron}");
    }

    #[test]
    fn schedules_by_hand() {
        check("0 2 * * 0", "2026-11-17T00:00:00Z", "2026-11-22T02:00:00Z");
        check("0 2 * * SUN", "2026-11-22T01:59:59Z", "2026-11-22T02:00:00Z");
        check("0 2 * * 7", "2026-11-22T02:00:00Z", "2026-11-29T02:00:00Z");
        check("*/15 * * * *", "2026-11-17T10:14:59Z", "2026-11-17T10:15:00Z");
        check("5-59/20 9-17 * * mon-fri", "2026-11-20T17:50:00Z", "2026-11-23T09:05:00Z");
        check("0 0 1 jan,apr,jul,oct *", "2026-11-17T00:00:00Z", "2027-01-01T00:00:00Z");
        check("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z");
        check("0 0 13 * 5", "2026-11-14T00:00:00Z", "2026-11-20T00:00:00Z");
        check("30 4 1,15 * *", "2026-11-15T04:30:00Z", "2026-12-01T04:30:00Z");
        check("0 0 29 2 1", "2026-03-01T00:00:00Z", "2027-02-01T00:00:00Z");
    }

    #[test]
    fn the_last_time() {
        let cron: Cron = "0 2 * * 0".parse().unwrap();
        let until = |at: &str| cron.until(moment(at)).unwrap();
        assert_eq!(until("2026-11-22T01:59:59.999Z"), moment("2026-11-15T02:00:00Z"));
        assert_eq!(until("2026-11-22T02:00:00Z"), moment("2026-11-22T02:00:00Z"));
    }

    #[test]
    fn invalid_schedules_are_refused() {
        let wrong = |text: &str, reason: &str| {
            let error = text.parse::<Cron>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        };
        wrong("", "it has 0 fields");
        wrong("0 2 * *", "it has 4 fields");
        wrong("60 * * * *", "\"60\"");
        wrong("* * * * 8", "\"8\"");
        wrong("* * 0 * *", "\"0\"");
        wrong("*/0 * * * *", "has no step");
        wrong("5-1 * * * *", "goes backwards");
        wrong("+5 * * * *", "\"+5\"");
        wrong("0 0 30 2 *", "there is no such day");
        wrong("1,,2 * * * *", "\"\"");
    }

    proptest! {
        /// The next firing time is later, matches, and is the first that does.
        #[test]
        fn next_and_last_agree(
            minute in 0..60u32, hour in 0..24u32, day in 1..29u32, weekday in 0..7u32,
            shape in 0..4u8, from in 0..2_000_000_000i64,
        ) {
            let text = match shape {
                0 => format!("{minute} {hour} * * *"),
                1 => format!("{minute} {hour} {day} * *"),
                2 => format!("{minute} {hour} * * {weekday}"),
                _ => format!("{minute} */{} {day} * {weekday}", hour.max(1)),
            };
            let cron: Cron = text.parse().unwrap();
            let from = Timestamp::from_second(from).unwrap();
            let next = cron.after(from).unwrap();
            prop_assert!(next > from);
            prop_assert_eq!(cron.until(next), Some(next));
            let before = next - 1.second();
            prop_assert!(cron.until(before).is_none_or(|last| last <= from));
        }
    }
}
