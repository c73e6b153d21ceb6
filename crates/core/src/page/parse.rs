//! From text to page: the one way in, for files and for `put`.

use std::ops::Range;

use jiff::civil::Date;

use super::block::{self, BlockKind};
use super::frontmatter::{self, Frontmatter, FrontmatterSpan};
use super::limit::cut_title;
use super::offset::Offsets;
use super::timeline::{self, BodyParts};
use super::{DateOrigin, Page, PageKind, chat, date, slug};
use crate::chunk::{self, BodySpan, PagePart};
use crate::hash::Hash;
use crate::id::PageKey;
use crate::link::{self, Link, LinkType, Links};

/// The largest text of a page, in bytes.
pub const MAX_BYTES: usize = 64 << 20;
/// The format of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageFormat {
    /// Parses Markdown with optional frontmatter, or a chat if its type says so.
    Markdown,
    /// A chat as one JSON value.
    ChatJson,
    /// A chat with one JSON turn a line.
    ChatJsonl,
    Text,
}

impl PageFormat {
    /// The format that a path's extension names.
    pub fn of_path(path: &str) -> Option<Self> {
        Some(match path.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "md" | "markdown" => Self::Markdown,
            "txt" => Self::Text,
            "json" => Self::ChatJson,
            "jsonl" => Self::ChatJsonl,
            _ => return None,
        })
    }
}

/// The input of a page.
#[derive(Debug, Clone)]
pub struct PageInput<'a> {
    /// The name it will have.
    pub key: PageKey,
    /// The name of the file it came from: a fallback for the title and the date.
    pub file_name: Option<&'a str>,
    pub content: &'a str,
    /// The format of the text.
    pub format: PageFormat,
}

/// Why a text is not a page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The text exceeds the size limit.
    #[error("content has {bytes} bytes, more than the limit of {limit}")]
    TooLarge { bytes: usize, limit: usize },
    /// It holds a NUL character, which stores can't keep.
    #[error("NUL character on line {line}")]
    Nul {
        /// Line number in the content, from 1.
        line: usize,
    },
    #[error("content is empty")]
    Empty,
    /// The name of the page would be displayed as another one.
    #[error(
        "the name {slug:?} holds {character:?}, which changes the direction of text; leave it out"
    )]
    Direction { slug: String, character: char },
    /// The page exceeds a limit on the number of its parts.
    #[error("content has more than {limit} {what}; make several pages of it")]
    TooMany {
        /// The thing that exceeds its limit.
        what: &'static str,
        /// The limit that it exceeds.
        limit: usize,
    },
    /// One of its names is longer than we keep.
    #[error("the {what} {start:?} has more than {limit} characters; shorten it")]
    TooLong {
        what: &'static str,
        start: String,
        /// Maximum number of characters.
        limit: usize,
    },
    /// The tags exceed their size limit.
    #[error("its tags have {bytes} bytes, more than the limit of {limit}; leave some out")]
    TagsTooLarge { bytes: usize, limit: usize },
    /// The frontmatter exceeds its size limit.
    #[error("frontmatter has {bytes} bytes, more than the limit of {limit}")]
    FrontmatterTooLarge { bytes: usize, limit: usize },
    /// The frontmatter is not valid YAML.
    #[error("frontmatter is not valid YAML (line {line}): {reason}")]
    Frontmatter {
        /// The line in the file, from 1.
        line: usize,
        /// The error of the YAML parser.
        reason: String,
    },
    /// The visibility is not a known one.
    #[error("visibility {value:?} (line {line}) is neither `private` nor `world`")]
    Visibility {
        /// The line in the file, from 1.
        line: usize,
        /// The text at this position.
        value: String,
    },
    /// A chat is not JSON.
    #[error("chat is not valid JSON (line {line}): {reason}")]
    Json {
        /// The line in the file, from 1.
        line: usize,
        /// The error of the JSON parser.
        reason: String,
    },
    /// A chat has no turn with text.
    #[error(
        "chat has no turns: give a list of {{speaker, text}} or an object with `turns` or `messages`"
    )]
    NoTurns,
}

/// Takes a text apart.
///
/// The page's `content` is the input as it is, except for JSON chats: theirs is the transcript that
/// was rendered from them. `content_hash` is of the input in every case, so an import can compare
/// files without parsing them.
pub fn parse(input: PageInput<'_>) -> Result<Page, PageError> {
    check(input.content)?;
    check_name(&input.key)?;
    match input.format {
        PageFormat::Markdown => markdown(input),
        PageFormat::Text => plain_text(input),
        PageFormat::ChatJson => {
            json_chat(&input, chat::from_json(input.content, &file_title(&input))?)
        }
        PageFormat::ChatJsonl => {
            json_chat(&input, chat::from_json_lines(input.content, &file_title(&input))?)
        }
    }
}

