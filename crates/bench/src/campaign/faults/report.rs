//! The report of a campaign: one row per fault and engine.

use std::time::Duration;

use gbrain_testkit::engine::Engine;

use super::fault::Fault;
use crate::campaign::scaffold::{FlagValue as _, table};

const HEADER: [&str; 10] = [
    "fault",
    "engine",
    "rounds",
    "acknowledged writes",
    "lost",
    "false greens",
    "panics",
    "leaks",
    "not recovered",
    "worst recovery ms",
];

/// The kind of promise that was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    /// A write was acknowledged and is not there.
    LostWrite,
    /// Something wrong was reported as right: a wrong answer, a server that is ready and can't answer, a
    /// check that passes over damage.
    FalseGreen,
    /// A process panicked, or ended by itself.
    Panic,
    /// An untrusted caller was told of a private page.
    Leak,
    /// The fault was over, and the brain did not become right again.
    Unrecovered,
}

/// One broken promise.
#[derive(Debug, Clone)]
pub struct Finding {
    pub kind: FindingKind,
    pub text: String,
}

/// How soon `/v1/health` answered, and how much memory the server had at most.
#[derive(Debug, Clone, Copy, Default)]
pub struct HealthTimes {
    pub samples: usize,
    /// Requests that were not answered with 200.
    pub failures: usize,
    /// The 99th percentile in milliseconds, as of requests at regular times; the worst round's.
    pub p99_ms: f64,
    pub max_ms: f64,
    /// Resident memory at its peak, in MiB.
    pub peak_mib: u64,
}

/// The effects of one fault on one engine.
#[derive(Debug, Clone)]
pub struct FaultRow {
    pub fault: Fault,
    pub engine: Engine,
    /// How it was made to happen on this machine.
    pub method: String,
    /// How often it happened.
    pub rounds: usize,
    /// Writes that were acknowledged.
    pub acknowledged: usize,
    /// Writes that were not.
    pub unacknowledged: usize,
    /// Answers that were compared with those of an index made anew.
    pub compared: usize,
    pub findings: Vec<Finding>,
    /// The longest time until everything was right again.
    pub worst_recovery: Duration,
    /// `/v1/health` during hostile bodies.
    pub health: Option<HealthTimes>,
}

#[derive(Debug, Default)]
pub struct FaultReport {
    /// In the order in which they were tried.
    pub rows: Vec<FaultRow>,
}

impl FaultRow {
    /// A row without rounds.
    pub(super) fn new(fault: Fault, engine: Engine) -> Self {
        Self {
            fault,
            engine,
            method: String::new(),
            rounds: 0,
            acknowledged: 0,
            unacknowledged: 0,
            compared: 0,
            findings: Vec::new(),
            worst_recovery: Duration::ZERO,
            health: None,
        }
    }

    pub(super) fn add(&mut self, kind: FindingKind, text: impl Into<String>) {
        self.findings.push(Finding { kind, text: text.into() });
    }

    pub fn count(&self, kind: FindingKind) -> usize {
        self.findings.iter().filter(|finding| finding.kind == kind).count()
    }
}

impl FaultReport {
    /// Every broken promise, with its fault and engine.
    pub fn findings(&self) -> Vec<String> {
        let of = |row: &FaultRow| {
            let place = format!("{} on {}", row.fault.name(), row.engine.name());
            let text = |finding: &Finding| format!("{place}: {:?}: {}", finding.kind, finding.text);
            row.findings.iter().map(text).collect::<Vec<_>>()
        };
        self.rows.iter().flat_map(of).collect()
    }

    /// The table, and how each fault was made.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut table = table(HEADER);
        for row in &self.rows {
            table.add_row(row.cells());
        }
        let detail = |row: &FaultRow| {
            format!("{} on {}: {}", row.fault.name(), row.engine.name(), row.detail())
        };
        [table.to_string()].into_iter().chain(self.rows.iter().map(detail)).collect()
    }
}

impl FaultRow {
    fn cells(&self) -> Vec<String> {
        use FindingKind::{FalseGreen, Leak, LostWrite, Panic, Unrecovered};
        let mut cells = vec![
            self.fault.name(),
            self.engine.name().to_owned(),
            self.rounds.to_string(),
            self.acknowledged.to_string(),
        ];
        let kinds = [LostWrite, FalseGreen, Panic, Leak, Unrecovered];
        cells.extend(kinds.map(|kind| self.count(kind).to_string()));
        cells.push(self.worst_recovery.as_millis().to_string());
        cells
    }

    fn detail(&self) -> String {
        let mut text = format!(
            "{}; {} writes not acknowledged, {} answers compared with a new index",
            self.method, self.unacknowledged, self.compared
        );
        if let Some(health) = &self.health {
            text += &format!(
                "; /v1/health: {} answers, {} failures, p99 {:.1} ms, longest {:.1} ms; peak memory {} MiB",
                health.samples, health.failures, health.p99_ms, health.max_ms, health.peak_mib
            );
        }
        text
    }
}
