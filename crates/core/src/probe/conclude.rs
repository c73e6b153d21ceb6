//! Concludes a probe run: its outcome, its counts, and the reasons.
//!
//! Guarantees: a question that exceeds the budget is inconclusive, not failed; a question that
//! fails for another reason is an error; a pass with a degraded retrieval stage is not a pass.

use super::{ProbeOutcome, Spending};
use crate::cross_modal::batch::{RowVerdict, VerdictCounts};
use crate::cross_modal::{
    Aggregate, CallOutcome, CallSkipReason, DimensionResult, JudgedOutput, JudgingError,
};
use crate::gate::Verdict;
use crate::report::visible;

/// Maximum number of questions in the detail.
const NAMED: usize = 3;
/// Maximum length of one question's reason.
const LINE: usize = 160;

/// A question without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnansweredQuestion {
    pub id: String,
    pub error: String,
    /// Whether only the budget prevented the answer.
    pub spending: Spending,
}

/// All questions of a run.
#[derive(Debug, Clone, Copy)]
pub struct ProbeQuestions<'a> {
    pub unanswered: &'a [UnansweredQuestion],
    /// Answered questions with the panel's judgement.
    pub judged: &'a [(String, Result<JudgedOutput, JudgingError>)],
    /// Retrieval stages that were degraded, without duplicates.
    pub degraded: &'a [String],
}

/// The conclusion of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeConclusion {
    pub outcome: ProbeOutcome,
    /// Number of questions by verdict.
    pub counts: VerdictCounts,
    /// The reasons, unless the run passed.
    pub detail: Option<String>,
}

/// A question with its verdict and, unless it passed, the reason.
struct QuestionVerdict<'a> {
    id: &'a str,
    verdict: RowVerdict,
    why: String,
    spending: Spending,
}

/// Derives the outcome, counts and reasons of a run.
pub fn conclude(asked: &ProbeQuestions<'_>) -> ProbeConclusion {
    let ProbeQuestions { unanswered, judged, degraded } = *asked;
    let rows: Vec<QuestionVerdict<'_>> =
        judged.iter().map(of_judged).chain(unanswered.iter().map(of_unanswered)).collect();
    let counts = VerdictCounts::of(rows.iter().map(|row| row.verdict), 0);
    let is_over = rows.iter().any(|row| row.spending == Spending::Exceeded);
    let spending = if is_over { Spending::Exceeded } else { Spending::Within };
    let missing = (!degraded.is_empty()).then(|| format!("without {}", degraded.join(", ")));
    let outcome = match ProbeOutcome::of_batch(counts.verdict(), spending) {
        ProbeOutcome::Pass if missing.is_some() => ProbeOutcome::Inconclusive,
        outcome => outcome,
    };
    let reasons =
        reasons(&rows, outcome).into_iter().chain(missing.map(|what| visible(&what, LINE)));
    let detail = reasons.collect::<Vec<_>>().join("; ");
    ProbeConclusion { outcome, counts, detail: Some(detail).filter(|detail| !detail.is_empty()) }
}

fn of_judged((id, judged): &(String, Result<JudgedOutput, JudgingError>)) -> QuestionVerdict<'_> {
    let judged = match judged {
        Ok(judged) => judged,
        Err(error) => {
            let (verdict, why) = (RowVerdict::Error, error.to_string());
            return QuestionVerdict { id, verdict, why, spending: Spending::Within };
        }
    };
    let aggregate = judged.panel.aggregate();
    let is_over = judged.panel.calls().iter().any(|call| is_unpaid(&call.outcome));
    let why = match aggregate.verdict {
        Verdict::Inconclusive => unsure(&aggregate, judged),
        Verdict::Pass | Verdict::Fail => failing(&aggregate),
    };
    let spending = if is_over { Spending::Exceeded } else { Spending::Within };
    QuestionVerdict { id, verdict: aggregate.verdict.into(), why, spending }
}

