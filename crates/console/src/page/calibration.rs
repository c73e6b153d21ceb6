//! Calibration of the reranker: the scores of judged pairs, the threshold, what it is worth, and its
//! history.

use maud::{Markup, html};
use serde::Deserialize;

use crate::chart::distribution::{ScoreSeries, overlaid, precision_recall, worth_along};
use crate::part::{
    self, Tone, capitalised, command, csrf_field, empty, facts, heading, moment, section, state,
    table, tag, url,
};
use crate::shell::{Page, Section};

/// `GET /v1/calibration`.
#[derive(Debug, Deserialize)]
pub struct Calibration {
    pub state: String,
    pub reranker: Option<String>,
    pub set_threshold: f64,
    #[serde(default)]
    pub set_for: Option<String>,
    pub pairs: PairCounts,
    #[serde(default)]
    pub missing: u64,
    #[serde(default)]
    pub in_force: Option<ScoreThreshold>,
    #[serde(default)]
    pub shown: Option<ScoreThreshold>,
    #[serde(default)]
    pub histogram: Vec<Bin>,
    #[serde(default)]
    pub scores: Vec<Score>,
}

/// Numbers of pairs by label.
#[derive(Debug, Default, Deserialize)]
pub struct PairCounts {
    #[serde(default)]
    pub relevant: u64,
    #[serde(default)]
    pub borderline: u64,
    #[serde(default)]
    pub irrelevant: u64,
}

/// Scores of one tenth.
#[derive(Debug, Deserialize)]
pub struct Bin {
    #[serde(default)]
    pub relevant: u64,
    #[serde(default)]
    pub borderline: u64,
    #[serde(default)]
    pub irrelevant: u64,
}

/// The score of a pair.
#[derive(Debug, Deserialize)]
pub struct Score {
    pub pair: i64,
    pub label: Option<String>,
    pub score: f64,
}

/// A threshold with its trial.
#[derive(Debug, Deserialize)]
pub struct ScoreThreshold {
    pub id: i64,
    pub model: String,
    pub status: String,
    pub threshold: f64,
    pub n: u64,
    #[serde(default)]
    pub mean: f64,
    #[serde(default)]
    pub sigma: f64,
    pub created_at: String,
    #[serde(default)]
    pub decided_at: Option<String>,
    #[serde(default)]
    pub precision: Option<f64>,
    #[serde(default)]
    pub recall: Option<f64>,
    #[serde(default)]
    pub refusals: Vec<String>,
    #[serde(default)]
    pub verification: Option<Trial>,
}

/// The trial of a threshold.
#[derive(Debug, Deserialize)]
pub struct Trial {
    pub at: String,
    pub passed: bool,
    #[serde(default)]
    pub failures: Vec<String>,
    pub n: u64,
    pub hits: u64,
}

/// `GET /v1/calibration/thresholds`.
#[derive(Debug, Deserialize)]
pub struct ThresholdList {
    pub thresholds: Vec<ScoreThreshold>,
}

pub fn page(calibration: &Calibration, history: &ThresholdList, may_deploy: bool) -> Page {
    let shown = calibration.shown.as_ref();
    Page {
        title: "Calibration".to_owned(),
        section: Section::Calibration,
        command: shown.map_or("gbrain calibrate show".to_owned(), |one| {
            format!("gbrain calibrate show {}", one.id)
        }),
        header: header(calibration),
        main: html! {
            (score_section(calibration))
            (worth_section(calibration))
            @if let Some(one) = shown { (threshold_section(one, calibration, may_deploy)) }
            (history_section(history))
        },
        ..Page::default()
    }
}

fn header(calibration: &Calibration) -> Markup {
    let Calibration {
        state: word, reranker, set_threshold, set_for, pairs, missing, in_force, ..
    } = calibration;
    let tone = match word.as_str() {
        "in_force" => Tone::Good,
        "no_reranker" | "no_threshold" => Tone::Neutral,
        _ => Tone::Warning,
    };
    let set = html! {
        (format!("{set_threshold:.4}")) @if let Some(model) = set_for { " for " code { (part::text(model)) } }
    };
    html! {
        div class=(tone.class()) { (heading("Calibration of the reranker", &capitalised(&word.replace('_', " ")), Some(tone), "The threshold drops results that the reranker scores below barely relevant ones.")) }
        (facts(&[
            ("Reranker", html! { @match reranker { Some(model) => code { (part::text(model)) }, None => "none is set" } }),
            ("Setting", set),
            ("In force", html! { @match in_force { Some(one) => { "threshold " (one.id) ", " (format!("{:.4}", one.threshold)) }, None => "none" } }),
            ("Pairs", html! { (pairs.relevant) " relevant, " (pairs.borderline) " borderline, " (pairs.irrelevant) " irrelevant" }),
            ("Borderline pairs missing", html! { (missing) }),
        ]))
    }
}

