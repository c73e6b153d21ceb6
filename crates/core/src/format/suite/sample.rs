//! How large the sample of a run is, and what every report says of one that is small.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::report::is_false;
use crate::suite::size::{SampleSize, SampleUnit, Shortage};

/// The sample of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuiteSample")]
pub struct SampleBody {
    /// What it consists of: queries, or borderline pairs.
    pub unit: SampleUnit,
    /// How many there were to ask.
    pub drawn: usize,
    /// The fewest that give a verdict.
    pub required: usize,
    /// The fewest that the playbook asks of such a suite.
    pub playbook: usize,
    /// Whether the suite is configured to require fewer than the playbook.
    #[serde(default, skip_serializing_if = "is_false")]
    pub smaller_than_playbook: bool,
    /// The parts that are too small: then the run has no pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short: Vec<WireShortage>,
}

/// A part of a sample that is too small.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuiteShortage")]
pub struct WireShortage {
    /// The source; null for the sample as a whole.
    pub source: Option<String>,
    /// How many there were to ask.
    pub drawn: usize,
    /// How many are required.
    pub required: usize,
}

impl From<&SampleSize> for SampleBody {
    fn from(size: &SampleSize) -> Self {
        let smaller_than_playbook = size.is_below_playbook();
        let SampleSize { unit, drawn, required, playbook, short } = size.clone();
        let short = short.into_iter().map(|Shortage { source, drawn, required }| WireShortage {
            source,
            drawn,
            required,
        });
        let short = short.collect();
        Self { unit, drawn, required, playbook, smaller_than_playbook, short }
    }
}

impl SampleBody {
    /// That the suite is configured to ask for less than the playbook does; none where it is not.
    pub fn smaller(&self) -> Option<String> {
        let Self { unit, required, playbook, .. } = self;
        self.smaller_than_playbook.then(|| {
            format!(
                "smaller sample: this suite requires {required} {unit}, the playbook {playbook}"
            )
        })
    }

    /// Everything that is small about it, in a sentence each.
    pub fn remarks(&self) -> Vec<String> {
        let unit = self.unit;
        let short = self.short.iter().map(|WireShortage { source, drawn, required }| {
            let about = source.as_ref().map(|one| format!(" about {one}")).unwrap_or_default();
            format!("sample too small: {drawn} of the {required} {unit}{about} that are required")
        });
        short.chain(self.smaller()).collect()
    }
}
