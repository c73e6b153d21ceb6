//! Distributions of scores over each other, with the threshold that separates them, and what the
//! threshold is worth.

use maud::{Markup, html};

use super::plot::{label, line, px, svg};

/// Scores of one kind, counted by tenths from 0 to 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScoreSeries<'a> {
    /// CSS class; the shapes differ too: filled or an outline.
    pub(crate) class: &'a str,
    pub(crate) name: &'a str,
    pub(crate) bins: Vec<u64>,
}

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 180.0;
const FOOT: f64 = 22.0;
const TOP: f64 = 16.0;

/// Histograms over each other. The line is the threshold.
pub(crate) fn overlaid(series: &[ScoreSeries<'_>], threshold: Option<f64>, what: &str) -> Markup {
    let most =
        series.iter().flat_map(|one| one.bins.iter().copied()).max().unwrap_or(0).max(1) as f64;
    let counts = |one: &ScoreSeries<'_>| {
        let counts: Vec<String> = one.bins.iter().map(ToString::to_string).collect();
        format!("{}: {}", one.name, counts.join(", "))
    };
    let mut words = format!(
        "{what}, pairs per tenth from 0 to 1. {}",
        series.iter().map(counts).collect::<Vec<_>>().join(". ")
    );
    if let Some(threshold) = threshold {
        words.push_str(&format!(". Threshold {threshold:.4}"));
    }
    html! {
        (svg("", WIDTH, HEIGHT, &words, &html! {
            @for one in series { path class={ "steps " (one.class) } d=(steps(&one.bins, most)) {} }
            (axis())
            @if let Some(threshold) = threshold { (limit(threshold)) }
        }))
        ul.legend {
            @for one in series {
                li { i class=(one.class) aria-hidden="true" {} (one.name) " " (one.bins.iter().sum::<u64>()) }
            }
        }
    }
}

/// The outline of a histogram.
fn steps(bins: &[u64], most: f64) -> String {
    let (floor, step) = (HEIGHT - FOOT, WIDTH / bins.len().max(1) as f64);
    let mut path = format!("M0 {floor}");
    for (at, count) in bins.iter().enumerate() {
        let y = floor - (floor - TOP) * *count as f64 / most;
        path.push_str(&format!("V{}H{}", px(y), px((at + 1) as f64 * step)));
    }
    path.push_str(&format!("V{floor}Z"));
    path
}

fn axis() -> Markup {
    html! {
        (line("axis", [0.0, HEIGHT - FOOT, WIDTH, HEIGHT - FOOT]))
        @for (anchor, at) in [("start", 0.0), ("middle", 0.5), ("end", 1.0)] {
            (label(anchor, at * WIDTH, HEIGHT - 6.0, &at.to_string()))
        }
    }
}

fn limit(threshold: f64) -> Markup {
    let x = threshold.clamp(0.0, 1.0) * WIDTH;
    let anchor = if threshold > 0.6 { "end" } else { "start" };
    let beside = if threshold > 0.6 { x - 4.0 } else { x + 4.0 };
    html! {
        (line("limit", [x, TOP - 12.0, x, HEIGHT - FOOT]))
        (label(anchor, beside, TOP - 4.0, &format!("threshold {threshold:.3}")))
    }
}

/// What a threshold would be worth, at one place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Worth {
    pub(crate) threshold: f64,
    /// The share of good pairs among those above it.
    pub(crate) precision: Option<f64>,
    /// The share of good pairs that are above it.
    pub(crate) recall: f64,
}

/// What thresholds from 0 to 1 are worth for scored pairs, each good or not.
pub(crate) fn worth_along(pairs: &[(f64, bool)]) -> Vec<Worth> {
    const STEPS: u32 = 50;
    let good = pairs.iter().filter(|(_, is_good)| *is_good).count();
    if good == 0 {
        return Vec::new();
    }
    let at = |step: u32| {
        let threshold = f64::from(step) / f64::from(STEPS);
        let above = pairs.iter().filter(|(score, _)| *score >= threshold);
        let (all, kept) = above.fold((0_usize, 0_usize), |(all, kept), (_, is_good)| {
            (all + 1, kept + usize::from(*is_good))
        });
        let precision = (all > 0).then(|| kept as f64 / all as f64);
        Worth { threshold, precision, recall: kept as f64 / good as f64 }
    };
    (0..=STEPS).map(at).collect()
}

/// Precision and recall along the threshold.
pub(crate) fn precision_recall(along: &[Worth], threshold: Option<f64>) -> Markup {
    let at = |x: f64, y: f64| {
        format!("{},{}", px(x * WIDTH), px(HEIGHT - FOOT - y * (HEIGHT - FOOT - TOP)))
    };
    let recall: Vec<String> = along.iter().map(|one| at(one.threshold, one.recall)).collect();
    let precision: Vec<String> =
        along.iter().filter_map(|one| Some(at(one.threshold, one.precision?))).collect();
    html! {
        (svg("", WIDTH, HEIGHT, &worth_words(along, threshold), &html! {
            @for y in [0.0, 0.5, 1.0] {
                @let line_y = HEIGHT - FOOT - y * (HEIGHT - FOOT - TOP);
                (line("axis", [0.0, line_y, WIDTH, line_y]))
            }
            polyline.curve points=(precision.join(" ")) {}
            polyline.curve.dashed points=(recall.join(" ")) {}
            (axis())
            @if let Some(threshold) = threshold { (limit(threshold)) }
        }))
        ul.legend {
            li { i.line aria-hidden="true" {} "precision (solid)" }
            li { i.line.dashed aria-hidden="true" {} "recall (dashed)" }
            li { "the lines are at 0, 50% and 100%" }
        }
    }
}

fn worth_words(along: &[Worth], threshold: Option<f64>) -> String {
    let shown = |one: &Worth| {
        let precision =
            one.precision.map_or("none".to_owned(), |share| format!("{:.0}%", share * 100.0));
        format!("at {:.2}: precision {precision}, recall {:.0}%", one.threshold, one.recall * 100.0)
    };
    let tenths: Vec<String> = along.iter().step_by(10).map(shown).collect();
    let threshold =
        threshold.map(|threshold| format!(". Threshold {threshold:.4}")).unwrap_or_default();
    format!("Precision and recall along the threshold: {}{threshold}", tenths.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_trades_recall_for_precision() {
        let along = worth_along(&[(0.9, true), (0.6, true), (0.5, false), (0.1, false)]);
        let of = |threshold: f64| {
            along.iter().find(|one| (one.threshold - threshold).abs() < 1e-9).copied().unwrap()
        };
        assert_eq!((of(0.0).precision, of(0.0).recall), (Some(0.5), 1.0));
        assert_eq!((of(0.56).precision, of(0.56).recall), (Some(1.0), 1.0));
        assert_eq!((of(0.8).precision, of(0.8).recall), (Some(1.0), 0.5));
        assert_eq!((of(1.0).precision, of(1.0).recall), (None, 0.0));
        assert!(worth_along(&[(0.5, false)]).is_empty());
    }

    #[test]
    fn histograms_have_words() {
        let series = [ScoreSeries { class: "then", name: "irrelevant", bins: vec![2, 0, 1] }];
        let drawn = overlaid(&series, Some(0.25), "Scores").into_string();
        assert!(
            drawn.contains("irrelevant: 2, 0, 1") && drawn.contains("threshold 0.250"),
            "{drawn}"
        );
    }
}
