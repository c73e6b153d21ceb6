//! Text inside a paragraph: emphasis, code, links.
//!
//! A text is split into pieces in one pass; then runs of `*`, `_` and `~` are paired with a stack.
//! Everything that looks ahead for an end either consumes what it passed or stops at the next
//! possible start, so that hostile texts cost no more than others.

use std::collections::BTreeMap;

use super::{Link, Writer};

/// Most openers that wait for their closer at once; limits how deep emphasis nests.
const MAX_OPEN: usize = 16;
/// The longest address of a link, in bytes.
const MAX_ADDRESS: usize = 2_000;

/// A piece of a text.
enum Piece<'t> {
    Text(&'t str),
    Code(&'t str),
    LineBreak,
    /// A link and its label.
    Link {
        link: Link,
        label: &'t str,
        prefix: &'static str,
    },
    /// A link that is not followed: its label and address.
    Refused {
        label: &'t str,
        address: &'t str,
    },
    Run(Run<'t>),
}

/// A run of emphasis marks.
#[derive(Clone, Copy)]
struct Run<'t> {
    text: &'t str,
    can_open: bool,
    can_close: bool,
}

/// What a run turned out to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Text,
    Start,
    End,
}

impl Writer<'_> {
    pub(super) fn inline(&mut self, text: &str) {
        let pieces = Scanner::new(text, self).pieces();
        let roles = roles(&pieces);
        for (piece, role) in pieces.iter().zip(roles) {
            self.piece(piece, role);
        }
    }

    fn piece(&mut self, piece: &Piece<'_>, role: Role) {
        match piece {
            Piece::Text(text) => self.lines(text),
            Piece::Code(text) => {
                self.tag("<code>");
                self.text(&text.replace('\n', " "));
                self.tag("</code>");
            }
            Piece::LineBreak => self.tag("<br>"),
            Piece::Link { link, label, prefix } => {
                self.open_link(link);
                self.text(prefix);
                self.label(label);
                self.tag("</a>");
            }
            Piece::Refused { label, address } => {
                self.label(label);
                self.tag(" <span class=\"dim\">(");
                self.text(address);
                self.tag(")</span>");
            }
            Piece::Run(run) => match role {
                Role::Text => self.text(run.text),
                Role::Start => tags(run.text).0.iter().for_each(|tag| self.tag(tag)),
                Role::End => tags(run.text).1.iter().for_each(|tag| self.tag(tag)),
            },
        }
    }

    /// The label of a link: text, without elements inside.
    fn label(&mut self, label: &str) {
        let plain: String = label.chars().filter(|c| !matches!(c, '*' | '`' | '\\')).collect();
        self.lines(&plain);
    }

    /// Text whose line breaks are spaces.
    fn lines(&mut self, text: &str) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.out.push('\n');
            }
            self.text(line);
        }
    }
}

/// The tags of a run of marks.
fn tags(run: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match run {
        "***" | "___" => (&["<em>", "<strong>"], &["</strong>", "</em>"]),
        "**" | "__" => (&["<strong>"], &["</strong>"]),
        "~~" => (&["<s>"], &["</s>"]),
        _ => (&["<em>"], &["</em>"]),
    }
}

/// Pairs runs of the same marks, inner ones first. What is not paired stays text.
fn roles(pieces: &[Piece<'_>]) -> Vec<Role> {
    let mut roles = vec![Role::Text; pieces.len()];
    let mut open: Vec<(usize, &str)> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let Piece::Run(run) = piece else { continue };
        let opener = open.iter().rposition(|(_, text)| *text == run.text);
        match opener.filter(|_| run.can_close) {
            Some(place) => {
                roles[open[place].0] = Role::Start;
                roles[at] = Role::End;
                open.truncate(place);
            }
            None if run.can_open && open.len() < MAX_OPEN => open.push((at, run.text)),
            None => {}
        }
    }
    roles
}

