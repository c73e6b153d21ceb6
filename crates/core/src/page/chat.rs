//! Chats: transcripts as JSON, JSON lines or Markdown.
//!
//! A JSON chat is rendered once to text that a person can read, and chunk offsets point into that
//! text: a title line, then one `**Speaker** (time): text` per turn with a blank line between.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;

use super::block::{self, FenceTracker};
use super::date;
use super::frontmatter::{self, Frontmatter};
use super::{DateOrigin, PageError};
use crate::reading::json::{Json, Object};
use crate::yaml::{Node, Value};

/// The keys that the frontmatter of a chat may have. Other keys are the author's own.
const HEAD_KEYS: [&str; 11] = [
    "title",
    "type",
    "tags",
    "tag",
    "aliases",
    "alias",
    "visibility",
    "event_date",
    "date",
    "published",
    "takes",
];

/// The most values that the head of a chat has under these keys.
const MAX_HEAD_VALUES: usize = 5_000;

/// A chat as text, with the bytes of each turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transcript {
    pub(crate) head: Frontmatter,
    pub(crate) content: String,
    pub(crate) turns: Vec<Range<usize>>,
}

struct ChatTurn {
    speaker: String,
    time: Option<String>,
    text: String,
}

/// A chat of turns that another reader has parsed, without a title.
pub(crate) fn from_turns<'a>(turns: impl Iterator<Item = (&'a str, &'a str)>) -> Transcript {
    let turn = |(speaker, text): (&str, &str)| ChatTurn {
        speaker: speaker.replace(['*', '\n', '\r'], " "),
        time: None,
        text: text.trim().replace("\r\n", "\n").replace('\0', " "),
    };
    let mut rendered = TranscriptBuilder::new("");
    turns.map(turn).for_each(|turn| rendered.add(&turn));
    let TranscriptBuilder { content, turns } = rendered;
    let head = Frontmatter { title: Some(String::new()), ..Frontmatter::default() };
    Transcript { head, content, turns }
}

/// Reads an object with `turns` or `messages`, or a bare list of turns.
pub(crate) fn from_json(text: &str, title: &str) -> Result<Transcript, PageError> {
    let json = Json::read(text.trim_start_matches('\u{feff}'))
        .map_err(|error| PageError::Json { line: error.line(), reason: json_reason(&error) })?;
    let (head, turns) = match json {
        Json::Array(turns) => (Object::default(), turns),
        Json::Object(mut object) => {
            let key = ["turns", "messages", "conversation"]
                .into_iter()
                .find(|key| object.contains_key(key));
            match key.and_then(|key| object.remove(key)) {
                Some(Json::Array(turns)) => (object, turns),
                _ => return Err(PageError::NoTurns),
            }
        }
        _ => return Err(PageError::NoTurns),
    };
    transcript(&head, &turns, title)
}

/// Reads one turn a line; a first line without text may hold the title, date and visibility.
pub(crate) fn from_json_lines(text: &str, title: &str) -> Result<Transcript, PageError> {
    let mut values = Vec::new();
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let value = Json::read(line)
            .map_err(|error| PageError::Json { line: at + 1, reason: json_reason(&error) })?;
        values.push(value);
    }
    match values.split_first() {
        Some((Json::Object(head), turns)) if turn_text(head).is_none() => {
            // An object without any field is a turn without text.
            let turns = if head.is_empty() { &values[..] } else { turns };
            transcript(head, turns, title)
        }
        _ => transcript(&Object::default(), &values, title),
    }
}

