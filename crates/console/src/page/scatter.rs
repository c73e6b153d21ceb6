//! Scatter plots of pairs: before across, after up.

use gbrain_core::report::number::ms;
use maud::{Markup, html};

use crate::chart::plot::{dot, label, line, svg};

/// Maximum number of dots; the largest changes come first.
const DOTS: usize = 1_000;
/// Range of latencies, in milliseconds, with distinct positions.
const DRAWABLE: (f64, f64) = (0.01, 1e12);
const SIZE: f64 = 220.0;
const LEFT: f64 = 44.0;

/// What the axes measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axes {
    /// Logarithmic, with a line for twice as long; longer is worse.
    Milliseconds,
    /// Linear; lower is worse.
    Values,
}

/// The range of an axis.
struct Axis {
    low: f64,
    high: f64,
    kind: Axes,
}

impl Axis {
    fn of(points: &[(f64, f64)], kind: Axes) -> Self {
        let all = || points.iter().flat_map(|(a, b)| [*a, *b]);
        let (low, high) = (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max));
        match kind {
            Axes::Milliseconds => {
                Self { low: (low / 1.3).log10(), high: (high * 1.3).log10(), kind }
            }
            Axes::Values => Self { low: low.min(0.0), high: high.max(1.0), kind },
        }
    }

    /// The position of a value, from 0 to 1.
    fn at(&self, value: f64) -> f64 {
        let value = if self.kind == Axes::Milliseconds { value.log10() } else { value };
        (value - self.low) / (self.high - self.low)
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.at(value) * SIZE
    }

    fn y(&self, value: f64) -> f64 {
        (1.0 - self.at(value)) * SIZE
    }

    /// A few round values within the axis.
    fn ticks(&self) -> Vec<f64> {
        if self.kind == Axes::Values {
            return [0.0, 0.25, 0.5, 0.75, 1.0]
                .map(|share| self.low + share * (self.high - self.low))
                .to_vec();
        }
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        let steps: &[f64] = if self.high - self.low > 1.4 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all = decades.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        all.filter(|value| (0.0..=1.0).contains(&self.at(*value))).collect()
    }

    fn name(&self, value: f64) -> String {
        match self.kind {
            Axes::Milliseconds => ms(value).replace(".0ms", "ms"),
            Axes::Values => format!("{}", (value * 100.0).round() / 100.0),
        }
    }
}

/// The plot; `None` without points.
pub(crate) fn scatter(points: &[(f64, f64)], kind: Axes, words: &str) -> Option<Markup> {
    let drawable = |value: f64| match kind {
        Axes::Milliseconds => value.clamp(DRAWABLE.0, DRAWABLE.1),
        Axes::Values => value,
    };
    let finite = points.iter().filter(|(a, b)| a.is_finite() && b.is_finite());
    let mut points: Vec<(f64, f64)> = finite.map(|(a, b)| (drawable(*a), drawable(*b))).collect();
    if points.is_empty() {
        return None;
    }
    let moved = |(then, now): &(f64, f64)| match kind {
        Axes::Milliseconds => (now / then).ln().abs(),
        Axes::Values => (now - then).abs(),
    };
    points.sort_by(|a, b| moved(b).total_cmp(&moved(a)));
    let all = points.len();
    points.truncate(DOTS);
    let axis = Axis::of(&points, kind);
    let left =
        if all > DOTS { format!("; {} more are not drawn", all - DOTS) } else { String::new() };
    Some(svg(
        "",
        LEFT + SIZE + 20.0,
        SIZE + 20.0,
        &format!("{words}{left}"),
        &drawn(&points, &axis),
    ))
}

fn drawn(points: &[(f64, f64)], axis: &Axis) -> Markup {
    let (low, high) = match axis.kind {
        Axes::Milliseconds => (10f64.powf(axis.low), 10f64.powf(axis.high)),
        Axes::Values => (axis.low, axis.high),
    };
    let is_log = axis.kind == Axes::Milliseconds;
    html! {
        (line("axis", [LEFT, SIZE, LEFT + SIZE, SIZE]))
        (line("axis", [LEFT, 0.0, LEFT, SIZE]))
        @for tick in axis.ticks() {
            (label("middle", axis.x(tick), SIZE + 15.0, &axis.name(tick)))
            (label("end", LEFT - 6.0, axis.y(tick) + 4.0, &axis.name(tick)))
        }
        (line("guide", [axis.x(low), axis.y(low), axis.x(high), axis.y(high)]))
        @if is_log && high > 2.0 * low {
            (line("guide", [axis.x(low), axis.y(2.0 * low), axis.x(high / 2.0), axis.y(high)]))
        }
        @for (then, now) in points {
            @let is_hot = if is_log { *now > 2.0 * then } else { now < then };
            (dot(if is_hot { "dot hot" } else { "dot" }, axis.x(*then), axis.y(*now), 3.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_pair_is_drawn_with_few_ticks() {
        for point in [(f64::MAX, 5e-324), (5e-324, f64::MAX), (1.0, 1.0)] {
            let drawing = scatter(&[point], Axes::Milliseconds, "").unwrap().into_string();
            assert!(drawing.len() < 10_000 && !drawing.contains("NaN"), "{drawing}");
        }
        let drawing = scatter(&[(0.5, 0.4), (-1.0, 2.0)], Axes::Values, "").unwrap().into_string();
        assert!(drawing.contains("dot hot") && !drawing.contains("NaN"), "{drawing}");
        assert!(scatter(&[], Axes::Values, "").is_none());
        assert!(scatter(&[(f64::NAN, 1.0)], Axes::Values, "").is_none());
    }
}
