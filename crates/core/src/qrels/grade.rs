//! Grades as text.
//!
//! trec_eval reads a grade with `atol`, which stops at the first character that is no digit: `0.5` is
//! 0 and `1e2` is 1. Such a grade would count differently there and here, so it is refused; `1.0` is 1
//! for both.

use super::{QrelsError, QrelsLocation};

/// The grade that a text spells.
pub(super) fn whole_grade(text: &str, place: QrelsLocation, doc: &str) -> Result<f64, QrelsError> {
    let grade = text.parse::<f64>().ok().filter(|grade| grade.is_finite());
    let Some(grade) = grade else {
        return Err(QrelsError::BadGrade { place, doc: doc.to_owned(), grade: text.to_owned() });
    };
    if is_whole(text) {
        return Ok(grade);
    }
    let (doc, grade) = (doc.to_owned(), text.to_owned());
    Err(QrelsError::FractionalGrade { place, doc, grade, read: atol(text) })
}

/// Digits, after which there may be a point and zeros.
fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = !whole.is_empty() && whole.bytes().all(|byte| byte.is_ascii_digit());
    is_digits && rest.bytes().all(|byte| byte == b'0')
}

/// The digits before anything else, with their sign.
fn atol(text: &str) -> i64 {
    let end = text
        .bytes()
        .enumerate()
        .position(|(at, byte)| !(byte.is_ascii_digit() || at == 0 && matches!(byte, b'+' | b'-')));
    text[..end.unwrap_or(text.len())].parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_grades_are_read_and_others_are_refused() {
        let read = |text: &str| whole_grade(text, QrelsLocation::Line(1), "d");
        for (text, expected) in [("2", 2.0), ("-1", -1.0), ("+1", 1.0), ("1.0", 1.0), ("3.", 3.0)] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
        for (text, trec_eval) in [("0.5", 0), ("1.7", 1), ("-0.5", 0), ("1e2", 1), (".5", 0)] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(&format!("would read it as {trec_eval}:")), "{text}: {error}");
        }
        for text in ["nan", "inf", "x", ""] {
            assert!(matches!(read(text), Err(QrelsError::BadGrade { .. })), "{text}");
        }
    }
}
