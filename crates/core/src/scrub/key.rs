//! Keys of clouds and services: a prefix behind a boundary and a body of the right length, and a few
//! shapes without a prefix (Discord, Telegram, Mailchimp, `.npmrc`, unsigned JSON web tokens).
//!
//! Deliberately absent: entropy. A commit hash, a UUID and an order number look like keys.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::{memchr_iter, memmem};

use super::byte::{is_url64, is_word};
use super::key_rules::{Class, RULES, Rule};
use super::sink::Sink;
use super::text::{Text, has};

static PREFIXES: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let prefixes = RULES.iter().map(|rule| rule.prefix);
    let builder = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(prefixes);
    builder.expect("the prefixes are few and short")
});

pub(super) fn find(text: &Text<'_>, sink: &mut Sink) {
    let mut keys = Vec::new();
    for found in PREFIXES.find_iter(text.bytes) {
        let rule = &RULES[found.pattern().as_usize()];
        keys.extend(key_end(text, rule, found.start()).map(|end| (found.start(), end)));
    }
    if text.has(has::COLON | has::DIGIT) {
        keys.extend(telegram(text));
        keys.extend(npmrc(text));
    }
    if text.has(has::DOT) {
        keys.extend(discord(text));
    }
    if text.has(has::DOT | has::J) {
        keys.extend(unsigned_jwt(text));
    }
    if text.has(has::DASH | has::DIGIT) {
        keys.extend(mailchimp(text));
    }
    keys.sort_unstable();
    for (start, end) in keys {
        sink.offer(start, end);
    }
}

fn key_end(text: &Text<'_>, rule: &Rule, start: usize) -> Option<usize> {
    let before = text.before(start);
    // A dash before a key of dashes would make every prefix in a long one a beginning.
    if is_word(before) || (before == b'-' && rule.class.has(b'-')) {
        return None;
    }
    let body = start + rule.prefix.len();
    let limit = text.bytes.len().min(body + rule.most + 1);
    let window = &text.bytes[body..limit];
    let length = window.iter().position(|byte| !rule.class.has(*byte)).unwrap_or(window.len());
    let fits = (rule.fewest..=rule.most).contains(&length) && !is_word(text.at(body + length));
    (fits && is_shaped(rule, &window[..length])).then_some(body + length)
}

/// What a length does not tell.
fn is_shaped(rule: &Rule, body: &[u8]) -> bool {
    match rule.prefix {
        "SG." => body.len() >= 66 && body[22] == b'.' && !body[23..66].contains(&b'.'),
        "AP" => body[0].is_ascii_digit() || matches!(body[0], b'A'..=b'F'),
        _ => true,
    }
}

/// `12345678:` and 35 characters.
fn telegram<'a>(text: &'a Text<'_>) -> impl Iterator<Item = (usize, usize)> + 'a {
    let runs = text.runs().iter().filter(|run| (8..=10).contains(&run.len()));
    runs.filter_map(|run| {
        let (body, end) = (run.end + 1, run.end + 36);
        let is_key = text.at(run.end) == b':'
            && text.bytes.get(body..end).is_some_and(|key| key.iter().all(|byte| is_url64(*byte)))
            && !is_word(text.before(run.start))
            && !is_url64(text.at(end));
        is_key.then_some((run.start, end))
    })
}

/// `//registry/:_authToken=` and a token.
fn npmrc<'a>(text: &'a Text<'_>) -> impl Iterator<Item = (usize, usize)> + 'a {
    const NAME: &str = "/:_authToken=";
    const REGISTRY: usize = 80;
    memmem::find_iter(text.bytes, NAME).filter_map(|at| {
        let registry = memmem::find(text.window_before(at, REGISTRY), b"//");
        let start = text.end_of(at + NAME.len(), |byte| byte == b' ');
        let end = text.end_of(start, is_url64);
        let named = is_word(text.before(at)) && registry.is_some();
        (named && end - start >= 10).then_some((start, end))
    })
}

/// Three parts of 24 to 26, 6 and at least 27 characters.
fn discord<'a>(text: &'a Text<'_>) -> impl Iterator<Item = (usize, usize)> + 'a {
    let mut floor = 0;
    memchr_iter(b'.', text.bytes).filter_map(move |dot| {
        let from = std::mem::replace(&mut floor, dot + 1);
        let is_middle = text.at(dot + 7) == b'.'
            && text.bytes[dot + 1..dot + 7].iter().all(|byte| is_url64(*byte));
        if !is_middle || dot - from < 24 {
            return None;
        }
        let begins = |length: &usize| {
            dot - from >= *length && matches!(text.bytes[dot - length], b'M' | b'N' | b'O')
        };
        let length = (24..=26).rev().find(begins)?;
        let first = &text.bytes[dot - length..dot];
        let end = text.end_of(dot + 8, is_url64);
        let is_key = first.iter().all(|byte| is_url64(*byte)) && end - (dot + 8) >= 27;
        is_key.then_some((dot - length, end))
    })
}

/// Two parts that both begin with `eyJ`; three are the JWT family.
fn unsigned_jwt<'a>(text: &'a Text<'_>) -> impl Iterator<Item = (usize, usize)> + 'a {
    memmem::find_iter(text.bytes, ".eyJ").filter_map(|dot| {
        let first = text.window_before(dot, 1024);
        let length = first.iter().rev().position(|byte| !is_url64(*byte)).unwrap_or(first.len());
        let end = text.end_of(dot + 1, is_url64);
        let is_token = text.bytes[dot - length..].starts_with(b"eyJ")
            && length >= 16
            && end - dot > 16
            && text.at(end) != b'.'
            && text.before(dot - length) != b'.';
        is_token.then_some((dot - length, end))
    })
}

/// 32 hexadecimal digits, `-us` and a number.
fn mailchimp<'a>(text: &'a Text<'_>) -> impl Iterator<Item = (usize, usize)> + 'a {
    memmem::find_iter(text.bytes, "-us").filter_map(|dash| {
        let start = dash.checked_sub(32)?;
        let end = text.end_of(dash + 3, |byte| byte.is_ascii_digit());
        let digits = text.bytes[start..dash]
            .iter()
            .all(|byte| Class::Hex.has(*byte) && !byte.is_ascii_uppercase());
        let alone = !is_word(text.before(start)) && !is_word(text.at(end));
        (digits && alone && (1..=2).contains(&(end - dash - 3))).then_some((start, end))
    })
}
