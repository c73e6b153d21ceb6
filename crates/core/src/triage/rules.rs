//! The rules, in the order in which they are asked.

use super::{Class, Evidence, Presence, Similarity};

/// A class with what it was chosen by.
#[derive(Debug, Clone, PartialEq)]
pub struct Classified {
    /// Why the case failed.
    pub class: Class,
    /// What it was chosen by, in words.
    pub because: Vec<String>,
}

/// Similarities this much below what is still found are not noise.
const FAR: f64 = 0.05;

/// The stage that a threshold belongs to.
const RERANK: &str = "rerank";

/// Why a case failed.
pub fn classify(evidence: &Evidence) -> Classified {
    let rules = [unanswered, pipeline, infrastructure, threshold, drift, ranking];
    let found = rules.iter().find_map(|rule| rule(evidence));
    let mut found =
        found.unwrap_or_else(|| Classified { class: Class::Unknown, because: missing(evidence) });
    found.because.extend(evidence.notes.iter().cloned());
    found
}

fn because(class: Class, why: impl Into<String>) -> Option<Classified> {
    Some(Classified { class, because: vec![why.into()] })
}

fn unanswered(evidence: &Evidence) -> Option<Classified> {
    let error = evidence.error?;
    because(Class::Infrastructure, format!("the target did not answer: {error}"))
}

/// What is lost can't be found, whichever stage did its work.
fn pipeline(evidence: &Evidence) -> Option<Classified> {
    let why = match evidence.presence {
        Presence::ChunksMissing => "what must be found has lost passages",
        Presence::Absent if evidence.is_missed => "what must be found is not there",
        Presence::Superseded if evidence.is_missed => "what must be found was deleted or replaced",
        Presence::FilteredOut if evidence.is_missed => {
            "what must be found says of itself what the query filters out"
        }
        _ if evidence.is_made_up => "it shows or claims what no text says",
        _ => return None,
    };
    because(Class::PipelineBug, why)
}

fn infrastructure(evidence: &Evidence) -> Option<Classified> {
    // A threshold that let everything through is the threshold's matter.
    let lost = evidence.fallbacks.iter().filter(|one| !(evidence.is_bypassed && *one == RERANK));
    let lost: Vec<&str> = lost.map(String::as_str).collect();
    if !lost.is_empty() {
        let stages = lost.join(", ");
        return because(Class::Infrastructure, format!("stages did not do their work: {stages}"));
    }
    let (took, allowed) = evidence.latency.filter(|_| !evidence.is_missed)?;
    let is_slow = took.is_nan() || took > allowed;
    is_slow
        .then(|| because(Class::Infrastructure, format!("it took {took:.0} ms of {allowed:.0}")))?
}

fn threshold(evidence: &Evidence) -> Option<Classified> {
    let threshold = evidence.threshold?;
    if evidence.is_bypassed && !evidence.is_missed {
        let told = format!("nothing reached the threshold {threshold:.3}, and all was let through");
        return because(Class::Threshold, told);
    }
    if evidence.is_bypassed || !evidence.is_missed {
        return None;
    }
    let whence = if evidence.is_from_links_alone() { "only links led to it, and " } else { "" };
    let Some(score) = evidence.rerank_score else {
        return unjudged(evidence, whence, threshold);
    };
    // Where enough others were judged better, it would not have been shown without a threshold either. What
    // only links lead to does not say what is asked, and a reranker that reads it puts it last.
    let is_good_enough = evidence.rerank_rank.is_none_or(|rank| rank <= evidence.depth)
        || evidence.is_from_links_alone();
    (score < threshold && is_good_enough).then(|| {
        because(
            Class::Threshold,
            format!("{whence}the reranker gave it {score:.3}, below the threshold {threshold:.3}"),
        )
    })?
}

