//! One query against what a target answered.
//!
//! Ranks are those of the results as the target lists them, from 1. A key that several results match
//! counts once. An error counts as a miss: whoever asked has no answer.

use super::graph::{self, Facts, Faith, GraphResult, Wanted};
use super::measure::Measure;
use super::query::{CanonicalQuery, Key, KeyKind};
use super::snippet::{self, Highlight};
use crate::named;
use crate::request::RetrievalMode;
use crate::target::{Found, TargetAnswer, TargetError, TargetErrorKind};

/// How deep a case looks.
pub const DEPTH: usize = 10;

/// What is wrong with a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Flag {
    /// Nothing that was expected is among the results.
    MissingResult,
    /// The highlight of what was found shows something else.
    WrongSnippet,
    /// A highlight shows what its text does not say.
    HallucinatedContent,
}

named! {
    Flag {
        MissingResult = "missing_result",
        WrongSnippet = "wrong_snippet",
        HallucinatedContent = "hallucinated_content",
    }
}

/// What came of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseResult {
    pub id: String,
    /// The source that it is about.
    pub source: Option<String>,
    /// How hard it is.
    pub difficulty: super::query::Difficulty,
    /// How it was asked, or answered where the target says.
    pub mode: Option<RetrievalMode>,
    /// Why there is no answer.
    pub error: Option<TargetErrorKind>,
    pub message: Option<String>,
    /// The rank of the first expected or acceptable result, from 1.
    pub rank: Option<usize>,
    /// Expected keys among the first five, ten, and all.
    pub found: [u64; 2],
    /// Keys that were expected.
    pub expected: u64,
    /// Places with an expected or acceptable result among the first five and ten.
    pub relevant: [u64; 2],
    /// What the highlight of what was found is; none where it was not asked for or nothing was found.
    pub highlight: Option<Highlight>,
    /// Whether a question about links was answered.
    pub graph_answer: Option<bool>,
    /// Whether an answer from links gives reasons; none where it needs none.
    pub rationale_present: Option<bool>,
    /// Whether they are so.
    pub faith: Option<Faith>,
    /// What is wrong with the reasons.
    pub problems: Vec<String>,
    /// How long it took as a whole, in milliseconds.
    pub total_ms: Option<f64>,
    /// How long finding by meaning, reranking and fetching took.
    pub stages_ms: [Option<f64>; 3],
    /// Stages that did not do their work.
    pub fallbacks: Vec<String>,
    /// What is wrong with it.
    pub flags: Vec<Flag>,
    /// Recalls that can fail the run and that it misses; known when the run is added up.
    pub missed: Vec<Measure>,
    /// The results, best first.
    pub results: Vec<String>,
}

impl CaseResult {
    /// Whether an expected or acceptable result is among the first `k`.
    pub fn is_hit(&self, k: usize) -> bool {
        self.rank.is_some_and(|rank| rank <= k)
    }

    /// Whether somebody should look at it.
    pub(crate) fn is_failing(&self) -> bool {
        self.error.is_some()
            || !self.flags.is_empty()
            || !self.missed.is_empty()
            || self.graph_answer == Some(false)
            || self.rationale_present == Some(false)
            || self.faith == Some(Faith::Unfaithful)
    }
}

/// Whether answers to questions about links must say why: of a suite about links they must, of others
/// only those that links gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedWhy {
    Yes,
    No,
}

/// What came of a query.
pub fn judge(
    query: &CanonicalQuery,
    asked_why: AskedWhy,
    answer: &Result<TargetAnswer, TargetError>,
    facts: &Facts<'_>,
) -> CaseResult {
    match answer {
        Ok(answer) => answered(query, asked_why, answer, facts),
        Err(error) => {
            let flags = if query.has_key() { vec![Flag::MissingResult] } else { Vec::new() };
            CaseResult {
                error: Some(error.kind),
                message: Some(error.message.clone()),
                graph_answer: query.family.map(|_| false),
                flags,
                ..blank(query)
            }
        }
    }
}

