//! Inputs: the demo corpus and valid files, mutated, and texts that are hostile from the start.

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum as _;
use fastrand::Rng;
use gbrain_core::page::PageFormat;

use super::parser::{Files, Parser};
use crate::campaign::identity::{Question, demo, questions};
use crate::campaign::scaffold::FlagValue as _;

/// The largest input: past this a case says more about the machine than about the code.
const MAX_BYTES: usize = 300_000;

/// Pieces that parsers stumble over.
const PIECES: [&str; 72] = [
    "---\n",
    "---",
    "\n---\n",
    "```",
    "~~~\n",
    "[[",
    "]]",
    "[[a|b]]",
    "](",
    ")",
    "![",
    "<!--",
    "-->",
    "- ",
    "* ",
    "# ",
    "###### ",
    "| a | b |\n",
    "\r\n",
    "\r",
    "\u{2028}",
    "\t",
    "    ",
    "\u{feff}",
    "\u{200d}",
    "\u{202e}",
    "\u{301}",
    "ﬁ",
    "İ",
    "ß",
    "ǆ",
    "가",
    "青崎",
    "ｶﾞ",
    "👩‍👩‍👧",
    "🇯🇵",
    "\u{10ffff}",
    "\u{fffd}",
    "title: ",
    "tags: [",
    "takes:\n  - ",
    "date: 2026-13-45\n",
    "visibility: private\n",
    "aliases: ",
    "type: chat\n",
    "&a [*a, *a]",
    "!!binary ",
    "{\"turns\":[",
    "\"speaker\":",
    "\\u0000",
    "\\ud800",
    "1e999",
    "-2026-05-01 | ",
    "depends_on: [[x]]",
    "founder of [[y]] since 2021",
    "**Ada** (09:14): ",
    "ada@example.com",
    "ü@ü.de",
    "415-555-0132",
    "+44 7700 900123",
    "0490 75 40 81",
    "123-45-6789",
    "4111 1111 1111 1111",
    "GB82 WEST 1234 5698 7654 32",
    "203.0.113.7",
    "2001:db8::1",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefgh",
    "Bearer abcdefghij",
    "postgres://u:p@h",
    "password=hunter2x",
    "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA",
    "[REDACTED]",
];

#[derive(Debug)]
pub(super) enum Input {
    Page {
        text: String,
        format: PageFormat,
    },
    Query(Box<Question>),
    /// A file for a reader; what else a check draws comes from `seed`.
    File {
        parser: Parser,
        bytes: Vec<u8>,
        seed: u64,
    },
}

/// What inputs are made from.
pub(super) struct Seeds {
    pages: Vec<(String, PageFormat)>,
    questions: Vec<Question>,
    files: Files,
}

impl Input {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Page { text, .. } => text.as_bytes(),
            Self::Query(question) => question.request.query.as_bytes(),
            Self::File { bytes, .. } => bytes,
        }
    }

    /// What it is counted as.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Page { .. } => "page".to_owned(),
            Self::Query(_) => "question".to_owned(),
            Self::File { parser, .. } => parser.name(),
        }
    }

    pub(super) fn kind(&self) -> String {
        match self {
            Self::Page { format, .. } => format!("{format:?}"),
            Self::Query(question) => format!("{:?}", question.request),
            Self::File { parser, .. } => parser.name(),
        }
    }
}

impl Seeds {
    /// The demo corpus and valid files; real ones too where the directory of test data is given.
    pub(super) fn new(data: Option<&Path>) -> Result<Self> {
        let corpus = demo()?;
        let questions = questions(&corpus, 200, 1);
        let page = |file: &crate::campaign::identity::File| {
            PageFormat::of_path(&file.path).map(|format| (file.text.clone(), format))
        };
        let pages = corpus.files.iter().filter_map(page).collect();
        Ok(Self { pages, questions, files: Files::new(data)? })
    }

