//! Weekly trends: a sustained drop requests a recalibration.

use jiff::civil::ISOWeekDate;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measure::SuiteMeasure;

/// The default number of drops in a row that request a recalibration.
pub(crate) const DROPS: usize = 3;

/// The value of a measure in one week.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeeklyValue {
    pub value: Option<f64>,
}

/// A measure that fell for several weeks in a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuiteFall")]
pub struct DecliningMeasure {
    /// Name of the measure.
    pub measure: SuiteMeasure,
    /// Values by week, oldest first.
    pub values: Vec<f64>,
}

/// The measures whose sustained drop requests a recalibration.
pub const WATCHED: [SuiteMeasure; 4] = [
    SuiteMeasure::RecallAt5,
    SuiteMeasure::RecallAt10,
    SuiteMeasure::PrecisionAt5,
    SuiteMeasure::PrecisionAt10,
];

/// Weekly values of some runs, oldest first and without gaps: the last value of each week, or none.
/// Weeks start on Monday, in UTC.
pub fn weeks(runs: &[(Timestamp, Option<f64>)]) -> Vec<WeeklyValue> {
    let week = |at: Timestamp| {
        let date = at.to_zoned(TimeZone::UTC).date();
        let day: ISOWeekDate = date.iso_week_date();
        date.saturating_sub(i64::from(day.weekday().to_monday_zero_offset()).days())
    };
    let mut sorted: Vec<_> = runs.to_vec();
    sorted.sort_by_key(|(at, _)| *at);
    let (Some((first, _)), Some((last, _))) = (sorted.first(), sorted.last()) else {
        return Vec::new();
    };
    let (mut monday, end) = (week(*first), week(*last));
    let mut weeks = Vec::new();
    while monday <= end {
        let own = sorted.iter().filter(|(at, _)| week(*at) == monday);
        weeks.push(WeeklyValue { value: own.filter_map(|(_, value)| *value).next_back() });
        monday = monday.saturating_add(7.days());
    }
    weeks
}

/// The sustained drop of a measure: each of the last weeks, oldest first, is below the week before.
/// A week without a value breaks the series.
pub fn sustained(
    measure: SuiteMeasure,
    weeks: &[WeeklyValue],
    drops: usize,
) -> Option<DecliningMeasure> {
    let last = weeks.len().checked_sub(drops + 1)?;
    let values: Option<Vec<f64>> = weeks[last..].iter().map(|week| week.value).collect();
    let values = values?;
    let falls = values.windows(2).all(|pair| pair[1] < pair[0]);
    (drops > 0 && falls).then_some(DecliningMeasure { measure, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[Option<f64>], expected: bool) {
        let weeks: Vec<WeeklyValue> =
            values.iter().map(|value| WeeklyValue { value: *value }).collect();
        let found = sustained(SuiteMeasure::RecallAt5, &weeks, DROPS);
        assert_eq!(found.is_some(), expected, "{values:?}");
    }

    #[test]
    fn one_run_a_week_and_no_gaps() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let runs = [
            (at("2026-03-15T02:00:00Z"), Some(0.9)),
            (at("2026-03-01T02:00:00Z"), Some(0.98)),
            (at("2026-03-08T02:00:00Z"), Some(0.97)),
            (at("2026-03-08T09:00:00Z"), Some(0.96)),
            (at("2026-03-08T10:00:00Z"), None),
            (at("2026-03-29T02:00:00Z"), Some(0.8)),
        ];
        let values: Vec<_> = weeks(&runs).iter().map(|week| week.value).collect();
        assert_eq!(values, [Some(0.98), Some(0.96), Some(0.9), None, Some(0.8)]);
        assert_eq!(weeks(&[]), []);
    }

    #[test]
    fn three_drops_in_a_row() {
        let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
        check(&some(&[0.98, 0.97, 0.96, 0.95]), true);
        check(&some(&[0.1, 0.98, 0.97, 0.96, 0.95]), true);
        check(&some(&[0.98, 0.97, 0.96]), false);
        check(&some(&[0.98, 0.97, 0.97, 0.95]), false);
        check(&some(&[0.98, 0.97, 0.96, 0.97]), false);
        check(&[Some(0.98), None, Some(0.96), Some(0.95)], false);
        check(&[], false);
    }
}
