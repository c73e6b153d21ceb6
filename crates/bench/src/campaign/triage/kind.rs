//! The planted faults, by class.

use std::fmt;

use clap::ValueEnum;
use gbrain_core::triage::FailureCause;

use crate::campaign::scaffold::FlagValue as _;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Kind {
    /// The vectors of some notes are gone from the index's files.
    VectorsDropped,
    /// The vectors of some notes are those of others.
    VectorsShuffled,
    /// All vectors are those of another model.
    VectorsOfAnother,
    /// New notes are in words that the model does not know.
    NewWords,
    /// The index holds vectors of a model that is no longer there.
    ModelGone,
    /// The threshold is above what good notes score.
    ThresholdRaised,
    /// The threshold is above everything for some questions.
    ThresholdAboveAll,
    PageDeleted,
    /// Rows of passages are gone from the store, and the index was made from what is left.
    PassagesLost,
    /// A note's text was replaced by another.
    TextReplaced,
    /// A note was taken in only in part.
    TextCut,
    /// Notes were taken in under another source.
    OtherSource,
    /// Notes say that they are private.
    Hidden,
    /// Notes have another type than the question asks for.
    WrongType,
    WrongTags,
    WrongDate,
    /// Some answers are a 5xx.
    Status,
    /// Some answers do not come.
    Hang,
    /// Nothing listens there.
    Refused,
    /// Some answers are not what they should be.
    Garbage,
    /// Some answers are a 429.
    RateLimited,
    /// A stage takes longer than the budget.
    SlowStage,
    RerankerDown,
    /// The model that embeds questions does not answer.
    EmbedderDown,
    /// New notes say what is asked, in its words.
    Distractors,
    /// So many of them that a stage does not even see the note that must be found.
    Crowd,
    /// A reranker prefers new notes that say what is asked.
    RerankPrefers,
    /// Hits are cut off that score less than the first.
    CutRatio,
    /// Meaning weighs nothing.
    WeightlessVectors,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

pub const PLANTED: [FailureCause; 5] = [
    FailureCause::EmbeddingDrift,
    FailureCause::Threshold,
    FailureCause::PipelineBug,
    FailureCause::Infrastructure,
    FailureCause::Ranking,
];

impl Kind {
    /// The finding that triage must report.
    pub fn class(self) -> FailureCause {
        match self {
            Self::VectorsDropped
            | Self::VectorsShuffled
            | Self::VectorsOfAnother
            | Self::NewWords
            | Self::ModelGone => FailureCause::EmbeddingDrift,
            Self::ThresholdRaised | Self::ThresholdAboveAll => FailureCause::Threshold,
            Self::PageDeleted
            | Self::PassagesLost
            | Self::TextReplaced
            | Self::TextCut
            | Self::OtherSource
            | Self::Hidden
            | Self::WrongType
            | Self::WrongTags
            | Self::WrongDate => FailureCause::PipelineBug,
            Self::Status
            | Self::Hang
            | Self::Refused
            | Self::Garbage
            | Self::RateLimited
            | Self::SlowStage
            | Self::RerankerDown
            | Self::EmbedderDown => FailureCause::Infrastructure,
            Self::Distractors
            | Self::Crowd
            | Self::RerankPrefers
            | Self::CutRatio
            | Self::WeightlessVectors => FailureCause::Ranking,
        }
    }

    /// The kinds of a class, in order.
    pub fn of(class: FailureCause) -> Vec<Self> {
        Self::value_variants().iter().copied().filter(|kind| kind.class() == class).collect()
    }

    /// Whether a target elsewhere is asked.
    pub fn is_elsewhere(self) -> bool {
        matches!(
            self,
            Self::Status
                | Self::Hang
                | Self::Refused
                | Self::Garbage
                | Self::RateLimited
                | Self::SlowStage
        )
    }
}
