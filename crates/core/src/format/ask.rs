//! A query on the wire: the input of `/v1/search` and `/v1/query`, and of the tools of the same
//! names.
//!
//! The command line builds its requests here too, so that a query means the same on every
//! interface. Agents read the descriptions of the fields.

use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capture::QUERY_MAX_BYTES;
use crate::fault::Fault;
use crate::id::SourceId;
use crate::request::{
    Caller, Detail, Expansion, Filter, Operation, Request, RetrievalMode, Viewer,
};
use crate::search::Settings;

/// Default number of pages in an answer.
pub(crate) const DEFAULT_LIMIT: u16 = 10;

/// Maximum number of pages in an answer.
pub(crate) const MAX_LIMIT: u16 = 1_000;

/// Maximum number of sources, types or tags in a filter.
pub(crate) const MAX_NAMES: usize = 100;

/// A query to the brain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskBody {
    /// The query: a question or a few words in plain language. It is text, not syntax: quotes,
    /// dashes and colons have no special meaning. At most 51200 bytes of UTF-8.
    #[schemars(length(min = 1, max = 51_200), regex(pattern = r"\S"))]
    pub query: String,
    /// Number of pages to return; 10 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u16>,
    /// How much of each page to show: `low` is the compiled truth and one passage, `medium` adds
    /// the timeline, `high` is everything. By default the query decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
    /// Which retrieval a `query` uses: `knowledge` is words and vectors, `graph` is names and typed
    /// links, `hybrid` (the default) is both. A `search` uses words only.
    #[serde(default, alias = "mode", skip_serializing_if = "Option::is_none")]
    pub retrieval_mode: Option<RetrievalMode>,
    /// Only pages of these sources; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), inner(regex(pattern = r"^[a-z0-9][a-z0-9-]{0,31}$")))]
    pub sources: Vec<String>,
    /// Only pages of these types, such as `person` or `meeting`; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub types: Vec<String>,
    /// Only pages with at least one of these tags; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub tags: Vec<String>,
    /// Only pages dated on or after this day, such as 2026-03-01. Pages without a date are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date"))]
    pub since: Option<String>,
    /// Only pages dated on or before this day, such as 2026-03-31. Pages without a date are left
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date"))]
    pub until: Option<String>,
    /// The time that "recent" is measured against, such as 2026-03-01T12:00:00Z; the present by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub now: Option<String>,
    /// Whether a `query` may use vectors as well as words; true by default. A `search` never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<bool>,
    /// Whether a model may rephrase a `query` and the variants are searched too; the default is a
    /// setting of the brain. A `search` is never expanded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expand: Option<bool>,
    /// Whether to report what each stage did to each hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<bool>,
    /// A page, as a slug or `source::slug`: the answer reports where it was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 546))]
    pub why_not: Option<String>,
    /// The requesting job. Stored with the capture; rankings do not depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    pub job_id: Option<i64>,
    /// The requesting subagent. Stored with the capture; rankings do not depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    pub subagent_id: Option<i64>,
}

impl AskBody {
    /// Builds the request of a remote caller; the body must respect the limits of the schema.
    pub fn request(
        &self,
        operation: Operation,
        settings: Settings,
        trust: Viewer,
        now: Timestamp,
    ) -> Result<Request, Fault> {
        self.check()?;
        self.request_of_owner(operation, settings, trust, now)
    }

    /// Builds the request of the local owner, whose query may be empty or of any length.
    pub fn request_of_owner(
        &self,
        operation: Operation,
        settings: Settings,
        trust: Viewer,
        now: Timestamp,
    ) -> Result<Request, Fault> {
        let (mode, vectors) = match operation {
            Operation::Search => (RetrievalMode::Knowledge, false),
            Operation::Query => {
                (self.retrieval_mode.unwrap_or(RetrievalMode::Hybrid), self.vectors.unwrap_or(true))
            }
        };
        Ok(Request {
            operation,
            query: self.query.clone(),
            limit: self.limit()?,
            detail: self.detail,
            mode,
            filter: self.filter(trust)?,
            vectors,
            expansion: self.expansion(operation, &settings),
            now: self.now.as_deref().map_or(Ok(now), moment)?,
            settings,
        })
    }

