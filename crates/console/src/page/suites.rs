//! Suites: the list with a heat map of days, and one suite with its definition, runs and trends.

use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use crate::chart::days::calendar;
use crate::chart::heat::{self, DayCell, DayVerdict};
use crate::chart::line::{self, AxisUnit, ThresholdLine, Trend, TrendPoint};
use crate::part::{
    self, Tone, command, count, csrf_field, empty, facts, heading, moment, percent_encoded,
    section, state, table, tag, url,
};
use crate::shell::{Page, Section};

/// Suites on one page of the list.
const LISTED: usize = 50;

/// `GET /v1/suites`.
#[derive(Debug, Deserialize)]
pub struct SuiteList {
    pub suites: Vec<Suite>,
}

/// A suite with its state.
#[derive(Debug, Deserialize)]
pub struct Suite {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub target: String,
    #[serde(default)]
    pub owners: Vec<String>,
    #[serde(default)]
    pub triggers: Vec<String>,
    pub registered: bool,
    pub enabled: bool,
    #[serde(default)]
    pub drift: Option<String>,
    #[serde(default)]
    pub problem: Option<String>,
    pub last_run: Option<SuiteRunRow>,
    #[serde(default)]
    pub next_run: Option<String>,
}

/// A run of a suite in one line.
#[derive(Debug, Deserialize)]
pub struct SuiteRunRow {
    pub id: i64,
    pub verdict: String,
    #[serde(default)]
    pub trigger: String,
    #[serde(default)]
    pub target: String,
    #[serde(default)]
    pub ad_hoc: bool,
    pub finished_at: String,
    #[serde(default)]
    pub inconclusive_reasons: Vec<String>,
    #[serde(default)]
    pub planned: u64,
    #[serde(default)]
    pub asked: u64,
    #[serde(default)]
    pub failing: u64,
    #[serde(default)]
    pub breaches: Vec<String>,
    #[serde(default)]
    pub recalibrate: bool,
}

/// `GET /v1/suite-days`.
#[derive(Debug, Deserialize)]
pub struct SuiteDays {
    pub from: String,
    pub to: String,
    pub suites: Vec<DaysOfSuite>,
}

/// The days of a suite on which it ran.
#[derive(Debug, Deserialize)]
pub struct DaysOfSuite {
    pub suite: String,
    pub days: Vec<Day>,
}

/// A day of a suite.
#[derive(Debug, Deserialize)]
pub struct Day {
    pub day: String,
    pub verdict: String,
    pub run: i64,
    pub runs: u64,
}

/// `GET /v1/suite-trends`.
#[derive(Debug, Deserialize)]
pub struct SuiteTrends {
    pub suites: Vec<TrendsOfSuite>,
}

/// The trends of a suite.
#[derive(Debug, Deserialize)]
pub struct TrendsOfSuite {
    pub suite: String,
    pub measures: Vec<MeasureTrend>,
}

/// A measure run by run, oldest first.
#[derive(Debug, Deserialize)]
pub struct MeasureTrend {
    pub measure: String,
    pub segment: String,
    pub unit: String,
    pub target: Option<f64>,
    pub alert: Option<f64>,
    pub status: String,
    pub points: Vec<Point>,
}

/// A measure in one run.
#[derive(Debug, Deserialize)]
pub struct Point {
    pub run: i64,
    pub at: String,
    pub verdict: String,
    pub value: Option<f64>,
    #[serde(default)]
    pub n: u64,
    pub interval: Option<[f64; 2]>,
}

/// `GET /v1/suites/{name}`.
#[derive(Debug, Deserialize)]
pub struct ShownSuite {
    pub suite: Suite,
    pub definition: Option<Value>,
    pub in_file: Option<Value>,
    #[serde(default)]
    pub jobs: Vec<SuiteJob>,
}

/// A queued or running job of a suite.
#[derive(Debug, Deserialize)]
pub struct SuiteJob {
    pub id: i64,
    pub state: String,
    pub done: u64,
    pub total: Option<u64>,
    pub created_by: String,
    pub created_at: String,
}

/// `GET /v1/suites/{name}/runs`.
#[derive(Debug, Deserialize)]
pub struct SuiteRuns {
    pub runs: Vec<SuiteRunRow>,
    pub next: Option<i64>,
}

