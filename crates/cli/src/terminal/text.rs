//! Text on its way to stdout or stderr.
//!
//! Pages, titles, names, answers of models and messages of other programs may hold anything, such as a sequence that
//! sets the clipboard (OSC 52) or clears the screen, or a character that reverses the order of what follows. On a
//! terminal every such character is shown as `\u001b`, which is also how JSON writes it. A file or a pipe gets the
//! exact bytes.
//!
//! A title, a name or a query stands on one line of ours: on a terminal its line ends and tabs are shown as `\n`, `\r`
//! and `\t` ([`field`]), so that it can't write lines that look like ours. The text of a page keeps its lines.
//!
//! Our own styles are marked by a number that is random in every process, so that no text can contain one.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::LazyLock;

use terminal_size::terminal_size_of;
use unicode_width::UnicodeWidthStr as _;

/// How text of ours is set off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextStyle {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    BoldYellow,
}

impl TextStyle {
    const ALL: [Self; 6] =
        [Self::Bold, Self::Dim, Self::Red, Self::Green, Self::Yellow, Self::BoldYellow];

    /// The letter behind a mark, and the escape sequence that it stands for.
    fn code(self) -> (char, &'static str) {
        match self {
            Self::Bold => ('b', "\u{1b}[1m"),
            Self::Dim => ('d', "\u{1b}[2m"),
            Self::Red => ('r', "\u{1b}[31m"),
            Self::Green => ('g', "\u{1b}[32m"),
            Self::Yellow => ('y', "\u{1b}[33m"),
            Self::BoldYellow => ('m', "\u{1b}[1;33m"),
        }
    }
}

/// Narrower terminals get lines of this width.
const LEAST_COLUMNS: usize = 40;

/// The letter behind the mark that ends a style, and its escape sequence.
const RESET: (char, &str) = ('0', "\u{1b}[0m");

/// The letters behind the marks round a field.
const FIELD: char = 'f';
const FIELD_END: char = 'e';

/// The beginning of a mark. Without randomness there are no marks, and so no styles.
static MARK: LazyLock<Option<String>> = LazyLock::new(|| {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("\u{1b}{:032x}", u128::from_ne_bytes(bytes)))
});

/// Text between marks, for [`Destination::render`].
pub(super) fn styled(style: TextStyle, text: &str) -> String {
    match &*MARK {
        Some(mark) => format!("{mark}{}{text}{mark}{}", style.code().0, RESET.0),
        None => text.to_owned(),
    }
}

/// Text that stands on one line, such as a title, for [`Destination::render`]. Styles may be round it and in it.
pub(super) fn field(text: &str) -> String {
    match &*MARK {
        Some(mark) => format!("{mark}{FIELD}{text}{mark}{FIELD_END}"),
        None => escape(text, LineEnds::Escaped),
    }
}

/// The columns that text takes on a terminal. Styles and the ends of fields take none.
pub(super) fn display_width(text: &str) -> usize {
    let Some(mark) = &*MARK else { return escape(text, LineEnds::Escaped).width() };
    let mut parts = text.split(mark.as_str());
    let first = escape(parts.next().unwrap_or_default(), LineEnds::Escaped).width();
    let others = parts.map(|part| {
        let mut chars = part.chars();
        chars.next();
        escape(chars.as_str(), LineEnds::Escaped).width()
    });
    first + others.sum::<usize>()
}

/// Whether a text that begins within a field, or not, ends within one.
pub(super) fn ends_in_field(text: &str, begins_in_field: bool) -> bool {
    let Some(mark) = &*MARK else { return false };
    let letters = text.split(mark.as_str()).skip(1).filter_map(|part| part.chars().next());
    letters.fold(begins_in_field, |is_in, letter| match letter {
        FIELD => true,
        FIELD_END => false,
        _ => is_in,
    })
}

/// The marks before and after a line end of the layout: a field is interrupted for it, because line ends within a field
/// are escaped.
pub(super) fn field_break(in_field: bool) -> (String, String) {
    match &*MARK {
        Some(mark) if in_field => (format!("{mark}{FIELD_END}"), format!("{mark}{FIELD}")),
        _ => Default::default(),
    }
}

/// Whether line ends and tabs of a text are layout or a part of what is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnds {
    Kept,
    Escaped,
}

/// The other end of stdout or stderr: a terminal, a pipe or a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Destination {
    is_terminal: bool,
    has_colours: bool,
    /// Columns and rows of a terminal that states them.
    size: Option<(usize, usize)>,
}

impl Destination {
    /// Inspects a stream; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM` decide on colours.
    pub(super) fn of(stream: &(impl anstream::stream::RawStream + AsFd)) -> Self {
        let choice = anstream::AutoStream::choice(stream);
        let is_terminal = stream.is_terminal();
        let size = terminal_size_of(stream).filter(|_| is_terminal);
        Self {
            is_terminal,
            has_colours: choice != anstream::ColorChoice::Never,
            size: size.map(|(columns, rows)| (columns.0.into(), rows.0.into())),
        }
    }

