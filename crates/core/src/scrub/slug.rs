//! Personal data in the form that slugs give it: `ada-at-example-com`, `415-555-0132`.
//!
//! Most slugs that look like that are none: `what-is-at-stake-in-the-eu`, `tickets/123-456-7890`. An
//! address has a name, `at` and a domain, and no word in it that only a sentence has; a phone number can
//! be dialled.

use super::ScrubFamily;
use super::sink::Sink;
use super::text::ScannedText;

const AT: &str = "-at-";

/// Top levels that are common enough to make a name an address.
const TOP_LEVELS: [&str; 12] =
    ["com", "org", "net", "edu", "gov", "io", "co", "de", "fr", "uk", "eu", "info"];

/// Words of sentences: no domain has one of them as a label, no mailbox is called one.
const SENTENCE_WORDS: [&str; 44] = [
    "a", "about", "an", "and", "are", "arrive", "be", "but", "by", "can", "do", "does", "for",
    "from", "good", "has", "have", "how", "in", "is", "it", "its", "look", "looking", "meet",
    "not", "of", "on", "or", "our", "stake", "that", "the", "their", "this", "to", "was", "we",
    "what", "when", "where", "who", "why", "with",
];

/// Labels that a domain has at most: `mail-example-co-uk`.
const MOST_LABELS: usize = 4;
/// Words that a mailbox has at most: `ada-b-lovelace`.
const MOST_WORDS: usize = 3;

pub(super) fn find_email(text: &ScannedText<'_>, sink: &mut Sink) {
    let mut start = 0;
    for segment in text.str.split('/') {
        if is_address(segment) {
            sink.offer(start, start + segment.len());
        }
        start += segment.len() + 1;
    }
}

fn is_address(segment: &str) -> bool {
    let Some((local, domain)) = segment.rsplit_once(AT) else { return false };
    let words: Vec<&str> = local.split(['-', '.', '_', '+']).collect();
    let labels: Vec<&str> = domain.split(['-', '.']).collect();
    let is_name = |word: &&str| !word.is_empty() && !SENTENCE_WORDS.contains(word);
    let ends_well = labels.last().is_some_and(|top| TOP_LEVELS.contains(top));
    ends_well
        && (2..=MOST_LABELS).contains(&labels.len())
        && words.len() <= MOST_WORDS
        && words.iter().chain(&labels).all(is_name)
}

/// Whether what a family found in a slug is more than a number between hyphens.
pub(super) fn is_personal(family: ScrubFamily, found: &str) -> bool {
    match family {
        ScrubFamily::Phone => is_dialled(found),
        // `0049-2024-000123` is an invoice.
        ScrubFamily::PhoneInternational => found.contains('+'),
        _ => true,
    }
}

/// Whether a North American number can be dialled: area and exchange begin with 2 to 9, and neither is a
/// service code such as 911.
fn is_dialled(found: &str) -> bool {
    let digits: Vec<u8> = found.bytes().filter(u8::is_ascii_digit).collect();
    let Some(digits) = digits.len().checked_sub(10).map(|from| &digits[from..]) else {
        return true;
    };
    let can_begin = |code: &[u8]| code[0] >= b'2' && code[1..] != *b"11";
    can_begin(&digits[..3]) && can_begin(&digits[3..6])
}
