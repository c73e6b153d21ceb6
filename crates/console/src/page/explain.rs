//! The ranking of a query: what each stage did to each page, and what other settings would move.

use std::collections::HashMap;

use maud::{Markup, html};
use serde::Deserialize;

use super::memory::{command_line, page_link, titled_link};
use crate::chart::contributions::{Contribution, bar, legend};
use crate::part::{self, Tone, count, empty, facts, heading, section, table, tag, url};
use crate::shell::{Page, Section};

/// `POST /v1/explain`.
#[derive(Debug, Deserialize)]
pub struct Explanation {
    pub answer: ExplainedAnswer,
    /// The ranking with the live settings; none when no other setting is tried.
    pub live: Option<Vec<LivePage>>,
    #[serde(default)]
    pub settings: Vec<TriedSetting>,
    #[serde(default)]
    pub left_out: Vec<String>,
}

/// The ranking with the tried settings.
#[derive(Debug, Deserialize)]
pub struct ExplainedAnswer {
    pub intent: String,
    pub retrieval_mode_resolved: String,
    pub grade: String,
    #[serde(default)]
    pub degraded: Vec<DegradedEntry>,
    pub hits: Vec<ExplainedHit>,
    pub why_not: Option<WhyNotEntry>,
}

/// A stage that could not do its work.
#[derive(Debug, Deserialize)]
pub struct DegradedEntry {
    pub stage: String,
    pub reason: String,
}

/// A page of the ranking.
#[derive(Debug, Deserialize)]
pub struct ExplainedHit {
    pub rank: usize,
    pub source_id: String,
    pub slug: String,
    pub title: String,
    pub score: f64,
    pub evidence: String,
    #[serde(default)]
    pub trace: Vec<StageEntry>,
}

impl ExplainedHit {
    fn name(&self) -> String {
        format!("{}::{}", self.source_id, self.slug)
    }
}

/// The effect of a stage on a page.
#[derive(Debug, Deserialize)]
pub struct StageEntry {
    pub stage: String,
    pub rank: Option<usize>,
    pub score: Option<f64>,
    pub note: String,
    #[serde(default)]
    pub parts: Vec<ScorePartEntry>,
}

/// A part of a score: an amount that is added, or a factor.
#[derive(Debug, Deserialize)]
pub struct ScorePartEntry {
    pub name: String,
    pub adds: Option<f64>,
    pub times: Option<f64>,
}

/// Why a page is not in the answer.
#[derive(Debug, Deserialize)]
pub struct WhyNotEntry {
    pub page: String,
    pub stage: String,
    pub verdict: String,
    #[serde(default)]
    pub trace: Vec<StageEntry>,
}

/// A page of the ranking with the live settings.
#[derive(Debug, Deserialize)]
pub struct LivePage {
    pub page: String,
    pub title: String,
    pub rank: usize,
}

/// A setting that may be tried.
#[derive(Debug, Deserialize)]
pub struct TriedSetting {
    pub name: String,
    pub reason: String,
    pub value: f64,
    pub live: f64,
    pub default: f64,
    pub min: f64,
    pub max: f64,
}

impl TriedSetting {
    fn is_changed(&self) -> bool {
        self.value != self.live
    }

    /// The step of a slider, or `any` if the live value is between two steps.
    fn step(&self) -> String {
        let span = self.max - self.min;
        let step =
            [1.0, 0.1, 0.01, 0.001].into_iter().find(|step| span / step >= 90.0).unwrap_or(0.001);
        let steps = (self.live - self.min) / step;
        if (steps - steps.round()).abs() < 1e-6 { step.to_string() } else { "any".to_owned() }
    }
}

/// `POST /v1/baselines/{name}/try`.
#[derive(Debug, Deserialize)]
pub struct SettingsTrial {
    pub baseline: String,
    pub rows: u64,
    pub compared: u64,
    pub skipped: u64,
    pub changed: u64,
    pub first_changed: u64,
    pub as_recorded_live: u64,
    pub as_recorded_tried: u64,
    pub is_complete: bool,
    #[serde(default)]
    pub worst: Vec<RowChange>,
}

