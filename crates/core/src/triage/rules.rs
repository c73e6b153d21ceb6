//! The classification rules, in order.

use super::{CaseEvidence, DocumentPresence, FailureCause, VectorSimilarity};

/// A class with its reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Classification {
    pub class: FailureCause,
    /// Reasons for the class.
    pub because: Vec<String>,
}

/// Similarities this far below the 10th percentile are significant.
const FAR: f64 = 0.05;

/// The stage that applies the threshold.
const RERANK: &str = "rerank";

/// Classifies a failing case.
pub fn classify(evidence: &CaseEvidence) -> Classification {
    let rules = [unanswered, pipeline, infrastructure, threshold, drift, ranking];
    let found = rules.iter().find_map(|rule| rule(evidence));
    let mut found = found.unwrap_or_else(|| Classification {
        class: FailureCause::Unknown,
        because: missing(evidence),
    });
    found.because.extend(evidence.notes.iter().cloned());
    found
}

fn because(class: FailureCause, why: impl Into<String>) -> Option<Classification> {
    Some(Classification { class, because: vec![why.into()] })
}

fn unanswered(evidence: &CaseEvidence) -> Option<Classification> {
    let error = evidence.error?;
    because(FailureCause::Infrastructure, format!("the target did not answer: {error}"))
}

/// A lost document cannot be retrieved, even if every stage works.
fn pipeline(evidence: &CaseEvidence) -> Option<Classification> {
    let why = match evidence.presence {
        DocumentPresence::ChunksMissing => "the expected document has lost passages",
        DocumentPresence::Absent if evidence.is_missed => "the expected document does not exist",
        DocumentPresence::Superseded if evidence.is_missed => {
            "the expected document was deleted or replaced"
        }
        DocumentPresence::FilteredOut if evidence.is_missed => {
            "the query's filters exclude the expected document"
        }
        _ if evidence.is_made_up => "it shows or claims something that no text supports",
        _ => return None,
    };
    because(FailureCause::PipelineBug, why)
}

fn infrastructure(evidence: &CaseEvidence) -> Option<Classification> {
    // A bypassed threshold is classified as a threshold problem.
    let lost = evidence.fallbacks.iter().filter(|one| !(evidence.is_bypassed && *one == RERANK));
    let lost: Vec<&str> = lost.map(String::as_str).collect();
    if !lost.is_empty() {
        let stages = lost.join(", ");
        return because(FailureCause::Infrastructure, format!("stages fell back: {stages}"));
    }
    let (took, allowed) = evidence.latency().filter(|_| !evidence.is_missed)?;
    let is_slow = took.is_nan() || took > allowed;
    is_slow.then(|| {
        because(FailureCause::Infrastructure, format!("it took {took:.0} ms of {allowed:.0}"))
    })?
}

fn threshold(evidence: &CaseEvidence) -> Option<Classification> {
    let threshold = evidence.threshold?;
    if evidence.is_bypassed && !evidence.is_missed {
        let why = format!("no result reached the threshold {threshold:.3}, so it was bypassed");
        return because(FailureCause::Threshold, why);
    }
    if evidence.is_bypassed || !evidence.is_missed {
        return None;
    }
    let prefix = if evidence.is_from_links_alone() { "only links retrieved it, and " } else { "" };
    let Some(score) = evidence.rerank_score else {
        return unjudged(evidence, prefix, threshold);
    };
    // If enough others scored higher, it would not be shown without a threshold either. A document
    // that only links retrieve does not match the query text, so a reranker puts it last.
    let is_good_enough = evidence.rerank_rank.is_none_or(|rank| rank <= evidence.depth)
        || evidence.is_from_links_alone();
    (score < threshold && is_good_enough).then(|| {
        because(
            FailureCause::Threshold,
            format!("{prefix}the reranker gave it {score:.3}, below the threshold {threshold:.3}"),
        )
    })?
}

/// A document that was retrieved but not reranked is dropped by the threshold too; it would have
/// ranked behind the reranked ones.
fn unjudged(evidence: &CaseEvidence, prefix: &str, threshold: f64) -> Option<Classification> {
    let has_room = evidence.judged < evidence.depth || evidence.is_from_links_alone();
    let is_dropped = evidence.judged > 0 && evidence.was_found() && has_room;
    is_dropped.then(|| {
        because(
            FailureCause::Threshold,
            format!("{prefix}it was not reranked, so the threshold {threshold:.3} drops it"),
        )
    })?
}

