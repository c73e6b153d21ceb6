//! Times as they are typed: `7d` ago, or an instant.

pub(in crate::commands) use gbrain_core::duration::duration;
use jiff::Timestamp;

/// A moment: a duration before now, or an instant such as 2026-03-01T12:00:00Z, or a day in UTC.
pub(in crate::commands) fn moment(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    if let Ok(instant) = text.trim().parse::<Timestamp>() {
        return Ok(instant);
    }
    if let Ok(day) = text.trim().parse::<jiff::civil::Date>() {
        let zoned = day.to_zoned(jiff::tz::TimeZone::UTC).map_err(|error| error.to_string())?;
        return Ok(zoned.timestamp());
    }
    let ago = duration(text).map_err(|_| {
        format!("{text:?} is neither a duration (7d, 12h) nor an instant (2026-03-01T12:00:00Z)")
    })?;
    now.checked_sub(ago).map_err(|_| format!("{text:?} lies before the beginning of time"))
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
        for bad in ["", "d", "-1d", "1y", "one day", "9999999999999w", "NaN"] {
            assert!(moment(bad, now).is_err(), "{bad:?}");
        }
    }
}
