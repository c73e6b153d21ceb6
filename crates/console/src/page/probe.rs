//! The nightly quality probe: its past runs with their recall.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde::Deserialize;

use super::spending::dollars;
use crate::chart::line::{AxisUnit, Trend, TrendPoint, plot, sparkline};
use crate::part::{
    self, Tone, capitalised, empty, facts, heading, moment, section, state, table, tag,
};
use crate::shell::{Page, Section};

const SWITCH_ON: &str = "gbrain config set autopilot.nightly_quality_probe.enabled true";

/// `GET /v1/probe`.
#[derive(Debug, Default, Deserialize)]
pub struct ProbeHistory {
    pub days: u64,
    pub enabled: bool,
    #[serde(default)]
    pub next_run: Option<String>,
    pub runs: Vec<ProbeRun>,
}

/// A run of the probe.
#[derive(Debug, Deserialize)]
pub struct ProbeRun {
    pub event: ProbeEvent,
    #[serde(default)]
    pub recall: Option<Recall>,
    #[serde(default)]
    pub recall_by_type: BTreeMap<String, Recall>,
}

/// The outcome of a run.
#[derive(Debug, Deserialize)]
pub struct ProbeEvent {
    pub ts: String,
    pub outcome: String,
    #[serde(default)]
    pub pass_count: u64,
    #[serde(default)]
    pub fail_count: u64,
    #[serde(default)]
    pub inconclusive_count: u64,
    #[serde(default)]
    pub error_count: u64,
    #[serde(default)]
    pub cost_usd: f64,
    #[serde(default)]
    pub detail: Option<String>,
}

/// Questions whose answer was retrieved.
#[derive(Debug, Deserialize)]
pub struct Recall {
    pub hit: u64,
    pub total: u64,
}

