//! What a run, or the lack of one, changes.

use jiff::{SignedDuration, Timestamp};

use super::{Alert, Severity, Subject, dedup_key};
use crate::format::suite::{SuiteRunBody, WireMeasure};
use crate::gate::Verdict;
use crate::suite::report::Reason;
use crate::suite::threshold::Status;

/// Ids of failing cases that a message tells.
const TOLD: usize = 5;

/// How often the same thing is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How long something that goes on is not told again.
    pub cooldown: SignedDuration,
}

impl Default for Policy {
    fn default() -> Self {
        Self { cooldown: SignedDuration::from_hours(4) }
    }
}

/// An alert that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// What it says.
    pub alert: Alert,
    /// Whether it goes on.
    pub is_firing: bool,
    /// Since when it is so.
    pub since: Timestamp,
    /// When it was last told.
    pub told: Option<Timestamp>,
    /// Whether there is something to tell that was kept back: by a silence, or because nobody was there.
    pub held: bool,
    /// Who was told that it goes on, and is told when it is over.
    pub channels: Vec<String>,
}

impl Known {
    /// The same, with what there is to tell kept back.
    #[must_use]
    pub fn kept_back(self, told: Option<Timestamp>) -> Self {
        Self { told, held: true, ..self }
    }
}

/// What is known, and which keys are not told now.
#[derive(Debug, Clone, Default)]
pub struct Board<'a> {
    /// Every alert that was ever raised.
    pub known: &'a [Known],
    /// Keys, or beginnings of keys that end with `*`, that are not told now.
    pub silenced: &'a [String],
}

/// What is done about an alert.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// It has begun, or goes on and is told again.
    Raise(Known),
    /// It goes on and is not told again, or is silenced.
    Keep(Known),
    /// It is over.
    Resolve(Known),
}

impl Change {
    /// The alert as it is now.
    pub fn known(&self) -> &Known {
        match self {
            Self::Raise(known) | Self::Keep(known) | Self::Resolve(known) => known,
        }
    }

    /// Whether somebody is told.
    pub fn is_told(&self) -> bool {
        match self {
            Self::Raise(_) => true,
            Self::Keep(_) => false,
            Self::Resolve(known) => known.told.is_some(),
        }
    }
}

/// A run that was recorded.
#[derive(Debug, Clone, Copy)]
pub struct Looked<'a> {
    /// Its number.
    pub id: i64,
    /// What it says.
    pub run: &'a SuiteRunBody,
    /// Whether weeks of falling recall or precision ask for a new threshold.
    pub recalibrate: bool,
}

/// What a run changes. Alerts of its suite that it says nothing about stay as they are, and so do all where
/// it asked somebody else than the suite's own target, or somebody stopped it.
pub fn decide(
    looked: &Looked<'_>,
    board: &Board<'_>,
    policy: &Policy,
    now: Timestamp,
) -> Vec<Change> {
    let run = looked.run;
    if !run.counts() {
        return Vec::new();
    }
    let raised: Vec<Alert> = run
        .breaches()
        .map(|breach| of_breach(looked, breach))
        .chain(of_run(looked))
        .chain(of_weeks(looked))
        .collect();
    let mut changes: Vec<Change> =
        raised.iter().map(|alert| raise(alert.clone(), board, policy, now)).collect();
    let is_own =
        |known: &&Known| known.alert.suite == run.suite && known.alert.workspace == run.workspace;
    let others = board.known.iter().filter(is_own).filter(|known| {
        known.is_firing && !raised.iter().any(|alert| alert.key == known.alert.key)
    });
    changes.extend(others.filter_map(|known| {
        let (summary, figures) = well(looked, &known.alert.subject)?;
        let (run, target, owners) = (Some(looked.id), Some(run.target.clone()), run.owners.clone());
        let alert = Alert { run, target, owners, figures, ..over(known, summary) };
        Some(resolve(&Known { alert, ..known.clone() }, now))
    }));
    changes
}

/// What was last heard of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// The number of its last run, and when that was recorded.
    pub ran: Option<(i64, Timestamp)>,
    /// When it was last switched on or written anew.
    pub changed: Timestamp,
}

