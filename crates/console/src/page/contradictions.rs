//! Contradictions: pairs of claims with their dates, and the command that fixes each.

use maud::{Markup, html};
use serde::Deserialize;

use crate::part::{
    self, Tone, command, count, empty, facts, heading, moment, page_name, percent_encoded, section,
    tag,
};
use crate::shell::{Page, Section};

/// `GET /v1/contradictions`.
#[derive(Debug, Deserialize)]
pub struct FoundContradictions {
    pub run_id: Option<String>,
    pub ran_at: Option<String>,
    pub judge_model: Option<String>,
    pub contradictions: Vec<Contradiction>,
    pub total: u64,
    pub note: Option<String>,
}

/// Two statements that cannot both hold.
#[derive(Debug, Deserialize)]
pub struct Contradiction {
    pub pair_id: String,
    pub a: Statement,
    pub b: Statement,
    pub verdict: String,
    pub severity: String,
    #[serde(default)]
    pub axis: String,
    pub confidence: f64,
    #[serde(default)]
    pub resolution_advice: Option<String>,
    #[serde(default)]
    pub resolution_command: Option<String>,
}

/// One of the statements.
#[derive(Debug, Deserialize)]
pub struct Statement {
    pub source_id: String,
    pub slug: String,
    #[serde(default)]
    pub holder: Option<String>,
    pub text: String,
    #[serde(default)]
    pub effective_date: Option<String>,
}

/// What the reader asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct ContradictionsView<'a> {
    pub severity: &'a str,
    pub slug: &'a str,
    pub limit: u64,
}

pub fn page(found: &FoundContradictions, view: ContradictionsView<'_>) -> Page {
    let shown = found.contradictions.len() as u64;
    let when = html! { @match &found.ran_at { Some(at) => (moment(at)), None => "no recent run" } };
    Page {
        title: "Contradictions".to_owned(),
        section: Section::Contradictions,
        command: "gbrain eval suspected-contradictions review".to_owned(),
        header: html! {
            (heading("", "Contradictions", None, "Pairs of statements that cannot both hold, from the last probe of this workspace."))
            (facts(&[
                ("Found", html! { (found.total) }),
                ("Run", when),
                ("Judge", html! { (part::text(found.judge_model.as_deref().unwrap_or("-"))) }),
            ]))
        },
        controls: filters(view),
        main: html! {
            @if let Some(note) = &found.note { p.more { (tag(Tone::Warning, "note")) " " (part::text(note)) } }
            @match (found.contradictions.is_empty(), found.run_id.is_some()) {
                (true, false) => (empty("No contradiction probe ran in the last 30 days.", "gbrain eval suspected-contradictions run --help")),
                (true, true) => (empty("No pair of this kind was found.", "")),
                (false, _) => { @for one in &found.contradictions { (pair(one)) } }
            }
            @if shown < found.total {
                p.more { "The " (shown) " most severe of " (count(found.total, "pair", "pairs")) ". Filter by severity or page to see others." }
            }
        },
        ..Page::default()
    }
}

fn filters(view: ContradictionsView<'_>) -> Markup {
    html! {
        form method="get" action="/contradictions" data-update="main" {
            label {
                "Severity"
                select name="severity" {
                    @for (value, name) in [("", "all"), ("medium", "medium and above"), ("high", "high only")] {
                        option value=(value) selected[value == view.severity] { (name) }
                    }
                }
            }
            label { "Page" input type="search" name="slug" value=(view.slug) maxlength="546"; }
            label {
                "Pairs"
                select name="limit" { @for n in [20, 50, 100] { option value=(n) selected[n == view.limit] { (n) } } }
            }
            button type="submit" { "Show" }
        }
    }
}

fn pair(one: &Contradiction) -> Markup {
    let title =
        if one.axis.is_empty() { one.verdict.replace('_', " ") } else { part::text(&one.axis) };
    section(
        &format!("pair-{}", part::percent_encoded(&one.pair_id)),
        &title,
        "",
        &html! {
            p {
                (severity(&one.severity)) " " (one.verdict.replace('_', " "))
                ", " (format!("{:.0}% sure", one.confidence * 100.0)) ", pair " code { (part::text(&one.pair_id)) }
            }
            div.plots { (statement(&one.a)) (statement(&one.b)) }
            @if let Some(advice) = &one.resolution_advice { p.more { (part::text(advice)) } }
            @if let Some(fix) = &one.resolution_command { (command(fix)) }
        },
    )
}

fn statement(one: &Statement) -> Markup {
    let page = format!("{}::{}", one.source_id, one.slug);
    html! {
        div.claim {
            h3 { a href={ "/pages/" (percent_encoded(&page)) } { (page_name(&page)) } }
            blockquote { bdi { (part::text(&one.text)) } }
            p.note {
                @match &one.effective_date { Some(date) => { "holds from " (part::text(date)) }, None => "without a date" }
                @if let Some(holder) = &one.holder { ", held by " (part::text(holder)) }
            }
        }
    }
}

fn severity(word: &str) -> Markup {
    let tone = match word {
        "high" => Tone::Bad,
        "medium" => Tone::Warning,
        _ => Tone::Neutral,
    };
    tag(tone, word)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(pairs: &[Value], run: Option<&str>) -> FoundContradictions {
        serde_json::from_value(json!({ "run_id": run, "ran_at": run.map(|_| "2026-11-18T02:00:00Z"), "judge_model": "x:y",
            "run_status": null, "contradictions": pairs, "total": pairs.len() + 3, "note": null })).unwrap()
    }

    #[test]
    fn both_claims_are_shown_with_dates_and_the_command() {
        let side = |slug: &str, date: Option<&str>| {
            json!({ "source_id": "wiki", "slug": slug, "source_tier": "own", "holder": "ada",
            "text": "<img src=x onerror=y> owns it\u{202e}", "effective_date": date })
        };
        let pair = json!({ "pair_id": "ab12", "kind": "passages", "a": side("billing", Some("2026-01-01")), "b": side("payments", None),
            "verdict": "contradiction", "severity": "high", "axis": "owner", "confidence": 0.91,
            "resolution_advice": "The later one holds.", "resolution_command": "gbrain get wiki::billing" });
        let html =
            page(&read(&[pair], Some("r1")), ContradictionsView::default()).main.into_string();
        for part in [
            "holds from 2026-01-01",
            "without a date",
            "gbrain get wiki::billing",
            "/pages/wiki%3A%3Abilling",
            "91% sure",
            "&lt;img",
            "\\u{202e}",
            "The 1 most severe of 4 pairs",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("<img"));
    }

    #[test]
    fn without_a_run_the_page_says_how_to_make_one() {
        assert!(
            page(&read(&[], None), ContradictionsView::default())
                .main
                .into_string()
                .contains("suspected-contradictions run")
        );
        assert!(
            page(&read(&[], Some("r")), ContradictionsView::default())
                .main
                .into_string()
                .contains("No pair of this kind")
        );
    }
}
