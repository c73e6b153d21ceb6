//! Every number of the pipeline, with its default, its range and the reason for it.
//!
//! Settings are data: they are part of the request, so two runs with equal settings on equal
//! corpora give equal rankings, and a capture can say which numbers it was made with.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::hash::Hash;
use crate::id::PageKey;

/// A setting as `config list` shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingInfo {
    /// The key without the `search.` prefix.
    pub name: &'static str,
    /// The purpose of the setting and the reason for its default.
    pub reason: &'static str,
    pub default: f64,
    /// The smallest and largest value accepted.
    pub range: RangeInclusive<f64>,
}

/// Why a setting was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SettingError {
    /// There is no such setting.
    #[error("unknown setting `{name}`; did you mean `{nearest}`?")]
    Unknown {
        /// The setting as the caller wrote it.
        name: String,
        /// The closest name there is.
        nearest: &'static str,
    },
    /// The value is not a number in the setting's range.
    #[error("setting `{name}` takes a number from {low} to {high}, not {value:?}")]
    OutOfRange { name: &'static str, value: String, low: f64, high: f64 },
}

macro_rules! settings {
    ($($name:ident = $default:literal in $low:literal ..= $high:literal, $reason:literal;)+) => {
        /// The numbers of the pipeline.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Settings {
            $(#[doc = $reason] pub $name: f64,)+
            /// Factors by source or by `source::slug-prefix`; the longest prefix that fits wins.
            /// Empty by default: which sources matter more is the owner's to say.
            pub source_weights: BTreeMap<String, f64>,
            /// The reranker that the threshold was calibrated for. None is a threshold that was set
            /// by hand, for any reranker.
            pub rerank_calibrated: Option<String>,
        }

        impl Default for Settings {
            fn default() -> Self {
                Self {
                    $($name: $default,)+
                    source_weights: BTreeMap::new(),
                    rerank_calibrated: None,
                }
            }
        }

        impl Settings {
            /// Every setting, in order.
            pub const ALL: &'static [SettingInfo] = &[$(SettingInfo {
                name: stringify!($name),
                reason: $reason,
                default: $default,
                range: $low..=$high,
            },)+];

            /// Every name with its value, in order.
            pub fn values(&self) -> Vec<(&'static str, f64)> {
                vec![$((stringify!($name), self.$name),)+]
            }

            fn slot(&mut self, name: &str) -> Option<&mut f64> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)+
                    _ => None,
                }
            }
        }
    };
}

