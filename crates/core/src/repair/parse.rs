//! Parses one object or array in a single pass, accepting deviations from JSON that have only one
//! meaning.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::{DEPTH, Repair, RepairError};

/// Why a bracket does not start a value.
#[derive(Debug)]
pub(super) enum Failure {
    /// The bracket belongs to the prose: no JSON follows it.
    Prose,
    /// Like `Prose`, and the text ended.
    ProseToTheEnd,
    /// Recognisable as JSON, but invalid.
    Broken(RepairError),
}

type ParseResult<T> = Result<T, Failure>;

/// Parses from a position on.
pub(super) struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Whether the text read so far can only be JSON, not prose.
    is_meant: bool,
    repairs: BTreeSet<Repair>,
}

/// Whether JSON allows the character as whitespace.
pub(super) fn is_json_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at, depth: 0, is_meant: false, repairs: BTreeSet::new() }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The end of the value and the repairs inside it.
    pub(super) fn finish(&mut self) -> (usize, BTreeSet<Repair>) {
        (self.at, std::mem::take(&mut self.repairs))
    }

    pub(super) fn container(&mut self) -> ParseResult<Value> {
        if self.depth == DEPTH {
            return Err(Failure::Broken(RepairError::TooDeep { at: self.at }));
        }
        self.depth += 1;
        let start = self.at;
        let value = match self.take() {
            Some('{') => self.object(start),
            _ => self.array(start),
        }?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self, start: usize) -> ParseResult<Value> {
        let mut entries = Map::new();
        loop {
            self.blanks()?;
            let at = self.at;
            match self.peek() {
                Some('}') => break,
                Some(_) => {}
                None => return self.cut_off("an object", start),
            }
            let key = self.key()?;
            self.blanks()?;
            self.expect(':', "a colon", start)?;
            self.is_meant = true;
            let value = self.value(start)?;
            if entries.contains_key(&key) {
                return Err(Failure::Broken(RepairError::DuplicateKey { key, at }));
            }
            entries.insert(key, value);
            if !self.comma('}', "a comma or a closing brace", "an object", start)? {
                break;
            }
        }
        self.take();
        Ok(Value::Object(entries))
    }

    fn array(&mut self, start: usize) -> ParseResult<Value> {
        let mut items = Vec::new();
        loop {
            self.blanks()?;
            if self.peek() == Some(']') {
                break;
            }
            let item = self.value(start)?;
            // Numbers in brackets may be references, but prose has no bracketed strings or lists.
            self.is_meant |= item.is_string() || item.is_array() || item.is_object();
            items.push(item);
            if !self.comma(']', "a comma or a closing bracket", "an array", start)? {
                break;
            }
        }
        self.take();
        Ok(Value::Array(items))
    }

    /// Whether a comma and another member follow; stops before the closing bracket.
    fn comma(
        &mut self,
        close: char,
        expected: &'static str,
        what: &'static str,
        start: usize,
    ) -> ParseResult<bool> {
        self.blanks()?;
        match self.peek() {
            Some(c) if c == close => return Ok(false),
            Some(',') => {}
            Some(_) => return self.wrong(expected),
            None => return self.cut_off(what, start),
        }
        self.take();
        self.blanks()?;
        if self.peek() == Some(close) {
            self.repairs.insert(Repair::TrailingComma);
            return Ok(false);
        }
        Ok(true)
    }

    fn value(&mut self, start: usize) -> ParseResult<Value> {
        self.blanks()?;
        match self.peek() {
            Some('{' | '[') => self.container(),
            Some(c) if closing(c).is_some() => self.string().map(Value::String),
            Some(c) if c == '-' || c.is_ascii_digit() => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.literal(start),
            Some(_) => self.wrong("a value"),
            None => self.cut_off("a value", start),
        }
    }

    fn key(&mut self) -> ParseResult<String> {
        match self.peek() {
            Some(c) if closing(c).is_some() => {
                let key = self.string()?;
                self.is_meant = true;
                Ok(key)
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                let key = self.run(is_part).to_owned();
                self.repairs.insert(Repair::UnquotedKey);
                Ok(key)
            }
            _ => self.wrong("a key"),
        }
    }

    fn literal(&mut self, start: usize) -> ParseResult<Value> {
        let at = self.at;
        let word = self.run(|c| c.is_ascii_alphanumeric() || c == '_');
        let value = match word {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" => Value::Null,
            _ if self.at == self.text.len() => return self.cut_off("a value", start),
            _ => {
                self.at = at;
                return self.wrong("a value");
            }
        };
        if word.starts_with(|c: char| c.is_ascii_uppercase()) {
            self.repairs.insert(Repair::PythonLiteral);
        }
        Ok(value)
    }

    fn number(&mut self) -> ParseResult<Value> {
        let at = self.at;
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let number = self.run(is_part);
        match serde_json::from_str::<Number>(number) {
            // A number at the end of the text may have been truncated.
            Ok(_) | Err(_) if self.at == self.text.len() => self.cut_off("a number", at),
            Ok(number) => Ok(Value::Number(number)),
            Err(_) => {
                self.at = at;
                self.wrong("a number")
            }
        }
    }

    fn string(&mut self) -> ParseResult<String> {
        let start = self.at;
        let open = self.take().unwrap_or('"');
        let close = closing(open).unwrap_or(&['"']);
        match open {
            '"' => {}
            '\'' => drop(self.repairs.insert(Repair::SingleQuotes)),
            _ => drop(self.repairs.insert(Repair::SmartQuotes)),
        }
        let mut string = String::new();
        loop {
            let Some(c) = self.take() else {
                return Err(Failure::Broken(RepairError::Truncated {
                    what: "a string",
                    at: start,
                }));
            };
            match c {
                c if close.contains(&c) => return Ok(string),
                '\\' => self.escape(start, &mut string)?,
                c => {
                    if u32::from(c) < 0x20 {
                        self.repairs.insert(Repair::RawControl);
                    }
                    string.push(c);
                }
            }
        }
    }

    fn escape(&mut self, start: usize, string: &mut String) -> ParseResult<()> {
        let truncated = RepairError::Truncated { what: "a string", at: start };
        let c = match self.take().ok_or(Failure::Broken(truncated))? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => self.unicode()?,
            c @ ('"' | '\\' | '/') => c,
            c @ ('\'' | '“' | '”' | '‘' | '’') => {
                self.repairs.insert(Repair::Escape);
                c
            }
            // A literal backslash, as in a path or a formula.
            c => {
                self.repairs.insert(Repair::Escape);
                string.push('\\');
                c
            }
        };
        string.push(c);
        Ok(())
    }

    /// Four digits after `\u`, or a surrogate pair.
    fn unicode(&mut self) -> ParseResult<char> {
        let high = self.four_digits()?;
        if let Some(c) = char::from_u32(high) {
            return Ok(c);
        }
        let has_low = self.take() == Some('\\') && self.take() == Some('u');
        let low = if has_low { self.four_digits()? } else { 0 };
        let is_pair = (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low);
        let code = 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff);
        match char::from_u32(code).filter(|_| is_pair) {
            Some(c) => Ok(c),
            None => self.broken("a whole character"),
        }
    }

    fn four_digits(&mut self) -> ParseResult<u32> {
        let digits = self.text.get(self.at..self.at + 4);
        let is_hex = |digits: &&str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        match digits.filter(is_hex).and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => self.broken("four hexadecimal digits"),
        }
    }

    /// Skips whitespace and comments.
    fn blanks(&mut self) -> ParseResult<()> {
        loop {
            let rest = &self.text[self.at..];
            match self.peek() {
                Some(c) if is_json_blank(c) => drop(self.take()),
                Some(c) if c.is_whitespace() || c == '\u{feff}' => {
                    self.repairs.insert(Repair::Blank);
                    self.take();
                }
                Some('#') => self.comment(rest.find('\n').unwrap_or(rest.len())),
                Some('/') if rest.starts_with("//") => {
                    self.comment(rest.find('\n').unwrap_or(rest.len()));
                }
                Some('/') if rest.starts_with("/*") => match rest[2..].find("*/") {
                    Some(end) => self.comment(end + 4),
                    None => {
                        let error = RepairError::Truncated { what: "a comment", at: self.at };
                        return Err(Failure::Broken(error));
                    }
                },
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self, length: usize) {
        self.repairs.insert(Repair::Comment);
        self.at += length;
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Consumes the longest run of matching characters.
    fn run(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn expect(&mut self, c: char, expected: &'static str, start: usize) -> ParseResult<()> {
        match self.peek() {
            Some(found) if found == c => {
                self.take();
                Ok(())
            }
            Some(_) => self.wrong(expected),
            None => self.cut_off("an object", start),
        }
    }

    fn wrong<T>(&self, expected: &'static str) -> ParseResult<T> {
        if self.is_meant { self.broken(expected) } else { Err(Failure::Prose) }
    }

    fn broken<T>(&self, expected: &'static str) -> ParseResult<T> {
        Err(Failure::Broken(RepairError::Malformed { expected, at: self.at }))
    }

    fn cut_off<T>(&self, what: &'static str, start: usize) -> ParseResult<T> {
        if self.is_meant {
            return Err(Failure::Broken(RepairError::Truncated { what, at: start }));
        }
        Err(Failure::ProseToTheEnd)
    }
}

/// The characters that close a string with this opening quote.
fn closing(open: char) -> Option<&'static [char]> {
    match open {
        '"' => Some(&['"']),
        '\'' => Some(&['\'']),
        '“' | '”' | '„' => Some(&['“', '”']),
        '‘' | '’' => Some(&['‘', '’']),
        _ => None,
    }
}
