//! Times as they are typed: an age, `today`, `yesterday`, a day, or an instant.

pub(in crate::commands) use gbrain_core::duration::duration;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// The forms that [`moment`] and [`day`] read.
const FORMS: &str =
    "today, yesterday, a day (2026-03-01), an age (7d, 12h) or a time (2026-03-01T12:00:00Z)";

/// Parses a moment: an age (7d ago), an instant such as 2026-03-01T12:00:00Z, or the beginning of a day in UTC.
pub(in crate::commands) fn moment(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let typed = text.trim();
    if let Ok(instant) = typed.parse::<Timestamp>() {
        return Ok(instant);
    }
    let today = now.to_zoned(TimeZone::UTC).date();
    let date = match typed.to_ascii_lowercase().as_str() {
        "today" => Some(today),
        "yesterday" => today.yesterday().ok(),
        _ => typed.parse::<Date>().ok(),
    };
    let too_far = || format!("{text:?} is too far in the past");
    if let Some(date) = date {
        let start = date.to_zoned(TimeZone::UTC).map_err(|_| too_far())?;
        return Ok(start.timestamp());
    }
    let age: SignedDuration =
        duration(typed).map_err(|_| format!("{text:?} is not a date: use {FORMS}"))?;
    now.checked_sub(age).map_err(|_| too_far())
}

/// Parses a day in UTC, in the forms of [`moment`].
pub(crate) fn day(text: &str, now: Timestamp) -> Result<Date, String> {
    Ok(moment(text, now)?.to_zoned(TimeZone::UTC).date())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_durations_before_now_or_instants() {
        let now: Timestamp = "2026-03-02T00:00:00Z".parse().unwrap();
        let check = |text: &str, expected: &str| {
            assert_eq!(moment(text, now).unwrap().to_string(), expected, "{text}");
        };
        check("1d", "2026-03-01T00:00:00Z");
        check("0d", "2026-03-02T00:00:00Z");
        check("90 m", "2026-03-01T22:30:00Z");
        check("250ms", "2026-03-01T23:59:59.75Z");
        check("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z");
        check("2026-01-01", "2026-01-01T00:00:00Z");
        check("today", "2026-03-02T00:00:00Z");
        check("Yesterday", "2026-03-01T00:00:00Z");
        for bad in ["", "d", "-1d", "1y", "one day", "9999999999999w", "NaN"] {
            assert!(moment(bad, now).is_err(), "{bad:?}");
        }
        let error = moment("soon", now).unwrap_err();
        assert!(error.contains("yesterday") && error.contains("2026-03-01"), "{error}");
        assert_eq!(day("yesterday", now).unwrap().to_string(), "2026-03-01");
        assert_eq!(day("7d", now).unwrap().to_string(), "2026-02-23");
    }
}