/// The turns of a Markdown chat: each starts with a line `**Name** (time): text` or `**Name**: text`.
pub(crate) fn markdown_turns(text: &str, body: Range<usize>) -> Vec<Range<usize>> {
    let mut fences = FenceTracker::default();
    let mut starts = Vec::new();
    for line in block::lines(text, body.clone()) {
        let content = &text[line.clone()];
        if !fences.holds(content) && is_turn_start(content) {
            starts.push(line.start);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([body.end]);
    let turns = starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| start..start + text[start..end].trim_end().len());
    turns.collect()
}

/// The day of the first turn of a Markdown chat that has one.
pub(crate) fn first_day(text: &str, turns: &[Range<usize>]) -> Option<Date> {
    turns.iter().find_map(|turn| {
        let (_, after) = text[turn.clone()].split_once("** (")?;
        let (time, _) = after.split_once(')')?;
        date::day(time).filter(|day| date::is_plausible(*day))
    })
}

fn is_turn_start(line: &str) -> bool {
    let Some((name, after)) = line.strip_prefix("**").and_then(|rest| rest.split_once("**")) else {
        return false;
    };
    let named = !name.trim().is_empty() && name.len() <= 200;
    let after = match after.trim_start().strip_prefix('(') {
        Some(rest) => rest.split_once(')').map_or("", |(_, after)| after),
        None => after,
    };
    named && (after.trim_start().starts_with(':') || name.ends_with(':'))
}

fn transcript(
    head: &Object<'_>,
    values: &[Json<'_>],
    title: &str,
) -> Result<Transcript, PageError> {
    let mut head = frontmatter::interpret(&head_node(head)?, None)?;
    let title = head.title.clone().unwrap_or_else(|| title.to_owned());
    let mut rendered = TranscriptBuilder::new(&title);
    let mut first_day = None;
    for (at, value) in values.iter().enumerate() {
        match turn(value) {
            Some(turn) => {
                first_day = first_day.or_else(|| date::day(turn.time.as_deref()?));
                rendered.add(&turn);
            }
            None => head.warn(format!("turn {} has no text; left out", at + 1)),
        }
    }
    if rendered.turns.is_empty() {
        return Err(PageError::NoTurns);
    }
    if head.dates.is_empty()
        && let Some(day) = first_day
        && date::is_plausible(day)
    {
        head.dates.push((day, DateOrigin::Date));
    }
    let TranscriptBuilder { content, turns } = rendered;
    Ok(Transcript { head, content, turns })
}

/// The frontmatter of a chat, for the frontmatter reader. It has no lines to cite, so it states no
/// relations: their keys are the author's own.
fn head_node(head: &Object<'_>) -> Result<Node, PageError> {
    let known = || head.iter().filter(|(key, _)| HEAD_KEYS.contains(key));
    let values: usize = known().map(|(_, value)| value.count()).sum();
    if values > MAX_HEAD_VALUES {
        let what = "values in the head of a chat";
        return Err(PageError::TooMany { what, limit: MAX_HEAD_VALUES });
    }
    let entries = known().map(|(key, value)| (text_node(key), node_of(value)));
    Ok(Node { line: 0, value: Value::Map(entries.collect()) })
}

/// A chat as text, to which turns are added one by one.
struct TranscriptBuilder {
    content: String,
    turns: Vec<Range<usize>>,
}

impl TranscriptBuilder {
    fn new(title: &str) -> Self {
        let title: Vec<&str> = title.split_whitespace().collect();
        let content =
            if title.is_empty() { String::new() } else { format!("# {}\n", title.join(" ")) };
        Self { content, turns: Vec::new() }
    }

    fn add(&mut self, turn: &ChatTurn) {
        let ChatTurn { speaker, time, text } = turn;
        self.content.push('\n');
        let start = self.content.len();
        for part in ["**", speaker, "**"] {
            self.content.push_str(part);
        }
        if let Some(time) = time {
            for part in [" (", time, ")"] {
                self.content.push_str(part);
            }
        }
        self.content.push_str(": ");
        self.content.push_str(text);
        self.turns.push(start..self.content.len());
        self.content.push('\n');
    }
}

fn turn(value: &Json<'_>) -> Option<ChatTurn> {
    let Json::Object(fields) = value else { return None };
    let text = turn_text(fields)?;
    let speaker = field(fields, &["speaker", "role", "name", "author", "from", "user"]).map(
        |who| match who {
            Json::Object(who) => field(who, &["name", "role", "id"]).map(plain).unwrap_or_default(),
            who => plain(who),
        },
    );
    let speaker = speaker.unwrap_or_default().replace(['*', '\n', '\r'], " ");
    let speaker =
        if speaker.trim().is_empty() { "unknown".to_owned() } else { speaker.trim().to_owned() };
    let time = field(fields, &["timestamp", "time", "ts", "date", "created_at"]).and_then(time);
    Some(ChatTurn { speaker, time, text })
}

fn turn_text(fields: &Object<'_>) -> Option<String> {
    let mut text = String::new();
    add_flat(field(fields, &["text", "content", "message", "body"])?, &mut text);
    if text.contains("\r\n") {
        text = text.replace("\r\n", "\n");
    }
    text.truncate(text.trim_end().len());
    text.drain(..text.len() - text.trim_start().len());
    (!text.is_empty()).then_some(text)
}

/// Adds the text of a string, or of the text parts of a list with a blank line between them.
fn add_flat(value: &Json<'_>, text: &mut String) {
    match value {
        Json::String(more) => text.push_str(more),
        Json::Array(parts) => {
            let start = text.len();
            for part in parts {
                let before = text.len();
                let gap = if before > start { "\n\n" } else { "" };
                text.push_str(gap);
                add_flat(part, text);
                if text.len() == before + gap.len() {
                    text.truncate(before);
                }
            }
        }
        Json::Object(part) => {
            if let Some(value) = field(part, &["text", "content", "parts"]) {
                add_flat(value, text);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn field<'j, 'a>(fields: &'j Object<'a>, names: &[&str]) -> Option<&'j Json<'a>> {
    names.iter().filter_map(|name| fields.get(name)).find(|value| !value.is_null())
}

fn plain(value: &Json<'_>) -> String {
    match value {
        Json::String(text) => text.clone().into_owned(),
        Json::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

/// A time as written, or seconds or milliseconds since 1970 as a UTC time.
fn time(value: &Json<'_>) -> Option<String> {
    let text = plain(value);
    let text = text.trim();
    let Ok(number) = text.parse::<f64>() else {
        return (!text.is_empty()).then(|| text.replace(['\n', '\r', '(', ')'], " "));
    };
    let seconds = if number.abs() >= 1e11 { number / 1e3 } else { number };
    let at = Timestamp::from_second(seconds as i64).ok()?;
    Some(at.strftime("%Y-%m-%d %H:%M").to_string())
}

fn node_of(value: &Json<'_>) -> Node {
    let value = match value {
        Json::Null => Value::Null,
        Json::Array(items) => Value::List(items.iter().map(node_of).collect()),
        Json::Object(fields) => {
            let entry = |(key, value): (&str, &Json<'_>)| (text_node(key), node_of(value));
            Value::Map(fields.iter().map(entry).collect())
        }
        Json::String(text) => Value::Text(text.clone().into_owned()),
        Json::Bool(_) | Json::Number(_) => Value::Text(value.to_string()),
    };
    Node { line: 0, value }
}

fn text_node(text: &str) -> Node {
    Node { line: 0, value: Value::Text(text.to_owned()) }
}

fn json_reason(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.clone(), |(what, _)| what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(transcript: &Transcript, expected: &[&str]) {
        let turns: Vec<_> =
            transcript.turns.iter().map(|turn| &transcript.content[turn.clone()]).collect();
        assert_eq!(turns, expected);
    }

    #[test]
    fn reads_what_chat_tools_write() {
        let text = r#"{"title": "Plan", "date": "2026-05-02", "messages": [
            {"role": "user", "content": "Hi\r\nthere", "ts": 1777712040},
            {"author": {"name": "Bo"}, "content": [{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}]},
            {"role": "user", "content": ""}]}"#;
        let chat = from_json(text, "file").unwrap();
        check(&chat, &["**user** (2026-05-02 08:54): Hi\nthere", "**Bo**: a\n\nb"]);
        assert!(chat.content.starts_with("# Plan\n\n**user**"));
        assert_eq!(chat.head.warnings.len(), 1);
        assert_eq!(chat.head.dates.len(), 1);
        let bare = from_json(r#"[{"role": "assistant", "content": "ok"}]"#, "My file").unwrap();
        assert_eq!(bare.content, "# My file\n\n**assistant**: ok\n");
    }

    #[test]
    fn reads_lines() {
        let text = "{\"title\": \"T\", \"visibility\": \"private\"}\n\n{\"speaker\": \"A\", \"text\": \"x\", \"time\": \"2026-05-02 09:14\"}\n";
        let chat = from_json_lines(text, "file").unwrap();
        check(&chat, &["**A** (2026-05-02 09:14): x"]);
        assert_eq!(chat.head.visibility, super::super::Visibility::Private);
        assert_eq!(chat.head.dates[0].0, jiff::civil::date(2026, 5, 2));
    }

    #[test]
    fn says_what_is_wrong() {
        assert!(matches!(from_json("{\n\"a\": }", "f"), Err(PageError::Json { line: 2, .. })));
        assert!(matches!(from_json_lines("{}\n{\n", "f"), Err(PageError::Json { line: 2, .. })));
        for empty in ["[]", "{}", "3", r#"{"turns": []}"#, r#"[{"role": "user"}]"#] {
            assert_eq!(from_json(empty, "f"), Err(PageError::NoTurns), "{empty}");
        }
    }

    #[test]
    fn a_head_is_read_by_its_known_keys() {
        let own: String = (0..9000).map(|n| format!("\"key{n}\":[{n},{n}],")).collect();
        let chat = |tags: usize| {
            let tags: String = (0..tags).map(|n| format!("\"t{n}\",")).collect();
            format!("{{{own}\"tags\":[{tags}\"z\"],\"turns\":[{{\"text\":\"hi\"}}]}}")
        };
        assert_eq!(from_json(&chat(2), "f").unwrap().head.tags, ["t0", "t1", "z"]);
        let many = from_json(&chat(6000), "f").unwrap_err().to_string();
        assert!(many.contains("more than 5000 values in the head of a chat"), "{many}");
    }

    #[test]
    fn parts_of_a_turn_are_joined() {
        let text = r#"[{"text":["a",["",null],{"text":"b"},[],["c","d"],{"x":1}]},
            {"text":[["",[]],"\r\n e\r\nf "]},{"text":[" "]}]"#;
        check(
            &from_json(text, "f").unwrap(),
            &["**unknown**: a\n\nb\n\nc\n\nd", "**unknown**: e\nf"],
        );
    }

    #[test]
    fn finds_turns_in_markdown() {
        let text = "intro\n\n**Ada** (2026-05-02 09:14): hello\nmore\n\n**Bo**: hi\n```\n**No**: x\n```\n\n**bold** word";
        let turns = markdown_turns(text, 0..text.len());
        let found: Vec<_> = turns.iter().map(|turn| &text[turn.clone()]).collect();
        assert_eq!(
            found,
            [
                "**Ada** (2026-05-02 09:14): hello\nmore",
                "**Bo**: hi\n```\n**No**: x\n```\n\n**bold** word"
            ]
        );
        assert_eq!(first_day(text, &turns), Some(jiff::civil::date(2026, 5, 2)));
    }
}
