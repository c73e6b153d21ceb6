//! Recognises the kind of a question: deterministic, from its words alone.

use crate::named;

use super::relation::{self, RelationQuestion};

named! {
    /// The kind of a question.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum IntentKind {
        /// Names one thing by its identifier: `#123`, `ABC-12`, `repo:path`.
        Identifier = "identifier",
        /// Asks for the other end of an edge, such as an owner or a dependency.
        Relational = "relational",
        /// Asks for a date, or for recent events.
        Temporal = "temporal",
        /// Asks about something that happened.
        Event = "event",
        /// Asks for a landscape or a definition.
        Concept = "concept",
        /// Asks about one person, company or thing.
        Entity = "entity",
        General = "general",
    }
}

named! {
    /// Whether recent pages are to be preferred.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Recency {
        Off = "off",
        On = "on",
    }
}

/// The recognised intent of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    pub kind: IntentKind,
    /// The relation it asks for, when it is relational.
    pub relation: Option<RelationQuestion>,
    /// Whether the question asks for recent events.
    pub recency: Recency,
}

/// Classifies a question. The first rule that matches wins.
pub fn classify(query: &str) -> Intent {
    let words = words_of(query);
    let recency = if asks_for_recent(&words) { Recency::On } else { Recency::Off };
    if is_identifier(query.trim()) {
        return Intent { kind: IntentKind::Identifier, relation: None, recency: Recency::Off };
    }
    if let Some(relation) = relation::parse(query) {
        return Intent { kind: IntentKind::Relational, relation: Some(relation), recency };
    }
    let kind = if recency == Recency::On || is_temporal(query, &words) {
        IntentKind::Temporal
    } else if is_event(&words) {
        IntentKind::Event
    } else if is_concept(query, &words) {
        IntentKind::Concept
    } else if is_entity(&words) {
        IntentKind::Entity
    } else {
        IntentKind::General
    };
    Intent { kind, relation: None, recency }
}

/// Whether a whole query is one identifier: no blanks, and a digit or path where words have none.
pub fn is_identifier(query: &str) -> bool {
    if query.is_empty() || query.len() > 200 || query.chars().any(char::is_whitespace) {
        return false;
    }
    let numbered = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if query.strip_prefix('#').is_some_and(numbered) {
        return true;
    }
    if let Some((project, number)) = query.rsplit_once('-') {
        let is_project = project.len() >= 2
            && project.starts_with(|c: char| c.is_ascii_uppercase())
            && project.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        if is_project && numbered(number) {
            return true;
        }
    }
    match query.split_once(':') {
        Some((repo, path)) => !repo.is_empty() && !path.is_empty() && !path.starts_with("//"),
        None => false,
    }
}

