//! Packing pieces into chunks: greedy, in one pass, with overlap inside a section.

use std::collections::VecDeque;
use std::ops::Range;

use super::piece::{ChunkPiece, PieceKind};
use super::{CHAT_TARGET_TOKENS, MAX_CHARS, OVERLAP_TOKENS, TARGET_TOKENS};
use crate::page::offset::Offsets;

/// How large chunks become, in tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkSize {
    /// The target size of chunks.
    target: usize,
    /// A part of at most so many is one chunk.
    one_chunk: usize,
    /// A last chunk of at most so many joins its predecessor.
    tail: usize,
    /// How much of its predecessor a chunk repeats.
    overlap: usize,
}

impl ChunkSize {
    pub(super) const TEXT: Self =
        Self { target: TARGET_TOKENS, one_chunk: 350, tail: 60, overlap: OVERLAP_TOKENS };

    /// Of chats. A turn says one thing, and its vector is sharp while little else is in it: on
    /// LongMemEval and LoCoMo, words, vectors and both together find more than with chunks of texts.
    pub(super) const CHAT: Self =
        Self { target: CHAT_TARGET_TOKENS, one_chunk: CHAT_TARGET_TOKENS, tail: 20, overlap: 0 };

    /// A section that does not fit starts its own chunk once the open one has so many.
    fn enough_before_heading(self) -> usize {
        self.target / 2
    }

    /// A paragraph that does not fit starts its own chunk once the open one has so many.
    fn enough_before_block(self) -> usize {
        self.target * 2 / 3
    }
}

/// How much of what follows a heading must fit for the heading to be added, if that is divisible.
const COMPANY_TOKENS: usize = 60;

/// A chunk's bytes and the section it starts in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PackedChunk {
    pub(super) range: Range<usize>,
    pub(super) section: usize,
}

/// Packs the pieces of one part.
pub(super) fn pack(
    content: &str,
    offsets: &Offsets<'_>,
    pieces: Vec<ChunkPiece>,
    size: ChunkSize,
) -> Vec<PackedChunk> {
    let total = pieces.iter().map(|piece| piece.tokens).sum();
    let sections = section_sizes(&pieces);
    let mut packer = Packer {
        content,
        offsets,
        packed: Vec::new(),
        open: Vec::new(),
        has_content: false,
        overlap: None,
        tokens: 0,
        left: total,
        target: if total <= size.one_chunk { size.one_chunk } else { size.target },
        size,
    };
    let mut queue: VecDeque<(ChunkPiece, usize)> = pieces.into_iter().zip(sections).collect();
    while let Some((piece, section)) = queue.pop_front() {
        let next = queue.front().map(|(next, _)| next);
        match packer.decide(&piece, section, next) {
            PackStep::Add => packer.add(piece),
            PackStep::CloseThenRetry(overlap) => {
                packer.close(overlap);
                queue.push_front((piece, section));
            }
            PackStep::Divide(parts) => {
                for part in parts.into_iter().rev() {
                    queue.push_front((part, 0));
                }
            }
        }
    }
    packer.close(Overlap::None);
    packer.packed
}

/// For each heading, the tokens up to the next one; for the rest, zero.
fn section_sizes(pieces: &[ChunkPiece]) -> Vec<usize> {
    let mut sizes = vec![0; pieces.len()];
    let mut size = 0;
    for (at, piece) in pieces.iter().enumerate().rev() {
        size += piece.tokens;
        if piece.kind == PieceKind::Heading {
            sizes[at] = size;
            size = 0;
        }
    }
    sizes
}

