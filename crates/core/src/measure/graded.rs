//! One ranking seen through its judgements: the judged documents it found, and where.

use rustc_hash::FxHashMap;

use crate::qrels::Judgement;

/// A judged document that was retrieved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedHit {
    /// Its rank, from 1.
    pub rank: usize,
    pub grade: f64,
}

/// The input of a measure. Unjudged documents only take up ranks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GradedRanking {
    /// The judged documents that were retrieved. Invariant: ranks ascend.
    pub found: Vec<JudgedHit>,
    /// How many distinct documents were retrieved.
    pub retrieved: usize,
    /// The grades of all judged documents. Invariant: they descend.
    pub ideal: Vec<f64>,
}

impl GradedRanking {
    /// Grades a ranking, best first. A document counts at its first rank only.
    pub fn of<'a>(judgements: &[Judgement], ranking: impl IntoIterator<Item = &'a str>) -> Self {
        let mut seen = rustc_hash::FxHashSet::default();
        let ranking: Vec<&str> = ranking.into_iter().filter(|doc| seen.insert(*doc)).collect();
        Grader::default().grade(judgements, &ranking, |doc| doc).clone()
    }

    /// How many judged documents are relevant from grade `rel` on.
    pub(super) fn relevant(&self, rel: u32) -> usize {
        self.ideal.iter().take_while(|grade| is_relevant(**grade, rel)).count()
    }

    /// Ranks of the relevant documents among the first `k`.
    pub(super) fn relevant_ranks(&self, rel: u32, k: usize) -> impl Iterator<Item = usize> {
        let within = self.found.iter().take_while(move |found| found.rank <= k);
        within.filter(move |found| is_relevant(found.grade, rel)).map(|found| found.rank)
    }
}

/// Any grade above zero is relevant at level 1, so that fractions count; whole grades are the same
/// either way.
pub(super) fn is_relevant(grade: f64, rel: u32) -> bool {
    if rel <= 1 { grade > 0.0 } else { grade >= f64::from(rel) }
}

/// Grades rankings one after another in the same memory.
#[derive(Debug, Default)]
pub(super) struct Grader<'q> {
    grades: FxHashMap<&'q str, f64>,
    /// The bits of all judged documents.
    bits: u64,
    graded: GradedRanking,
}

impl<'q> Grader<'q> {
    /// Grades a ranking without repeated documents.
    pub(super) fn grade<T>(
        &mut self,
        judgements: &'q [Judgement],
        ranking: &[T],
        doc: impl Fn(&T) -> &str,
    ) -> &GradedRanking {
        self.grades.clear();
        self.grades.extend(judgements.iter().map(|one| (one.doc.as_str(), one.grade)));
        self.bits = judgements.iter().fold(0, |bits, one| bits | bit(&one.doc));
        let GradedRanking { found, retrieved, ideal } = &mut self.graded;
        *retrieved = ranking.len();
        ideal.clear();
        ideal.extend(judgements.iter().map(|one| one.grade));
        ideal.sort_unstable_by(|a, b| b.total_cmp(a));
        found.clear();
        found.extend(ranking.iter().enumerate().filter_map(|(at, hit)| {
            let doc = doc(hit);
            if self.bits & bit(doc) == 0 {
                return None;
            }
            let grade = *self.grades.get(doc)?;
            Some(JudgedHit { rank: at + 1, grade })
        }));
        &self.graded
    }
}

/// One of 64 bits, by the end of a document's id, where ids differ most. Most retrieved documents
/// are not judged and most of those are told by it, which is cheaper than a hash.
fn bit(doc: &str) -> u64 {
    let end = match doc.as_bytes().last_chunk::<4>() {
        Some(end) => u32::from_le_bytes(*end),
        None => doc.bytes().fold(0, |end, byte| end << 8 | u32::from(byte)),
    };
    1 << (end.wrapping_mul(0x9e37_79b1) >> 26)
}
