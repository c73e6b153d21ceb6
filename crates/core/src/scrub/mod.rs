//! Personal data and secrets in a text: where they are, and the text without them.
//!
//! The first six families are those of the reference (e-mail, North American phone, SSN, JWT, bearer
//! token, payment card) with its rules. The others go beyond it, and win where they contain a match
//! of the six and more: the rest of a connection string is not left behind. `docs/scrubbing.md` has
//! a table of the families with precision and recall.
//!
//! Promises: a fixed number of passes over the text, each linear in any text; ranges are byte
//! ranges of the text as it was given, on character boundaries, in order and disjoint; scrubbing
//! twice gives what scrubbing once gives. For that the text is searched again as it looks after
//! scrubbing until nothing new is found: a number can end where another one began. A text with
//! characters that only look different (full-width digits, no-break spaces, percent-encoding) is
//! searched as it reads first, and then as it is.
//!
//! Deliberately absent: names, addresses, dates and all other data that identifies a person only in
//! context; a guess by entropy. The user's own patterns cost what the `regex` crate costs, which
//! may be more than linear where they match often, and are idempotent only if they look at nothing
//! but their match.

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
use text::{ScannedText, has};

/// The marker that replaces a match.
pub const MARKER: &str = "[REDACTED]";

/// The marker that replaces a bearer token: the word stays, as the reference writes it.
const BEARER_MARKER: &str = "Bearer [REDACTED]";

/// A kind of personal data or secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScrubFamily {
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
    /// A phone number in national notation.
    PhoneNational,
    /// An e-mail address with characters beyond ASCII.
    EmailUnicode,
    /// A pattern of the user.
    Custom,
}

crate::named!(ScrubFamily {
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
pub struct SensitiveMatch {
    pub family: ScrubFamily,
    /// First byte in the original text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// A text without its sensitive parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScrubbedText {
    /// The text with markers.
    pub text: String,
    /// The matches, in order.
    pub found: Vec<SensitiveMatch>,
}

impl ScrubbedText {
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
        /// The error of the regex.
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

type FindFn = fn(&ScannedText<'_>, &mut Sink);

/// Every built-in family in the order in which they claim bytes: what can contain another comes
/// first, and the six of the reference keep their order among themselves.
const PASSES: &[(ScrubFamily, u16, FindFn)] = &[
    (ScrubFamily::PrivateKey, has::DASH, pem::find),
    (ScrubFamily::ConnectionString, has::AT | has::COLON | has::SLASH, url::find),
    (ScrubFamily::ApiKey, has::NOTHING, key::find),
    (ScrubFamily::Secret, has::ASSIGN, secret::find),
    (ScrubFamily::Secret, has::DASH, secret::find_flags),
    (ScrubFamily::Secret, has::NOTHING, scheme::find),
    (ScrubFamily::EmailUnicode, has::AT | has::BEYOND_ASCII, email_unicode::find),
    (ScrubFamily::Iban, has::NUMBER, iban::find),
    (ScrubFamily::Email, has::AT | has::DOT, email::find),
    (ScrubFamily::PhoneInternational, has::NUMBER, phone_international::find),
    (ScrubFamily::Phone, has::NUMBER, phone::find),
    (ScrubFamily::Ssn, has::NUMBER, ssn::find),
    (ScrubFamily::Jwt, has::DOT | has::J, token::find_jwt),
    (ScrubFamily::Bearer, has::NOTHING, token::find_bearer),
    (ScrubFamily::Card, has::NUMBER, card::find),
    (ScrubFamily::Card, has::NUMBER, card::find_joined),
    (ScrubFamily::CardMaestro, has::NUMBER, card::find_maestro),
    (ScrubFamily::IpAddress, has::DIGITS | has::DOT, ip::find_v4),
    (ScrubFamily::IpAddress, has::COLON | has::DIGIT, ip::find_v6),
    (ScrubFamily::PhoneNational, has::NUMBER, phone_national::find),
];

/// The families that a slug is scrubbed of.
const SLUG_FAMILIES: &[ScrubFamily] = &[
    ScrubFamily::EmailUnicode,
    ScrubFamily::Email,
    ScrubFamily::PhoneInternational,
    ScrubFamily::Phone,
];

impl Scrubber {
    /// A scrubber that also removes matches of the user's own regular expressions.
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
    pub fn find(&self, text: &str) -> Vec<SensitiveMatch> {
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

    /// The matches of one pass: in the folded text if it differs and has any, otherwise in the text
    /// itself.
    fn find_round(&self, text: &str) -> Vec<SensitiveMatch> {
        let text = ScannedText::new(text);
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

    /// The matches of the user's own patterns, in the original text.
    fn find_custom(&self, text: &ScannedText<'_>, sink: &mut Sink) {
        for pattern in &self.custom {
            sink.begin(ScrubFamily::Custom);
            for found in pattern.find_iter(text.str) {
                sink.offer(found.start(), found.end());
            }
        }
    }

    /// The text with markers in place of the matches.
    pub fn scrub(&self, text: &str) -> ScrubbedText {
        let found = self.find(text);
        ScrubbedText { text: marked(text, &found), found }
    }

    /// A slug without the e-mail address or phone number it carries.
    ///
    /// Hyphens may stand for what a slug cannot hold: `ada-at-example-com` is an address too. Digits
    /// between hyphens are a number of anything unless they can be dialled.
    pub fn scrub_slug(&self, slug: &str) -> String {
        let text = ScannedText::new(slug);
        let mut sink = Sink::new(&text);
        sink.begin(ScrubFamily::Email);
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

fn find_families(text: &ScannedText<'_>, sink: &mut Sink) {
    for (family, needs, find) in PASSES {
        if text.has(*needs) {
            sink.begin(*family);
            find(text, sink);
        }
    }
}

/// The matches in a folded text, as ranges of the original.
fn find_folded(folded: &FoldedText) -> Vec<SensitiveMatch> {
    let text = ScannedText::new(&folded.text);
    let mut sink = Sink::new(&text);
    find_families(&text, &mut sink);
    let original = |found: SensitiveMatch| {
        let range = folded.original(found.start..found.end);
        SensitiveMatch { family: found.family, start: range.start, end: range.end }
    };
    sink.finish().into_iter().map(original).collect()
}

/// The replacement of a matched range.
fn marker(family: ScrubFamily) -> &'static str {
    if family == ScrubFamily::Bearer { BEARER_MARKER } else { MARKER }
}

/// The earlier matches and those in the text with markers, as ranges of the original.
fn with_more(found: Vec<SensitiveMatch>, more: &[SensitiveMatch]) -> Vec<SensitiveMatch> {
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

fn moved(found: SensitiveMatch, from: usize, to: usize) -> SensitiveMatch {
    SensitiveMatch {
        family: found.family,
        start: found.start - from + to,
        end: found.end - from + to,
    }
}

fn marked(text: &str, found: &[SensitiveMatch]) -> String {
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
            let text = ScannedText::new(&text);
            let mut sink = Sink::new(&text);
            find_families(&text, &mut sink);
            let steps = text.steps.get() / text.bytes.len();
            assert!(steps <= MOST_STEPS, "{piece:?}: {steps} steps per byte");
        }
    }
}
