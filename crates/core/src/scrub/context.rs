//! Words and letters around digits that make them something other than a number of a person.

use super::byte::{is_blank, is_word};
use super::text::ScannedText;

/// How far before digits the name of a code may stand: `catalogue number: `.
const NEAR: usize = 24;

/// Names of codes that may also stand before a number of a person, lower-case; beside [`CATALOGUED`].
const CODES: [&str; 12] = [
    "build", "version", "revision", "rows", "count", "total", "size", "offset", "order", "invoice",
    "ticket", "tracking",
];

/// Words that may stand between the name of a code and the code.
const BETWEEN: [&str; 6] = ["no", "nr", "number", "num", "id", "code"];

/// Prefixes in upper case that are not the beginning of a code.
const PHONES: [&str; 9] = ["tel", "fax", "phone", "cell", "mobile", "mob", "call", "sms", "ssn"];

/// Words right before a phone number, lower-case.
const DIALLED: [&str; 8] = ["call", "phone", "telephone", "tel", "dial", "mobile", "cell", "fax"];

/// Things that are counted, lower-case.
const COUNTED: [&str; 60] = [
    "rows",
    "row",
    "lines",
    "records",
    "entries",
    "items",
    "files",
    "pages",
    "documents",
    "docs",
    "chunks",
    "tokens",
    "words",
    "characters",
    "chars",
    "bytes",
    "kb",
    "mb",
    "gb",
    "tb",
    "kib",
    "mib",
    "bits",
    "users",
    "people",
    "customers",
    "visitors",
    "events",
    "requests",
    "queries",
    "hits",
    "messages",
    "tests",
    "cases",
    "steps",
    "iterations",
    "samples",
    "points",
    "pixels",
    "cells",
    "columns",
    "units",
    "pieces",
    "times",
    "operations",
    "ops",
    "cycles",
    "instructions",
    "ns",
    "us",
    "ms",
    "seconds",
    "minutes",
    "hours",
    "days",
    "dollars",
    "euros",
    "usd",
    "eur",
    "percent",
];

/// Names of codes that nothing of a person has.
const CATALOGUED: [&str; 20] = [
    "sku",
    "skus",
    "part",
    "item",
    "article",
    "product",
    "upc",
    "ean",
    "gtin",
    "isbn",
    "issn",
    "asin",
    "mpn",
    "pn",
    "catalog",
    "catalogue",
    "batch",
    "lot",
    "serial",
    "model",
];

/// Whether a word before the digits says that they are a code of a product.
pub(super) fn is_catalogued(text: &ScannedText<'_>, start: usize) -> bool {
    is_named(text, start, &CATALOGUED)
}

/// Whether letters and a dash on either side make the digits part of a longer code.
pub(super) fn is_part_of_code(text: &ScannedText<'_>, start: usize, end: usize) -> bool {
    has_prefix(text, start) || has_suffix(text, end)
}

/// Whether digits are a code of a thing: `SKU 415-555-0132`, `AB-415-555-0132`, `415-555-0132-XL`.
pub(super) fn is_code(text: &ScannedText<'_>, start: usize, end: usize) -> bool {
    (is_named(text, start, &CODES) || is_catalogued(text, start))
        || is_part_of_code(text, start, end)
}

/// Whether a word behind the digits says that they count something.
pub(super) fn is_counted(text: &ScannedText<'_>, end: usize) -> bool {
    let start = end + usize::from(is_blank(text.at(end)));
    let window = &text.bytes[start.min(text.bytes.len())..text.bytes.len().min(end + NEAR)];
    let length = window.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(window.len());
    start > end && is_one_of(&window[..length], &COUNTED)
}

/// Whether the word right before the digits is about phoning: `call 415 555 0132`.
pub(super) fn is_dialled(text: &ScannedText<'_>, start: usize) -> bool {
    let window = text.window_before(start, NEAR);
    let is_between = |byte: &u8| is_blank(*byte) || matches!(byte, b':' | b'.');
    let end = window.iter().rposition(|byte| !is_between(byte)).map_or(0, |last| last + 1);
    let window = &window[..end];
    let from =
        window.iter().rposition(|byte| !byte.is_ascii_alphabetic()).map_or(0, |last| last + 1);
    is_one_of(&window[from..], &DIALLED)
}

/// The name of a code right before the digits, with `no.`, `#` and the like between them.
fn is_named(text: &ScannedText<'_>, start: usize, codes: &[&str]) -> bool {
    let window = text.window_before(start, NEAR);
    let is_between = |byte: &u8| is_blank(*byte) || matches!(byte, b':' | b'#' | b'=' | b'.');
    let trimmed = |window: &[u8]| {
        window.iter().rposition(|byte| !is_between(byte)).map_or(0, |last| last + 1)
    };
    let word = |window: &[u8]| {
        window.iter().rposition(|byte| !byte.is_ascii_alphabetic()).map_or(0, |last| last + 1)
    };
    let mut window = &window[..trimmed(window)];
    for _ in 0..2 {
        let from = word(window);
        // The window may begin within a word.
        let is_whole = from > 0 || window.len() < NEAR;
        if !is_whole || (from > 0 && is_word(window[from - 1])) {
            return false;
        }
        if is_one_of(&window[from..], codes) {
            return true;
        }
        if !is_one_of(&window[from..], &BETWEEN) {
            return false;
        }
        window = &window[..trimmed(&window[..from])];
    }
    false
}

/// Capital letters and a dash before the digits, or the name of a code and a dash.
fn has_prefix(text: &ScannedText<'_>, start: usize) -> bool {
    const LONGEST: usize = 12;
    let Some([rest @ .., b'-' | b'_']) = Some(text.window_before(start, LONGEST)) else {
        return false;
    };
    let from =
        rest.iter().rposition(|byte| !byte.is_ascii_alphanumeric()).map_or(0, |last| last + 1);
    let prefix = &rest[from..];
    let is_upper = prefix.len() >= 2
        && prefix.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        && prefix[0].is_ascii_uppercase();
    let is_code = is_one_of(prefix, &CODES) || is_one_of(prefix, &CATALOGUED);
    (is_upper && !is_one_of(prefix, &PHONES)) || is_code
}

/// A dash and capital letters behind the digits.
fn has_suffix(text: &ScannedText<'_>, end: usize) -> bool {
    const LONGEST: usize = 6;
    let window = &text.bytes[end..text.bytes.len().min(end + LONGEST)];
    let [b'-' | b'_', rest @ ..] = window else { return false };
    let length = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
    let suffix = &rest[..length];
    suffix.first().is_some_and(u8::is_ascii_uppercase)
        && suffix.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        && !text.at(end + 1 + length).is_ascii_alphabetic()
}

fn is_one_of(word: &[u8], known: &[&str]) -> bool {
    known.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}
