//! Expected reciprocal rank of a ranking.

use super::{GradedRanking, MeasureInfo};

/// The highest grade of the Web Track's judgements, which gdeval takes for granted.
pub(super) const USUAL_MAX: u32 = 4;

pub(super) const ABOUT: MeasureInfo = MeasureInfo {
    explanation: "the expected reciprocal of the rank (among the first k) at which a reader stops who \
                  is satisfied by a document with probability (2^grade - 1) / 2^max; max is 4 unless \
                  stated, and a higher grade counts as max",
    citation: "Chapelle, Metzler, Zhang and Grinspan, CIKM 2009; ERR@k of gdeval and ir_measures",
};

pub(super) fn expected_reciprocal_rank(graded: &GradedRanking, max: u32, k: Option<usize>) -> f64 {
    let max = f64::from(max);
    let (mut goes_on, mut sum) = (1.0, 0.0);
    for found in graded.found.iter().take_while(|found| found.rank <= k.unwrap_or(usize::MAX)) {
        let grade = found.grade.clamp(0.0, max);
        // (2^grade - 1) / 2^max, without leaving the range of doubles.
        let satisfied = (grade - max).exp2() - (-max).exp2();
        sum += goes_on * satisfied / found.rank as f64;
        goes_on *= 1.0 - satisfied;
    }
    sum
}
