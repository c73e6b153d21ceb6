use std::collections::BTreeSet;

use super::*;
use crate::cross_modal::{JudgeVote, PanelError, PanelSeat, PanelSlot, Rubric};

/// Three models that have not been asked.
pub(in crate::cross_modal) fn panel(rubric: &Rubric, cycles: u8) -> Panel {
    Panel::new(rubric, &seats(["one", "two", "three"]), cycles).unwrap()
}

/// A vote.
pub(in crate::cross_modal) fn scored(scores: &[u8]) -> CallOutcome {
    CallOutcome::Scored(JudgeVote {
        scores: scores.to_vec(),
        improvements: Vec::new(),
        repairs: BTreeSet::new(),
    })
}

fn seats(models: [&str; 3]) -> Vec<PanelSeat> {
    let seat =
        |(slot, model): (&PanelSlot, &str)| PanelSeat { slot: *slot, model: model.to_owned() };
    PanelSlot::ALL.iter().zip(models).map(seat).collect()
}

fn call(slot: PanelSlot, cycle: u8, outcome: CallOutcome) -> Call {
    Call { slot, cycle, outcome, cost: Usd::cents(2) }
}

/// Both dimensions of the first cycle; none is a failure.
fn asked(scores: [Option<[u8; 2]>; 3]) -> Aggregate {
    let mut panel = panel(&Rubric::qa(), 1);
    for (slot, scores) in PanelSlot::ALL.iter().zip(scores) {
        let failed = || CallOutcome::Failed("timeout".to_owned());
        let outcome = scores.map_or_else(failed, |scores| scored(&scores));
        panel.record(call(*slot, 1, outcome)).unwrap();
    }
    panel.aggregate()
}

#[test]
fn a_pass_by_hand() {
    let found = asked([Some([8, 7]), Some([7, 7]), Some([9, 7])]);
    assert_eq!((found.verdict, found.unsure), (Verdict::Pass, None));
    assert_eq!((found.contributing, found.votes, found.failed, found.not_made), (3, 3, 0, 0));
    let first = &found.dimensions[0];
    assert_eq!((first.mean, first.min, first.max), (Some(8.0), Some(7), Some(9)));
    assert_eq!(first.by_seat, [Some(8.0), Some(7.0), Some(9.0)]);
    assert_eq!(found.overall, Some(7.5));
    assert_eq!((found.cost, found.saved), (Usd::cents(6), Usd::ZERO));
}

#[test]
fn reasons_of_a_fail() {
    let reasons = |scores| -> Vec<Vec<DimensionFailure>> {
        asked(scores).dimensions.into_iter().map(|dimension| dimension.reasons).collect()
    };
    use DimensionFailure::{MeanBelow7, MinBelow5};
    assert_eq!(reasons([Some([8, 7]), Some([7, 7]), Some([5, 7])]), [vec![MeanBelow7], vec![]]);
    assert_eq!(reasons([Some([10, 7]), Some([10, 7]), Some([4, 7])]), [vec![MinBelow5], vec![]]);
    assert_eq!(reasons([Some([4, 7]), Some([4, 7]), None]), [vec![MeanBelow7, MinBelow5], vec![]]);
}

#[test]
fn one_survivor_decides_nothing() {
    let found = asked([Some([10, 10]), None, None]);
    assert_eq!(
        (found.verdict, found.unsure),
        (Verdict::Inconclusive, Some(UndecidedReason::TooFewModels))
    );
    assert_eq!((found.votes, found.failed), (1, 2));
    assert_eq!(found.agreement, Err(AlphaError::NoPairs));
}

/// Best-of would take the second cycle.
#[test]
fn cycles_are_pooled() {
    let rubric = Rubric::qa();
    let mut panel = panel(&rubric, 2);
    for slot in PanelSlot::ALL {
        panel.record(call(*slot, 1, scored(&[6, 6]))).unwrap();
        panel.record(call(*slot, 2, scored(&[7, 7]))).unwrap();
    }
    let found = panel.aggregate();
    assert_eq!((found.verdict, found.overall), (Verdict::Fail, Some(6.5)));
}

