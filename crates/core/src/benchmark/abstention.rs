//! Questions that nothing in the haystack answers.

use crate::named;

named! {
    /// How a benchmark treats questions without an answer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Abstention {
        /// They are asked, their rows have no recall, and no mean counts them: LongMemEval's own rule.
        LeftOut = "left_out",
        /// Their evidence is what the question twists; finding it counts: LoCoMo marks it so.
        Counted = "counted",
        None = "none",
    }
}

impl Abstention {
    /// The rule as a report says it.
    pub fn rule(self) -> &'static str {
        match self {
            Self::LeftOut => "asked, but in no mean (as LongMemEval's own scripts do)",
            Self::Counted => "counted: finding the evidence that an adversarial question twists",
            Self::None => "the dataset has none",
        }
    }
}
