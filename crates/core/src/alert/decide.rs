//! Decides how a run, or a missing run, changes alerts.

use jiff::{SignedDuration, Timestamp};

use super::{Alert, AlertSeverity, AlertStatus, AlertSubject, dedup_key};
use crate::gate::Verdict;
use crate::suite::measure::SuiteMeasure;
use crate::suite::run::RunMeasure;
use crate::suite::threshold::MeasureStatus;
use crate::suite::{SuiteBreach, SuiteRun};

/// Maximum number of failing case ids in a message.
const TOLD: usize = 5;

/// How often an ongoing alert notifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotifyPolicy {
    /// Minimum time between two notifications of an ongoing alert.
    pub cooldown: SignedDuration,
}

impl Default for NotifyPolicy {
    fn default() -> Self {
        Self { cooldown: SignedDuration::from_hours(4) }
    }
}

/// The alerts of a workspace and the active silences.
#[derive(Debug, Clone, Default)]
pub struct AlertStates<'a> {
    /// Every alert, firing or resolved.
    pub alerts: &'a [Alert],
    /// Silenced keys; a trailing `*` matches any ending.
    pub silenced: &'a [String],
}

/// A change of an alert.
#[derive(Debug, Clone, PartialEq)]
pub enum AlertChange {
    /// It starts firing, or notifies again.
    Raise(Alert),
    /// It keeps firing without a notification.
    Keep(Alert),
    Resolve(Alert),
}

impl AlertChange {
    /// The alert after the change.
    pub fn alert(&self) -> &Alert {
        match self {
            Self::Raise(alert) | Self::Keep(alert) | Self::Resolve(alert) => alert,
        }
    }

    /// Whether the change notifies channels.
    pub fn is_notified(&self) -> bool {
        match self {
            Self::Raise(_) => true,
            Self::Keep(_) => false,
            Self::Resolve(alert) => alert.notified_at.is_some(),
        }
    }
}

/// A stored run with its outcome.
#[derive(Debug, Clone, Copy)]
pub struct EvaluatedRun<'a> {
    pub id: i64,
    pub run: &'a SuiteRun,
}

/// Evaluates a run. Alerts that the run did not measure stay unchanged. A run against another
/// target than the suite's own, or a cancelled run, changes nothing.
pub fn decide(
    evaluated: &EvaluatedRun<'_>,
    states: &AlertStates<'_>,
    policy: &NotifyPolicy,
    now: Timestamp,
) -> Vec<AlertChange> {
    let run = evaluated.run;
    if !run.counts() {
        return Vec::new();
    }
    let causes = run.causes();
    let breaches = causes.iter().map(|breach| breach_alert(evaluated, breach, states, now));
    let raised: Vec<Alert> = outage_alert(evaluated, now)
        .into_iter()
        .chain(breaches)
        .chain(inconclusive_alert(evaluated, now))
        .chain(recalibration_alert(evaluated, now))
        .collect();
    let mut changes: Vec<AlertChange> =
        raised.iter().map(|alert| raise(alert.clone(), states, policy, now)).collect();
    let is_own = |one: &&Alert| one.suite == run.suite && one.workspace == run.workspace;
    let others =
        states.alerts.iter().filter(is_own).filter(|known| {
            known.is_firing() && !raised.iter().any(|alert| alert.key == known.key)
        });
    changes.extend(others.filter_map(|known| resolve_or_keep(evaluated, known, now)));
    changes
}

/// Handles a run that measured an alert's subject without a breach: resolves the alert, or keeps it
/// open with a reason.
fn resolve_or_keep(
    evaluated: &EvaluatedRun<'_>,
    known: &Alert,
    now: Timestamp,
) -> Option<AlertChange> {
    let (summary, figures) = recovery(evaluated, &known.subject)?;
    if let Some(why) = keeps_open(evaluated, known) {
        return Some(AlertChange::Keep(Alert { still_open: Some(why), ..known.clone() }));
    }
    let run = evaluated.run;
    let (run, target, owners) = (Some(evaluated.id), Some(run.target.clone()), run.owners.clone());
    Some(resolve(Alert { run, target, owners, figures, ..resolved_alert(known, summary) }, now))
}

