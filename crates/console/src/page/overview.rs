//! The overview: what is measured, its status, and what needs attention.

use maud::{Markup, html};
use serde::Deserialize;

use super::alerts::{Alert, AlertList};
use super::incidents::IncidentList;
use super::probe::ProbeHistory;
use super::runs::{RunEntry, RunList};
use super::spending::{SpendingReport, dollars};
use super::suites::{
    Suite, SuiteList, SuiteTrends, last_verdict, last_words, verdict_counts, with_trend, word_tag,
};
use crate::chart::days::{DayAmount, bars, calendar};
use crate::chart::line;
use crate::part::{
    self, Tone, command, count, facts, heading, moment, page_name, percent_encoded, section, state,
    table, tag, thousands, url,
};
use crate::shell::{Page, Section};

/// Suites with a trend; the others are listed by name.
const WITH_TREND: usize = 40;
/// Alerts and incidents that are listed.
const LISTED: usize = 6;

/// `GET /v1/eval/status`.
#[derive(Debug, Deserialize)]
pub struct EvalStatus {
    pub capture: bool,
    pub captures: u64,
    pub capture_failures_24h: u64,
    pub baselines: u64,
    pub labels: u64,
}

/// `GET /v1/capture-days`.
#[derive(Debug, Deserialize)]
pub struct CaptureDays {
    pub from: String,
    pub to: String,
    pub days: Vec<CaptureDay>,
}

/// Captures of a day.
#[derive(Debug, Deserialize)]
pub struct CaptureDay {
    pub day: String,
    pub stored: u64,
    pub failed: u64,
}

/// `GET /v1/changes`.
#[derive(Debug, Deserialize)]
pub struct PageChanges {
    pub changes: Vec<PageChange>,
}

/// A change of a page.
#[derive(Debug, Deserialize)]
pub struct PageChange {
    pub page: String,
    pub title: String,
    pub change: String,
    pub at: String,
}

/// The API responses that the overview shows. Those of scope admin are `None` for other readers.
#[derive(Debug)]
pub struct Overview {
    pub suites: SuiteList,
    pub trends: SuiteTrends,
    pub status: EvalStatus,
    pub captures: CaptureDays,
    pub alerts: AlertList,
    pub incidents: Option<IncidentList>,
    pub probe: ProbeHistory,
    pub runs: RunList,
    pub spending: Option<SpendingReport>,
    pub changes: PageChanges,
}

pub fn page(data: &Overview) -> Page {
    let page = Page { title: "Overview".to_owned(), section: Section::Overview, ..Page::default() };
    if data.is_new() {
        return Page {
            header: first_header(),
            main: first_steps(),
            command: "gbrain doctor".to_owned(),
            ..page
        };
    }
    Page {
        command: "gbrain doctor".to_owned(),
        header: header(data),
        main: html! {
            (attention(data))
            (suite_section(data))
            (run_section(data))
            (capture_section(data))
            (spending_section(data.spending.as_ref()))
            (change_section(&data.changes))
        },
        ..page
    }
}

impl Overview {
    /// Whether nothing was imported, asked or measured yet.
    fn is_new(&self) -> bool {
        self.suites.suites.is_empty()
            && self.runs.jobs.is_empty()
            && self.probe.runs.is_empty()
            && self.alerts.alerts.is_empty()
            && self.captures.days.is_empty()
            && self.changes.changes.is_empty()
            && self.status.captures == 0
    }

    fn firing(&self) -> impl Iterator<Item = &Alert> {
        self.alerts.alerts.iter().filter(|alert| alert.state == "firing")
    }

    fn count_suites(&self, word: &str) -> usize {
        self.suites.suites.iter().filter(|suite| suite.word() == word).count()
    }

