//! Personal data and secrets in a text: where they are, and the text without them.
//!
//! The first six families are those of the reference (e-mail, North American phone, SSN, JWT, bearer
//! token, payment card) with its rules. The others go beyond it, and win where they contain a match
//! of the six and more: the rest of a connection string is not left behind. `docs/scrubbing.md` has
//! a table of the families with precision and recall.
//!
//! Promises: a fixed number of passes over the text, each linear in it whatever it is; ranges are
//! byte ranges of the text as it was given, on character boundaries, in order and disjoint; scrubbing
//! twice gives what scrubbing once gives. For that the text is searched again as it looks after
//! scrubbing until nothing new is found: a number can end where another one began. A text with
//! characters that only look different (full-width digits, no-break spaces, percent-encoding) is
//! searched as it reads first, and then as it is.
//!
//! Deliberately absent: names, addresses, dates and whatever else needs to know who is meant; a
//! guess by entropy. The user's own patterns cost what the `regex` crate costs, which may be more
//! than linear where they match often, and are idempotent only if they look at nothing but their
//! match.

mod byte;
mod card;
mod context;
mod email;
mod email_unicode;
mod fold;
mod iban;
mod ip;
mod key;
mod key_rules;
mod pattern;
mod pem;
mod phone;
mod phone_international;
mod phone_national;
mod scheme;
mod secret;
mod sink;
mod slug;
mod ssn;
mod text;
mod token;
mod url;

pub use pattern::pattern;

use regex::Regex;
use thiserror::Error;

use fold::FoldedText;
use sink::Sink;
use text::{Text, has};

/// What stands where something was.
pub const MARKER: &str = "[REDACTED]";

/// What a bearer token becomes: the word stays, as the reference writes it.
const BEARER_MARKER: &str = "Bearer [REDACTED]";

/// A kind of personal data or secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// An e-mail address in ASCII.
    Email,
    /// A North American phone number with separators.
    Phone,
    /// A social security number, 3-2-4 with dashes, blanks or dots.
    Ssn,
    /// A JSON web token of three parts.
    Jwt,
    /// A token behind the word `Bearer`, in any case.
    Bearer,
    /// A payment card of 13 to 19 digits that passes Luhn's check.
    Card,
    /// A Maestro card of 12 digits.
    CardMaestro,
    /// A key of a cloud or service, known by its prefix or shape.
    ApiKey,
    /// A value assigned to the name of a secret (`password=`, `api_key: "..."`), or credentials behind
    /// the word of another scheme than `Bearer` (`Basic`, `Token`).
    Secret,
    /// A PEM block with a private key.
    PrivateKey,
    /// A URL with a password in it.
    ConnectionString,
    /// An international bank account number that passes its check.
    Iban,
    /// An IP address of version 4 or 6.
    IpAddress,
    /// A phone number with `+` or `00` and a country code.
    PhoneInternational,
    /// A phone number as it is written within a country.
    PhoneNational,
    /// An e-mail address with characters beyond ASCII.
    EmailUnicode,
    /// A pattern of the user.
    Custom,
}

crate::named!(Family {
    Email = "email",
    Phone = "phone",
    Ssn = "ssn",
    Jwt = "jwt",
    Bearer = "bearer",
    Card = "card",
    CardMaestro = "card_maestro",
    ApiKey = "api_key",
    Secret = "secret",
    PrivateKey = "private_key",
    ConnectionString = "connection_string",
    Iban = "iban",
    IpAddress = "ip_address",
    PhoneInternational = "phone_international",
    PhoneNational = "phone_national",
    EmailUnicode = "email_unicode",
    Custom = "custom",
});

/// Something in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub family: Family,
    /// First byte in the original text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// A text without what was found in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrubbed {
    /// The text with markers.
    pub text: String,
    /// What was found, in order.
    pub found: Vec<Found>,
}

impl Scrubbed {
    /// Whether the text is another one than before.
    pub fn changed(&self) -> bool {
        !self.found.is_empty()
    }
}

/// Why a scrubber cannot be made.
#[derive(Debug, Error)]
pub enum ScrubError {
    /// A pattern of the user is not a regular expression.
    #[error("the scrubbing pattern {pattern:?} is not a regular expression")]
    Pattern {
        pattern: String,
        /// What is wrong with it.
        #[source]
        source: Box<regex::Error>,
    },
}

/// Finds and removes personal data and secrets.
#[derive(Debug, Clone, Default)]
pub struct Scrubber {
    custom: Vec<Regex>,
}

