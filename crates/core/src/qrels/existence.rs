//! Whether judged pages exist in the searched corpus.
//!
//! A judgement of a page that does not exist can only count as a miss, so a file of another brain
//! scores zero with every retriever. That is a mistake of the input, not a measurement.

use super::{DEFAULT_SOURCE, JudgedQuery};

/// Pages that are named one by one.
const NAMED: usize = 5;

/// The judged pages of a target and whether they exist.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum JudgedPages {
    /// The target can't say which pages it has.
    #[default]
    NotKnown,
    /// Which of the relevant pages are missing.
    Known {
        /// How many different pages are judged relevant.
        judged: usize,
        /// The missing pages, in the order of the file.
        missing: Vec<String>,
    },
}

impl JudgedPages {
    /// Whether pages are judged and none of them exists.
    pub fn is_none_there(&self) -> bool {
        matches!(self, Self::Known { judged, missing } if *judged > 0 && missing.len() == *judged)
    }

    /// A warning that counts and names missing pages.
    pub fn warning(&self) -> Option<String> {
        let Self::Known { judged, missing } = self else { return None };
        if missing.is_empty() {
            return None;
        }
        let named: Vec<String> =
            missing.iter().take(NAMED).map(|page| format!("`{page}`")).collect();
        let more = match missing.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let n = missing.len();
        Some(format!(
            "{n} of {judged} judged pages do not exist and count as misses: {}{more}",
            named.join(", ")
        ))
    }
}

/// The pages that queries judge relevant, each once, in the order of the file.
pub fn relevant_pages(queries: &[JudgedQuery]) -> Vec<&str> {
    let mut seen = rustc_hash::FxHashSet::default();
    queries.iter().flat_map(JudgedQuery::relevant).filter(|page| seen.insert(*page)).collect()
}

impl JudgedQuery {
    /// Reads bare ids as pages of the default source, as the gate's `relevant_slugs` are read.
    pub fn in_default_source(&mut self) {
        self.rename(|_| true);
    }

    /// Reads a bare id as what was retrieved: that id, or the page of the default source.
    pub fn as_retrieved(&mut self, pages: &[String]) {
        self.rename(|name| pages.iter().any(|page| page == name));
        self.as_bare_ids(|id| pages.iter().any(|page| page == id));
    }

    /// Reads a slug that the file names without a source as that id where the id was retrieved, and
    /// the page of the default source was not.
    pub(crate) fn as_bare_ids(&mut self, is_retrieved: impl Fn(&str) -> bool) {
        let bare = &self.bare;
        let docs = self.judgements.iter_mut().map(|judgement| &mut judgement.doc);
        for doc in docs.chain(&mut self.expected_top1).filter(|doc| bare.contains(doc)) {
            let id = doc.strip_prefix(DEFAULT_SOURCE).and_then(|rest| rest.strip_prefix("::"));
            if let Some(id) = id.filter(|id| is_retrieved(id) && !is_retrieved(doc)) {
                *doc = id.to_owned();
            }
        }
    }

    /// Renames bare ids whose name in the default source is wanted.
    fn rename(&mut self, is_wanted: impl Fn(&str) -> bool) {
        let docs = self.judgements.iter_mut().map(|judgement| &mut judgement.doc);
        for doc in docs.chain(&mut self.expected_top1).filter(|doc| !doc.contains("::")) {
            let name = format!("{DEFAULT_SOURCE}::{doc}");
            if is_wanted(&name) {
                *doc = name;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qrels::Qrels;

    #[test]
    fn bare_ids_are_pages_of_the_default_source() {
        let qrels = Qrels::parse(b"q1 0 people/ada 1\nq1 0 wiki::b 0\n").unwrap();
        let mut query = qrels.queries[0].clone();
        query.as_retrieved(&["wiki::people/ada".to_owned()]);
        assert_eq!(query.judgements[0].doc, "people/ada");
        query.as_retrieved(&["default::people/ada".to_owned()]);
        assert_eq!(query.judgements[0].doc, "default::people/ada");
        let mut query = qrels.queries[0].clone();
        query.in_default_source();
        let docs: Vec<&str> = query.judgements.iter().map(|one| one.doc.as_str()).collect();
        assert_eq!(docs, ["default::people/ada", "wiki::b"]);
    }

    #[test]
    fn bare_slugs_are_ids_of_a_target_too() {
        let text = br#"{"schema_version":1,"queries":[
            {"query":"a","relevant_slugs":["x/p0","wiki::b"],"first_relevant_slug":"x/p0"},
            {"query":"b","relevant":[{"source_id":"default","slug":"x/p0"}]}]}"#;
        let qrels = Qrels::parse(text).unwrap();
        let read = |at: usize, pages: &[&str]| {
            let mut query = qrels.queries[at].clone();
            let pages: Vec<String> = pages.iter().map(|page| (*page).to_owned()).collect();
            query.as_retrieved(&pages);
            (query.judgements[0].doc.clone(), query.expected_top1)
        };
        assert_eq!(read(0, &["x/p0"]), ("x/p0".to_owned(), Some("x/p0".to_owned())));
        let whole = "default::x/p0".to_owned();
        assert_eq!(read(0, &["x/p0", &whole]), (whole.clone(), Some(whole.clone())));
        assert_eq!(read(0, &["b"]).0, whole);
        // The explicit shape names a source, and a bare id has none.
        assert_eq!(read(1, &["x/p0"]), (whole, None));
        let legacy = Qrels::parse(br#"[{"query":"a","relevant":["x/p0"]}]"#).unwrap();
        let mut query = legacy.queries[0].clone();
        query.as_retrieved(&["x/p0".to_owned()]);
        assert_eq!(query.judgements[0].doc, "x/p0");
    }

    #[test]
    fn missing_pages_are_counted_and_named() {
        let qrels = Qrels::parse(b"q1 0 a 1\nq2 0 a 1\nq2 0 b 1\nq2 0 c 0\n").unwrap();
        assert_eq!(relevant_pages(&qrels.queries), ["a", "b"]);
        let known = |missing: &[&str]| JudgedPages::Known {
            judged: 2,
            missing: missing.iter().map(|page| (*page).to_owned()).collect(),
        };
        assert_eq!((known(&[]).warning(), known(&[]).is_none_there()), (None, false));
        let warning = known(&["b"]).warning().unwrap();
        assert_eq!(warning, "1 of 2 judged pages do not exist and count as misses: `b`");
        assert!(known(&["a", "b"]).is_none_there());
        assert!(!JudgedPages::NotKnown.is_none_there());
    }
}
