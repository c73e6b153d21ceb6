//! The health of the probe, for `doctor`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{Event, ProbeOutcome, ProbeSwitch};
use crate::doctor::DoctorStatus;

/// The command that enables the probe.
pub(crate) const ENABLE: &str = "gbrain config set autopilot.nightly_quality_probe.enabled true";
/// The command that runs the probe by hand.
const RUN: &str = "gbrain eval probe run";
/// The commands that show the failure and run the probe again before it is due.
const INSPECT: &str =
    "see why: gbrain eval probe history; when it is fixed: gbrain eval probe run --force";

/// The period under review.
const WINDOW: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Maximum time without a run while enabled.
const SILENCE: SignedDuration = SignedDuration::from_hours(48);

/// The health of the probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    Disabled,
    /// Enabled, but not run yet.
    NoEventsYet,
    /// Every run of the last seven days passed.
    AllPass {
        runs: usize,
        /// End of the latest run.
        latest: Timestamp,
    },
    /// Enabled, but not run for more than 48 hours.
    Silent {
        latest: Event,
    },
    /// A run of the last seven days did not pass.
    Troubled {
        /// Number of runs by outcome.
        counts: BTreeMap<ProbeOutcome, usize>,
        latest: Event,
        /// The latest run that did not pass.
        trouble: Event,
        /// Whether it also has not run for more than 48 hours.
        is_silent: bool,
    },
}

/// The health of the probe. Events may be in any order, but must include the newest, however old,
/// to detect missing runs.
pub fn health(switch: ProbeSwitch, events: &[Event], now: Timestamp) -> Health {
    if switch == ProbeSwitch::Off {
        return Health::Disabled;
    }
    let Some(latest) = events.iter().max_by_key(|event| event.at) else {
        return Health::NoEventsYet;
    };
    let is_silent = now.duration_since(latest.at) > SILENCE;
    let recent = || events.iter().filter(|event| now.duration_since(event.at) <= WINDOW);
    let troubles = recent().filter(|event| event.outcome != ProbeOutcome::Pass);
    if let Some(trouble) = troubles.max_by_key(|event| event.at) {
        let mut counts = BTreeMap::new();
        recent().for_each(|event| *counts.entry(event.outcome).or_default() += 1);
        let (latest, trouble) = (latest.clone(), trouble.clone());
        return Health::Troubled { counts, latest, trouble, is_silent };
    }
    if is_silent {
        return Health::Silent { latest: latest.clone() };
    }
    Health::AllPass { runs: recent().count(), latest: latest.at }
}

impl Health {
    /// The result of the doctor check.
    pub fn doctor_status(&self) -> DoctorStatus {
        match self {
            Self::Disabled | Self::NoEventsYet | Self::AllPass { .. } => DoctorStatus::Ok,
            Self::Silent { .. } | Self::Troubled { .. } => DoctorStatus::Warn,
        }
    }

    pub fn message(&self) -> String {
        match self {
            Self::Disabled => "skipped (disabled)".to_owned(),
            Self::NoEventsYet => "enabled, no events yet".to_owned(),
            Self::AllPass { runs, latest } => {
                format!("the last 7 days all pass (n = {runs}), latest {latest:.0}")
            }
            Self::Silent { latest } => {
                format!("enabled, but has not run since {}", describe(latest))
            }
            Self::Troubled { counts, latest, trouble, is_silent } => {
                let counts: Vec<String> =
                    counts.iter().map(|(outcome, n)| format!("{n} {outcome}")).collect();
                let mut text = format!(
                    "in the last 7 days {}; latest {}",
                    counts.join(", "),
                    describe(latest)
                );
                if trouble.at != latest.at {
                    text.push_str(&format!("; before that {}", describe(trouble)));
                }
                if *is_silent {
                    text.push_str("; it has not run since");
                }
                text
            }
        }
    }

    /// The command to run next.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Disabled => Some(ENABLE),
            Self::NoEventsYet | Self::AllPass { .. } => None,
            Self::Silent { .. } => Some(RUN),
            Self::Troubled { .. } => Some(INSPECT),
        }
    }
}

fn describe(event: &Event) -> String {
    let Event { at, outcome, detail, .. } = event;
    match detail {
        Some(detail) => format!("{at:.0} {outcome}: {detail}"),
        None => format!("{at:.0} {outcome}"),
    }
}
