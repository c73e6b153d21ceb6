//! Error messages of the YAML and JSON readers, in plain words with a remedy.
//!
//! Promises: a value that is of the wrong kind is not repeated, since it may be a secret. A reason that
//! is not known here stays as it is.

use super::suggest::did_you_mean;
use crate::address::without_passwords;

/// A reason in plain words.
pub fn plain(reason: &str) -> String {
    let reason = without_place(reason);
    let rewritten = [duplicate, missing, unknown, wrong_kind, of_yaml];
    let words = rewritten.iter().find_map(|one| one(reason)).unwrap_or_else(|| reason.to_owned());
    without_passwords(&words).into_owned()
}

/// The caller adds the position.
fn without_place(reason: &str) -> &str {
    let first = reason.lines().next().unwrap_or_default();
    first.rsplit_once(" at line ").map_or(first, |(what, _)| what).trim()
}

fn duplicate(reason: &str) -> Option<String> {
    let rest = reason.strip_prefix("duplicate mapping key")?;
    let key = rest.strip_prefix(": ").and_then(|rest| rest.split_once(", set "));
    Some(match key {
        Some((key, _)) => format!("the key `{key}` is written twice; leave one of them out"),
        None => "a key is written twice; leave one of them out".to_owned(),
    })
}

fn missing(reason: &str) -> Option<String> {
    let field = reason.strip_prefix("missing field `")?.strip_suffix('`')?;
    Some(format!("`{field}` is missing; add `{field}: ...`"))
}

fn unknown(reason: &str) -> Option<String> {
    let (rest, what) = match reason.strip_prefix("unknown field `") {
        Some(rest) => (rest, "there is no key"),
        None => (reason.strip_prefix("unknown variant `")?, "unknown value"),
    };
    let (wrong, known) = rest.split_once('`')?;
    let known = known.trim_start_matches(", expected one of ").trim_start_matches(", expected ");
    Some(match did_you_mean(reason) {
        Some(near) => format!("{what} `{wrong}`; {near} there are {known}"),
        None => format!("{what} `{wrong}`; there are {known}"),
    })
}

fn wrong_kind(reason: &str) -> Option<String> {
    let rest = reason.strip_prefix("invalid type: ").or(reason.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    let kinds = [
        ("string", "a text"),
        ("integer", "a number"),
        ("floating point", "a number"),
        ("boolean", "true or false"),
        ("map", "a table"),
        ("sequence", "a list"),
        ("null", "nothing"),
        ("unit", "nothing"),
    ];
    let found =
        kinds.iter().find(|(start, _)| found.starts_with(start)).map_or("something", |one| one.1);
    Some(format!("{found} stands where {} belongs", wanted(expected)))
}

/// The plain name of the value that a reader expects.
fn wanted(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        "i64" | "i32" => "a whole number",
        "f64" | "f32" => "a number",
        "a boolean" => "true or false",
        "a string" | "string" => "a text",
        "a sequence" => "a list",
        "a map" => "a table",
        text if text.starts_with("struct ") || text.contains(" tagged enum ") => "a table",
        text => text,
    }
}

fn of_yaml(reason: &str) -> Option<String> {
    let starts = [
        (
            "budget breached",
            "it is larger, or nested deeper, than such a file may be; take it apart",
        ),
        ("alias", "it repeats itself by too many aliases, or by one that nobody set; write it out"),
        ("expected mapping start", "a table belongs here, such as `name: value`"),
        ("expected sequence start", "a list belongs here, such as `[a, b]`"),
        (
            "invalid indentation in multiline quoted scalar",
            "a quoted text goes on at the start of a line: its closing quote is missing, or the line needs blanks before it",
        ),
        ("invalid boolean", "true or false belongs here"),
        ("cannot deserialize null into string", "a text belongs here, and there is nothing"),
        ("data did not match any variant", "a number or a text such as `95%` belongs here"),
    ];
    let known = starts.iter().find(|(start, _)| reason.starts_with(start)).map(|one| one.1);
    known.or_else(|| of_number(reason)).map(str::to_owned)
}

/// `invalid u64` and the like.
fn of_number(reason: &str) -> Option<&'static str> {
    let kind = reason.strip_prefix("invalid ")?;
    if !kind.get(1..)?.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    match kind.chars().next()? {
        'u' => Some("a whole number from 0 belongs here"),
        'i' => Some("a whole number belongs here"),
        'f' => Some("a number belongs here"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_reader_speaks_of_itself() {
        let check = |reason: &str, expected: &str| assert_eq!(plain(reason), expected);
        check(
            "duplicate mapping key: name, set DuplicateKeyPolicy in Options if acceptable",
            "the key `name` is written twice; leave one of them out",
        );
        check(
            "budget breached: Events { events: 200001 }",
            "it is larger, or nested deeper, than such a file may be; take it apart",
        );
        check("expected mapping start", "a table belongs here, such as `name: value`");
        check("invalid u64", "a whole number from 0 belongs here");
        check("invalid i64", "a whole number belongs here");
        check("invalid indentation", "invalid indentation");
        check("missing field `type` at line 3 column 2", "`type` is missing; add `type: ...`");
        check(
            "unknown field `ulr`, expected one of `kind`, `url`",
            "there is no key `ulr`; did you mean `url`? there are `kind`, `url`",
        );
        check(
            "unknown variant `telepathy`, expected one of `http`, `run`",
            "unknown value `telepathy`; there are `http`, `run`",
        );
        check(
            "invalid type: string \"sk-live, expected a map\", expected a map",
            "a text stands where a table belongs",
        );
        check(
            "invalid value: integer `-1`, expected usize",
            "a number stands where a whole number from 0 belongs",
        );
        check("simple key expect ':'", "simple key expect ':'");
    }
}