/// A chat as a page, with the characters of each turn. Names of the turns are ignored: the page has
/// no title and no name but its key.
pub(crate) fn chat_page<'a>(
    key: PageKey,
    date: Option<Date>,
    turns: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<(Page, Vec<Range<u32>>), PageError> {
    let mut transcript = chat::from_turns(turns);
    transcript.head.dates.extend(date.map(|date| (date, DateOrigin::Date)));
    check(&transcript.content)?;
    let content = transcript.content.clone();
    let offsets = Offsets::new(&content);
    let chars = |turn: &Range<usize>| offsets.char_of(turn.start)..offsets.char_of(turn.end);
    let turns = transcript.turns.iter().map(chars).collect();
    let input = PageInput { key, file_name: None, content: &content, format: PageFormat::ChatJson };
    Ok((json_chat(&input, transcript)?, turns))
}

fn check(content: &str) -> Result<(), PageError> {
    if content.len() > MAX_BYTES {
        return Err(PageError::TooLarge { bytes: content.len(), limit: MAX_BYTES });
    }
    if let Some(line) = line_of_nul(content) {
        return Err(PageError::Nul { line });
    }
    if content.trim_start_matches('\u{feff}').trim().is_empty() {
        return Err(PageError::Empty);
    }
    Ok(())
}

/// A page that is already there keeps such a name, and can be read, moved and deleted by it.
fn check_name(key: &PageKey) -> Result<(), PageError> {
    let slug = key.slug.as_str();
    match slug.chars().find(|c| slug::is_direction_mark(*c)) {
        Some(character) => Err(PageError::Direction { slug: slug.to_owned(), character }),
        None => Ok(()),
    }
}

fn line_of_nul(content: &str) -> Option<usize> {
    let at = content.find('\0')?;
    Some(content[..at].matches('\n').count() + 1)
}

fn markdown(input: PageInput<'_>) -> Result<Page, PageError> {
    let content = input.content;
    let start = if content.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let (mut head, yaml, body) = head(content, start, &input.key)?;
    if head.page_type.as_deref() == Some("chat") {
        let turns = chat::markdown_turns(content, body.clone());
        if !turns.is_empty() {
            if head.dates.is_empty() {
                head.dates
                    .extend(chat::first_day(content, &turns).map(|day| (day, DateOrigin::Date)));
            }
            let spans = [BodySpan::markdown(content, PagePart::Turns, body)];
            let text = TextParts { content, yaml, turns: Some(&turns), spans: &spans };
            return assemble(&input, PageKind::Chat, head, text);
        }
        head.warn("type is chat but no line reads `**Name** (time): text`; read as text");
    }
    let BodyParts { truth, timeline, rest } = timeline::split(content, body);
    let spans = [(PagePart::Truth, truth), (PagePart::Timeline, timeline), (PagePart::Truth, rest)]
        .map(|(part, range)| BodySpan::markdown(content, part, range));
    let text = TextParts { content, yaml, turns: None, spans: &spans };
    assemble(&input, PageKind::Markdown, head, text)
}

/// The frontmatter, the bytes of its YAML and the bytes of the body.
fn head(
    content: &str,
    start: usize,
    key: &PageKey,
) -> Result<(Frontmatter, Range<usize>, Range<usize>), PageError> {
    let whole = start..content.len();
    let as_text = |warning: &str| {
        let head = Frontmatter { warnings: vec![warning.to_owned()], ..Frontmatter::default() };
        (head, start..start, whole.clone())
    };
    match frontmatter::fence(content, start) {
        FrontmatterSpan::Absent => Ok((Frontmatter::default(), start..start, whole)),
        FrontmatterSpan::Open => {
            Ok(as_text("the first `---` is never closed; read as text, not as frontmatter"))
        }
        FrontmatterSpan::Closed { yaml, body } => {
            match frontmatter::read(&content[yaml.clone()], slug::type_of_slug(key.slug.as_str()))?
            {
                Some(head) => Ok((head, yaml, body..content.len())),
                None => {
                    Ok(as_text("what the first `---` opens is not a map of keys; read as text"))
                }
            }
        }
    }
}

fn plain_text(input: PageInput<'_>) -> Result<Page, PageError> {
    const LONGEST_TITLE: usize = 80;
    let content = input.content;
    let start = if content.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut head = Frontmatter::default();
    if input.file_name.is_none() {
        let first = content[start..].trim().lines().next().unwrap_or_default().trim();
        head.title = (first.chars().count() <= LONGEST_TITLE).then(|| first.to_owned());
    }
    let spans = [BodySpan::plain(content, PagePart::Truth, start..content.len())];
    assemble(
        &input,
        PageKind::Text,
        head,
        TextParts { content, yaml: 0..0, turns: None, spans: &spans },
    )
}

