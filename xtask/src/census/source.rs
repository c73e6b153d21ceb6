//! A Rust file taken apart: which characters are code and which are comments, its functions and types.
//!
//! A small lexer knows strings, character literals and comments; it knows nothing else of the language.
//! That is enough to count, costs no dependency, and is exact where braces match, which rustfmt ensures.

/// A file with its code and comments on lines of their own.
pub(super) struct SourceFile {
    /// The path from the root of the workspace, with slashes.
    pub(super) path: String,
    pub(super) lines: Vec<Line>,
}

/// One line of a file.
pub(super) struct Line {
    /// The code of the line; text inside of literals is left out.
    pub(super) code: String,
    /// The text of its comment, without the slashes.
    pub(super) comment: String,
    /// Whether the comment is documentation: `///` or `//!`.
    pub(super) is_doc: bool,
    /// Whether the line belongs to tests.
    pub(super) is_test: bool,
}

/// A function and how many lines it has, from its name to its closing brace.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) length: usize,
    pub(super) is_test: bool,
}

/// A struct, enum, trait or type alias.
#[derive(Clone)]
pub(super) struct TypeDefinition {
    pub(super) name: String,
    pub(super) is_struct: bool,
    pub(super) is_test: bool,
    /// Names of the fields, if it is a struct with named fields.
    pub(super) fields: Vec<String>,
}

impl SourceFile {
    pub(super) fn parse(path: String, text: &str) -> Self {
        let mut lines = lex(text);
        let whole = path.contains("/tests/") || path.ends_with("/tests.rs");
        mark_tests(&mut lines, whole);
        Self { path, lines }
    }

    /// The directory below `crates`, or the first directory.
    pub(super) fn crate_name(&self) -> &str {
        let mut parts = self.path.split('/');
        match parts.next() {
            Some("crates") => parts.next().unwrap_or_default(),
            Some(first) => first,
            None => "",
        }
    }

    pub(super) fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            let Some(name) = name_after(&line.code, "fn") else { continue };
            if let Some(end) = self.closing_line(at) {
                let (length, is_test) = (end - at + 1, line.is_test);
                functions.push(Function { name, line: at + 1, length, is_test });
            }
        }
        functions
    }

    pub(super) fn types(&self) -> Vec<TypeDefinition> {
        let mut types = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            for keyword in ["struct", "enum", "trait", "type"] {
                let Some(name) = name_after(&line.code, keyword) else { continue };
                // An associated type of a trait or an implementation is no definition of a name.
                if keyword == "type" && line.code.starts_with(' ') {
                    continue;
                }
                let is_struct = keyword == "struct";
                let fields = if is_struct { self.fields(at) } else { Vec::new() };
                types.push(TypeDefinition { name, is_struct, is_test: line.is_test, fields });
            }
        }
        types
    }

    /// Named fields of the struct that begins on a line.
    fn fields(&self, at: usize) -> Vec<String> {
        let Some(end) = self.closing_line(at) else { return Vec::new() };
        let field = |line: &Line| {
            let code = line.code.trim_start();
            let code = code.strip_prefix("pub(crate) ").or(code.strip_prefix("pub(super) "));
            let code = code.unwrap_or(line.code.trim_start());
            let code = code.strip_prefix("pub ").unwrap_or(code);
            let (name, _) = code.split_once(':')?;
            is_identifier(name).then(|| name.to_owned())
        };
        self.lines[at + 1..=end].iter().filter_map(field).collect()
    }

    /// The line of the brace that closes the first one opened on or after line `at`; none for a
    /// declaration that ends with a semicolon.
    fn closing_line(&self, at: usize) -> Option<usize> {
        let mut depth = 0_usize;
        let mut round = 0_usize;
        for (number, line) in self.lines.iter().enumerate().skip(at) {
            for c in line.code.chars() {
                match c {
                    '(' | '[' => round += 1,
                    ')' | ']' => round = round.saturating_sub(1),
                    ';' if depth == 0 && round == 0 => return None,
                    '{' => depth += 1,
                    '}' => {
                        depth = depth.saturating_sub(1);
                        if depth == 0 {
                            return Some(number);
                        }
                    }
                    _ => {}
                }
            }
        }
        None
    }
}

/// The name that follows a keyword at the beginning of a definition.
fn name_after(code: &str, keyword: &str) -> Option<String> {
    const BEFORE: [&str; 9] = [
        "pub",
        "pub(crate)",
        "pub(super)",
        "async",
        "const",
        "unsafe",
        "default",
        "extern",
        "auto",
    ];
    let mut words = code.split_whitespace();
    let word = words.by_ref().find(|word| !BEFORE.contains(word) && !word.starts_with("pub(in"))?;
    if word != keyword {
        return None;
    }
    let name: String =
        words.next()?.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    is_identifier(&name).then_some(name)
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// Marks the lines of `#[cfg(test)] mod ... { }` and of functions with `#[test]`.
fn mark_tests(lines: &mut [Line], whole: bool) {
    let mut depth = 0_i64;
    let mut until: Option<i64> = None;
    let mut is_pending = false;
    for line in lines {
        let code = line.code.trim();
        is_pending |= code == "#[cfg(test)]" || code == "#[test]";
        line.is_test = whole || until.is_some() || is_pending;
        let before = depth;
        depth += line.code.matches('{').count() as i64 - line.code.matches('}').count() as i64;
        if is_pending && depth > before {
            (until, is_pending) = (Some(before), false);
        } else if is_pending && (code.ends_with(';') || (code.ends_with('}') && depth == before)) {
            is_pending = false;
        }
        if until.is_some_and(|level| depth <= level) {
            until = None;
        }
    }
}

/// Where the lexer is.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Code,
    LineComment,
    /// How many are open.
    BlockComment(u32),
    Text,
    /// How many `#` end it.
    RawText(usize),
}