enum PackStep {
    Add,
    CloseThenRetry(Overlap),
    Divide(Vec<ChunkPiece>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Overlap {
    None,
    LogTail,
}

/// The end of a chunk that its successor repeats.
struct RepeatedTail {
    start: usize,
    tokens: usize,
}

struct Packer<'a> {
    content: &'a str,
    offsets: &'a Offsets<'a>,
    packed: Vec<PackedChunk>,
    /// The pieces of the open chunk, without repeated text.
    open: Vec<ChunkPiece>,
    /// Whether it holds more than headings.
    has_content: bool,
    /// The text that a chunk repeats of its predecessor.
    overlap: Option<RepeatedTail>,
    /// The number of tokens in the open chunk, with repeated text.
    tokens: usize,
    /// The tokens of the pieces that are not in a chunk yet.
    left: usize,
    target: usize,
    size: ChunkSize,
}

impl Packer<'_> {
    fn decide(&self, piece: &ChunkPiece, section: usize, next: Option<&ChunkPiece>) -> PackStep {
        if !self.is_short_enough(piece) {
            return self.make_room(piece);
        }
        let tail = self.size.tail;
        if self.tokens + self.left <= self.target + tail && self.left <= tail {
            return PackStep::Add;
        }
        if piece.kind == PieceKind::Heading {
            let crowded = self.tokens >= self.size.enough_before_heading()
                && self.tokens + section > self.target;
            let company = next.map_or(0, |next| match next.kind {
                PieceKind::Fence | PieceKind::Turn | PieceKind::Line | PieceKind::Run => {
                    next.tokens
                }
                PieceKind::Heading | PieceKind::Prose | PieceKind::Sentence => {
                    next.tokens.min(COMPANY_TOKENS)
                }
            });
            let alone = self.tokens + piece.tokens + company > self.target;
            let close = self.has_content && (crowded || alone);
            return if close { PackStep::CloseThenRetry(Overlap::None) } else { PackStep::Add };
        }
        if self.tokens + piece.tokens <= self.target {
            return PackStep::Add;
        }
        self.make_room(piece)
    }

    /// The piece does not fit: divide it, close the chunk, or let it be.
    fn make_room(&self, piece: &ChunkPiece) -> PackStep {
        let too_long = !self.is_short_alone(piece);
        let whole = matches!(
            piece.kind,
            PieceKind::Fence | PieceKind::Turn | PieceKind::Heading | PieceKind::Line
        ) && !too_long;
        let large = piece.tokens > self.target || self.tokens < self.size.enough_before_block();
        if too_long || (!whole && large) {
            let parts = piece.divide(self.content);
            let progress =
                parts.len() > 1 || parts.first().is_some_and(|part| part.kind != piece.kind);
            if progress {
                return PackStep::Divide(parts);
            }
        }
        if self.has_content || (!self.open.is_empty() && !self.is_short_enough(piece)) {
            return PackStep::CloseThenRetry(Overlap::LogTail);
        }
        PackStep::Add
    }

    fn is_short_enough(&self, piece: &ChunkPiece) -> bool {
        let start = self.open.first().map_or(piece.range.start, |first| first.range.start);
        self.offsets.chars_between(start, piece.range.end) <= MAX_CHARS
    }

    fn is_short_alone(&self, piece: &ChunkPiece) -> bool {
        self.offsets.chars_between(piece.range.start, piece.range.end) <= MAX_CHARS
    }

    fn add(&mut self, piece: ChunkPiece) {
        self.tokens += piece.tokens;
        self.left -= piece.tokens.min(self.left);
        self.has_content |= piece.kind != PieceKind::Heading;
        self.open.push(piece);
    }

    fn close(&mut self, overlap: Overlap) {
        let (Some(first), Some(last)) = (self.open.first(), self.open.last()) else { return };
        let end = last.range.end;
        let repeat = self.overlap.take().map_or(first.range.start, |repeat| repeat.start);
        let fits = self.offsets.chars_between(repeat, end) <= MAX_CHARS;
        let start = if fits { repeat } else { first.range.start };
        self.packed.push(PackedChunk { range: start..end, section: first.section });
        self.overlap = if overlap == Overlap::LogTail { self.tail() } else { None };
        self.tokens = self.overlap.as_ref().map_or(0, |repeat| repeat.tokens);
        self.open.clear();
        self.has_content = false;
    }

    /// The end of the open chunk for its successor to repeat: whole pieces if they are small, but
    /// never the whole chunk.
    fn tail(&self) -> Option<RepeatedTail> {
        let section = self.open.last()?.section;
        let mut repeat = None;
        let mut tokens = 0;
        for piece in self.open.iter().skip(1).rev() {
            let other = matches!(piece.kind, PieceKind::Fence | PieceKind::Heading)
                || piece.section != section;
            if other || tokens + piece.tokens > self.size.overlap {
                break;
            }
            tokens += piece.tokens;
            repeat = Some(RepeatedTail { start: piece.range.start, tokens });
        }
        repeat.or_else(|| self.end_of_last())
    }

    /// The last words of a chunk whose last piece is too large to repeat whole.
    fn end_of_last(&self) -> Option<RepeatedTail> {
        let last = self.open.last()?;
        let divisible =
            matches!(last.kind, PieceKind::Prose | PieceKind::Sentence | PieceKind::Run);
        let overlap = self.size.overlap;
        if !divisible || overlap == 0 || last.tokens <= overlap {
            return None;
        }
        let start = last.tail(self.content, overlap)?;
        Some(RepeatedTail { start, tokens: overlap })
    }
}
