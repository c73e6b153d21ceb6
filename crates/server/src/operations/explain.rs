//! `explain`: the ranking of a query with the effect of every stage, and with other search settings
//! than the live ones; and the rows of a baseline that other settings would change.
//!
//! Promises: nothing is captured, logged, cached or stored, so that trying settings leaves no trace
//! in captures; no expander and no reranker is called, so that it costs no more than a `query`. The
//! live and the tried ranking come from the same corpus.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gbrain_brain::{Brain, BrainError, QueryOptions, QueryResponse, Snapshot, search_settings};
use gbrain_core::capture::{CapturedPage, CapturedRow};
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::format::Answer;
use gbrain_core::format::ask::AskBody;
use gbrain_core::id::PageKey;
use gbrain_core::overlap::jaccard;
use gbrain_core::ranking::RERANK;
use gbrain_core::replay::{LiveContext, SettingsSource, ask};
use gbrain_core::request::{Filter, Operation, Request, Viewer};
use gbrain_core::search::{SettingInfo, Settings};
use gbrain_llm::ModelTask;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::bounds::within;
use super::documents::{self, DocumentName, baseline};
use super::pages::parse_page_name;
use crate::http::{NoParameters, OperationCall, Reply};

/// The settings that a reader may try: those that only weigh what is found. Those that call models,
/// or make a search much longer, are the owner's to set.
const TRIABLE: &[&str] = &[
    "words_weight",
    "vectors_weight",
    "vectors_weight_entity",
    "vectors_weight_relational",
    "vectors_chat_factor",
    "graph_weight",
    "title_boost",
    "recency_boost",
    "recency_half_life_days",
    "window_boost",
    "backlink_boost",
    "boost_max",
    "bm25_k1",
    "bm25_b",
    "exact_weight",
    "page_weight",
    "vectors_least",
    "graph_hop_factor",
    "graph_expired_factor",
    "pool",
    "duplicate_overlap",
    "cut_ratio",
];

/// A query to explain.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainQuery {
    /// The query and its filters, as for `query`. It is never expanded or captured.
    ask: AskBody,
    /// The operation to explain; `query` by default.
    #[serde(default)]
    operation: Option<Operation>,
    /// Search settings to try instead of the live ones, by name without `search.`.
    #[serde(default)]
    #[schemars(schema_with = "triable_schema")]
    settings: BTreeMap<String, f64>,
}

/// A ranking explained.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Explanation<'a> {
    /// The ranking with the tried settings, with the effect of every stage on every hit.
    answer: Answer<'a>,
    /// The ranking with the live settings; null when no other setting is tried.
    live: Option<Vec<RankedPage>>,
    /// The settings that may be tried.
    settings: Vec<TriableSetting>,
    /// Stages that the brain has and an explanation leaves out, because they call paid models.
    left_out: Vec<&'static str>,
}

/// A page of a ranking.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RankedPage {
    /// The page, as `source::slug`.
    page: PageKey,
    title: String,
    rank: usize,
    score: f64,
}

/// A search setting that may be tried.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TriableSetting {
    /// Name without `search.`.
    name: &'static str,
    /// Its purpose and the reason for its default.
    reason: &'static str,
    /// The value that was tried.
    value: f64,
    /// The value of the brain.
    live: f64,
    default: f64,
    min: f64,
    max: f64,
}

pub(crate) fn explain(
    call: &OperationCall<'_>,
    _: NoParameters,
    body: ExplainQuery,
) -> Result<Reply, Fault> {
    let service = call.registry.query_service(&call.principal.workspace)?;
    let config = service.brain().config()?;
    let live = search_settings(&config)?;
    let tried = with_settings(&live, &body.settings)?;
    let asked = AskBody { expand: Some(false), ..body.ask };
    let operation = body.operation.unwrap_or_default();
    let request = asked.request(operation, tried.clone(), Viewer::Untrusted, call.now)?;
    let why_not = asked.why_not.as_deref().map(parse_page_name).transpose()?;
    let snapshot = snapshot(call, service.brain())?;
    let is_stopped = || call.stop.is_stopped();
    let options =
        QueryOptions { explain: true, why_not, is_stopped: &is_stopped, ..QueryOptions::default() };
    let answered = snapshot.answer(&request, &options)?;
    let live_pages = if tried == live {
        None
    } else {
        let request = Request { settings: live.clone(), ..request };
        let options = QueryOptions { is_stopped: &is_stopped, ..QueryOptions::default() };
        Some(ranked_pages(&snapshot.answer(&request, &options)?))
    };
    Reply::json(&Explanation {
        answer: Answer::new(&answered.request, &answered.ranking, &answered.served),
        live: live_pages,
        settings: triable_settings(&tried, &live),
        left_out: left_out(&config),
    })
}

