//! Maps the ids of a target to page keys, so that they can be compared with captures and
//! judgements.

use super::{TargetError, TargetResult};

/// The source that a document's name begins with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DocumentSourceRule {
    /// None: the id is the name.
    #[default]
    None,
    /// Always the same: `wiki::id`.
    Fixed(String),
    /// The result itself contains the source: `source::id`.
    OfResult,
}

/// The mapping of an id to a page key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DocumentIdRule {
    /// Taken off the front of ids that begin with it.
    pub strip_prefix: Option<String>,
    /// The prefix put before the id.
    pub source: DocumentSourceRule,
}

impl DocumentIdRule {
    /// A result with its document named.
    pub fn apply(&self, found: TargetResult) -> Result<TargetResult, TargetError> {
        let bare = self.stripped(found.document);
        if bare.is_empty() {
            return Err(TargetError::malformed("nothing is left of its id without the prefix"));
        }
        let document = match (&self.source, &found.source) {
            (DocumentSourceRule::None, _) => bare,
            (DocumentSourceRule::Fixed(source), _)
            | (DocumentSourceRule::OfResult, Some(source)) => {
                format!("{source}::{bare}")
            }
            (DocumentSourceRule::OfResult, None) => {
                return Err(TargetError::malformed("it has no source, and its name needs one"));
            }
        };
        Ok(TargetResult { document, ..found })
    }

    /// The name of a document that comes without its source.
    pub fn named(&self, id: String) -> String {
        let bare = self.stripped(id);
        match &self.source {
            DocumentSourceRule::Fixed(source) => format!("{source}::{bare}"),
            DocumentSourceRule::None | DocumentSourceRule::OfResult => bare,
        }
    }

    /// An id without the prefix.
    pub fn stripped(&self, id: String) -> String {
        let prefix = self.strip_prefix.as_deref().unwrap_or_default();
        id.strip_prefix(prefix).map(str::to_owned).unwrap_or(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_names() {
        let check =
            |strip: Option<&str>, source: DocumentSourceRule, found: (&str, Option<&str>), name| {
                let rule = DocumentIdRule { strip_prefix: strip.map(str::to_owned), source };
                let (document, source) = (found.0.to_owned(), found.1.map(str::to_owned));
                let found =
                    rule.apply(TargetResult { document, source, ..TargetResult::default() });
                assert_eq!(found.ok().map(|found| found.document), name);
            };
        let some = |name: &str| Some(name.to_owned());
        check(None, DocumentSourceRule::None, ("a", Some("s")), some("a"));
        check(Some("doc:"), DocumentSourceRule::None, ("doc:a", None), some("a"));
        check(Some("doc:"), DocumentSourceRule::None, ("a", None), some("a"));
        check(
            None,
            DocumentSourceRule::Fixed("wiki".to_owned()),
            ("a", Some("s")),
            some("wiki::a"),
        );
        check(Some("x/"), DocumentSourceRule::OfResult, ("x/a", Some("s")), some("s::a"));
        check(None, DocumentSourceRule::OfResult, ("a", None), None);
        check(Some("doc:"), DocumentSourceRule::None, ("doc:", None), None);
    }
}