/// What the list shows of all suites.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListView<'a> {
    /// The suite after which the page begins; empty for the first page.
    pub after: &'a str,
    /// Only suites with this state: a verdict, `broken`, `off` or `never`; empty for all.
    pub state: &'a str,
}

/// The list of suites.
pub fn list(suites: &SuiteList, days: &SuiteDays, view: ListView<'_>) -> Page {
    let chosen: Vec<&Suite> = suites
        .suites
        .iter()
        .filter(|suite| view.state.is_empty() || suite.word() == view.state)
        .collect();
    let begin =
        chosen.iter().position(|suite| suite.name.as_str() > view.after).unwrap_or(chosen.len());
    let begin = if view.after.is_empty() { 0 } else { begin };
    let shown = &chosen[begin..chosen.len().min(begin + LISTED)];
    let next = shown.last().filter(|_| begin + shown.len() < chosen.len());
    let next = next.map(|last| url("/suites", &[("state", view.state), ("after", &last.name)]));
    Page {
        title: "Suites".to_owned(),
        section: Section::Suites,
        command: "gbrain suites list".to_owned(),
        header: html! {
            (heading("", "Suites", None, "Checks against a target, by schedule, by events or on request."))
            (facts(&verdict_counts(&suites.suites)))
        },
        controls: state_filter(view.state),
        main: match shown.is_empty() {
            true if suites.suites.is_empty() => empty(
                "There are no suites in this workspace.",
                "gbrain suites create --name smoke --type smoke --owner @search --trigger manual",
            ),
            true => empty("No suite is in this state.", ""),
            false => html! {
                (section("suites", "Definitions and last verdicts", "", &suite_table(shown)))
                (section("days", "By day", &day_lead(days), &day_table(shown, days)))
                (drift_section(&suites.suites))
            },
        },
        pager: part::next_page(next.as_deref()),
        ..Page::default()
    }
}

impl Suite {
    /// The state in one word: the last verdict, or why there is none.
    pub(crate) fn word(&self) -> &str {
        match (&self.problem, &self.last_run) {
            (Some(_), _) => "broken",
            (None, Some(run)) => &run.verdict,
            (None, None) => "never",
        }
    }

    /// How urgent the suite is; lower is more urgent.
    pub(crate) fn urgency(&self) -> u8 {
        match self.word() {
            "fail" => 0,
            "broken" => 1,
            "inconclusive" => 2,
            "never" => 3,
            _ => 4,
        }
    }

    pub(crate) fn href(&self) -> String {
        format!("/suites/{}", percent_encoded(&self.name))
    }

    fn schedule(&self) -> String {
        match self.triggers.is_empty() {
            true => "none".to_owned(),
            false => self.triggers.join(", "),
        }
    }

    fn activity(&self) -> Markup {
        match (self.registered, self.enabled) {
            (_, true) => tag(Tone::Good, "on"),
            (true, false) => tag(Tone::Neutral, "off"),
            (false, false) => tag(Tone::Warning, "not registered"),
        }
    }
}

/// The word of a state that is no verdict, for readers.
pub(crate) fn word_tag(word: &str) -> Markup {
    match word {
        "never" => tag(Tone::Neutral, "never ran"),
        word => state(word),
    }
}

/// How many suites are in each state, each linked to those.
pub(crate) fn verdict_counts(suites: &[Suite]) -> Vec<(&'static str, Markup)> {
    let states = [
        ("fail", "Fail"),
        ("broken", "Broken"),
        ("inconclusive", "Inconclusive"),
        ("pass", "Pass"),
        ("never", "Never ran"),
    ];
    let of = |state: &str| suites.iter().filter(|suite| suite.word() == state).count();
    let link =
        |state: &str, n: usize| html! { a href=(url("/suites", &[("state", state)])) { (n) } };
    let counted = states.into_iter().map(|(state, name)| (name, of(state), state));
    counted.filter(|(_, n, _)| *n > 0).map(|(name, n, state)| (name, link(state, n))).collect()
}