/// The distributions of both kinds of pairs.
fn score_section(calibration: &Calibration) -> Markup {
    if calibration.scores.is_empty() {
        let next = match (&calibration.reranker, calibration.missing) {
            (None, _) => "gbrain config set models.rerank PROVIDER:MODEL",
            (Some(_), 0) => "gbrain calibrate score",
            (Some(_), _) => "gbrain calibrate collect --from pairs.jsonl",
        };
        return empty(
            "No pair has been scored yet: there is no distribution and no threshold.",
            next,
        );
    }
    let bins = |of: fn(&Bin) -> u64| calibration.histogram.iter().map(of).collect::<Vec<_>>();
    let series = [
        ScoreSeries { class: "rest", name: "irrelevant", bins: bins(|bin| bin.irrelevant) },
        ScoreSeries { class: "then", name: "borderline", bins: bins(|bin| bin.borderline) },
        ScoreSeries { class: "now", name: "relevant", bins: bins(|bin| bin.relevant) },
    ];
    let threshold = calibration.shown.as_ref().map(|one| one.threshold);
    section(
        "scores",
        "Scores",
        "How the reranker scores pairs that reviewers judged, by tenths.",
        &overlaid(&series, threshold, "Scores of judged pairs"),
    )
}

/// Precision and recall along the threshold.
fn worth_section(calibration: &Calibration) -> Markup {
    let good = |label: &str| matches!(label, "relevant" | "borderline");
    let pairs: Vec<(f64, bool)> = calibration
        .scores
        .iter()
        .filter_map(|one| Some((one.score, good(one.label.as_deref()?))))
        .collect();
    let along = worth_along(&pairs);
    if along.is_empty() {
        return html! {};
    }
    let lead = "Of the pairs above a threshold, how many are relevant or borderline (precision); of those, how many are above it (recall).";
    section(
        "worth",
        "Precision and recall along the threshold",
        lead,
        &precision_recall(&along, calibration.shown.as_ref().map(|one| one.threshold)),
    )
}

fn share(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{:.1}%", value * 100.0))
}

fn threshold_section(one: &ScoreThreshold, calibration: &Calibration, may_deploy: bool) -> Markup {
    let is_in_force = calibration.in_force.as_ref().is_some_and(|other| other.id == one.id);
    section(
        "threshold",
        &format!("Threshold {}", one.id),
        "",
        &html! {
            (facts(&[
                ("Value", html! { (format!("{:.4}", one.threshold)) }),
                ("Status", threshold_state(&one.status)),
                ("Reranker", html! { code { (part::text(&one.model)) } }),
                ("Of borderline pairs", html! { (one.n) ", mean " (format!("{:.4}", one.mean)) ", deviation " (format!("{:.4}", one.sigma)) }),
                ("Precision", html! { (share(one.precision)) }),
                ("Recall", html! { (share(one.recall)) }),
                ("Trial", trial(one.verification.as_ref())),
            ]))
            @if !one.refusals.is_empty() {
                p { "Reasons against it: " (one.refusals.iter().map(|why| part::text(why).replace('_', " ")).collect::<Vec<_>>().join(", ")) "." }
            }
            @if is_in_force { p { (tag(Tone::Good, "in force")) " Results are dropped below it." } }
            @else if one.verification.as_ref().is_none_or(|trial| !trial.passed) {
                p { "Before it can be deployed, a trial must pass:" } (command(&format!("gbrain calibrate verify {}", one.id)))
            }
            @else if may_deploy { (deploy_form(one)) }
            @else { p { "Deploying it needs a token of scope admin, or:" } (command(&format!("gbrain calibrate deploy {}", one.id))) }
        },
    )
}

fn deploy_form(one: &ScoreThreshold) -> Markup {
    html! {
        details.confirm {
            summary { "Deploy threshold " (one.id) }
            form method="post" action="/calibration/deploy" {
                (csrf_field())
                input type="hidden" name="id" value=(one.id);
                p { "Queries of this workspace will drop results that score below " (format!("{:.4}", one.threshold)) ", at once. Suites that watch the reranker run." }
                label.inline { input type="checkbox" name="confirm" value="yes" required; "Yes, put it in force" }
                p.more { button.primary type="submit" { "Deploy" } }
            }
        }
    }
}