    fn expansion(&self, operation: Operation, settings: &Settings) -> Expansion {
        let is_wanted = self.expand.unwrap_or(settings.expand >= 0.5);
        match operation {
            Operation::Query if is_wanted => Expansion::Requested,
            Operation::Query | Operation::Search => Expansion::Off,
        }
    }

    pub fn caller(&self, remote: bool) -> Caller {
        Caller { remote, job_id: self.job_id, subagent_id: self.subagent_id }
    }

    /// Whether to report what each stage did.
    pub fn explains(&self) -> bool {
        self.explain.unwrap_or(false)
    }

    fn check(&self) -> Result<(), Fault> {
        if self.query.trim().is_empty() {
            return Err(Fault::usage("`query` is blank").hint("say what to look for"));
        }
        if self.query.len() > QUERY_MAX_BYTES {
            let length = self.query.len();
            return Err(Fault::usage(format!(
                "`query` has {length} bytes, and at most {QUERY_MAX_BYTES} are read"
            )));
        }
        let lists = [("sources", &self.sources), ("types", &self.types), ("tags", &self.tags)];
        if let Some((name, list)) = lists.into_iter().find(|(_, list)| list.len() > MAX_NAMES) {
            let length = list.len();
            return Err(Fault::usage(format!("`{name}` has {length} names, at most {MAX_NAMES}")));
        }
        let numbers = [("job_id", self.job_id), ("subagent_id", self.subagent_id)];
        match numbers.into_iter().find(|(_, n)| n.is_some_and(|n| !Caller::ID_RANGE.contains(&n))) {
            Some((name, _)) => {
                let most = Caller::ID_RANGE.end();
                Err(Fault::usage(format!("`{name}` takes a number from 0 to {most}")))
            }
            None => Ok(()),
        }
    }

    fn limit(&self) -> Result<usize, Fault> {
        match self.limit.unwrap_or(DEFAULT_LIMIT) {
            limit @ 1..=MAX_LIMIT => Ok(usize::from(limit)),
            limit => Err(Fault::usage(format!(
                "`limit` is {limit}; it takes a number from 1 to {MAX_LIMIT}"
            ))),
        }
    }

    fn filter(&self, trust: Viewer) -> Result<Filter, Fault> {
        let sources = self.sources.iter().map(|id| SourceId::new(id)).collect::<Result<_, _>>()?;
        Ok(Filter {
            sources,
            types: self.types.clone(),
            tags: self.tags.iter().map(|tag| tag.to_lowercase()).collect(),
            since: self.since.as_deref().map(|text| day("since", text)).transpose()?,
            until: self.until.as_deref().map(|text| day("until", text)).transpose()?,
            trust,
            truth_only: false,
        })
    }
}

/// Parses a day exactly as the schema spells it; other spellings are refused.
fn day(name: &str, text: &str) -> Result<Date, Fault> {
    let date = text.parse().ok().filter(|date: &Date| date.to_string() == text);
    date.ok_or_else(|| {
        Fault::usage(format!("`{name}` is {text:?}, expected a day such as 2026-03-01"))
    })
}

