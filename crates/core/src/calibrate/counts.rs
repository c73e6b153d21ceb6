//! Counts pairs by label.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FEWEST, PairLabel};

/// Number of pairs by label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LabelCounts {
    /// Number of relevant pairs.
    pub relevant: usize,
    /// Number of borderline pairs.
    pub borderline: usize,
    /// Number of irrelevant pairs.
    pub irrelevant: usize,
}

impl LabelCounts {
    pub fn of(labels: impl Iterator<Item = PairLabel>) -> Self {
        labels.fold(Self::default(), |mut counts, label| {
            counts.add(label);
            counts
        })
    }

    pub(super) fn add(&mut self, label: PairLabel) {
        *match label {
            PairLabel::Relevant => &mut self.relevant,
            PairLabel::Borderline => &mut self.borderline,
            PairLabel::Irrelevant => &mut self.irrelevant,
        } += 1;
    }

    pub fn total(&self) -> usize {
        self.relevant + self.borderline + self.irrelevant
    }

    /// Number of borderline pairs that a calibration still needs.
    pub fn missing(&self) -> usize {
        FEWEST.saturating_sub(self.borderline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_label() {
        let labels = [PairLabel::Borderline, PairLabel::Relevant, PairLabel::Borderline];
        let counts = LabelCounts::of(labels.into_iter());
        assert_eq!((counts.borderline, counts.relevant, counts.missing()), (2, 1, 28));
    }
}