    /// The columns that text is fitted to; none where lines are not broken.
    pub(super) fn columns(self) -> Option<usize> {
        self.size.map(|(columns, _)| columns.max(LEAST_COLUMNS))
    }

    /// Whether rendered text has more lines than the screen.
    pub(super) fn is_longer_than_screen(self, rendered: &str) -> bool {
        self.size.is_some_and(|(columns, rows)| {
            let height = |line: &str| line.width().div_ceil(columns.max(1)).max(1);
            rendered.lines().map(height).sum::<usize>() >= rows
        })
    }

    /// Text as it is written: marks become colours or nothing, and the rest is escaped on a terminal.
    pub(super) fn render(self, text: &str, line_ends: LineEnds) -> String {
        let Some(mark) = &*MARK else { return self.external(text, line_ends) };
        let mut parts = text.split(mark.as_str());
        let mut out = self.external(parts.next().unwrap_or_default(), line_ends);
        let mut inside = line_ends;
        for part in parts {
            let mut chars = part.chars();
            match chars.next() {
                Some(FIELD) => inside = LineEnds::Escaped,
                Some(FIELD_END) => inside = line_ends,
                letter => out.push_str(self.sequence(letter)),
            }
            out.push_str(&self.external(chars.as_str(), inside));
        }
        out
    }

    /// The escape sequence of a style's letter; nothing without colours.
    fn sequence(self, letter: Option<char>) -> &'static str {
        let mut known = TextStyle::ALL.iter().map(|style| style.code()).chain([RESET]);
        let found = known.find(|(known, _)| Some(*known) == letter);
        found.filter(|_| self.has_colours).map_or("", |(_, sequence)| sequence)
    }

    fn external(self, text: &str, line_ends: LineEnds) -> String {
        if self.is_terminal { escape(text, line_ends) } else { text.to_owned() }
    }
}

/// Text whose control characters and bidirectional controls are visible.
fn escape(text: &str, line_ends: LineEnds) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_line_end = c == '\r' && chars.peek() == Some(&'\n');
        match (c, line_ends) {
            ('\n', LineEnds::Escaped) => out.push_str("\\n"),
            ('\r', LineEnds::Escaped) => out.push_str("\\r"),
            ('\t', LineEnds::Escaped) => out.push_str("\\t"),
            (c, _) if is_unsafe(c) && !is_line_end => {
                write!(out, "\\u{:04x}", u32::from(c)).expect("writing to a string succeeds");
            }
            (c, _) => out.push(c),
        }
    }
    out
}

/// Whether a terminal would obey a character, or show the text around it in another order or place.
pub(super) fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Marks, embeddings, overrides and isolates of bidirectional text.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        // Line and paragraph separators, deprecated format characters, interlinear annotations.
        '\u{2028}' | '\u{2029}' | '\u{206a}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' => true,
        c => c.is_control(),
    }
}

/// A stream of external bytes, such as the answer of a model while it arrives: exact to a pipe, escaped on a terminal.
/// A character that is not whole yet waits for its other bytes, or for [`ExternalWriter::finish`].
#[derive(Debug)]
pub(crate) struct ExternalWriter<W: Write> {
    to: W,
    is_terminal: bool,
    /// The beginning of a character, or a carriage return that may begin a line end.
    pending: Vec<u8>,
}

impl<W: Write> ExternalWriter<W> {
    pub(super) fn new(to: W, destination: Destination) -> Self {
        Self { to, is_terminal: destination.is_terminal, pending: Vec::new() }
    }

    /// Writes what still waits.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.pending);
        self.to.write_all(escape_bytes(&rest).as_bytes())?;
        self.to.flush()
    }
}

impl<W: Write> Write for ExternalWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.to.write(bytes);
        }
        self.pending.extend_from_slice(bytes);
        let rest = self.pending.split_off(whole(&self.pending));
        let text = escape_bytes(&std::mem::replace(&mut self.pending, rest));
        self.to.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// How many of the bytes are whole characters.
fn whole(bytes: &[u8]) -> usize {
    let is_text = |end: usize| match std::str::from_utf8(&bytes[end..]) {
        Ok(_) => false,
        Err(error) => error.valid_up_to() == 0 && error.error_len().is_none(),
    };
    let unfinished = (bytes.len().saturating_sub(3)..bytes.len()).find(|end| is_text(*end));
    let end = unfinished.unwrap_or(bytes.len());
    if bytes[..end].ends_with(b"\r") { end - 1 } else { end }
}

