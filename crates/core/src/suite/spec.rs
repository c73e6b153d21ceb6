//! A suite as it is meant: what its file says, with the playbook's defaults for its kind.

use jiff::SignedDuration;

use super::Kind;
use super::cron::CronError;
use super::due::{Debounce, EventKind, Interval, Trigger};
use super::threshold::Thresholds;

/// A suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Its name, once in a file and a workspace.
    pub name: String,
    /// What it is for.
    pub kind: Kind,
    /// Whose it is; `*` is every workspace.
    pub workspace: String,
    pub target: String,
    /// What makes it run.
    pub triggers: Vec<Trigger>,
    /// Who looks after it.
    pub owners: Vec<String>,
    /// How many queries it asks.
    pub sample: Sample,
    /// What they are drawn by.
    pub seed: u64,
    /// How long it may take.
    pub max_duration: SignedDuration,
    /// How many results are asked for, at least ten.
    pub depth: usize,
    /// How many questions are under way at once.
    pub concurrency: usize,
    /// How long events must have been quiet.
    pub debounce: Debounce,
    /// What it is held against.
    pub thresholds: Thresholds,
    pub alerts: Alerting,
    /// How many weekly drops in a row ask for a new calibration.
    pub drops: usize,
}

/// How many queries a suite asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sample {
    /// So many in all.
    Total(usize),
    /// So many of each source.
    PerSource {
        /// As many as this.
        count: usize,
        /// The fewest that give a verdict.
        least: usize,
        /// These; empty for each that there is.
        sources: Vec<String>,
    },
}

impl Sample {
    /// The fewest queries that give a verdict: in all, or of each source.
    pub fn least(&self) -> usize {
        match self {
            Self::Total(total) => *total,
            Self::PerSource { least, .. } => *least,
        }
    }
}

/// Who is told of a suite's alerts, by the names of channels; empty for every channel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Alerting {
    /// Of alerts that page.
    pub page: Vec<String>,
    pub notify: Vec<String>,
    /// After how many days without a run somebody is told; none for never.
    pub silent_after_days: Option<u32>,
}

/// Why a suite can't be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SuiteError {
    /// The name is none.
    #[error("{0:?} is no name of a suite; it takes 1 to 64 lower-case letters, digits and dashes")]
    Name(String),
    #[error("two suites are called `{0}`")]
    Twice(String),
    /// Nobody looks after it.
    #[error("suite `{0}` has no owners; name at least one, such as \"@search-team\"")]
    NoOwners(String),
    #[error("suite `{0}` has no triggers; name at least one, such as `manual`")]
    NoTriggers(String),
    /// The same trigger twice.
    #[error("suite `{name}` names the trigger `{trigger}` twice")]
    TriggerTwice { name: String, trigger: String },
    /// A number is out of range.
    #[error("suite `{name}`: {what}")]
    Value { name: String, what: String },
    /// A schedule is none.
    #[error(transparent)]
    Cron(#[from] CronError),
}

/// The most queries of a suite.
pub(crate) const MOST_QUERIES: usize = 10_000;

impl Suite {
    /// A suite of a kind with the playbook's defaults.
    pub fn new(name: &str, kind: Kind, owners: Vec<String>) -> Self {
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
            thresholds: Thresholds::default(),
            alerts: Alerting::default(),
            drops: super::trend::DROPS,
        }
    }

    /// Refuses what can't be run.
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
            return wrong(format!("a sample takes 1 to {MOST_QUERIES} queries"));
        }
        if self.max_duration < SignedDuration::from_secs(1) {
            return wrong("it needs at least a second".to_owned());
        }
        if self.max_duration > SignedDuration::from_hours(24 * 7) {
            return wrong("it takes at most a week".to_owned());
        }
        if self.triggers.iter().filter_map(Trigger::cursor).any(|cursor| cursor.len() > 200) {
            return wrong("a schedule takes at most 195 bytes".to_owned());
        }
        if !(super::case::DEPTH..=100).contains(&self.depth) {
            return wrong(
                "k is 10 to 100: fewer results would hide what is at ranks 6 to 10".to_owned(),
            );
        }
        if !(1..=256).contains(&self.concurrency) {
            return wrong("concurrency is 1 to 256".to_owned());
        }
        if !(1..=52).contains(&self.drops) {
            return wrong("`drops` is 1 to 52 weeks".to_owned());
        }
        if self.debounce.quiet > self.debounce.longest || self.debounce.quiet.is_negative() {
            return wrong("`quiet` of debounce is at most `max_wait`".to_owned());
        }
        Ok(())
    }
}

