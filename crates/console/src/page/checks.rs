//! The checks of a gate: each value beside its threshold, and drawn with its interval and the
//! smallest drop that the check would have found.

use gbrain_core::gate::ThresholdSide;
use gbrain_core::report::number::{NONE, Unit, beside, delta, limit, maybe, unit, value};
use maud::{Markup, html};
use serde::Deserialize;

use crate::chart::plot::{dot, line, rect, svg};
use crate::part::{self, Tone, table, tag};

/// How many reasons a headline gives.
const REASONS: usize = 3;

/// A metric with its threshold.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Check {
    pub(crate) metric: String,
    pub(crate) status: String,
    baseline: Option<f64>,
    observed: Option<f64>,
    #[serde(default)]
    threshold: Option<f64>,
    bound: String,
    #[serde(default)]
    pub(crate) n: u64,
    #[serde(default)]
    distinct: Option<u64>,
    interval: Option<[f64; 2]>,
    #[serde(default)]
    smallest_detectable_drop: Option<f64>,
}

/// Why a gate did not pass.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Breach {
    pub(crate) metric: String,
    pub(crate) observed: Option<f64>,
    pub(crate) threshold: Option<f64>,
    #[serde(default)]
    pub(crate) reason: Option<String>,
    #[serde(default)]
    pub(crate) examples: Vec<String>,
}

impl Breach {
    /// The breach in one line.
    pub(crate) fn words(&self) -> String {
        let unit = unit(&self.metric);
        let because = match &self.reason {
            Some(reason) => format!(" ({})", reason.replace('_', " ")),
            None => String::new(),
        };
        match (self.observed, self.threshold) {
            (Some(observed), Some(limit)) if self.reason.is_some() => {
                format!(
                    "{} {}, at most {}{because}",
                    self.metric,
                    value(unit, observed),
                    value(unit, limit)
                )
            }
            (Some(observed), Some(limit)) => {
                let side = if observed > limit { "above" } else { "below" };
                format!(
                    "{} {} is {side} {}",
                    self.metric,
                    beside(unit, observed, limit),
                    value(unit, limit)
                )
            }
            (_, _) => format!("{}{because}", self.metric),
        }
    }
}

impl Check {
    fn side(&self) -> ThresholdSide {
        if self.bound == "ceiling" { ThresholdSide::Ceiling } else { ThresholdSide::Floor }
    }

    /// The value that was measured.
    pub(crate) fn observed(&self) -> Option<f64> {
        self.observed.filter(|value| value.is_finite())
    }

    /// Why the check could not be decided.
    pub(crate) fn undecided(&self) -> Option<String> {
        let unit = unit(&self.metric);
        let threshold = self.threshold.unwrap_or(f64::NAN);
        match self.status.as_str() {
            "not_measured" => Some(format!("{} was not measured", self.metric)),
            "too_few_rows" => Some(self.too_few_rows(threshold)),
            "inconclusive" => {
                let observed = self.observed.unwrap_or(f64::NAN);
                let side = match self.side() {
                    ThresholdSide::Floor => "below",
                    ThresholdSide::Ceiling if observed <= threshold => "not above",
                    ThresholdSide::Ceiling => "above",
                };
                Some(format!(
                    "{} {} is {side} {}, but its interval {} includes it",
                    self.metric,
                    beside(unit, observed, threshold),
                    value(unit, threshold),
                    self.interval()
                ))
            }
            _ => None,
        }
    }

    fn too_few_rows(&self, floor: f64) -> String {
        let (room, n) = (1.0 - floor, self.distinct.unwrap_or(self.n));
        let needed = (1.0 / room - 1e-9).ceil();
        let rows = part::count(n, "row", "rows");
        format!("{} has {rows}, and a floor of {floor} needs {needed:.0}", self.metric)
    }

    fn interval(&self) -> String {
        let unit = unit(&self.metric);
        match self.interval {
            Some([low, high]) => format!("{} to {}", value(unit, low), value(unit, high)),
            None if self.n == 1 && self.side() == ThresholdSide::Floor => {
                "no interval at n = 1".to_owned()
            }
            None => NONE.to_owned(),
        }
    }

    fn cells(&self) -> Vec<Markup> {
        let unit = unit(&self.metric);
        let threshold = self.threshold.unwrap_or(f64::NAN);
        let observed = self.observed();
        let change = observed.zip(self.baseline).map(|(now, before)| now - before);
        let text = |text: String| html! { (text) };
        vec![
            html! { (part::text(&self.metric)) },
            status(&self.status),
            text(maybe(unit, self.baseline)),
            text(observed.map_or(NONE.to_owned(), |observed| beside(unit, observed, threshold))),
            text(change.map_or(NONE.to_owned(), |change| delta(unit, change))),
            text(self.interval()),
            self.track(),
            text(limit(unit, self.side(), threshold)),
            text(self.smallest_detectable_drop.map_or(NONE.to_owned(), |drop| delta(unit, -drop))),
            text(self.n.to_string()),
        ]
    }