/// Splits a text into pieces.
struct Scanner<'t, 'w> {
    text: &'t str,
    writer: &'w Writer<'w>,
    /// Where the bracket that opens at a byte closes.
    brackets: BTreeMap<usize, usize>,
    /// Where the last run of backticks of each length begins.
    backticks: BTreeMap<usize, usize>,
    pieces: Vec<Piece<'t>>,
    /// Where the text begins that is in no piece yet.
    start: usize,
}

impl<'t, 'w> Scanner<'t, 'w> {
    fn new(text: &'t str, writer: &'w Writer<'_>) -> Self {
        let (brackets, backticks) = (brackets(text), backticks(text));
        Self { text, writer, brackets, backticks, pieces: Vec::new(), start: 0 }
    }

    fn pieces(mut self) -> Vec<Piece<'t>> {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            at = match bytes[at] {
                b'\\' => self.escape(at),
                b'`' => self.code(at),
                b'!' if bytes.get(at + 1) == Some(&b'[') => self.image(at),
                b'[' => self.link(at, at, ""),
                b'<' => self.angle(at),
                b'h' | b'H' => self.address(at),
                b'*' | b'_' | b'~' => self.run(at),
                b'\n' => self.newline(at),
                _ => at + 1,
            };
        }
        self.flush(bytes.len());
        self.pieces
    }

    /// Adds the text before `end` that is in no piece yet.
    fn flush(&mut self, end: usize) {
        if self.start < end {
            self.pieces.push(Piece::Text(&self.text[self.start..end]));
        }
    }

    /// Adds a piece that reaches from `from` to `to`.
    fn push(&mut self, from: usize, to: usize, piece: Piece<'t>) -> usize {
        self.flush(from);
        self.pieces.push(piece);
        self.start = to;
        to
    }

    fn escape(&mut self, at: usize) -> usize {
        match self.text[at + 1..].chars().next() {
            Some(next) if next.is_ascii_punctuation() => {
                let to = at + 2;
                self.push(at, to, Piece::Text(&self.text[at + 1..to]))
            }
            Some('\n') => self.push(at, at + 2, Piece::LineBreak),
            _ => at + 1,
        }
    }

    fn newline(&mut self, at: usize) -> usize {
        let before = &self.text[self.start..at];
        let kept = before.trim_end_matches(' ').len();
        if before.len() - kept < 2 {
            return at + 1;
        }
        self.push(self.start + kept, at + 1, Piece::LineBreak)
    }

    fn code(&mut self, at: usize) -> usize {
        let length = run_length(self.text, at, b'`');
        if self.backticks.get(&length).is_none_or(|last| *last <= at) {
            return at + length;
        }
        let from = at + length;
        let mut end = from;
        while let Some(step) = self.text[end..].find('`') {
            end += step;
            let run = run_length(self.text, end, b'`');
            if run == length {
                let inner = &self.text[from..end];
                let spaced = inner.strip_prefix(' ').and_then(|rest| rest.strip_suffix(' '));
                let inner = spaced.filter(|spaced| !spaced.trim().is_empty()).unwrap_or(inner);
                return self.push(at, end + length, Piece::Code(inner));
            }
            end += run;
        }
        from
    }

    /// A picture is a link to it: a page of the console loads nothing from elsewhere.
    fn image(&mut self, at: usize) -> usize {
        self.link(at, at + 1, "image: ")
    }

    /// A link whose bracket is at `at`; `from` is where it begins.
    fn link(&mut self, from: usize, at: usize, prefix: &'static str) -> usize {
        if self.text[at..].starts_with("[[") {
            return self.wikilink(from, at);
        }
        let Some(&close) = self.brackets.get(&at) else { return at + 1 };
        let label = &self.text[at + 1..close];
        let Some((address, to)) = destination(self.text, close + 1) else { return at + 1 };
        let piece = match self.writer.link_of_address(address) {
            Some(link) => Piece::Link { link, label, prefix },
            None => Piece::Refused { label, address },
        };
        self.push(from, to, piece)
    }

    fn wikilink(&mut self, from: usize, at: usize) -> usize {
        let rest = &self.text[at + 2..];
        let end = rest.find([']', '[', '\n']).filter(|end| rest[*end..].starts_with("]]"));
        let Some(end) = end else { return at + 2 };
        let inner = &rest[..end];
        let Some(link) = self.writer.link_of_wikilink(inner) else { return at + 2 };
        let label = inner.split_once('|').map_or(inner, |(_, label)| label).trim();
        let to = at + 2 + end + 2;
        self.push(from, to, Piece::Link { link, label, prefix: "" })
    }

    /// An address in angle brackets. Any other tag is text.
    fn angle(&mut self, at: usize) -> usize {
        let rest = &self.text[at + 1..];
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '<' | '>'));
        let address = end.filter(|end| rest[*end..].starts_with('>')).map(|end| &rest[..end]);
        match address.filter(|address| super::is_followed(address)) {
            Some(address) => {
                let link = Link::Web(address.to_owned());
                let to = at + 2 + address.len();
                self.push(at, to, Piece::Link { link, label: address, prefix: "" })
            }
            None => at + 1,
        }
    }

    /// An address without brackets.
    fn address(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let is_word = self.text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
        let starts = |scheme: &str| {
            rest.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        if is_word || !(starts("http://") || starts("https://")) {
            return at + 1;
        }
        let end = rest
            .find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | '|' | '*'));
        let address = &rest[..end.unwrap_or(rest.len())];
        let address = address.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '\'', '_']);
        if !super::is_followed(address) {
            return at + 1;
        }
        let link = Link::Web(address.to_owned());
        self.push(at, at + address.len(), Piece::Link { link, label: address, prefix: "" })
    }

    fn run(&mut self, at: usize) -> usize {
        let mark = self.text.as_bytes()[at];
        let length = run_length(self.text, at, mark);
        let to = at + length;
        let is_known = if mark == b'~' { length == 2 } else { length <= 3 };
        if !is_known {
            return to;
        }
        let before = self.text[..at].chars().next_back();
        let after = self.text[to..].chars().next();
        let is_space = |c: Option<char>| c.is_none_or(char::is_whitespace);
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let inside_word = mark == b'_' && is_word(before) && is_word(after);
        let run = Run {
            text: &self.text[at..to],
            can_open: !(is_space(after) || inside_word || mark == b'_' && is_word(before)),
            can_close: !(is_space(before) || inside_word || mark == b'_' && is_word(after)),
        };
        self.push(at, to, Piece::Run(run))
    }
}

