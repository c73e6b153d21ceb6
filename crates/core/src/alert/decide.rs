//! What a run, or the lack of one, changes.

use jiff::{SignedDuration, Timestamp};

use super::{Alert, AlertStatus, Severity, Subject, dedup_key};
use crate::gate::Verdict;
use crate::suite::measure::Measure;
use crate::suite::run::RunMeasure;
use crate::suite::threshold::Status;
use crate::suite::{SuiteBreach, SuiteRun};

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

/// The alerts of a workspace, and which keys are silenced.
#[derive(Debug, Clone, Default)]
pub struct AlertStates<'a> {
    /// Every alert that was ever raised.
    pub alerts: &'a [Alert],
    /// Keys, or beginnings of keys that end with `*`, that are not told now.
    pub silenced: &'a [String],
}

/// What is done about an alert.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// It has begun, or goes on and is told again.
    Raise(Alert),
    /// It goes on and is not told again, or is silenced.
    Keep(Alert),
    Resolve(Alert),
}

impl Change {
    /// The alert as it is now.
    pub fn alert(&self) -> &Alert {
        match self {
            Self::Raise(alert) | Self::Keep(alert) | Self::Resolve(alert) => alert,
        }
    }

    /// Whether somebody is told.
    pub fn is_told(&self) -> bool {
        match self {
            Self::Raise(_) => true,
            Self::Keep(_) => false,
            Self::Resolve(alert) => alert.told_at.is_some(),
        }
    }
}

/// A run that was recorded.
#[derive(Debug, Clone, Copy)]
pub struct EvaluatedRun<'a> {
    pub id: i64,
    pub run: &'a SuiteRun,
}

/// What a run changes. Alerts of its suite that it says nothing about stay as they are, and so do all where
/// it asked somebody else than the suite's own target, or somebody stopped it.
pub fn decide(
    looked: &EvaluatedRun<'_>,
    states: &AlertStates<'_>,
    policy: &Policy,
    now: Timestamp,
) -> Vec<Change> {
    let run = looked.run;
    if !run.counts() {
        return Vec::new();
    }
    let causes = run.causes();
    let breaches = causes.iter().map(|breach| of_breach(looked, breach, states, now));
    let raised: Vec<Alert> = of_outage(looked, now)
        .into_iter()
        .chain(breaches)
        .chain(of_run(looked, now))
        .chain(of_weeks(looked, now))
        .collect();
    let mut changes: Vec<Change> =
        raised.iter().map(|alert| raise(alert.clone(), states, policy, now)).collect();
    let is_own = |one: &&Alert| one.suite == run.suite && one.workspace == run.workspace;
    let others =
        states.alerts.iter().filter(is_own).filter(|known| {
            known.is_firing() && !raised.iter().any(|alert| alert.key == known.key)
        });
    changes.extend(others.filter_map(|known| recovered(looked, known, now)));
    changes
}

/// What a run that shows an alert's subject to be well changes: the alert is resolved, or stays open and
/// says why.
fn recovered(looked: &EvaluatedRun<'_>, known: &Alert, now: Timestamp) -> Option<Change> {
    let (summary, figures) = well(looked, &known.subject)?;
    if let Some(why) = keeps_open(looked, known) {
        return Some(Change::Keep(Alert { still_open: Some(why), ..known.clone() }));
    }
    let run = looked.run;
    let (run, target, owners) = (Some(looked.id), Some(run.target.clone()), run.owners.clone());
    Some(resolve(Alert { run, target, owners, figures, ..over(known, summary) }, now))
}

/// Why a run that found nothing wrong does not resolve an alert: it has no verdict, measured only a part, or
/// asked fewer queries than were asked when it fired.
fn keeps_open(looked: &EvaluatedRun<'_>, known: &Alert) -> Option<String> {
    let EvaluatedRun { id, run } = *looked;
    let Alert { subject, key, .. } = known;
    if *subject == Subject::Silent {
        return None;
    }
    let reasons: Vec<&str> = run.inconclusive_reasons.iter().map(|reason| reason.name()).collect();
    let is_part = !reasons.is_empty() && *subject != Subject::Run;
    if run.verdict == Verdict::Inconclusive || is_part {
        return Some(format!(
            "run {id} found nothing wrong with it, and resolves nothing: {}",
            reasons.join(", ")
        ));
    }
    let (asked, fired) = counts(run, known)?;
    (asked < fired).then(|| {
        format!(
            "run {id} asked {asked}, and {fired} were asked when it fired: ask as many again, or close it: \
             `gbrain --workspace {} alerts close {key} --reason TEXT`",
            run.workspace
        )
    })
}

