//! Scatter plot of captured against current latency, one dot per row, with logarithmic axes.

use crate::replay::{ReplayedRow, RowComparison};
use crate::report::number::ms;
use crate::report::tally::compared;

use super::plot::{dot, figure, label, line, svg};

/// Maximum number of dots; the largest changes come first.
const DOTS: usize = 1_000;

/// Range of latencies, in milliseconds, with distinct positions; an unlimited axis would need a
/// tick for every power of ten.
const DRAWABLE: (f64, f64) = (0.01, 1e12);

/// A logarithmic axis over both latencies.
struct Axis {
    low: f64,
    high: f64,
}

const SIZE: f64 = 220.0;
const LEFT: f64 = 44.0;

impl Axis {
    fn of(points: &[(f64, f64)]) -> Self {
        let all = || points.iter().flat_map(|(a, b)| [*a, *b]);
        let (low, high) = (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max));
        Self { low: (low / 1.3).log10(), high: (high * 1.3).log10() }
    }

    /// The position of a latency, from 0 to 1.
    fn at(&self, value: f64) -> f64 {
        (value.log10() - self.low) / (self.high - self.low)
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.at(value) * SIZE
    }

    fn y(&self, value: f64) -> f64 {
        (1.0 - self.at(value)) * SIZE
    }

    /// A few round values within the axis.
    fn ticks(&self) -> Vec<f64> {
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        let steps: &[f64] = if self.high - self.low > 1.4 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all = decades.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        all.filter(|value| (0.0..=1.0).contains(&self.at(*value))).collect()
    }
}

/// The plot; empty if no row has both latencies.
pub(super) fn latencies(rows: &[ReplayedRow]) -> String {
    let drawable = |ms: f64| ms.clamp(DRAWABLE.0, DRAWABLE.1);
    let pair = |row: &RowComparison| Some((drawable(row.captured_ms?), drawable(row.current_ms)));
    let mut points: Vec<(f64, f64)> = compared(rows).filter_map(pair).collect();
    if points.is_empty() {
        return String::new();
    }
    let moved = |(then, now): &(f64, f64)| (now / then).ln().abs();
    points.sort_by(|a, b| moved(b).total_cmp(&moved(a)));
    let (all, over) = (points.len(), points.iter().filter(|(then, now)| *now > 2.0 * then).count());
    points.truncate(DOTS);
    let axis = Axis::of(&points);
    let words = format!("{all} rows, {over} of them over twice their captured latency");
    let drawing = svg("", LEFT + SIZE + 20.0, SIZE + 20.0, &words, &drawn(&points, &axis));
    let left =
        if all > DOTS { format!(" {} rows are not drawn.", all - DOTS) } else { String::new() };
    let caption = format!(
        "Across: captured. Up: now. Dashed: the same, and twice as long. Over twice: {over} of {all}.{left}"
    );
    figure("Latency, row by row", &drawing, &caption)
}

fn drawn(points: &[(f64, f64)], axis: &Axis) -> String {
    let mut body =
        line("axis", [LEFT, SIZE, LEFT + SIZE, SIZE]) + &line("axis", [LEFT, 0.0, LEFT, SIZE]);
    for tick in axis.ticks() {
        let text = ms(tick).replace(".0ms", "ms");
        body.push_str(&label("middle", axis.x(tick), SIZE + 15.0, &text));
        body.push_str(&label("end", LEFT - 6.0, axis.y(tick) + 4.0, &text));
    }
    let (low, high) = (10f64.powf(axis.low), 10f64.powf(axis.high));
    body.push_str(&line("guide", [axis.x(low), axis.y(low), axis.x(high), axis.y(high)]));
    if high > 2.0 * low {
        let twice = [axis.x(low), axis.y(2.0 * low), axis.x(high / 2.0), axis.y(high)];
        body.push_str(&line("guide", twice));
    }
    for (then, now) in points {
        let class = if *now > 2.0 * then { "dot hot" } else { "dot" };
        body.push_str(&dot(class, axis.x(*then), axis.y(*now), 3.0));
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::RowOutcome;
    use crate::report::cases::row;

    #[test]
    fn any_latency_is_drawn_with_few_ticks() {
        for (captured, now) in [(f64::MAX, 5e-324), (5e-324, f64::MAX), (1.0, 1.0)] {
            let mut row = row(1, "q", "a", "a", now);
            if let RowOutcome::Compared(compared) = &mut row.outcome {
                compared.captured_ms = Some(captured);
            }
            let drawing = latencies(&[row]);
            assert!(drawing.len() < 10_000 && !drawing.contains("NaN"), "{drawing}");
        }
    }
}
