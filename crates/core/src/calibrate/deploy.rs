//! Whether a threshold may be put in force: it was not refused, it passed its trial against the reranker that
//! is set and the corpus that is there, with enough queries, and that was not long ago.

use jiff::{SignedDuration, Timestamp};

use super::{FEWEST_QUERIES, Refusal};
use crate::named;

/// A trial says nothing any more after so many days: the corpus and the queries go on.
pub(crate) const FRESH_DAYS: i64 = 7;
/// Clocks may differ by this much.
const SKEW: SignedDuration = SignedDuration::from_mins(1);

/// What stands in the way of a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Obstacle {
    /// No reranker is set.
    NoReranker,
    /// It was made for another reranker than the one that is set.
    OtherModel,
    /// It was made of what is no score.
    BadScores,
    /// It was refused, and nobody forced it.
    Refused,
    /// It was not tried.
    NotVerified,
    /// It did not pass its trial.
    VerifyFailed,
    /// Its trial was too long ago.
    VerifyOld,
    /// Its trial is dated in the future.
    VerifyInFuture,
    /// Its trial asked too few queries.
    TooFewQueries,
    /// Its trial was of another corpus than the one that is there.
    OtherCorpus,
}

named! {
    Obstacle {
        NoReranker = "no_reranker",
        OtherModel = "other_model",
        BadScores = "bad_scores",
        Refused = "refused",
        NotVerified = "not_verified",
        VerifyFailed = "verify_failed",
        VerifyOld = "verify_old",
        VerifyInFuture = "verify_in_future",
        TooFewQueries = "too_few_queries",
        OtherCorpus = "other_corpus",
    }
}

impl Obstacle {
    /// Whether somebody may decide otherwise. A threshold that no score is held against is none.
    pub fn may_be_forced(self) -> bool {
        !matches!(self, Self::NoReranker | Self::OtherModel | Self::BadScores)
    }

    /// In words, with what to do.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::NoReranker => {
                "no reranker is set: `gbrain config set models.rerank PROVIDER:MODEL`"
            }
            Self::OtherModel => "another reranker is set: `gbrain calibrate score` with that one",
            Self::BadScores => "it was made of what is no score",
            Self::Refused => "it was refused: see `gbrain calibrate show`",
            Self::NotVerified => "it was not tried: `gbrain calibrate verify`",
            Self::VerifyFailed => "it did not pass its trial: see `gbrain calibrate show`",
            Self::VerifyOld => "its trial was more than 7 days ago: `gbrain calibrate verify`",
            Self::VerifyInFuture => {
                "its trial is dated in the future: set the clock, then `gbrain calibrate verify`"
            }
            Self::TooFewQueries => {
                "its trial asked fewer than 20 canonical queries: add some, then `gbrain calibrate verify`"
            }
            Self::OtherCorpus => {
                "pages were written or deleted since its trial: `gbrain calibrate verify`"
            }
        }
    }
}

/// A trial, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// Whether it was passed.
    pub passed: bool,
    pub at: Timestamp,
    /// Queries that were asked.
    pub queries: u64,
    /// The change that the corpus was as of; none if that is not known.
    pub generation: Option<i64>,
}

/// A threshold that is to be put in force.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Applicant<'a> {
    /// The reranker that it was made for.
    pub model: &'a str,
    /// The reranker that is set.
    pub set: Option<&'a str>,
    /// Why it should not be used.
    pub refusals: &'a [Refusal],
    /// Whether somebody made it all the same.
    pub was_forced: bool,
    pub tried: Option<Tried>,
    /// The last change of the corpus.
    pub generation: i64,
}

/// What stands in the way; nothing if nothing does.
pub fn obstacles(applicant: &Applicant<'_>, now: Timestamp) -> Vec<Obstacle> {
    let Applicant { model, set, refusals, was_forced, tried, generation } = *applicant;
    let passed = tried.filter(|tried| tried.passed);
    let fresh = SignedDuration::from_hours(24 * FRESH_DAYS);
    let is_old = |at: Timestamp| now.duration_since(at) > fresh;
    let found = [
        (Obstacle::NoReranker, set.is_none()),
        (Obstacle::OtherModel, set.is_some_and(|set| set != model)),
        (Obstacle::BadScores, refusals.contains(&Refusal::BadScores)),
        (Obstacle::Refused, !refusals.is_empty() && !was_forced),
        (Obstacle::NotVerified, tried.is_none()),
        (Obstacle::VerifyFailed, tried.is_some_and(|tried| !tried.passed)),
        (Obstacle::VerifyOld, passed.is_some_and(|one| is_old(one.at))),
        (Obstacle::VerifyInFuture, passed.is_some_and(|one| one.at.duration_since(now) > SKEW)),
        (Obstacle::TooFewQueries, passed.is_some_and(|one| one.queries < FEWEST_QUERIES)),
        (Obstacle::OtherCorpus, passed.is_some_and(|one| one.generation != Some(generation))),
    ];
    found.into_iter().filter(|(_, is_so)| *is_so).map(|(what, _)| what).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_way() {
        let now: Timestamp = "2026-11-17T12:00:00Z".parse().unwrap();
        let week = SignedDuration::from_hours(24 * 7);
        let trial = Tried { passed: true, at: now - week, queries: 20, generation: Some(7) };
        let tried = |passed, at| Some(Tried { passed, at, ..trial });
        let good = Applicant {
            model: "a:m",
            set: Some("a:m"),
            refusals: &[],
            was_forced: false,
            tried: Some(trial),
            generation: 7,
        };
        let check = |applicant: Applicant<'_>, expected: &[Obstacle]| {
            assert_eq!(obstacles(&applicant, now), expected, "{applicant:?}");
        };
        check(good, &[]);
        let late = now - week - SignedDuration::from_millis(1);
        check(Applicant { tried: tried(true, late), ..good }, &[Obstacle::VerifyOld]);
        check(Applicant { tried: tried(false, late), ..good }, &[Obstacle::VerifyFailed]);
        let soon = now + SignedDuration::from_secs(61);
        check(Applicant { tried: tried(true, soon), ..good }, &[Obstacle::VerifyInFuture]);
        check(Applicant { tried: tried(true, now + SKEW), ..good }, &[]);
        let few = Tried { queries: 1, ..trial };
        check(Applicant { tried: Some(few), ..good }, &[Obstacle::TooFewQueries]);
        check(Applicant { generation: 8, ..good }, &[Obstacle::OtherCorpus]);
        let unknown = Tried { generation: None, ..trial };
        check(Applicant { tried: Some(unknown), ..good }, &[Obstacle::OtherCorpus]);
        check(Applicant { tried: None, ..good }, &[Obstacle::NotVerified]);
        check(Applicant { set: None, ..good }, &[Obstacle::NoReranker]);
        check(Applicant { set: Some("b:m"), ..good }, &[Obstacle::OtherModel]);
        let refused = Applicant { refusals: &[Refusal::TooFew], ..good };
        check(refused, &[Obstacle::Refused]);
        check(Applicant { was_forced: true, ..refused }, &[]);
        let bad = Applicant { refusals: &[Refusal::BadScores], was_forced: true, ..good };
        check(bad, &[Obstacle::BadScores]);
        assert!(!Obstacle::BadScores.may_be_forced() && Obstacle::Refused.may_be_forced());
    }
}
