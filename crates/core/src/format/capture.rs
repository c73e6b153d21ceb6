//! Captures on the wire: the additive fields of a row as written, and whole rows as read, from this
//! gbrain or another.
//!
//! Fields are matched by name and unknown keys are ignored, as schema 1 requires. A row of another
//! schema version is refused rather than misread.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::capture::{CAPTURE_VERSION, CapturedPage, CapturedRow, ObservedAnswer, ScrubbedFilter};
use crate::hash::Hash;
use crate::id::SourceId;
use crate::identity::{IdentityKey, is_identity_hash, is_key_id};
use crate::latency::{CPU_METHOD, CpuTime};
use crate::provenance::{CorpusSnapshot, Provenance, Software};
use crate::ranking::{CacheUse, CorpusFingerprint, DegradedStage, is_query_specific};
use crate::request::{Detail, Filter, Operation, REQUEST_VERSION, Request, RetrievalMode, Viewer};
use crate::scrub::{MARKER, ScrubFamily};
use crate::search::{RERANK_THRESHOLD_OF, SOURCE_WEIGHT, Settings};

/// The longest accepted latency: about thirty years. Sums of accepted latencies stay finite.
const MAX_LATENCY_MS: f64 = 1e12;

/// The largest accepted number of timing repeats.
const MAX_CPU_REPEATS: u32 = 100;

/// The most variants a request can have: the upper bound of `search.expand_variants`.
const MAX_VARIANTS: usize = 10;

/// Why a line is not a capture row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    #[error("not JSON ({0})")]
    Json(String),
    #[error("not a JSON object")]
    NotAnObject,
    #[error("no `schema_version`; rows of an export begin with it: export again")]
    NoVersion,
    #[error("`schema_version` {0} is not 1: use the gbrain that wrote it, or export again")]
    OtherVersion(String),
    /// A field has the wrong type or an unknown value.
    #[error("`{field}` is {found}, expected {expected}")]
    Field { field: &'static str, found: String, expected: &'static str },
}

/// The fields that make a row reproducible, in addition to those of schema 1.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CaptureExtra")]
pub struct ReproductionFields<'a> {
    request_version: u32,
    retrieved: Vec<WirePage<'a>>,
    limit: usize,
    retrieval_mode: RetrievalMode,
    vectors: bool,
    source_scope: &'a [String],
    filters: WireFilters<'a>,
    #[serde(skip_serializing_if = "is_false")]
    filters_scrubbed: bool,
    trust: Viewer,
    now: String,
    settings: BTreeMap<String, f64>,
    settings_hash: String,
    software: &'a Software,
    corpus: &'a CorpusSnapshot,
    embedder: Option<&'a str>,
    expansion_variants: &'a [String],
    #[serde(skip_serializing_if = "is_false")]
    expansion_scrubbed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    rerank_model: Option<&'a str>,
    cache_hit: bool,
    cache: CacheUse,
    degraded: &'a [DegradedStage],
    scrubbed: bool,
    #[serde(skip_serializing_if = "<[ScrubFamily]>::is_empty")]
    scrub_families: &'a [ScrubFamily],
    #[serde(skip_serializing_if = "Option::is_none")]
    scrubbed_retrieved: Option<Vec<WirePage<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scrub_jaccard: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity_key_id: Option<String>,
    synthetic: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_time: Option<WireCpuTime>,
}

/// The input of [`ReproductionFields::new`].
#[derive(Debug)]
pub struct ExtraParts<'a> {
    pub observed: &'a ObservedAnswer,
    pub retrieved: &'a [CapturedPage],
    /// The scrubbed texts of the filter.
    pub filter: &'a ScrubbedFilter,
    /// The settings as [`settings_map`] returns them, with page names scrubbed.
    pub settings: BTreeMap<String, f64>,
    /// The scrubbed variants of the query.
    pub variants: &'a [String],
    /// Families scrubbed from the query and its variants.
    pub scrub_families: &'a [ScrubFamily],
    /// The pages that the scrubbed query retrieves, if they differ.
    pub scrubbed_retrieved: Option<&'a [CapturedPage]>,
    /// The key of the hashes, if known.
    pub identity: Option<&'a IdentityKey>,
    pub software: &'a Software,
    /// Whether the brain is synthetic.
    pub synthetic: bool,
}

/// A page by source and slug.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CapturedPage")]
struct WirePage<'a> {
    source_id: &'a str,
    slug: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_hash: Option<&'a str>,
}

/// The filter of the request.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "CapturedFilters")]
struct WireFilters<'a> {
    types: Cow<'a, [String]>,
    tags: Cow<'a, [String]>,
    since: Option<String>,
    until: Option<String>,
}

