//! A brain for one haystack: made, asked and dropped.
//!
//! Promises: ids of the dataset are nowhere in it, so they can't be found; nothing of the user's
//! brain or of another haystack is.

use std::ops::Range;

use gbrain_brain::{Ask, Assistants, BrainError, Expand, Snapshot};
use gbrain_core::benchmark::{Body, Document, Haystack};
use gbrain_core::id::{PageKey, Slug, SourceId};
use gbrain_core::page::{Format, Page, PageError, PageInput, chat_page, parse};
use gbrain_core::ranking::{Hit, is_of_the_question};
use gbrain_core::request::Request;
use gbrain_index::Models;

use super::run::Expander;

/// A haystack that can be asked.
pub(super) struct Brain {
    snapshot: Snapshot,
    /// The characters of each turn, by document.
    turns: Vec<Vec<Range<u32>>>,
    /// What each document says, as a page.
    contents: Vec<String>,
}

/// What asking gave.
pub(super) struct Asked {
    /// Places of documents, best first. An answer names the pages that say the same as a hit with
    /// it, so those take the ranks after it.
    pub(super) places: Vec<usize>,
    /// The hits, with their documents.
    pub(super) hits: Vec<(usize, Hit)>,
    /// Stages that could not do their work.
    pub(super) degraded: Vec<String>,
}

impl Brain {
    /// Takes documents in. One that is no page (blank, or too large) can't be found.
    pub(super) fn of(haystack: &Haystack, models: &Models) -> Result<Self, BrainError> {
        let mut pages = Vec::with_capacity(haystack.documents.len());
        let mut turns = Vec::with_capacity(haystack.documents.len());
        let mut contents = Vec::with_capacity(haystack.documents.len());
        for (at, document) in haystack.documents.iter().enumerate() {
            let (page, of_page) = page(at, document).unzip();
            contents.push(page.as_ref().map(|page| page.content.clone()).unwrap_or_default());
            pages.extend(page);
            turns.push(of_page.unwrap_or_default());
        }
        Ok(Self { snapshot: Snapshot::hermetic(pages, models)?, turns, contents })
    }

    pub(super) fn ask(
        &self,
        request: &Request,
        expander: Option<Expander<'_>>,
        assistants: Option<&Assistants>,
    ) -> Result<Asked, BrainError> {
        let expand = expander.map(|expander| |query: &str| expander(query));
        let expand = expand.as_ref().map(|expand| expand as &Expand<'_>);
        let ask = Ask { expand, ..Ask::default() };
        let answered = match assistants {
            Some(assistants) => assistants.with(ask, |ask| self.snapshot.answer(request, ask)),
            None => self.snapshot.answer(request, &ask),
        };
        let ranking = answered?.ranking;
        let degraded = ranking.degraded.iter().filter(|d| !is_of_the_question(d.reason));
        let degraded = degraded.map(|d| format!("{}: {}", d.stage, d.reason)).collect();
        let named =
            ranking.hits.iter().flat_map(|hit| [&hit.key].into_iter().chain(&hit.duplicates));
        let places = named.filter_map(place_of).collect();
        let hits = ranking.hits.into_iter().filter_map(|hit| Some((place_of(&hit.key)?, hit)));
        Ok(Asked { places, hits: hits.collect(), degraded })
    }

    /// What a passage of a document says.
    pub(super) fn text(&self, document: usize, passage: Range<u32>) -> String {
        let content = self.contents[document].chars();
        let length = passage.end.saturating_sub(passage.start);
        content.skip(passage.start as usize).take(length as usize).collect()
    }

    /// The turns of a document that a passage of it holds, by place.
    pub(super) fn turns_in(&self, document: usize, passage: Range<u32>) -> Vec<usize> {
        let meets = |turn: &Range<u32>| turn.start < passage.end && passage.start < turn.end;
        let turns = self.turns[document].iter().enumerate();
        turns.filter(|(_, turn)| meets(turn)).map(|(at, _)| at).collect()
    }
}

/// A document as a page, named by its place.
fn page(at: usize, document: &Document) -> Option<(Page, Vec<Range<u32>>)> {
    let slug = Slug::new(&format!("d{at:07}")).expect("a letter and digits are a slug");
    let key = PageKey::new(SourceId::default(), slug);
    let page = match &document.body {
        Body::Turns(turns) => {
            let turns = turns.iter().map(|turn| (turn.speaker.as_str(), turn.text.as_str()));
            chat_page(key, document.date, turns)
        }
        Body::Text { title, text } => text_page(key, title, text).map(|page| (page, Vec::new())),
    };
    page.ok()
}

fn text_page(key: PageKey, title: &str, text: &str) -> Result<Page, PageError> {
    let content = if text.trim().is_empty() { title } else { text };
    let content = content.replace('\0', " ");
    let input = PageInput { key, file_name: None, content: &content, format: Format::Text };
    let mut page = parse(input)?;
    page.title = title.to_owned();
    Ok(page)
}

fn place_of(key: &PageKey) -> Option<usize> {
    key.slug.as_str().strip_prefix('d')?.parse().ok()
}
