use jiff::civil::date;
use proptest::prelude::*;

use super::super::canary::canaries;
use super::super::pair::tests::passage;
use super::super::pair::{PairKind, StatementDate, StatementDateOrigin};
use super::*;

fn pair(a: &str, b: &str) -> Pair {
    Pair::new(PairKind::CrossPage, passage("a", 0, a), passage("b", 0, b), 1.0)
}

#[track_caller]
fn check(a: &str, b: &str, expected: StatementRelation) {
    let found = judge(&pair(a, b));
    assert_eq!(found.verdict, expected, "{a} / {b}: {found:?}");
    assert_eq!(judge(&pair(b, a)), found, "the order of a pair does not matter");
}

#[test]
fn brains_by_example() {
    use StatementRelation::{Contradiction, Evolution, No, Supersession};
    check("Acme raised $5M in March 2024.", "In March 2024 Acme raised $8M.", Contradiction);
    check("Acme raised $5M in March 2024.", "Acme raised $8M.", Contradiction);
    check("Acme raised $5M in March 2024.", "Acme raised $8M in June 2025.", Evolution);
    check("Acme raised $5M in its seed round.", "Acme raised $8M in its series B.", No);
    check("Alice is CTO of Widget.", "Bob is CTO of Widget.", Contradiction);
    check("Alice is CTO of Widget.", "Widget's CTO is Bob Stone.", Contradiction);
    check("Alice Stone is CTO of Widget.", "Alice is the CTO of Widget.", No);
    check("Alice is CTO of Widget.", "Bob is CEO of Widget.", No);
    check("Alice was CTO of Widget.", "Bob is CTO of Widget.", No);
    check("The office is in Berlin.", "The office moved to Munich in 2025.", Supersession);
    check("The office is in Berlin.", "The office is in Munich.", Contradiction);
    check("The invoice of Acme is paid.", "The invoice of Acme is unpaid.", Contradiction);
    check("Ada signed the lease.", "Ada never signed the lease.", Contradiction);
    check("Ada signed the lease.", "Bo never signed the lease.", No);
    check("Ada signed the lease.", "Did Ada not sign the lease?", No);
    check("Ada works at Acme.", "Ada no longer works at Acme.", Supersession);
    check("Acme was founded in 2015.", "Acme was founded in 2018.", Contradiction);
    check("Acme hired in 2015.", "Acme hired in 2018.", No);
    check("Acme bought Widget.", "Widget bought Acme.", Contradiction);
    check("Acme has 12 employees.", "Acme employs 30 people.", Contradiction);
    check("Acme has 12 employees.", "Acme has about 13 employees.", No);
    check("", "Acme has 12 employees.", No);
}

#[test]
fn obvious_contradictions_are_found() {
    use StatementRelation::{Contradiction, No};
    check("The door is open.", "The door is closed.", Contradiction);
    check("The meeting is on Monday.", "The meeting is on Friday.", Contradiction);
    check("Ada has two children.", "Ada has three children.", Contradiction);
    check("Ada has 2 children.", "Ada has three children.", Contradiction);
    check("Ada has 2 children.", "Ada has two children.", No);
    check("Ada has two children.", "Ada has three boats.", No);
    check("Two dogs are running.", "Three dogs are running.", No);
    check("A door is open.", "A door is closed.", No);
    check("The front door is open.", "The back door is closed.", No);
    check("The meeting is on Monday.", "The workshop is on Friday.", No);
    check("Ada owns the boat.", "Bo owns the boat.", Contradiction);
    check("The boat belongs to Ada Quill.", "Bo owns the boat.", Contradiction);
    check("The boat belongs to Ada Quill.", "Ada owns the boat.", No);
    check("Ada owns the boat.", "Bo owns the house.", No);
    check("Ada owns half the boat.", "Bo owns half the boat.", No);
    check("Ada owns a boat.", "Bo owns a boat.", No);
    check(
        "The billing service is owned by Payments.",
        "The billing service is owned by Growth.",
        Contradiction,
    );
    check("Acme was founded in 1999.", "Acme was founded in 2004.", Contradiction);
    check("The licence is valid.", "The licence is expired.", Contradiction);
}