/// How many queries or pairs a run asked about an alert's subject, and how many were asked when it fired;
/// none where that is not known, or enough are asked.
fn counts(run: &SuiteRun, known: &Alert) -> Option<(usize, usize)> {
    let Alert { subject, figures, asked: fired, .. } = known;
    let queries = fired.map(|fired| (run.asked, fired));
    // How many queries have an answer key, and how many pairs there are, the answers can't change.
    let counted = match subject {
        Subject::Measure {
            measure: measure @ (Measure::RecallAt5 | Measure::RecallAt10 | Measure::RerankRelevance),
            segment,
        } if segment == "all" => {
            let is_it = |one: &&RunMeasure| one.measure == *measure && one.segment == *segment;
            let now = run.measures.iter().find(is_it).map(|one| one.n as usize);
            let n = figures.iter().find(|(name, _)| name == "n");
            now.zip(n.and_then(|(_, n)| n.parse().ok()))
        }
        _ => None,
    };
    [queries, counted].into_iter().flatten().find(|(now, fired)| now < fired)
}

/// When a suite last ran, and since when it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastRun {
    /// The number of its last run, and when that was recorded.
    pub ran: Option<(i64, Timestamp)>,
    /// When it was last switched on or written anew.
    pub changed: Timestamp,
}

/// What silence changes: a suite that should have run and has not for so many days.
pub fn silent(
    run: (&str, &str, &[String]),
    heard: &LastRun,
    days: u32,
    states: &AlertStates<'_>,
    policy: &Policy,
    now: Timestamp,
) -> Option<Change> {
    let (workspace, suite, owners) = run;
    let longest = SignedDuration::from_hours(24 * i64::from(days));
    let ran = heard.ran.filter(|(_, at)| *at >= heard.changed);
    let last = ran.map_or(heard.changed, |(_, at)| at);
    let is_silent = now.duration_since(last) > longest;
    let key = dedup_key(workspace, suite, &Subject::Silent);
    let known = states.firing(&key);
    let changed = format!("it was switched on or changed at {:.0}", heard.changed);
    if !is_silent {
        let known = known?;
        let summary = match ran {
            Some((_, at)) => format!("suite {suite} of {workspace} ran at {at:.0}"),
            None => format!("suite {suite} of {workspace} is waited for anew: {changed}"),
        };
        let run = ran.map(|(id, _)| id);
        return Some(resolve(Alert { run, ..over(known, summary) }, now));
    }
    let since = ran.map_or(changed, |(_, at)| format!("{at:.0}"));
    let summary = format!(
        "suite {suite} of {workspace} has not run since {since}, for more than {days} days"
    );
    let whose = (workspace, suite, owners);
    let alert = Alert::new(whose, Subject::Silent, Severity::Error, summary, now);
    Some(raise(alert, states, policy, now))
}

fn raise(alert: Alert, states: &AlertStates<'_>, policy: &Policy, now: Timestamp) -> Change {
    let known = states.firing(&alert.key);
    // What got worse is told at once, and so is what was kept back.
    let is_worse = known.is_some_and(|known| known.held || alert.severity > known.severity);
    let alert = match known {
        None => alert,
        Some(known) => Alert {
            since: known.since,
            updated_at: known.updated_at,
            told_at: known.told_at,
            channels: known.channels.clone(),
            // The largest run that shows it says how many queries a recovery takes.
            asked: alert.asked.max(known.asked),
            ..alert
        },
    };
    let is_over = |told: Timestamp| now.duration_since(told) >= policy.cooldown;
    let is_due = alert.told_at.is_none_or(is_over) || is_worse;
    if is_due && !states.is_silenced(&alert.key) {
        Change::Raise(Alert { told_at: Some(now), held: false, ..alert })
    } else {
        Change::Keep(Alert { held: is_due, ..alert })
    }
}

/// What goes on, was kept back, and may be told now: nobody waits for the next run.
pub fn released(states: &AlertStates<'_>, now: Timestamp) -> Vec<Change> {
    let may_be_told = |one: &&Alert| one.is_firing() && one.held && !states.is_silenced(&one.key);
    let told = |one: &Alert| Alert { told_at: Some(now), held: false, ..one.clone() };
    states.alerts.iter().filter(may_be_told).map(|one| Change::Raise(told(one))).collect()
}