    /// A file of some target nine times out of ten, else a page two times out of three; always of
    /// one target where only that is wanted. Targets of the program take longer and come less often.
    pub(super) fn input(&self, only: Option<Parser>, has_program: bool, rng: &mut Rng) -> Input {
        let with_program = has_program && rng.u8(..8) == 0;
        let is_drawn = |parser: &&Parser| parser.is_of_program() == with_program;
        let drawn: Vec<&Parser> = Parser::value_variants().iter().filter(is_drawn).collect();
        let drawn = *drawn[rng.usize(..drawn.len())];
        if let Some(parser) = only.or_else(|| (rng.u8(..10) > 0).then_some(drawn)) {
            let seed = rng.u64(..);
            return Input::File { parser, bytes: self.files.input(parser, rng), seed };
        }
        if rng.u8(..3) > 0 {
            let (text, format) = self.page(rng);
            return Input::Page { text, format };
        }
        let mut question = self.questions[rng.usize(..self.questions.len())].clone();
        question.request.query = match rng.u8(..4) {
            0 => hostile(rng),
            1 => self.page(rng).0,
            _ => mutated(&question.request.query, rng),
        };
        Input::Query(Box::new(question))
    }

    fn page(&self, rng: &mut Rng) -> (String, PageFormat) {
        let (text, format) = &self.pages[rng.usize(..self.pages.len())];
        let formats =
            [PageFormat::Markdown, PageFormat::ChatJson, PageFormat::ChatJsonl, PageFormat::Text];
        let format = if rng.u8(..4) == 0 { formats[rng.usize(..4)] } else { *format };
        let text = match rng.u8(..8) {
            0 => hostile(rng),
            1 => {
                let other = &self.pages[rng.usize(..self.pages.len())].0;
                let (head, tail) = (cut(text, rng), other.len() - cut(other, rng).len());
                format!("{head}{}", &other[other.ceil_char_boundary(tail)..])
            }
            _ => mutated(text, rng),
        };
        (text, format)
    }
}

/// The text with a few changes: pieces put in, parts taken out, doubled or moved, the end cut off.
fn mutated(text: &str, rng: &mut Rng) -> String {
    let mut out = text.to_owned();
    for _ in 0..rng.usize(1..8) {
        let at = out.floor_char_boundary(rng.usize(..=out.len()));
        let to = out.floor_char_boundary((at + rng.usize(..200)).min(out.len()));
        match rng.u8(..6) {
            0 => out.insert_str(at, PIECES[rng.usize(..PIECES.len())]),
            1 => out.insert(at, rng.char(..)),
            2 => out.replace_range(at..to, ""),
            3 => {
                let part = out[at..to].repeat(rng.usize(1..4));
                out.insert_str(at, &part);
            }
            4 => {
                let part: String = out.drain(at..to).collect();
                let place = out.floor_char_boundary(rng.usize(..=out.len()));
                out.insert_str(place, &part);
            }
            _ if rng.u8(..3) == 0 => out.truncate(at),
            _ => out.insert(at, char::from(rng.u8(..128))),
        }
    }
    bounded(out)
}

/// A text made of nothing but trouble.
fn hostile(rng: &mut Rng) -> String {
    let size = 1usize << rng.u32(4..17);
    let piece = PIECES[rng.usize(..PIECES.len())];
    let text = match rng.u8(..8) {
        0 => piece.repeat(size / piece.len().max(1)),
        1 => (0..size / 4).map(|_| rng.char(..)).collect(),
        2 => (0..size / 8).map(|_| PIECES[rng.usize(..PIECES.len())]).collect(),
        3 => format!("{}{}", "[".repeat(size), "]".repeat(size)),
        4 => format!("{}1{}", "{\"a\":".repeat(size / 5), "}".repeat(size / 5)),
        5 => format!("---\na: {}{}\n---\nx\n", "[".repeat(size / 2), "]".repeat(size / 2)),
        6 => "> ".repeat(size / 2) + "deep\n",
        _ => "word".repeat(size / 4),
    };
    bounded(text)
}

fn cut<'a>(text: &'a str, rng: &mut Rng) -> &'a str {
    &text[..text.floor_char_boundary(rng.usize(..=text.len()))]
}

fn bounded(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_BYTES));
    text
}
