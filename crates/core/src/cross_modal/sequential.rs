//! Decides exactly, not statistically, whether the remaining calls can still change the verdict.
//!
//! Each remaining call may fail or give any scores. Dimensions are independent and higher scores
//! are never worse, so for each possible number of further votes per model it is enough to check
//! the best and the worst scores. Under the panel's rule a pass is settled only by the last call,
//! since one score below the floor prevents it; a fail is settled by the first such score once two
//! models have voted.

use super::panel::Panel;
use super::tally::{Tally, verdict};
use super::{CallOutcome, HIGHEST, LOWEST, PanelSlot, QUORUM};
use crate::gate::Verdict;

/// Whether the remaining calls can change the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictState {
    /// The verdict is final.
    Settled(Verdict),
    Open,
}

/// Whether calls that were not made can change the verdict.
pub fn verdict_state(panel: &Panel) -> VerdictState {
    let dimensions = panel.dimensions();
    let (tallies, left): (Vec<Tally>, Vec<u8>) = panel.tallies().into_iter().unzip();
    let mut settled = None;
    for votes in numbers_of_votes(&left) {
        for score in [HIGHEST, LOWEST] {
            let possible = verdict(&with(&tallies, &votes, &vec![score; dimensions]), dimensions);
            if settled.is_some_and(|settled| settled != possible) {
                return VerdictState::Open;
            }
            settled = Some(possible);
        }
    }
    VerdictState::Settled(settled.unwrap_or(Verdict::Inconclusive))
}

/// The calls to make next, concurrently; none if they cannot change the verdict.
///
/// There is no verdict before two models have voted, so the first two are called together and the
/// third only if it can change the verdict; later cycles are called together. After a call that
/// could not be made, no pass is possible, so no more money is spent.
pub fn next_calls(panel: &Panel) -> Vec<(PanelSlot, u8)> {
    let is_stopped =
        panel.calls().iter().any(|call| matches!(call.outcome, CallOutcome::NotMade(_)));
    if is_stopped || verdict_state(panel) != VerdictState::Open {
        return Vec::new();
    }
    let mut left = panel.missing_calls();
    let first = left.first().map(|(_, cycle)| *cycle);
    left.retain(|(_, cycle)| Some(*cycle) == first);
    if panel.calls().is_empty() {
        left.truncate(QUORUM);
    }
    left
}

/// All combinations of further votes per slot.
fn numbers_of_votes(left: &[u8]) -> Vec<Vec<u8>> {
    let mut numbers = vec![Vec::new()];
    for most in left {
        let longer = |votes: &Vec<u8>| {
            let votes = votes.clone();
            (0..=*most).map(move |n| votes.iter().copied().chain([n]).collect())
        };
        numbers = numbers.iter().flat_map(longer).collect();
    }
    numbers
}

