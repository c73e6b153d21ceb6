//! Scores a target's answer to one query.
//!
//! Ranks start at 1 and follow the target's order. A key that matches several results counts once.
//! An error counts as a miss, because the caller got no answer.

use super::graph::{self, EdgeChecker, ExpectedAnswer, Faithfulness, GraphResult};
use super::measure::SuiteMeasure;
use super::query::{CanonicalQuery, KeyKind, ResultKey};
use super::snippet::{self, Highlight};
use crate::named;
use crate::request::RetrievalMode;
use crate::target::{TargetAnswer, TargetError, TargetErrorKind, TargetResult};

/// The number of results that a case considers.
pub const DEPTH: usize = 10;

named! {
    /// A defect of a case.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum CaseDefect {
        /// No expected result was returned.
        MissingResult = "missing_result",
        /// The highlight of the matching result shows the wrong text.
        WrongSnippet = "wrong_snippet",
        /// A highlight contains text that its document does not contain.
        HallucinatedContent = "hallucinated_content",
    }
}

/// The result of one query.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseResult {
    pub id: String,
    /// The source that the query is about.
    pub source: Option<String>,
    pub difficulty: super::query::Difficulty,
    /// The requested mode, or the mode that the target reports.
    pub mode: Option<RetrievalMode>,
    /// The error, if the target did not answer.
    pub error: Option<TargetErrorKind>,
    pub message: Option<String>,
    /// The rank of the first expected or acceptable result, from 1.
    pub rank: Option<usize>,
    /// Expected keys among the first five and the first ten results.
    pub found: [u64; 2],
    /// Number of expected keys.
    pub expected: u64,
    /// Positions with an expected or acceptable result among the first five and the first ten.
    pub relevant: [u64; 2],
    /// Assessment of the matching result's highlight; none if no highlight was expected or nothing
    /// matched.
    pub highlight: Option<Highlight>,
    /// Whether a graph question was answered; none for other questions.
    pub graph_answer: Option<bool>,
    /// Whether a graph answer has a rationale; none if it needs none.
    pub rationale_present: Option<bool>,
    pub faith: Option<Faithfulness>,
    /// Problems of the rationale.
    pub problems: Vec<String>,
    /// Total latency in milliseconds.
    pub total_ms: Option<f64>,
    /// Latency of dense retrieval, reranking and hydration in milliseconds.
    pub stages_ms: [Option<f64>; 3],
    /// Stages that fell back.
    pub fallbacks: Vec<String>,
    pub flags: Vec<CaseDefect>,
    /// Deciding recall measures that this case misses; set when the run is aggregated.
    pub missed: Vec<SuiteMeasure>,
    /// Result ids, best first.
    pub results: Vec<String>,
}

impl CaseResult {
    /// Whether an expected or acceptable result is among the first `k`.
    pub fn is_hit(&self, k: usize) -> bool {
        self.rank.is_some_and(|rank| rank <= k)
    }

    /// Whether the case needs attention.
    pub(crate) fn is_failing(&self) -> bool {
        self.error.is_some()
            || !self.flags.is_empty()
            || !self.missed.is_empty()
            || self.graph_answer == Some(false)
            || self.rationale_present == Some(false)
            || self.faith == Some(Faithfulness::Unfaithful)
    }
}

/// Whether graph answers must include a rationale. Graph suites require one; other suites require
/// one only from answers that the graph produced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RationaleRequirement {
    Yes,
    No,
}