/// A row whose answer would change.
#[derive(Debug, Deserialize)]
pub struct RowChange {
    pub query: String,
    #[serde(default)]
    pub live: Vec<String>,
    #[serde(default)]
    pub tried: Vec<String>,
}

/// `GET /v1/baselines`.
#[derive(Debug, Default, Deserialize)]
pub struct BaselineList {
    pub documents: Vec<BaselineEntry>,
}

/// A stored baseline.
#[derive(Debug, Deserialize)]
pub struct BaselineEntry {
    pub name: String,
}

/// What the reader asked for: the parameters of the URL.
#[derive(Debug, Default, Clone)]
pub struct ExplainQuery {
    pub q: String,
    /// `query` or `search`.
    pub operation: String,
    pub limit: String,
    /// The page whose absence is to be explained.
    pub page: String,
    pub baseline: String,
    /// Settings as they are in the URL, without their prefix.
    pub settings: Vec<(String, String)>,
}

/// The answers that the page shows.
#[derive(Debug, Default)]
pub struct ExplainView<'a> {
    pub query: ExplainQuery,
    pub explanation: Option<&'a Explanation>,
    pub trial: Option<&'a SettingsTrial>,
    /// The baselines that the reader may choose.
    pub baselines: &'a [BaselineEntry],
}

/// The prefix of settings in the URL.
pub const SETTING_PREFIX: &str = "s.";

pub fn page(view: &ExplainView<'_>) -> Page {
    let query = &view.query;
    Page {
        title: "Explain a ranking".to_owned(),
        section: Section::Explain,
        command: command(query),
        header: heading(
            "",
            "Explain",
            None,
            "What each stage of a search does to each page, and what other settings would move. Nothing here is captured or changed.",
        ),
        controls: controls(view),
        main: match view.explanation {
            Some(explanation) => content(view, explanation),
            None => empty(
                "Enter a query to see its ranking explained.",
                "gbrain query 'who owns the berth planner?' --explain",
            ),
        },
        ..Page::default()
    }
}

fn command(query: &ExplainQuery) -> String {
    if query.q.is_empty() {
        return String::new();
    }
    let operation = if query.operation == "search" { "gbrain search" } else { "gbrain query" };
    command_line(
        &format!("{operation} --untrusted --explain"),
        &[("--limit", &query.limit), ("--why-not", &query.page), ("", &query.q)],
    )
}

fn controls(view: &ExplainView<'_>) -> Markup {
    let query = &view.query;
    html! {
        form.explain method="get" action="/explain" data-update="main" {
            div.row {
                label { "Query" input type="search" name="q" size="44" required value=(query.q); }
                (select("operation", "Operation", &query.operation, &[("", "query: the whole pipeline"), ("search", "search: words only")]))
                (select("limit", "Pages", &query.limit, &[("", "10"), ("25", "25"), ("50", "50")]))
                label { "Why is this page not there?" input name="page" size="26" value=(query.page) placeholder="source::slug"; }
                @if !view.baselines.is_empty() {
                    label { "Baseline to try on"
                        select name="baseline" {
                            option value="" { "none" }
                            @for baseline in view.baselines { option value=(baseline.name) selected[baseline.name == query.baseline] { (part::text(&baseline.name)) } }
                        }
                    }
                }
                button.primary type="submit" { "Explain" }
            }
            @if let Some(explanation) = view.explanation { (sliders(query, &explanation.settings)) }
        }
    }
}

fn select(name: &str, label: &str, chosen: &str, options: &[(&str, &str)]) -> Markup {
    html! {
        label { (label)
            select name=(name) { @for (value, text) in options { option value=(value) selected[*value == chosen] { (text) } } }
        }
    }
}