fn left_out(config: &BTreeMap<String, String>) -> Vec<&'static str> {
    config.contains_key(ModelTask::Rerank.key()).then_some(RERANK).into_iter().collect()
}

/// The corpus that both rankings come from.
fn snapshot(call: &OperationCall<'_>, brain: &Brain) -> Result<Snapshot, Fault> {
    let snapshot = brain.snapshot(&|_, _| match call.stop.is_stopped() {
        true => Err(BrainError::Halted),
        false => Ok(()),
    });
    Ok(snapshot?)
}

/// The live settings with others in their place.
fn with_settings(live: &Settings, tried: &BTreeMap<String, f64>) -> Result<Settings, Fault> {
    let mut settings = live.clone();
    for (name, value) in tried {
        if !TRIABLE.contains(&name.as_str()) {
            return Err(Fault::usage(format!("the setting `{name}` cannot be tried"))
                .hint(format!("these can: {}", TRIABLE.join(", "))));
        }
        let set = settings.set(name, &value.to_string());
        set.map_err(|error| Fault::of(FaultKind::Usage, &error))?;
    }
    Ok(settings)
}

/// The schema of settings to try: each with its range.
fn triable_schema(_: &mut SchemaGenerator) -> Schema {
    let properties: serde_json::Map<String, serde_json::Value> = Settings::ALL
        .iter()
        .filter(|info| TRIABLE.contains(&info.name))
        .map(|info| {
            let (least, most) = (info.range.start(), info.range.end());
            let range = json!({ "type": "number", "minimum": least, "maximum": most });
            (info.name.to_owned(), range)
        })
        .collect();
    json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn triable_settings(tried: &Settings, live: &Settings) -> Vec<TriableSetting> {
    let info = |name: &&str| Settings::ALL.iter().find(|info| info.name == *name);
    let value_in = |settings: &Settings, info: &SettingInfo| {
        let values = settings.values();
        values.iter().find(|(name, _)| *name == info.name).map_or(info.default, |(_, value)| *value)
    };
    let row = |info: &SettingInfo| TriableSetting {
        name: info.name,
        reason: info.reason,
        value: value_in(tried, info),
        live: value_in(live, info),
        default: info.default,
        min: *info.range.start(),
        max: *info.range.end(),
    };
    TRIABLE.iter().filter_map(info).map(row).collect()
}

fn ranked_pages(answered: &QueryResponse) -> Vec<RankedPage> {
    let hits = answered.ranking.hits.iter();
    hits.map(|hit| RankedPage {
        page: hit.key.clone(),
        title: hit.title.clone(),
        rank: hit.rank,
        score: hit.score,
    })
    .collect()
}

/// Most rows of a baseline that settings are tried on.
const MAX_ROWS: u32 = 500;
/// Most changed rows that are shown.
const MAX_SHOWN: usize = 50;
/// How long rows are asked; well within the time that a caller waits.
const BUDGET: Duration = Duration::from_secs(10);

/// The settings to try on the rows of a baseline.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrySettings {
    /// Search settings to try instead of the live ones, by name without `search.`.
    #[schemars(schema_with = "triable_schema")]
    settings: BTreeMap<String, f64>,
    /// The maximum number of rows, from the start of the baseline; 500 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
}

/// The rows of a baseline that other settings would change.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct SettingsTrial {
    /// Name of the baseline.
    baseline: String,
    /// Number of rows in the baseline.
    rows: usize,
    /// Rows that were asked with the live and with the tried settings.
    compared: usize,
    /// Rows that cannot be asked, such as one with a scrubbed filter, or that failed.
    skipped: usize,
    /// Compared rows whose answer differs, order included.
    changed: usize,
    /// Compared rows with another first page.
    first_changed: usize,
    /// Compared rows with the recorded pages in the recorded order, with the live settings.
    as_recorded_live: usize,
    /// The same with the tried settings.
    as_recorded_tried: usize,
    /// Whether all rows were compared or skipped; false when time or the limit ran out.
    is_complete: bool,
    /// The changed rows, those that change most first.
    worst: Vec<MovedRow>,
}

/// A row whose answer would change.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MovedRow {
    /// Line in the baseline, from 1.
    line: usize,
    query: String,
    /// Share of pages that both answers hold.
    jaccard: f64,
    /// The pages with the live settings, best first.
    live: Vec<PageKey>,
    /// The pages with the tried settings, best first.
    tried: Vec<PageKey>,
}

impl MovedRow {
    fn is_first_changed(&self) -> bool {
        self.live.first() != self.tried.first()
    }
}

