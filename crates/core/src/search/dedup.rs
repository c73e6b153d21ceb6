//! Near-duplicates: passages that say the same in nearly the same words.

use rustc_hash::FxHashSet;

/// The distinct words of a passage, lower-cased.
#[derive(Debug, Clone, Default)]
pub struct WordSet(FxHashSet<String>);

impl WordSet {
    /// The words of a text.
    pub fn of(text: &str) -> Self {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        Self(words.map(str::to_lowercase).collect())
    }

    /// Jaccard overlap: shared words over all words. Two empty sets do not overlap.
    pub fn overlap(&self, other: &Self) -> f64 {
        let (small, large) =
            if self.0.len() <= other.0.len() { (self, other) } else { (other, self) };
        if small.0.is_empty() {
            return 0.0;
        }
        let shared = small.0.iter().filter(|word| large.0.contains(*word)).count();
        shared as f64 / (small.0.len() + large.0.len() - shared) as f64
    }

    /// Whether the overlap reaches `least`; cheap when the sizes alone rule it out.
    pub fn is_near(&self, other: &Self, least: f64) -> bool {
        let (a, b) = (self.0.len() as f64, other.0.len() as f64);
        a.min(b) >= least * a.max(b) && self.overlap(other) >= least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_shared_over_all() {
        let (a, b) = (WordSet::of("One two three"), WordSet::of("two, THREE four"));
        assert_eq!(a.overlap(&b), 0.5);
        assert!(a.is_near(&b, 0.5));
        assert!(!a.is_near(&b, 0.51));
        assert_eq!(WordSet::of("").overlap(&WordSet::of("")), 0.0);
    }
}
