//! Durations as users type them: `90s`, `15m`, `12h`, `7d`.

use jiff::SignedDuration;

/// A duration such as `250ms`, `90s`, `15m`, `12h`, `7d` or `2w`.
pub fn duration(text: &str) -> Result<SignedDuration, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let expected = || format!("{text:?} is no duration; write 90s, 15m, 12h, 7d or 2w");
    let number: i64 = digits.trim().parse().map_err(|_| expected())?;
    if number < 0 {
        return Err(expected());
    }
    let seconds = match text[digits.len()..].trim() {
        "ms" => return Ok(SignedDuration::from_millis(number)),
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return Err(expected()),
    };
    number.checked_mul(seconds).map(SignedDuration::from_secs).ok_or_else(expected)
}

/// The same duration in the largest unit that expresses it exactly.
pub fn format_duration(time: SignedDuration) -> String {
    let seconds = time.as_secs();
    if time.subsec_nanos() != 0 {
        return format!("{}ms", time.as_millis());
    }
    let units = [(604_800, "w"), (86_400, "d"), (3_600, "h"), (60, "m")];
    let whole = units.into_iter().find(|(unit, _)| seconds > 0 && seconds % unit == 0);
    whole.map_or_else(|| format!("{seconds}s"), |(unit, name)| format!("{}{name}", seconds / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_written() {
        let check = |text: &str, expected: &str| {
            assert_eq!(format_duration(duration(text).unwrap()), expected)
        };
        check("90s", "90s");
        check("120s", "2m");
        check("7 d", "1w");
        check("36h", "36h");
        check("250ms", "250ms");
        check("0s", "0s");
        for bad in ["", "5", "-1s", "-5ms", "1y", "m", "1.5h", "99999999999999999w"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