const GROUPS: [(&str, &[(&str, &str)]); 3] = [
    (
        "Weights",
        &[
            ("words_weight", "Words"),
            ("vectors_weight", "Meaning"),
            ("vectors_weight_entity", "Meaning, for a person or thing"),
            ("vectors_weight_relational", "Meaning, for a relation"),
            ("vectors_chat_factor", "Meaning in chats, times"),
            ("graph_weight", "Links"),
        ],
    ),
    (
        "Boosts",
        &[
            ("title_boost", "Title holds the query"),
            ("recency_boost", "Recent page"),
            ("recency_half_life_days", "Days until recency halves"),
            ("window_boost", "Dated in the days named"),
            ("backlink_boost", "Pages that link to it"),
            ("boost_max", "Most of all boosts"),
        ],
    ),
    (
        "Details",
        &[
            ("bm25_k1", "Repeated words (k1)"),
            ("bm25_b", "Length of a page (b)"),
            ("exact_weight", "Exact word forms"),
            ("page_weight", "Whole page beside its best passage"),
            ("vectors_least", "Least nearness in meaning"),
            ("graph_hop_factor", "Second step of a link"),
            ("graph_expired_factor", "Links that have ended"),
            ("pool", "Pages from each arm"),
            ("duplicate_overlap", "Shared words of a duplicate"),
            ("cut_ratio", "Cut below this share of the first"),
        ],
    ),
];

fn sliders(query: &ExplainQuery, settings: &[TriedSetting]) -> Markup {
    let changed = settings.iter().filter(|setting| setting.is_changed()).count();
    html! {
        details.settings open[changed > 0] {
            summary { span.query.title { "Try other settings" } @if changed > 0 { " " (tag(Tone::Accent, &count(changed as u64, "changed", "changed"))) } }
            div.groups {
                @for (group, names) in GROUPS {
                    fieldset {
                        legend { (group) }
                        @for (name, label) in names {
                            @if let Some(setting) = settings.iter().find(|setting| setting.name == *name) { (slider(setting, label)) }
                        }
                    }
                }
            }
            p.row { button type="submit" { "Try" } a.button href=(plain_url(query)) { "Back to the live settings" } }
        }
    }
}

fn slider(setting: &TriedSetting, label: &str) -> Markup {
    let id = format!("s-{}", setting.name);
    html! {
        div.slider {
            label for=(id) { (label) " " span.dim { "(live " (setting.live) ")" } }
            output for=(id) { (setting.value) }
            input id=(id) type="range" name=(format!("{SETTING_PREFIX}{}", setting.name)) min=(setting.min) max=(setting.max) step=(setting.step()) value=(setting.value) title=(setting.reason);
        }
    }
}

/// The same query with the live settings.
fn plain_url(query: &ExplainQuery) -> String {
    let fields = [
        ("q", query.q.as_str()),
        ("operation", &query.operation),
        ("limit", &query.limit),
        ("page", &query.page),
        ("baseline", &query.baseline),
    ];
    url("/explain", &fields)
}

/// Another query with the same settings.
fn same_settings(query: &ExplainQuery, q: &str) -> String {
    let names: Vec<String> =
        query.settings.iter().map(|(name, _)| format!("{SETTING_PREFIX}{name}")).collect();
    let settings =
        names.iter().zip(&query.settings).map(|(name, (_, value))| (name.as_str(), value.as_str()));
    let fields: Vec<(&str, &str)> =
        [("q", q), ("baseline", query.baseline.as_str())].into_iter().chain(settings).collect();
    url("/explain", &fields)
}

fn content(view: &ExplainView<'_>, explanation: &Explanation) -> Markup {
    html! {
        (why_not(explanation.answer.why_not.as_ref()))
        (ranking(&view.query, explanation))
        (moves(explanation))
        (change(view, &explanation.settings))
        (stages(&explanation.answer))
    }
}

// The parts of a score.

const WORDS: Contribution =
    Contribution { class: "words", letter: "W", name: "words", amount: 0.0 };
const MEANING: Contribution =
    Contribution { class: "meaning", letter: "M", name: "meaning", amount: 0.0 };
const LINKS: Contribution =
    Contribution { class: "links", letter: "L", name: "links", amount: 0.0 };