fn state_filter(current: &str) -> Markup {
    let states = [
        ("", "all"),
        ("fail", "fail"),
        ("inconclusive", "inconclusive"),
        ("pass", "pass"),
        ("broken", "broken"),
        ("never", "never ran"),
    ];
    html! {
        form method="get" action="/suites" data-update="main" {
            label {
                "State"
                select name="state" {
                    @for (value, name) in states { option value=(value) selected[value == current] { (name) } }
                }
            }
            button type="submit" { "Show" }
        }
    }
}

fn suite_table(suites: &[&Suite]) -> Markup {
    let row = |suite: &&Suite| {
        vec![
            html! { a href=(suite.href()) { (part::text(&suite.name)) } span.note { (suite.kind.replace('_', " ")) " of " (part::text(&suite.target)) } },
            last_verdict(suite),
            html! { (suite.activity()) @if let Some(drift) = &suite.drift { " " (drift_tag(drift)) } },
            html! { code { (part::text(&suite.schedule())) } },
            html! { @match &suite.next_run { Some(at) => (moment(at)), None => span.dim { "-" } } },
            html! { (part::text(&suite.owners.join(", "))) },
        ]
    };
    let rows: Vec<Vec<Markup>> = suites.iter().map(row).collect();
    table(
        "Suites",
        "suites",
        &["Suite", "Last run", "Triggers active", "Schedule", "Next run", "Owners"],
        &rows,
    )
}

/// The last verdict of a suite with its run, cases and time.
pub(crate) fn last_verdict(suite: &Suite) -> Markup {
    html! {
        @match (&suite.problem, &suite.last_run) {
            (Some(problem), _) => { (tag(Tone::Bad, "broken")) span.note { (part::text(problem)) } },
            (None, None) => (tag(Tone::Neutral, "never ran")),
            (None, Some(run)) => {
                (state(&run.verdict)) " " a href={ "/suite-runs/" (run.id) } { "run " (run.id) }
                span.note { (moment(&run.finished_at)) (failing_words(run)) }
            }
        }
    }
}

fn failing_words(run: &SuiteRunRow) -> String {
    match run.failing {
        0 => format!(", {} asked", count(run.asked, "query", "queries")),
        n => format!(", {} of {} failing", part::thousands(n), count(run.asked, "case", "cases")),
    }
}

fn drift_tag(drift: &str) -> Markup {
    match drift {
        "not_in_file" => tag(Tone::Warning, "not in the file"),
        _ => tag(Tone::Warning, "differs from the file"),
    }
}

fn drift_section(suites: &[Suite]) -> Markup {
    let differing: Vec<&Suite> =
        suites.iter().filter(|suite| suite.drift.is_some() || !suite.registered).collect();
    let line = |suite: &&Suite| {
        html! {
            li {
                a href=(suite.href()) { (part::text(&suite.name)) } ": "
                @match suite.drift.as_deref() {
                    Some("not_in_file") => "registered, but not in the suites file.",
                    Some(_) => "the suites file describes it differently.",
                    None => "in the suites file, but not registered: its triggers do not fire.",
                }
            }
        }
    };
    let lead = "Triggers run what is registered; the command suites run reads the file.";
    section(
        "drift",
        "Differences between file and registry",
        lead,
        &html! {
            @if !differing.is_empty() { ul.plain { @for suite in differing.iter().take(LISTED) { (line(suite)) } } }
        },
    )
}

fn day_lead(days: &SuiteDays) -> String {
    format!(
        "The worst verdict of each day from {} to {}, in UTC. Days that did not pass link to their run.",
        days.from, days.to
    )
}

/// A row of cells for each suite, with the same in words.
fn day_table(suites: &[&Suite], days: &SuiteDays) -> Markup {
    let calendar = calendar(&days.from, &days.to);
    let none: &[Day] = &[];
    let rows: Vec<Vec<Markup>> = suites
        .iter()
        .map(|suite| {
            let own = days
                .suites
                .iter()
                .find(|one| one.suite == suite.name)
                .map_or(none, |one| &one.days);
            vec![
                html! { a href=(suite.href()) { (part::text(&suite.name)) } },
                heat::days(&cells(own, &calendar), calendar.len(), &day_words(own, calendar.len())),
                html! { span.note { (day_words(own, calendar.len())) } },
            ]
        })
        .collect();
    html! { (heat::legend()) (table("Verdicts by day", "heat", &["Suite", "Days", "In words"], &rows)) }
}