fn words_of(query: &str) -> Vec<String> {
    let lower = query.to_lowercase().replace(['\u{2019}', '\u{2018}'], "'");
    lower
        .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn has_any(words: &[String], wanted: &[&str]) -> bool {
    words.iter().any(|word| wanted.contains(&word.as_str()))
}

fn has_phrase(words: &[String], phrase: &[&str]) -> bool {
    words.windows(phrase.len()).any(|window| window.iter().zip(phrase).all(|(a, b)| a == b))
}

fn starts_with(words: &[String], phrase: &[&str]) -> bool {
    words.len() >= phrase.len() && words.iter().zip(phrase).all(|(a, b)| a == b)
}

fn asks_for_recent(words: &[String]) -> bool {
    const PERIODS: [&str; 5] = ["day", "week", "month", "quarter", "year"];
    let this_period = words.windows(2).any(|pair| {
        matches!(pair[0].as_str(), "this" | "last" | "past") && PERIODS.contains(&pair[1].as_str())
    });
    this_period
        || has_any(
            words,
            &["latest", "recent", "recently", "newest", "today", "yesterday", "currently"],
        )
        || has_phrase(words, &["what's", "new"])
        || has_phrase(words, &["right", "now"])
        || has_phrase(words, &["catch", "me", "up"])
        || has_phrase(words, &["status", "of"])
        || has_phrase(words, &["progress", "on"])
}

fn is_temporal(query: &str, words: &[String]) -> bool {
    const LAST: [&str; 8] = ["met", "meeting", "call", "talked", "spoke", "time", "saw", "update"];
    starts_with(words, &["when"])
        || has_any(words, &["history", "timeline", "chronology"])
        || has_phrase(words, &["how", "long", "ago"])
        || has_phrase(words, &["since", "when"])
        || words.windows(2).any(|pair| pair[0] == "last" && LAST.contains(&pair[1].as_str()))
        || has_year_and_month(query)
}

/// A `YYYY-MM` or `YYYY/MM` token.
fn has_year_and_month(query: &str) -> bool {
    query.split(|c: char| !c.is_ascii_digit() && c != '-' && c != '/').any(|token| {
        let bytes = token.as_bytes();
        bytes.len() >= 7
            && bytes[..4].iter().all(u8::is_ascii_digit)
            && matches!(bytes[4], b'-' | b'/')
            && bytes[5..7].iter().all(u8::is_ascii_digit)
            && matches!(bytes[0], b'1' | b'2')
    })
}

fn is_event(words: &[String]) -> bool {
    const STEMS: [&str; 7] = ["announc", "launch", "acqui", "merg", "fundrais", "happen", "outage"];
    words.iter().any(|word| STEMS.iter().any(|stem| word.starts_with(stem)))
        || has_any(words, &["news", "ipo", "raised", "funding", "incident"])
}

fn is_concept(query: &str, words: &[String]) -> bool {
    if words.len() < 3 || query.contains('"') || has_inner_capital(query) {
        return false;
    }
    let landscape = starts_with(words, &["list", "all"])
        || starts_with(words, &["find", "all"])
        || starts_with(words, &["show", "all"])
        || has_phrase(words, &["landscape", "of"])
        || has_phrase(words, &["everything", "about"]);
    let definition = has_phrase(words, &["concept", "of"])
        || has_phrase(words, &["ways", "to"])
        || has_phrase(words, &["how", "to"])
        || has_phrase(words, &["ideas", "on"])
        || has_phrase(words, &["thoughts", "on"])
        || (starts_with(words, &["what", "is"]) && words.len() >= 4)
        || (starts_with(words, &["what", "are"]) && words.len() >= 4);
    landscape || definition
}

/// A capital letter that does not start the query: a name, usually.
fn has_inner_capital(query: &str) -> bool {
    query.split_whitespace().skip(1).any(|word| word.starts_with(char::is_uppercase) && word != "I")
}

fn is_entity(words: &[String]) -> bool {
    starts_with(words, &["who", "is"])
        || starts_with(words, &["who's"])
        || starts_with(words, &["what", "is"])
        || starts_with(words, &["what", "does"])
        || starts_with(words, &["describe"])
        || starts_with(words, &["summarize"])
        || starts_with(words, &["summarise"])
        || has_phrase(words, &["tell", "me", "about"])
        || has_phrase(words, &["overview", "of"])
        || has_phrase(words, &["background", "on"])
        || has_phrase(words, &["know", "about"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, kind: IntentKind) {
        assert_eq!(classify(query).kind, kind, "{query}");
    }

    #[test]
    fn kinds() {
        check("#482", IntentKind::Identifier);
        check("HRB-112", IntentKind::Identifier);
        check("tide-router:src/plan.rs", IntentKind::Identifier);
        check("https://example.org/x", IntentKind::General);
        check("well-known", IntentKind::General);
        check("Who owns the berth planner?", IntentKind::Relational);
        check("when did we ship the planner", IntentKind::Temporal);
        check("latest on pricing", IntentKind::Temporal);
        check("meeting 2026-03", IntentKind::Temporal);
        check("Lanternworks acquisition", IntentKind::Event);
        check("what is reciprocal rank fusion", IntentKind::Concept);
        check("who is Ada Quill", IntentKind::Entity);
        check("tell me about Lanternworks", IntentKind::Entity);
        check("tidal pricing model", IntentKind::General);
        check("", IntentKind::General);
    }

    #[test]
    fn recency_is_asked_for_in_words() {
        assert_eq!(classify("what happened this week").recency, Recency::On);
        assert_eq!(classify("what happened in the harbour").recency, Recency::Off);
    }
}