/// Whether a text can be a name.
pub fn is_name(name: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    (1..=64).contains(&name.len()) && name.chars().all(is_fit) && !name.starts_with('-')
}

fn triggers(kind: Kind) -> Vec<Trigger> {
    let sunday = || Trigger::Cron("0 2 * * 0".parse().expect("it is a schedule"));
    match kind {
        Kind::Smoke => vec![Trigger::Manual, Trigger::Ci],
        Kind::Regression => vec![Trigger::Manual, Trigger::Event(EventKind::KnowledgePersisted)],
        Kind::WeeklyBenchmark => vec![Trigger::Manual, sunday()],
        Kind::SourceSpecific => vec![Trigger::Manual],
        Kind::GraphQa => {
            vec![Trigger::Manual, sunday(), Trigger::Event(EventKind::GraphChanged)]
        }
        Kind::RerankCalibration => {
            let quarterly = Trigger::Every(Interval::Quarterly);
            vec![Trigger::Manual, quarterly, Trigger::Event(EventKind::RerankChanged)]
        }
    }
}

fn sample(kind: Kind) -> Sample {
    let per_source = |least, count| Sample::PerSource { count, least, sources: Vec::new() };
    match kind {
        Kind::Smoke => per_source(5, 10),
        Kind::Regression => Sample::Total(25),
        Kind::WeeklyBenchmark => Sample::Total(100),
        Kind::SourceSpecific => per_source(15, 15),
        Kind::GraphQa => Sample::Total(20),
        Kind::RerankCalibration => Sample::Total(30),
    }
}

fn minutes(kind: Kind) -> i64 {
    match kind {
        Kind::Smoke => 5,
        Kind::Regression | Kind::SourceSpecific | Kind::GraphQa => 10,
        Kind::RerankCalibration => 30,
        Kind::WeeklyBenchmark => 60,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite() -> Suite {
        Suite::new("smoke", Kind::Smoke, vec!["@search".to_owned()])
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
        check(Kind::Smoke, each(5, 10), 5);
        check(Kind::Regression, Sample::Total(25), 10);
        check(Kind::WeeklyBenchmark, Sample::Total(100), 60);
        check(Kind::SourceSpecific, each(15, 15), 10);
        check(Kind::GraphQa, Sample::Total(20), 10);
        check(Kind::RerankCalibration, Sample::Total(30), 30);
    }

    #[test]
    fn what_can_not_be_run() {
        let check = |change: &dyn Fn(&mut Suite), says: &str| {
            let mut suite = suite();
            change(&mut suite);
            let error = suite.check().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        };
        check(&|suite| suite.name = "A b".to_owned(), "no name of a suite");
        check(&|suite| suite.owners = vec![" ".to_owned()], "no owners");
        check(&|suite| suite.triggers.clear(), "no triggers");
        check(&|suite| suite.triggers.push(Trigger::Ci), "names the trigger `ci` twice");
        check(&|suite| suite.sample = Sample::Total(0), "1 to 10000 queries");
        check(&|suite| suite.max_duration = SignedDuration::ZERO, "at least a second");
        check(&|suite| suite.max_duration = SignedDuration::MAX, "at most a week");
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