/// Scores the answer to a query.
pub fn judge(
    query: &CanonicalQuery,
    asked_why: RationaleRequirement,
    answer: &Result<TargetAnswer, TargetError>,
    facts: &EdgeChecker<'_>,
) -> CaseResult {
    match answer {
        Ok(answer) => answered(query, asked_why, answer, facts),
        Err(error) => {
            let flags = if query.has_key() { vec![CaseDefect::MissingResult] } else { Vec::new() };
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
    asked_why: RationaleRequirement,
    answer: &TargetAnswer,
    facts: &EdgeChecker<'_>,
) -> CaseResult {
    let results = &answer.results[..answer.results.len().min(DEPTH)];
    let keys: Vec<&ResultKey> = query.expected.iter().chain(&query.acceptable).collect();
    let rank = results.iter().position(|found| keys.iter().any(|key| names(key, found)));
    let hit = rank.map(|at| &results[at]);
    let highlight = match (query.snippets.is_empty(), hit) {
        (false, Some(found)) => {
            Some(snippet::judge(found.snippet.as_deref(), None, &query.snippets))
        }
        _ => None,
    };
    let graph = query.family.map(|family| {
        let wanted = ExpectedAnswer { family, entities: &query.entities, end: query.answer_end };
        graph::judge(answer.rationale.as_ref(), &wanted, facts)
    });
    let is_from_links = answer.mode == Some(RetrievalMode::Graph);
    let needs_rationale =
        is_from_links || (asked_why == RationaleRequirement::Yes && query.family.is_some());
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

fn flags(query: &CanonicalQuery, case: &CaseResult, results: &[TargetResult]) -> Vec<CaseDefect> {
    let is_made_up = |found: &TargetResult| match (&found.snippet, &found.text) {
        (Some(snippet), Some(text)) => snippet::is_made_up(snippet, text),
        _ => false,
    };
    let keyed = !(query.expected.is_empty() && query.acceptable.is_empty());
    let is_wrong = matches!(case.highlight, Some(Highlight::Wrong | Highlight::Missing));
    let mut flags = Vec::new();
    if keyed && case.rank.is_none() && case.graph_answer != Some(true) {
        flags.push(CaseDefect::MissingResult);
    }
    if is_wrong {
        flags.push(CaseDefect::WrongSnippet);
    }
    if results.iter().any(is_made_up) {
        flags.push(CaseDefect::HallucinatedContent);
    }
    flags
}

/// The keys that count for recall: the expected ones, or the acceptable ones if none is expected.
fn must_find(query: &CanonicalQuery) -> Vec<&ResultKey> {
    let keys = if query.expected.is_empty() { &query.acceptable } else { &query.expected };
    keys.iter().collect()
}

/// Number of keys that match at least one result.
fn distinct(keys: &[&ResultKey], results: &[TargetResult]) -> u64 {
    keys.iter().filter(|key| results.iter().any(|found| names(key, found))).count() as u64
}

/// Number of positions with a relevant result. Each key counts at its first match only, so further
/// chunks of the same document add nothing.
fn places(keys: &[&ResultKey], results: &[TargetResult]) -> u64 {
    let mut left = keys.to_vec();
    let is_new = |found: &&TargetResult| {
        let before = left.len();
        left.retain(|key| !names(key, found));
        left.len() < before
    };
    results.iter().filter(is_new).count() as u64
}

/// Whether a document id matches an expected id. An expected id without a source matches any
/// source.
pub fn matches_expected(meant: &str, document: &str) -> bool {
    let bare = document.rsplit_once("::").map(|(_, slug)| slug);
    meant == document || (!meant.contains("::") && bare == Some(meant))
}

fn names(key: &ResultKey, found: &TargetResult) -> bool {
    match key.kind {
        KeyKind::Document => matches_expected(&key.id, &found.document),
        KeyKind::Chunk | KeyKind::Observation => found.chunk.as_deref() == Some(&*key.id),
    }
}

#[cfg(test)]
mod tests {
    use super::super::query::{Difficulty, ExpectedSnippet, QuestionFamily};
    use super::super::sample::tests::query;
    use super::*;
    use crate::suite::graph::EdgeCheck;
    use crate::target::{GraphEvidence, RationaleEdge, TargetTimings};

    fn found(document: &str) -> TargetResult {
        TargetResult {
            document: document.to_owned(),
            chunk: Some(format!("{document}#0")),
            ..TargetResult::default()
        }
    }

    fn answer(documents: &[&str]) -> TargetAnswer {
        TargetAnswer {
            results: documents.iter().map(|one| found(one)).collect(),
            ..Default::default()
        }
    }

    fn holds(_: &RationaleEdge) -> EdgeCheck {
        EdgeCheck::Holds
    }

    fn keys(ids: &[&str]) -> Vec<ResultKey> {
        ids.iter().map(|id| ResultKey { kind: KeyKind::Document, id: (*id).to_owned() }).collect()
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
            RationaleRequirement::Yes,
            &Ok(answer(&["x", "wiki::c", "y", "a", "a", "z", "b"])),
            &holds,
        );
        assert_eq!(case.rank, Some(2));
        assert_eq!((case.found, case.expected, case.relevant), ([1, 2], 2, [2, 3]));
        assert!(case.is_hit(5) && case.flags.is_empty() && !case.is_failing());
        let far = judge(
            &asked(),
            RationaleRequirement::Yes,
            &Ok(answer(&["1", "2", "3", "4", "5", "b"])),
            &holds,
        );
        assert!(!far.is_hit(5) && far.is_hit(10));
        let too_far = answer(&["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "a"]);
        assert_eq!(
            judge(&asked(), RationaleRequirement::Yes, &Ok(too_far), &holds).flags,
            [CaseDefect::MissingResult]
        );
    }

    #[test]
    fn chunks_are_named_by_their_own_ids() {
        let key = |id: &str| vec![ResultKey { kind: KeyKind::Chunk, id: id.to_owned() }];
        let of_chunk = |id| CanonicalQuery { expected: key(id), acceptable: Vec::new(), ..asked() };
        assert_eq!(
            judge(&of_chunk("a#0"), RationaleRequirement::Yes, &Ok(answer(&["a"])), &holds).rank,
            Some(1)
        );
        assert_eq!(
            judge(&of_chunk("a"), RationaleRequirement::Yes, &Ok(answer(&["a"])), &holds).rank,
            None
        );
        let qualified =
            CanonicalQuery { expected: keys(&["wiki::a"]), acceptable: Vec::new(), ..asked() };
        assert_eq!(
            judge(&qualified, RationaleRequirement::Yes, &Ok(answer(&["port::a"])), &holds).rank,
            None
        );
    }

    /// A place that several keys name is one place.
    #[test]
    fn places_are_counted_and_not_keys() {
        let chunk = |id: &str| ResultKey { kind: KeyKind::Chunk, id: id.to_owned() };
        let check = |expected: Vec<ResultKey>, documents: &[&str], relevant: [u64; 2]| {
            let asked = CanonicalQuery { expected, acceptable: keys(&["wiki::a"]), ..asked() };
            let case = judge(&asked, RationaleRequirement::No, &Ok(answer(documents)), &holds);
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
        let case = judge(&asked(), RationaleRequirement::Yes, &Err(error), &holds);
        assert_eq!((case.error, case.rank), (Some(TargetErrorKind::Timeout), None));
        assert_eq!(case.flags, [CaseDefect::MissingResult]);
        assert!(case.is_failing() && case.total_ms.is_none());
    }

    #[test]
    fn highlights_of_what_was_found() {
        let wanted = vec![ExpectedSnippet { text: "forty berths".to_owned(), at: None }];
        let asked = CanonicalQuery { snippets: wanted, ..asked() };
        let shown = |snippet: Option<&str>, text: Option<&str>| {
            let mut answer = answer(&["a"]);
            answer.results[0].snippet = snippet.map(str::to_owned);
            answer.results[0].text = text.map(str::to_owned);
            judge(&asked, RationaleRequirement::Yes, &Ok(answer), &holds)
        };
        assert_eq!(shown(Some("plans forty berths"), None).flags, []);
        assert_eq!(shown(Some("plans nothing"), None).flags, [CaseDefect::WrongSnippet]);
        assert_eq!(shown(None, None).flags, [CaseDefect::WrongSnippet]);
        let made_up = shown(Some("plans forty berths"), Some("plans fifty berths"));
        assert_eq!(made_up.flags, [CaseDefect::HallucinatedContent]);
        assert_eq!(
            judge(&asked, RationaleRequirement::Yes, &Ok(answer(&["x"])), &holds).highlight,
            None,
            "recall punishes it"
        );
    }

    #[test]
    fn questions_about_links() {
        let asked = CanonicalQuery {
            family: Some(QuestionFamily::Ownership),
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
        let rationale = GraphEvidence { edges: vec![edge], ..GraphEvidence::default() };
        let with = TargetAnswer { rationale: Some(rationale), ..answer(&["x"]) };
        let case = judge(&asked, RationaleRequirement::Yes, &Ok(with), &holds);
        assert_eq!((case.graph_answer, case.rationale_present), (Some(true), Some(true)));
        assert_eq!((case.faith, case.is_failing()), (Some(Faithfulness::Faithful), false));
        let without = judge(&asked, RationaleRequirement::Yes, &Ok(answer(&["a"])), &holds);
        assert_eq!((without.graph_answer, without.rationale_present), (Some(true), Some(false)));
        assert!(without.is_failing());
        // A plain search needs no rationale unless the answer came from links.
        let mut found = answer(&["a"]);
        let plain = judge(&asked, RationaleRequirement::No, &Ok(found.clone()), &holds);
        assert_eq!((plain.rationale_present, plain.is_failing()), (None, false));
        found.mode = Some(RetrievalMode::Graph);
        let linked = judge(&asked, RationaleRequirement::No, &Ok(found), &holds);
        assert_eq!(linked.rationale_present, Some(false));
    }

    #[test]
    fn times_of_stages() {
        let mut slow = answer(&["a"]);
        slow.latency_ms = 200.0;
        slow.timings = TargetTimings {
            dense_ms: Some(40.0),
            total_ms: Some(120.0),
            ..TargetTimings::default()
        };
        let case = judge(&asked(), RationaleRequirement::Yes, &Ok(slow), &holds);
        assert_eq!((case.total_ms, case.stages_ms), (Some(120.0), [Some(40.0), None, None]));
    }
}
