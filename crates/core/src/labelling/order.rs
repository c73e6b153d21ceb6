//! The order of the labelling queue: by how much a label could still change a verdict.

/// The rule, for readers.
pub const ORDER_RULE: &str = "queries whose labels can still change the measures most come first: \
     the sum of 1 / log2(rank + 1) over the unjudged pages among the first k, divided by 1 + the \
     judged pages of the query; then the fewest judged pages, then the text of the query";

/// How much labels can still change the measures of a query.
///
/// An unjudged page counts as much as nDCG discounts its rank, so one at rank 1 counts most. The
/// sum is divided by one more than the number of judged pages: a page more changes the recall of a
/// query with many judgements little. Ranks start at 1.
pub fn possible_change(judged: usize, unjudged_ranks: &[usize]) -> f64 {
    let discounts = unjudged_ranks.iter().map(|rank| 1.0 / (*rank as f64 + 1.0).log2());
    // The sum of no numbers is -0.0.
    (discounts.sum::<f64>() + 0.0) / (1.0 + judged as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(judged: usize, unjudged: &[usize], expected: f64) {
        let found = possible_change(judged, unjudged);
        assert!((found - expected).abs() < 1e-12, "{found}");
    }

    #[test]
    fn by_hand() {
        check(0, &[], 0.0);
        check(7, &[], 0.0);
        check(0, &[1], 1.0);
        check(0, &[3], 0.5);
        check(0, &[1, 3], 1.5);
        check(2, &[1, 3], 0.5);
    }

    #[test]
    fn unjudged_first_ranks_and_few_judgements_come_first() {
        assert!(possible_change(0, &[1]) > possible_change(0, &[2]));
        assert!(possible_change(0, &[1, 2]) > possible_change(1, &[1, 2]));
        assert!(possible_change(0, &[1]) < possible_change(0, &[2, 3]));
        assert!(possible_change(0, &[]).is_sign_positive());
    }
}
