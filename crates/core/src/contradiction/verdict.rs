//! Parses a judge's answer about a pair into a judgement.
//!
//! Parsing is tolerant if the meaning is clear (a list of one answer, numbers as strings, the
//! boolean of older prompts). Otherwise it is an error: an unknown verdict or a confidence outside
//! 0 to 1 never becomes `no_contradiction`.

use serde_json::{Map, Value};

use crate::named;

/// Minimum confidence of a contradiction, inclusive.
pub(crate) const CONFIDENCE_FLOOR: f64 = 0.7;

/// Maximum length of an axis, in characters.
const AXIS_CHARS: usize = 300;

named! {
    /// The relation between two statements.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum StatementRelation {
        /// Both can be true.
        No = "no_contradiction",
        /// They cannot both be true at the same time.
        Contradiction = "contradiction",
        /// The newer statement replaces the older one.
        Supersession = "temporal_supersession",
        /// A figure or state regressed, contrary to an earlier statement.
        Regression = "temporal_regression",
        /// The facts changed over time, and each statement was true when it was made.
        Evolution = "temporal_evolution",
        /// An apparent negation: the denial is about something else.
        NegationArtifact = "negation_artifact",
    }
}

named! {
    /// The severity of a finding.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Severity {
        Info = "info",
        Low = "low",
        /// An answer may be wrong.
        Medium = "medium",
        /// A decision may be wrong.
        High = "high",
    }
}

/// The definition of the severities, for judges and readers.
pub(crate) const SEVERITY_RUBRIC: &str = "\
high: somebody who acts on the wrong statement loses money, breaks a promise or harms a person \
(who holds a role, amounts, dates of obligations, health, law, security).
medium: an answer made from the wrong statement would be wrong in a way that its reader would mind.
low: a detail is wrong, and little follows from it.
info: worth knowing, nothing to repair.";

named! {
    /// The kind of a resolution.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ResolutionKind {
        /// Mark the older statement as replaced by the newer.
        TemporalSupersede = "temporal_supersede",
        /// Replace a take that its own page contradicts.
        TakesSupersede = "takes_supersede",
        /// Keep both and mark the question as open.
        TakesMarkDebate = "takes_mark_debate",
        /// Record the change in the page's timeline.
        LogTimelineChange = "log_timeline_change",
        /// Rewrite the page from its sources.
        DreamSynthesize = "dream_synthesize",
        FlagForReview = "flag_for_review",
        /// A person has to decide.
        ManualReview = "manual_review",
    }
}

named! {
    /// Why there is no judgement.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum JudgeError {
        /// The answer could not be parsed.
        ParseFail = "parse_fail",
        /// The judge refused to answer.
        Refusal = "refusal",
        Timeout = "timeout",
        Http5xx = "http_5xx",
        RateLimited = "rate_limited",
        /// The budget is exhausted.
        OverBudget = "over_budget",
        /// The cassette was recorded with another prompt, or lacks this pair.
        StaleCassette = "stale_cassette",
        /// No API key is configured.
        NoKey = "no_key",
        Unknown = "unknown",
    }
}

/// A judge's decision about a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The verdict after the confidence floor was applied.
    pub verdict: StatementRelation,
    pub severity: Severity,
    /// The subject of the disagreement, in one line.
    pub axis: String,
    /// Confidence from 0 to 1.
    pub confidence: f64,
    /// The resolution that the judge suggests.
    pub resolution: Option<ResolutionKind>,
    /// Whether it was a contradiction below the confidence floor.
    pub is_floored: bool,
}

/// Why an answer is not a judgement.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AnswerError {
    /// Neither an object nor a list of one.
    #[error("the answer is {0}, not one object")]
    Shape(&'static str),
    #[error("the answer has no `verdict`")]
    NoVerdict,
    #[error("{0:?} is not a verdict")]
    UnknownVerdict(String),
    #[error("the answer has no `confidence`")]
    NoConfidence,
    /// Not a number from 0 to 1.
    #[error("confidence is {0}, not a number from 0 to 1")]
    Confidence(String),
}

