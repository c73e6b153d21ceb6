//! Generated variants of personal data and secrets, and of what only looks like them.
//!
//! A seed draws the value, how it is written (separators, width of digits, case, percent-encoding, an
//! invisible character) and the sentence around it. Half of the samples of a kind must be scrubbed
//! whole; the other half must be left alone.

use std::ops::Range;

use fastrand::Rng;
use gbrain_core::scrub::Scrubber;

use super::labelled::Score;

/// A text, and what must be scrubbed in it; nothing if it must be left alone.
struct Sample {
    text: String,
    secret: Option<Range<usize>>,
}

/// Makes a value that must be scrubbed, or one that must be left alone.
type Make = fn(&mut Rng) -> String;

/// The kinds, with what is scrubbed and what is left alone.
const KINDS: &[(&str, Make, Make)] = &[
    ("email", email, repository),
    ("phone", phone, count_or_code),
    ("ssn", ssn, ssn_of_a_thing),
    ("card", card, no_card),
    ("bearer", bearer, bearer_in_prose),
    ("basic", basic, basic_in_prose),
    ("token", token, token_in_prose),
    ("password", password, no_password),
];

/// The separators between groups of digits.
const SEPARATORS: [&str; 10] =
    [" ", "-", ".", "\u{a0}", "\u{202f}", "\u{2009}", "\u{2013}", "\u{2011}", "\u{2012}", "  "];
/// Characters that cannot be seen.
const HIDDEN: [&str; 5] = ["\u{200b}", "\u{200d}", "\u{2060}", "\u{feff}", "\u{ad}"];

const BEFORE: [&str; 6] = ["", "see ", "what about ", "(", "notes on ", "über "];
const AFTER: [&str; 6] = ["", "?", " please", ", thanks", ")", " – merci"];

/// Precision and recall of every kind, on as many samples of both sides.
pub(crate) fn scores(seed: u64, samples: usize) -> Vec<Score> {
    let scrubber = Scrubber::default();
    let scored = KINDS.iter().map(|(kind, scrubbed, kept)| {
        let mut score = Score::new("variants", *kind);
        let mut rng = Rng::with_seed(seed);
        for _ in 0..samples {
            judge(&scrubber, &surrounded(&mut rng, *scrubbed, true), &mut score);
            judge(&scrubber, &surrounded(&mut rng, *kept, false), &mut score);
        }
        score
    });
    scored.collect()
}

/// A value counts as found if every letter and digit of it is claimed.
fn judge(scrubber: &Scrubber, sample: &Sample, score: &mut Score) {
    let found = scrubber.find(&sample.text);
    if let Some(secret) = &sample.secret {
        let is_claimed =
            |at: usize| found.iter().any(|found| (found.start..found.end).contains(&at));
        let mut places = sample.text[secret.clone()].char_indices();
        let is_whole = places.all(|(at, c)| !c.is_alphanumeric() || is_claimed(secret.start + at));
        score.gold += 1;
        score.found += usize::from(is_whole);
        if !is_whole {
            score.missed.push(sample.text.clone());
        }
    }
    for found in &found {
        let is_right = sample
            .secret
            .as_ref()
            .is_some_and(|secret| found.start < secret.end && secret.start < found.end);
        score.claims += 1;
        score.right += usize::from(is_right);
        if !is_right {
            score.wrong.push(sample.text.clone());
        }
    }
}

/// A value in a sentence. What names the value (`password=`) ends with a `|`.
fn surrounded(rng: &mut Rng, make: Make, is_secret: bool) -> Sample {
    let made = make(rng);
    let (name, value) = made.split_once('|').unwrap_or(("", &made));
    let before = format!("{}{name}", one(rng, &BEFORE));
    let secret = before.len()..before.len() + value.len();
    let text = format!("{before}{value}{}", one(rng, &AFTER));
    Sample { text, secret: is_secret.then_some(secret) }
}

fn one<'a>(rng: &mut Rng, from: &[&'a str]) -> &'a str {
    from[rng.usize(..from.len())]
}

fn digits(rng: &mut Rng, count: usize) -> String {
    (0..count).map(|_| rng.digit(10)).collect()
}

fn letters(rng: &mut Rng, lengths: Range<usize>) -> String {
    let length = rng.usize(lengths);
    (0..length).map(|_| rng.lowercase()).collect()
}

