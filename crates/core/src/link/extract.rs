//! Edges from the text of a page.

use std::collections::hash_map::Entry;
use std::ops::Range;

use jiff::civil::Date;
use rustc_hash::FxHashMap;

use super::clause::{LinkGuess, MatchedCues, Sentence};
use super::cue::{PageClass, PageContext};
use super::find::{self, LinkOccurrence};
use super::{DetectedBy, Direction, Link, LinkType, key};
use crate::chunk::{BodySpan, Chunk, PagePart};
use crate::page::block::{Block, BlockKind, item_text, lines};
use crate::page::frontmatter::Relation;
use crate::page::offset::Offsets;
use crate::page::sentence::sentences;
use crate::page::timeline::item_day;
use crate::page::{MAX_LINKS, PageError};

const TYPED_LINE_CONFIDENCE: f64 = 0.95;

/// The page that a text is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageSubject<'a> {
    /// Its frontmatter says who attended.
    pub(crate) lists_attendees: bool,
    pub(crate) slug: &'a str,
    pub(crate) page_type: &'a str,
}

/// The edge that a relation of the frontmatter states; `lines` is the evidence.
pub(crate) fn edge_of_relation(
    relation: &Relation,
    lines: Range<usize>,
    offsets: &Offsets<'_>,
) -> Link {
    Link {
        link_type: relation.link_type,
        direction: relation.direction,
        target: relation.target.clone(),
        confidence: 1.0,
        detected_by: DetectedBy::Frontmatter,
        since: relation.since,
        until: relation.until,
        evidence_chunk: None,
        evidence_start: offsets.char_of(lines.start),
        evidence_end: offsets.char_of(lines.end),
    }
}

/// Adds the edges that the body gives evidence of, in order of appearance. Stops at the first edge too many.
pub(crate) fn extract(
    content: &str,
    offsets: &Offsets<'_>,
    spans: &[BodySpan],
    chunks: &[Chunk],
    subject: PageSubject<'_>,
    links: &mut Links,
) -> Result<(), PageError> {
    let mut context = PageContext::of(subject.page_type, opening(content, spans));
    context.lists_attendees = subject.lists_attendees;
    let mut extractor = Extractor { content, offsets, chunks, subject, context, links };
    for span in spans {
        for block in &span.blocks {
            extractor.block(block, span.part)?;
        }
    }
    Ok(())
}

/// The edges of a page: the strongest evidence of each, the earliest among equals, in order of appearance.
pub(crate) struct Links {
    own_slug: String,
    places: FxHashMap<(LinkType, Direction, String), usize>,
    strongest: Vec<Link>,
}

impl Links {
    /// No edges yet, of the page with this slug.
    pub(crate) fn of(own_slug: &str) -> Self {
        Self { own_slug: own_slug.to_owned(), places: FxHashMap::default(), strongest: Vec::new() }
    }

    /// Adds the evidence of an edge. An edge of the page to itself is none.
    pub(crate) fn add(&mut self, link: Link) -> Result<(), PageError> {
        if link.target == self.own_slug {
            return Ok(());
        }
        match self.places.entry((link.link_type, link.direction, link.target.clone())) {
            Entry::Occupied(place) => {
                let known = &mut self.strongest[*place.get()];
                // The first sign of an edge is from when it held, whichever says it best.
                let since = [known.since, link.since].into_iter().flatten().min();
                if link.confidence > known.confidence {
                    *known = Link { until: link.until.or(known.until), ..link };
                }
                known.since = since;
            }
            Entry::Vacant(_) if self.strongest.len() == MAX_LINKS => {
                return Err(PageError::TooMany { what: "links", limit: MAX_LINKS });
            }
            Entry::Vacant(place) => {
                place.insert(self.strongest.len());
                self.strongest.push(link);
            }
        }
        Ok(())
    }

    pub(crate) fn into_strongest(self) -> Vec<Link> {
        self.strongest
    }
}

/// The first sentence of the compiled truth, which states the kind of the page's subject.
fn opening<'a>(content: &'a str, spans: &[BodySpan]) -> &'a str {
    let truth = spans.iter().filter(|span| span.part == PagePart::Truth);
    let first =
        truth.flat_map(|span| &span.blocks).find(|block| block.kind == BlockKind::Paragraph);
    let Some(first) = first else { return "" };
    sentences(content, first.range.clone()).into_iter().next().map_or("", |range| &content[range])
}

struct Extractor<'a> {
    content: &'a str,
    offsets: &'a Offsets<'a>,
    chunks: &'a [Chunk],
    subject: PageSubject<'a>,
    context: PageContext,
    links: &'a mut Links,
}