fn blank(query: &CanonicalQuery) -> CaseResult {
    CaseResult {
        id: query.id.clone(),
        source: query.source.clone(),
        difficulty: query.difficulty,
        mode: query.mode,
        error: None,
        message: None,
        rank: None,
        found: [0; 2],
        expected: must_find(query).len() as u64,
        relevant: [0; 2],
        highlight: None,
        graph_answer: None,
        rationale_present: None,
        faith: None,
        problems: Vec::new(),
        total_ms: None,
        stages_ms: [None; 3],
        fallbacks: Vec::new(),
        flags: Vec::new(),
        missed: Vec::new(),
        results: Vec::new(),
    }
}

fn answered(
    query: &CanonicalQuery,
    asked_why: AskedWhy,
    answer: &TargetAnswer,
    facts: &Facts<'_>,
) -> CaseResult {
    let results = &answer.results[..answer.results.len().min(DEPTH)];
    let keys: Vec<&Key> = query.expected.iter().chain(&query.acceptable).collect();
    let rank = results.iter().position(|found| keys.iter().any(|key| names(key, found)));
    let hit = rank.map(|at| &results[at]);
    let highlight = match (query.snippets.is_empty(), hit) {
        (false, Some(found)) => {
            Some(snippet::judge(found.snippet.as_deref(), None, &query.snippets))
        }
        _ => None,
    };
    let graph = query.family.map(|family| {
        let wanted = Wanted { family, entities: &query.entities, end: query.answer_end };
        graph::judge(answer.rationale.as_ref(), &wanted, facts)
    });
    let is_from_links = answer.mode == Some(RetrievalMode::Graph);
    let needs_rationale = is_from_links || (asked_why == AskedWhy::Yes && query.family.is_some());
    let timings = &answer.timings;
    let mut case = CaseResult {
        mode: answer.mode.or(query.mode),
        rank: rank.map(|at| at + 1),
        found: [5, DEPTH].map(|k| distinct(&must_find(query), &results[..results.len().min(k)])),
        relevant: [5, DEPTH].map(|k| places(&keys, &results[..results.len().min(k)])),
        highlight,
        graph_answer: graph.as_ref().map(|graph| graph.names_answer || rank.is_some()),
        rationale_present: needs_rationale.then(|| has_reasons(answer)),
        faith: graph.as_ref().map(|graph| graph.faith),
        problems: graph.map_or_else(Vec::new, |GraphResult { problems, .. }| problems),
        total_ms: Some(answer.total_ms()),
        stages_ms: [timings.dense_ms, timings.rerank_ms, timings.hydration_ms],
        fallbacks: answer.fallback_stages(),
        results: results.iter().map(|found| found.document.clone()).collect(),
        ..blank(query)
    };
    case.flags = flags(query, &case, results);
    case
}

fn has_reasons(answer: &TargetAnswer) -> bool {
    answer.rationale.as_ref().is_some_and(|rationale| !rationale.edges.is_empty())
}

fn flags(query: &CanonicalQuery, case: &CaseResult, results: &[Found]) -> Vec<Flag> {
    let is_made_up = |found: &Found| match (&found.snippet, &found.text) {
        (Some(snippet), Some(text)) => snippet::is_made_up(snippet, text),
        _ => false,
    };
    let keyed = !(query.expected.is_empty() && query.acceptable.is_empty());
    let is_wrong = matches!(case.highlight, Some(Highlight::Wrong | Highlight::Missing));
    let mut flags = Vec::new();
    if keyed && case.rank.is_none() && case.graph_answer != Some(true) {
        flags.push(Flag::MissingResult);
    }
    if is_wrong {
        flags.push(Flag::WrongSnippet);
    }
    if results.iter().any(is_made_up) {
        flags.push(Flag::HallucinatedContent);
    }
    flags
}

/// What must be found: what is expected, or what is acceptable where nothing is.
fn must_find(query: &CanonicalQuery) -> Vec<&Key> {
    let keys = if query.expected.is_empty() { &query.acceptable } else { &query.expected };
    keys.iter().collect()
}

/// How many of the keys are among the results.
fn distinct(keys: &[&Key], results: &[Found]) -> u64 {
    keys.iter().filter(|key| results.iter().any(|found| names(key, found))).count() as u64
}

/// How many places have something that is asked for. A key is used up by the first place that it names: a
/// document that comes again, chunk by chunk, is nothing new.
fn places(keys: &[&Key], results: &[Found]) -> u64 {
    let mut left = keys.to_vec();
    let is_new = |found: &&Found| {
        let before = left.len();
        left.retain(|key| !names(key, found));
        left.len() < before
    };
    results.iter().filter(is_new).count() as u64
}