/// What silence changes: a suite that should have run and has not for so many days.
pub fn silent(
    run: (&str, &str, &[String]),
    heard: &Heard,
    days: u32,
    board: &Board<'_>,
    policy: &Policy,
    now: Timestamp,
) -> Option<Change> {
    let (workspace, suite, owners) = run;
    let longest = SignedDuration::from_hours(24 * i64::from(days));
    let ran = heard.ran.filter(|(_, at)| *at >= heard.changed);
    let last = ran.map_or(heard.changed, |(_, at)| at);
    let is_silent = now.duration_since(last) > longest;
    let key = dedup_key(workspace, suite, &Subject::Silent);
    let known = board.known.iter().find(|known| known.alert.key == key && known.is_firing);
    let changed = format!("it was switched on or changed at {:.0}", heard.changed);
    if !is_silent {
        let known = known?;
        let summary = match ran {
            Some((_, at)) => format!("suite {suite} of {workspace} ran at {at:.0}"),
            None => format!("suite {suite} of {workspace} is waited for anew: {changed}"),
        };
        let alert = Alert { run: ran.map(|(id, _)| id), ..over(known, summary) };
        return Some(resolve(&Known { alert, ..known.clone() }, now));
    }
    let since = ran.map_or(changed, |(_, at)| format!("{at:.0}"));
    let summary = format!(
        "suite {suite} of {workspace} has not run since {since}, for more than {days} days"
    );
    let alert = bare((workspace, suite, owners), Subject::Silent, Severity::Error, summary);
    Some(raise(alert, board, policy, now))
}

fn raise(alert: Alert, board: &Board<'_>, policy: &Policy, now: Timestamp) -> Change {
    let known = board.known.iter().find(|known| known.alert.key == alert.key && known.is_firing);
    let since = known.map_or(now, |known| known.since);
    let told = known.and_then(|known| known.told);
    let channels = known.map_or_else(Vec::new, |known| known.channels.clone());
    // What got worse is told at once, and so is what was kept back.
    let is_worse = known.is_some_and(|known| known.held || alert.severity > known.alert.severity);
    let is_due = told.is_none_or(|told| now.duration_since(told) >= policy.cooldown) || is_worse;
    if is_due && !board.is_silenced(&alert.key) {
        Change::Raise(Known {
            alert,
            is_firing: true,
            since,
            told: Some(now),
            held: false,
            channels,
        })
    } else {
        Change::Keep(Known { alert, is_firing: true, since, told, held: is_due, channels })
    }
}

/// What goes on, was kept back, and may be told now: nobody waits for the next run.
pub fn released(board: &Board<'_>, now: Timestamp) -> Vec<Change> {
    let may_be_told =
        |known: &&Known| known.is_firing && known.held && !board.is_silenced(&known.alert.key);
    let told = |known: &Known| Known { told: Some(now), held: false, ..known.clone() };
    board.known.iter().filter(may_be_told).map(|known| Change::Raise(told(known))).collect()
}

/// Takes back that a suite does not run: nobody waits for it any more.
pub fn withdrawn(known: &Known, now: Timestamp) -> Change {
    let Alert { suite, workspace, .. } = &known.alert;
    let summary = format!(
        "suite {suite} of {workspace} is not waited for any more: it is off, gone, or names no days"
    );
    resolve(&Known { alert: over(known, summary), ..known.clone() }, now)
}

/// Takes an alert back because somebody says so, and why. What is still wrong is raised again by the next
/// run that measures it.
pub fn closed(known: &Known, reason: &str, now: Timestamp) -> Change {
    let summary = format!("{}; closed by hand: {reason}", known.alert.summary);
    let alert = Alert { summary, ..known.alert.clone() };
    resolve(&Known { alert, ..known.clone() }, now)
}

/// An alert as it ends: what is well, and nothing of what was not.
fn over(known: &Known, summary: String) -> Alert {
    let (run, figures, failing, failing_count) = (None, Vec::new(), Vec::new(), 0);
    Alert { summary, run, figures, failing, failing_count, ..known.alert.clone() }
}

fn resolve(known: &Known, now: Timestamp) -> Change {
    Change::Resolve(Known { is_firing: false, since: now, held: false, ..known.clone() })
}

impl Board<'_> {
    /// Whether a key is not told now.
    pub fn is_silenced(&self, key: &str) -> bool {
        self.silenced.iter().any(|one| is_meant(one, key))
    }
}

/// The alert that a run gives of which nothing can be read.
pub fn unreadable(
    whose: (&str, &str, &[String]),
    run: i64,
    board: &Board<'_>,
    policy: &Policy,
    now: Timestamp,
) -> Change {
    let summary = format!("{} could not say: what is kept of run {run} can't be read", whose.1);
    let alert = bare(whose, Subject::Run, Severity::Warning, summary);
    raise(Alert { run: Some(run), ..alert }, board, policy, now)
}

/// An alert that no run tells of.
fn bare(
    (workspace, suite, owners): (&str, &str, &[String]),
    subject: Subject,
    severity: Severity,
    summary: String,
) -> Alert {
    Alert {
        key: dedup_key(workspace, suite, &subject),
        subject,
        severity,
        workspace: workspace.to_owned(),
        suite: suite.to_owned(),
        target: None,
        owners: owners.to_vec(),
        summary,
        run: None,
        figures: Vec::new(),
        failing: Vec::new(),
        failing_count: 0,
    }
}

