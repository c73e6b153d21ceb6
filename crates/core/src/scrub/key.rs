//! Keys of clouds and services: a prefix behind a boundary and a body of the right length, and a few
//! shapes without a prefix (Discord, Telegram, Mailchimp, `.npmrc`, unsigned JSON web tokens).
//!
//! Deliberately absent: entropy. A commit hash, a UUID and an order number look like keys.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::{memchr_iter, memmem};

use super::byte::{is_url64, is_word};
use super::key_rules::{RULES, Rule};
use super::sink::Sink;
use super::text::{ByteRun, ScannedText, has};

/// The text before a token in `.npmrc`.
const NPMRC: &str = "/:_authToken=";

static NPMRC_NAME: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(NPMRC));

static PREFIXES: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let prefixes = RULES.iter().map(|rule| rule.prefix);
    let builder = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(prefixes);
    builder.expect("the prefixes are few and short")
});

pub(super) fn find(text: &ScannedText<'_>, sink: &mut Sink) {
    let mut keys = Vec::new();
    for word in text.long_words() {
        let places = PREFIXES.find_iter(&text.bytes[word.start..word.end]);
        for found in places {
            let start = word.start + found.start();
            let rule = &RULES[found.pattern().as_usize()];
            keys.extend(key_end(text, rule, start).map(|end| (start, end)));
        }
        shaped(text, word, &mut keys);
    }
    if text.has(has::COLON | has::NUMBER) {
        keys.extend(telegram(text));
    }
    keys.sort_unstable();
    for (start, end) in keys {
        sink.offer(start, end);
    }
}

/// Keys without a prefix, from the rare character or name that they have within.
fn shaped(text: &ScannedText<'_>, word: ByteRun, keys: &mut Vec<(usize, usize)>) {
    let bytes = &text.bytes[word.start..word.end];
    for dot in memchr_iter(b'.', bytes).map(|at| word.start + at) {
        keys.extend(discord(text, word, dot));
        keys.extend(unsigned_jwt(text, word, dot));
    }
    for dash in memchr_iter(b'-', bytes).map(|at| word.start + at) {
        keys.extend(mailchimp(text, dash));
    }
    for name in NPMRC_NAME.find_iter(bytes).map(|at| word.start + at) {
        keys.extend(npmrc(text, name));
    }
}

fn key_end(text: &ScannedText<'_>, rule: &Rule, start: usize) -> Option<usize> {
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

/// Conditions that a length alone does not express.
fn is_shaped(rule: &Rule, body: &[u8]) -> bool {
    match rule.prefix {
        "SG." => body.len() >= 66 && body[22] == b'.' && !body[23..66].contains(&b'.'),
        "AP" => body[0].is_ascii_digit() || matches!(body[0], b'A'..=b'F'),
        _ => true,
    }
}

/// `12345678:` and 35 characters.
fn telegram<'a>(text: &'a ScannedText<'_>) -> impl Iterator<Item = (usize, usize)> + 'a {
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
fn npmrc(text: &ScannedText<'_>, name: usize) -> Option<(usize, usize)> {
    const REGISTRY: usize = 80;
    let registry = memmem::find(text.window_before(name, REGISTRY), b"//");
    let start = text.end_of(name + NPMRC.len(), |byte| byte == b' ');
    let end = text.end_of(start, is_url64);
    let named = is_word(text.before(name)) && registry.is_some();
    (named && end - start >= 10).then_some((start, end))
}

/// Three parts of 24 to 26, 6 and at least 27 characters.
fn discord(text: &ScannedText<'_>, word: ByteRun, dot: usize) -> Option<(usize, usize)> {
    let middle = text.bytes.get(dot + 1..dot + 7)?;
    if text.at(dot + 7) != b'.' || !middle.iter().all(|byte| is_url64(*byte)) {
        return None;
    }
    let begins = |length: &usize| {
        dot - word.start >= *length && matches!(text.bytes[dot - length], b'M' | b'N' | b'O')
    };
    let length = (24..=26).rev().find(begins)?;
    let first = &text.bytes[dot - length..dot];
    let end = text.end_of(dot + 8, is_url64);
    let is_key = first.iter().all(|byte| is_url64(*byte)) && end - (dot + 8) >= 27;
    is_key.then_some((dot - length, end))
}

/// Two parts that both begin with `eyJ`; three are the JWT family.
fn unsigned_jwt(text: &ScannedText<'_>, word: ByteRun, dot: usize) -> Option<(usize, usize)> {
    if !text.bytes[dot..].starts_with(b".eyJ") {
        return None;
    }
    let start = text.start_of(dot, word.start, is_url64);
    let end = text.end_of(dot + 1, is_url64);
    let is_token = text.bytes[start..].starts_with(b"eyJ")
        && dot - start >= 16
        && end - dot > 16
        && text.at(end) != b'.'
        && text.before(start) != b'.';
    is_token.then_some((start, end))
}

/// 32 hexadecimal digits, `-us` and a number.
fn mailchimp(text: &ScannedText<'_>, dash: usize) -> Option<(usize, usize)> {
    let start = dash.checked_sub(32).filter(|_| text.bytes[dash..].starts_with(b"-us"))?;
    let end = text.end_of(dash + 3, |byte| byte.is_ascii_digit());
    let digits =
        text.bytes[start..dash].iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let alone = !is_word(text.before(start)) && !is_word(text.at(end));
    (digits && alone && (1..=2).contains(&(end - dash - 3))).then_some((start, end))
}