/// The same text in full-width characters, one time in four.
fn maybe_wide(rng: &mut Rng, text: &str) -> String {
    let is_wide = rng.u8(..4) == 0;
    let wide = |c: char| match c {
        '0'..='9' if is_wide => char::from_u32(c as u32 - '0' as u32 + 0xff10).unwrap_or(c),
        _ => c,
    };
    text.chars().map(wide).collect()
}

/// The same text with an invisible character between two others, one time in four.
fn maybe_hidden(rng: &mut Rng, text: &str) -> String {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    if rng.u8(..4) > 0 || places.is_empty() {
        return text.to_owned();
    }
    let at = places[rng.usize(..places.len())];
    format!("{}{}{}", &text[..at], one(rng, &HIDDEN), &text[at..])
}

fn any_case(rng: &mut Rng, word: &str) -> String {
    match rng.u8(..4) {
        0 => word.to_lowercase(),
        1 => word.to_uppercase(),
        2 => word.to_owned(),
        _ => word.chars().map(|c| if rng.bool() { c.to_ascii_uppercase() } else { c }).collect(),
    }
}

fn number(rng: &mut Rng, groups: &[String], separators: &[&str]) -> String {
    let separator = one(rng, separators);
    let plain = groups.join(separator);
    let wide = maybe_wide(rng, &plain);
    maybe_hidden(rng, &wide)
}

fn email(rng: &mut Rng) -> String {
    let top = one(rng, &["com", "org", "co.uk", "io"]);
    let plain =
        format!("{}.{}@{}.{top}", letters(rng, 2..8), letters(rng, 2..8), letters(rng, 4..9));
    match rng.u8(..4) {
        0 => format!("to=|{}", plain.replace('@', "%40")),
        1 => format!("to=|{}", plain.replace('@', "%40").replace('.', "%2E")),
        2 => plain.chars().map(|c| char::from_u32(c as u32 + 0xfee0).unwrap_or(c)).collect(),
        _ => maybe_hidden(rng, &plain),
    }
}

fn repository(rng: &mut Rng) -> String {
    let host = match rng.u8(..3) {
        0 => format!("git.{}.com", letters(rng, 4..9)),
        _ => one(rng, &["github.com", "gitlab.com"]).to_owned(),
    };
    let (owner, name) = (letters(rng, 3..9), letters(rng, 3..12));
    match rng.u8(..3) {
        0 => format!("ssh://git@{host}/{owner}/{name}"),
        1 => format!("git clone git@{host}:{owner}/{name}.git"),
        _ => format!("git@{host}:{owner}/{name}"),
    }
}

/// Groups of three, three and four digits as North American numbers have them.
fn phone_groups(rng: &mut Rng) -> [String; 3] {
    let area = format!("{}{}", rng.u8(2..10), digits(rng, 2));
    let exchange = format!("{}{}", rng.u8(2..10), digits(rng, 2));
    [area, exchange, digits(rng, 4)]
}

fn phone(rng: &mut Rng) -> String {
    let groups = phone_groups(rng);
    let number = number(rng, &groups, &SEPARATORS);
    match rng.u8(..3) {
        0 => format!("+1{}{number}", one(rng, &SEPARATORS[..6])),
        1 => format!("call |{number}"),
        _ => number,
    }
}

fn count_or_code(rng: &mut Rng) -> String {
    let groups = phone_groups(rng);
    if rng.bool() {
        let counted = one(rng, &["rows", "records", "bytes", "users", "tokens"]);
        let blanks = [" ", "\u{a0}", "\u{202f}", "\u{2009}"];
        return format!("{} {counted}", number(rng, &groups, &blanks));
    }
    code(rng, &groups)
}

fn code(rng: &mut Rng, groups: &[String]) -> String {
    let code = groups.join(one(rng, &["-", ".", "\u{2011}"]));
    match rng.u8(..4) {
        0 => format!("SKU {code}"),
        1 => format!("sku: {code}"),
        2 => format!("{}-{}", one(rng, &["SKU", "AB", "PN", "XR2"]), groups.join("-")),
        _ => format!("part number {code}"),
    }
}

fn ssn(rng: &mut Rng) -> String {
    let area = rng.u16(1..666);
    let groups = [
        format!("{area:03}"),
        format!("{:02}", rng.u8(1..100)),
        format!("{:04}", rng.u16(1..10_000)),
    ];
    number(rng, &groups, &SEPARATORS)
}

