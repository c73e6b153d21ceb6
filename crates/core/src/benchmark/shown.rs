//! The retrieved passages that a reader is shown, with the sessions that number them and the turns
//! that they contain.
//!
//! Promises: everything follows from the dataset and the passages' places, so that a row can be
//! checked against them without another search.

use std::collections::HashSet;
use std::ops::Range;

use super::reading::Excerpt;
use super::{DatasetDocument, DatasetQuestion, DocumentBody, Haystack};
use crate::id::{PageKey, Slug, SourceId};
use crate::page::{Page, PageError, PageFormat, PageInput, chat_page, parse};

/// A document whose passages are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownDocument {
    /// Its place in the haystack.
    pub place: usize,
    /// The characters of its passages, by where they begin.
    pub passages: Vec<Range<u32>>,
}

/// A document as the brain parses it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DocumentText {
    /// The document as a page; empty if it is not one.
    pub content: String,
    /// The characters of each turn.
    pub turns: Vec<Range<u32>>,
}

/// A document as a page, named by its place. One that is blank or too large is none.
pub fn document_page(at: usize, document: &DatasetDocument) -> (Option<Page>, DocumentText) {
    let slug = Slug::new(&format!("d{at:07}")).expect("a letter and digits are a slug");
    let key = PageKey::new(SourceId::default(), slug);
    let page = match &document.body {
        DocumentBody::Turns(turns) => {
            let turns = turns.iter().map(|turn| (turn.speaker.as_str(), turn.text.as_str()));
            chat_page(key, document.date, turns)
        }
        DocumentBody::Text { title, text } => {
            text_page(key, title, text).map(|page| (page, Vec::new()))
        }
    };
    match page {
        Ok((page, turns)) => {
            let content = page.content.clone();
            (Some(page), DocumentText { content, turns })
        }
        Err(_) => (None, DocumentText::default()),
    }
}

fn text_page(key: PageKey, title: &str, text: &str) -> Result<Page, PageError> {
    let content = if text.trim().is_empty() { title } else { text };
    let content = content.replace('\0', " ");
    let input = PageInput { key, file_name: None, content: &content, format: PageFormat::Text };
    let mut page = parse(input)?;
    page.title = title.to_owned();
    Ok(page)
}

impl DocumentText {
    fn passage(&self, passage: &Range<u32>) -> String {
        let length = passage.end.saturating_sub(passage.start);
        self.content.chars().skip(passage.start as usize).take(length as usize).collect()
    }

    fn turns_in(&self, passage: &Range<u32>) -> impl Iterator<Item = usize> {
        let meets = |turn: &Range<u32>| turn.start < passage.end && passage.start < turn.end;
        let turns = self.turns.iter().enumerate();
        turns.filter(move |(_, turn)| meets(turn)).map(|(at, _)| at)
    }

    /// Whether all characters of a passage are there.
    pub(super) fn holds(&self, passage: &Range<u32>) -> bool {
        let count = self.content.chars().count();
        passage.start < passage.end && passage.end as usize <= count
    }
}

/// The documents that are shown, with their texts in the same order.
#[derive(Debug, Clone, Copy)]
pub struct ShownPassages<'a> {
    /// The documents, best first.
    pub documents: &'a [ShownDocument],
    /// The text of each.
    pub texts: &'a [&'a DocumentText],
}

impl ShownPassages<'_> {
    /// The sessions by their number in the excerpts: a dataset's ids may say which of them holds the
    /// answer, so that a model reads numbers.
    pub fn sessions(&self, haystack: &Haystack) -> Vec<String> {
        let mut seen = HashSet::new();
        let sessions = self.documents.iter().map(|shown| &haystack.documents[shown.place].whole);
        sessions.filter(|session| seen.insert(*session)).cloned().collect()
    }

    /// The passages of each document, as text.
    pub fn passages(&self) -> Vec<String> {
        let text = |(shown, text): (&ShownDocument, &&DocumentText)| {
            let passages: Vec<String> =
                shown.passages.iter().map(|passage| text.passage(passage)).collect();
            passages.join("\n[…]\n")
        };
        self.documents.iter().zip(self.texts).map(text).collect()
    }

    /// The input of a model, given the passages as text and the sessions by number.
    pub fn excerpts<'e>(
        &self,
        haystack: &'e Haystack,
        sessions: &[String],
        passages: &'e [String],
    ) -> Vec<Excerpt<'e>> {
        let excerpt = |(shown, text): (&ShownDocument, &'e String)| {
            let document = &haystack.documents[shown.place];
            let number = sessions.iter().position(|session| *session == document.whole);
            Excerpt {
                number: number.map_or(0, |at| at + 1),
                date: document.date_text.as_deref(),
                text,
            }
        };
        self.documents.iter().zip(passages).map(excerpt).collect()
    }

    /// The share of answering turns that the passages hold.
    pub fn turn_recall(&self, haystack: &Haystack, question: &DatasetQuestion) -> Option<f64> {
        if question.is_abstention || question.gold_turns.is_empty() {
            return None;
        }
        let mut held: HashSet<&str> = HashSet::new();
        for (shown, text) in self.documents.iter().zip(self.texts) {
            let turns = haystack.documents[shown.place].turns();
            for passage in &shown.passages {
                held.extend(text.turns_in(passage).map(|turn| turns[turn].id.as_str()));
            }
        }
        let found = question.gold_turns.iter().filter(|turn| held.contains(turn.as_str())).count();
        Some(found as f64 / question.gold_turns.len() as f64)
    }
}
