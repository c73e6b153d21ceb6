//! A suite: the settings of its file, with the playbook's defaults for its kind.

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SuiteKind;
use super::cron::CronError;
use super::due::{Debounce, EventKind, RunInterval, Trigger};
use super::threshold::SuiteThresholds;

/// The definition of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Unique within a file and a workspace.
    pub name: String,
    pub kind: SuiteKind,
    /// The workspace; `*` for every workspace.
    pub workspace: String,
    pub target: String,
    pub triggers: Vec<Trigger>,
    pub owners: Vec<String>,
    pub sample: Sample,
    /// The seed of the sample.
    pub seed: u64,
    /// The time limit of a run.
    pub max_duration: SignedDuration,
    /// Number of results per query, at least ten.
    pub depth: usize,
    /// Maximum number of concurrent queries.
    pub concurrency: usize,
    pub debounce: Debounce,
    pub thresholds: SuiteThresholds,
    pub alerts: AlertRouting,
    /// Number of weekly drops in a row that trigger a recalibration request.
    pub drops: usize,
}

/// The number of queries in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sample {
    Total(usize),
    /// A number per source.
    PerSource {
        count: usize,
        /// Minimum for a verdict.
        least: usize,
        /// The sources; empty for all.
        sources: Vec<String>,
    },
}

impl Sample {
    /// The minimum number of queries for a verdict, in total or per source.
    pub fn min_queries(&self) -> usize {
        match self {
            Self::Total(total) => *total,
            Self::PerSource { least, .. } => *least,
        }
    }
}

/// Channels that are notified of a suite's alerts.
// By name; empty for every channel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AlertsEntry")]
pub struct AlertRouting {
    /// Channels for alerts that page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub page: Vec<String>,
    /// Channels for every alert.
    #[serde(default, alias = "channel", skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<String>,
    /// Days without a run before an alert fires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_after_days: Option<u32>,
}

/// Why a suite is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SuiteError {
    #[error("invalid suite name {0:?}: use 1 to 64 lower-case letters, digits and dashes")]
    Name(String),
    #[error("two suites are called `{0}`")]
    Twice(String),
    #[error("suite `{0}` has no owners: name at least one, such as \"@search-team\"")]
    NoOwners(String),
    #[error("suite `{0}` has no triggers: name at least one, such as `manual`")]
    NoTriggers(String),
    #[error("suite `{name}` names the trigger `{trigger}` twice")]
    TriggerTwice { name: String, trigger: String },
    #[error("suite `{name}`: {what}")]
    Value { name: String, what: String },
    #[error(transparent)]
    Cron(#[from] CronError),
}

/// The maximum number of queries in a suite.
pub(crate) const MOST_QUERIES: usize = 10_000;

impl Suite {
    /// A suite with the playbook's defaults for its kind.
    pub fn new(name: &str, kind: SuiteKind, owners: Vec<String>) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            workspace: "default".to_owned(),
            target: "local".to_owned(),
            triggers: triggers(kind),
            owners,
            sample: sample(kind),
            seed: 1,
            max_duration: SignedDuration::from_mins(minutes(kind)),
            depth: super::case::DEPTH,
            concurrency: 4,
            debounce: Debounce::default(),
            thresholds: SuiteThresholds::default(),
            alerts: AlertRouting::default(),
            drops: super::trend::DROPS,
        }
    }

    /// Validates the suite and its references.
    pub fn check(&self) -> Result<(), SuiteError> {
        let wrong = |what: String| Err(SuiteError::Value { name: self.name.clone(), what });
        if !is_name(&self.name) {
            return Err(SuiteError::Name(self.name.clone()));
        }
        if self.owners.iter().all(|owner| owner.trim().is_empty()) {
            return Err(SuiteError::NoOwners(self.name.clone()));
        }
        if self.triggers.is_empty() {
            return Err(SuiteError::NoTriggers(self.name.clone()));
        }
        for (at, trigger) in self.triggers.iter().enumerate() {
            if self.triggers[..at].contains(trigger) {
                let trigger =
                    trigger.cursor().unwrap_or_else(|| format!("{trigger:?}").to_lowercase());
                return Err(SuiteError::TriggerTwice { name: self.name.clone(), trigger });
            }
        }
        let (Sample::Total(count) | Sample::PerSource { count, .. }) = &self.sample;
        if !(1..=MOST_QUERIES).contains(count) {
            return wrong(format!("a sample has 1 to {MOST_QUERIES} queries"));
        }
        if self.max_duration < SignedDuration::from_secs(1) {
            return wrong("the time limit must be at least one second".to_owned());
        }
        if self.max_duration > SignedDuration::from_hours(24 * 7) {
            return wrong("the time limit must be at most one week".to_owned());
        }
        if self.triggers.iter().filter_map(Trigger::cursor).any(|cursor| cursor.len() > 200) {
            return wrong("a schedule has at most 195 bytes".to_owned());
        }
        if !(super::case::DEPTH..=100).contains(&self.depth) {
            return wrong("k must be 10 to 100: fewer results would hide ranks 6 to 10".to_owned());
        }
        if !(1..=256).contains(&self.concurrency) {
            return wrong("concurrency must be 1 to 256".to_owned());
        }
        if !(1..=52).contains(&self.drops) {
            return wrong("`drops` must be 1 to 52 weeks".to_owned());
        }
        if self.debounce.quiet > self.debounce.longest || self.debounce.quiet.is_negative() {
            return wrong("debounce: `quiet` must be at most `max_wait`".to_owned());
        }
        Ok(())
    }
}

