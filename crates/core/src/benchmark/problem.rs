//! Problems of a dataset that did not stop a run: counted, and shown in the label.

use std::collections::BTreeMap;

use crate::named;

named! {
    /// The kind of a problem in a dataset.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum DataProblemKind {
        /// A session, turn or conversation has no id and got one of its place.
        NoId = "no_id",
        /// Two documents of one haystack have one id.
        RepeatedId = "repeated_id",
        /// A session has no date that can be read.
        NoSessionDate = "no_session_date",
        /// A question has no date that can be read.
        NoQuestionDate = "no_question_date",
        /// A session that says nothing was left out.
        EmptySession = "empty_session",
        /// A session of another shape was left out.
        UnreadableSession = "unreadable_session",
        /// A document that is judged is not in the corpus.
        MissingDocument = "missing_document",
        /// Evidence names no turn.
        UnknownEvidence = "unknown_evidence",
        /// A question has no evidence, or a query no relevant document.
        NothingRelevant = "nothing_relevant",
        /// A query is judged and has no text.
        NoQueryText = "no_query_text",
    }
}

impl DataProblemKind {
    /// The effect of this number of problems on the figures.
    pub fn warning(self, count: usize) -> String {
        let text = match self {
            Self::NoId => "sessions or turns without an id, which got one of their place",
            Self::RepeatedId => {
                "documents with the id of another one: ranks of that id are the first"
            }
            Self::NoSessionDate => "sessions without a date: nothing about time can find them",
            Self::NoQuestionDate => {
                "questions without a date: they are asked after the last session"
            }
            Self::EmptySession => "sessions that say nothing and were left out",
            Self::UnreadableSession => "sessions that could not be read and were left out",
            Self::MissingDocument => {
                "judged documents that are not in the corpus: no ranking can find them, and they count \
                 as not found"
            }
            Self::UnknownEvidence => "pieces of evidence that name no turn and do not count",
            Self::NothingRelevant => "questions without anything relevant, which are in no mean",
            Self::NoQueryText => "judged queries without a text, which were not asked",
        };
        format!("the dataset has {count} {text}")
    }
}

/// One thing that was wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataProblem {
    pub kind: DataProblemKind,
    pub detail: String,
}

impl DataProblem {
    /// A problem at a place.
    pub fn new(kind: DataProblemKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

/// Number of problems of each kind, by name.
pub fn count_problems(problems: &[DataProblem]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for problem in problems {
        *counts.entry(problem.kind.name().to_owned()).or_default() += 1;
    }
    counts
}