fn drift(evidence: &CaseEvidence) -> Option<Classification> {
    if evidence.presence == DocumentPresence::VectorsMissing {
        return because(FailureCause::EmbeddingDrift, "it exists, but its vectors are missing");
    }
    if !evidence.is_missed {
        return None;
    }
    let similarities = evidence.similarities();
    let far = similarities.as_ref().map(is_far);
    if let (Some(VectorSimilarity { own, usual, least }), Some(true)) = (similarities, far)
        && evidence.in_vectors != Some(true)
        && evidence.in_graph != Some(true)
    {
        let why = format!(
            "its similarity is {own:.2}; the median is {usual:.2}, the 10th percentile {least:.2}"
        );
        return because(FailureCause::EmbeddingDrift, why);
    }
    // A document with normal similarity was crowded out; a document that may be missing is not
    // known to be far.
    let is_lost = (evidence.in_words, evidence.in_vectors) == (Some(false), Some(false))
        && evidence.in_graph != Some(true);
    let is_there = evidence.presence == DocumentPresence::Whole;
    (is_lost && is_there && far.is_none() && evidence.deeper_rank.is_none()).then(|| {
        because(
            FailureCause::EmbeddingDrift,
            "it exists, but neither words nor vectors retrieved it",
        )
    })?
}

/// Whether a similarity is significantly below the 10th percentile.
fn is_far(similarity: &VectorSimilarity) -> bool {
    similarity.own < similarity.least - FAR
}

fn ranking(evidence: &CaseEvidence) -> Option<Classification> {
    if !evidence.is_missed {
        return because(
            FailureCause::Ranking,
            "it was found, but its highlight or rationale is wrong",
        );
    }
    if let Some(rank) = evidence.deeper_rank {
        return because(FailureCause::Ranking, format!("it was found at rank {rank}"));
    }
    if evidence.was_found() {
        return because(FailureCause::Ranking, "it was found, but others rank above it");
    }
    let near = evidence.similarities().filter(|one| !is_far(one))?;
    let VectorSimilarity { own, usual, least: _ } = near;
    let why =
        format!("its similarity is normal ({own:.2}, median {usual:.2}), but others are closer");
    because(FailureCause::Ranking, why)
}