fn lex(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut state = State::Code;
    for raw in text.lines() {
        let mut line =
            Line { code: String::new(), comment: String::new(), is_doc: false, is_test: false };
        let chars: Vec<char> = raw.chars().collect();
        let mut at = 0;
        while at < chars.len() {
            at += step(&chars[at..], &mut state, &mut line);
        }
        if state == State::LineComment {
            state = State::Code;
        }
        lines.push(line);
    }
    lines
}

/// Takes the next characters of a line; how many.
fn step(rest: &[char], state: &mut State, line: &mut Line) -> usize {
    let starts = |text: &str| text.chars().zip(rest).filter(|(a, b)| a == *b).count() == text.len();
    match *state {
        State::LineComment => {
            line.comment.push(rest[0]);
            1
        }
        State::BlockComment(open) => {
            if starts("*/") {
                *state = if open == 1 { State::Code } else { State::BlockComment(open - 1) };
                return 2;
            }
            if starts("/*") {
                *state = State::BlockComment(open + 1);
                return 2;
            }
            line.comment.push(rest[0]);
            1
        }
        State::Text => match rest[0] {
            '\\' => 2,
            '"' => {
                *state = State::Code;
                line.code.push('"');
                1
            }
            _ => 1,
        },
        State::RawText(hashes) => {
            if rest[0] == '"' && rest[1..].iter().take_while(|c| **c == '#').count() >= hashes {
                *state = State::Code;
                line.code.push('"');
                return 1 + hashes;
            }
            1
        }
        State::Code => code(rest, state, line),
    }
}

fn code(rest: &[char], state: &mut State, line: &mut Line) -> usize {
    let next = |at: usize| rest.get(at).copied();
    match rest[0] {
        '/' if next(1) == Some('/') => {
            let is_doc = matches!(next(2), Some('/' | '!')) && next(3) != Some('/');
            line.is_doc = is_doc;
            *state = State::LineComment;
            if is_doc { 3 } else { 2 }
        }
        '/' if next(1) == Some('*') => {
            *state = State::BlockComment(1);
            2
        }
        '"' => {
            line.code.push('"');
            *state = State::Text;
            1
        }
        'r' if !line.code.ends_with(|c: char| c.is_alphanumeric() || c == '_') => {
            let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
            if next(1 + hashes) == Some('"') {
                line.code.push('"');
                *state = State::RawText(hashes);
                return 2 + hashes;
            }
            line.code.push('r');
            1
        }
        // A character literal, unless it is a lifetime.
        '\'' if next(1) == Some('\\') => {
            2 + rest[2..].iter().skip(1).position(|c| *c == '\'').map_or(1, |end| end + 2)
        }
        '\'' if next(2) == Some('\'') => 3,
        c => {
            line.code.push(c);
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> SourceFile {
        SourceFile::parse("crates/core/src/a.rs".to_owned(), text)
    }

    #[test]
    fn literals_and_comments_are_distinguished_from_code() {
        let check = |text: &str, code: &str, comment: &str| {
            let parsed = file(text);
            assert_eq!(parsed.lines[0].code.trim(), code, "{text}");
            assert_eq!(parsed.lines[0].comment.trim(), comment, "{text}");
        };
        check("let a = 1; // one", "let a = 1;", "one");
        check(r#"let a = "// { \" no"; // yes"#, r#"let a = ""; "#.trim(), "yes");
        check(r##"let a = r#"{ " }"#; // raw"##, r#"let a = "";"#, "raw");
        check(
            "let c = '{'; let d = '\\''; let e = '\\u{7b}';",
            "let c = ; let d = ; let e = ;",
            "",
        );
        check("fn a<'b>(c: &'b str) {}", "fn a<'b>(c: &'b str) {}", "");
        check("a /* b /* c */ d */ e", "a  e", "b  c  d");
        check("/// Doc.", "", "Doc.");
    }

    #[test]
    fn functions_have_lengths_and_structs_have_fields() {
        let text = "pub(crate) struct A {\n    pub b: u8,\n    c: (u8, u8),\n}\n\n\
                    impl A {\n    fn d(&self) -> u8 {\n        match self.b {\n            1 => 2,\n            \
                    _ => 3,\n        }\n    }\n}\ntrait T {\n    fn e(&self);\n}\n\
                    #[cfg(test)]\nmod tests {\n    fn f() {}\n}\n";
        let parsed = file(text);
        let types = parsed.types();
        assert_eq!(types[0].fields, ["b", "c"]);
        assert_eq!(types.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["A", "T"]);
        let functions = parsed.functions();
        let found: Vec<(&str, usize, bool)> =
            functions.iter().map(|one| (one.name.as_str(), one.length, one.is_test)).collect();
        assert_eq!(found, [("d", 6, false), ("f", 1, true)]);
        assert_eq!(functions[0].line, 7);
    }
}
