//! Spending on models: by day, by model and purpose, and against budgets.

use maud::{Markup, html};
use serde::Deserialize;

use crate::chart::days::{DayAmount, bars, calendar};
use crate::part::{self, Tone, empty, facts, heading, moment, section, table, tag, thousands};
use crate::shell::{Page, Section};

/// `GET /v1/spend`.
#[derive(Debug, Default, Deserialize)]
pub struct SpendingReport {
    pub since: String,
    pub usd: f64,
    pub today_usd: f64,
    pub max_usd_per_day: f64,
    #[serde(default)]
    pub lines: Vec<SpendLine>,
    #[serde(default)]
    pub days: Vec<SpendDay>,
    #[serde(default)]
    pub budgets: Vec<Budget>,
}

/// The cost of a model for a purpose.
#[derive(Debug, Deserialize)]
pub struct SpendLine {
    pub model: String,
    pub purpose: String,
    pub calls: u64,
    pub unsettled: u64,
    pub usd: f64,
}

/// The cost of a day.
#[derive(Debug, Deserialize)]
pub struct SpendDay {
    pub day: String,
    pub usd: f64,
}

/// A budget with its charges.
#[derive(Debug, Deserialize)]
pub struct Budget {
    pub name: String,
    pub max_usd: f64,
    pub usd: f64,
    pub calls: u64,
    pub created_at: String,
}

/// An amount in dollars: to the cent, or precisely if it is less than one.
pub(crate) fn dollars(usd: f64) -> String {
    if usd > 0.0 && usd < 0.01 { format!("${usd:.6}") } else { format!("${usd:.2}") }
}

impl SpendingReport {
    /// Bars from the first day with a call to the last.
    pub(crate) fn day_bars(&self) -> Markup {
        let (Some(first), Some(last)) = (self.days.first(), self.days.last()) else {
            return html! { p.dim { "No model was called in these days." } };
        };
        let amount = |day: &String| {
            let own = self.days.iter().find(|one| one.day == *day);
            DayAmount { day: day.clone(), amount: own.map_or(0.0, |one| one.usd), part: 0.0 }
        };
        let amounts: Vec<DayAmount> = calendar(&first.day, &last.day).iter().map(amount).collect();
        bars(&amounts, Some(self.max_usd_per_day), "Spending by day", dollars)
    }
}

/// `days` is how far the answer looks back.
pub fn page(spending: &SpendingReport, days: &str) -> Page {
    let SpendingReport { usd, today_usd, max_usd_per_day, .. } = spending;
    let is_near = *max_usd_per_day > 0.0 && *today_usd >= 0.8 * max_usd_per_day;
    let today = html! {
        (dollars(*today_usd)) " of " (dollars(*max_usd_per_day))
        @if is_near { " " (tag(Tone::Warning, "near the budget")) }
    };
    Page {
        title: "Spending".to_owned(),
        section: Section::Spending,
        command: format!("gbrain spend --since {days}d"),
        header: html! {
            (heading("", "Spending", None, "A call is charged at the most that it can cost before it is sent, and at its cost afterwards."))
            (facts(&[("Today", today), ("In these days", html! { (dollars(*usd)) }), ("Since", moment(&spending.since))]))
        },
        controls: html! {
            form method="get" action="/spending" data-update="main" {
                label {
                    "Days"
                    select name="days" { @for choice in ["7", "30", "90", "366"] { option value=(choice) selected[choice == days] { (choice) } } }
                }
                button type="submit" { "Show" }
            }
        },
        main: match spending.lines.is_empty() && spending.budgets.is_empty() {
            true => empty(
                "No model was called in these days.",
                "gbrain config set spend.max_usd_per_day 2.50",
            ),
            false => html! {
                (section("days", "By day", "", &spending.day_bars()))
                (section("models", "By model and purpose", "Unsettled calls count at the most that they can cost.", &line_table(&spending.lines)))
                (section("budgets", "Budgets", "Of single runs and of days, newest first, at most 50.", &budget_table(&spending.budgets)))
            },
        },
        ..Page::default()
    }
}

fn line_table(lines: &[SpendLine]) -> Markup {
    let row = |line: &SpendLine| {
        vec![
            html! { code { (part::text(&line.model)) } },
            html! { (part::text(&line.purpose)) },
            html! { (thousands(line.calls)) },
            html! { (thousands(line.unsettled)) },
            html! { (dollars(line.usd)) },
        ]
    };
    table(
        "Spending by model and purpose",
        "numbers",
        &["Model", "Purpose", "Calls", "Unsettled", "Cost"],
        &lines.iter().map(row).collect::<Vec<_>>(),
    )
}

fn budget_table(budgets: &[Budget]) -> Markup {
    let row = |one: &Budget| {
        vec![
            html! { code { (part::text(&one.name)) } },
            html! { (dollars(one.usd)) " of " (dollars(one.max_usd)) },
            html! { meter min="0" max=(one.max_usd) value=(one.usd) { (dollars(one.usd)) } },
            html! { (thousands(one.calls)) },
            moment(&one.created_at),
        ]
    };
    table(
        "Budgets",
        "budgets",
        &["Budget", "Charged", "Share", "Calls", "First call"],
        &budgets.iter().map(row).collect::<Vec<_>>(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spending_is_shown_by_day_model_and_budget() {
        let body = json!({ "since": "2026-10-20T00:00:00Z", "usd": 1.5, "today_usd": 0.9, "max_usd_per_day": 1.0,
            "lines": [{ "model": "<anthropic:x>", "purpose": "contradictions", "calls": 1200, "unsettled": 1, "usd": 1.5 }],
            "days": [{ "day": "2026-11-17", "calls": 2, "usd": 0.6 }, { "day": "2026-11-19", "calls": 1, "usd": 0.9 }],
            "budgets": [{ "name": "day:2026-11-19", "max_usd": 1.0, "usd": 0.9, "calls": 1, "created_at": "2026-11-19T03:00:00Z" }] });
        let page = page(&serde_json::from_value(body).unwrap(), "30");
        let html = page.header.into_string() + &page.main.into_string();
        for part in [
            "near the budget",
            "&lt;anthropic:x&gt;",
            "1,200",
            "day:2026-11-19",
            "Spending by day, 3 days: $1.50 in all",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert_eq!(page.command, "gbrain spend --since 30d");
    }

    #[test]
    fn without_calls_the_page_says_so() {
        assert!(
            page(&SpendingReport::default(), "7")
                .main
                .into_string()
                .contains("No model was called")
        );
        assert_eq!(
            [dollars(0.0), dollars(0.000_5), dollars(12.345)],
            ["$0.00", "$0.000500", "$12.35"]
        );
    }
}