fn of_unanswered(unanswered: &UnansweredQuestion) -> QuestionVerdict<'_> {
    let UnansweredQuestion { id, error, spending } = unanswered;
    let verdict = match spending {
        Spending::Exceeded => RowVerdict::Inconclusive,
        Spending::Within => RowVerdict::UpstreamError,
    };
    QuestionVerdict { id, verdict, why: error.clone(), spending: *spending }
}

fn failing(aggregate: &Aggregate) -> String {
    let fails = |dimension: &&DimensionResult| !dimension.reasons.is_empty();
    let failures = aggregate.dimensions.iter().filter(fails).map(|dimension| {
        let reasons: Vec<&str> = dimension.reasons.iter().map(|reason| reason.name()).collect();
        format!("{} {}", dimension.key, reasons.join(" "))
    });
    failures.collect::<Vec<_>>().join(", ")
}

/// Why there is no verdict, with the first call that exceeded the budget or gave no vote.
fn unsure(aggregate: &Aggregate, judged: &JudgedOutput) -> String {
    let reason = aggregate.unsure.map_or("no verdict", |unsure| unsure.name());
    let calls = judged.panel.calls();
    let unpaid = calls.iter().find(|call| is_unpaid(&call.outcome));
    let first = unpaid.into_iter().chain(calls).find_map(|call| match &call.outcome {
        CallOutcome::Failed(why) => Some(format!(", slot {} {why}", call.slot)),
        CallOutcome::NotMade(CallSkipReason::Settled(_)) | CallOutcome::Scored(_) => None,
        CallOutcome::NotMade(why) => Some(format!(", slot {} {}", call.slot, why.name())),
    });
    format!("{reason}{}", first.unwrap_or_default())
}

fn is_unpaid(outcome: &CallOutcome) -> bool {
    *outcome == CallOutcome::NotMade(CallSkipReason::OverBudget)
}