/// Takes back that a suite does not run: nobody waits for it any more.
pub fn withdrawn(known: &Alert, now: Timestamp) -> Change {
    let Alert { suite, workspace, .. } = known;
    let summary = format!(
        "suite {suite} of {workspace} is not waited for any more: it is off, gone, or names no days"
    );
    resolve(over(known, summary), now)
}

/// Takes an alert back because somebody says so, and why. What is still wrong is raised again by the next
/// run that measures it.
pub fn closed(known: &Alert, reason: &str, now: Timestamp) -> Change {
    let summary = format!("{}; closed by hand: {reason}", known.summary);
    resolve(Alert { summary, still_open: None, ..known.clone() }, now)
}

/// An alert as it ends: what is well, and nothing of what was not.
fn over(known: &Alert, summary: String) -> Alert {
    let (run, figures, failing, failing_count) = (None, Vec::new(), Vec::new(), 0);
    let (asked, still_open) = (None, None);
    Alert { summary, run, figures, failing, failing_count, asked, still_open, ..known.clone() }
}

fn resolve(alert: Alert, now: Timestamp) -> Change {
    Change::Resolve(Alert { state: AlertStatus::Resolved, since: now, held: false, ..alert })
}

impl AlertStates<'_> {
    /// The alert of a key, if it fires.
    fn firing(&self, key: &str) -> Option<&Alert> {
        self.alerts.iter().find(|alert| alert.key == key && alert.is_firing())
    }

    /// Whether a key is not told now.
    pub fn is_silenced(&self, key: &str) -> bool {
        self.silenced.iter().any(|one| is_meant(one, key))
    }
}

/// The alert that a run gives of which nothing can be read.
pub fn unreadable(
    whose: (&str, &str, &[String]),
    run: i64,
    states: &AlertStates<'_>,
    policy: &Policy,
    now: Timestamp,
) -> Change {
    let summary = format!("{} could not say: what is kept of run {run} can't be read", whose.1);
    let alert = Alert::new(whose, Subject::Run, Severity::Warning, summary, now);
    raise(Alert { run: Some(run), ..alert }, states, policy, now)
}

fn is_meant(pattern: &str, key: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => key.starts_with(start),
        None => pattern == key,
    }
}

/// What a run shows to be well of what an alert is about, in a line and in figures; none if it does not: what
/// was not measured is not over.
fn well(looked: &EvaluatedRun<'_>, subject: &Subject) -> Option<(String, Vec<(String, String)>)> {
    let run = looked.run;
    let has_verdict = run.verdict != Verdict::Inconclusive;
    let said = |is_so: bool, summary: String| is_so.then_some((summary, Vec::new()));
    match subject {
        Subject::Measure { measure, segment } => {
            let is_well = |one: &&RunMeasure| {
                let is_it = one.measure == *measure && one.segment == *segment;
                is_it && one.decides && matches!(one.status, Status::Ok | Status::Warn)
            };
            let found = run.measures.iter().find(is_well)?;
            Some(measured(run, found, "within"))
        }
        Subject::Unreachable => {
            let answers = format!("target {} answers: {} queries", run.target, run.asked);
            said(run.asked > 0 && run.errors.is_empty(), answers)
        }
        Subject::Run => {
            said(has_verdict, format!("{} has a verdict again: {}", run.suite, run.verdict))
        }
        Subject::Silent => {
            let SuiteRun { suite, workspace, finished_at, .. } = run;
            let at = finished_at.as_deref().unwrap_or_default();
            said(true, format!("suite {suite} of {workspace} ran at {at}"))
        }
        Subject::Recalibrate => {
            let steady = format!("{}: recall and precision do not fall week after week", run.suite);
            said(has_verdict && run.recalibrate.is_empty(), steady)
        }
    }
}