#[test]
fn a_failed_cycle_is_counted_and_not_replaced() {
    let rubric = Rubric::qa();
    let mut panel = panel(&rubric, 2);
    panel.record(call(PanelSlot::A, 1, CallOutcome::Failed("no JSON".to_owned()))).unwrap();
    let again = panel.record(call(PanelSlot::A, 1, scored(&[9, 9])));
    assert_eq!(again, Err(PanelError::Again { slot: PanelSlot::A, cycle: 1 }));
    for (slot, cycle) in panel.missing_calls() {
        panel.record(call(slot, cycle, scored(&[9, 9]))).unwrap();
    }
    let found = panel.aggregate();
    assert_eq!((found.verdict, found.votes, found.failed), (Verdict::Pass, 5, 1));
}

#[test]
fn missing_calls_are_not_a_pass() {
    let rubric = Rubric::qa();
    let mut open = panel(&rubric, 1);
    open.record(call(PanelSlot::A, 1, scored(&[9, 9]))).unwrap();
    open.record(call(PanelSlot::B, 1, scored(&[9, 9]))).unwrap();
    let mut refused = open.clone();
    refused
        .record(call(PanelSlot::C, 1, CallOutcome::NotMade(CallSkipReason::OverBudget)))
        .unwrap();
    for panel in [open, refused] {
        let found = panel.aggregate();
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert_eq!((found.unsure, found.not_made), (Some(UndecidedReason::CallsNotMade), 1));
    }
}

#[test]
fn calls_that_cannot_change_the_verdict_are_saved() {
    let mut panel = panel(&Rubric::qa(), 1);
    panel.record(call(PanelSlot::A, 1, scored(&[2, 9]))).unwrap();
    panel.record(call(PanelSlot::B, 1, scored(&[9, 9]))).unwrap();
    let settled = CallOutcome::NotMade(CallSkipReason::Settled(Usd::cents(5)));
    panel.record(Call { slot: PanelSlot::C, cycle: 1, outcome: settled, cost: Usd::ZERO }).unwrap();
    let found = panel.aggregate();
    assert_eq!((found.verdict, found.unsure), (Verdict::Fail, None));
    assert_eq!((found.cost, found.saved), (Usd::cents(4), Usd::cents(5)));
}

#[test]
fn improvements_that_begin_alike_are_one() {
    let rubric = Rubric::qa();
    let mut panel = panel(&rubric, 1);
    let improvements = |texts: Vec<String>| {
        let vote = JudgeVote { scores: vec![7, 7], improvements: texts, repairs: BTreeSet::new() };
        CallOutcome::Scored(vote)
    };
    let long = "Name the sources of each of these claims, ";
    panel.record(call(PanelSlot::A, 1, improvements(vec![format!("{long}please")]))).unwrap();
    let alike = vec![format!("{}now", long.to_uppercase()), "Be brief".to_owned()];
    panel.record(call(PanelSlot::B, 1, improvements(alike))).unwrap();
    let many = (0..20).map(|n| format!("{n}")).collect();
    panel.record(call(PanelSlot::C, 1, improvements(many))).unwrap();
    let found = panel.aggregate().improvements;
    assert_eq!(found.len(), 10);
    assert_eq!(found[..3], [format!("{long}please"), "Be brief".to_owned(), "0".to_owned()]);
}

#[test]
fn panels_that_can_not_be() {
    let rubric = Rubric::qa();
    let new = |seats: &[PanelSeat], cycles| Panel::new(&rubric, seats, cycles).unwrap_err();
    let three = seats(["one", "two", "three"]);
    assert_eq!(new(&three[..1], 1), PanelError::Seats);
    assert_eq!(new(&[three[1].clone(), three[0].clone()], 1), PanelError::Seats);
    assert_eq!(new(&three, 0), PanelError::Cycles(0));
    assert_eq!(new(&three, 4), PanelError::Cycles(4));
    assert_eq!(new(&seats(["one", "two", "one"]), 1), PanelError::SameModel("one".to_owned()));
    let mut two = Panel::new(&rubric, &three[..2], 1).unwrap();
    let stranger = two.record(call(PanelSlot::C, 1, scored(&[7, 7])));
    assert_eq!(stranger, Err(PanelError::NoSuchCall { slot: PanelSlot::C, cycle: 1 }));
    assert_eq!(
        two.record(call(PanelSlot::A, 1, scored(&[7]))),
        Err(PanelError::OtherRubric(PanelSlot::A))
    );
    assert_eq!(
        two.record(call(PanelSlot::A, 1, scored(&[7, 11]))),
        Err(PanelError::OtherRubric(PanelSlot::A))
    );
}
