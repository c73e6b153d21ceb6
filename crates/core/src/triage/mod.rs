//! Why a case failed, from what was logged, and what to do about it.
//!
//! The order matters: what did not answer can't have lost anything, what is not there can't have been
//! filtered, and what was filtered was found. Every class comes with the evidence that it was chosen by;
//! a case about which too little is known is `unknown`, and says what was missing.
//!
//! Promises: a failing case always has a class, and none of them is green.
//! Deliberately absent: looking things up, and doing anything.

mod mitigation;

pub use mitigation::{Mitigation, mitigation};

use crate::named;
use crate::target::TargetErrorKind;

/// Why a case failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// The target did not answer, a stage did not, or it was too slow.
    Infrastructure,
    /// What must be found is not there, is out of date, or says of itself what keeps it from being found.
    PipelineBug,
    /// It was found, and the reranker's threshold dropped it.
    Threshold,
    /// It is there, and neither words nor meaning find it.
    EmbeddingDrift,
    /// It was found, and others are ranked before it.
    Ranking,
    /// Too little is known.
    Unknown,
}

named! {
    Class {
        Infrastructure = "infrastructure",
        PipelineBug = "pipeline_bug",
        Threshold = "threshold",
        EmbeddingDrift = "embedding_drift",
        Ranking = "ranking",
        Unknown = "unknown",
    }
}

/// What is known of something that must be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is there, with its passages and vectors.
    Whole,
    /// It is there without some of its passages.
    ChunksMissing,
    /// It is there without its vectors, or with those of another model.
    VectorsMissing,
    /// A newer one has taken its place, or it was deleted.
    Superseded,
    /// It is not there.
    Absent,
    /// It is there, and what it says of itself contradicts the filters of the query.
    FilteredOut,
    /// Nobody here can tell.
    Unknown,
}

named! {
    Presence {
        Whole = "whole",
        ChunksMissing = "chunks_missing",
        VectorsMissing = "vectors_missing",
        Superseded = "superseded",
        Absent = "absent",
        FilteredOut = "filtered_out",
        Unknown = "unknown",
    }
}

/// What is known of a failing case.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Why there is no answer.
    pub error: Option<TargetErrorKind>,
    /// Stages that did not do their work, by name.
    pub fallbacks: Vec<String>,
    /// How long it took, and how long it may take, in milliseconds.
    pub latency: Option<(f64, f64)>,
    /// What is known of the first thing that must be found.
    pub presence: Presence,
    /// Whether words had it; none if the target does not tell.
    pub in_words: Option<bool>,
    /// Whether meaning had it.
    pub in_vectors: Option<bool>,
    /// How close it is to the query by meaning, and how close expected documents usually are.
    pub similarity: Option<(f64, f64)>,
    /// What the reranker said of it, if it was asked.
    pub rerank_score: Option<f64>,
    /// The threshold that was in force.
    pub threshold: Option<f64>,
    /// Its rank in a deeper answer; none if it is not in that either.
    pub deeper_rank: Option<usize>,
    /// Whether it was missed: false for a case that failed otherwise, such as by its highlight.
    pub is_missed: bool,
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            error: None,
            fallbacks: Vec::new(),
            latency: None,
            presence: Presence::Unknown,
            in_words: None,
            in_vectors: None,
            similarity: None,
            rerank_score: None,
            threshold: None,
            deeper_rank: None,
            is_missed: true,
        }
    }
}

/// A class with what it was chosen by.
#[derive(Debug, Clone, PartialEq)]
pub struct Classified {
    /// Why the case failed.
    pub class: Class,
    /// What it was chosen by, in words.
    pub because: Vec<String>,
}

/// Far below what is usual: similarities this much lower are not noise.
const FAR: f64 = 0.15;

/// Why a case failed.
pub fn classify(evidence: &Evidence) -> Classified {
    let rules = [infrastructure, pipeline, threshold, drift, ranking];
    let found = rules.iter().find_map(|rule| rule(evidence));
    found.unwrap_or_else(|| Classified { class: Class::Unknown, because: missing(evidence) })
}

fn because(class: Class, why: impl Into<String>) -> Option<Classified> {
    Some(Classified { class, because: vec![why.into()] })
}

fn infrastructure(evidence: &Evidence) -> Option<Classified> {
    if let Some(error) = evidence.error {
        return because(Class::Infrastructure, format!("the target did not answer: {error}"));
    }
    if !evidence.fallbacks.is_empty() {
        let stages = evidence.fallbacks.join(", ");
        return because(Class::Infrastructure, format!("stages did not do their work: {stages}"));
    }
    let (took, allowed) = evidence.latency.filter(|_| !evidence.is_missed)?;
    let is_slow = took.is_nan() || took > allowed;
    is_slow
        .then(|| because(Class::Infrastructure, format!("it took {took:.0} ms of {allowed:.0}")))?
}

