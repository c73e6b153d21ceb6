//! What a run, or the lack of one, changes.

use jiff::{SignedDuration, Timestamp};

use super::{Alert, Severity, Subject, dedup_key};
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
    pub run: &'a SuiteRun,
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
    let causes = run.causes();
    let breaches = causes.iter().map(|breach| of_breach(looked, breach, board));
    let raised: Vec<Alert> = of_outage(looked)
        .into_iter()
        .chain(breaches)
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
    changes.extend(others.filter_map(|known| recovered(looked, known, now)));
    changes
}

/// What a run that shows an alert's subject to be well changes: the alert is resolved, or stays open and
/// says why.
fn recovered(looked: &Looked<'_>, known: &Known, now: Timestamp) -> Option<Change> {
    let (summary, figures) = well(looked, &known.alert.subject)?;
    if let Some(why) = keeps_open(looked, known) {
        let alert = Alert { still_open: Some(why), ..known.alert.clone() };
        return Some(Change::Keep(Known { alert, ..known.clone() }));
    }
    let run = looked.run;
    let (run, target, owners) = (Some(looked.id), Some(run.target.clone()), run.owners.clone());
    let alert = Alert { run, target, owners, figures, ..over(known, summary) };
    Some(resolve(&Known { alert, ..known.clone() }, now))
}

/// Why a run that found nothing wrong does not resolve an alert: it has no verdict, measured only a part, or
/// asked fewer queries than were asked when it fired.
fn keeps_open(looked: &Looked<'_>, known: &Known) -> Option<String> {
    let Looked { id, run, .. } = *looked;
    let Alert { subject, key, .. } = &known.alert;
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
fn counts(run: &SuiteRun, known: &Known) -> Option<(usize, usize)> {
    let Alert { subject, figures, asked: fired, .. } = &known.alert;
    let queries = fired.map(|fired| (run.asked, fired));
    // How many queries have an answer key, and how many pairs there are, the answers can't change.
    let counted = match subject {
        Subject::Measure(
            measure @ (Measure::RecallAt5 | Measure::RecallAt10 | Measure::RerankRelevance),
            segment,
        ) if segment == "all" => {
            let is_it = |one: &&RunMeasure| one.measure == *measure && one.segment == *segment;
            let now = run.measures.iter().find(is_it).map(|one| one.n as usize);
            let n = figures.iter().find(|(name, _)| name == "n");
            now.zip(n.and_then(|(_, n)| n.parse().ok()))
        }
        _ => None,
    };
    [queries, counted].into_iter().flatten().find(|(now, fired)| now < fired)
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
    let known = board.firing(&key);
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

fn raise(mut alert: Alert, board: &Board<'_>, policy: &Policy, now: Timestamp) -> Change {
    let known = board.firing(&alert.key);
    // The largest run that shows it says how many queries a recovery takes.
    alert.asked = alert.asked.max(known.and_then(|known| known.alert.asked));
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
    let alert = Alert { summary, still_open: None, ..known.alert.clone() };
    resolve(&Known { alert, ..known.clone() }, now)
}

/// An alert as it ends: what is well, and nothing of what was not.
fn over(known: &Known, summary: String) -> Alert {
    let (run, figures, failing, failing_count) = (None, Vec::new(), Vec::new(), 0);
    let (asked, still_open) = (None, None);
    Alert {
        summary,
        run,
        figures,
        failing,
        failing_count,
        asked,
        still_open,
        ..known.alert.clone()
    }
}

fn resolve(known: &Known, now: Timestamp) -> Change {
    Change::Resolve(Known { is_firing: false, since: now, held: false, ..known.clone() })
}

impl Board<'_> {
    /// The alert of a key, if it fires.
    fn firing(&self, key: &str) -> Option<&Known> {
        self.known.iter().find(|known| known.alert.key == key && known.is_firing)
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
        asked: None,
        still_open: None,
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
            said(has_verdict && !looked.recalibrate, steady)
        }
    }
}

/// The alert of a breach: of all cases, or of the segment that fires already.
fn of_breach(looked: &Looked<'_>, breach: &SuiteBreach<'_>, board: &Board<'_>) -> Alert {
    let SuiteRun { workspace, suite, .. } = looked.run;
    let subject = |one: &RunMeasure| Subject::Measure(one.measure, one.segment.clone());
    let fires =
        |one: &&RunMeasure| board.firing(&dedup_key(workspace, suite, &subject(one))).is_some();
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
    alert(looked, subject(told), severity, summary, figures)
}

/// The alert of a target that did not answer.
fn of_outage(looked: &Looked<'_>) -> Option<Alert> {
    let outage = looked.run.outage()?;
    let severity = if outage.pages { Severity::Critical } else { Severity::Error };
    let summary = format!("{}: {}", looked.run.suite, outage.in_words());
    let mut figures =
        vec![("unanswered".to_owned(), format!("{} of {}", outage.unanswered, outage.asked))];
    figures.extend(outage.errors.iter().map(|(kind, n)| (kind.name().to_owned(), n.to_string())));
    Some(alert(looked, Subject::Unreachable, severity, summary, figures))
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

fn of_run(looked: &Looked<'_>) -> Option<Alert> {
    let run = looked.run;
    if run.verdict != Verdict::Inconclusive {
        return None;
    }
    let reasons: Vec<&str> = run.inconclusive_reasons.iter().map(|reason| reason.name()).collect();
    let short = run.sample.iter().flat_map(|sample| sample.remarks()).next();
    let short = short.map(|remark| format!(" ({remark})")).unwrap_or_default();
    let summary = format!("{} could not say: {}{short}", run.suite, reasons.join(", "));
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
        ..bare((workspace, suite, owners), subject, severity, summary)
    }
}

#[cfg(test)]
pub(super) mod tests;
