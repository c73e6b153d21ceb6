//! Trends: a measure run by run, with its interval as a band and its thresholds as lines.

use maud::{Markup, html};

use super::plot::{label, line, px, svg};
use crate::part::Tone;

/// A measure in one run or on one day.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TrendPoint {
    /// When, for readers.
    pub(crate) when: String,
    /// Nothing if it was not measured, which interrupts the line.
    pub(crate) value: Option<f64>,
    pub(crate) interval: Option<[f64; 2]>,
    pub(crate) tone: Tone,
}

/// A line that values are compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ThresholdLine<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: f64,
    /// Whether passing it is an alert, and not only a missed target.
    pub(crate) is_alert: bool,
}

/// The unit of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum AxisUnit {
    #[default]
    Share,
    Milliseconds,
    Score,
}

impl AxisUnit {
    pub(crate) fn of(word: &str) -> Self {
        match word {
            "milliseconds" => Self::Milliseconds,
            "score" => Self::Score,
            _ => Self::Share,
        }
    }

    /// A value for readers.
    pub(crate) fn shown(self, value: f64) -> String {
        match self {
            Self::Share => format!("{:.1}%", value * 100.0),
            Self::Milliseconds => format!("{value:.0} ms"),
            Self::Score => format!("{value:.3}"),
        }
    }
}

/// A trend to draw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trend<'a> {
    /// What is measured, for the text alternative.
    pub(crate) what: &'a str,
    pub(crate) unit: AxisUnit,
    pub(crate) points: &'a [TrendPoint],
    pub(crate) thresholds: &'a [ThresholdLine<'a>],
}

/// The area of a drawing, in its own units.
#[derive(Debug, Clone, Copy)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    low: f64,
    high: f64,
    points: usize,
}