/// How often a text is searched at most; two are usual, the second to see that nothing is left.
const MOST_ROUNDS: usize = 8;

type Find = fn(&Text<'_>, &mut Sink);

/// Every built-in family in the order in which they claim bytes: what can contain another comes
/// first, and the six of the reference keep their order among themselves.
const PASSES: &[(Family, u16, Find)] = &[
    (Family::PrivateKey, has::DASH, pem::find),
    (Family::ConnectionString, has::AT | has::COLON | has::SLASH, url::find),
    (Family::ApiKey, has::NOTHING, key::find),
    (Family::Secret, has::ASSIGN, secret::find),
    (Family::Secret, has::DASH, secret::find_flags),
    (Family::Secret, has::NOTHING, scheme::find),
    (Family::EmailUnicode, has::AT | has::BEYOND_ASCII, email_unicode::find),
    (Family::Iban, has::NUMBER, iban::find),
    (Family::Email, has::AT | has::DOT, email::find),
    (Family::PhoneInternational, has::NUMBER, phone_international::find),
    (Family::Phone, has::NUMBER, phone::find),
    (Family::Ssn, has::NUMBER, ssn::find),
    (Family::Jwt, has::DOT | has::J, token::find_jwt),
    (Family::Bearer, has::NOTHING, token::find_bearer),
    (Family::Card, has::NUMBER, card::find),
    (Family::Card, has::NUMBER, card::find_joined),
    (Family::CardMaestro, has::NUMBER, card::find_maestro),
    (Family::IpAddress, has::DIGITS | has::DOT, ip::find_v4),
    (Family::IpAddress, has::COLON | has::DIGIT, ip::find_v6),
    (Family::PhoneNational, has::NUMBER, phone_national::find),
];

/// The families that a slug is scrubbed of.
const SLUG_FAMILIES: &[Family] =
    &[Family::EmailUnicode, Family::Email, Family::PhoneInternational, Family::Phone];

impl Scrubber {
    /// A scrubber that also removes what the user's own regular expressions match.
    pub fn new(extra_patterns: &[String]) -> Result<Self, ScrubError> {
        let compiled = extra_patterns.iter().map(|pattern| {
            Regex::new(pattern).map_err(|error| ScrubError::Pattern {
                pattern: pattern.clone(),
                source: Box::new(error),
            })
        });
        Ok(Self { custom: compiled.collect::<Result<_, _>>()? })
    }

    /// Where something is, in order.
    pub fn find(&self, text: &str) -> Vec<Found> {
        let mut found = self.find_round(text);
        for _ in 1..MOST_ROUNDS {
            if found.is_empty() {
                break;
            }
            let more = self.find_round(&marked(text, &found));
            if more.is_empty() {
                break;
            }
            found = with_more(found, &more);
        }
        found
    }

    /// What one look at a text finds: in the folded text if it folds to another one and something is
    /// there, or else in the text as it is.
    fn find_round(&self, text: &str) -> Vec<Found> {
        let text = Text::new(text);
        if let Some(folded) = FoldedText::new(&text) {
            let mut sink = Sink::new(&text);
            self.find_custom(&text, &mut sink);
            let found = sink.finish();
            let found = if found.is_empty() { find_folded(&folded) } else { found };
            if !found.is_empty() {
                return found;
            }
        }
        let mut sink = Sink::new(&text);
        self.find_custom(&text, &mut sink);
        find_families(&text, &mut sink);
        sink.finish()
    }

    /// What the user's own patterns match, in the text as it was given.
    fn find_custom(&self, text: &Text<'_>, sink: &mut Sink) {
        for pattern in &self.custom {
            sink.begin(Family::Custom);
            for found in pattern.find_iter(text.str) {
                sink.offer(found.start(), found.end());
            }
        }
    }

    /// The text with markers in the place of what was found.
    pub fn scrub(&self, text: &str) -> Scrubbed {
        let found = self.find(text);
        Scrubbed { text: marked(text, &found), found }
    }

    /// A slug without the e-mail address or phone number it carries.
    ///
    /// Hyphens may stand for what a slug cannot hold: `ada-at-example-com` is an address too. Digits
    /// between hyphens are a number of anything unless they can be dialled.
    pub fn scrub_slug(&self, slug: &str) -> String {
        let text = Text::new(slug);
        let mut sink = Sink::new(&text);
        sink.begin(Family::Email);
        slug::find_email(&text, &mut sink);
        for (family, needs, find) in PASSES {
            if SLUG_FAMILIES.contains(family) && text.has(*needs) {
                sink.begin(*family);
                find(&text, &mut sink);
            }
        }
        let mut found = sink.finish();
        found.retain(|found| slug::is_personal(found.family, &slug[found.start..found.end]));
        marked(slug, &found)
    }

    /// A tag, a type or a source without personal data: scrubbed like a query, and like a slug.
    pub(crate) fn scrub_name(&self, name: &str) -> String {
        self.scrub_slug(&self.scrub(name).text)
    }
}

fn find_families(text: &Text<'_>, sink: &mut Sink) {
    for (family, needs, find) in PASSES {
        if text.has(*needs) {
            sink.begin(*family);
            find(text, sink);
        }
    }
}

/// What is found in a folded text, as ranges of the original.
fn find_folded(folded: &FoldedText) -> Vec<Found> {
    let text = Text::new(&folded.text);
    let mut sink = Sink::new(&text);
    find_families(&text, &mut sink);
    let original = |found: Found| {
        let range = folded.original(found.start..found.end);
        Found { family: found.family, start: range.start, end: range.end }
    };
    sink.finish().into_iter().map(original).collect()
}

/// What a found range becomes.
fn marker(family: Family) -> &'static str {
    if family == Family::Bearer { BEARER_MARKER } else { MARKER }
}