/// CPU time of the retrieval and of a fixed calibration workload.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CapturedCpuTime")]
struct WireCpuTime {
    #[serde(flatten)]
    time: CpuTime,
    method: &'static str,
}

impl<'a> ReproductionFields<'a> {
    pub fn new(parts: ExtraParts<'a>) -> Self {
        let ExtraParts {
            observed,
            retrieved,
            filter: texts,
            settings: named_settings,
            variants,
            scrub_families,
            scrubbed_retrieved,
            identity,
            software,
            synthetic,
        } = parts;
        let ObservedAnswer {
            request,
            caller: _,
            retrieved: _,
            chunk_ids: _,
            detail_resolved: _,
            embedder,
            expansion_applied: _,
            rerank_model,
            cache,
            degraded,
            corpus,
            latency_ms: _,
            call_cpu_ms: _,
            cpu_time,
        } = observed;
        let Request {
            operation: _,
            query: _,
            limit,
            detail: _,
            mode,
            filter,
            vectors,
            expansion,
            now,
            settings,
        } = request;
        let Filter { sources: _, types: _, tags: _, since, until, trust, truth_only: _ } = filter;
        let ScrubbedFilter { sources, types, tags, is_changed } = texts;
        let mut pages = retrieved.iter().chain(scrubbed_retrieved.unwrap_or_default());
        let has_hash = pages.any(|page| page.key_hash.is_some());
        Self {
            request_version: REQUEST_VERSION,
            retrieved: pages_of(retrieved),
            limit: *limit,
            retrieval_mode: *mode,
            vectors: *vectors,
            source_scope: sources,
            filters_scrubbed: *is_changed,
            filters: WireFilters {
                types: types.into(),
                tags: tags.into(),
                since: since.map(|date| date.to_string()),
                until: until.map(|date| date.to_string()),
            },
            trust: *trust,
            now: now.to_string(),
            settings: named_settings,
            settings_hash: settings.hash(),
            software,
            corpus,
            embedder: embedder.as_deref(),
            expansion_variants: variants,
            expansion_scrubbed: variants != expansion.variants(),
            rerank_model: rerank_model.as_deref(),
            cache_hit: *cache == CacheUse::Hit,
            cache: *cache,
            degraded,
            scrubbed: !scrub_families.is_empty(),
            scrub_families,
            scrub_jaccard: scrubbed_retrieved
                .map(|again| crate::overlap::jaccard(retrieved, again)),
            scrubbed_retrieved: scrubbed_retrieved.map(pages_of),
            identity_key_id: identity.filter(|_| has_hash).map(IdentityKey::id),
            synthetic,
            cpu_time: cpu_time.map(|time| WireCpuTime { time, method: CPU_METHOD }),
        }
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn pages_of<'a>(pages: &'a [CapturedPage]) -> Vec<WirePage<'a>> {
    let page = |page: &'a CapturedPage| {
        let CapturedPage { source, slug, key_hash } = page;
        let source_id = source.as_deref().unwrap_or_default();
        WirePage { source_id, slug, key_hash: key_hash.as_deref() }
    };
    pages.iter().map(page).collect()
}

/// Settings as one flat object.
pub fn settings_map(settings: &Settings) -> BTreeMap<String, f64> {
    let values = settings.values().into_iter().map(|(name, value)| (name.to_owned(), value));
    let weights = settings.source_weights.iter();
    let calibrated = settings.rerank_calibrated.iter();
    let calibrated = calibrated
        .map(|model| (format!("{RERANK_THRESHOLD_OF}{model}"), settings.rerank_threshold));
    // Invariant: in reading order, a model's threshold comes after the general threshold.
    values
        .chain(weights.map(|(prefix, factor)| (format!("{SOURCE_WEIGHT}{prefix}"), *factor)))
        .chain(calibrated)
        .collect()
}

/// Reads settings from a flat object. Returns `None` when a setting is unknown or scrubbed, because
/// a request cannot be repeated with only part of its settings.
pub fn settings_of(map: &BTreeMap<String, f64>) -> Option<Settings> {
    let mut settings = Settings::default();
    for (name, value) in map {
        if name.contains(MARKER) {
            return None;
        }
        settings.set(name, &value.to_string()).ok()?;
    }
    Some(settings)
}

