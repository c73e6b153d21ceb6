//! From a captured row to the request that asks it again.

use jiff::Timestamp;

use crate::capture::CapturedRow;
use crate::named;
use crate::ranking::EXPANSION;
use crate::request::{Expansion, Filter, Request, RetrievalMode, Viewer};
use crate::search::Settings;

/// The number of pages to request when a row has neither a limit nor any pages.
const DEFAULT_LIMIT: usize = 10;

/// The state of the brain that answers now.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveContext {
    pub settings: Settings,
    /// The time, for rows that do not have theirs.
    pub now: Timestamp,
}

impl LiveContext {
    /// The default settings: a remote target has its own.
    pub fn at(now: Timestamp) -> Self {
        Self { settings: Settings::default(), now }
    }
}

/// The settings that a replay uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsSource {
    /// The current settings of the brain.
    Live,
    /// The settings of the capture, where it has them.
    Capture,
}

named! {
    /// A way in which a replayed row differs from the captured request.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Caveat {
        /// The row has no sources: its slugs are compared alone, within the sources of the row.
        BySlug = "compared_by_slug",
        /// The row has no limit: the answer is cut at its length.
        CutAtCaptured = "cut_at_captured_length",
        /// A model expanded its query, and the row does not contain the variants.
        ExpansionNotReproduced = "expansion_not_reproduced",
        /// A model ordered its hits, and the replay does not call that model.
        RerankNotReproduced = "rerank_not_reproduced",
        /// Its answer came from a cache.
        FromCache = "captured_from_cache",
        /// Scrubbing changed its query, and the results of the scrubbed text at capture are unknown.
        QueryScrubbed = "query_scrubbed",
        /// A stage could not do its work when it was captured.
        CaptureDegraded = "capture_degraded",
        /// A stage could not do its work now.
        ReplayDegraded = "replay_degraded",
        /// The settings of the capture were requested, and it has none that this gbrain knows.
        SettingsUnknown = "settings_unknown",
        /// The corpus of the capture was requested and is unavailable: another store, or a purge.
        CorpusUnknown = "corpus_unknown",
        /// Repeated requests gave different rankings.
        Unstable = "unstable",
        /// The target does not support parts of the request.
        NotAsked = "not_asked",
    }
}

impl Caveat {
    /// Whether the row can't test the program, because it would differ on an unchanged brain.
    pub fn is_confounding(self) -> bool {
        match self {
            Self::ExpansionNotReproduced
            | Self::RerankNotReproduced
            | Self::FromCache
            | Self::QueryScrubbed
            | Self::CaptureDegraded
            | Self::SettingsUnknown
            | Self::CorpusUnknown
            | Self::NotAsked => true,
            Self::BySlug | Self::CutAtCaptured | Self::ReplayDegraded | Self::Unstable => false,
        }
    }
}

named! {
    /// Why a row is skipped.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum SkipReason {
        /// There is nothing to ask.
        EmptyQuery = "empty query",
        /// There is nothing to compare with.
        NoRanking = "no retrieved_slugs",
        /// Scrubbing changed a filter, so the request can't be repeated.
        FilterScrubbed = "a filter was scrubbed",
        /// Scrubbing changed names of its pages, and it has no hashes to tell them apart.
        NamesScrubbed = "names of pages were scrubbed and have no key_hash",
        /// Its scrubbed names have hashes, and the key to compare them is not here.
        NoIdentityKey = "no identity key to compare scrubbed names with",
        /// Its scrubbed names have hashes that were made with another key.
        OtherIdentityKey = "scrubbed names were hashed with another identity key",
    }
}

impl SkipReason {
    /// Whether the row has a request and a ranking, and the two can't be compared here.
    pub(crate) fn is_not_comparable(self) -> bool {
        match self {
            Self::EmptyQuery | Self::NoRanking => false,
            Self::FilterScrubbed
            | Self::NamesScrubbed
            | Self::NoIdentityKey
            | Self::OtherIdentityKey => true,
        }
    }