const BOOSTS: Contribution =
    Contribution { class: "boosts", letter: "B", name: "boosts", amount: 0.0 };
const LEGEND: [Contribution; 4] = [WORDS, MEANING, LINKS, BOOSTS];

/// What the arms add and the boosts change, in that order; the amounts add up to the score.
fn contributions(score: f64, trace: &[StageEntry]) -> Vec<Contribution> {
    let mut parts: Vec<Contribution> = Vec::new();
    let mut sum = 0.0;
    for part in trace.iter().flat_map(|step| &step.parts) {
        let amount = match (part.adds, part.times) {
            (Some(share), _) => share,
            (None, Some(factor)) => sum * (factor - 1.0),
            (None, None) => 0.0,
        };
        let kind = match part.name.as_str() {
            _ if part.adds.is_none() => BOOSTS,
            "vectors" => MEANING,
            "graph" => LINKS,
            _ => WORDS,
        };
        sum += amount;
        parts.push(Contribution { amount, ..kind });
    }
    // A search has no parts: its score is that of the words.
    if parts.is_empty() && score != 0.0 {
        parts.push(Contribution { amount: score, ..WORDS });
    }
    parts
}

fn amount_of(parts: &[Contribution], kind: &Contribution) -> f64 {
    parts.iter().filter(|part| part.class == kind.class).map(|part| part.amount).sum()
}

fn ranking(query: &ExplainQuery, explanation: &Explanation) -> Markup {
    let answer = &explanation.answer;
    if answer.hits.is_empty() {
        return html! { div.empty { p { "Nothing found for " (part::query(&query.q)) ". " a href="/pages" { "Browse the memory" } "." } } };
    }
    let parts: Vec<Vec<Contribution>> =
        answer.hits.iter().map(|hit| contributions(hit.score, &hit.trace)).collect();
    let added =
        |parts: &Vec<Contribution>| parts.iter().map(|part| part.amount.max(0.0)).sum::<f64>();
    let best = parts.iter().map(added).fold(0.0, f64::max);
    let ranks: HashMap<&str, usize> =
        explanation.live.iter().flatten().map(|page| (page.page.as_str(), page.rank)).collect();
    let rows: Vec<Vec<Markup>> = answer
        .hits
        .iter()
        .zip(&parts)
        .map(|(hit, parts)| {
            ranking_row(hit, parts, best, explanation.live.is_some().then_some(&ranks))
        })
        .collect();
    let mut head =
        vec!["Rank", "Page", "Score in parts", "Words", "Meaning", "Links", "Boosts", "Score"];
    if explanation.live.is_some() {
        head.push("Live rank");
    }
    let body = html! {
        (about(explanation))
        (legend(&LEGEND))
        (table("the ranking in parts", "contributions", &head, &rows))
        p.more { "The parts of a row add up to its score. A page whose name is the query comes first, whatever it scores." }
    };
    section(
        "ranking",
        if explanation.live.is_some() { "Ranking with the tried settings" } else { "Ranking" },
        "",
        &body,
    )
}

fn ranking_row(
    hit: &ExplainedHit,
    parts: &[Contribution],
    best: f64,
    live: Option<&HashMap<&str, usize>>,
) -> Vec<Markup> {
    let number = |value: f64| html! { @if value == 0.0 { span.dim { "0" } } @else { (format!("{value:.4}")) } };
    let name = hit.name();
    let mut row = vec![
        html! { (hit.rank) },
        html! { (titled_link(&name, &hit.title)) @if is_named(hit) { (tag(Tone::Accent, "its name")) } },
        bar(parts, best, ""),
    ];
    row.extend(LEGEND.iter().map(|kind| number(amount_of(parts, kind))));
    row.push(html! { strong { (format!("{:.4}", hit.score)) } });
    if let Some(ranks) = live {
        row.push(match ranks.get(name.as_str()) {
            Some(rank) if *rank == hit.rank => html! { (rank) },
            Some(rank) => html! { (rank) " " (tag(Tone::Accent, if *rank > hit.rank { "moves up" } else { "moves down" })) },
            None => tag(Tone::Good, "not there"),
        });
    }
    row
}