impl ProbeEvent {
    /// How many questions had which outcome.
    pub(crate) fn counts(&self) -> String {
        let Self { pass_count, fail_count, inconclusive_count, error_count, .. } = self;
        let parts = [
            (pass_count, "passed"),
            (fail_count, "failed"),
            (inconclusive_count, "inconclusive"),
            (error_count, "errors"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|(n, _)| **n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        if parts.is_empty() { "no question asked".to_owned() } else { parts.join(", ") }
    }

    /// The share of questions that passed; nothing if none was judged.
    fn passed(&self) -> Option<f64> {
        let all = self.pass_count + self.fail_count + self.inconclusive_count + self.error_count;
        (all > 0).then(|| self.pass_count as f64 / all as f64)
    }
}

impl ProbeHistory {
    fn points(&self) -> Vec<TrendPoint> {
        let point = |run: &ProbeRun| TrendPoint {
            when: run.event.ts.get(..10).unwrap_or_default().to_owned(),
            value: run.event.passed(),
            interval: None,
            tone: Tone::of(&run.event.outcome),
        };
        self.runs.iter().rev().map(point).collect()
    }

    /// The trend for one cell of a table.
    pub(crate) fn sparkline(&self) -> Markup {
        let points = self.points();
        sparkline(&Trend {
            what: "share of questions that passed",
            unit: AxisUnit::Share,
            points: &points,
            thresholds: &[],
        })
    }
}

pub fn page(history: &ProbeHistory) -> Page {
    let last = history.runs.first();
    let tone = last.map(|run| Tone::of(&run.event.outcome));
    let title = last.map_or_else(
        || "No run yet".to_owned(),
        |run| capitalised(&run.event.outcome.replace('_', " ")),
    );
    let why = last.and_then(|run| run.event.detail.as_deref()).map(part::text).unwrap_or_default();
    Page {
        title: "Probe".to_owned(),
        section: Section::Probe,
        command: format!("gbrain eval probe history --days {}", history.days.max(1)),
        header: html! {
            div class=[tone.map(Tone::class)] { (heading("Nightly quality probe", &title, tone, &why)) }
            (facts(&[
                ("Nightly", if history.enabled { tag(Tone::Good, "on") } else { tag(Tone::Neutral, "off") }),
                ("Next run", html! { @match &history.next_run { Some(at) if history.enabled => (moment(at)), _ => "not scheduled" } }),
                ("Runs", html! { (history.runs.len()) " in " (history.days) " days" }),
                ("Cost", html! { (dollars(history.runs.iter().map(|run| run.event.cost_usd).sum())) }),
            ]))
        },
        controls: day_filter(history.days),
        main: match history.runs.is_empty() {
            true => empty(
                "The probe has not run in these days. It asks ten questions of a fixed corpus and has models judge the answers, which costs money.",
                if history.enabled { "gbrain eval probe run" } else { SWITCH_ON },
            ),
            false => html! { (trend_section(history)) (run_section(history)) },
        },
        ..Page::default()
    }
}

fn day_filter(days: u64) -> Markup {
    html! {
        form method="get" action="/probe" data-update="main" {
            label {
                "Days"
                select name="days" { @for choice in [7, 30, 90] { option value=(choice) selected[choice == days] { (choice) } } }
            }
            button type="submit" { "Show" }
        }
    }
}

fn trend_section(history: &ProbeHistory) -> Markup {
    let points = history.points();
    let trend = Trend {
        what: "share of questions that passed",
        unit: AxisUnit::Share,
        points: &points,
        thresholds: &[],
    };
    section(
        "trend",
        "Share of questions that passed",
        "Run by run, oldest first. A square failed, a ring was inconclusive.",
        &plot(&trend),
    )
}

fn run_section(history: &ProbeHistory) -> Markup {
    let row = |run: &ProbeRun| {
        vec![
            moment(&run.event.ts),
            state(&run.event.outcome),
            html! { (run.event.counts()) },
            html! {
                @match &run.recall { Some(all) => { (all.hit) " of " (all.total) }, None => span.dim { "-" } }
                @if !run.recall_by_type.is_empty() {
                    span.note { (by_type(&run.recall_by_type)) }
                }
            },
            html! { (dollars(run.event.cost_usd)) },
            html! { (part::text(run.event.detail.as_deref().unwrap_or_default())) },
        ]
    };
    let rows: Vec<Vec<Markup>> = history.runs.iter().map(row).collect();
    let head = ["When", "Outcome", "Questions", "Answer retrieved", "Cost", "Why"];
    section("runs", "Runs", "Newest first.", &table("Runs of the probe", "runs", &head, &rows))
}

fn by_type(recall: &BTreeMap<String, Recall>) -> String {
    let part =
        |(kind, one): (&String, &Recall)| format!("{} {}/{}", part::text(kind), one.hit, one.total);
    recall.iter().map(part).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn runs_have_a_trend_and_reasons() {
        let run = |at: &str, outcome: &str, pass: u64| {
            json!({ "event": { "ts": at, "outcome": outcome, "pass_count": pass,
            "fail_count": 10 - pass, "cost_usd": 0.31, "detail": "q3: <b>" }, "recall": { "hit": 9, "total": 10 },
            "recall_by_type": { "temporal": { "hit": 4, "total": 5 } } })
        };
        let body = json!({ "days": 30, "enabled": true, "next_run": "2026-11-20T03:00:00Z",
            "runs": [run("2026-11-19T03:00:00Z", "fail", 9), run("2026-11-18T03:00:00Z", "pass", 10)] });
        let page = page(&serde_json::from_value(body).unwrap());
        let html = page.header.into_string() + &page.main.into_string();
        for part in [
            "9 passed, 1 failed",
            "temporal 4/5",
            "9 of 10",
            "$0.31",
            "<polyline",
            "&lt;b&gt;",
            "$0.62",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn without_runs_the_page_says_how_to_switch_it_on() {
        let html = page(&ProbeHistory::default()).main.into_string();
        assert!(html.contains(SWITCH_ON), "{html}");
    }
}