impl From<&AnswerError> for JudgeError {
    fn from(_: &AnswerError) -> Self {
        Self::ParseFail
    }
}

impl StatementRelation {
    /// The severity if the judge gives none.
    pub(crate) fn default_severity(self) -> Severity {
        match self {
            Self::Contradiction => Severity::Medium,
            Self::Regression => Severity::High,
            Self::NegationArtifact => Severity::Low,
            Self::No | Self::Supersession | Self::Evolution => Severity::Info,
        }
    }

    /// Whether it is reported.
    pub fn is_finding(self) -> bool {
        self != Self::No
    }
}

impl Judgement {
    /// Applies the confidence floor: a contradiction below it becomes `No`.
    pub fn new(
        verdict: StatementRelation,
        severity: Severity,
        axis: &str,
        confidence: f64,
    ) -> Self {
        let is_floored =
            verdict == StatementRelation::Contradiction && confidence < CONFIDENCE_FLOOR;
        let (verdict, severity) = match is_floored {
            true => (StatementRelation::No, Severity::Info),
            false => (verdict, severity),
        };
        Self { verdict, severity, axis: one_line(axis), confidence, resolution: None, is_floored }
    }

    #[must_use]
    pub fn with_resolution(self, resolution: Option<ResolutionKind>) -> Self {
        Self { resolution, ..self }
    }
}

/// Parses the answer of a judge.
pub fn parse(answer: &Value) -> Result<Judgement, AnswerError> {
    let answer = one_object(answer)?;
    let verdict = verdict_of(answer)?;
    let confidence = confidence_of(answer)?;
    let severity = name_of(answer, "severity").and_then(|name| Severity::from_name(&name));
    let severity = severity.unwrap_or_else(|| verdict.default_severity());
    let axis = answer.get("axis").and_then(Value::as_str).unwrap_or_default();
    let resolution = name_of(answer, "resolution_kind");
    let resolution = resolution.and_then(|name| ResolutionKind::from_name(&name));
    Ok(Judgement::new(verdict, severity, axis, confidence).with_resolution(resolution))
}

fn one_object(answer: &Value) -> Result<&Map<String, Value>, AnswerError> {
    match answer {
        Value::Object(object) => Ok(object),
        Value::Array(list) => match list.as_slice() {
            [Value::Object(object)] => Ok(object),
            [_] => Err(AnswerError::Shape("a list of something else")),
            [] => Err(AnswerError::Shape("an empty list")),
            _ => Err(AnswerError::Shape("a list of several")),
        },
        Value::Null => Err(AnswerError::Shape("null")),
        Value::Bool(_) => Err(AnswerError::Shape("a boolean")),
        Value::Number(_) => Err(AnswerError::Shape("a number")),
        Value::String(_) => Err(AnswerError::Shape("a text")),
    }
}

/// The verdict, or the boolean that older prompts used.
fn verdict_of(answer: &Map<String, Value>) -> Result<StatementRelation, AnswerError> {
    let legacy = ["contradicts", "contradiction"].iter().find_map(|key| answer.get(*key));
    match (answer.get("verdict"), legacy.and_then(Value::as_bool)) {
        (Some(Value::String(name)), _) => {
            let folded = folded(name);
            StatementRelation::from_name(&folded)
                .ok_or_else(|| AnswerError::UnknownVerdict(name.clone()))
        }
        (Some(other), _) => Err(AnswerError::UnknownVerdict(other.to_string())),
        (None, Some(true)) => Ok(StatementRelation::Contradiction),
        (None, Some(false)) => Ok(StatementRelation::No),
        (None, None) => Err(AnswerError::NoVerdict),
    }
}

fn confidence_of(answer: &Map<String, Value>) -> Result<f64, AnswerError> {
    let value = answer.get("confidence").ok_or(AnswerError::NoConfidence)?;
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    // NaN is not in the range.
    number
        .filter(|number| (0.0..=1.0).contains(number))
        .ok_or_else(|| AnswerError::Confidence(value.to_string()))
}