fn with(tallies: &[Tally], votes: &[u8], scores: &[u8]) -> Vec<Tally> {
    let mut tallies = tallies.to_vec();
    for (tally, votes) in tallies.iter_mut().zip(votes) {
        (0..*votes).for_each(|_| tally.add(scores));
    }
    tallies
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::aggregate::tests::{panel, scored};
    use super::super::{Call, CallSkipReason, Rubric};
    use super::*;
    use crate::money::Usd;

    /// Scores of both dimensions by slot and cycle; 0 is a failure.
    #[track_caller]
    fn check(cycles: u8, made: &[(PanelSlot, u8)], expected: VerdictState) {
        assert_eq!(verdict_state(&after(cycles, made)), expected, "{made:?}");
    }

    fn after(cycles: u8, made: &[(PanelSlot, u8)]) -> Panel {
        let mut panel = panel(&Rubric::qa(), cycles);
        let mut next = [1; 3];
        for (slot, score) in made {
            let cycle = &mut next[*slot as usize];
            panel.record(call(*slot, *cycle, &[*score, *score])).unwrap();
            *cycle += 1;
        }
        panel
    }

    fn call(slot: PanelSlot, cycle: u8, scores: &[u8]) -> Call {
        let outcome = match scores {
            [0, ..] => CallOutcome::Failed("timeout".to_owned()),
            scores => scored(scores),
        };
        Call { slot, cycle, outcome, cost: Usd::cents(1) }
    }

    use PanelSlot::{A, B, C};
    use VerdictState::{Open, Settled};

    #[test]
    fn settled_by_hand() {
        check(1, &[], Open);
        check(1, &[(A, 4), (B, 9)], Settled(Verdict::Fail));
        check(1, &[(A, 4)], Open);
        check(1, &[(A, 10), (B, 10)], Open);
        check(1, &[(A, 10), (B, 10), (C, 0)], Settled(Verdict::Pass));
        // 5 + 5 + 10 is below 21.
        check(1, &[(A, 5), (B, 5)], Settled(Verdict::Fail));
        check(1, &[(A, 6), (B, 5)], Open);
        check(1, &[(A, 0), (B, 0)], Settled(Verdict::Inconclusive));
        check(3, &[(A, 0), (B, 0)], Open);
        check(2, &[(A, 7), (B, 7), (C, 7)], Open);
    }

    /// Which calls come next, as slot and cycle.
    #[track_caller]
    fn check_wave(made: &[(PanelSlot, u8)], expected: &[(PanelSlot, u8)]) {
        assert_eq!(next_calls(&after(2, made)), expected, "{made:?}");
    }

    #[test]
    fn two_are_asked_then_the_third_then_whole_cycles() {
        check_wave(&[], &[(A, 1), (B, 1)]);
        check_wave(&[(A, 9), (B, 9)], &[(C, 1)]);
        check_wave(&[(A, 0), (B, 0)], &[(C, 1)]);
        check_wave(&[(A, 9), (B, 4)], &[]);
        check_wave(&[(A, 9), (B, 9), (C, 9)], &[(A, 2), (B, 2), (C, 2)]);
        check_wave(&[(A, 9), (B, 9), (C, 0), (A, 9), (B, 9), (C, 9)], &[]);
    }

    #[test]
    fn nothing_follows_a_call_that_could_not_be_made() {
        let mut panel = after(2, &[(A, 9)]);
        let outcome = CallOutcome::NotMade(CallSkipReason::OverBudget);
        panel.record(Call { slot: B, cycle: 1, outcome, cost: Usd::ZERO }).unwrap();
        assert_eq!((verdict_state(&panel), next_calls(&panel)), (Open, Vec::new()));
    }

    prop_compose! {
        /// The outcome of a call: a failure, or scores of two dimensions.
        fn given()(fails in prop::bool::weighted(0.25), a in 1..=10u8, b in 1..=10u8) -> [u8; 2] {
            if fails { [0, 0] } else { [a, b] }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// Every completion of what is left gives the verdict that was settled.
        #[test]
        fn no_completion_changes_what_is_settled(
            cycles in 1..=3u8,
            order in Just((0..9usize).collect::<Vec<_>>()).prop_shuffle(),
            made in 0..9usize,
            first in prop::collection::vec(given(), 9),
            completions in prop::collection::vec(prop::collection::vec(given(), 9), 12),
        ) {
            let rubric = Rubric::qa();
            let all: Vec<(PanelSlot, u8)> = order
                .iter()
                .map(|at| (PanelSlot::ALL[at % 3], (at / 3) as u8 + 1))
                .filter(|(_, cycle)| *cycle <= cycles)
                .collect();
            let made = made.min(all.len());
            let mut panel = panel(&rubric, cycles);
            for ((slot, cycle), scores) in all[..made].iter().zip(&first) {
                panel.record(call(*slot, *cycle, scores)).unwrap();
            }
            let standing = verdict_state(&panel);
            let mut verdicts = Vec::new();
            let extremes = [[0, 0], [1, 1], [10, 10]].map(|scores| vec![scores; 9]);
            for completion in completions.iter().chain(&extremes) {
                let mut whole = panel.clone();
                for ((slot, cycle), scores) in all[made..].iter().zip(completion) {
                    whole.record(call(*slot, *cycle, scores)).unwrap();
                }
                verdicts.push(whole.aggregate().verdict);
            }
            if let Settled(verdict) = standing {
                prop_assert!(verdicts.iter().all(|found| *found == verdict), "{verdicts:?}");
                prop_assert_eq!(panel.aggregate().verdict, verdict);
            } else {
                prop_assert_eq!(panel.aggregate().verdict, Verdict::Inconclusive);
            }
        }

        /// Open means open: with one dimension and one call left, some score or failure changes it.
        #[test]
        fn an_open_verdict_can_change(
            first in prop::collection::vec(0..=10u8, 9),
            cycles in 1..=3u8,
            made in 0..9usize,
        ) {
            let rubric = Rubric::qa().with_dimensions("correctness").unwrap();
            let all: Vec<(PanelSlot, u8)> =
                (1..=cycles).flat_map(|cycle| PanelSlot::ALL.iter().map(move |slot| (*slot, cycle))).collect();
            let made = made.min(all.len() - 1).max(all.len().saturating_sub(3));
            let mut panel = panel(&rubric, cycles);
            for ((slot, cycle), score) in all[..made].iter().zip(&first) {
                panel.record(call(*slot, *cycle, &[*score])).unwrap();
            }
            let left = &all[made..];
            let mut found = std::collections::BTreeSet::new();
            for at in 0..11usize.pow(left.len() as u32) {
                let mut whole = panel.clone();
                for (place, (slot, cycle)) in left.iter().enumerate() {
                    let score = (at / 11usize.pow(place as u32) % 11) as u8;
                    whole.record(call(*slot, *cycle, &[score])).unwrap();
                }
                found.insert(whole.aggregate().verdict);
            }
            prop_assert_eq!(verdict_state(&panel) == Open, found.len() > 1, "{:?}", found);
        }
    }
}