impl Area {
    fn x(&self, at: usize) -> f64 {
        let steps = self.points.saturating_sub(1).max(1) as f64;
        let from = if self.points == 1 { 0.5 } else { at as f64 / steps };
        self.left + from * (self.right - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.bottom - share * (self.bottom - self.top)
    }
}

/// A trend in one cell of a table.
pub(crate) fn sparkline(trend: &Trend<'_>) -> Markup {
    let (width, height) = (150.0, 32.0);
    let Some((low, high)) = range(trend) else { return html! { span.dim { "no trend yet" } } };
    let points = trend.points.len();
    let area =
        Area { left: 4.0, top: 4.0, right: width - 4.0, bottom: height - 4.0, low, high, points };
    svg(
        "spark",
        width,
        height,
        &words(trend),
        &html! {
            (bands(trend.points, &area))
            @for threshold in trend.thresholds.iter().filter(|one| one.is_alert) {
                (line("limit", [0.0, area.y(threshold.value), width, area.y(threshold.value)]))
            }
            (curves(trend.points, &area))
            @if let Some((at, last)) = trend.points.iter().enumerate().rfind(|(_, point)| point.value.is_some()) {
                (mark(last, area.x(at), area.y(last.value.unwrap_or_default())))
            }
        },
    )
}

/// A trend with axes; every point says when and how much.
pub(crate) fn plot(trend: &Trend<'_>) -> Markup {
    let (width, height) = (640.0, 190.0);
    let Some((low, high)) = range(trend) else {
        return html! { p.dim { "Nothing was measured yet." } };
    };
    let points = trend.points.len();
    let area = Area {
        left: 66.0,
        top: 12.0,
        right: width - 12.0,
        bottom: height - 26.0,
        low,
        high,
        points,
    };
    let ticks = [low, (low + high) / 2.0, high];
    svg(
        "wide",
        width,
        height,
        &words(trend),
        &html! {
            @for tick in ticks {
                (line("axis", [area.left, area.y(tick), area.right, area.y(tick)]))
                (label("end", area.left - 6.0, area.y(tick) + 4.0, &trend.unit.shown(tick)))
            }
            (bands(trend.points, &area))
            @for threshold in trend.thresholds {
                @let y = area.y(threshold.value);
                (line(if threshold.is_alert { "limit" } else { "guide" }, [area.left, y, area.right, y]))
            }
            (curves(trend.points, &area))
            @for (at, point) in trend.points.iter().enumerate() {
                @if let Some(value) = point.value { (mark_with_title(trend, point, area.x(at), area.y(value))) }
            }
            @if let (Some(first), Some(last)) = (trend.points.first(), trend.points.last()) {
                (label("start", area.left, height - 6.0, &first.when))
                @if points > 1 { (label("end", area.right, height - 6.0, &last.when)) }
            }
        },
    )
}

/// The values that a drawing must hold, with some room; nothing without a value.
fn range(trend: &Trend<'_>) -> Option<(f64, f64)> {
    let measured = trend.points.iter().filter_map(|point| point.value);
    let bounds = trend.points.iter().filter_map(|point| point.interval).flatten();
    let limits = trend.thresholds.iter().map(|one| one.value);
    let all: Vec<f64> =
        measured.clone().chain(bounds).chain(limits).filter(|value| value.is_finite()).collect();
    measured.clone().next()?;
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let room = ((high - low) * 0.08).max(high.abs() * 0.02).max(1e-6);
    let (low, high) = ((low - room).max(0.0), high + room);
    Some(if trend.unit == AxisUnit::Share {
        (low, high.min(1.0).max(low + 1e-6))
    } else {
        (low, high)
    })
}

/// Neighbouring points that pass a test, with their places.
fn pieces(
    points: &[TrendPoint],
    has: impl Fn(&TrendPoint) -> bool,
) -> Vec<Vec<(usize, &TrendPoint)>> {
    let mut pieces: Vec<Vec<(usize, &TrendPoint)>> = vec![Vec::new()];
    for (at, point) in points.iter().enumerate() {
        match (has(point), pieces.last_mut()) {
            (true, Some(piece)) => piece.push((at, point)),
            _ => pieces.push(Vec::new()),
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

fn bands(points: &[TrendPoint], area: &Area) -> Markup {
    let pieces = pieces(points, |point| point.interval.is_some());
    let corner = |at: usize, value: f64| format!("{},{}", px(area.x(at)), px(area.y(value)));
    html! {
        @for piece in &pieces {
            @let ends: Vec<(usize, [f64; 2])> = piece.iter().filter_map(|(at, point)| Some((*at, point.interval?))).collect();
            @let upper = ends.iter().map(|(at, [_, high])| corner(*at, *high));
            @let lower = ends.iter().rev().map(|(at, [low, _])| corner(*at, *low));
            @if ends.len() > 1 { polygon.band points=(upper.chain(lower).collect::<Vec<_>>().join(" ")) {} }
            @else if let Some((at, [low, high])) = ends.first() {
                (line("spread-line", [area.x(*at), area.y(*low), area.x(*at), area.y(*high)]))
            }
        }
    }
}

fn curves(points: &[TrendPoint], area: &Area) -> Markup {
    let pieces = pieces(points, |point| point.value.is_some());
    let corner = |(at, point): &(usize, &TrendPoint)| {
        format!("{},{}", px(area.x(*at)), px(area.y(point.value.unwrap_or_default())))
    };
    html! {
        @for piece in pieces.iter().filter(|piece| piece.len() > 1) {
            polyline.curve points=(piece.iter().map(corner).collect::<Vec<_>>().join(" ")) {}
        }
    }
}

/// The mark of a verdict: a square for failures, a ring without a verdict, otherwise a dot.
fn mark(point: &TrendPoint, x: f64, y: f64) -> Markup {
    html! {
        @match point.tone {
            Tone::Bad => rect.mark.fail x=(px(x - 4.0)) y=(px(y - 4.0)) width="8" height="8" {},
            Tone::Warning => circle.mark.inconclusive cx=(px(x)) cy=(px(y)) r="4" {},
            _ => circle.mark cx=(px(x)) cy=(px(y)) r="3" {},
        }
    }
}

fn mark_with_title(trend: &Trend<'_>, point: &TrendPoint, x: f64, y: f64) -> Markup {
    html! { g { title { (words_of(trend.unit, point)) } (mark(point, x, y)) } }
}

fn words_of(unit: AxisUnit, point: &TrendPoint) -> String {
    let value = point.value.map_or_else(|| "not measured".to_owned(), |value| unit.shown(value));
    let interval =
        point.interval.map(|[low, high]| format!(" ({} to {})", unit.shown(low), unit.shown(high)));
    format!("{}: {value}{}", point.when, interval.unwrap_or_default())
}

/// The text alternative: how many points, the first, the last, the least and the thresholds.
fn words(trend: &Trend<'_>) -> String {
    let shown = |value: f64| trend.unit.shown(value);
    let values: Vec<f64> = trend.points.iter().filter_map(|point| point.value).collect();
    let (Some(first), Some(last)) = (values.first(), values.last()) else {
        return trend.what.to_owned();
    };
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut words = format!(
        "{}: {} values from {} to {}, between {} and {}",
        trend.what,
        values.len(),
        shown(*first),
        shown(*last),
        shown(least),
        shown(most)
    );
    for one in trend.thresholds {
        words.push_str(&format!("; {} {}", one.name, shown(one.value)));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(value: Option<f64>) -> TrendPoint {
        let interval = value.map(|value| [value - 0.1, (value + 0.1).min(1.0)]);
        TrendPoint { when: "2026-11-01".to_owned(), value, interval, tone: Tone::Good }
    }

    fn drawn(values: &[Option<f64>]) -> String {
        let points: Vec<TrendPoint> = values.iter().copied().map(point).collect();
        let thresholds = [ThresholdLine { name: "alert below", value: 0.8, is_alert: true }];
        let trend = Trend {
            what: "recall@5",
            unit: AxisUnit::Share,
            points: &points,
            thresholds: &thresholds,
        };
        sparkline(&trend).into_string() + &plot(&trend).into_string()
    }

    #[test]
    fn a_trend_has_a_line_a_band_a_threshold_and_words() {
        let svg = drawn(&[Some(0.9), Some(0.8), Some(0.7)]);
        assert!(svg.contains(
            "recall@5: 3 values from 90.0% to 70.0%, between 70.0% and 90.0%; alert below 80.0%"
        ));
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert_eq!(svg.matches("<polygon").count(), 2);
        assert_eq!(svg.matches("class=\"limit\"").count(), 2);
    }

    #[test]
    fn what_was_not_measured_interrupts_the_line() {
        assert_eq!(
            drawn(&[Some(0.9), Some(0.8), None, Some(0.7), Some(0.9)]).matches("<polyline").count(),
            4
        );
        assert!(drawn(&[None]).contains("no trend yet"));
        assert!(drawn(&[]).contains("Nothing was measured"));
        let one = drawn(&[Some(0.9)]);
        assert!(!one.contains("<polyline") && !one.contains("NaN"), "{one}");
    }

    #[test]
    fn values_have_units() {
        assert_eq!(AxisUnit::of("share").shown(0.5), "50.0%");
        assert_eq!(AxisUnit::of("milliseconds").shown(1500.4), "1500 ms");
        assert_eq!(AxisUnit::of("score").shown(0.12345), "0.123");
    }
}