    /// The state of everything, and one sentence about it.
    fn verdict(&self) -> (Tone, String) {
        let (failed, broken, firing) =
            (self.count_suites("fail"), self.count_suites("broken"), self.firing().count());
        let inconclusive = self.count_suites("inconclusive");
        let part = |n: usize, one: &str, many: &str| (n > 0).then(|| count(n as u64, one, many));
        let bad = [
            part(failed, "suite fails", "suites fail"),
            part(broken, "suite is broken", "suites are broken"),
            part(firing, "alert fires", "alerts fire"),
        ];
        let bad: Vec<String> = bad.into_iter().flatten().collect();
        match (bad.is_empty(), inconclusive) {
            (false, _) => (Tone::Bad, format!("{}.", bad.join(", "))),
            (true, 0) if self.count_suites("pass") == 0 => {
                (Tone::Neutral, "Nothing has been measured by a suite yet.".to_owned())
            }
            (true, 0) => {
                (Tone::Good, "Every suite that ran passed, and no alert fires.".to_owned())
            }
            (true, n) => (
                Tone::Warning,
                format!("{} inconclusive.", count(n as u64, "suite is", "suites are")),
            ),
        }
    }
}

fn header(data: &Overview) -> Markup {
    let (tone, why) = data.verdict();
    let title = match tone {
        Tone::Bad => "Needs attention",
        Tone::Warning => "Inconclusive",
        Tone::Good => "All well",
        _ => "Overview",
    };
    let (firing, incidents) =
        (data.firing().count(), data.incidents.as_ref().map(|all| all.incidents.len()));
    let mut all = verdict_counts(&data.suites.suites);
    all.push(("Alerts firing", html! { a href="/alerts" { (firing) } }));
    if let Some(open) = incidents {
        all.push(("Incidents open", html! { a href="/incidents?state=open" { (open) } }));
    }
    all.push(("Captures", html! { a href="/captures" { (thousands(data.status.captures)) } }));
    all.push(("Labels", html! { a href="/labels" { (thousands(data.status.labels)) } }));
    html! {
        div class=(tone.class()) { (heading("Overview", title, Some(tone), &why)) }
        (facts(&all))
    }
}

/// Alerts that fire and incidents that are open.
fn attention(data: &Overview) -> Markup {
    let firing: Vec<&Alert> = data.firing().collect();
    let alert = |alert: &&Alert| {
        html! {
            li {
                (state(&alert.severity)) " " a href=(url("/alerts", &[("key", &alert.key)])) { (part::text(alert.title())) }
                @if alert.silenced { " " (tag(Tone::Neutral, "silenced")) }
                span.note { "since " (moment(&alert.since)) @if alert.failing_count > 0 { ", " (count(alert.failing_count, "failing case", "failing cases")) }
                    @if let Some(run) = alert.run { ", " a href={ "/suite-runs/" (run) } { "run " (run) } } }
            }
        }
    };
    let open = data.incidents.iter().flat_map(|all| &all.incidents);
    section(
        "attention",
        "Alerts and incidents",
        "",
        &html! {
            @if firing.is_empty() { p { (tag(Tone::Good, "quiet")) " No alerts are firing." } }
            @else {
                ul.plain { @for one in firing.iter().take(LISTED) { (alert(one)) } }
                @if firing.len() > LISTED { p.more { a href="/alerts" { "All " (firing.len()) " alerts that fire" } } }
            }
            @for incident in open.clone().take(LISTED) {
                p.more { (tag(Tone::Warning, "incident")) " " a href={ "/incidents/" (incident.id) } { (part::text(&incident.title)) } " open since " (moment(&incident.opened_at)) }
            }
            @if data.alerts.deliveries.dead > 0 {
                p.more { (tag(Tone::Bad, "not delivered")) " " a href="/alerts?state=dead#messages" { (count(data.alerts.deliveries.dead, "message", "messages")) } " could not be delivered." }
            }
        },
    )
}