    /// How to make such a row comparable.
    pub fn remedy(self) -> Option<&'static str> {
        match self {
            Self::EmptyQuery | Self::NoRanking => None,
            Self::FilterScrubbed => {
                Some("capture without personal data in filters, or leave these rows out")
            }
            Self::NamesScrubbed => {
                Some("capture and publish again: newer captures keep a hash of such names")
            }
            Self::NoIdentityKey | Self::OtherIdentityKey => Some(
                "replay in the home and workspace that captured them, or copy its identity.key \
                 (GBRAIN_IDENTITY_KEY)",
            ),
        }
    }
}

/// The request that replays a row.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayRequest {
    pub request: Request,
    /// Where the answer is cut.
    pub cut: usize,
    /// The differences between the request and the captured one.
    pub caveats: Vec<Caveat>,
}

/// The request of a row: all its fields, and the current state for the rest.
pub fn ask(
    row: &CapturedRow,
    live: &LiveContext,
    from: SettingsSource,
) -> Result<ReplayRequest, SkipReason> {
    if row.query.trim().is_empty() {
        return Err(SkipReason::EmptyQuery);
    }
    let expected = row.expected().ok_or(SkipReason::NoRanking)?;
    if row.filter_scrubbed {
        return Err(SkipReason::FilterScrubbed);
    }
    let captured = match from {
        SettingsSource::Live => None,
        SettingsSource::Capture => row.provenance.settings.clone(),
    };
    let mut caveats = caveats(row);
    if from == SettingsSource::Capture && captured.is_none() {
        caveats.push(Caveat::SettingsUnknown);
    }
    // The filter's own trust is what the caller says, not what the file's filter defaulted to.
    let trust = row.trust.unwrap_or(if row.remote { Viewer::Untrusted } else { Viewer::Trusted });
    let limit = row.limit.unwrap_or(match expected.len() {
        0 => DEFAULT_LIMIT,
        length => length,
    });
    let request = Request {
        operation: row.operation,
        query: row.query.clone(),
        limit,
        detail: row.detail,
        mode: row.mode.unwrap_or(RetrievalMode::Hybrid),
        filter: Filter { trust, ..row.filter.clone() },
        vectors: row.vectors.unwrap_or(true) && row.vector_enabled != Some(false),
        expansion: match &row.variants {
            variants if variants.is_empty() => Expansion::Off,
            variants => Expansion::Variants(variants.clone()),
        },
        now: row.now.or(row.created_at).unwrap_or(live.now),
        settings: captured.unwrap_or_else(|| live.settings.clone()),
    };
    Ok(ReplayRequest { request, cut: limit, caveats })
}

fn caveats(row: &CapturedRow) -> Vec<Caveat> {
    let by_slug = row.expected().is_some_and(|pages| pages.iter().any(|p| p.source.is_none()));
    let scrubbed = row.scrubbed.unwrap_or_else(|| row.query.contains(crate::scrub::MARKER));
    let all = [
        (by_slug, Caveat::BySlug),
        (row.limit.is_none(), Caveat::CutAtCaptured),
        (row.expansion_applied && row.variants.is_empty(), Caveat::ExpansionNotReproduced),
        // The model did not score the results that the scrubbed query retrieved.
        (
            row.rerank_model.is_some() && row.scrubbed_retrieved.is_none(),
            Caveat::RerankNotReproduced,
        ),
        (row.cache_hit, Caveat::FromCache),
        (scrubbed && row.scrubbed_retrieved.is_none(), Caveat::QueryScrubbed),
        // Without variants the query alone was asked, and is asked again.
        (row.degraded.iter().any(|(stage, _)| stage != EXPANSION), Caveat::CaptureDegraded),
    ];
    all.into_iter().filter_map(|(holds, caveat)| holds.then_some(caveat)).collect()
}