fn is_named(hit: &ExplainedHit) -> bool {
    hit.trace.iter().any(|step| step.stage == "names")
}

fn about(explanation: &Explanation) -> Markup {
    let answer = &explanation.answer;
    html! {
        (facts(&[
            ("Kind of question", html! { (answer.intent.replace('_', " ")) }),
            ("Searched by", html! { (answer.retrieval_mode_resolved) }),
            ("Evidence of the first page", html! { (answer.grade) }),
        ]))
        @for stage in &answer.degraded { p { (tag(Tone::Warning, "left out")) " " (stage.stage.replace('_', " ")) ": " (stage.reason.replace('_', " ")) } }
        @for stage in &explanation.left_out { p { (tag(Tone::Warning, "left out")) " " (stage) ": it calls a paid model, so answers of this brain may have another order" } }
    }
}

/// What moved, in words.
fn moves(explanation: &Explanation) -> Markup {
    let Some(live) = &explanation.live else { return html! {} };
    let ranks: HashMap<&str, usize> =
        live.iter().map(|page| (page.page.as_str(), page.rank)).collect();
    let mut lines: Vec<(Markup, String)> = Vec::new();
    let mut found: Vec<String> = Vec::new();
    for hit in &explanation.answer.hits {
        let name = hit.name();
        match ranks.get(name.as_str()) {
            Some(rank) if *rank == hit.rank => {}
            Some(rank) => lines.push((page_link(&name), format!("rank {rank} to {}", hit.rank))),
            None => lines.push((page_link(&name), format!("new, at rank {}", hit.rank))),
        }
        found.push(name);
    }
    for page in live.iter().filter(|page| !found.contains(&page.page)) {
        lines.push((
            page_link(&page.page),
            format!(
                "no longer among the first {}; was at rank {}",
                explanation.answer.hits.len().max(live.len()),
                page.rank
            ),
        ));
    }
    let n = lines.len() as u64;
    let moved = count(n, "page is in another place", "pages are in other places");
    let body = html! {
        @if lines.is_empty() {
            p { "Nothing: the same pages in the same order as with the live settings." }
        } @else {
            ul.plain.moves { @for (page, what) in &lines { li { (page) ": " (what) } } }
        }
    };
    let lead = if n == 0 { String::new() } else { format!("{moved} than with the live settings.") };
    section("moves", "What moves", &lead, &body)
}

/// The change as commands, and the rows of a baseline that it would change.
fn change(view: &ExplainView<'_>, settings: &[TriedSetting]) -> Markup {
    let changed: Vec<&TriedSetting> =
        settings.iter().filter(|setting| setting.is_changed()).collect();
    if changed.is_empty() {
        let chosen = !view.query.baseline.is_empty();
        return html! { @if chosen { (section("baseline", "Baseline", "", &html! { p { "Change a setting to see how many rows of the baseline it would change." } })) } };
    }
    let commands: Vec<String> = changed
        .iter()
        .map(|setting| format!("gbrain config set search.{} {}", setting.name, setting.value))
        .collect();
    let row = |setting: &&TriedSetting| {
        vec![
            html! { code { "search." (setting.name) } span.note { (setting.reason) } },
            html! { (setting.live) },
            html! { strong { (setting.value) } },
            html! { (setting.default) },
        ]
    };
    let rows: Vec<Vec<Markup>> = changed.iter().map(row).collect();
    html! {
        (section("change", "The change", "Nothing is set by trying. To set it:", &html! {
            @for command in &commands { (part::command(command)) }
            (table("changed settings", "settings", &["Setting", "Live", "Tried", "Default"], &rows))
        }))
        @if let Some(trial) = view.trial { (baseline(&view.query, trial)) }
    }
}