fn missing(evidence: &CaseEvidence) -> Vec<String> {
    let unknown = [
        (evidence.presence == DocumentPresence::Unknown, "whether the expected document exists"),
        (evidence.in_words.is_none() && evidence.in_vectors.is_none(), "which stages retrieved it"),
        (evidence.rerank_score.is_none(), "its reranker score"),
    ];
    let missing = unknown.into_iter().filter(|(is_so, _)| *is_so);
    missing.map(|(_, what)| format!("unknown: {what}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::TargetErrorKind;

    fn whole() -> CaseEvidence {
        CaseEvidence {
            presence: DocumentPresence::Whole,
            in_words: Some(true),
            in_vectors: Some(true),
            ..CaseEvidence::default()
        }
    }

    fn similar(own: f64, evidence: CaseEvidence) -> CaseEvidence {
        let (usual, least) = (Some(0.6), Some(0.4));
        CaseEvidence {
            similarity: Some(own),
            usual_similarity: usual,
            least_similarity: least,
            ..evidence
        }
    }

    fn lost() -> CaseEvidence {
        CaseEvidence { in_words: Some(false), in_vectors: Some(false), ..whole() }
    }

    #[track_caller]
    fn check(evidence: CaseEvidence, class: FailureCause) {
        let found = classify(&evidence);
        assert_eq!(found.class, class, "{evidence:?}");
        assert!(!found.because.is_empty());
    }

    #[test]
    fn in_the_order_of_the_playbook() {
        check(
            CaseEvidence {
                error: Some(TargetErrorKind::Timeout),
                presence: DocumentPresence::Absent,
                ..whole()
            },
            FailureCause::Infrastructure,
        );
        let fallback = || CaseEvidence { fallbacks: vec!["vectors".to_owned()], ..whole() };
        check(fallback(), FailureCause::Infrastructure);
        check(
            CaseEvidence { presence: DocumentPresence::Absent, ..fallback() },
            FailureCause::PipelineBug,
        );
        for presence in [
            DocumentPresence::Absent,
            DocumentPresence::Superseded,
            DocumentPresence::ChunksMissing,
            DocumentPresence::FilteredOut,
        ] {
            check(CaseEvidence { presence, ..whole() }, FailureCause::PipelineBug);
        }
        check(lost(), FailureCause::EmbeddingDrift);
        let bare = CaseEvidence { presence: DocumentPresence::VectorsMissing, ..whole() };
        check(CaseEvidence { is_missed: false, ..bare.clone() }, FailureCause::EmbeddingDrift);
        check(bare, FailureCause::EmbeddingDrift);
        check(CaseEvidence { in_graph: Some(false), ..lost() }, FailureCause::EmbeddingDrift);
        check(whole(), FailureCause::Ranking);
        check(
            CaseEvidence { deeper_rank: Some(17), ..CaseEvidence::default() },
            FailureCause::Ranking,
        );
    }

    #[test]
    fn results_below_the_threshold() {
        let scored = |score, rank| CaseEvidence {
            rerank_score: Some(score),
            rerank_rank: Some(rank),
            threshold: Some(0.5),
            ..whole()
        };
        check(scored(0.49, 3), FailureCause::Threshold);
        check(scored(0.5, 3), FailureCause::Ranking);
        check(scored(0.49, 11), FailureCause::Ranking);
        check(CaseEvidence { is_bypassed: true, ..scored(0.49, 3) }, FailureCause::Ranking);
        check(
            CaseEvidence {
                is_bypassed: true,
                is_missed: false,
                fallbacks: vec!["rerank".to_owned()],
                ..scored(0.49, 3)
            },
            FailureCause::Threshold,
        );
        let down = CaseEvidence { fallbacks: vec!["rerank".to_owned()], ..whole() };
        check(CaseEvidence { is_missed: false, ..down }, FailureCause::Infrastructure);
    }

    /// A page that only links retrieve did not drift: the threshold or the ranking dropped it.
    #[test]
    fn results_that_only_links_retrieve() {
        let linked = || CaseEvidence { in_graph: Some(true), ..lost() };
        let scored = |score, rank| CaseEvidence {
            rerank_score: Some(score),
            rerank_rank: Some(rank),
            threshold: Some(0.5),
            judged: 30,
            ..linked()
        };
        check(scored(0.49, 3), FailureCause::Threshold);
        check(scored(0.2, 24), FailureCause::Threshold);
        check(scored(0.5, 24), FailureCause::Ranking);
        let unjudged = || CaseEvidence { threshold: Some(0.5), judged: 30, ..linked() };
        check(unjudged(), FailureCause::Threshold);
        check(CaseEvidence { is_bypassed: true, ..unjudged() }, FailureCause::Ranking);
        check(CaseEvidence { judged: 0, ..unjudged() }, FailureCause::Ranking);
        check(linked(), FailureCause::Ranking);
        check(similar(0.1, linked()), FailureCause::Ranking);
        check(similar(0.1, unjudged()), FailureCause::Threshold);
    }

    #[test]
    fn results_without_a_reranker_score() {
        let unjudged = |judged| CaseEvidence { threshold: Some(0.5), judged, ..whole() };
        check(unjudged(9), FailureCause::Threshold);
        check(unjudged(10), FailureCause::Ranking);
        check(unjudged(0), FailureCause::Ranking);
    }

    #[test]
    fn distant_and_crowded_out_results() {
        check(similar(0.1, lost()), FailureCause::EmbeddingDrift);
        check(similar(0.36, lost()), FailureCause::Ranking);
        check(similar(0.1, whole()), FailureCause::Ranking);
        check(CaseEvidence { deeper_rank: Some(40), ..lost() }, FailureCause::Ranking);
    }

    #[test]
    fn slow_answers_that_found_everything() {
        let took = |ms| CaseEvidence {
            took_ms: Some(ms),
            allowed_ms: Some(170.0),
            is_missed: false,
            ..whole()
        };
        check(took(171.0), FailureCause::Infrastructure);
        check(took(17.0), FailureCause::Ranking);
    }

    #[test]
    fn unsupported_highlights() {
        let shown = CaseEvidence { is_missed: false, is_made_up: true, ..whole() };
        check(shown.clone(), FailureCause::PipelineBug);
        check(CaseEvidence { is_made_up: false, ..shown }, FailureCause::Ranking);
    }

    #[test]
    fn insufficient_evidence_is_unknown() {
        let found = classify(&CaseEvidence::default());
        assert_eq!((found.class, found.because.len()), (FailureCause::Unknown, 3));
        // Drift requires that the document is known to exist.
        let elsewhere = CaseEvidence { presence: DocumentPresence::Unknown, ..lost() };
        check(elsewhere, FailureCause::Unknown);
    }
}