impl Extractor<'_> {
    fn block(&mut self, block: &Block, part: PagePart) -> Result<(), PageError> {
        if matches!(block.kind, BlockKind::Fence | BlockKind::Indented | BlockKind::Break) {
            return Ok(());
        }
        let found = find::links(self.content, block.range.clone(), self.subject.slug);
        if found.is_empty() {
            return Ok(());
        }
        let mut untyped = Vec::new();
        let mut rest = found.into_iter().peekable();
        for line in lines(self.content, block.range.clone()) {
            let mut here = Vec::new();
            while let Some(link) = rest.next_if(|link| link.range.start < line.end) {
                here.push(link);
            }
            match self.typed_line(&line, &here) {
                Some(guess) => {
                    for link in &here {
                        self.push(link, guess, DetectedBy::TypedLine, line.clone())?;
                    }
                }
                None => untyped.append(&mut here),
            }
        }
        self.prose(&untyped, block, part)
    }

    /// The relation that a line such as `- Owned by: [[x]], [[y]]` names.
    fn typed_line(&self, line: &Range<usize>, links: &[LinkOccurrence]) -> Option<LinkGuess> {
        let (first, last) = (links.first()?, links.last()?);
        let before = &self.content[line.start..first.range.start];
        let before = item_text(before).unwrap_or(before).trim();
        let name = before.trim_matches(['*', '_', '`']).strip_suffix(':')?;
        let after =
            self.content[last.range.end.min(line.end)..line.end].trim().trim_end_matches('.');
        let is_note = after.is_empty() || after.starts_with(['(', ',', ';', '|', '—', '–', '-']);
        if !is_note {
            return None;
        }
        let name = name.trim_matches(['*', '_', '`', ' ']);
        let (link_type, direction) = key::relation_of_key(name, self.subject.page_type)?;
        Some(LinkGuess::new(link_type, direction, TYPED_LINE_CONFIDENCE))
    }

    /// The links of a block, read by the sentences, rows or dated bullets that hold them.
    fn prose(
        &mut self,
        found: &[LinkOccurrence],
        block: &Block,
        part: PagePart,
    ) -> Result<(), PageError> {
        let day =
            item_day(&self.content[block.range.clone()]).filter(|_| part == PagePart::Timeline);
        let ranges = match block.kind {
            _ if found.is_empty() => return Ok(()),
            _ if day.is_some() => vec![block.range.clone()],
            BlockKind::Table => lines(self.content, block.range.clone()).collect(),
            _ => joined(sentences(self.content, block.range.clone()), found),
        };
        let mut rest = found;
        for range in ranges {
            let count = rest.iter().take_while(|link| link.range.start < range.end).count();
            let (here, after) = rest.split_at(count);
            if !here.is_empty() {
                self.sentence(here, range, day)?;
            }
            rest = after;
        }
        Ok(())
    }

    fn sentence(
        &mut self,
        here: &[LinkOccurrence],
        range: Range<usize>,
        day: Option<Date>,
    ) -> Result<(), PageError> {
        let ranges = here.iter().map(|link| link.range.clone());
        let mut sentence = None;
        let mut read = Vec::<(PageClass, MatchedCues)>::new();
        for (at, link) in here.iter().enumerate() {
            let class = PageClass::of_target(&link.target);
            let mut guesses = Vec::new();
            if self.context.has_cues(class) {
                let sentence = sentence.get_or_insert_with(|| {
                    Sentence::new(self.content, range.clone(), ranges.clone(), day)
                });
                if !read.iter().any(|(known, _)| *known == class) {
                    read.push((class, sentence.cues(self.context, class)));
                }
                let cues = read.iter().find(|(known, _)| *known == class);
                guesses = cues.map(|(_, cues)| sentence.guesses(cues, at)).unwrap_or_default();
            }
            if guesses.is_empty() {
                self.push(link, LinkGuess::mention(), DetectedBy::Link, range.clone())?;
            }
            for guess in guesses {
                self.push(link, guess, DetectedBy::Sentence, range.clone())?;
            }
        }
        Ok(())
    }

    fn push(
        &mut self,
        link: &LinkOccurrence,
        guess: LinkGuess,
        detected_by: DetectedBy,
        evidence: Range<usize>,
    ) -> Result<(), PageError> {
        let trimmed = self.content[evidence.clone()].trim_end().len();
        let start = self.offsets.char_of(evidence.start);
        let end = self.offsets.char_of(evidence.start + trimmed);
        self.links.add(Link {
            link_type: guess.link_type,
            direction: guess.direction,
            target: link.target.clone(),
            confidence: guess.confidence,
            detected_by,
            since: guess.since,
            until: guess.until,
            evidence_chunk: self.chunk_of(start, end),
            evidence_start: start,
            evidence_end: end,
        })
    }

    /// The first chunk that holds the evidence whole, else the first that holds its start.
    fn chunk_of(&self, start: u32, end: u32) -> Option<u32> {
        let from = self.chunks.partition_point(|chunk| chunk.end <= start);
        let near = self.chunks[from..].iter().take_while(|chunk| chunk.start <= start);
        let near: Vec<&Chunk> = near.collect();
        let whole = near.iter().find(|chunk| end <= chunk.end);
        whole.or(near.first()).map(|chunk| chunk.ordinal)
    }
}

/// Joins sentences that a link straddles: `[J. Doe & Co. Ltd](x)`.
fn joined(ranges: Vec<Range<usize>>, found: &[LinkOccurrence]) -> Vec<Range<usize>> {
    let mut joined = Vec::<Range<usize>>::with_capacity(ranges.len());
    let mut links = found.iter().peekable();
    for range in ranges {
        let straddled = joined.last().is_some_and(|last| {
            while links.next_if(|link| link.range.end <= last.end).is_some() {}
            links.peek().is_some_and(|link| link.range.start < last.end)
        });
        match joined.last_mut() {
            Some(last) if straddled => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}
