//! The short form of `cargo xtask campaign contradictions`.

use gbrain_bench::campaign::contradictions::brain::{PAGES, PAIRS, SyntheticBrain};
use gbrain_bench::campaign::contradictions::judge::ErringJudge;
use gbrain_bench::campaign::contradictions::{RunTotals, SurveyPlan, report_of, survey};
use gbrain_core::contradiction::rate::{CANARIES_OF_EACH, HitCount};
use gbrain_core::contradiction::{JudgingOutcome, StatementRelation, canaries, offline};
use gbrain_core::format::contradiction::ContradictionReport;

const TOPICS: usize = 12;

#[test]
fn every_planted_pair_comes_up_once_and_nothing_else() {
    let brain = SyntheticBrain::new(1, TOPICS, 0.3).unwrap();
    let docket = brain.docket().unwrap();
    let (answers, wrong) = brain.answers(&docket);
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(answers.len(), TOPICS * PAIRS);
    assert!(
        docket.asked().iter().all(|asked| (asked.results, asked.pairs.len()) == (PAGES, PAIRS))
    );
    // Another brain's truth does not fit: the check can fail.
    let other = SyntheticBrain::new(2, TOPICS, 0.3).unwrap();
    assert!(!other.answers(&docket).1.is_empty());
    // The pages say what was planted: a judge of figures sees more of it than chance would.
    let accused = |place: usize| {
        offline::judge(&docket.pairs()[place].pair).verdict == StatementRelation::Contradiction
    };
    let (mut right, mut all) = (0, 0);
    for place in (0..answers.len()).filter(|place| accused(*place)) {
        all += 1;
        right += usize::from(answers[place]);
    }
    println!("the offline judge accuses {all}, {right} of them rightly");
    assert!(right * 2 >= all, "{right} of {all}");
}

/// By hand, from what the judge said: the formulas of `contradiction::rate`, written down a second time.
#[test]
fn a_report_says_what_a_hand_computes() {
    let brain = SyntheticBrain::new(3, TOPICS, 0.3).unwrap();
    let docket = brain.docket().unwrap();
    let (answers, _) = brain.answers(&docket);
    let planted = canaries(3, CANARIES_OF_EACH);
    let judge = ErringJudge { seed: 3, number: 0 };
    let heard = judge.judge_pairs(&docket, &answers, &planted);
    let accused = |outcome: &JudgingOutcome| matches!(outcome, JudgingOutcome::Judged(one, _) if one.verdict == StatementRelation::Contradiction);
    let counted = |outcomes: Vec<&JudgingOutcome>| HitCount {
        hits: outcomes.iter().filter(|outcome| accused(outcome)).count() as u64,
        n: outcomes.len() as u64,
    };
    let raw = counted(heard.outcomes.iter().collect());
    let of = |kind| {
        let planted = heard.planted.iter().filter(|(canary, _)| canary.is_contradiction == kind);
        counted(planted.map(|(_, outcome)| outcome).collect())
    };
    let (caught, alarms) = (of(true), of(false));
    assert!((140..=180).contains(&caught.hits) && (20..=60).contains(&alarms.hits));
    let report = report_of(3, &docket, &heard);
    assert_eq!((report.pair_rate, report.canaries.caught), (raw, caught));
    assert_eq!(report.canaries.accused, alarms);

    let rate = |one: HitCount| one.hits as f64 / one.n as f64;
    let variance = |one: HitCount| {
        let share = (one.hits + 1) as f64 / (one.n + 2) as f64;
        share * (1.0 - share) / (one.n + 2) as f64
    };
    let (over, under) = (rate(raw) - rate(alarms), rate(caught) - rate(alarms));
    let [s, f] = [caught, alarms].map(variance);
    let expected = over / under * (1.0 - (s + f) / under.powi(2)) + f / under.powi(2);
    let wire = ContradictionReport::new(&report, &docket);
    let corrected = wire.pair_rate.corrected.unwrap();
    assert!((corrected.estimate - expected).abs() < 1e-12, "{corrected:?} {expected}");
    // Both ends are where chance ends: the squared distances to the ends of all three intervals.
    let (p, s, f) = (raw.interval().unwrap(), caught.wilson().unwrap(), alarms.wilson().unwrap());
    let [low, high] = corrected.interval;
    let chance = |end: f64, [p, s, f]: [f64; 3]| {
        (p - rate(raw)).powi(2)
            + (end * (s - rate(caught))).powi(2)
            + ((1.0 - end) * (f - rate(alarms))).powi(2)
    };
    for (end, chance) in
        [(low, chance(low, [p.low, s.high, f.high])), (high, chance(high, [p.high, s.low, f.low]))]
    {
        let away = (over - end * under).powi(2);
        assert!(
            end == 0.0 || end == 1.0 || (away - chance).abs() < 1e-12,
            "{end}: {away} {chance}"
        );
    }
    assert!(corrected.interval[0] < expected && expected < corrected.interval[1]);
}

#[test]
fn a_wire_changes_nothing_and_rates_are_corrected() {
    let plan = SurveyPlan { rate: 0.1, seeds: 6, seed: 7, judges: 8, topics: TOPICS, wired: 1 };
    let found = survey(&plan).unwrap();
    assert!(found.violations.is_empty(), "{:#?}", found.violations);
    assert_eq!((found.runs.len(), found.pairs), (48, 6 * TOPICS * PAIRS));
    assert_eq!(found.wired, TOPICS * PAIRS + 2 * CANARIES_OF_EACH);
    let figures = RunTotals::of(&found.runs, plan.rate);
    // 48 runs know a coverage to three points.
    assert!(figures.coverage >= 0.85 && figures.raw <= 0.2, "{figures:?}");
    assert!(figures.bias.abs() < 0.04, "{figures:?}");
}