/// Whether a document is the one that is meant: without a source in front, of any.
pub fn is_meant(meant: &str, document: &str) -> bool {
    let bare = document.rsplit_once("::").map(|(_, slug)| slug);
    meant == document || (!meant.contains("::") && bare == Some(meant))
}

/// Whether a key names a result.
fn names(key: &Key, found: &Found) -> bool {
    match key.kind {
        KeyKind::Document => is_meant(&key.id, &found.document),
        KeyKind::Chunk | KeyKind::Observation => found.chunk.as_deref() == Some(&*key.id),
    }
}

#[cfg(test)]
mod tests {
    use super::super::query::{Difficulty, Family, Snippet};
    use super::super::sample::tests::query;
    use super::*;
    use crate::suite::graph::Fact;
    use crate::target::{Rationale, RationaleEdge, Timings};

    fn found(document: &str) -> Found {
        Found {
            document: document.to_owned(),
            chunk: Some(format!("{document}#0")),
            ..Found::default()
        }
    }

    fn answer(documents: &[&str]) -> TargetAnswer {
        TargetAnswer {
            results: documents.iter().map(|one| found(one)).collect(),
            ..Default::default()
        }
    }

    fn holds(_: &RationaleEdge) -> Fact {
        Fact::Holds
    }

    fn keys(ids: &[&str]) -> Vec<Key> {
        ids.iter().map(|id| Key { kind: KeyKind::Document, id: (*id).to_owned() }).collect()
    }

    fn asked() -> CanonicalQuery {
        CanonicalQuery {
            expected: keys(&["a", "b"]),
            acceptable: keys(&["c"]),
            ..query("q", "s", Difficulty::Easy)
        }
    }