settings! {
    bm25_k1 = 1.2 in 0.0..=5.0,
        "BM25 term-frequency saturation; 1.2 is what the literature and the peers' figures use";
    bm25_b = 0.75 in 0.0..=1.0,
        "BM25 length normalisation; 0.75 for the same reason";
    exact_weight = 0.15 in 0.0..=1.0,
        "weight of a word's exact form beside its stem: a nudge toward the form that was typed";
    page_weight = 0.5 in 0.0..=1.0,
        "weight of the whole page in a page's words score, beside its best passage: the passage contains the answer, the page its context";
    pool = 40.0 in 10.0..=1000.0,
        "minimum number of pages that an arm contributes to fusion; four times a result list of ten, so that boosts can move a page up while fusion stays cheap";
    words_weight = 1.0 in 0.0..=10.0,
        "weight of the words arm in fusion: the unit the others are measured in";
    vectors_weight = 0.7 in 0.0..=10.0,
        "weight of the vector arm in fusion; on seven development collections anything from 0.4 to 1.0 is nearly as good, and 0 and 2 are worse on all";
    vectors_chat_factor = 2.0 in 0.0..=10.0,
        "factor of the vector arm's weight for chats: remarks in chats rarely use the words of the question; on LongMemEval and LoCoMo from 1.5 to 3 is nearly as good";
    vectors_weight_entity = 0.4 in 0.0..=10.0,
        "the vector arm's weight when the question asks about one person or thing: a name is matched by its letters, and embeddings only rank its passages";
    vectors_weight_relational = 0.1 in 0.0..=10.0,
        "the vector arm's weight when the question asks for the other end of an edge: a page similar to the question is rarely the answer";
    vectors_least = 0.1 in -1.0..=1.0,
        "cosine below which a page is not near in meaning: unrelated passages rarely score higher";
    vectors_depth = 800.0 in 40.0..=100000.0,
        "minimum number of passages that are scored exactly after the scan of one-bit codes: measured, they contain more than 98 % of the ten nearest";
    vectors_depth_per_1000 = 6.0 in 0.0..=1000.0,
        "additional passages per thousand passages in the brain: in a larger brain they lie closer together";
    graph_weight = 2.0 in 0.0..=10.0,
        "weight of the graph arm when the question is relational: typed edges answer it, words only mention it";
    graph_hop_factor = 0.6 in 0.0..=1.0,
        "weight of an edge at the second hop, relative to one at the first";
    graph_expired_factor = 0.5 in 0.0..=1.0,
        "weight of an edge whose `until` is in the past";
    graph_fanout = 200.0 in 1.0..=10000.0,
        "edges followed from one page at most, strongest first, so that a hub cannot stall a walk";
    title_boost = 1.1 in 1.0..=2.0,
        "factor for a page whose title contains the query as a phrase";
    recency_boost = 1.15 in 1.0..=2.0,
        "factor for a page dated today when the question asks for recent things; the excess over 1 halves with every half-life";
    recency_half_life_days = 30.0 in 1.0..=3650.0,
        "days in which the recency boost halves";
    window_boost = 2.0 in 1.0..=10.0,
        "factor for a page dated in the period that the question names; 1 disables this, and the words of the period stay in the query";
    backlink_boost = 0.002 in 0.0..=0.2,
        "growth of a page's score per doubling of the pages that link to it: a tie-breaker, not a vote";
    boost_max = 1.3 in 1.0..=4.0,
        "maximum of all boosts together, so that several small boosts cannot outrank a much better match";
    expand = 0.0 in 0.0..=1.0,
        "whether queries are expanded by default: 1 is yes; off by default because a model costs time and money";
    expand_variants = 3.0 in 1.0..=10.0,
        "maximum number of query variants; each costs one more search by words and by embeddings";
    expand_weight = 0.5 in 0.0..=1.0,
        "weight in an arm of a variant's best page, relative to the query's best page: a variant may add pages that the query misses, and rarely displaces its hits";
    rerank_depth = 30.0 in 1.0..=200.0,
        "candidates that the reranker scores: three result lists of ten; answers are rarely ranked lower than that";
    rerank_threshold = 0.0 in 0.0..=1.0,
        "reranker score below which a page is left out, as are pages without a score; 0 keeps all, because scores of different models are not comparable. It is set as `rerank.threshold`, by `gbrain calibrate deploy`";
    duplicate_overlap = 0.9 in 0.5..=1.0,
        "share of words two passages have in common (Jaccard) above which the lower one is a duplicate";
    cut_ratio = 0.0 in 0.0..=1.0,
        "drops hits that score below this share of the first; 0 keeps all, because only the caller can decide to give up recall";
    cache_mb = 16.0 in 0.0..=4096.0,
        "megabytes of answers cached per process, if a remote model takes part in them; 0 disables the cache. No ranking depends on it";
}

/// The key of a threshold that was calibrated, before the name of the reranker.
pub const RERANK_THRESHOLD_OF: &str = "rerank_threshold_of.";

const RERANK_THRESHOLD: &str = "rerank_threshold";

/// The minimum score of a reranker's candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MinScore {
    /// Nothing: all of them stay.
    None,
    Score(f64),
    /// A threshold of another model, which says nothing about this one's scores: all of them stay.
    OtherModel,
}

/// The key of source factors, before the source's name.
pub const SOURCE_WEIGHT: &str = "source_weight.";

const SOURCE_WEIGHT_RANGE: RangeInclusive<f64> = 0.5..=2.0;

fn in_range(
    name: &'static str,
    value: &str,
    range: &RangeInclusive<f64>,
) -> Result<f64, SettingError> {
    match value.trim().parse::<f64>() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(SettingError::OutOfRange {
            name,
            value: value.to_owned(),
            low: *range.start(),
            high: *range.end(),
        }),
    }
}

