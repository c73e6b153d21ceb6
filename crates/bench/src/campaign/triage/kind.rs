//! The planted faults, by class.

use gbrain_core::named;
use gbrain_core::triage::Class;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

named! {
    Kind {
        VectorsDropped = "vectors_dropped",
        VectorsShuffled = "vectors_shuffled",
        VectorsOfAnother = "vectors_of_another",
        NewWords = "new_words",
        ModelGone = "model_gone",
        ThresholdRaised = "threshold_raised",
        ThresholdAboveAll = "threshold_above_all",
        PageDeleted = "page_deleted",
        PassagesLost = "passages_lost",
        TextReplaced = "text_replaced",
        TextCut = "text_cut",
        OtherSource = "other_source",
        Hidden = "hidden",
        WrongType = "wrong_type",
        WrongTags = "wrong_tags",
        WrongDate = "wrong_date",
        Status = "status",
        Hang = "hang",
        Refused = "refused",
        Garbage = "garbage",
        RateLimited = "rate_limited",
        SlowStage = "slow_stage",
        RerankerDown = "reranker_down",
        EmbedderDown = "embedder_down",
        Distractors = "distractors",
        Crowd = "crowd",
        RerankPrefers = "rerank_prefers",
        CutRatio = "cut_ratio",
        WeightlessVectors = "weightless_vectors",
    }
}

pub const PLANTED: [Class; 5] = [
    Class::EmbeddingDrift,
    Class::Threshold,
    Class::PipelineBug,
    Class::Infrastructure,
    Class::Ranking,
];

impl Kind {
    /// The finding that triage must report.
    pub fn class(self) -> Class {
        match self {
            Self::VectorsDropped
            | Self::VectorsShuffled
            | Self::VectorsOfAnother
            | Self::NewWords
            | Self::ModelGone => Class::EmbeddingDrift,
            Self::ThresholdRaised | Self::ThresholdAboveAll => Class::Threshold,
            Self::PageDeleted
            | Self::PassagesLost
            | Self::TextReplaced
            | Self::TextCut
            | Self::OtherSource
            | Self::Hidden
            | Self::WrongType
            | Self::WrongTags
            | Self::WrongDate => Class::PipelineBug,
            Self::Status
            | Self::Hang
            | Self::Refused
            | Self::Garbage
            | Self::RateLimited
            | Self::SlowStage
            | Self::RerankerDown
            | Self::EmbedderDown => Class::Infrastructure,
            Self::Distractors
            | Self::Crowd
            | Self::RerankPrefers
            | Self::CutRatio
            | Self::WeightlessVectors => Class::Ranking,
        }
    }

    /// The kinds of a class, in order.
    pub fn of(class: Class) -> Vec<Self> {
        Self::ALL.iter().copied().filter(|kind| kind.class() == class).collect()
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
