//! The input of chunk packing: blocks, and their parts when they are too large.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::BodySpan;
use crate::page::block::{self, BlockKind};
use crate::page::sentence::sentences;

/// One more token for every so many characters of a word: addresses and words of scripts without
/// spaces are long.
const CHARS_PER_TOKEN: usize = 16;

/// Where a sentence is cut when it alone is too large.
const RUN_TOKENS: usize = 50;
const RUN_CHARS: usize = 1600;

/// The longest heading that counts as one, in bytes.
const LONGEST_HEADING: usize = 500;

/// The number of no section.
const NO_SECTION: usize = usize::MAX;

/// How a piece may be treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// Opens a section; never the last of a chunk if that can be helped.
    Heading,
    /// Text that may be divided into sentences.
    Prose,
    /// A sentence, which may be divided into runs of words.
    Sentence,
    /// A line of code or a table row.
    Line,
    /// A run of words: not divided further.
    Run,
    /// A fenced block: divided into lines only when it exceeds the cap.
    Fence,
    /// A turn of a chat: divided like prose only when it exceeds the cap.
    Turn,
}

/// A range of the text that packing treats as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChunkPiece {
    pub(super) kind: PieceKind,
    pub(super) range: Range<usize>,
    pub(super) tokens: usize,
    /// The section it belongs to; a heading belongs to the one it opens.
    pub(super) section: usize,
}

/// The headings met so far. A section knows its own heading and the section that it is in: with whole paths a page of
/// short headings below long ones would take hundreds of times its size.
#[derive(Default)]
pub(super) struct Headings {
    /// The open headings, each with its level and its section.
    open: Vec<(u8, usize)>,
    sections: Vec<Section>,
    /// The section that a part starts with; none before the first heading.
    current: Option<usize>,
}

struct Section {
    text: String,
    above: Option<usize>,
}

impl Headings {
    fn enter(&mut self, level: u8, text: String) {
        self.open.retain(|(above, _)| *above < level);
        let above = self.open.last().map(|(_, section)| *section);
        self.sections.push(Section { text, above });
        self.open.push((level, self.sections.len() - 1));
        self.current = Some(self.sections.len() - 1);
    }

    /// A new part keeps the page's own heading and drops the sections.
    fn restart(&mut self) {
        self.open.retain(|(level, _)| *level == 1);
        self.current = self.open.last().map(|(_, section)| *section);
    }

    /// The number of the open section, for [`Headings::path`].
    fn current(&self) -> usize {
        self.current.unwrap_or(NO_SECTION)
    }

    /// The headings above a section and its own, outermost first.
    pub(super) fn path(&self, section: usize) -> String {
        let first = self.sections.get(section);
        let sections = std::iter::successors(first, |section| self.sections.get(section.above?));
        let mut texts: Vec<&str> = sections.map(|section| section.text.as_str()).collect();
        texts.reverse();
        texts.join(" > ")
    }
}

/// Estimates tokens: a word is one, and one more for every 16 characters; so is every character of
/// the scripts that put no spaces between words.
pub fn tokens(text: &str) -> usize {
    if text.is_ascii() {
        let words = text.as_bytes().split(|byte| matches!(byte, b'\t'..=b'\r' | b' '));
        return words.map(|word| word.len().div_ceil(CHARS_PER_TOKEN)).sum();
    }
    let mut count = 0;
    let mut word = 0;
    for char in text.chars() {
        if char.is_whitespace() {
            word = 0;
        } else if is_ideograph(char) {
            count += 1;
            word = 0;
        } else {
            count += usize::from(word % CHARS_PER_TOKEN == 0);
            word += 1;
        }
    }
    count
}

/// The pieces of a part: its blocks.
pub(super) fn of_blocks(
    content: &str,
    span: &BodySpan,
    headings: &mut Headings,
) -> Vec<ChunkPiece> {
    headings.restart();
    let mut pieces = Vec::with_capacity(span.blocks.len());
    for block in &span.blocks {
        let text = &content[block.range.clone()];
        if let BlockKind::Heading(level) = block.kind
            && text.len() <= LONGEST_HEADING
        {
            headings.enter(level, block::heading_text(text));
        }
        let section = headings.current();
        let kind = match block.kind {
            BlockKind::Heading(_) if text.len() <= LONGEST_HEADING => PieceKind::Heading,
            BlockKind::Fence => PieceKind::Fence,
            BlockKind::Table | BlockKind::Indented => {
                pieces.extend(lines(content, block.range.clone(), section));
                continue;
            }
            _ => PieceKind::Prose,
        };
        pieces.push(ChunkPiece { kind, range: block.range.clone(), tokens: tokens(text), section });
    }
    pieces
}

/// The pieces of a chat: what comes before the first turn, and the turns.
pub(super) fn of_turns(content: &str, span: &BodySpan, turns: &[Range<usize>]) -> Vec<ChunkPiece> {
    let first = turns.first().map_or(span.range.end, |turn| turn.start);
    let opening = span.blocks.iter().take_while(|block| block.range.end <= first);
    let opening = opening.map(|block| (PieceKind::Prose, block.range.clone()));
    let turns = turns.iter().map(|turn| (PieceKind::Turn, turn.clone()));
    let piece = |(kind, range): (PieceKind, Range<usize>)| ChunkPiece {
        kind,
        tokens: tokens(&content[range.clone()]),
        range,
        section: NO_SECTION,
    };
    opening.chain(turns).map(piece).collect()
}

