//! Agreement of reviewers on the grades of pages.
//!
//! Two numbers: the share of pages on which all reviewers gave the same grade, and Krippendorff's
//! alpha, the agreement beyond chance for any number of reviewers who need not have judged the same
//! pages. Only pages that at least two reviewers judged count.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::stats::{AlphaError, krippendorff};

/// The grade that one reviewer gave to one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GradedReview {
    /// The page of a query: the number of its label.
    pub label: i64,
    pub reviewer: String,
    pub grade: i64,
}

/// How far reviewers agree.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Agreement {
    /// Pages that at least two reviewers judged.
    pub pages: usize,
    /// Pages on which all their reviewers gave the same grade.
    pub agreed: usize,
    /// The share of these; null without pages.
    pub raw: Option<f64>,
    /// Krippendorff's alpha with squared differences of grades: 1 is perfect, 0 is chance.
    pub krippendorff_alpha: Option<f64>,
    /// Why there is no alpha: no_pairs or no_variation.
    pub undefined: Option<AlphaError>,
    /// Who judged how much, by name.
    pub reviewers: Vec<ReviewerCount>,
}

/// The work of one reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewerCount {
    pub reviewer: String,
    /// Pages judged.
    pub judged: usize,
    /// Pages that another reviewer judged too.
    pub shared: usize,
    /// Of these, pages on which all reviewers gave the same grade.
    pub agreed: usize,
}

/// Whether grades of one page differ.
pub fn is_conflict(grades: impl IntoIterator<Item = i64>) -> bool {
    let mut grades = grades.into_iter();
    let first = grades.next();
    grades.any(|grade| Some(grade) != first)
}

/// The agreement of reviewers, each of whom judges a page once.
pub fn agreement(reviews: &[GradedReview]) -> Agreement {
    let mut pages: BTreeMap<i64, Vec<&GradedReview>> = BTreeMap::new();
    for review in reviews {
        pages.entry(review.label).or_default().push(review);
    }
    let mut reviewers: BTreeMap<&str, ReviewerCount> = BTreeMap::new();
    for page in pages.values() {
        count(page, &mut reviewers);
    }
    let shared: Vec<&Vec<&GradedReview>> = pages.values().filter(|page| page.len() > 1).collect();
    let agreed = shared.iter().filter(|page| !is_conflict(grades(page))).count();
    let units: Vec<Vec<Option<f64>>> =
        shared.iter().map(|page| grades(page).map(|grade| Some(grade as f64)).collect()).collect();
    let alpha = krippendorff(&units);
    Agreement {
        pages: shared.len(),
        agreed,
        raw: (!shared.is_empty()).then(|| agreed as f64 / shared.len() as f64),
        krippendorff_alpha: alpha.ok().map(|alpha| alpha.value),
        undefined: alpha.err(),
        reviewers: reviewers.into_values().collect(),
    }
}

fn grades<'a>(page: &'a [&GradedReview]) -> impl Iterator<Item = i64> + 'a {
    page.iter().map(|review| review.grade)
}

fn count<'a>(page: &[&'a GradedReview], reviewers: &mut BTreeMap<&'a str, ReviewerCount>) {
    let is_shared = page.len() > 1;
    let is_agreed = is_shared && !is_conflict(grades(page));
    for review in page {
        let one = reviewers.entry(&review.reviewer).or_insert_with(|| ReviewerCount {
            reviewer: review.reviewer.clone(),
            judged: 0,
            shared: 0,
            agreed: 0,
        });
        one.judged += 1;
        one.shared += usize::from(is_shared);
        one.agreed += usize::from(is_agreed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line for each reviewer, a digit for each page, a dot for none.
    fn reviews(table: &[(&str, &str)]) -> Vec<GradedReview> {
        let mut reviews = Vec::new();
        for (reviewer, grades) in table {
            for (label, grade) in (1..).zip(grades.chars()) {
                if let Some(grade) = grade.to_digit(10) {
                    let (reviewer, grade) = ((*reviewer).to_owned(), i64::from(grade));
                    reviews.push(GradedReview { label, reviewer, grade });
                }
            }
        }
        reviews
    }

    #[test]
    fn by_hand() {
        // Pages 2 to 4 are shared; the grades of pages 2 and 3 are the same.
        let found = agreement(&reviews(&[("ada", "0123."), ("bo", ".1200")]));
        assert_eq!((found.pages, found.agreed), (3, 2));
        assert_eq!(found.raw, Some(2.0 / 3.0));
        // Observed: 2 * 9. Expected: the distances of all ordered pairs of 1, 2, 3, 1, 2, 0, over 5.
        // Sum of squares 19, sum 9: 2 * (6 * 19 - 81) = 66.
        assert!((found.krippendorff_alpha.unwrap() - (1.0 - 18.0 / (66.0 / 5.0))).abs() < 1e-12);
        let of = |at: usize| {
            let ReviewerCount { reviewer, judged, shared, agreed } = &found.reviewers[at];
            (reviewer.as_str(), *judged, *shared, *agreed)
        };
        assert_eq!((of(0), of(1)), (("ada", 4, 3, 2), ("bo", 4, 3, 2)));
    }

    #[test]
    fn one_reviewer_agrees_with_no_other() {
        let found = agreement(&reviews(&[("ada", "0123")]));
        assert_eq!((found.pages, found.raw, found.krippendorff_alpha), (0, None, None));
        assert_eq!(found.undefined, Some(AlphaError::NoPairs));
        assert_eq!(found.reviewers[0].judged, 4);
        assert_eq!(agreement(&[]).reviewers, []);
    }

    #[test]
    fn the_same_grade_everywhere_has_no_alpha() {
        let found = agreement(&reviews(&[("ada", "22"), ("bo", "22")]));
        assert_eq!((found.raw, found.krippendorff_alpha), (Some(1.0), None));
        assert_eq!(found.undefined, Some(AlphaError::NoVariation));
    }

    #[test]
    fn grades_that_differ_are_a_conflict() {
        for (grades, expected) in
            [(&[][..], false), (&[2], false), (&[2, 2], false), (&[2, 2, 0], true)]
        {
            assert_eq!(is_conflict(grades.iter().copied()), expected, "{grades:?}");
        }
    }
}
