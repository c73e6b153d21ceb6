//! Canonical queries: what people really ask, with what must be found.

use crate::hash::Hash;
use crate::link::LinkType;
use crate::named;
use crate::request::RetrievalMode;
use crate::scrub::MARKER;
use crate::target::QuestionFilter;

use super::anonymous::THREAD;

/// A canonical query.
#[derive(Debug, Clone, PartialEq)]
pub struct CanonicalQuery {
    /// What names it in reports.
    pub id: String,
    /// What is asked, scrubbed.
    pub text: String,
    /// Tells it from others with the same scrubbed text: the id of a key and a keyed hash of the original,
    /// where scrubbing changed it.
    pub original_hash: Option<String>,
    /// The source that it is about.
    pub source: Option<String>,
    /// How hard it is.
    pub difficulty: Difficulty,
    /// How it is asked; the target's own choice if it is not said.
    pub mode: Option<RetrievalMode>,
    /// Which documents may answer; all if it is not said.
    pub filter: QuestionFilter,
    /// What kind of question about links it is.
    pub family: Option<Family>,
    /// What must be found.
    pub expected: Vec<Key>,
    /// What is as good.
    pub acceptable: Vec<Key>,
    /// What a highlight must show.
    pub snippets: Vec<Snippet>,
    /// Who or what the answer to a question about links is: ids or names.
    pub entities: Vec<String>,
    /// Which end of an edge the answer stands at; either if it is not said.
    pub answer_end: Option<End>,
    /// Suites that it belongs to; empty for all.
    pub tags: Vec<String>,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether suites ask it.
    pub state: QueryState,
}

/// An end of an edge. "What depends on Y" is answered by where edges start, "what does Y depend on" by where
/// they end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    From,
    To,
}

named! { End { From = "from", To = "to" } }

/// How hard a query is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Difficulty {
    /// Its words are those of the answer.
    Easy,
    #[default]
    Medium,
    /// It takes more than words.
    Hard,
}

named! { Difficulty { Easy = "easy", Medium = "medium", Hard = "hard" } }

/// Where a query comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Origin {
    #[default]
    Manual,
    /// Somebody asked for help.
    Support,
    Analytics,
    /// Somebody judged an answer.
    Feedback,
}

named! {
    Origin { Manual = "manual", Support = "support", Analytics = "analytics", Feedback = "feedback" }
}

/// Whether suites ask a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum QueryState {
    /// Somebody has to look at it first.
    Candidate,
    #[default]
    Active,
    /// They no longer do.
    Retired,
}

named! { QueryState { Candidate = "candidate", Active = "active", Retired = "retired" } }

/// What kind of question about links it is, and which links may answer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    Ownership,
    /// What depends on what?
    Dependencies,
    /// Which goal is it for?
    Alignment,
}

named! {
    Family { Ownership = "ownership", Dependencies = "dependencies", Alignment = "alignment" }
}

impl Family {
    /// The links that may answer it.
    pub(crate) fn link_types(self) -> &'static [LinkType] {
        match self {
            Self::Ownership => &[LinkType::OwnedBy, LinkType::MemberOf],
            Self::Dependencies => &[LinkType::DependsOn, LinkType::BlockedBy, LinkType::Resolves],
            Self::Alignment => &[LinkType::AlignsWithGoal],
        }
    }
}

/// What a key names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyKind {
    Document,
    /// A passage of one.
    Chunk,
    /// An observation, which a target gives as a passage.
    Observation,
}

named! { KeyKind { Document = "document", Chunk = "chunk", Observation = "observation" } }

/// Something that may be found.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub kind: KeyKind,
    /// Its id, as the target gives it; for the local brain `source::slug` or a bare slug.
    pub id: String,
}

/// A text that a highlight must show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    pub text: String,
    /// Where it stands in its document, in characters, if that is known.
    pub at: Option<(u32, u32)>,
}

impl CanonicalQuery {
    /// What names its text: blanks and case do not make another query.
    pub fn text_hash(text: &str) -> Hash {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        Hash::of(words.join(" ").as_bytes())
    }

    /// What makes it the same query as another: its text, and where that was scrubbed, what it was before.
    pub fn identity_hash(&self) -> Hash {
        let text = Self::text_hash(&self.text);
        match &self.original_hash {
            None => text,
            Some(original) => Hash::of_parts(&[&text.0, original.as_bytes()]),
        }
    }

    /// Whether it may stand for several queries: its text was scrubbed, and nothing tells what it was.
    pub fn is_merged(&self) -> bool {
        self.original_hash.is_none() && is_scrubbed(&self.text)
    }

    /// This, with what another of the same text says: keys, snippets and tags of both, and of the rest what
    /// the other says, unless it says nothing. The id stays, and so does the state, but for a candidate that
    /// somebody adds themselves: that is a yes.
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
        // No tags mean every suite, which is more than any tags.
        if self.tags.is_empty() || other.tags.is_empty() {
            self.tags.clear();
        } else {
            add(&mut self.tags, other.tags);
        }
        self
    }

    /// Whether a suite may ask it.
    pub fn is_for(&self, suite: &str) -> bool {
        let is_tagged = self.tags.is_empty() || self.tags.iter().any(|tag| tag == suite);
        self.state == QueryState::Active && is_tagged
    }

    /// Whether anything must be found: without that, a query measures nothing.
    pub fn has_key(&self) -> bool {
        !(self.expected.is_empty() && self.acceptable.is_empty() && self.entities.is_empty())
    }
}

/// Whether something was taken out of a text.
pub fn is_scrubbed(text: &str) -> bool {
    text.contains(MARKER) || text.contains(THREAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_of_one_text_are_joined() {
        use super::super::sample::tests::query;
        let key = |id: &str| Key { kind: KeyKind::Document, id: id.to_owned() };
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
        let hash = CanonicalQuery::text_hash;
        assert_eq!(hash("Who  owns\tX?"), hash("who owns x?"));
        assert_ne!(hash("who owns x?"), hash("who owns y?"));
    }
}
