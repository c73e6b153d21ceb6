//! Binary preference: a measure that leaves unjudged documents out.

use super::{GradedRanking, MeasureInfo, graded::is_relevant};

pub(super) const ABOUT: MeasureInfo = MeasureInfo {
    explanation: "the mean, over all relevant documents, of 1 - n / min(R, N) for each that was found, \
                  where n of the judged non-relevant documents rank above it (R at most), R is the \
                  number of relevant and N of judged non-relevant documents; a grade below 0 means \
                  not judged",
    citation: "Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004; \
               trec_eval bpref",
};

pub(super) fn bpref(graded: &GradedRanking, rel: u32) -> f64 {
    let relevant = graded.relevant(rel);
    if relevant == 0 {
        return 0.0;
    }
    let is_nonrelevant = |grade: f64| grade >= 0.0 && !is_relevant(grade, rel);
    let nonrelevant = graded.ideal.iter().filter(|grade| is_nonrelevant(**grade)).count();
    let most = nonrelevant.min(relevant);
    let (mut above, mut sum) = (0usize, 0.0);
    for found in &graded.found {
        if is_nonrelevant(found.grade) {
            above += 1;
        } else if is_relevant(found.grade, rel) {
            sum += if above == 0 { 1.0 } else { 1.0 - above.min(relevant) as f64 / most as f64 };
        }
    }
    sum / relevant as f64
}