impl ChunkPiece {
    /// Its parts, one level down; none when it can't be divided.
    pub(super) fn divide(&self, content: &str) -> Vec<ChunkPiece> {
        let part = |kind: PieceKind| {
            move |range: Range<usize>| ChunkPiece {
                kind,
                tokens: tokens(&content[range.clone()]),
                range,
                section: self.section,
            }
        };
        match self.kind {
            PieceKind::Fence => lines(content, self.range.clone(), self.section).collect(),
            PieceKind::Prose | PieceKind::Turn | PieceKind::Heading => {
                sentences(content, self.range.clone())
                    .into_iter()
                    .map(part(PieceKind::Sentence))
                    .collect()
            }
            PieceKind::Sentence | PieceKind::Line => {
                runs(content, self.range.clone()).into_iter().map(part(PieceKind::Run)).collect()
            }
            PieceKind::Run => Vec::new(),
        }
    }

    /// Where its last `wanted` tokens start, at a sentence if one starts there, else at a word.
    pub(super) fn tail(&self, content: &str, wanted: usize) -> Option<usize> {
        let mut start = None;
        let mut count = 0;
        for sentence in sentences(content, self.range.clone()).into_iter().rev() {
            count += tokens(&content[sentence.clone()]);
            if count > wanted {
                break;
            }
            start = Some(sentence.start);
        }
        start.or_else(|| last_words(content, self.range.clone(), wanted))
    }
}

fn last_words(content: &str, range: Range<usize>, wanted: usize) -> Option<usize> {
    let words = content[range.clone()].split_word_bound_indices().rev();
    let mut start = None;
    let mut count = 0;
    for (at, word) in words {
        count += tokens(word);
        if count > wanted {
            break;
        }
        // A sentence that starts with punctuation reads as a mistake.
        if word.starts_with(char::is_alphanumeric) {
            start = Some(range.start + at);
        }
    }
    start
}

fn lines(content: &str, range: Range<usize>, section: usize) -> impl Iterator<Item = ChunkPiece> {
    block::lines(content, range).filter_map(move |range| {
        let text = &content[range.clone()];
        let blank = text.trim().is_empty();
        (!blank).then(|| ChunkPiece { kind: PieceKind::Line, tokens: tokens(text), range, section })
    })
}

/// Cuts a range after white space or an ideograph, between graphemes if a word is endless.
fn runs(content: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut start = range.start;
    let (mut count, mut word, mut chars) = (0, 0, 0);
    let mut cut = |start: &mut usize, end: usize| {
        let text = &content[*start..end];
        let first = *start + (text.len() - text.trim_start().len());
        let last = *start + text.trim_end().len();
        if first < last {
            runs.push(first..last);
        }
        *start = end;
    };
    for (at, grapheme) in content[range.clone()].grapheme_indices(true) {
        let breakable =
            word == 0 || grapheme.starts_with(|c: char| c.is_whitespace() || is_ideograph(c));
        if (count >= RUN_TOKENS && breakable) || chars >= RUN_CHARS {
            cut(&mut start, range.start + at);
            (count, word, chars) = (0, 0, 0);
        }
        for (inside, char) in grapheme.char_indices() {
            // A grapheme without end is no grapheme.
            if chars >= 2 * RUN_CHARS {
                cut(&mut start, range.start + at + inside);
                (count, word, chars) = (0, 0, 0);
            }
            chars += 1;
            if char.is_whitespace() {
                word = 0;
            } else if is_ideograph(char) {
                count += 1;
                word = 0;
            } else {
                count += usize::from(word % CHARS_PER_TOKEN == 0);
                word += 1;
            }
        }
    }
    cut(&mut start, range.end);
    runs
}

/// Han, kana and Hangul.
fn is_ideograph(char: char) -> bool {
    matches!(char as u32,
        0x3040..=0x30FF | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF
        | 0xF900..=0xFAFF | 0xFF66..=0xFF9D | 0x20000..=0x3FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_words_and_ideographs() {
        for (text, count) in [
            ("", 0),
            ("two words", 2),
            ("東京 tower", 3),
            ("https://example.com/a/b", 2),
            (&"x".repeat(160), 10),
            ("한국어", 3),
            (" a\u{b}b\u{1f}c\n\n", 2),
            (" é\u{b}b\u{1f}c\n\n", 2),
        ] {
            assert_eq!(tokens(text), count, "{text}");
        }
    }

    #[test]
    fn a_section_keeps_its_own_heading_only() {
        let long = "h".repeat(LONGEST_HEADING - 10);
        let mut headings = Headings::default();
        assert_eq!(headings.path(headings.current()), "");
        (1..=5).for_each(|level| headings.enter(level, long.clone()));
        for _ in 0..10_000 {
            headings.enter(6, "x".to_owned());
        }
        assert_eq!(headings.path(headings.current()), format!("{} > x", [&*long; 5].join(" > ")));
        let kept: usize = headings.sections.iter().map(|section| section.text.len()).sum();
        assert_eq!(kept, 5 * long.len() + 10_000);
        headings.restart();
        assert_eq!(headings.path(headings.current()), long);
        headings.enter(1, "other".to_owned());
        headings.enter(3, "part".to_owned());
        assert_eq!(headings.path(headings.current()), "other > part");
    }

    #[test]
    fn runs_do_not_split_graphemes() {
        let family = "👨‍👩‍👧‍👦".repeat(1000);
        for run in runs(&family, 0..family.len()) {
            assert!(family[run].starts_with('👨'));
        }
        let wide = format!("a{}b", " ".repeat(10_000));
        assert_eq!(runs(&wide, 0..wide.len()), [0..1, 10_001..10_002]);
    }
}