fn ssn_of_a_thing(rng: &mut Rng) -> String {
    let groups = [digits(rng, 3), digits(rng, 2), digits(rng, 4)];
    match rng.u8(..3) {
        0 => format!("{} rows", groups.join(" ")),
        _ => code(rng, &groups),
    }
}

fn luhn_sum(digits: &str) -> u32 {
    let doubled = |digit: u32| digit * 2 / 10 + digit * 2 % 10;
    let digits = digits.bytes().rev().map(|byte| u32::from(byte - b'0')).enumerate();
    digits.map(|(at, digit)| if at % 2 == 0 { digit } else { doubled(digit) }).sum()
}

/// Four groups of four digits, with a check digit that is right or wrong by so much.
fn card_by(rng: &mut Rng, off: u32) -> String {
    let body = format!("{}{}", rng.u8(4..6), digits(rng, 14));
    let check = (10 - luhn_sum(&format!("{body}0")) % 10 + off) % 10;
    let number = format!("{body}{check}");
    let groups: Vec<String> = (0..4).map(|at| number[at * 4..at * 4 + 4].to_owned()).collect();
    self::number(rng, &groups, &SEPARATORS)
}

fn card(rng: &mut Rng) -> String {
    card_by(rng, 0)
}

fn no_card(rng: &mut Rng) -> String {
    let off = rng.u32(1..10);
    card_by(rng, off)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let bits = part.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - part.len()));
        for at in 0..=part.len() {
            text.push(char::from(DIGITS[(bits >> (18 - 6 * at)) as usize & 63]));
        }
        text.push_str(&"=="[..3 - part.len()]);
    }
    text
}

fn scheme(rng: &mut Rng, word: &str, credentials: &str) -> String {
    let header = one(rng, &["", "Authorization: ", "authorization:", "AUTHORIZATION: "]);
    let blank = one(rng, &[" ", "  ", "\u{a0}"]);
    format!("{header}{}{blank}|{credentials}", any_case(rng, word))
}

fn bearer(rng: &mut Rng) -> String {
    let token: String = (0..rng.usize(12..40)).map(|_| rng.alphanumeric()).collect();
    scheme(rng, "Bearer", &token)
}

fn basic(rng: &mut Rng) -> String {
    let (user, password) = (letters(rng, 3..9), letters(rng, 5..16));
    scheme(rng, "Basic", &base64(format!("{user}:{password}").as_bytes()))
}

fn token(rng: &mut Rng) -> String {
    let token: String = (0..40).map(|_| rng.digit(16)).collect();
    scheme(rng, "Token", &token)
}

fn prose(rng: &mut Rng, word: &str) -> String {
    let next = [
        "authentication scheme",
        "authorization",
        "certificates",
        "credentials of a user",
        "implementation",
        "tokenization",
        "understanding",
        "representation",
        "infrastructure",
        "responsibilities",
    ];
    format!("{} {}", any_case(rng, word), one(rng, &next))
}

fn bearer_in_prose(rng: &mut Rng) -> String {
    prose(rng, "bearer")
}

fn basic_in_prose(rng: &mut Rng) -> String {
    prose(rng, "basic")
}

fn token_in_prose(rng: &mut Rng) -> String {
    prose(rng, "token")
}

fn password(rng: &mut Rng) -> String {
    let name = one(rng, &["password", "db_password", "passwd", "pwd"]);
    let name = any_case(rng, name);
    let value = letters(rng, 6..15);
    match rng.u8(..3) {
        0 => format!("{name}=|{value}"),
        1 => format!("?user=ada&{name}=|{value}"),
        _ => format!("{name}=\"|{value}\""),
    }
}

fn no_password(rng: &mut Rng) -> String {
    let texts = [
        "password: the usual one",
        "password=$DB_PASSWORD",
        "password=required",
        "password=xxxxxxxx",
        "password=os.environ[\"DB\"]",
        "password = getpass()",
        "the password of a page",
        "password=your_password_here",
    ];
    one(rng, &texts).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lowest precision and recall of a kind, just below what was reached.
    const FLOOR: f64 = 0.99;

    #[test]
    fn variants_are_found_and_lookalikes_are_kept() {
        for score in scores(1, 200) {
            assert!(score.recall().is_some_and(|recall| recall >= FLOOR), "{score:#?}");
            assert!(score.precision().is_some_and(|precision| precision >= FLOOR), "{score:#?}");
        }
    }
}