fn json_chat(input: &PageInput<'_>, transcript: chat::Transcript) -> Result<Page, PageError> {
    let chat::Transcript { head, content, turns } = transcript;
    if let Some(line) = line_of_nul(&content) {
        return Err(PageError::Nul { line });
    }
    let spans = [BodySpan::markdown(&content, PagePart::Turns, 0..content.len())];
    let text = TextParts { content: &content, yaml: 0..0, turns: Some(&turns), spans: &spans };
    assemble(input, PageKind::Chat, head, text)
}

/// A text with the bytes of its parts.
struct TextParts<'a> {
    content: &'a str,
    yaml: Range<usize>,
    turns: Option<&'a [Range<usize>]>,
    spans: &'a [BodySpan],
}

fn assemble(
    input: &PageInput<'_>,
    kind: PageKind,
    mut head: Frontmatter,
    text: TextParts<'_>,
) -> Result<Page, PageError> {
    head.refuse_excess()?;
    let TextParts { content, yaml, turns, spans } = text;
    let offsets = Offsets::new(content);
    let page_type =
        head.page_type.take().unwrap_or_else(|| default_type(&input.key, kind).to_owned());
    let chunks = chunk::split(content, &offsets, spans, turns);
    let mut links = Links::of(input.key.slug.as_str());
    frontmatter_links(content, &offsets, &yaml, &head.relations)
        .try_for_each(|link| links.add(link))?;
    if kind != PageKind::Text {
        let subject = link::PageSubject {
            slug: input.key.slug.as_str(),
            page_type: &page_type,
            lists_attendees: head.relations.iter().any(|one| one.link_type == LinkType::Attended),
        };
        link::extract(content, &offsets, spans, &chunks, subject, &mut links)?;
    }
    let title = head.title.take().or_else(|| first_heading(content, spans));
    let title = title.unwrap_or_else(|| file_title(input));
    let title = cut_title(&title).into_owned();
    let (effective_date, date_origin) = effective_date(input, &head.dates);
    Ok(Page {
        key: input.key.clone(),
        kind,
        title,
        page_type,
        tags: std::mem::take(&mut head.tags),
        aliases: std::mem::take(&mut head.aliases),
        effective_date,
        date_origin,
        visibility: head.visibility,
        content: content.to_owned(),
        content_hash: Hash::of(input.content.as_bytes()),
        chunks,
        links: links.into_strongest(),
        takes: std::mem::take(&mut head.takes),
        warnings: head.into_warnings(),
    })
}

fn default_type(key: &PageKey, kind: PageKind) -> &'static str {
    match kind {
        PageKind::Chat => "chat",
        PageKind::Markdown | PageKind::Text => {
            slug::type_of_slug(key.slug.as_str()).unwrap_or("note")
        }
    }
}

fn first_heading(content: &str, spans: &[BodySpan]) -> Option<String> {
    let mut blocks = spans.iter().flat_map(|span| &span.blocks);
    let first = blocks.find(|block| block.kind == BlockKind::Heading(1))?;
    Some(block::heading_text(&content[first.range.clone()])).filter(|title| !title.is_empty())
}

fn file_title(input: &PageInput<'_>) -> String {
    slug::humanise(match input.file_name {
        Some(name) if !is_index(name) => name,
        _ => input.key.slug.as_str(),
    })
}

fn is_index(name: &str) -> bool {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let (stem, _) = slug::split_extension(name);
    ["index", "_index", "readme"].iter().any(|index| index.eq_ignore_ascii_case(stem))
}

fn effective_date(
    input: &PageInput<'_>,
    stated: &[(Date, DateOrigin)],
) -> (Option<Date>, Option<DateOrigin>) {
    let name = input.file_name.unwrap_or(input.key.slug.as_str());
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let named = date::leading_day(name).map(|(day, _)| day).filter(|day| date::is_plausible(*day));
    let named = named.map(|day| (day, DateOrigin::Filename));
    let slug = input.key.slug.as_str();
    let name_wins = slug.starts_with("daily/") || slug.starts_with("meetings/");
    let stated = stated.first().copied();
    let found = if name_wins { named.or(stated) } else { stated.or(named) };
    found.unzip()
}

/// Turns the relations of the frontmatter into links that cite their lines.
fn frontmatter_links<'a>(
    content: &'a str,
    offsets: &'a Offsets<'_>,
    yaml: &Range<usize>,
    relations: &'a [frontmatter::Relation],
) -> impl Iterator<Item = Link> + 'a {
    let lines: Vec<Range<usize>> = block::lines(content, yaml.clone()).collect();
    let cite = move |relation: &frontmatter::Relation| {
        let (first, last) = relation.lines;
        let first = (first - 1).min(lines.len() - 1);
        let last = (last.min(lines.len()) - 1).max(first);
        let start = lines[first].start;
        start..start + content[start..lines[last].end].trim_end().len()
    };
    relations.iter().map(move |relation| link::edge_of_relation(relation, cite(relation), offsets))
}