/// The alert of a breach: of all cases, or of the segment that fires already.
fn of_breach(
    looked: &EvaluatedRun<'_>,
    breach: &SuiteBreach<'_>,
    states: &AlertStates<'_>,
    now: Timestamp,
) -> Alert {
    let SuiteRun { workspace, suite, .. } = looked.run;
    let subject =
        |one: &RunMeasure| Subject::Measure { measure: one.measure, segment: one.segment.clone() };
    let fires =
        |one: &&RunMeasure| states.firing(&dedup_key(workspace, suite, &subject(one))).is_some();
    let all = std::iter::once(breach.measure).chain(breach.also.iter().copied());
    let told = all.clone().find(fires).unwrap_or(breach.measure);
    let severity =
        if all.clone().any(|one| one.pages) { Severity::Critical } else { Severity::Error };
    let (summary, mut figures) = measured(looked.run, told, "past");
    let also: Vec<&str> =
        all.filter(|one| one.segment != told.segment).map(|one| one.segment.as_str()).collect();
    if !also.is_empty() {
        figures.push(("same cases as".to_owned(), also.join(", ")));
    }
    alert(looked, subject(told), severity, (summary, figures), now)
}

/// The alert of a target that did not answer.
fn of_outage(looked: &EvaluatedRun<'_>, now: Timestamp) -> Option<Alert> {
    let outage = looked.run.outage()?;
    let severity = if outage.pages { Severity::Critical } else { Severity::Error };
    let summary = format!("{}: {}", looked.run.suite, outage.in_words());
    let mut figures =
        vec![("unanswered".to_owned(), format!("{} of {}", outage.unanswered, outage.asked))];
    figures.extend(outage.errors.iter().map(|(kind, n)| (kind.name().to_owned(), n.to_string())));
    Some(alert(looked, Subject::Unreachable, severity, (summary, figures), now))
}

/// A measure and where it stands, in a line and in figures.
fn measured(run: &SuiteRun, one: &RunMeasure, stands: &str) -> (String, Vec<(String, String)>) {
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

fn printed(measure: &RunMeasure) -> String {
    let Some(value) = measure.value else {
        let is_known = measure.unanswered == 0;
        return if is_known { "not a number" } else { "not known" }.to_owned();
    };
    match (measure.hits, measure.baseline) {
        (Some(hits), _) => format!("{:.1}% ({hits})", value * 100.0),
        (None, Some(baseline)) => format!("{value:.3} (was {baseline:.3})"),
        (None, None) => format!("{value:.1} ms"),
    }
}

fn of_run(looked: &EvaluatedRun<'_>, now: Timestamp) -> Option<Alert> {
    let run = looked.run;
    if run.verdict != Verdict::Inconclusive {
        return None;
    }
    let reasons: Vec<&str> = run.inconclusive_reasons.iter().map(|reason| reason.name()).collect();
    let short = run.sample.iter().flat_map(|sample| sample.remarks()).next();
    let short = short.map(|remark| format!(" ({remark})")).unwrap_or_default();
    let summary = format!("{} could not say: {}{short}", run.suite, reasons.join(", "));
    let asked = ("asked".to_owned(), format!("{} of {}", run.asked, run.planned));
    Some(alert(looked, Subject::Run, Severity::Warning, (summary, vec![asked]), now))
}

fn of_weeks(looked: &EvaluatedRun<'_>, now: Timestamp) -> Option<Alert> {
    let summary = format!(
        "{}: recall or precision fell week after week; calibrate the reranker again",
        looked.run.suite
    );
    let falls = !looked.run.recalibrate.is_empty();
    let said = (summary, Vec::new());
    falls.then(|| alert(looked, Subject::Recalibrate, Severity::Warning, said, now))
}

fn alert(
    looked: &EvaluatedRun<'_>,
    subject: Subject,
    severity: Severity,
    (summary, figures): (String, Vec<(String, String)>),
    now: Timestamp,
) -> Alert {
    let SuiteRun { suite, workspace, owners, target, .. } = looked.run;
    let failing = || looked.run.failing();
    let smaller = looked.run.sample.as_ref().and_then(|sample| sample.smaller());
    let summary = match &smaller {
        Some(smaller) if !summary.contains(smaller.as_str()) => format!("{summary} ({smaller})"),
        _ => summary,
    };
    let sample = smaller.map(|smaller| ("sample".to_owned(), smaller));
    Alert {
        target: Some(target.clone()),
        run: Some(looked.id),
        asked: Some(looked.run.asked),
        figures: figures.into_iter().chain(sample).collect(),
        failing: failing().take(TOLD).map(|case| case.query_id.clone()).collect(),
        failing_count: failing().count(),
        ..Alert::new((workspace, suite, owners), subject, severity, summary, now)
    }
}

#[cfg(test)]
pub(super) mod tests;