/// The number of equal bytes from `at` on.
fn run_length(text: &str, at: usize, byte: u8) -> usize {
    text.as_bytes()[at..].iter().take_while(|one| **one == byte).count()
}

/// The brackets that belong together.
fn brackets(text: &str) -> BTreeMap<usize, usize> {
    let mut open = Vec::new();
    let mut pairs = BTreeMap::new();
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'[' => open.push(at),
            b']' => {
                if let Some(start) = open.pop() {
                    pairs.insert(start, at);
                }
            }
            _ => {}
        }
    }
    pairs
}

/// Where the last run of backticks of each length begins: a run that nothing closes costs nothing.
fn backticks(text: &str) -> BTreeMap<usize, usize> {
    let mut last = BTreeMap::new();
    let mut at = 0;
    while let Some(step) = text[at..].find('`') {
        at += step;
        let length = run_length(text, at, b'`');
        last.insert(length, at);
        at += length;
    }
    last
}

/// The address in the parentheses at `at`, and where they end. A bracket ends the search: another
/// link may start there, and no byte is searched twice.
fn destination(text: &str, at: usize) -> Option<(&str, usize)> {
    let rest = text.get(at..)?.strip_prefix('(')?;
    let mut depth = 0_usize;
    for (end, byte) in rest.bytes().enumerate().take(MAX_ADDRESS) {
        match byte {
            b'[' | b']' | b'\n' => return None,
            b'(' => depth += 1,
            b')' if depth > 0 => depth -= 1,
            b')' => {
                let inside = rest[..end].trim();
                let address = match inside.strip_prefix('<') {
                    Some(inner) => inner.split_once('>')?.0,
                    None => inside.split(' ').next()?,
                };
                return (!address.is_empty()).then_some((address, at + 1 + end + 1));
            }
            _ => {}
        }
    }
    None
}
