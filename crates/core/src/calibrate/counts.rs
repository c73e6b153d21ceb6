//! Pairs, counted by label.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FEWEST, Label};

/// How many pairs there are of each label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LabelCounts {
    /// Relevant ones.
    pub relevant: usize,
    /// Borderline ones.
    pub borderline: usize,
    /// Irrelevant ones.
    pub irrelevant: usize,
}

impl LabelCounts {
    /// The labels, counted.
    pub fn of(labels: impl Iterator<Item = Label>) -> Self {
        labels.fold(Self::default(), |mut counts, label| {
            counts.add(label);
            counts
        })
    }

    pub(super) fn add(&mut self, label: Label) {
        *match label {
            Label::Relevant => &mut self.relevant,
            Label::Borderline => &mut self.borderline,
            Label::Irrelevant => &mut self.irrelevant,
        } += 1;
    }

    /// How many there are in all.
    pub fn total(&self) -> usize {
        self.relevant + self.borderline + self.irrelevant
    }

    /// How many borderline ones a calibration lacks.
    pub fn missing(&self) -> usize {
        FEWEST.saturating_sub(self.borderline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_label() {
        let labels = [Label::Borderline, Label::Relevant, Label::Borderline];
        let counts = LabelCounts::of(labels.into_iter());
        assert_eq!((counts.borderline, counts.relevant, counts.missing()), (2, 1, 28));
    }
}