    #[test]
    fn ranks_and_counts_by_hand() {
        let case = judge(
            &asked(),
            AskedWhy::Yes,
            &Ok(answer(&["x", "wiki::c", "y", "a", "a", "z", "b"])),
            &holds,
        );
        assert_eq!(case.rank, Some(2));
        assert_eq!((case.found, case.expected, case.relevant), ([1, 2], 2, [2, 3]));
        assert!(case.is_hit(5) && case.flags.is_empty() && !case.is_failing());
        let far =
            judge(&asked(), AskedWhy::Yes, &Ok(answer(&["1", "2", "3", "4", "5", "b"])), &holds);
        assert!(!far.is_hit(5) && far.is_hit(10));
        let too_far = answer(&["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "a"]);
        assert_eq!(
            judge(&asked(), AskedWhy::Yes, &Ok(too_far), &holds).flags,
            [Flag::MissingResult]
        );
    }

    #[test]
    fn chunks_are_named_by_their_own_ids() {
        let key = |id: &str| vec![Key { kind: KeyKind::Chunk, id: id.to_owned() }];
        let of_chunk = |id| CanonicalQuery { expected: key(id), acceptable: Vec::new(), ..asked() };
        assert_eq!(
            judge(&of_chunk("a#0"), AskedWhy::Yes, &Ok(answer(&["a"])), &holds).rank,
            Some(1)
        );
        assert_eq!(judge(&of_chunk("a"), AskedWhy::Yes, &Ok(answer(&["a"])), &holds).rank, None);
        let qualified =
            CanonicalQuery { expected: keys(&["wiki::a"]), acceptable: Vec::new(), ..asked() };
        assert_eq!(judge(&qualified, AskedWhy::Yes, &Ok(answer(&["port::a"])), &holds).rank, None);
    }

    /// A place that several keys name is one place.
    #[test]
    fn places_are_counted_and_not_keys() {
        let chunk = |id: &str| Key { kind: KeyKind::Chunk, id: id.to_owned() };
        let check = |expected: Vec<Key>, documents: &[&str], relevant: [u64; 2]| {
            let asked = CanonicalQuery { expected, acceptable: keys(&["wiki::a"]), ..asked() };
            let case = judge(&asked, AskedWhy::No, &Ok(answer(documents)), &holds);
            assert_eq!(case.relevant, relevant, "{documents:?}");
        };
        let both = || vec![keys(&["a"]).remove(0), chunk("wiki::a#0")];
        check(both(), &["wiki::a", "x"], [1, 1]);
        check(both(), &["wiki::a", "wiki::a", "wiki::a"], [1, 1]);
        check(vec![chunk("a#0"), chunk("b#0")], &["a", "b"], [2, 2]);
        let five = ["a", "b", "c", "d", "e"];
        let all = five.iter().flat_map(|id| [keys(&[id]).remove(0), chunk(&format!("{id}#0"))]);
        check(all.collect(), &five, [5, 5]);
    }

    #[test]
    fn an_error_is_a_miss() {
        let error = TargetError::new(TargetErrorKind::Timeout, "no answer");
        let case = judge(&asked(), AskedWhy::Yes, &Err(error), &holds);
        assert_eq!((case.error, case.rank), (Some(TargetErrorKind::Timeout), None));
        assert_eq!(case.flags, [Flag::MissingResult]);
        assert!(case.is_failing() && case.total_ms.is_none());
    }

    #[test]
    fn highlights_of_what_was_found() {
        let wanted = vec![Snippet { text: "forty berths".to_owned(), at: None }];
        let asked = CanonicalQuery { snippets: wanted, ..asked() };
        let shown = |snippet: Option<&str>, text: Option<&str>| {
            let mut answer = answer(&["a"]);
            answer.results[0].snippet = snippet.map(str::to_owned);
            answer.results[0].text = text.map(str::to_owned);
            judge(&asked, AskedWhy::Yes, &Ok(answer), &holds)
        };
        assert_eq!(shown(Some("plans forty berths"), None).flags, []);
        assert_eq!(shown(Some("plans nothing"), None).flags, [Flag::WrongSnippet]);
        assert_eq!(shown(None, None).flags, [Flag::WrongSnippet]);
        let made_up = shown(Some("plans forty berths"), Some("plans fifty berths"));
        assert_eq!(made_up.flags, [Flag::HallucinatedContent]);
        assert_eq!(
            judge(&asked, AskedWhy::Yes, &Ok(answer(&["x"])), &holds).highlight,
            None,
            "recall punishes it"
        );
    }

    #[test]
    fn questions_about_links() {
        let asked = CanonicalQuery {
            family: Some(Family::Ownership),
            entities: vec!["teams/routing".to_owned()],
            mode: Some(RetrievalMode::Graph),
            ..asked()
        };
        let edge = RationaleEdge {
            kind: "owned_by".to_owned(),
            from: "planner".to_owned(),
            to: "wiki::teams/routing".to_owned(),
            confidence: None,
            evidence: vec!["c".to_owned()],
        };
        let rationale = Rationale { edges: vec![edge], ..Rationale::default() };
        let with = TargetAnswer { rationale: Some(rationale), ..answer(&["x"]) };
        let case = judge(&asked, AskedWhy::Yes, &Ok(with), &holds);
        assert_eq!((case.graph_answer, case.rationale_present), (Some(true), Some(true)));
        assert_eq!((case.faith, case.is_failing()), (Some(Faith::Faithful), false));
        let without = judge(&asked, AskedWhy::Yes, &Ok(answer(&["a"])), &holds);
        assert_eq!((without.graph_answer, without.rationale_present), (Some(true), Some(false)));
        assert!(without.is_failing());
        // Who only searches need not say why, unless the answer came from links.
        let mut found = answer(&["a"]);
        let plain = judge(&asked, AskedWhy::No, &Ok(found.clone()), &holds);
        assert_eq!((plain.rationale_present, plain.is_failing()), (None, false));
        found.mode = Some(RetrievalMode::Graph);
        let linked = judge(&asked, AskedWhy::No, &Ok(found), &holds);
        assert_eq!(linked.rationale_present, Some(false));
    }

    #[test]
    fn times_of_stages() {
        let mut slow = answer(&["a"]);
        slow.latency_ms = 200.0;
        slow.timings =
            Timings { dense_ms: Some(40.0), total_ms: Some(120.0), ..Timings::default() };
        let case = judge(&asked(), AskedWhy::Yes, &Ok(slow), &holds);
        assert_eq!((case.total_ms, case.stages_ms), (Some(120.0), [Some(40.0), None, None]));
    }
}