/// A row as read. Every field is optional: callers decide what they can do with an incomplete row.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireRow {
    id: Option<i64>,
    tool_name: Option<String>,
    query: Option<String>,
    retrieved_slugs: Option<Vec<String>>,
    source_ids: Option<Vec<String>>,
    detail: Option<String>,
    vector_enabled: Option<bool>,
    expansion_applied: Option<bool>,
    latency_ms: Option<f64>,
    remote: Option<bool>,
    created_at: Option<String>,
    query_hash: Option<String>,
    weight: Option<u64>,
    retrieved: Option<Vec<ReadPage>>,
    limit: Option<usize>,
    retrieval_mode: Option<String>,
    vectors: Option<bool>,
    source_scope: Option<Vec<String>>,
    filters: Option<WireFilters<'static>>,
    filters_scrubbed: Option<bool>,
    trust: Option<String>,
    now: Option<String>,
    settings: Option<BTreeMap<String, f64>>,
    software: Option<Software>,
    corpus: Option<ReadCorpus>,
    embedder: Option<String>,
    expansion_variants: Option<Vec<String>>,
    rerank_model: Option<String>,
    cache_hit: Option<bool>,
    cache: Option<String>,
    degraded: Vec<ReadDegraded>,
    scrubbed: Option<bool>,
    scrubbed_retrieved: Option<Vec<ReadPage>>,
    identity_key_id: Option<String>,
    synthetic: Option<bool>,
    // Other gbrains may use these keys differently.
    cpu_time: Option<Value>,
    target: Option<Value>,
    latency_repeats: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct ReadPage {
    source_id: String,
    slug: String,
    #[serde(default)]
    key_hash: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ReadCorpus {
    store: String,
    generation: i64,
    pages: u64,
    chunks: u64,
    root: String,
}

#[derive(Debug, Deserialize)]
struct ReadDegraded {
    stage: String,
    reason: String,
}

/// Reads a line as an object of schema 1 without validating its fields.
pub fn read_object(line: &str) -> Result<Value, RowError> {
    let value: Value = serde_json::from_str(line)
        .map_err(|error| RowError::Json(crate::reading::without_position(&error)))?;
    let Value::Object(object) = &value else { return Err(RowError::NotAnObject) };
    match object.get("schema_version") {
        None => Err(RowError::NoVersion),
        Some(version) if version.as_u64() == Some(CAPTURE_VERSION) => Ok(value),
        Some(other) => Err(RowError::OtherVersion(other.to_string())),
    }
}

/// Reads a row from its object.
pub fn read_row(value: Value, line: usize) -> Result<CapturedRow, RowError> {
    let is_embedder_known = value.get("embedder").is_some();
    let row: WireRow =
        serde_json::from_value(value).map_err(|error| RowError::Json(error.to_string()))?;
    if let Some(latency) = row.latency_ms.filter(|ms| !(0.0..=MAX_LATENCY_MS).contains(ms)) {
        let expected = "milliseconds from 0 to 1e12";
        return Err(RowError::Field { field: "latency_ms", found: latency.to_string(), expected });
    }
    check_hashes(&row)?;
    check_pages(&row)?;
    let operation =
        named("tool_name", row.tool_name.as_deref(), Operation::from_name, "query or search")?
            .ok_or(RowError::Field {
                field: "tool_name",
                found: "missing".to_owned(),
                expected: "query or search",
            })?;
    let cache = named("cache", row.cache.as_deref(), CacheUse::from_name, "hit, miss or off")?;
    let settings = row.settings.as_ref().and_then(settings_of);
    let provenance = Provenance {
        software: row.software,
        settings,
        corpus: row.corpus.map(corpus_at).transpose()?,
        embedder: is_embedder_known.then_some(row.embedder),
        target: row.target.as_ref().and_then(Value::as_str).map(str::to_owned),
    };
    let is_ours = row.retrieved.is_some();
    let filter_scrubbed = row.filters_scrubbed.unwrap_or(false)
        || has_marker(row.filters.as_ref(), row.source_scope.as_deref());
    let scope = row.source_scope.filter(|_| !filter_scrubbed);
    Ok(CapturedRow {
        line,
        id: row.id,
        operation,
        query: row.query.unwrap_or_default(),
        retrieved: retrieved(row.retrieved, row.retrieved_slugs, row.source_ids.as_deref()),
        source_ids: row.source_ids,
        identity_key_id: row.identity_key_id,
        limit: row.limit,
        detail: named("detail", row.detail.as_deref(), Detail::from_name, "low, medium, high")?,
        mode: named(
            "retrieval_mode",
            row.retrieval_mode.as_deref(),
            RetrievalMode::from_name,
            "knowledge, graph or hybrid",
        )?,
        filter: filter(row.filters, scope)?,
        filter_scrubbed,
        trust: named("trust", row.trust.as_deref(), Viewer::from_name, "trusted or untrusted")?,
        vectors: row.vectors,
        vector_enabled: row.vector_enabled,
        expansion_applied: row.expansion_applied.unwrap_or(false),
        variants: variants(row.expansion_variants)?,
        rerank_model: row.rerank_model,
        // Our cache returns what a search would find; other caches may be stale.
        cache_hit: row.cache_hit.unwrap_or(false) && cache.is_none(),
        degraded: row
            .degraded
            .into_iter()
            .filter(|d| !is_query_specific(&d.reason))
            .map(|d| (d.stage, d.reason))
            .collect(),
        now: row.now.as_deref().map(|text| time("now", text)).transpose()?,
        created_at: row.created_at.as_deref().map(|text| time("created_at", text)).transpose()?,
        latency_ms: row.latency_ms.filter(|_| cache != Some(CacheUse::Hit)),
        latency_repeats: row
            .latency_repeats
            .and_then(|repeats| u32::try_from(repeats.as_u64()?).ok()),
        cpu_time: row.cpu_time.map(cpu_time).transpose()?.flatten(),
        remote: row.remote.unwrap_or(false),
        scrubbed: row.scrubbed,
        scrubbed_retrieved: row
            .scrubbed_retrieved
            .map(|pages| pages.into_iter().map(page).collect()),
        synthetic: row.synthetic.unwrap_or(false),
        query_hash: row.query_hash,
        weight: row.weight.unwrap_or(1).max(1),
        is_whole: is_ours && row.limit.is_some(),
        provenance,
    })
}

/// A CPU time, if it was measured with this gbrain's method.
fn cpu_time(value: Value) -> Result<Option<CpuTime>, RowError> {
    if value.get("method").and_then(Value::as_str) != Some(CPU_METHOD) {
        return Ok(None);
    }
    let read = serde_json::from_value(value);
    let CpuTime { cpu_ms, calibration_ms, repeats } =
        read.map_err(|error| RowError::Json(error.to_string()))?;
    let check = |field, ms: f64| {
        let is_time = ms > 0.0 && ms <= MAX_LATENCY_MS;
        let expected = "milliseconds above 0 and up to 1e12";
        let refused = || RowError::Field { field, found: ms.to_string(), expected };
        if is_time { Ok(()) } else { Err(refused()) }
    };
    check("cpu_time.cpu_ms", cpu_ms)?;
    check("cpu_time.calibration_ms", calibration_ms)?;
    if !(1..=MAX_CPU_REPEATS).contains(&repeats) {
        return Err(RowError::Field {
            field: "cpu_time.repeats",
            found: repeats.to_string(),
            expected: "a number from 1 to 100",
        });
    }
    Ok(Some(CpuTime { cpu_ms, calibration_ms, repeats }))
}

/// Each variant is a separate search, so the number is limited.
fn variants(variants: Option<Vec<String>>) -> Result<Vec<String>, RowError> {
    let variants = variants.unwrap_or_default();
    if variants.len() <= MAX_VARIANTS {
        return Ok(variants);
    }
    let found = format!("a list of {}", variants.len());
    Err(RowError::Field { field: "expansion_variants", found, expected: "at most 10 texts" })
}

fn retrieved(
    pages: Option<Vec<ReadPage>>,
    slugs: Option<Vec<String>>,
    sources: Option<&[String]>,
) -> Option<Vec<CapturedPage>> {
    if let Some(pages) = pages {
        return Some(pages.into_iter().map(page).collect());
    }
    // With a single source in the result, every slug belongs to it.
    let only = match sources {
        Some([only]) => Some(only.clone()),
        _ => None,
    };
    let slugs = slugs?;
    let page = |slug| CapturedPage { source: only.clone(), slug, key_hash: None };
    Some(slugs.into_iter().map(page).collect())
}

fn page(ReadPage { source_id, slug, key_hash }: ReadPage) -> CapturedPage {
    CapturedPage { source: Some(source_id), slug, key_hash }
}

/// Refuses a row whose `retrieved_slugs` or `source_ids` disagree with `retrieved`, because it is
/// then unclear which pages were found. Scrubbed names agree with anything, and so does a missing
/// or empty list, which other gbrains omit.
fn check_pages(row: &WireRow) -> Result<(), RowError> {
    let Some(pages) = &row.retrieved else { return Ok(()) };
    let check = |field, listed: Option<&Vec<String>>, of: fn(&ReadPage) -> &str, expected| {
        let listed = listed.map(Vec::as_slice).unwrap_or_default();
        let is_scrubbed = |name: &str| name.contains(MARKER);
        let hides_page = pages.iter().any(|page| is_scrubbed(of(page)));
        let hides_name = listed.iter().any(|name| is_scrubbed(name));
        let is_known = |name: &str| {
            hides_page || is_scrubbed(name) || pages.iter().any(|page| of(page) == name)
        };
        let is_listed = |name: &str| {
            hides_name
                || is_scrubbed(name)
                || name.is_empty()
                || listed.iter().any(|one| one == name)
        };
        let unknown = listed.iter().map(String::as_str).find(|name| !is_known(name));
        let other = unknown.or_else(|| pages.iter().map(of).find(|name| !is_listed(name)));
        match other.filter(|_| !listed.is_empty()) {
            Some(name) => Err(RowError::Field { field, found: format!("{name:?}"), expected }),
            None => Ok(()),
        }
    };
    check(
        "retrieved_slugs",
        row.retrieved_slugs.as_ref(),
        |page| &page.slug,
        "the slugs of `retrieved`: the row was edited, export it again",
    )?;
    check(
        "source_ids",
        row.source_ids.as_ref(),
        |page| &page.source_id,
        "the sources of `retrieved`: the row was edited, export it again",
    )
}

/// A malformed hash never matches: it means a damaged file, not a changed ranking.
fn check_hashes(row: &WireRow) -> Result<(), RowError> {
    let wrong = |field, found: &str, expected| {
        Err(RowError::Field { field, found: format!("{found:?}"), expected })
    };
    if let Some(id) = row.identity_key_id.as_deref().filter(|id| !is_key_id(id)) {
        return wrong("identity_key_id", id, "16 hexadecimal digits");
    }
    let pages = [&row.retrieved, &row.scrubbed_retrieved];
    let mut hashes =
        pages.into_iter().flatten().flatten().filter_map(|page| page.key_hash.as_deref());
    match hashes.find(|hash| !is_identity_hash(hash)) {
        Some(hash) => wrong("key_hash", hash, "32 hexadecimal digits"),
        None => Ok(()),
    }
}

/// Whether a filter was scrubbed, so that its texts differ from the request.
fn has_marker(filters: Option<&WireFilters<'_>>, scope: Option<&[String]>) -> bool {
    let of_filters =
        filters.into_iter().flat_map(|filters| filters.types.iter().chain(filters.tags.iter()));
    of_filters.chain(scope.unwrap_or_default()).any(|text| text.contains(MARKER))
}

fn named<T>(
    field: &'static str,
    text: Option<&str>,
    from_name: fn(&str) -> Option<T>,
    expected: &'static str,
) -> Result<Option<T>, RowError> {
    let Some(text) = text else { return Ok(None) };
    let value = from_name(text);
    value.map(Some).ok_or_else(|| RowError::Field { field, found: format!("{text:?}"), expected })
}

fn filter(
    filters: Option<WireFilters<'_>>,
    scope: Option<Vec<String>>,
) -> Result<Filter, RowError> {
    let WireFilters { types, tags, since, until } = filters.unwrap_or_default();
    let sources = scope.unwrap_or_default();
    let sources = sources.iter().map(|id| SourceId::new(id)).collect::<Result<_, _>>();
    Ok(Filter {
        sources: sources.map_err(|error| RowError::Field {
            field: "source_scope",
            found: error.to_string(),
            expected: "a list of source ids",
        })?,
        types: types.into_owned(),
        tags: tags.into_owned(),
        since: since.as_deref().map(|text| date("filters.since", text)).transpose()?,
        until: until.as_deref().map(|text| date("filters.until", text)).transpose()?,
        ..Filter::default()
    })
}

fn date(field: &'static str, text: &str) -> Result<Date, RowError> {
    let expected = "a day such as 2026-03-01";
    text.parse().map_err(|_| RowError::Field { field, found: format!("{text:?}"), expected })
}

fn time(field: &'static str, text: &str) -> Result<Timestamp, RowError> {
    let expected = "a time such as 2026-03-01T12:00:00Z";
    text.parse().map_err(|_| RowError::Field { field, found: format!("{text:?}"), expected })
}

fn corpus_at(corpus: ReadCorpus) -> Result<CorpusSnapshot, RowError> {
    let ReadCorpus { store, generation, pages, chunks, root } = corpus;
    let root = Hash::from_hex(&root).ok_or(RowError::Field {
        field: "corpus.root",
        found: format!("{root:?}"),
        expected: "64 hexadecimal digits",
    })?;
    Ok(CorpusSnapshot { store, generation, fingerprint: CorpusFingerprint { pages, chunks, root } })
}