fn name_of(answer: &Map<String, Value>, key: &str) -> Option<String> {
    answer.get(key).and_then(Value::as_str).map(folded)
}

fn folded(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace([' ', '-'], "_")
}

fn one_line(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    line.join(" ").chars().take(AXIS_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(answer: Value, verdict: StatementRelation, severity: Severity, confidence: f64) {
        let found = parse(&answer).unwrap();
        assert_eq!(
            (found.verdict, found.severity, found.confidence),
            (verdict, severity, confidence)
        );
    }

    #[test]
    fn plain_verdicts_are_parsed() {
        use StatementRelation as C;
        let whole = json!({"verdict": "contradiction", "severity": "high", "axis": "who is chair",
            "confidence": 0.9, "resolution_kind": "manual_review"});
        let found = parse(&whole).unwrap();
        assert_eq!(found.axis, "who is chair");
        assert_eq!(found.resolution, Some(ResolutionKind::ManualReview));
        check(json!([whole]), C::Contradiction, Severity::High, 0.9);
        check(
            json!({"verdict": "no_contradiction", "confidence": "0.5"}),
            C::No,
            Severity::Info,
            0.5,
        );
        check(
            json!({"contradicts": true, "confidence": 1}),
            C::Contradiction,
            Severity::Medium,
            1.0,
        );
        check(json!({"contradiction": false, "confidence": 0}), C::No, Severity::Info, 0.0);
        check(
            json!({"verdict": "Temporal Regression", "severity": "dire", "confidence": 0.1}),
            C::Regression,
            Severity::High,
            0.1,
        );
    }

    #[test]
    fn the_floor_is_sure_enough() {
        let at = |confidence: f64| {
            parse(
                &json!({"verdict": "contradiction", "severity": "high", "confidence": confidence}),
            )
            .unwrap()
        };
        assert_eq!(at(0.7).verdict, StatementRelation::Contradiction);
        let below = at(0.699_999);
        assert_eq!((below.verdict, below.severity), (StatementRelation::No, Severity::Info));
        assert!(below.is_floored && !at(0.7).is_floored);
        let other = parse(&json!({"verdict": "temporal_evolution", "confidence": 0.1})).unwrap();
        assert_eq!(other.verdict, StatementRelation::Evolution);
    }

    #[test]
    fn nonsense_is_an_error() {
        for answer in [
            json!(null),
            json!("no_contradiction"),
            json!([]),
            json!([{"verdict": "contradiction", "confidence": 1}, {}]),
            json!({"confidence": 0.9}),
            json!({"verdict": "perhaps", "confidence": 0.9}),
            json!({"verdict": true, "confidence": 0.9}),
            json!({"verdict": "contradiction"}),
            json!({"verdict": "contradiction", "confidence": "NaN"}),
            json!({"verdict": "contradiction", "confidence": 1.01}),
            json!({"verdict": "contradiction", "confidence": -0.1}),
            json!({"verdict": "contradiction", "confidence": 85}),
            json!({"verdict": "contradiction", "confidence": null}),
            json!({"contradicts": "yes", "confidence": 0.9}),
        ] {
            let error = parse(&answer).expect_err(&answer.to_string());
            assert_eq!(JudgeError::from(&error), JudgeError::ParseFail);
        }
    }

    proptest! {
        #[test]
        fn a_judgement_is_within_its_bounds(confidence in any::<f64>(), verdict in ".{0,12}") {
            let answer = json!({"verdict": verdict, "confidence": confidence});
            prop_assert!(parse(&answer).is_err());
            let answer = json!({"verdict": "contradiction", "confidence": confidence});
            if let Ok(judgement) = parse(&answer) {
                prop_assert!((0.0..=1.0).contains(&judgement.confidence));
            }
        }
    }
}