fn is_meant(pattern: &str, key: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => key.starts_with(start),
        None => pattern == key,
    }
}

/// What a run shows to be well of what an alert is about, in a line and in figures; none if it does not: what
/// was not measured is not over.
fn well(looked: &Looked<'_>, subject: &Subject) -> Option<(String, Vec<(String, String)>)> {
    let run = looked.run;
    let has_verdict = run.verdict != Verdict::Inconclusive;
    let said = |is_so: bool, summary: String| is_so.then_some((summary, Vec::new()));
    match subject {
        Subject::Measure(measure, segment) => {
            let is_well = |one: &&WireMeasure| {
                let is_it = one.measure == *measure && one.segment == *segment;
                is_it && one.decides && matches!(one.status, Status::Ok | Status::Warn)
            };
            let found = run.measures.iter().filter(|_| is_whole(run)).find(is_well)?;
            Some(measured(run, found, "within"))
        }
        Subject::Run => {
            said(has_verdict, format!("{} has a verdict again: {}", run.suite, run.verdict))
        }
        Subject::Silent => {
            let Looked { run: SuiteRunBody { suite, workspace, finished_at, .. }, .. } = looked;
            said(true, format!("suite {suite} of {workspace} ran at {finished_at}"))
        }
        Subject::Recalibrate => {
            let steady = format!("{}: recall and precision do not fall week after week", run.suite);
            said(has_verdict && !looked.recalibrate, steady)
        }
    }
}

/// Whether a run measured what it was to measure. What is left when slow or broken answers are missing
/// looks better than it is.
fn is_whole(run: &SuiteRunBody) -> bool {
    let is_part =
        |reason: &Reason| matches!(reason, Reason::OverTime | Reason::Errors | Reason::Degraded);
    !run.inconclusive_reasons.iter().any(is_part)
}

fn of_breach(looked: &Looked<'_>, breach: &WireMeasure) -> Alert {
    let subject = Subject::Measure(breach.measure, breach.segment.clone());
    let severity = if breach.pages { Severity::Critical } else { Severity::Error };
    let (summary, figures) = measured(looked.run, breach, "past");
    alert(looked, subject, severity, summary, figures)
}

/// A measure and where it stands, in a line and in figures.
fn measured(
    run: &SuiteRunBody,
    one: &WireMeasure,
    stands: &str,
) -> (String, Vec<(String, String)>) {
    let value = printed(one);
    let limit = one.alert.clone().unwrap_or_default();
    let summary = format!(
        "{} {}/{} is {value} (n = {}), {stands} its alert of {limit}",
        run.suite, one.measure, one.segment, one.n
    );
    let mut figures = vec![("value".to_owned(), value), ("n".to_owned(), one.n.to_string())];
    figures.extend(one.target.clone().map(|target| ("target".to_owned(), target)));
    figures.push(("alert".to_owned(), limit));
    (summary, figures)
}

fn printed(measure: &WireMeasure) -> String {
    let Some(value) = measure.value else { return "not a number".to_owned() };
    match (measure.hits, measure.baseline) {
        (Some(hits), _) => format!("{:.1}% ({hits})", value * 100.0),
        (None, Some(baseline)) => format!("{value:.3} (was {baseline:.3})"),
        (None, None) => format!("{value:.1} ms"),
    }
}

fn of_run(looked: &Looked<'_>) -> Option<Alert> {
    let run = looked.run;
    if run.verdict != Verdict::Inconclusive {
        return None;
    }
    let reasons: Vec<&str> = run.inconclusive_reasons.iter().map(|reason| reason.name()).collect();
    let summary = format!("{} could not say: {}", run.suite, reasons.join(", "));
    let asked = ("asked".to_owned(), format!("{} of {}", run.asked, run.planned));
    Some(alert(looked, Subject::Run, Severity::Warning, summary, vec![asked]))
}

fn of_weeks(looked: &Looked<'_>) -> Option<Alert> {
    let summary = format!(
        "{}: recall or precision fell week after week; calibrate the reranker again",
        looked.run.suite
    );
    looked
        .recalibrate
        .then(|| alert(looked, Subject::Recalibrate, Severity::Warning, summary, Vec::new()))
}

fn alert(
    looked: &Looked<'_>,
    subject: Subject,
    severity: Severity,
    summary: String,
    figures: Vec<(String, String)>,
) -> Alert {
    let SuiteRunBody { suite, workspace, owners, cases, target, .. } = looked.run;
    let failing = || cases.iter().filter(|case| case.failing);
    Alert {
        target: Some(target.clone()),
        run: Some(looked.id),
        figures,
        failing: failing().take(TOLD).map(|case| case.query_id.clone()).collect(),
        failing_count: failing().count(),
        ..bare((workspace, suite, owners), subject, severity, summary)
    }
}

#[cfg(test)]
pub(super) mod tests;
