//! Days of a suite as cells: the height of a cell says the verdict, the colour repeats it.

use maud::{Markup, html};

use super::plot::{px, svg_with_links};

/// What happened on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DayVerdict {
    Pass,
    Inconclusive,
    Fail,
}

impl DayVerdict {
    pub(crate) fn of(word: &str) -> Self {
        match word {
            "pass" => Self::Pass,
            "fail" => Self::Fail,
            _ => Self::Inconclusive,
        }
    }

    fn height(self) -> f64 {
        match self {
            Self::Pass => 6.0,
            Self::Inconclusive => 12.0,
            Self::Fail => HEIGHT,
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }
}

/// A day with a run: its place from the left, its verdict, and the page of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DayCell {
    pub(crate) at: usize,
    pub(crate) verdict: DayVerdict,
    pub(crate) title: String,
    pub(crate) href: String,
}

const WIDTH: f64 = 8.0;
const HEIGHT: f64 = 18.0;

/// The days of one suite. Days that passed are one shape; the others link to their run.
pub(crate) fn days(cells: &[DayCell], days: usize, words: &str) -> Markup {
    let (width, passed) = (days as f64 * WIDTH, outline(cells));
    let others = cells.iter().filter(|cell| cell.verdict != DayVerdict::Pass);
    svg_with_links(
        "heat",
        width,
        HEIGHT,
        words,
        &html! {
            rect.rest x="0" y=(px(HEIGHT - 1.0)) width=(width) height="1" {}
            @if !passed.is_empty() { path.pass d=(passed) {} }
            @for cell in others {
                a href=(cell.href) tabindex="-1" {
                    title { (cell.title) }
                    rect class=(cell.verdict.class()) x=(px(cell.at as f64 * WIDTH)) y=(px(HEIGHT - cell.verdict.height()))
                        width=(WIDTH - 1.0) height=(cell.verdict.height()) {}
                }
            }
        },
    )
}

/// The cells that passed, as one path.
fn outline(cells: &[DayCell]) -> String {
    let passed = cells.iter().filter(|cell| cell.verdict == DayVerdict::Pass);
    let (wide, tall) = (WIDTH - 1.0, DayVerdict::Pass.height());
    passed
        .map(|cell| format!("M{} {}h{wide}v{tall}h-{wide}z", cell.at as f64 * WIDTH, HEIGHT - tall))
        .collect()
}

/// What the heights and colours mean.
pub(crate) fn legend() -> Markup {
    html! {
        ul.legend.heat-legend {
            li { i.pass aria-hidden="true" {} "low: all runs passed" }
            li { i.inconclusive aria-hidden="true" {} "middle: a run was inconclusive" }
            li { i.fail aria-hidden="true" {} "high: a run failed" }
            li { "nothing: no run" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_days_that_did_not_pass_are_links() {
        let cell = |at, verdict| DayCell {
            at,
            verdict,
            title: "<day>".to_owned(),
            href: "/suite-runs/1".to_owned(),
        };
        let cells =
            [cell(0, DayVerdict::Pass), cell(1, DayVerdict::Fail), cell(2, DayVerdict::Pass)];
        let svg = days(&cells, 90, "3 days").into_string();
        assert_eq!((svg.matches("<a ").count(), svg.matches("<path").count()), (1, 1));
        assert!(
            svg.contains("M0 12h7v6h-7zM16 12h7v6h-7z") && svg.contains("&lt;day&gt;"),
            "{svg}"
        );
    }
}
