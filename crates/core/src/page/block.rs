//! The blocks of a Markdown text: enough structure to split and to find links, no more.
//!
//! Every non-blank line belongs to exactly one block, in order. It is not a Markdown renderer: it
//! nests nothing, and reads a list item as its own lines.

use std::ops::Range;

/// The kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// A heading of this level.
    Heading(u8),
    Paragraph,
    /// One list item with its continuation lines.
    Item,
    /// A fenced code block, fences included.
    Fence,
    /// An indented code block.
    Indented,
    Table,
    Break,
}

/// A block and the bytes of its lines, without the last line's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) kind: BlockKind,
    pub(crate) range: Range<usize>,
}

/// The lines of a range as byte ranges without their line ends.
pub(crate) fn lines(text: &str, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let base = range.start;
    let mut at = 0;
    text[range].split_inclusive('\n').map(move |line| {
        let start = base + at;
        at += line.len();
        start..start + line.trim_end_matches(['\n', '\r']).len()
    })
}

/// Takes a range of Markdown apart.
pub(crate) fn blocks(text: &str, range: Range<usize>) -> Vec<Block> {
    let mut scan =
        BlockScanner { text, blocks: Vec::new(), fence: None, after_blank: true, in_list: false };
    for line in lines(text, range) {
        scan.line(line);
    }
    scan.blocks
}

/// Takes a range of plain text apart: paragraphs between blank lines.
pub(crate) fn paragraphs(text: &str, range: Range<usize>) -> Vec<Block> {
    let mut blocks = Vec::<Block>::new();
    let mut open = false;
    for line in lines(text, range) {
        let blank = text[line.clone()].trim().is_empty();
        match blocks.last_mut().filter(|_| open) {
            _ if blank => {}
            Some(block) => block.range.end = line.end,
            None => blocks.push(Block { kind: BlockKind::Paragraph, range: line }),
        }
        open = !blank;
    }
    blocks
}

/// The text of a heading without its marks: `## A [b](c) ##` is `A b`.
pub(crate) fn heading_text(line: &str) -> String {
    let first = line.lines().next().unwrap_or_default().trim();
    let inner = first.trim_start_matches('#').trim();
    let closed = inner.trim_end_matches('#');
    let inner = if closed.ends_with(char::is_whitespace) { closed.trim_end() } else { inner };
    without_marks(inner)
}

/// Drops emphasis, code ticks, anchors in braces and link targets; keeps the words.
pub(crate) fn without_marks(text: &str) -> String {
    const LONGEST: usize = 1000;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['*', '`', '[', ']', '{']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        let end = |mark: char| {
            let near = &tail[..tail.floor_char_boundary(LONGEST)];
            near.find(mark).map_or(1, |end| end + 1)
        };
        let skipped = match tail.as_bytes()[0] {
            b']' if tail.starts_with("](") => end(')'),
            b'{' if tail.starts_with("{#") => end('}'),
            b'{' => {
                out.push('{');
                1
            }
            _ => 1,
        };
        rest = &tail[skipped..];
    }
    out.push_str(rest);
    out.trim().to_owned()
}

/// Whether a line is `---`, `***` or `___`, at least three of one mark and nothing else.
pub(crate) fn is_break(line: &str) -> bool {
    let mut marks = line.bytes().filter(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    let Some(mark @ (b'-' | b'*' | b'_')) = marks.next() else { return false };
    let mut count = 1;
    for byte in marks {
        if byte != mark {
            return false;
        }
        count += 1;
    }
    count >= 3
}

/// The level of an ATX heading line.
pub(crate) fn heading_level(line: &str) -> Option<u8> {
    let body = line.trim_start_matches(' ');
    if line.len() - body.len() > 3 {
        return None;
    }
    let level = body.bytes().take_while(|&byte| byte == b'#').count();
    let after = body[level..].bytes().next();
    let separated = matches!(after, None | Some(b' ' | b'\t' | b'\r'));
    ((1..=6).contains(&level) && separated).then_some(level as u8)
}

/// The text after the bullet or number of a list item.
pub(crate) fn item_text(line: &str) -> Option<&str> {
    let body = line.trim_start();
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let mark = match body.as_bytes().first()? {
        b'-' | b'*' | b'+' => 1,
        _ if (1..=9).contains(&digits)
            && matches!(body.as_bytes().get(digits), Some(b'.' | b')')) =>
        {
            digits + 1
        }
        _ => return None,
    };
    let rest = &body[mark..];
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| rest.trim())
}

/// An open fence: its mark and how many of them.
type FenceMark = (u8, usize);

fn fence_mark(line: &str) -> Option<FenceMark> {
    let body = line.trim_start();
    let mark = *body.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let count = body.bytes().take_while(|&byte| byte == mark).count();
    let info_is_plain = mark == b'~' || !body[count..].contains('`');
    (count >= 3 && info_is_plain).then_some((mark, count))
}

/// Follows the fences of a text line by line.
#[derive(Default)]
pub(crate) struct FenceTracker(Option<FenceMark>);

impl FenceTracker {
    /// Whether this line is part of a fenced block, its fences included.
    pub(crate) fn holds(&mut self, line: &str) -> bool {
        match self.0 {
            Some(open) => {
                if closes(line, open) {
                    self.0 = None;
                }
                true
            }
            None => {
                self.0 = fence_mark(line);
                self.0.is_some()
            }
        }
    }
}