fn moment(text: &str) -> Result<Timestamp, Fault> {
    text.parse().map_err(|_| {
        Fault::usage(format!("`now` is {text:?}, expected a time such as 2026-03-01T12:00:00Z"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::format::body;

    fn ask(body: serde_json::Value) -> Result<Request, Fault> {
        let body: AskBody = body::read(body.to_string().as_bytes())
            .map_err(|error| Fault::input("the body can't be read", &error))?;
        body.request(
            Operation::Query,
            Settings::default(),
            Viewer::Untrusted,
            Timestamp::UNIX_EPOCH,
        )
    }

    #[test]
    fn omitted_fields_have_defaults() {
        let request = ask(json!({ "query": "berths" })).unwrap();
        assert_eq!((request.limit, request.detail), (10, None));
        assert_eq!((request.mode, request.vectors), (RetrievalMode::Hybrid, true));
        assert_eq!(request.filter, Filter::default());
        assert_eq!(request.now, Timestamp::UNIX_EPOCH);
    }

    #[test]
    fn given_fields_are_passed_on() {
        let request = ask(json!({
            "query": "berths", "limit": 3, "detail": "low", "mode": "graph", "sources": ["wiki"],
            "types": ["person"], "tags": ["Ops"], "since": "2026-01-01", "until": "2026-02-01",
            "now": "2026-03-01T12:00:00Z", "vectors": false,
        }))
        .unwrap();
        assert_eq!((request.limit, request.detail), (3, Some(Detail::Low)));
        assert_eq!((request.mode, request.vectors), (RetrievalMode::Graph, false));
        assert_eq!(request.filter.sources, [SourceId::new("wiki").unwrap()]);
        assert_eq!(request.filter.tags, ["ops"]);
        assert_eq!(request.filter.since.unwrap().to_string(), "2026-01-01");
        assert_eq!(request.now.to_string(), "2026-03-01T12:00:00Z");
    }

    #[test]
    fn expansion_is_as_the_caller_says_or_the_settings() {
        let check = |operation, expand, setting: &str, expected| {
            let body = AskBody { query: "a".to_owned(), expand, ..AskBody::default() };
            let mut settings = Settings::default();
            settings.set("expand", setting).unwrap();
            let now = Timestamp::UNIX_EPOCH;
            let request = body.request(operation, settings, Viewer::Trusted, now).unwrap();
            assert_eq!(request.expansion, expected);
        };
        check(Operation::Query, None, "0", Expansion::Off);
        check(Operation::Query, None, "1", Expansion::Requested);
        check(Operation::Query, Some(true), "0", Expansion::Requested);
        check(Operation::Query, Some(false), "1", Expansion::Off);
        check(Operation::Search, Some(true), "1", Expansion::Off);
    }

    #[test]
    fn a_search_is_words_alone() {
        let body =
            AskBody { query: "berths".to_owned(), vectors: Some(true), ..AskBody::default() };
        let now = Timestamp::UNIX_EPOCH;
        let request =
            body.request(Operation::Search, Settings::default(), Viewer::Trusted, now).unwrap();
        assert_eq!((request.mode, request.vectors), (RetrievalMode::Knowledge, false));
    }

    #[test]
    fn faults_say_what_is_wrong() {
        let check = |body: serde_json::Value, words: &[&str]| {
            let message = ask(body).unwrap_err().message;
            assert!(words.iter().all(|word| message.contains(word)), "{message}");
        };
        check(json!({ "query": " \t" }), &["`query` is blank"]);
        check(json!({ "query": "å".repeat(25_601) }), &["51202 bytes", "51200"]);
        check(json!({ "query": "a", "limit": 0 }), &["`limit` is 0", "1 to 1000"]);
        check(json!({ "query": "a", "limit": 1001 }), &["`limit` is 1001"]);
        check(
            json!({ "query": "a", "detail": "huge" }),
            &["`huge`", "`low`", "`medium`", "`high`"],
        );
        check(json!({ "query": "a", "mode": "x" }), &["`x`", "`knowledge`", "`graph`", "`hybrid`"]);
        check(json!({ "query": "a", "sources": ["A"] }), &["source \"A\""]);
        check(json!({ "query": "a", "tags": vec!["t"; 101] }), &["`tags` has 101"]);
        check(json!({ "query": "a", "since": "20260301" }), &["`since`", "2026-03-01"]);
        check(json!({ "query": "a", "now": "noon" }), &["`now`", "2026-03-01T12:00:00Z"]);
        check(json!({ "query": "a", "job_id": -1 }), &["`job_id`"]);
        check(json!({ "query": "a", "colour": "red" }), &["unknown field `colour`"]);
        check(json!({ "limit": 1 }), &["missing field `query`"]);
    }
}