fn threshold_state(word: &str) -> Markup {
    match word {
        "active" => tag(Tone::Good, "active"),
        "rejected" => tag(Tone::Bad, "rejected"),
        word => state(word),
    }
}

fn trial(trial: Option<&Trial>) -> Markup {
    html! {
        @match trial {
            None => span.dim { "not tried" },
            Some(trial) => {
                (state(if trial.passed { "pass" } else { "fail" })) " " (trial.hits) " of " (trial.n) " found, " (moment(&trial.at))
                @if !trial.failures.is_empty() { span.note { (trial.failures.join(", ").replace('_', " ")) } }
            }
        }
    }
}

fn history_section(history: &ThresholdList) -> Markup {
    let row = |one: &ScoreThreshold| {
        vec![
            html! { a href=(url("/calibration", &[("threshold", &one.id.to_string())])) { "threshold " (one.id) } },
            threshold_state(&one.status),
            html! { (format!("{:.4}", one.threshold)) },
            html! { code { (part::text(&one.model)) } },
            html! { (share(one.precision)) },
            html! { (share(one.recall)) },
            trial(one.verification.as_ref()),
            moment(one.decided_at.as_ref().unwrap_or(&one.created_at)),
        ]
    };
    let rows: Vec<Vec<Markup>> = history.thresholds.iter().map(row).collect();
    let head =
        ["Threshold", "Status", "Value", "Reranker", "Precision", "Recall", "Trial", "Last change"];
    section("history", "History", "Newest first.", &table("Thresholds", "thresholds", &head, &rows))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn threshold(passed: bool) -> Value {
        json!({ "id": 3, "model": "voyage:<x>", "status": "candidate", "threshold": 0.42, "n": 30, "mean": 0.5, "sigma": 0.08,
            "created_at": "2026-11-18T02:00:00Z", "decided_at": null, "precision": 0.9, "recall": 0.8, "refusals": [],
            "verification": { "at": "2026-11-18T03:00:00Z", "target": "local", "passed": passed, "failures": [], "n": 20, "hits": 20 } })
    }

    fn html(passed: bool, may_deploy: bool) -> String {
        let bins: Vec<Value> = (0..10).map(|at| json!({ "from": 0.0, "to": 0.1, "relevant": at, "borderline": 1, "irrelevant": 10 - at })).collect();
        let body = json!({ "state": "not_deployed", "reranker": "voyage:<x>", "set_threshold": 0.0, "set_for": null,
            "pairs": { "relevant": 5, "borderline": 30, "irrelevant": 9 }, "missing": 0, "in_force": null, "shown": threshold(passed),
            "score_drop": null, "histogram": bins,
            "scores": [{ "pair": 1, "label": "relevant", "score": 0.9 }, { "pair": 2, "label": "irrelevant", "score": 0.2 }] });
        let history = json!({ "thresholds": [threshold(passed)] });
        let page = page(
            &serde_json::from_value(body).unwrap(),
            &serde_json::from_value(history).unwrap(),
            may_deploy,
        );
        page.header.into_string() + &page.main.into_string()
    }

    #[test]
    fn a_threshold_that_passed_is_deployed_with_confirmation() {
        let html = html(true, true);
        for part in [
            "threshold 0.420",
            "action=\"/calibration/deploy\"",
            "name=\"confirm\"",
            "required",
            "20 of 20 found",
            "90.0%",
            "href=\"/calibration?threshold=3\"",
            "voyage:&lt;x&gt;",
            "Precision and recall along",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn others_see_the_command() {
        assert!(html(true, false).contains("gbrain calibrate deploy 3"));
        let untried = html(false, true);
        assert!(
            untried.contains("gbrain calibrate verify 3")
                && !untried.contains("/calibration/deploy"),
            "{untried}"
        );
    }

    #[test]
    fn without_scores_the_page_says_what_is_next() {
        let body = json!({ "state": "no_reranker", "reranker": null, "set_threshold": 0.0, "pairs": {}, "missing": 30 });
        let page = page(
            &serde_json::from_value(body).unwrap(),
            &ThresholdList { thresholds: Vec::new() },
            true,
        );
        assert!(page.main.into_string().contains("models.rerank"));
    }
}