/// Whether a text is a valid name.
pub fn is_name(name: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    (1..=64).contains(&name.len()) && name.chars().all(is_fit) && !name.starts_with('-')
}

fn triggers(kind: SuiteKind) -> Vec<Trigger> {
    let sunday = || Trigger::Cron("0 2 * * 0".parse().expect("it is a schedule"));
    match kind {
        SuiteKind::Smoke => vec![Trigger::Manual, Trigger::Ci],
        SuiteKind::Regression => {
            vec![Trigger::Manual, Trigger::Event(EventKind::KnowledgePersisted)]
        }
        SuiteKind::WeeklyBenchmark => vec![Trigger::Manual, sunday()],
        SuiteKind::SourceSpecific => vec![Trigger::Manual],
        SuiteKind::GraphQa => {
            vec![Trigger::Manual, sunday(), Trigger::Event(EventKind::GraphChanged)]
        }
        SuiteKind::RerankCalibration => {
            let quarterly = Trigger::Every(RunInterval::Quarterly);
            vec![Trigger::Manual, quarterly, Trigger::Event(EventKind::RerankChanged)]
        }
    }
}

fn sample(kind: SuiteKind) -> Sample {
    let per_source = |least, count| Sample::PerSource { count, least, sources: Vec::new() };
    match kind {
        SuiteKind::Smoke => per_source(5, 10),
        SuiteKind::Regression => Sample::Total(25),
        SuiteKind::WeeklyBenchmark => Sample::Total(100),
        SuiteKind::SourceSpecific => per_source(15, 15),
        SuiteKind::GraphQa => Sample::Total(20),
        SuiteKind::RerankCalibration => Sample::Total(30),
    }
}

fn minutes(kind: SuiteKind) -> i64 {
    match kind {
        SuiteKind::Smoke => 5,
        SuiteKind::Regression | SuiteKind::SourceSpecific | SuiteKind::GraphQa => 10,
        SuiteKind::RerankCalibration => 30,
        SuiteKind::WeeklyBenchmark => 60,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite() -> Suite {
        Suite::new("smoke", SuiteKind::Smoke, vec!["@search".to_owned()])
    }

    /// The playbook's table of suites.
    #[test]
    fn defaults_of_the_playbook() {
        let check = |kind, sample, minutes| {
            let suite = Suite::new("x", kind, vec!["@search".to_owned()]);
            assert_eq!((suite.sample.clone(), suite.max_duration.as_mins()), (sample, minutes));
            assert_eq!(suite.check(), Ok(()));
        };
        let each = |least, count| Sample::PerSource { count, least, sources: Vec::new() };
        check(SuiteKind::Smoke, each(5, 10), 5);
        check(SuiteKind::Regression, Sample::Total(25), 10);
        check(SuiteKind::WeeklyBenchmark, Sample::Total(100), 60);
        check(SuiteKind::SourceSpecific, each(15, 15), 10);
        check(SuiteKind::GraphQa, Sample::Total(20), 10);
        check(SuiteKind::RerankCalibration, Sample::Total(30), 30);
    }

    #[test]
    fn invalid_suites_are_refused() {
        let check = |change: &dyn Fn(&mut Suite), says: &str| {
            let mut suite = suite();
            change(&mut suite);
            let error = suite.check().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        };
        check(&|suite| suite.name = "A b".to_owned(), "invalid suite name");
        check(&|suite| suite.owners = vec![" ".to_owned()], "no owners");
        check(&|suite| suite.triggers.clear(), "no triggers");
        check(&|suite| suite.triggers.push(Trigger::Ci), "names the trigger `ci` twice");
        check(&|suite| suite.sample = Sample::Total(0), "1 to 10000 queries");
        check(&|suite| suite.max_duration = SignedDuration::ZERO, "at least one second");
        check(&|suite| suite.max_duration = SignedDuration::MAX, "at most one week");
        let minutes: Vec<String> = (0..60).map(|minute| minute.to_string()).collect();
        let long = format!("{} {} * * *", minutes.join(","), minutes[..24].join(","));
        check(
            &|suite| suite.triggers = vec![Trigger::Cron(long.parse().unwrap())],
            "at most 195 bytes",
        );
        check(&|suite| suite.depth = 5, "ranks 6 to 10");
        check(&|suite| suite.concurrency = 0, "concurrency");
        check(&|suite| suite.drops = 0, "drops");
        check(&|suite| suite.debounce.longest = SignedDuration::ZERO, "max_wait");
    }
}
