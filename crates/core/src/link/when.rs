//! From when and until when a sentence says that something held.

use jiff::civil::Date;

use crate::page::date::{self, PeriodEdge};

/// The dates that a sentence states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct StatedDates {
    pub(super) since: Option<Date>,
    pub(super) until: Option<Date>,
    /// `in 2021`: when something happened that may or may not be a beginning.
    pub(super) on: Option<Date>,
}

/// Reads `since 2021`, `from 2019 to 2022`, `until March 2024`, `in 2019` and their like from
/// lower-case words.
pub(super) fn when(words: &[&str]) -> StatedDates {
    let mut found = StatedDates::default();
    let mut at = 0;
    while at < words.len() {
        let after = |edge| date_at(&words[at + 1..], edge);
        match words[at] {
            "since" | "starting" => {
                let after = after(PeriodEdge::Start);
                found.since = found.since.or(after.map(|(day, _)| day));
            }
            "until" | "till" | "through" => {
                let after = after(PeriodEdge::End);
                found.until = found.until.or(after.map(|(day, _)| day));
            }
            "in" | "on" => {
                let after = after(PeriodEdge::Start);
                found.on = found.on.or(after.map(|(day, _)| day));
            }
            "from" | "between" => {
                if let Some((since, used)) = after(PeriodEdge::Start)
                    && let Some(("to" | "until" | "till" | "through" | "and", rest)) =
                        words[at + 1 + used..].split_first().map(|(word, rest)| (*word, rest))
                    && let Some((until, _)) = date_at(rest, PeriodEdge::End)
                {
                    return StatedDates { since: Some(since), until: Some(until), on: found.on };
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// A date at the start of some words, and how many words it takes.
fn date_at(words: &[&str], edge: PeriodEdge) -> Option<(Date, usize)> {
    let skip = words
        .iter()
        .take(2)
        .take_while(|word| matches!(**word, "early" | "mid" | "late" | "the"))
        .count();
    let words = &words[skip..];
    (1..=words.len().min(3)).rev().find_map(|length| {
        let day = date::parse_coarse_date(&words[..length].join(" "), edge)?;
        date::is_plausible(day).then_some((day, skip + length))
    })
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn check(text: &str, since: Option<Date>, until: Option<Date>) {
        let words: Vec<&str> = text.split(' ').collect();
        let found = when(&words);
        assert_eq!((found.since, found.until), (since, until), "{text}");
    }

    #[test]
    fn dates_in_text_are_read() {
        check("works there since 2021", Some(date(2021, 1, 1)), None);
        check("since early march 2021 or so", Some(date(2021, 3, 1)), None);
        check("worked there from 2019 to 2022", Some(date(2019, 1, 1)), Some(date(2022, 12, 31)));
        check("until march 2024", None, Some(date(2024, 3, 31)));
        check(
            "since 2021-06-15 until 15 june 2022",
            Some(date(2021, 6, 15)),
            Some(date(2022, 6, 15)),
        );
        check("since then from afar", None, None);
        check("raised 2021 dollars from 2 people", None, None);
    }
}