/// What was found, and what was found in the text with markers, as ranges of the original.
fn with_more(found: Vec<Found>, more: &[Found]) -> Vec<Found> {
    let mut all = Vec::with_capacity(found.len() + more.len());
    let mut more = more.iter().peekable();
    // Invariant: nothing new overlaps a marker. The text with markers up to `marked` is the original up to `original`.
    let (mut original, mut marked) = (0, 0);
    for known in found {
        let here = marked + (known.start - original);
        while let Some(new) = more.next_if(|new| new.end <= here) {
            all.push(moved(*new, marked, original));
        }
        (original, marked) = (known.end, here + marker(known.family).len());
        all.push(known);
    }
    all.extend(more.map(|new| moved(*new, marked, original)));
    all
}

fn moved(found: Found, from: usize, to: usize) -> Found {
    Found { family: found.family, start: found.start - from + to, end: found.end - from + to }
}

fn marked(text: &str, found: &[Found]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for found in found {
        out.push_str(&text[from..found.start]);
        out.push_str(marker(found.family));
        from = found.end;
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes looked at per byte of the text, whatever it is: measured at most 8 in one round.
    const MOST_STEPS: usize = 16;

    #[test]
    fn no_text_is_looked_at_more_than_a_fixed_number_of_times() {
        for piece in [
            "1",
            "1 ",
            "1-",
            "12 34-",
            "4111 ",
            "0490 75 ",
            "+1 ",
            "(1)",
            "a",
            "a@",
            "a@b.",
            "@",
            "a.b",
            "ü@ü.",
            "eyJ",
            "eyJ.",
            "eyJ-",
            "eyJaaaaa.",
            ".eyJaaaaaaaaaaaaaaaaa",
            "bearer ",
            "sk-",
            "ghp_",
            "xoxb-",
            "-us",
            "token=",
            "token:",
            "password=a1",
            "://",
            "a://b:c@",
            "-----BEGIN ",
            "-----BEGIN PRIVATE KEY-----",
            "GB82 ",
            "1.",
            "1.1.1.1 ",
            "a:",
            "::",
            "1:",
            "/:_authToken=",
            "[REDACTED]",
            "a@b.co ",
            "555-123-4567 ",
            "x 1",
            "call 12 34 56 ",
            "Basic ",
            "Basic YTpi",
            "TOKEN ",
            "authorization: ",
            "authorization: x ",
            "authorization=",
            "token /",
            "SKU-",
            "password=a",
            "part no no no ",
            "123 45 6789 ",
            "4111.",
            "4111.1111.1111.1111.",
            "4111/",
            "4111_1111_1111_1111_",
            "--password ",
            "--password a",
            "password='a ",
            "bearer: ",
        ] {
            let text = piece.repeat(65_536 / piece.len());
            let text = Text::new(&text);
            let mut sink = Sink::new(&text);
            find_families(&text, &mut sink);
            let steps = text.steps.get() / text.bytes.len();
            assert!(steps <= MOST_STEPS, "{piece:?}: {steps} steps per byte");
        }
    }
}
