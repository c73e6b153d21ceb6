//! How the probe has been doing, for `doctor`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{Event, ProbeOutcome, Switch};
use crate::doctor::Wellness;

/// What turns the probe on, ready to be pasted.
pub(crate) const ENABLE: &str = "gbrain config set autopilot.nightly_quality_probe.enabled true";
/// What runs it by hand.
const RUN: &str = "gbrain eval probe run";
/// What says why it did not pass, and what runs it again before its time.
const MEND: &str =
    "see why: gbrain eval probe history; when it is mended: gbrain eval probe run --force";

/// The days that are looked at.
const WINDOW: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How long a probe that is on may be silent.
const SILENCE: SignedDuration = SignedDuration::from_hours(48);

/// The state of the probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    Disabled,
    /// It is on and has not run yet.
    NoEventsYet,
    /// Every run of the last seven days passed.
    AllPass {
        runs: usize,
        /// When the latest ended.
        latest: Timestamp,
    },
    /// It is on and has not run for more than 48 hours.
    Silent {
        /// The latest run there is.
        latest: Event,
    },
    /// A run of the last seven days did not pass.
    Troubled {
        /// How many runs came out how.
        counts: BTreeMap<ProbeOutcome, usize>,
        latest: Event,
        /// The latest run that did not pass.
        trouble: Event,
        /// Whether it has also been silent for more than 48 hours.
        is_silent: bool,
    },
}

/// The state of the probe. Events may come in any order; the newest of all must be among them, however
/// old it is, or silence can't be seen.
pub fn health(switch: Switch, events: &[Event], now: Timestamp) -> Health {
    if switch == Switch::Off {
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
    /// How the check comes out.
    pub fn wellness(&self) -> Wellness {
        match self {
            Self::Disabled | Self::NoEventsYet | Self::AllPass { .. } => Wellness::Ok,
            Self::Silent { .. } | Self::Troubled { .. } => Wellness::Warn,
        }
    }

    /// In words.
    pub fn message(&self) -> String {
        match self {
            Self::Disabled => "skipped (disabled)".to_owned(),
            Self::NoEventsYet => "enabled, no events yet".to_owned(),
            Self::AllPass { runs, latest } => {
                format!("the last 7 days all pass (n = {runs}), latest {latest:.0}")
            }
            Self::Silent { latest } => format!("enabled, and has not run since {}", told(latest)),
            Self::Troubled { counts, latest, trouble, is_silent } => {
                let counts: Vec<String> =
                    counts.iter().map(|(outcome, n)| format!("{n} {outcome}")).collect();
                let mut text =
                    format!("in the last 7 days {}; latest {}", counts.join(", "), told(latest));
                if trouble.at != latest.at {
                    text.push_str(&format!("; before that {}", told(trouble)));
                }
                if *is_silent {
                    text.push_str("; it has not run since");
                }
                text
            }
        }
    }

    /// What to do about it, ready to be pasted.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Disabled => Some(ENABLE),
            Self::NoEventsYet | Self::AllPass { .. } => None,
            Self::Silent { .. } => Some(RUN),
            Self::Troubled { .. } => Some(MEND),
        }
    }
}

fn told(event: &Event) -> String {
    let Event { at, outcome, detail, .. } = event;
    match detail {
        Some(detail) => format!("{at:.0} {outcome}: {detail}"),
        None => format!("{at:.0} {outcome}"),
    }
}