fn cells(days: &[Day], calendar: &[String]) -> Vec<DayCell> {
    let cell = |day: &Day| {
        Some(DayCell {
            at: calendar.iter().position(|one| *one == day.day)?,
            verdict: DayVerdict::of(&day.verdict),
            title: format!("{}: {}, {}", day.day, day.verdict, count(day.runs, "run", "runs")),
            href: format!("/suite-runs/{}", day.run),
        })
    };
    days.iter().filter_map(cell).collect()
}

fn day_words(days: &[Day], all: usize) -> String {
    let of = |verdict: DayVerdict| {
        days.iter().filter(move |day| DayVerdict::of(&day.verdict) == verdict)
    };
    let failed = of(DayVerdict::Fail).count();
    let last = of(DayVerdict::Fail)
        .next_back()
        .map(|day| format!(" (last {})", day.day))
        .unwrap_or_default();
    let (passed, inconclusive) =
        (of(DayVerdict::Pass).count(), of(DayVerdict::Inconclusive).count());
    let without = all.saturating_sub(days.len());
    format!(
        "{passed} passed, {inconclusive} inconclusive, {failed} failed{last}, {without} without a run"
    )
}

/// One suite. `may_run` says whether the reader may start a run.
pub fn show(shown: &ShownSuite, runs: &SuiteRuns, trends: &SuiteTrends, may_run: bool) -> Page {
    let suite = &shown.suite;
    let next = runs.next.map(|before| url(&suite.href(), &[("before", &before.to_string())]));
    Page {
        title: format!("Suite {}", part::text(&suite.name)),
        section: Section::Suites,
        command: format!("gbrain suites history {}", suite.name),
        header: suite_header(suite),
        controls: html! {
            @if may_run && suite.registered && suite.problem.is_none() {
                form method="post" action={ (suite.href()) "/runs" } {
                    (csrf_field())
                    button.primary type="submit" { "Run now" }
                }
            }
        },
        main: html! {
            (job_section(&shown.jobs))
            (section("trends", "Trends", TREND_LEAD, &trend_plots(trends)))
            (run_section(suite, runs))
            (definition_section(shown))
            (section("switch", "Change it", "", &switches(suite)))
        },
        pager: part::next_page(next.as_deref()),
        ..Page::default()
    }
}

const TREND_LEAD: &str = "Run by run, oldest first. The band is the 95% interval of a share. A square failed, a ring was inconclusive. The solid line across is the alert threshold, the dashed one the target.";

fn suite_header(suite: &Suite) -> Markup {
    let word = suite.word();
    let why = match (&suite.problem, &suite.last_run) {
        (Some(problem), _) => format!("It cannot run: {}", part::text(problem)),
        (None, None) => "It has not run yet.".to_owned(),
        (None, Some(run)) => why_of(run),
    };
    html! {
        div class=[(word != "never").then(|| Tone::of(word).class())] {
            (heading("Suite", &part::text(&suite.name), (word != "never").then(|| Tone::of(word)), &why))
        }
        (facts(&[
            ("Last run", last_verdict(suite)),
            ("Kind", html! { (suite.kind.replace('_', " ")) }),
            ("Target", html! { (part::text(&suite.target)) }),
            ("Triggers", html! { (suite.activity()) @if let Some(drift) = &suite.drift { " " (drift_tag(drift)) } }),
            ("Next run", html! { @match &suite.next_run { Some(at) => (moment(at)), None => "not scheduled" } }),
            ("Owners", html! { (part::text(&suite.owners.join(", "))) }),
        ]))
    }
}

fn why_of(run: &SuiteRunRow) -> String {
    let breaches = run.breaches.iter().map(|one| part::text(one)).collect::<Vec<_>>().join("; ");
    match run.verdict.as_str() {
        "fail" if !breaches.is_empty() => format!("Below its alert threshold: {breaches}."),
        "inconclusive" => {
            format!("Inconclusive: {}.", run.inconclusive_reasons.join(", ").replace('_', " "))
        }
        _ if run.recalibrate => {
            "Quality fell for several weeks: recalibrate the reranker.".to_owned()
        }
        _ => String::new(),
    }
}

