//! Scores: decimal text to a float, exactly.

const POWERS: [f64; 20] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19,
];

/// A double, as trec_eval 10 keeps it; none if it is not finite.
#[inline(always)]
pub(super) fn parse_score(text: &str) -> Option<f64> {
    let score: f64 = plain(text.as_bytes()).or_else(|| text.parse().ok())?;
    score.is_finite().then_some(score)
}

/// Digits with at most one point, fifteen at most: the digits and the power of ten are doubles
/// exactly, so that one division rounds as it must (Clinger, PLDI 1990).
fn plain(text: &[u8]) -> Option<f64> {
    let (is_negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let (mut mantissa, mut point) = (0u64, None);
    for (at, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => mantissa = mantissa * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(at),
            _ => return None,
        }
    }
    let places = match point {
        Some(_) if digits.len() == 1 => return None,
        Some(at) => digits.len() - at - 1,
        None if digits.len() > 15 => return None,
        None => 0,
    };
    let size = mantissa as f64 / POWERS[places];
    Some(if is_negative { -size } else { size })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str) {
        let expected = text.parse::<f64>().ok().filter(|value| value.is_finite());
        assert_eq!(parse_score(text), expected, "{text}");
    }

    #[test]
    fn as_the_standard_library() {
        for text in [
            "",
            "-",
            ".",
            "-.",
            "1.",
            ".5",
            "-.5",
            "1.2.3",
            "+1",
            "1e5",
            "0x1",
            "-0",
            "nan",
            "inf",
            "123456789012345",
            "1234567890123456",
            "99999999999999999999",
            "0.000000000000001",
            "12.033000",
            "1e39",
            "1e309",
            "-3.4e38",
        ] {
            check(text);
        }
    }

    proptest! {
        #[test]
        fn as_the_standard_library_anywhere(text in "-?[0-9]{0,12}\\.?[0-9]{0,8}") {
            check(&text);
        }
    }
}
