//! What a benchmark asks about: documents, and the questions that share them.

use jiff::Timestamp;
use jiff::civil::Date;

use super::DataProblem;
use crate::named;
use crate::qrels::Judgement;

/// What counts as one document of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Granularity {
    #[default]
    Session,
    /// One turn of it.
    Turn,
    /// A text of a test collection.
    Document,
}

named! { Granularity { Session = "session", Turn = "turn", Document = "document" } }

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Its name in the dataset.
    pub id: String,
    pub speaker: String,
    pub text: String,
    /// Whether it answers the question of its haystack, where the dataset says so.
    pub is_answer: bool,
}

/// What a document holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    Turns(Vec<Turn>),
    Text {
        /// Its title; may be empty.
        title: String,
        text: String,
    },
}

/// Something that can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its name in the dataset, as it is written there.
    pub id: String,
    /// What it is part of: the session of a turn, or itself.
    pub whole: String,
    /// When it was said.
    pub date: Option<Date>,
    /// That moment as the dataset writes it.
    pub date_text: Option<String>,
    pub body: Body,
}

/// A question with what answers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Its name in the dataset.
    pub id: String,
    /// The kind of question, as the dataset names it.
    pub kind: String,
    pub text: String,
    /// When it is asked.
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

/// Documents and the questions that are asked of exactly these.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Haystack {
    /// What can be found.
    pub documents: Vec<Document>,
    pub questions: Vec<Question>,
    /// What was wrong with the data.
    pub problems: Vec<DataProblem>,
}

impl Document {
    /// The turns of a chat; none of a text.
    pub fn turns(&self) -> &[Turn] {
        match &self.body {
            Body::Turns(turns) => turns,
            Body::Text { .. } => &[],
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
        let gold = |question: Question| Question {
            gold: question.gold_turns.iter().map(|turn| judged(turn)).collect(),
            ..question
        };
        let questions = self.questions.into_iter().map(gold).collect();
        Self { documents, questions, problems: self.problems }
    }
}

/// A document that answers, as much as any other.
pub(crate) fn judged(id: &str) -> Judgement {
    Judgement { doc: id.to_owned(), grade: 1.0 }
}

fn turns_of(document: Document) -> Vec<Document> {
    let Document { id, whole, date, date_text, body } = document;
    match body {
        Body::Text { .. } => vec![Document { id, whole, date, date_text, body }],
        Body::Turns(turns) => turns
            .into_iter()
            .map(|turn| Document {
                id: turn.id.clone(),
                whole: whole.clone(),
                date,
                date_text: date_text.clone(),
                body: Body::Turns(vec![turn]),
            })
            .collect(),
    }
}
