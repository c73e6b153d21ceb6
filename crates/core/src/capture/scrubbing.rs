//! An observation with personal data taken out of every text of its request.

use crate::latency::CpuTime;
use crate::request::{Expansion, Filter, Request};
use crate::scrub::{ScrubFamily, Scrubber};

use super::{CapturePolicy, ObservedAnswer};

/// The texts of a filter, scrubbed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScrubbedFilter {
    /// Sources of the request.
    pub sources: Vec<String>,
    pub types: Vec<String>,
    pub tags: Vec<String>,
    /// Whether scrubbing changed one of them. Such a request can't be asked again: no page has a marker
    /// for a tag.
    pub is_changed: bool,
}

impl ScrubbedFilter {
    fn new(filter: &Filter, scrubber: Option<&Scrubber>) -> Self {
        let mut is_changed = false;
        let mut scrub = |text: &str| {
            let Some(scrubber) = scrubber else { return text.to_owned() };
            let scrubbed = scrubber.scrub_name(text);
            is_changed |= scrubbed != text;
            scrubbed
        };
        let sources = filter.sources.iter().map(|source| scrub(source.as_str())).collect();
        let types = filter.types.iter().map(|text| scrub(text)).collect();
        let tags = filter.tags.iter().map(|text| scrub(text)).collect();
        Self { sources, types, tags, is_changed }
    }
}

/// An observation with its request scrubbed.
#[derive(Debug)]
pub struct ScrubbedAnswer {
    pub(super) observed: ObservedAnswer,
    pub(super) families: Vec<ScrubFamily>,
    pub(super) text: String,
    pub(super) variants: Vec<String>,
    pub(super) filter: ScrubbedFilter,
}

impl CapturePolicy {
    /// Takes personal data out of an observation.
    pub fn scrub(&self, observed: ObservedAnswer) -> ScrubbedAnswer {
        let mut families: Vec<ScrubFamily> = Vec::new();
        let mut scrub = |text: &String| {
            let Some(scrubber) = &self.scrubber else { return text.clone() };
            let scrubbed = scrubber.scrub(text);
            families.extend(scrubbed.found.iter().map(|found| found.family));
            scrubbed.text
        };
        let text = scrub(&observed.request.query);
        // Model output repeats its input, and with it data that must not be stored.
        let variants = observed.request.expansion.variants().iter().map(scrub).collect();
        families.sort_unstable();
        families.dedup();
        let filter = ScrubbedFilter::new(&observed.request.filter, self.scrubber.as_ref());
        ScrubbedAnswer { text, variants, families, filter, observed }
    }
}

impl ScrubbedAnswer {
    /// The observation before it was scrubbed.
    pub fn observed(&self) -> &ObservedAnswer {
        &self.observed
    }

    /// Adds the CPU time of the request that a replay will ask.
    pub fn set_cpu_time(&mut self, cpu_time: Option<CpuTime>) {
        self.observed.cpu_time = cpu_time;
    }

    /// Text of the query, scrubbed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The request with the scrubbed texts, if scrubbing changed one and it can be asked again: what a
    /// replay will ask.
    pub fn replayed_request(&self) -> Option<Request> {
        let request = &self.observed.request;
        let are_changed = self.variants != request.expansion.variants();
        let is_changed = are_changed || self.text != request.query;
        (is_changed && !self.filter.is_changed).then(|| Request {
            query: self.text.clone(),
            expansion: match &request.expansion {
                Expansion::Variants(_) => Expansion::Variants(self.variants.clone()),
                other => other.clone(),
            },
            ..request.clone()
        })
    }
}