fn job_section(jobs: &[SuiteJob]) -> Markup {
    section(
        "jobs",
        "In progress",
        "",
        &html! {
            @if !jobs.is_empty() {
                ul.plain {
                    @for job in jobs {
                        li {
                            (state(&job.state)) " job " (job.id) ", queued by " (part::text(&job.created_by)) " " (moment(&job.created_at)) ". "
                            span id={ "note-" (job.id) } { (job.done) @if let Some(total) = job.total { " of " (total) } " queries asked" }
                            progress aria-label={ "Progress of job " (job.id) } max=[job.total] value=[job.total.map(|_| job.done)]
                                data-events={ "/live/jobs/" (job.id) "/events" } data-note={ "note-" (job.id) } {}
                        }
                    }
                }
                p.more { "Without JavaScript, load the page again to see the progress." }
            }
        },
    )
}

/// Trends of a suite as drawings with their runs in words.
fn trend_plots(trends: &SuiteTrends) -> Markup {
    let measures = trends.suites.first().map_or(&[][..], |one| &one.measures);
    html! {
        @if measures.is_empty() { p.dim { "Nothing was measured yet." } }
        @else {
            div.plots.wide {
                @for measure in measures.iter().take(6) {
                    figure {
                        h3 { (name_of(measure)) " " (state(&measure.status)) }
                        (with_trend(measure, line::plot))
                        figcaption { (last_words(measure)) }
                    }
                }
            }
            @if measures.len() > 6 {
                details {
                    summary { (count(measures.len() as u64 - 6, "more measure", "more measures")) }
                    (measure_table(&measures[6..]))
                }
            }
        }
    }
}

fn measure_table(measures: &[MeasureTrend]) -> Markup {
    let row = |measure: &MeasureTrend| {
        vec![
            html! { (name_of(measure)) },
            state(&measure.status),
            with_trend(measure, line::sparkline),
            html! { (last_words(measure)) },
        ]
    };
    table(
        "Measures",
        "measures",
        &["Measure", "Status", "Trend", "Last value"],
        &measures.iter().map(row).collect::<Vec<_>>(),
    )
}

fn name_of(measure: &MeasureTrend) -> String {
    match measure.segment.as_str() {
        "all" => part::text(&measure.measure),
        segment => format!("{} of {}", part::text(&measure.measure), part::text(segment)),
    }
}

/// The last value with its interval, its thresholds and its number of cases.
pub(crate) fn last_words(measure: &MeasureTrend) -> String {
    let unit = AxisUnit::of(&measure.unit);
    let Some(last) = measure.points.iter().rfind(|point| point.value.is_some()) else {
        return "not measured".to_owned();
    };
    let mut words = unit.shown(last.value.unwrap_or_default());
    if let Some([low, high]) = last.interval {
        words.push_str(&format!(", between {} and {}", unit.shown(low), unit.shown(high)));
    }
    words.push_str(&format!(", n = {}", part::thousands(last.n)));
    if let Some(target) = measure.target {
        words.push_str(&format!("; target {}", unit.shown(target)));
    }
    if let Some(alert) = measure.alert {
        words.push_str(&format!("; alert beyond {}", unit.shown(alert)));
    }
    words
}