fn baseline(query: &ExplainQuery, trial: &SettingsTrial) -> Markup {
    let name = part::text(&trial.baseline);
    let lead = format!(
        "This would change {} of {} of baseline {name}.",
        part::thousands(trial.changed),
        count(trial.compared, "row", "rows")
    );
    let row = |row: &RowChange| {
        vec![
            html! { a href=(same_settings(query, &row.query)) { (part::query(&row.query)) } },
            first_page(&row.live),
            first_page(&row.tried),
            html! { (changes(row)) },
        ]
    };
    let rows: Vec<Vec<Markup>> = trial.worst.iter().map(row).collect();
    let body = html! {
        (facts(&[
            ("Another first page", html! { (part::thousands(trial.first_changed)) }),
            ("As recorded, live settings", html! { (part::thousands(trial.as_recorded_live)) }),
            ("As recorded, tried settings", html! { (part::thousands(trial.as_recorded_tried)) }),
            ("Not asked", html! { (part::thousands(trial.skipped)) }),
        ]))
        @if !trial.is_complete {
            p { (tag(Tone::Warning, "not all rows")) " " (part::thousands(trial.compared + trial.skipped)) " of " (part::thousands(trial.rows)) " rows were asked before the limit of rows or time. " "A replay asks all of them." }
        }
        (table("changed rows of the baseline", "rows", &["Query", "First page, live", "First page, tried", "Change"], &rows))
        @if (trial.worst.len() as u64) < trial.changed { p.more { "Shown: the " (trial.worst.len()) " rows that change most." } }
    };
    section("baseline", "Baseline", &lead, &body)
}

fn first_page(pages: &[String]) -> Markup {
    html! { @match pages.first() { Some(page) => { (page_link(page)) } None => span.dim { "nothing" } } }
}

/// What changes in a row, in words.
fn changes(row: &RowChange) -> String {
    let new = row.tried.iter().filter(|page| !row.live.contains(page)).count();
    let moved = row
        .tried
        .iter()
        .enumerate()
        .filter(|(at, page)| row.live.contains(page) && row.live.get(*at) != Some(page))
        .count();
    match (new, moved) {
        (0, moved) => format!("{moved} moved"),
        (new, 0) => format!("{new} new"),
        (new, moved) => format!("{new} new, {moved} moved"),
    }
}

fn why_not(why: Option<&WhyNotEntry>) -> Markup {
    let Some(why) = why else { return html! {} };
    let (tone, place) = if why.stage == "answer" {
        (Tone::Good, "in the answer")
    } else {
        (Tone::Warning, "not in the answer")
    };
    let body = html! {
        p { (page_link(&why.page)) ": " (tag(tone, place)) " " (part::text(&why.verdict)) "." }
        @if why.stage != "answer" { p { "It fell out at the stage " strong { (part::text(&why.stage)) } "." } }
        (stage_table(&why.trace))
    };
    section("why-not", "Why not this page", "", &body)
}

/// What each stage did to each page, in words.
fn stages(answer: &ExplainedAnswer) -> Markup {
    let body = html! {
        @for hit in &answer.hits {
            details {
                summary {
                    span.dim { "rank " (hit.rank) }
                    span.query.title { bdi { (part::text(if hit.title.is_empty() { &hit.slug } else { &hit.title })) } }
                    span.tags { (super::memory::reason(&hit.evidence)) }
                }
                div.inside { (stage_table(&hit.trace)) }
            }
        }
    };
    section(
        "stages",
        "What each stage did",
        "The rank and score of a page after each stage.",
        &body,
    )
}

fn stage_table(trace: &[StageEntry]) -> Markup {
    let row = |step: &StageEntry| {
        vec![
            html! { (part::text(&step.stage)) },
            html! { @match step.rank { Some(rank) => { (rank) } None => span.dim { "not ranked" } } },
            html! { @match step.score { Some(score) => { (format!("{score:.4}")) } None => span.dim { "none" } } },
            html! { (part::text(&step.note)) },
        ]
    };
    let rows: Vec<Vec<Markup>> = trace.iter().map(row).collect();
    table(
        "effect of each stage",
        "trace",
        &["Stage", "Rank after it", "Score after it", "What it did"],
        &rows,
    )
}

#[cfg(test)]
mod tests;
