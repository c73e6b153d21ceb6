//! Prompts: their state, their evidence, and what their next promotion needs.

use maud::{Markup, html};
use serde::Deserialize;

use crate::part::{self, Tone, command, empty, heading, moment, section, state, table, tag};
use crate::shell::{Page, Section};

/// `GET /v1/prompts`.
#[derive(Debug, Default, Deserialize)]
pub struct PromptList {
    /// Whether this server has a folder of prompts.
    pub configured: bool,
    #[serde(default)]
    pub prompts: Vec<Prompt>,
}

/// A prompt as `eva list` and `eva show` print it.
#[derive(Debug, Deserialize)]
pub struct Prompt {
    pub id: String,
    #[serde(default)]
    pub status: Option<String>,
    #[serde(default)]
    pub version: Option<String>,
    #[serde(default)]
    pub summary: Option<String>,
    #[serde(default)]
    pub error: Option<String>,
    #[serde(default)]
    pub missing_evidence: Option<String>,
    #[serde(default)]
    pub stale: Option<String>,
    /// State of the last evaluation.
    #[serde(default)]
    pub eval: Option<String>,
    #[serde(default)]
    pub gate: Option<PromptGate>,
    #[serde(default)]
    pub usage: Option<Usage>,
    #[serde(default)]
    pub evidence: Option<Evidence>,
}

/// The gate of the next promotion.
#[derive(Debug, Deserialize)]
pub struct PromptGate {
    pub transition: String,
    pub uses: u64,
    pub min_uses: u64,
    #[serde(default)]
    pub unmet: Vec<String>,
}

/// The runs of a prompt.
#[derive(Debug, Deserialize)]
pub struct Usage {
    pub total: u64,
    pub sent: u64,
    pub verified_true: u64,
    pub verified_false: u64,
}

/// What a status rests on.
#[derive(Debug, Deserialize)]
pub struct Evidence {
    pub ts: String,
    pub action: String,
    pub by: String,
    pub uses: u64,
    pub sent: u64,
    #[serde(default)]
    pub wilson_low: Option<f64>,
}

pub fn page(list: &PromptList) -> Page {
    let row = |prompt: &Prompt| {
        vec![
            html! { (part::text(&prompt.id)) span.note { (part::text(prompt.summary.as_deref().unwrap_or_default())) } },
            status(prompt),
            html! { (part::text(prompt.version.as_deref().unwrap_or("-"))) },
            runs(prompt),
            evidence(prompt),
            gate(prompt),
        ]
    };
    let rows: Vec<Vec<Markup>> = list.prompts.iter().map(row).collect();
    let head = ["Prompt", "Status", "Version", "Runs", "Evidence", "Next promotion"];
    Page {
        title: "Prompts".to_owned(),
        section: Section::Prompts,
        command: "eva list".to_owned(),
        header: heading(
            "",
            "Prompts",
            None,
            "A prompt is promoted from draft to tested to ready on the evidence of its runs.",
        ),
        main: match (list.configured, rows.is_empty()) {
            (false, _) => html! {
                (empty("This server knows no folder of prompts. Start it with the folder's root:", "EVA_ROOT=/path/to/library gbrain serve"))
                p.more { "A folder has " code { "prompts/NAME/prompt.md" } "; in it, " code { "eva list" } " prints the same." }
                (command("eva new NAME"))
            },
            (true, true) => {
                empty("There are no prompts in the folder of this server.", "eva new NAME")
            }
            (true, false) => {
                section("prompts", "All prompts", "", &table("Prompts", "prompts", &head, &rows))
            }
        },
        ..Page::default()
    }
}

fn status(prompt: &Prompt) -> Markup {
    html! {
        @match &prompt.status {
            None => (tag(Tone::Bad, "unreadable")),
            Some(word) => (tag(if word == "ready" { Tone::Good } else { Tone::Neutral }, word)),
        }
        @if let Some(why) = &prompt.error { span.note { (part::text(why)) } }
        @if prompt.missing_evidence.is_some() { " " (tag(Tone::Warning, "no evidence")) }
        @if let Some(why) = &prompt.stale { " " (tag(Tone::Warning, "stale")) span.note { (part::text(why)) } }
    }
}

fn runs(prompt: &Prompt) -> Markup {
    html! {
        @match &prompt.usage {
            None => span.dim { "-" },
            Some(usage) => {
                (usage.total) ", " (usage.sent) " sent"
                span.note { (usage.verified_true) " verified, " (usage.verified_false) " refuted" }
            }
        }
    }
}

fn evidence(prompt: &Prompt) -> Markup {
    html! {
        @match &prompt.evidence {
            None => span.dim { "none" },
            Some(one) => {
                (part::text(&one.action)) " by " (part::text(&one.by)) ", " (one.uses) " uses of " (one.sent)
                @if let Some(low) = one.wilson_low { span.note { "at least " (format!("{:.0}%", low * 100.0)) " of runs (95%)" } }
                span.note { (moment(&part::text(&one.ts))) }
            }
        }
    }
}

fn gate(prompt: &Prompt) -> Markup {
    html! {
        @match &prompt.gate {
            None => span.dim { "none" },
            Some(gate) => {
                (part::text(&gate.transition).replace('_', " ")) ": " (gate.uses) " of " (gate.min_uses)
                @if gate.unmet.is_empty() { " " (tag(Tone::Good, "open")) code { " eva promote " (part::text(&prompt.id)) } }
                @else { span.note { (gate.unmet.iter().map(|one| part::text(one)).collect::<Vec<_>>().join(", ")) } }
                @if let Some(word) = &prompt.eval { span.note { "eval " (state(word)) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prompts_have_evidence_and_gates() {
        let body = json!({ "configured": true, "prompts": [
            { "id": "greet", "status": "tested", "version": "1.0", "summary": "<hello>", "eval": "pass",
              "gate": { "transition": "tested_to_ready", "uses": 3, "min_uses": 5, "unmet": ["uses"] },
              "usage": { "total": 4, "sent": 3, "verified_true": 3, "verified_false": 0 },
              "evidence": { "ts": "2026-11-18", "action": "promoted", "by": "ada", "uses": 3, "sent": 3, "wilson_low": 0.43 } },
            { "id": "broken", "error": "no meta.yml" }] });
        let html = page(&serde_json::from_value(body).unwrap()).main.into_string();
        for part in [
            "tested to ready: 3 of 5",
            "at least 43%",
            "unreadable",
            "no meta.yml",
            "&lt;hello&gt;",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn without_a_folder_the_page_says_how_to_set_it() {
        assert!(page(&PromptList::default()).main.into_string().contains("EVA_ROOT="));
        assert!(
            page(&PromptList { configured: true, prompts: Vec::new() })
                .main
                .into_string()
                .contains("eva new")
        );
    }
}