fn suite_section(data: &Overview) -> Markup {
    let mut suites: Vec<&Suite> = data.suites.suites.iter().collect();
    suites.sort_by_key(|suite| (suite.urgency(), suite.name.as_str()));
    let (shown, rest) = suites.split_at(suites.len().min(WITH_TREND));
    let row = |suite: &&Suite| {
        let trend = data.trends.suites.iter().find(|one| one.suite == suite.name);
        let measure = trend.and_then(|one| one.measures.first());
        vec![
            html! { a href=(suite.href()) { (part::text(&suite.name)) } },
            last_verdict(suite),
            html! {
                @match measure {
                    Some(measure) => { (with_trend(measure, line::sparkline)) span.note { (part::text(&measure.measure)) " " (last_words(measure)) } },
                    None => span.dim { "no trend yet" },
                }
            },
        ]
    };
    let rows: Vec<Vec<Markup>> = shown.iter().map(row).collect();
    section(
        "suites",
        "Suites",
        "Worst first. The band is the 95% interval, the line the alert threshold.",
        &html! {
            @if suites.is_empty() {
                p { "This workspace has no suites." }
                (command("gbrain suites create --name smoke --type smoke --owner @search --trigger manual"))
            }
            (table("Suites", "overview-suites", &["Suite", "Last run", "Trend"], &rows))
            @if !rest.is_empty() {
                h3 { "And " (count(rest.len() as u64, "more suite", "more suites")) }
                ul.names { @for suite in rest { li { (word_tag(suite.word())) " " a href=(suite.href()) { (part::text(&suite.name)) } } } }
            }
        },
    )
}

/// The last gate, the last replay and the nightly probe.
fn run_section(data: &Overview) -> Markup {
    let rows: Vec<Vec<Markup>> = ["gate", "replay"]
        .into_iter()
        .map(|kind| last_run(kind, &data.runs.jobs))
        .chain([probe_row(&data.probe)])
        .collect();
    section(
        "runs",
        "Gate, replay and probe",
        "",
        &table("Last runs", "runs", &["What", "Last", "State", "When"], &rows),
    )
}

fn last_run(kind: &str, runs: &[RunEntry]) -> Vec<Markup> {
    let name = if kind == "gate" { "Gate" } else { "Replay" };
    match runs.iter().find(|run| run.kind == kind) {
        None => vec![
            html! { (name) },
            html! { span.dim { "none on this server" } },
            html! { code { "gbrain eval " (kind) @if kind == "gate" { " --baseline FILE" } @else { " --against FILE" } } },
            html! {},
        ],
        Some(run) => vec![
            html! { (name) },
            html! { a href={ "/runs/" (run.id) } { (kind) " " (run.id) } },
            state(&run.state),
            moment(&run.created_at),
        ],
    }
}

fn probe_row(probe: &ProbeHistory) -> Vec<Markup> {
    let link = html! { a href="/probe" { "history" } };
    match probe.runs.first() {
        None if probe.enabled => vec![
            html! { "Nightly probe" },
            link,
            html! { span.dim { "has not run yet" } },
            html! {},
        ],
        None => vec![
            html! { "Nightly probe" },
            link,
            html! { span.dim { "off" } },
            html! { code { "gbrain config set autopilot.nightly_quality_probe.enabled true" } },
        ],
        Some(run) => vec![
            html! { "Nightly probe" },
            html! { (link) (probe.sparkline()) },
            html! { (state(&run.event.outcome)) span.note { (run.event.counts()) } },
            moment(&run.event.ts),
        ],
    }
}