impl Settings {
    /// Sets one setting from text. `source_weight.SOURCE` and `source_weight.SOURCE::PREFIX` set
    /// the factor of a source or of a part of it; `rerank_threshold_of.MODEL` sets the threshold for one
    /// reranker, and `rerank_threshold` for all.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        let calibrated = name.strip_prefix(RERANK_THRESHOLD_OF).filter(|model| !model.is_empty());
        if let Some(model) = calibrated {
            self.set(RERANK_THRESHOLD, value)?;
            self.rerank_calibrated = Some(model.to_owned());
            return Ok(());
        }
        if let Some(prefix) = name.strip_prefix(SOURCE_WEIGHT) {
            let factor = in_range("source_weight", value, &SOURCE_WEIGHT_RANGE)?;
            self.source_weights.insert(prefix.to_owned(), factor);
            return Ok(());
        }
        let Some(info) = Self::ALL.iter().find(|info| info.name == name) else {
            return Err(SettingError::Unknown { name: name.to_owned(), nearest: nearest(name) });
        };
        let number = in_range(info.name, value, &info.range)?;
        *self.slot(info.name).expect("every listed setting has a slot") = number;
        if info.name == RERANK_THRESHOLD {
            self.rerank_calibrated = None;
        }
        Ok(())
    }

    /// The minimum score of a reranker's candidates.
    pub fn min_score_for(&self, model: &str) -> MinScore {
        match &self.rerank_calibrated {
            _ if self.rerank_threshold == 0.0 => MinScore::None,
            Some(calibrated) if calibrated != model => MinScore::OtherModel,
            _ => MinScore::Score(self.rerank_threshold),
        }
    }

    /// How many of `chunks` passages are scored exactly after the scan of codes.
    pub fn rescored_passages(&self, chunks: u64) -> usize {
        (self.vectors_depth + self.vectors_depth_per_1000 * chunks as f64 / 1000.0) as usize
    }

    /// The factor of a page by where it comes from.
    pub fn source_weight(&self, key: &PageKey) -> f64 {
        if self.source_weights.is_empty() {
            return 1.0;
        }
        let whole = key.to_string();
        let fits = |prefix: &str| {
            prefix == key.source.as_str() || whole.starts_with(prefix) && prefix.contains("::")
        };
        let fitting = self.source_weights.iter().filter(|(prefix, _)| fits(prefix));
        fitting.max_by_key(|(prefix, _)| prefix.len()).map_or(1.0, |(_, factor)| *factor)
    }

    /// A short name for exactly these values.
    pub fn hash(&self) -> String {
        let values = self.values().into_iter().map(|(name, value)| format!("{name}={value}"));
        let weights = self.source_weights.iter();
        let weights = weights.map(|(prefix, factor)| format!("{SOURCE_WEIGHT}{prefix}={factor}"));
        let calibrated = self.rerank_calibrated.iter();
        let calibrated = calibrated.map(|model| format!("{RERANK_THRESHOLD_OF}{model}"));
        let text: Vec<String> = values.chain(weights).chain(calibrated).collect();
        Hash::of(text.join("\n").as_bytes()).short()
    }
}

fn nearest(name: &str) -> &'static str {
    let distance = |info: &SettingInfo| edit_distance(info.name, name);
    Settings::ALL.iter().min_by_key(|info| distance(info)).map_or("pool", |info| info.name)
}

/// Levenshtein distance, for suggestions in error messages.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substitution = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substitution.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_in_its_range() {
        for info in Settings::ALL {
            assert!(info.range.contains(&info.default), "{}", info.name);
        }
    }

    #[test]
    fn a_setting_is_set_by_name_and_changes_the_hash() {
        let mut settings = Settings::default();
        let before = settings.hash();
        settings.set("pool", "30").unwrap();
        assert_eq!(settings.pool, 30.0);
        assert_ne!(settings.hash(), before);
        let before = settings.hash();
        settings.set("source_weight.journal", "0.8").unwrap();
        assert_ne!(settings.hash(), before);
    }

    #[test]
    fn the_longest_source_prefix_wins() {
        let mut settings = Settings::default();
        settings.set("source_weight.wiki", "0.8").unwrap();
        settings.set("source_weight.wiki::archive/", "0.5").unwrap();
        let weight = |key: &str| {
            settings.source_weight(&PageKey::parse(key, &crate::id::SourceId::default()).unwrap())
        };
        assert_eq!(weight("wiki::people/ada"), 0.8);
        assert_eq!(weight("wiki::archive/ada"), 0.5);
        assert_eq!(weight("journal::archive/ada"), 1.0);
    }

    #[test]
    fn a_calibrated_threshold_is_of_one_model() {
        let mut settings = Settings::default();
        let plain = settings.hash();
        assert_eq!(settings.min_score_for("a:m"), MinScore::None);
        settings.set("rerank_threshold_of.a:m", "0.4").unwrap();
        assert_eq!(settings.min_score_for("a:m"), MinScore::Score(0.4));
        assert_eq!(settings.min_score_for("b:m"), MinScore::OtherModel);
        let calibrated = settings.hash();
        settings.set("rerank_threshold", "0.4").unwrap();
        assert_eq!(settings.min_score_for("b:m"), MinScore::Score(0.4), "set by hand is for all");
        assert!(plain != calibrated && calibrated != settings.hash());
        assert!(settings.set("rerank_threshold_of.", "0.4").is_err());
        assert!(settings.set("rerank_threshold_of.a:m", "1.4").is_err());
    }

    #[test]
    fn bad_settings_are_refused_with_a_remedy() {
        let mut settings = Settings::default();
        let error = settings.set("pol", "30").unwrap_err();
        assert_eq!(error.to_string(), "unknown setting `pol`; did you mean `pool`?");
        for bad in ["NaN", "inf", "-1", "", "twelve"] {
            assert!(settings.set("bm25_b", bad).is_err(), "{bad:?}");
        }
        assert_eq!(settings, Settings::default());
    }
}