#[test]
fn notes_and_chats() {
    use StatementRelation::{Contradiction, Evolution, No};
    check("Ada: I live in Graz", "Ada lives in Oslo.", Contradiction);
    check("The meeting with Acme is on Monday.", "The Acme meeting is on Tuesday.", Contradiction);
    check("Our burn is $200k a month.", "Our burn is $300k a month.", Contradiction);
    check("Revenue was $5M in 2023.", "Revenue was $8M in 2024.", Evolution);
    check("Ada is on the board of Acme.", "Ada isn't on the board of Acme.", Contradiction);
    check("Ada reports to Bo.", "Bo reports to Ada.", Contradiction);
    check("Ada reports to Bo.", "Ada reports to Cy.", Contradiction);
    check("Ada was born in Graz.", "Ada lives in Oslo.", No);
    check("The flight to Oslo leaves at 8:15.", "The flight from Oslo leaves at 9:40.", No);
    check("Ada talked to Bo.", "Bo talked to Ada.", No);
    check("The lease is signed.", "It is not signed.", No);
    check("If Ada signed the lease, we move.", "Ada did not sign the lease.", No);
    check("Ada owns 12 percent of Acme.", "Bo owns 15 percent of Acme.", No);
    check("Ada owns 12 percent of Acme.", "Ada owns 15 percent of Acme.", Contradiction);
    check("Ada owns more than 12 percent of Acme.", "Ada owns 15 percent of Acme.", No);
    check("Acme is not only fast.", "Acme is fast.", No);
    check("Ada knows the way.\n- Bo has no key", "Bo has a key", Contradiction);
}

#[test]
fn later_statements_replace_earlier_ones() {
    let on = |slug: &str, text: &str, year| {
        let date = Some(StatementDate { day: date(year, 1, 1), from: StatementDateOrigin::Page });
        Statement { date, ..passage(slug, 0, text) }
    };
    let pair = |year| {
        let (a, b) =
            (on("a", "Alice is CTO of Widget.", 2021), on("b", "Bob is CTO of Widget.", year));
        Pair::new(PairKind::CrossPage, a, b, 1.0)
    };
    assert_eq!(judge(&pair(2024)).verdict, StatementRelation::Supersession);
    assert_eq!(judge(&pair(2021)).verdict, StatementRelation::Contradiction);
}

#[test]
fn partial_denials_score_below_the_floor() {
    let (a, b) =
        ("Ada closed the big old lease.", "Ada no longer closed the big old northern lease.");
    let found = judge(&pair(a, b));
    assert!(found.is_floored && found.verdict == StatementRelation::No, "{found:?}");
}

/// What it makes of the planted pairs. The rules were not made for them, but by the same hands: its
/// figures on labelled sentences of others say more.
#[test]
fn planted_pairs() {
    for seed in 1..4 {
        let planted = canaries(seed, 200);
        let accused: Vec<_> = planted
            .iter()
            .filter(|one| judge(&one.pair).verdict == StatementRelation::Contradiction)
            .collect();
        let caught = accused.iter().filter(|one| one.is_contradiction).count();
        println!("seed {seed}: caught {caught}, accused {} of 200 each", accused.len() - caught);
        assert!(caught >= 100 && accused.len() - caught <= 6, "{caught} of {}", accused.len());
    }
}

proptest! {
    #[test]
    fn any_pair_is_judged_the_same_both_ways(
        a in "(?s)(not |no |Ada |Bo |is |in |Graz |5 |\\$5M |open |closed |2021 |berths?|\\. |\n|.){0,14}",
        b in "(?s)(not |no |Ada |Bo |is |in |Oslo |7 |\\$8M |open |closed |2024 |berths?|\\. |\n|.){0,14}",
    ) {
        let found = judge(&pair(&a, &b));
        prop_assert!((0.0..=1.0).contains(&found.confidence));
        prop_assert_eq!(judge(&pair(&b, &a)), found);
    }

    #[test]
    fn nothing_contradicts_itself(text in "(?s)(not |no |Ada |is |in |Graz |5 |open |off |\\. |\n|.){0,14}") {
        prop_assert_eq!(judge(&pair(&text, &text)).verdict, StatementRelation::No);
    }
}