    /// The right end of the line that the check is drawn on.
    fn most(&self) -> f64 {
        match unit(&self.metric) {
            Unit::Score | Unit::Rate => 1.0,
            Unit::Ratio | Unit::Count => {
                let highest = self.observed().unwrap_or(0.0).max(self.threshold.unwrap_or(0.0));
                let most = highest.max(self.baseline.unwrap_or(0.0)) * 1.25;
                if most.is_finite() && most > 0.0 { most } else { 1.0 }
            }
        }
    }

    /// The value, its interval, its baseline and the smallest detectable drop on a line; the failing
    /// side is shaded.
    fn track(&self) -> Markup {
        let (width, middle, most) = (220.0, 13.0, self.most());
        let x = |value: f64| 6.0 + (width - 12.0) * (value / most).clamp(0.0, 1.0);
        let limit = x(self.threshold.filter(|limit| limit.is_finite()).unwrap_or(0.0));
        let zone = match self.side() {
            ThresholdSide::Floor => [x(0.0), 4.0, limit - x(0.0), 18.0],
            ThresholdSide::Ceiling => [limit, 4.0, x(most) - limit, 18.0],
        };
        let from = self.baseline.or(self.observed());
        let drop =
            self.smallest_detectable_drop.zip(from).map(|(drop, from)| (x(from - drop), x(from)));
        let body = html! {
            (rect("zone", zone))
            (line("axis", [x(0.0), middle, x(most), middle]))
            (line("limit", [limit, 3.0, limit, 23.0]))
            @if let Some((low, high)) = drop {
                (line("drop", [low, 24.0, high, 24.0]))
                (line("drop", [low, 20.0, low, 24.0]))
            }
            @if let Some([low, high]) = self.interval {
                (rect("spread", [x(low), middle - 4.0, (x(high) - x(low)).max(2.0), 8.0]))
            }
            @if let Some(baseline) = self.baseline { (dot("before", x(baseline), middle, 3.5)) }
            @if let Some(observed) = self.observed() { (dot("point", x(observed), middle, 4.5)) }
        };
        let words = format!("{} on a line from 0 to {most:.2}", part::text(&self.metric));
        svg("track", width, 26.0, &words, &body)
    }
}

/// A status as a tag, in capitals unless it is a pass.
pub(crate) fn status(status: &str) -> Markup {
    let words = status.replace('_', " ");
    match status {
        "pass" | "not_compared" => tag(Tone::of(status), &words),
        _ => tag(Tone::of(status), &words.to_uppercase()),
    }
}

/// The table of checks.
pub(crate) fn checks(label: &str, checks: &[&Check], confidence: Option<f64>) -> Markup {
    let percent = (confidence.unwrap_or(0.95) * 10_000.0).round() / 100.0;
    let interval = format!("{percent}% CI");
    let head = [
        "Metric",
        "Status",
        "Baseline",
        "Current",
        "Delta",
        &interval,
        "Plot",
        "Threshold",
        "Smallest drop",
        "n",
    ];
    let rows: Vec<Vec<Markup>> = checks.iter().map(|check| check.cells()).collect();
    table(label, "checks", &head, &rows)
}

/// The reasons of a verdict in one line: breaches, then checks that could not be decided.
pub(crate) fn why(breaches: &[&Breach], checks: &[&Check]) -> String {
    let mut reasons: Vec<String> = breaches.iter().map(|breach| breach.words()).collect();
    reasons.extend(checks.iter().filter_map(|check| check.undecided()));
    if reasons.is_empty() {
        return passed(checks);
    }
    let shown = reasons.iter().take(REASONS).map(String::as_str).collect::<Vec<_>>().join("; ");
    match reasons.len().saturating_sub(REASONS) {
        0 => shown,
        left => format!("{shown}; and {left} more"),
    }
}

/// Every check with its own n: one total would hide a check of one row.
fn passed(checks: &[&Check]) -> String {
    if checks.is_empty() {
        return "nothing was gated".to_owned();
    }
    let of = |status: &str| {
        checks.iter().filter(move |check| check.status == status).collect::<Vec<_>>()
    };
    let passed: Vec<String> =
        of("pass").iter().map(|check| format!("{} n={}", check.metric, check.n)).collect();
    let left: Vec<&str> = of("not_compared").iter().map(|check| check.metric.as_str()).collect();
    let n = part::count(passed.len() as u64, "check", "checks");
    let passed = format!("{n} passed ({})", passed.join(", "));
    if left.is_empty() { passed } else { format!("{passed}; not compared: {}", left.join(", ")) }
}