/// What was found and not judged is dropped by a threshold too, and would have stood behind what was judged.
fn unjudged(evidence: &Evidence, whence: &str, threshold: f64) -> Option<Classified> {
    let has_room = evidence.judged < evidence.depth || evidence.is_from_links_alone();
    let is_dropped = evidence.judged > 0 && evidence.was_found() && has_room;
    is_dropped.then(|| {
        because(
            Class::Threshold,
            format!(
                "{whence}the reranker did not judge it, which the threshold {threshold:.3} drops"
            ),
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
    let far = evidence.similarity.as_ref().map(is_far);
    if let (Some(Similarity { own, usual, least }), Some(true)) = (evidence.similarity, far)
        && evidence.in_vectors != Some(true)
        && evidence.in_graph != Some(true)
    {
        let told = format!(
            "its similarity is {own:.2}, where {usual:.2} is usual and {least:.2} is still found"
        );
        return because(Class::EmbeddingDrift, told);
    }
    // What is as near as usual was crowded out; what may not be there is not known to be far.
    let is_lost = (evidence.in_words, evidence.in_vectors) == (Some(false), Some(false))
        && evidence.in_graph != Some(true);
    let is_there = evidence.presence == Presence::Whole;
    (is_lost && is_there && far.is_none() && evidence.deeper_rank.is_none()).then(|| {
        because(Class::EmbeddingDrift, "it is there, and neither words nor meaning found it")
    })?
}

/// Whether something is farther from its query than what is still found.
fn is_far(similarity: &Similarity) -> bool {
    similarity.own < similarity.least - FAR
}

fn ranking(evidence: &Evidence) -> Option<Classified> {
    if !evidence.is_missed {
        return because(Class::Ranking, "it was found, and shown in a way that is not right");
    }
    if let Some(rank) = evidence.deeper_rank {
        return because(Class::Ranking, format!("it was found at rank {rank}"));
    }
    if evidence.was_found() {
        return because(Class::Ranking, "it was found, and others are ranked before it");
    }
    let near = evidence.similarity.filter(|one| !is_far(one))?;
    let Similarity { own, usual, least: _ } = near;
    let told = format!("it is near enough ({own:.2}, {usual:.2} is usual), and others are nearer");
    because(Class::Ranking, told)
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
    use crate::target::TargetErrorKind;

    fn whole() -> Evidence {
        Evidence {
            presence: Presence::Whole,
            in_words: Some(true),
            in_vectors: Some(true),
            ..Evidence::default()
        }
    }

    fn lost() -> Evidence {
        Evidence { in_words: Some(false), in_vectors: Some(false), ..whole() }
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
        let fallback = || Evidence { fallbacks: vec!["vectors".to_owned()], ..whole() };
        check(fallback(), Class::Infrastructure);
        check(Evidence { presence: Presence::Absent, ..fallback() }, Class::PipelineBug);
        for presence in
            [Presence::Absent, Presence::Superseded, Presence::ChunksMissing, Presence::FilteredOut]
        {
            check(Evidence { presence, ..whole() }, Class::PipelineBug);
        }
        check(lost(), Class::EmbeddingDrift);
        let bare = Evidence { presence: Presence::VectorsMissing, ..whole() };
        check(Evidence { is_missed: false, ..bare.clone() }, Class::EmbeddingDrift);
        check(bare, Class::EmbeddingDrift);
        check(Evidence { in_graph: Some(false), ..lost() }, Class::EmbeddingDrift);
        check(whole(), Class::Ranking);
        check(Evidence { deeper_rank: Some(17), ..Evidence::default() }, Class::Ranking);
    }

    #[test]
    fn what_a_threshold_drops() {
        let scored = |score, rank| Evidence {
            rerank_score: Some(score),
            rerank_rank: Some(rank),
            threshold: Some(0.5),
            ..whole()
        };
        check(scored(0.49, 3), Class::Threshold);
        check(scored(0.5, 3), Class::Ranking);
        check(scored(0.49, 11), Class::Ranking);
        check(Evidence { is_bypassed: true, ..scored(0.49, 3) }, Class::Ranking);
        check(
            Evidence {
                is_bypassed: true,
                is_missed: false,
                fallbacks: vec!["rerank".to_owned()],
                ..scored(0.49, 3)
            },
            Class::Threshold,
        );
        let down = Evidence { fallbacks: vec!["rerank".to_owned()], ..whole() };
        check(Evidence { is_missed: false, ..down }, Class::Infrastructure);
    }

    /// What only links lead to did not drift: the threshold or the ranking dropped it.
    #[test]
    fn what_only_links_lead_to() {
        let linked = || Evidence { in_graph: Some(true), ..lost() };
        let scored = |score, rank| Evidence {
            rerank_score: Some(score),
            rerank_rank: Some(rank),
            threshold: Some(0.5),
            judged: 30,
            ..linked()
        };
        check(scored(0.49, 3), Class::Threshold);
        check(scored(0.2, 24), Class::Threshold);
        check(scored(0.5, 24), Class::Ranking);
        let unjudged = || Evidence { threshold: Some(0.5), judged: 30, ..linked() };
        check(unjudged(), Class::Threshold);
        check(Evidence { is_bypassed: true, ..unjudged() }, Class::Ranking);
        check(Evidence { judged: 0, ..unjudged() }, Class::Ranking);
        check(linked(), Class::Ranking);
        let far = Some(Similarity { own: 0.1, usual: 0.6, least: 0.4 });
        check(Evidence { similarity: far, ..linked() }, Class::Ranking);
        check(Evidence { similarity: far, ..unjudged() }, Class::Threshold);
    }

    #[test]
    fn what_was_not_judged_is_dropped_where_there_was_room() {
        let unjudged = |judged| Evidence { threshold: Some(0.5), judged, ..whole() };
        check(unjudged(9), Class::Threshold);
        check(unjudged(10), Class::Ranking);
        check(unjudged(0), Class::Ranking);
    }

    #[test]
    fn what_is_far_and_what_is_crowded_out() {
        let near = |own| Some(Similarity { own, usual: 0.6, least: 0.4 });
        check(Evidence { similarity: near(0.1), ..lost() }, Class::EmbeddingDrift);
        check(Evidence { similarity: near(0.36), ..lost() }, Class::Ranking);
        check(Evidence { similarity: near(0.1), ..whole() }, Class::Ranking);
        check(Evidence { deeper_rank: Some(40), ..lost() }, Class::Ranking);
    }

    #[test]
    fn slow_answers_that_found_everything() {
        let slow = Evidence { latency: Some((171.0, 170.0)), is_missed: false, ..whole() };
        check(slow, Class::Infrastructure);
        let fast = Evidence { latency: Some((17.0, 170.0)), is_missed: false, ..whole() };
        check(fast, Class::Ranking);
    }

    #[test]
    fn what_is_shown_and_no_text_says() {
        let shown = Evidence { is_missed: false, is_made_up: true, ..whole() };
        check(shown.clone(), Class::PipelineBug);
        check(Evidence { is_made_up: false, ..shown }, Class::Ranking);
    }

    #[test]
    fn too_little_is_told() {
        let found = classify(&Evidence::default());
        assert_eq!((found.class, found.because.len()), (Class::Unknown, 3));
        // Whether it is there is not known, so that nobody can say that it drifted.
        let elsewhere = Evidence { presence: Presence::Unknown, ..lost() };
        check(elsewhere, Class::Unknown);
    }
}
