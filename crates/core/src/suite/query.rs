//! Canonical queries: real user queries with their expected results.

use crate::hash::Hash;
use crate::link::LinkType;
use crate::named;
use crate::request::RetrievalMode;
use crate::scrub::MARKER;
use crate::target::QuestionFilter;

use super::anonymous::THREAD;

/// A query with its answer key.
#[derive(Debug, Clone, PartialEq)]
pub struct CanonicalQuery {
    /// The id in reports.
    pub id: String,
    /// The scrubbed query text.
    pub text: String,
    /// Distinguishes queries with the same scrubbed text: a key id and a keyed hash of the original
    /// text, if scrubbing changed it.
    pub original_hash: Option<String>,
    /// The source that the query is about.
    pub source: Option<String>,
    pub difficulty: Difficulty,
    /// The retrieval mode; the target's default if none.
    pub mode: Option<RetrievalMode>,
    /// Restricts the documents that may answer.
    pub filter: QuestionFilter,
    /// The family of a graph question; none for other questions.
    pub family: Option<QuestionFamily>,
    /// Results that must be found.
    pub expected: Vec<ResultKey>,
    /// Results that count as equally good.
    pub acceptable: Vec<ResultKey>,
    /// Texts that a highlight must show.
    pub snippets: Vec<ExpectedSnippet>,
    /// Expected entities of a graph question, by id or name.
    pub entities: Vec<String>,
    /// The answering end of an edge; either end if none.
    pub answer_end: Option<EdgeEnd>,
    /// Names of the suites that include the query; empty for all suites.
    pub tags: Vec<String>,
    pub origin: QueryOrigin,
    pub state: QueryState,
}

named! {
    /// An end of an edge. The start of an edge answers "what depends on Y"; its end answers "what
    /// does Y depend on".
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum EdgeEnd {
        From = "from",
        To = "to",
    }
}

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
    pub enum Difficulty {
        /// The query shares words with the answer.
        Easy = "easy",
        #[default]
        Medium = "medium",
        /// The query needs more than word matching.
        Hard = "hard",
    }
}

named! {
    /// The origin of a query.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
    pub enum QueryOrigin {
        #[default]
        Manual = "manual",
        Support = "support",
        Analytics = "analytics",
        /// Feedback on an answer.
        Feedback = "feedback",
    }
}

named! {
    /// Whether suites include a query.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
    pub enum QueryState {
        /// Proposed, and awaits a review.
        Candidate = "candidate",
        #[default]
        Active = "active",
        /// Retired: no longer drawn into samples.
        Retired = "retired",
    }
}

named! {
    /// The family of a graph question, which determines the link types that may answer it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum QuestionFamily {
        Ownership = "ownership",
        /// Which things depend on each other.
        Dependencies = "dependencies",
        /// Which goal something serves.
        Alignment = "alignment",
    }
}

impl QuestionFamily {
    /// The link types that may answer questions of this family.
    pub(crate) fn link_types(self) -> &'static [LinkType] {
        match self {
            Self::Ownership => &[LinkType::OwnedBy, LinkType::MemberOf],
            Self::Dependencies => &[LinkType::DependsOn, LinkType::BlockedBy, LinkType::Resolves],
            Self::Alignment => &[LinkType::AlignsWithGoal],
        }
    }
}

named! {
    /// The type of object that a key identifies.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum KeyKind {
        Document = "document",
        /// A passage of a document.
        Chunk = "chunk",
        /// An observation, which a target returns as a passage.
        Observation = "observation",
    }
}

/// A result that the query must find.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResultKey {
    pub kind: KeyKind,
    /// The id that the target uses; for the local brain `source::slug` or a bare slug.
    pub id: String,
}

/// A text that a highlight must show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedSnippet {
    pub text: String,
    /// Character range in the document, if known.
    pub at: Option<(u32, u32)>,
}

impl CanonicalQuery {
    /// Hash of the query text, ignoring case and whitespace.
    pub fn normalized_text_hash(text: &str) -> Hash {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        Hash::of(words.join(" ").as_bytes())
    }

    /// Identifies the query: its text, and the original text if it was scrubbed.
    pub fn identity_hash(&self) -> Hash {
        let text = Self::normalized_text_hash(&self.text);
        match &self.original_hash {
            None => text,
            Some(original) => Hash::of_parts(&[&text.0, original.as_bytes()]),
        }
    }

    /// Whether the query may represent several originals: its text was scrubbed and no hash of the
    /// original is known.
    pub fn is_merged(&self) -> bool {
        self.original_hash.is_none() && is_scrubbed(&self.text)
    }

    /// Merges another query with the same text: the union of keys, snippets and tags, and the
    /// other's values elsewhere if it has any. Id and state stay, except that a candidate which is
    /// added by hand becomes active.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        fn add<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
            for one in more {
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        if (self.state, other.state) == (QueryState::Candidate, QueryState::Active) {
            self.state = QueryState::Active;
        }
        self.source = other.source.or(self.source);
        if other.difficulty != Difficulty::default() {
            self.difficulty = other.difficulty;
        }
        self.mode = other.mode.or(self.mode);
        if !other.filter.is_empty() {
            self.filter = other.filter;
        }
        self.family = other.family.or(self.family);
        add(&mut self.expected, other.expected);
        add(&mut self.acceptable, other.acceptable);
        add(&mut self.snippets, other.snippets);
        add(&mut self.entities, other.entities);
        self.answer_end = other.answer_end.or(self.answer_end);
        // An empty tag list means every suite.
        if self.tags.is_empty() || other.tags.is_empty() {
            self.tags.clear();
        } else {
            add(&mut self.tags, other.tags);
        }
        self
    }

    /// Whether a suite includes the query.
    pub fn is_for(&self, suite: &str) -> bool {
        let is_tagged = self.tags.is_empty() || self.tags.iter().any(|tag| tag == suite);
        self.state == QueryState::Active && is_tagged
    }

    /// Whether the query has an answer key. A query without one measures nothing.
    pub fn has_key(&self) -> bool {
        !(self.expected.is_empty() && self.acceptable.is_empty() && self.entities.is_empty())
    }
}

/// Whether a text contains a scrubbing marker.
pub fn is_scrubbed(text: &str) -> bool {
    text.contains(MARKER) || text.contains(THREAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_of_one_text_are_joined() {
        use super::super::sample::tests::query;
        let key = |id: &str| ResultKey { kind: KeyKind::Document, id: id.to_owned() };
        let there =
            CanonicalQuery { tags: vec!["a".to_owned()], ..query("q", "slack", Difficulty::Hard) };
        let other = CanonicalQuery {
            id: "other".to_owned(),
            expected: vec![key("q"), key("r")],
            tags: vec!["b".to_owned()],
            source: None,
            ..query("q", "", Difficulty::Medium)
        };
        let joined = there.clone().join(other.clone());
        assert_eq!(joined.expected, [key("q"), key("r")]);
        assert_eq!((&*joined.id, joined.source.as_deref()), ("q", Some("slack")));
        assert_eq!(
            (joined.difficulty, &joined.tags[..]),
            (Difficulty::Hard, &["a".to_owned(), "b".to_owned()][..])
        );
        assert_eq!(there.join(CanonicalQuery { tags: Vec::new(), ..other }).tags, [""; 0]);
    }

    #[test]
    fn blanks_and_case_do_not_make_another_query() {
        let hash = CanonicalQuery::normalized_text_hash;
        assert_eq!(hash("Who  owns\tX?"), hash("who owns x?"));
        assert_ne!(hash("who owns x?"), hash("who owns y?"));
    }
}