/// The reasons of the questions behind the outcome, up to the maximum.
fn reasons(rows: &[QuestionVerdict<'_>], outcome: ProbeOutcome) -> Vec<String> {
    let is_cause = |row: &&QuestionVerdict<'_>| match outcome {
        ProbeOutcome::Fail => row.verdict == RowVerdict::Fail,
        ProbeOutcome::Error => row.verdict >= RowVerdict::Error,
        ProbeOutcome::BudgetExceeded => row.spending == Spending::Exceeded,
        _ => row.verdict == RowVerdict::Inconclusive,
    };
    let causes: Vec<&QuestionVerdict<'_>> = rows.iter().filter(is_cause).collect();
    let line = |row: &&QuestionVerdict<'_>| format!("{}: {}", row.id, visible(&row.why, LINE));
    let mut lines: Vec<String> = causes.iter().take(NAMED).map(line).collect();
    if causes.len() > NAMED {
        lines.push(format!("and {} more", causes.len() - NAMED));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cross_modal::{
        Call, JudgeInput, JudgeVote, Panel, PanelSeat, PanelSlot, Rubric, prompt,
    };
    use crate::money::Usd;

    /// The votes of a panel's three models: a score per dimension, or none.
    fn judged(outcomes: [CallOutcome; 3]) -> Result<JudgedOutput, JudgingError> {
        let rubric = Rubric::qa();
        let seats = [PanelSlot::A, PanelSlot::B, PanelSlot::C]
            .map(|slot| PanelSeat { slot, model: format!("lab:{slot}") });
        let mut panel = Panel::new(&rubric, &seats, 1).unwrap();
        for (seat, outcome) in seats.iter().zip(outcomes) {
            panel.record(Call { slot: seat.slot, cycle: 1, outcome, cost: Usd::ZERO }).unwrap();
        }
        let case = JudgeInput { task: "Who?", expected: Some("Ada"), output: "Ada" };
        Ok(JudgedOutput::new(panel, &prompt(&rubric, &case), &case))
    }

    fn scored(score: u8) -> CallOutcome {
        let scores = vec![score; Rubric::qa().dimensions.len()];
        CallOutcome::Scored(JudgeVote {
            scores,
            improvements: Vec::new(),
            repairs: BTreeSet::new(),
        })
    }

    fn all(outcome: &CallOutcome) -> Result<JudgedOutput, JudgingError> {
        judged([outcome.clone(), outcome.clone(), outcome.clone()])
    }

    #[track_caller]
    fn check(
        judged: &[Result<JudgedOutput, JudgingError>],
        unanswered: &[(&str, Spending)],
        degraded: &[&str],
        outcome: ProbeOutcome,
        detail: Option<&str>,
    ) -> VerdictCounts {
        let judged: Vec<_> =
            judged.iter().enumerate().map(|(at, one)| (format!("q{at}"), one.clone())).collect();
        let unanswered: Vec<UnansweredQuestion> = unanswered
            .iter()
            .map(|(error, spending)| UnansweredQuestion {
                id: "u".to_owned(),
                error: (*error).to_owned(),
                spending: *spending,
            })
            .collect();
        let degraded: Vec<String> = degraded.iter().map(|text| (*text).to_owned()).collect();
        let asked =
            ProbeQuestions { unanswered: &unanswered, judged: &judged, degraded: &degraded };
        let found = conclude(&asked);
        assert_eq!((found.outcome, found.detail.as_deref()), (outcome, detail));
        found.counts
    }

    #[test]
    fn verdicts_and_their_reasons() {
        let (good, bad) = (all(&scored(9)), all(&scored(3)));
        check(&[good.clone(), good.clone()], &[], &[], ProbeOutcome::Pass, None);
        let why = "q1: correctness mean_below_7 min_below_5, directness mean_below_7 min_below_5";
        let counts = check(&[good.clone(), bad.clone()], &[], &[], ProbeOutcome::Fail, Some(why));
        assert_eq!((counts.pass, counts.fail), (1, 1));
        let lone = judged([
            scored(9),
            CallOutcome::Failed("timeout: no answer".to_owned()),
            CallOutcome::Failed("http_5xx: down".to_owned()),
        ]);
        let why = "q1: too_few_models, slot B timeout: no answer";
        check(&[good.clone(), lone], &[], &[], ProbeOutcome::Inconclusive, Some(why));
        let within = Spending::Within;
        let why = "u: http_5xx: down";
        check(&[good, bad], &[("http_5xx: down", within)], &[], ProbeOutcome::Error, Some(why));
        check(&[], &[], &[], ProbeOutcome::Error, None);
    }

    #[test]
    fn unaffordable_questions_are_not_errors() {
        let (good, over) = (all(&scored(9)), Spending::Exceeded);
        let why = "u: over_budget: nothing left";
        let unpaid = [("over_budget: nothing left", over)];
        let exceeded = ProbeOutcome::BudgetExceeded;
        let counts = check(std::slice::from_ref(&good), &unpaid, &[], exceeded, Some(why));
        assert_eq!((counts.pass, counts.inconclusive, counts.upstream_error), (1, 1, 0));
        let unjudged = all(&CallOutcome::NotMade(CallSkipReason::OverBudget));
        check(
            &[good, unjudged],
            &[],
            &[],
            exceeded,
            Some("q1: calls_not_made, slot A over_budget"),
        );
        let bad = all(&scored(3));
        let why = "q0: correctness mean_below_7 min_below_5, directness mean_below_7 min_below_5";
        check(&[bad], &unpaid, &[], ProbeOutcome::Fail, Some(why));
    }

    #[test]
    fn a_stage_that_is_missing_leaves_no_pass() {
        let (good, bad) = (all(&scored(9)), all(&scored(3)));
        let why = "without vectors: failed";
        check(&[good], &[], &["vectors: failed"], ProbeOutcome::Inconclusive, Some(why));
        let why = "q0: correctness mean_below_7 min_below_5, directness mean_below_7 min_below_5; \
                   without vectors: failed";
        check(&[bad], &[], &["vectors: failed"], ProbeOutcome::Fail, Some(why));
    }

    #[test]
    fn many_reasons_are_cut() {
        let bad = all(&scored(3));
        let judged: Vec<_> = (0..5).map(|at| (format!("q{at}"), bad.clone())).collect();
        let found = conclude(&ProbeQuestions { unanswered: &[], judged: &judged, degraded: &[] });
        assert!(found.detail.unwrap().ends_with("; and 2 more"));
    }
}