/// Why a run without a breach does not resolve an alert: it has no verdict, is partial, or has
/// fewer queries than the run that fired.
fn keeps_open(evaluated: &EvaluatedRun<'_>, known: &Alert) -> Option<String> {
    let EvaluatedRun { id, run } = *evaluated;
    let Alert { subject, key, .. } = known;
    if *subject == AlertSubject::Silent {
        return None;
    }
    let reasons: Vec<&str> = run.inconclusive_reasons.iter().map(|reason| reason.name()).collect();
    let is_part = !reasons.is_empty() && *subject != AlertSubject::Run;
    if run.verdict == Verdict::Inconclusive || is_part {
        return Some(format!(
            "run {id} found no breach but does not resolve the alert: {}",
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

/// The number of queries or pairs behind an alert's subject in this run and when the alert fired;
/// none if unknown or if this run has enough.
fn counts(run: &SuiteRun, known: &Alert) -> Option<(usize, usize)> {
    let Alert { subject, figures, asked: fired, .. } = known;
    let queries = fired.map(|fired| (run.asked, fired));
    // The number of queries with an answer key, and of pairs, does not depend on the answers.
    let counted = match subject {
        AlertSubject::Measure {
            measure:
                measure @ (SuiteMeasure::RecallAt5
                | SuiteMeasure::RecallAt10
                | SuiteMeasure::RerankRelevance),
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

/// When a suite last ran and when it was last changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastRun {
    /// Id and time of the last run.
    pub ran: Option<(i64, Timestamp)>,
    /// When the suite was last enabled or edited.
    pub changed: Timestamp,
}

/// Evaluates a suite that may be overdue: it has not run for `days` days.
pub fn check_overdue(
    run: (&str, &str, &[String]),
    heard: &LastRun,
    days: u32,
    states: &AlertStates<'_>,
    policy: &NotifyPolicy,
    now: Timestamp,
) -> Option<AlertChange> {
    let (workspace, suite, owners) = run;
    let longest = SignedDuration::from_hours(24 * i64::from(days));
    let ran = heard.ran.filter(|(_, at)| *at >= heard.changed);
    let last = ran.map_or(heard.changed, |(_, at)| at);
    let is_silent = now.duration_since(last) > longest;
    let key = dedup_key(workspace, suite, &AlertSubject::Silent);
    let known = states.firing(&key);
    let changed = format!("it was enabled or changed at {:.0}", heard.changed);
    if !is_silent {
        let known = known?;
        let summary = match ran {
            Some((_, at)) => format!("suite {suite} of {workspace} ran at {at:.0}"),
            None => format!("suite {suite} of {workspace} has a new deadline: {changed}"),
        };
        let run = ran.map(|(id, _)| id);
        return Some(resolve(Alert { run, ..resolved_alert(known, summary) }, now));
    }
    let since = ran.map_or(changed, |(_, at)| format!("{at:.0}"));
    let summary = format!(
        "suite {suite} of {workspace} has not run since {since}, for more than {days} days"
    );
    let whose = (workspace, suite, owners);
    let alert = Alert::new(whose, AlertSubject::Silent, AlertSeverity::Error, summary, now);
    Some(raise(alert, states, policy, now))
}

fn raise(
    alert: Alert,
    states: &AlertStates<'_>,
    policy: &NotifyPolicy,
    now: Timestamp,
) -> AlertChange {
    let known = states.firing(&alert.key);
    // A higher severity notifies at once, and so does an alert whose notification was held.
    let is_worse = known.is_some_and(|known| known.held || alert.severity > known.severity);
    let alert = match known {
        None => alert,
        Some(known) => Alert {
            since: known.since,
            updated_at: known.updated_at,
            notified_at: known.notified_at,
            channels: known.channels.clone(),
            // A recovery needs as many queries as the largest run that fired.
            asked: alert.asked.max(known.asked),
            ..alert
        },
    };
    let is_cooled_down =
        |notified_at: Timestamp| now.duration_since(notified_at) >= policy.cooldown;
    let is_due = alert.notified_at.is_none_or(is_cooled_down) || is_worse;
    if is_due && !states.is_silenced(&alert.key) {
        AlertChange::Raise(Alert { notified_at: Some(now), held: false, ..alert })
    } else {
        AlertChange::Keep(Alert { held: is_due, ..alert })
    }
}

/// Firing alerts whose held notification may be sent now, without waiting for the next run.
pub fn release_held(states: &AlertStates<'_>, now: Timestamp) -> Vec<AlertChange> {
    let is_due = |one: &&Alert| one.is_firing() && one.held && !states.is_silenced(&one.key);
    let notified = |one: &Alert| Alert { notified_at: Some(now), held: false, ..one.clone() };
    states.alerts.iter().filter(is_due).map(|one| AlertChange::Raise(notified(one))).collect()
}

/// Resolves the alert of an overdue suite that is no longer expected to run.
pub fn resolve_withdrawn(known: &Alert, now: Timestamp) -> AlertChange {
    let Alert { suite, workspace, .. } = known;
    let summary = format!(
        "suite {suite} of {workspace} is no longer expected to run: it is disabled, deleted, or has no `silent_after_days`"
    );
    resolve(resolved_alert(known, summary), now)
}

/// Resolves an alert by hand, with a reason. If the breach persists, the next run that measures it
/// fires again.
pub fn close_alert(known: &Alert, reason: &str, now: Timestamp) -> AlertChange {
    let summary = format!("{}; closed by hand: {reason}", known.summary);
    resolve(Alert { summary, still_open: None, ..known.clone() }, now)
}

/// A resolved alert: it describes the recovery, without the failing cases.
fn resolved_alert(known: &Alert, summary: String) -> Alert {
    let (run, figures, failing, failing_count) = (None, Vec::new(), Vec::new(), 0);
    let (asked, still_open) = (None, None);
    Alert { summary, run, figures, failing, failing_count, asked, still_open, ..known.clone() }
}

fn resolve(alert: Alert, now: Timestamp) -> AlertChange {
    AlertChange::Resolve(Alert { state: AlertStatus::Resolved, since: now, held: false, ..alert })
}

impl AlertStates<'_> {
    /// The firing alert of a key.
    fn firing(&self, key: &str) -> Option<&Alert> {
        self.alerts.iter().find(|alert| alert.key == key && alert.is_firing())
    }

    pub fn is_silenced(&self, key: &str) -> bool {
        self.silenced.iter().any(|one| is_meant(one, key))
    }
}

/// The alert for a stored run that cannot be read.
pub fn unreadable(
    whose: (&str, &str, &[String]),
    run: i64,
    states: &AlertStates<'_>,
    policy: &NotifyPolicy,
    now: Timestamp,
) -> AlertChange {
    let summary = format!("{} could not say: what is kept of run {run} can't be read", whose.1);
    let alert = Alert::new(whose, AlertSubject::Run, AlertSeverity::Warning, summary, now);
    raise(Alert { run: Some(run), ..alert }, states, policy, now)
}

fn is_meant(pattern: &str, key: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => key.starts_with(start),
        None => pattern == key,
    }
}

/// The recovery that a run shows for an alert's subject, as a summary and figures; none if the run
/// did not measure it or it still breaches.
fn recovery(
    evaluated: &EvaluatedRun<'_>,
    subject: &AlertSubject,
) -> Option<(String, Vec<(String, String)>)> {
    let run = evaluated.run;
    let has_verdict = run.verdict != Verdict::Inconclusive;
    let recovery_if = |is_so: bool, summary: String| is_so.then_some((summary, Vec::new()));
    match subject {
        AlertSubject::Measure { measure, segment } => {
            let is_well = |one: &&RunMeasure| {
                let is_it = one.measure == *measure && one.segment == *segment;
                is_it
                    && one.decides
                    && matches!(one.status, MeasureStatus::Ok | MeasureStatus::Warn)
            };
            let found = run.measures.iter().find(is_well)?;
            Some(measured(run, found, "within"))
        }
        AlertSubject::Unreachable => {
            let answers = format!("target {} answers: {} queries", run.target, run.asked);
            recovery_if(run.asked > 0 && run.errors.is_empty(), answers)
        }
        AlertSubject::Run => {
            recovery_if(has_verdict, format!("{} has a verdict again: {}", run.suite, run.verdict))
        }
        AlertSubject::Silent => {
            let SuiteRun { suite, workspace, finished_at, .. } = run;
            let at = finished_at.as_deref().unwrap_or_default();
            recovery_if(true, format!("suite {suite} of {workspace} ran at {at}"))
        }
        AlertSubject::Recalibrate => {
            let steady = format!("{}: recall and precision do not fall week after week", run.suite);
            recovery_if(has_verdict && run.recalibrate.is_empty(), steady)
        }
    }
}

/// The alert of a breach: over all cases, or of the segment that already fires.
fn breach_alert(
    evaluated: &EvaluatedRun<'_>,
    breach: &SuiteBreach<'_>,
    states: &AlertStates<'_>,
    now: Timestamp,
) -> Alert {
    let SuiteRun { workspace, suite, .. } = evaluated.run;
    let subject = |one: &RunMeasure| AlertSubject::Measure {
        measure: one.measure,
        segment: one.segment.clone(),
    };
    let fires =
        |one: &&RunMeasure| states.firing(&dedup_key(workspace, suite, &subject(one))).is_some();
    let all = std::iter::once(breach.measure).chain(breach.also.iter().copied());
    let main = all.clone().find(fires).unwrap_or(breach.measure);
    let severity = if all.clone().any(|one| one.pages) {
        AlertSeverity::Critical
    } else {
        AlertSeverity::Error
    };
    let (summary, mut figures) = measured(evaluated.run, main, "past");
    let also: Vec<&str> =
        all.filter(|one| one.segment != main.segment).map(|one| one.segment.as_str()).collect();
    if !also.is_empty() {
        figures.push(("same cases as".to_owned(), also.join(", ")));
    }
    alert(evaluated, subject(main), severity, (summary, figures), now)
}

/// The alert of an outage.
fn outage_alert(evaluated: &EvaluatedRun<'_>, now: Timestamp) -> Option<Alert> {
    let outage = evaluated.run.outage()?;
    let severity = if outage.pages { AlertSeverity::Critical } else { AlertSeverity::Error };
    let summary = format!("{}: {}", evaluated.run.suite, outage.in_words());
    let mut figures =
        vec![("unanswered".to_owned(), format!("{} of {}", outage.unanswered, outage.asked))];
    figures.extend(outage.errors.iter().map(|(kind, n)| (kind.name().to_owned(), n.to_string())));
    Some(alert(evaluated, AlertSubject::Unreachable, severity, (summary, figures), now))
}

/// A measure with its value and threshold, as a summary and figures.
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

fn inconclusive_alert(evaluated: &EvaluatedRun<'_>, now: Timestamp) -> Option<Alert> {
    let run = evaluated.run;
    if run.verdict != Verdict::Inconclusive {
        return None;
    }
    let reasons: Vec<&str> = run.inconclusive_reasons.iter().map(|reason| reason.name()).collect();
    let short = run.sample.iter().flat_map(|sample| sample.remarks()).next();
    let short = short.map(|remark| format!(" ({remark})")).unwrap_or_default();
    let summary = format!("{} could not say: {}{short}", run.suite, reasons.join(", "));
    let asked = ("asked".to_owned(), format!("{} of {}", run.asked, run.planned));
    Some(alert(evaluated, AlertSubject::Run, AlertSeverity::Warning, (summary, vec![asked]), now))
}

fn recalibration_alert(evaluated: &EvaluatedRun<'_>, now: Timestamp) -> Option<Alert> {
    let summary = format!(
        "{}: recall or precision fell week after week; calibrate the reranker again",
        evaluated.run.suite
    );
    let falls = !evaluated.run.recalibrate.is_empty();
    let content = (summary, Vec::new());
    falls.then(|| alert(evaluated, AlertSubject::Recalibrate, AlertSeverity::Warning, content, now))
}

fn alert(
    evaluated: &EvaluatedRun<'_>,
    subject: AlertSubject,
    severity: AlertSeverity,
    (summary, figures): (String, Vec<(String, String)>),
    now: Timestamp,
) -> Alert {
    let SuiteRun { suite, workspace, owners, target, .. } = evaluated.run;
    let failing = || evaluated.run.failing();
    let smaller = evaluated.run.sample.as_ref().and_then(|sample| sample.smaller());
    let summary = match &smaller {
        Some(smaller) if !summary.contains(smaller.as_str()) => format!("{summary} ({smaller})"),
        _ => summary,
    };
    let sample = smaller.map(|smaller| ("sample".to_owned(), smaller));
    Alert {
        target: Some(target.clone()),
        run: Some(evaluated.id),
        asked: Some(evaluated.run.asked),
        figures: figures.into_iter().chain(sample).collect(),
        failing: failing().take(TOLD).map(|case| case.query_id.clone()).collect(),
        failing_count: failing().count(),
        ..Alert::new((workspace, suite, owners), subject, severity, summary, now)
    }
}

#[cfg(test)]
pub(super) mod tests;