fn capture_section(data: &Overview) -> Markup {
    let EvalStatus { capture, capture_failures_24h, baselines, .. } = &data.status;
    let days = &data.captures;
    let amount = |day: &String| {
        let own = days.days.iter().find(|one| one.day == *day);
        DayAmount {
            day: day.clone(),
            amount: own.map_or(0.0, |one| one.stored as f64),
            part: own.map_or(0.0, |one| one.failed as f64),
        }
    };
    let amounts: Vec<DayAmount> = calendar(&days.from, &days.to).iter().map(amount).collect();
    let today = days.days.iter().find(|one| one.day == days.to);
    let failures = match capture_failures_24h {
        0 => html! { (tag(Tone::Good, "none")) },
        n => html! { (tag(Tone::Bad, &thousands(*n))) " " code { "gbrain doctor" } },
    };
    section(
        "captures",
        "Captures",
        "Questions of remote callers, which gates and replays ask again.",
        &html! {
            (facts(&[
                ("Capture", if *capture { tag(Tone::Good, "on") } else { tag(Tone::Warning, "off") }),
                ("Today", html! { (today.map_or(0, |day| day.stored)) }),
                ("Failed in 24 hours", failures),
                ("Baselines", html! { (baselines) }),
            ]))
            @if days.days.is_empty() { p.more { "Nothing was captured in the last 30 days." @if !capture { " Turn it on:" } } @if !capture { (command("GBRAIN_CONTRIBUTOR_MODE=1 gbrain serve")) } }
            @else { (bars(&amounts, None, "Captures by day", |amount| format!("{amount:.0}"))) p.more { a href="/captures" { "All captures" } } }
        },
    )
}

fn spending_section(spending: Option<&SpendingReport>) -> Markup {
    let Some(spending) = spending else { return html! {} };
    section(
        "spending",
        "Spending",
        "",
        &html! {
            (facts(&[
                ("Today", html! { a href="/spending" { (dollars(spending.today_usd)) } " of " (dollars(spending.max_usd_per_day)) }),
                ("30 days", html! { a href="/spending" { (dollars(spending.usd)) } }),
            ]))
            (spending.day_bars())
        },
    )
}

fn change_section(changes: &PageChanges) -> Markup {
    let row = |change: &PageChange| {
        vec![
            html! { a href={ "/pages/" (percent_encoded(&change.page)) } { (page_name(&change.page)) } span.note { (part::text(&change.title)) } },
            html! { (change.change) },
            moment(&change.at),
        ]
    };
    let rows: Vec<Vec<Markup>> = changes.changes.iter().map(row).collect();
    section(
        "changes",
        "Recent page changes",
        "",
        &html! {
            @if rows.is_empty() { p { "No page has changed." } (command("gbrain import DIR")) }
            (table("Recent changes", "changes", &["Page", "Change", "When"], &rows))
        },
    )
}

fn first_header() -> Markup {
    heading(
        "Overview",
        "Nothing is here yet",
        None,
        "This workspace has no pages, no captures and no runs. Four commands change that.",
    )
}

/// What to do in an empty workspace.
fn first_steps() -> Markup {
    let steps = [
        (
            "Import pages",
            "A folder of Markdown, text or chat exports becomes pages.",
            "gbrain import DIR",
        ),
        (
            "Ask something",
            "Answers come with their pages and passages.",
            "gbrain query \"who owns the billing service?\"",
        ),
        (
            "Capture questions",
            "Questions of agents over MCP and HTTP are stored, scrubbed, as the rows of a regression test.",
            "GBRAIN_CONTRIBUTOR_MODE=1 gbrain serve",
        ),
        (
            "Gate a change",
            "The queries of a baseline are run again: the gate fails when answers got worse.",
            "gbrain eval export --since 7d > captured.ndjson\ngbrain baseline publish --from captured.ndjson --to mine.baseline.ndjson --label mine --why \"first baseline\"\ngbrain eval gate --baseline mine.baseline.ndjson",
        ),
    ];
    html! {
        @for (at, (title, why, what)) in steps.iter().enumerate() {
            (section(&format!("step-{}", at + 1), &format!("{}. {title}", at + 1), why, &html! {
                @for line in what.lines() { (command(line)) }
            }))
        }
        p.more { "To look around first: " code { "gbrain demo" } " shows captures, a baseline and a gate in the terminal." }
    }
}

#[cfg(test)]
#[path = "overview_tests.rs"]
mod tests;