/// Draws a measure.
pub(crate) fn with_trend(measure: &MeasureTrend, draw: impl Fn(&Trend<'_>) -> Markup) -> Markup {
    let point = |point: &Point| TrendPoint {
        when: point.at.get(..10).unwrap_or_default().to_owned(),
        value: point.value,
        interval: point.interval,
        tone: Tone::of(&point.verdict),
    };
    let points: Vec<TrendPoint> = measure.points.iter().map(point).collect();
    let target =
        measure.target.map(|value| ThresholdLine { name: "target", value, is_alert: false });
    let alert = measure.alert.map(|value| ThresholdLine { name: "alert", value, is_alert: true });
    let thresholds: Vec<ThresholdLine<'_>> = target.into_iter().chain(alert).collect();
    let what = name_of(measure);
    draw(&Trend {
        what: &what,
        unit: AxisUnit::of(&measure.unit),
        points: &points,
        thresholds: &thresholds,
    })
}

fn run_section(suite: &Suite, runs: &SuiteRuns) -> Markup {
    let row = |run: &SuiteRunRow| {
        vec![
            html! { a href={ "/suite-runs/" (run.id) } { "run " (run.id) } },
            html! { (state(&run.verdict)) @if run.ad_hoc { " " (tag(Tone::Neutral, "other target")) } },
            moment(&run.finished_at),
            html! { (part::text(&run.trigger)) },
            html! { (run.asked) " of " (run.planned) },
            html! { (run.failing) },
            html! { (why_of(run)) },
        ]
    };
    let rows: Vec<Vec<Markup>> = runs.runs.iter().map(row).collect();
    let head = ["Run", "Verdict", "Recorded", "Trigger", "Asked", "Failing", "Why"];
    match rows.is_empty() {
        true => empty("It has no runs.", &format!("gbrain suites run {}", suite.name)),
        false => section(
            "runs",
            "Runs",
            "Newest first. A run against another target says nothing about the suite.",
            &table("Runs", "runs", &head, &rows),
        ),
    }
}

fn definition_section(shown: &ShownSuite) -> Markup {
    let registered = shown.suite.registered;
    section(
        "definition",
        "Definition",
        "",
        &html! {
            @if let Some(definition) = &shown.definition {
                p.lead { "What its triggers run. Keys that are not here have the default of its kind." }
                (keys(definition))
            }
            @if let Some(in_file) = &shown.in_file {
                h3 { @if registered { "In the suites file: different" } @else { "In the suites file: not registered" } }
                @if let Some(definition) = &shown.definition { (differences(definition, in_file)) } @else { (keys(in_file)) }
            }
        },
    )
}

fn value_shown(value: Option<&Value>) -> Markup {
    html! {
        @match value {
            None => span.dim { "not set" },
            Some(Value::String(text)) => code { (part::text(text)) },
            Some(value) => code { (part::text(&value.to_string())) },
        }
    }
}

fn keys(definition: &Value) -> Markup {
    let pairs = definition.as_object().into_iter().flatten();
    let row = |(key, value): (&String, &Value)| {
        vec![html! { code { (part::text(key)) } }, value_shown(Some(value))]
    };
    table("Definition", "definition", &["Key", "Value"], &pairs.map(row).collect::<Vec<_>>())
}

/// The keys of a definition that differ.
fn differences(registered: &Value, in_file: &Value) -> Markup {
    let none = serde_json::Map::new();
    let (ours, theirs) =
        (registered.as_object().unwrap_or(&none), in_file.as_object().unwrap_or(&none));
    let mut keys: Vec<&String> = ours.keys().chain(theirs.keys()).collect();
    keys.sort();
    keys.dedup();
    let differs = |key: &&&String| ours.get(**key) != theirs.get(**key);
    let row = |key: &&String| {
        vec![
            html! { code { (part::text(key)) } },
            value_shown(ours.get(*key)),
            value_shown(theirs.get(*key)),
        ]
    };
    let rows: Vec<Vec<Markup>> = keys.iter().filter(differs).map(row).collect();
    match rows.is_empty() {
        true => html! { p.dim { "Only defaults differ in how they are written." } },
        false => table("Differences", "differences", &["Key", "Registered", "In the file"], &rows),
    }
}

/// What changes the suite is in the file plane: the commands.
fn switches(suite: &Suite) -> Markup {
    let name = &suite.name;
    html! {
        @match (suite.registered, suite.enabled) {
            (_, true) => { p { "Stop its triggers:" } (command(&format!("gbrain suites disable {name}"))) },
            (true, false) => { p { "Let its triggers fire:" } (command(&format!("gbrain suites enable {name}"))) },
            (false, false) => { p { "Register it:" } (command(&format!("gbrain suites create --from {name}"))) },
        }
        @match suite.drift.as_deref() {
            Some("not_in_file") => { p { "Take it out of the registry:" } (command(&format!("gbrain suites remove {name}"))) },
            Some(_) => { p { "Register what the file says:" } (command(&format!("gbrain suites enable {name}"))) },
            None => {},
        }
    }
}

#[cfg(test)]
#[path = "suites_tests.rs"]
mod tests;