/// Bytes as text; those that are no text are shown as `\x9b`.
fn escape_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(&escape(chunk.valid(), LineEnds::Kept));
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02x}").expect("writing to a string succeeds");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMINAL: Destination = Destination { is_terminal: true, has_colours: true, size: None };
    const PIPE: Destination = Destination { is_terminal: false, has_colours: false, size: None };
    const HOSTILE: &str = "a\u{1b}]52;c;aGk=\u{7}b\u{1b}[2Jc\u{9b}31md\u{202e}e\rf\u{7f}\u{8}";

    #[test]
    fn a_terminal_obeys_nothing_and_a_pipe_gets_everything() {
        assert_eq!(
            TERMINAL.render(HOSTILE, LineEnds::Kept),
            "a\\u001b]52;c;aGk=\\u0007b\\u001b[2Jc\\u009b31md\\u202ee\\u000df\\u007f\\u0008"
        );
        assert_eq!(PIPE.render(HOSTILE, LineEnds::Kept), HOSTILE);
    }

    #[test]
    fn text_that_people_write_stays() {
        for text in ["größe\tx\r\nnext\n", "שלום عربى", "👩‍👩‍👧 می‌خواهم", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "\u{fe0f}\u{301}"]
        {
            assert_eq!(TERMINAL.render(text, LineEnds::Kept), text);
        }
    }

    #[test]
    fn every_control_character_is_escaped() {
        let controls = ('\0'..='\u{9f}').filter(|c| c.is_control() && !matches!(c, '\n' | '\t'));
        let bidi = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
        for c in controls.chain(bidi.chars()) {
            let shown = TERMINAL.render(&format!("a{c}b"), LineEnds::Kept);
            assert_eq!(shown, format!("a\\u{:04x}b", u32::from(c)));
        }
    }

    #[test]
    fn our_styles_are_colours_and_external_ones_are_not() {
        let text = format!("{} \u{1b}[31mred", styled(TextStyle::Bold, "a\u{1b}[0mb"));
        assert_eq!(
            TERMINAL.render(&text, LineEnds::Kept),
            "\u{1b}[1ma\\u001b[0mb\u{1b}[0m \\u001b[31mred"
        );
        assert_eq!(PIPE.render(&text, LineEnds::Kept), "a\u{1b}[0mb \u{1b}[31mred");
        let no_colours = Destination { has_colours: false, ..TERMINAL };
        assert_eq!(no_colours.render(&text, LineEnds::Kept), "a\\u001b[0mb \\u001b[31mred");
        for style in TextStyle::ALL {
            assert_eq!(PIPE.render(&styled(style, "x"), LineEnds::Kept), "x");
            assert!(TERMINAL.render(&styled(style, "x"), LineEnds::Kept).ends_with("mx\u{1b}[0m"));
        }
    }

    #[test]
    fn a_field_stands_on_one_line_of_a_terminal() {
        let hostile = "boat\ndefault::b  Fake\r\nerror:\tx\r\u{1b}[0m";
        let shown = "boat\\ndefault::b  Fake\\r\\nerror:\\tx\\r\\u001b[0m";
        assert_eq!(TERMINAL.render(hostile, LineEnds::Escaped), shown);
        let text = format!("1.\t{}\n", field(hostile));
        assert_eq!(TERMINAL.render(&text, LineEnds::Kept), format!("1.\t{shown}\n"));
        assert_eq!(PIPE.render(&text, LineEnds::Kept), format!("1.\t{hostile}\n"));
        // Styles round a field and in it.
        let bold = styled(TextStyle::Bold, &field("a\nb"));
        assert_eq!(TERMINAL.render(&bold, LineEnds::Kept), "\u{1b}[1ma\\nb\u{1b}[0m");
        let inside = format!("{}\n", field(&format!("a\n{}\nc", styled(TextStyle::Bold, "b\n"))));
        let shown = "a\\n\u{1b}[1mb\\n\u{1b}[0m\\nc\n";
        assert_eq!(TERMINAL.render(&inside, LineEnds::Kept), shown);
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({ "title": HOSTILE });
        let shown = TERMINAL.render(&value.to_string(), LineEnds::Kept);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    fn streamed(bytes: &[u8], size: usize, to: Destination) -> Vec<u8> {
        let mut written = Vec::new();
        let mut writer = ExternalWriter::new(&mut written, to);
        for part in bytes.chunks(size) {
            writer.write_all(part).unwrap();
            writer.flush().unwrap();
        }
        writer.finish().unwrap();
        written
    }

    #[test]
    fn a_stream_is_escaped_wherever_it_is_cut() {
        let text = format!("ü 👩‍👧 line\r\n{HOSTILE}\r");
        let mut bytes = text.clone().into_bytes();
        for size in 1..bytes.len() {
            assert_eq!(streamed(&bytes, size, PIPE), bytes);
            let shown = String::from_utf8(streamed(&bytes, size, TERMINAL)).unwrap();
            assert_eq!(shown, TERMINAL.render(&text, LineEnds::Kept), "{size}");
        }
        bytes.extend(b"\x9b31m \xff \xe2\x80");
        for size in 1..bytes.len() {
            assert_eq!(streamed(&bytes, size, PIPE), bytes);
            let shown = String::from_utf8(streamed(&bytes, size, TERMINAL)).unwrap();
            assert!(shown.ends_with("\\x9b31m \\xff \\xe2\\x80"), "{size}: {shown}");
        }
    }
}
