//! The documents and questions of a benchmark.

use jiff::Timestamp;
use jiff::civil::Date;

use super::DataProblem;
use crate::named;
use crate::qrels::Judgement;

named! {
    /// The unit of a chat that counts as one document.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Granularity {
        #[default]
        Session = "session",
        /// One turn of it.
        Turn = "turn",
        /// A text of a test collection.
        Document = "document",
    }
}

/// A turn of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetTurn {
    /// Its name in the dataset.
    pub id: String,
    pub speaker: String,
    pub text: String,
    /// Whether it answers the question of its haystack, if the dataset says so.
    pub is_answer: bool,
}

/// The content of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentBody {
    Turns(Vec<DatasetTurn>),
    Text {
        /// Its title; may be empty.
        title: String,
        text: String,
    },
}

/// Something that can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetDocument {
    /// Its name in the dataset, unchanged.
    pub id: String,
    /// The document that contains it: the session of a turn, or itself.
    pub whole: String,
    /// Date of the session.
    pub date: Option<Date>,
    /// The same moment in the dataset's own notation.
    pub date_text: Option<String>,
    pub body: DocumentBody,
}

/// A question with its gold documents.
#[derive(Debug, Clone, PartialEq)]
pub struct DatasetQuestion {
    /// Its name in the dataset.
    pub id: String,
    /// The kind of question, as the dataset names it.
    pub kind: String,
    pub text: String,
    /// Date of the question.
    pub asked: Option<Timestamp>,
    /// The right answer, for those who judge answers.
    pub answer: Option<String>,
    /// The documents that answer it, with grades; for chats, sessions.
    pub gold: Vec<Judgement>,
    /// The turns that answer it.
    pub gold_turns: Vec<String>,
    /// Whether nothing in the haystack answers it.
    pub is_abstention: bool,
}

/// Documents with the questions about exactly these.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Haystack {
    /// The documents that can be found.
    pub documents: Vec<DatasetDocument>,
    pub questions: Vec<DatasetQuestion>,
    /// Problems found in the data.
    pub problems: Vec<DataProblem>,
}

impl DatasetDocument {
    /// The turns of a chat; none of a text.
    pub fn turns(&self) -> &[DatasetTurn] {
        match &self.body {
            DocumentBody::Turns(turns) => turns,
            DocumentBody::Text { .. } => &[],
        }
    }
}

impl Haystack {
    /// The same with turns as documents, which know the session they are part of. Texts stay.
    #[must_use]
    pub fn by(self, granularity: Granularity) -> Self {
        if granularity != Granularity::Turn {
            return self;
        }
        let documents = self.documents.into_iter().flat_map(turns_of).collect();
        let gold = |question: DatasetQuestion| DatasetQuestion {
            gold: question.gold_turns.iter().map(|turn| relevant_judgement(turn)).collect(),
            ..question
        };
        let questions = self.questions.into_iter().map(gold).collect();
        Self { documents, questions, problems: self.problems }
    }
}

/// A document that answers, as much as any other.
pub(crate) fn relevant_judgement(id: &str) -> Judgement {
    Judgement { doc: id.to_owned(), grade: 1.0 }
}

fn turns_of(document: DatasetDocument) -> Vec<DatasetDocument> {
    let DatasetDocument { id, whole, date, date_text, body } = document;
    match body {
        DocumentBody::Text { .. } => vec![DatasetDocument { id, whole, date, date_text, body }],
        DocumentBody::Turns(turns) => turns
            .into_iter()
            .map(|turn| DatasetDocument {
                id: turn.id.clone(),
                whole: whole.clone(),
                date,
                date_text: date_text.clone(),
                body: DocumentBody::Turns(vec![turn]),
            })
            .collect(),
    }
}