fn pipeline(evidence: &Evidence) -> Option<Classified> {
    let why = match evidence.presence {
        Presence::Absent => "what must be found is not in the store",
        Presence::Superseded => "what must be found was deleted or replaced",
        Presence::ChunksMissing => "what must be found has lost passages",
        Presence::FilteredOut => "what must be found says of itself what the query filters out",
        Presence::Whole | Presence::VectorsMissing | Presence::Unknown => return None,
    };
    because(Class::PipelineBug, why)
}

fn threshold(evidence: &Evidence) -> Option<Classified> {
    let (score, threshold) = (evidence.rerank_score?, evidence.threshold?);
    let is_dropped = score < threshold && evidence.is_missed;
    is_dropped.then(|| {
        because(
            Class::Threshold,
            format!("the reranker gave it {score:.3}, below the threshold {threshold:.3}"),
        )
    })?
}

fn drift(evidence: &Evidence) -> Option<Classified> {
    if evidence.presence == Presence::VectorsMissing {
        return because(Class::EmbeddingDrift, "it is there, and its vectors are not");
    }
    if !evidence.is_missed {
        return None;
    }
    if let Some((own, usual)) = evidence.similarity.filter(|(own, usual)| usual - own > FAR) {
        let told = format!("its similarity is {own:.2}, where {usual:.2} is usual");
        return because(Class::EmbeddingDrift, told);
    }
    match (evidence.in_words, evidence.in_vectors) {
        (Some(false), Some(false)) => {
            because(Class::EmbeddingDrift, "it is there, and neither words nor meaning found it")
        }
        _ => None,
    }
}

fn ranking(evidence: &Evidence) -> Option<Classified> {
    if !evidence.is_missed {
        return because(Class::Ranking, "it was found, and shown in a way that is not right");
    }
    if let Some(rank) = evidence.deeper_rank {
        return because(Class::Ranking, format!("it was found at rank {rank}"));
    }
    let is_found = evidence.in_words == Some(true) || evidence.in_vectors == Some(true);
    is_found.then(|| because(Class::Ranking, "it was found, and others are ranked before it"))?
}

fn missing(evidence: &Evidence) -> Vec<String> {
    let unknown = [
        (evidence.presence == Presence::Unknown, "whether what must be found is there"),
        (evidence.in_words.is_none() && evidence.in_vectors.is_none(), "what the stages found"),
        (evidence.rerank_score.is_none(), "what the reranker said"),
    ];
    let told = unknown.into_iter().filter(|(is_so, _)| *is_so);
    told.map(|(_, what)| format!("not known: {what}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Evidence {
        Evidence {
            presence: Presence::Whole,
            in_words: Some(true),
            in_vectors: Some(true),
            ..Evidence::default()
        }
    }

    #[track_caller]
    fn check(evidence: Evidence, class: Class) {
        let found = classify(&evidence);
        assert_eq!(found.class, class, "{evidence:?}");
        assert!(!found.because.is_empty());
    }

    #[test]
    fn in_the_order_of_the_playbook() {
        check(
            Evidence {
                error: Some(TargetErrorKind::Timeout),
                presence: Presence::Absent,
                ..whole()
            },
            Class::Infrastructure,
        );
        check(Evidence { fallbacks: vec!["vectors".to_owned()], ..whole() }, Class::Infrastructure);
        for presence in
            [Presence::Absent, Presence::Superseded, Presence::ChunksMissing, Presence::FilteredOut]
        {
            check(Evidence { presence, ..whole() }, Class::PipelineBug);
        }
        let scored =
            |score| Evidence { rerank_score: Some(score), threshold: Some(0.5), ..whole() };
        check(scored(0.49), Class::Threshold);
        check(scored(0.5), Class::Ranking);
        check(
            Evidence { in_words: Some(false), in_vectors: Some(false), ..whole() },
            Class::EmbeddingDrift,
        );
        check(Evidence { presence: Presence::VectorsMissing, ..whole() }, Class::EmbeddingDrift);
        check(Evidence { similarity: Some((0.1, 0.6)), ..whole() }, Class::EmbeddingDrift);
        check(whole(), Class::Ranking);
        check(Evidence { deeper_rank: Some(17), ..Evidence::default() }, Class::Ranking);
    }

    #[test]
    fn slow_answers_that_found_everything() {
        let slow = Evidence { latency: Some((171.0, 170.0)), is_missed: false, ..whole() };
        check(slow, Class::Infrastructure);
        let fast = Evidence { latency: Some((17.0, 170.0)), is_missed: false, ..whole() };
        check(fast, Class::Ranking);
    }

    #[test]
    fn too_little_is_told() {
        let found = classify(&Evidence::default());
        assert_eq!((found.class, found.because.len()), (Class::Unknown, 3));
    }
}