fn closes(line: &str, (mark, count): FenceMark) -> bool {
    let body = line.trim();
    body.len() >= count && body.bytes().all(|byte| byte == mark)
}

struct BlockScanner<'a> {
    text: &'a str,
    blocks: Vec<Block>,
    fence: Option<FenceMark>,
    after_blank: bool,
    in_list: bool,
}

impl BlockScanner<'_> {
    fn line(&mut self, range: Range<usize>) {
        let line = &self.text[range.clone()];
        if let Some(open) = self.fence {
            self.extend(range);
            if closes(line, open) {
                self.fence = None;
                self.after_blank = true;
            }
            return;
        }
        if line.trim().is_empty() {
            self.after_blank = true;
            return;
        }
        let kind = self.kind_of(line);
        match kind {
            None => self.extend(range),
            Some(kind) => {
                self.in_list = match kind {
                    BlockKind::Item => true,
                    BlockKind::Fence | BlockKind::Indented => self.in_list,
                    _ => self.in_list && line.starts_with([' ', '\t']),
                };
                self.blocks.push(Block { kind, range });
            }
        }
        self.after_blank = matches!(kind, Some(BlockKind::Heading(_) | BlockKind::Break));
    }

    /// The block that this line starts; none if the line continues the last one.
    fn kind_of(&mut self, line: &str) -> Option<BlockKind> {
        if let Some(mark) = fence_mark(line) {
            self.fence = Some(mark);
            return Some(BlockKind::Fence);
        }
        if let Some(level) = heading_level(line) {
            return Some(BlockKind::Heading(level));
        }
        let open = if self.after_blank { None } else { self.blocks.last_mut() };
        if let Some(level) = underline_level(line)
            && let Some(block) = open
            && block.kind == BlockKind::Paragraph
            && !self.text[block.range.clone()].contains('\n')
        {
            block.kind = BlockKind::Heading(level);
            return None;
        }
        if is_break(line) {
            return Some(BlockKind::Break);
        }
        let open = if self.after_blank { None } else { self.blocks.last().map(|block| block.kind) };
        let indented = line.starts_with("    ") || line.starts_with('\t');
        if indented && (open == Some(BlockKind::Indented) || (open.is_none() && !self.in_list)) {
            return (open.is_none()).then_some(BlockKind::Indented);
        }
        if item_text(line).is_some() {
            return Some(BlockKind::Item);
        }
        let is_row = line.trim_start().starts_with('|');
        match open {
            Some(BlockKind::Table) if is_row => None,
            Some(BlockKind::Paragraph | BlockKind::Item) if !is_row => None,
            _ if is_row => Some(BlockKind::Table),
            _ => Some(BlockKind::Paragraph),
        }
    }

    fn extend(&mut self, range: Range<usize>) {
        match self.blocks.last_mut() {
            Some(block) => block.range.end = range.end,
            None => self.blocks.push(Block { kind: BlockKind::Paragraph, range }),
        }
    }
}

/// The level that a line of `=` or `-` gives to the paragraph line above it.
fn underline_level(line: &str) -> Option<u8> {
    let body = line.trim();
    let all = |mark: u8| body.len() >= 2 && body.bytes().all(|byte| byte == mark);
    match () {
        () if all(b'=') => Some(1),
        () if all(b'-') => Some(2),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use BlockKind::*;

    fn check(text: &str, expected: &[(BlockKind, &str)]) {
        let found = blocks(text, 0..text.len());
        let found: Vec<_> = found.iter().map(|b| (b.kind, &text[b.range.clone()])).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn tells_blocks_apart() {
        check(
            "# A\ntext\nmore\n\n- one\n  two\n- three",
            &[
                (Heading(1), "# A"),
                (Paragraph, "text\nmore"),
                (Item, "- one\n  two"),
                (Item, "- three"),
            ],
        );
        check(
            "| a |\n|---|\n| b |\nafter",
            &[(Table, "| a |\n|---|\n| b |"), (Paragraph, "after")],
        );
        check(
            "Title\n=====\nx\n\n---\n\n***",
            &[(Heading(1), "Title\n====="), (Paragraph, "x"), (Break, "---"), (Break, "***")],
        );
        check("#no heading\r\nx\r\n\r\n1. a", &[(Paragraph, "#no heading\r\nx"), (Item, "1. a")]);
    }

    #[test]
    fn fences_hold_everything() {
        check(
            "```sh\n# no\n\n---\n```\nx",
            &[(Fence, "```sh\n# no\n\n---\n```"), (Paragraph, "x")],
        );
        check("~~~\n```\nopen to the end", &[(Fence, "~~~\n```\nopen to the end")]);
        check("```inline``` is text", &[(Paragraph, "```inline``` is text")]);
        check(
            "x\n\n    code\n    more\n\ny",
            &[(Paragraph, "x"), (Indented, "    code\n    more"), (Paragraph, "y")],
        );
    }

    #[test]
    fn headings_lose_their_marks() {
        assert_eq!(heading_text("## A [b](c.md) `d` ##"), "A b d");
        assert_eq!(heading_text("# C#"), "C#");
        assert_eq!(heading_text("## Anchored {#here}"), "Anchored");
        assert_eq!(heading_text("Title\n---"), "Title");
    }
}
