//! Amounts by day as bars.

use maud::{Markup, html};

use super::plot::{label, line, rect, svg};

/// An amount of one day; `part` of it is drawn on top in another class.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DayAmount {
    pub(crate) day: String,
    pub(crate) amount: f64,
    pub(crate) part: f64,
}

/// Bars by day. `limit` is a line, such as a budget.
pub(crate) fn bars(
    days: &[DayAmount],
    limit: Option<f64>,
    what: &str,
    shown: impl Fn(f64) -> String,
) -> Markup {
    let (width, height, foot, top) = (480.0, 130.0, 20.0, 16.0);
    let total = |day: &DayAmount| day.amount + day.part;
    let most = days.iter().map(total).fold(0.0, f64::max);
    let scale = most.max(limit.filter(|limit| *limit <= most * 4.0).unwrap_or(0.0)).max(1e-9);
    let step = width / days.len().max(1) as f64;
    let tall = |amount: f64| (height - foot - top) * amount / scale;
    let sum: f64 = days.iter().map(total).sum();
    let words = format!(
        "{what}, {} days: {} in all, at most {} a day",
        days.len(),
        shown(sum),
        shown(most)
    );
    svg(
        "wide",
        width,
        height,
        &words,
        &html! {
            @for (at, day) in days.iter().enumerate().filter(|(_, day)| total(day) > 0.0) {
                @let (x, wide) = (at as f64 * step + 0.5, (step - 1.5).clamp(0.8, 24.0));
                @let (below, above) = (tall(day.amount), tall(day.part));
                g {
                    title { (day.day) ": " (shown(total(day))) }
                    (rect("bar", [x, height - foot - below, wide, below]))
                    @if day.part > 0.0 { (rect("bar lost", [x, height - foot - below - above.max(2.0), wide, above.max(2.0)])) }
                }
            }
            (line("axis", [0.0, height - foot, width, height - foot]))
            (label("start", 0.0, 11.0, &format!("{} at most", shown(most))))
            @if let Some(limit) = limit.filter(|limit| *limit <= scale) {
                @let y = height - foot - tall(limit);
                (line("limit", [0.0, y, width, y]))
                (label("end", width, y - 4.0, &format!("budget {}", shown(limit))))
            }
            @if let (Some(first), Some(last)) = (days.first(), days.last()) {
                (label("start", 0.0, height - 5.0, &first.day))
                (label("end", width, height - 5.0, &last.day))
            }
        },
    )
}

/// The days from the first to the last, those without an amount too. Days are `2026-11-19`.
pub(crate) fn calendar(from: &str, to: &str) -> Vec<String> {
    /// A year and a day.
    const MOST: usize = 367;
    let mut days = Vec::new();
    let mut day = parsed(from);
    while let Some((year, month, date)) = day.filter(|_| days.len() < MOST) {
        let name = format!("{year:04}-{month:02}-{date:02}");
        let is_last = name.as_str() >= to;
        days.push(name);
        if is_last {
            break;
        }
        day = Some(next((year, month, date)));
    }
    days
}

fn parsed(day: &str) -> Option<(u32, u32, u32)> {
    let mut parts = day.split('-').map(str::parse);
    let (year, month, date) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    ((1..=12).contains(&month) && (1..=31).contains(&date)).then_some((year, month, date))
}

fn next((year, month, date): (u32, u32, u32)) -> (u32, u32, u32) {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    match (date < last, month < 12) {
        (true, _) => (year, month, date + 1),
        (false, true) => (year, month + 1, 1),
        (false, false) => (year + 1, 1, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calendar_has_every_day() {
        assert_eq!(
            calendar("2026-12-30", "2027-01-02"),
            ["2026-12-30", "2026-12-31", "2027-01-01", "2027-01-02"]
        );
        assert_eq!(calendar("2028-02-28", "2028-03-01").len(), 3);
        assert_eq!(calendar("2027-02-28", "2027-03-01").len(), 2);
        assert_eq!(calendar("x", "y"), Vec::<String>::new());
        assert_eq!(calendar("2020-01-01", "9999-01-01").len(), 367);
    }

    #[test]
    fn bars_have_words() {
        let days = [DayAmount { day: "2026-11-01".to_owned(), amount: 2.0, part: 1.0 }];
        let drawn = bars(&days, Some(5.0), "Captures", |amount| format!("{amount}")).into_string();
        assert!(
            drawn.contains("Captures, 1 days: 3 in all, at most 3 a day")
                && drawn.contains("budget 5"),
            "{drawn}"
        );
    }
}