pub(crate) fn try_settings(
    call: &OperationCall<'_>,
    input: DocumentName,
    body: TrySettings,
) -> Result<Reply, Fault> {
    within("limit", body.limit, 1..=MAX_ROWS)?;
    let name = documents::checked(input.name)?;
    let rows = baseline(call.registry, &call.principal.workspace, &name)?.rows;
    let service = call.registry.query_service(&call.principal.workspace)?;
    let live = service.brain().settings()?;
    let tried = with_settings(&live, &body.settings)?;
    let snapshot = snapshot(call, service.brain())?;
    let live = LiveContext { settings: live, now: call.now };
    let trial = RowTrial { call, snapshot: &snapshot, live, tried };
    let limit = body.limit.unwrap_or(MAX_ROWS) as usize;
    Reply::json(&trial.run(name, &rows, limit)?)
}

/// Asks rows with two settings.
struct RowTrial<'a> {
    call: &'a OperationCall<'a>,
    snapshot: &'a Snapshot,
    live: LiveContext,
    tried: Settings,
}

/// The answers to one row.
struct TriedRow<'r> {
    recorded: &'r [CapturedPage],
    row: MovedRow,
}

impl RowTrial<'_> {
    fn run(
        &self,
        baseline: String,
        rows: &[CapturedRow],
        limit: usize,
    ) -> Result<SettingsTrial, Fault> {
        let mut trial = SettingsTrial { baseline, rows: rows.len(), ..SettingsTrial::default() };
        let until = Instant::now() + BUDGET;
        let mut changed = Vec::new();
        for row in rows.iter().take(limit) {
            if Instant::now() > until {
                break;
            }
            self.call.check_stop()?;
            match self.ask(row)? {
                Some(tried) => trial.add(tried, &mut changed),
                None => trial.skipped += 1,
            }
        }
        trial.is_complete = trial.compared + trial.skipped == trial.rows;
        changed.sort_by(|a, b| {
            let key = |row: &MovedRow| (!row.is_first_changed(), row.jaccard);
            let ((a_first, a_share), (b_first, b_share)) = (key(a), key(b));
            a_first.cmp(&b_first).then(a_share.total_cmp(&b_share)).then(a.line.cmp(&b.line))
        });
        changed.truncate(MAX_SHOWN);
        Ok(SettingsTrial { worst: changed, ..trial })
    }

    /// The answers to a row; none if it cannot be asked.
    fn ask<'r>(&self, row: &'r CapturedRow) -> Result<Option<TriedRow<'r>>, Fault> {
        let Ok(asked) = ask(row, &self.live, SettingsSource::Live) else { return Ok(None) };
        let filter = Filter { trust: Viewer::Untrusted, ..asked.request.filter.clone() };
        let request = Request { filter, ..asked.request };
        let (Some(live), Some(tried)) = (
            self.pages(&request)?,
            self.pages(&Request { settings: self.tried.clone(), ..request.clone() })?,
        ) else {
            return Ok(None);
        };
        let recorded = row.expected().unwrap_or_default();
        let (line, query, jaccard) = (row.line, row.query.clone(), jaccard(&live, &tried));
        Ok(Some(TriedRow { recorded, row: MovedRow { line, query, jaccard, live, tried } }))
    }

    /// The pages of an answer; none if it failed.
    fn pages(&self, request: &Request) -> Result<Option<Vec<PageKey>>, Fault> {
        let is_stopped = || self.call.stop.is_stopped();
        let options = QueryOptions { is_stopped: &is_stopped, ..QueryOptions::default() };
        match self.snapshot.answer(request, &options) {
            Ok(answered) => {
                Ok(Some(answered.ranking.hits.into_iter().map(|hit| hit.key).collect()))
            }
            Err(BrainError::Halted) => self.call.check_stop().map(|()| None),
            Err(error) => {
                tracing::warn!(message = %error, "a row of a baseline could not be asked");
                Ok(None)
            }
        }
    }
}

impl SettingsTrial {
    fn add(&mut self, TriedRow { recorded, row }: TriedRow<'_>, changed: &mut Vec<MovedRow>) {
        let is_as_recorded = |pages: &[PageKey]| {
            pages.len() == recorded.len()
                && pages.iter().zip(recorded).all(|(page, one)| is_same(page, one))
        };
        self.compared += 1;
        self.as_recorded_live += usize::from(is_as_recorded(&row.live));
        self.as_recorded_tried += usize::from(is_as_recorded(&row.tried));
        if row.live != row.tried {
            self.changed += 1;
            self.first_changed += usize::from(row.is_first_changed());
            changed.push(row);
        }
    }
}

/// A name that scrubbing changed is no page's.
fn is_same(page: &PageKey, recorded: &CapturedPage) -> bool {
    let is_source = recorded.source.as_deref().is_none_or(|source| source == page.source.as_str());
    is_source && recorded.slug == page.slug.as_str() && recorded.key_hash.is_none()
}
