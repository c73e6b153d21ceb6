//! Near-duplicates: passages that say the same in nearly the same words.

use std::hash::Hasher as _;

use rustc_hash::FxHasher;

/// The distinct words of a passage, lower-cased, as sorted hashes: enough to compare sets.
#[derive(Debug, Clone, Default)]
pub struct WordSet(Vec<u64>);

impl WordSet {
    /// The words of a text.
    pub fn of(text: &str) -> Self {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let mut hashes: Vec<u64> = words.map(hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self(hashes)
    }

    /// Jaccard overlap: shared words over all words. Two empty sets do not overlap.
    pub fn overlap(&self, other: &Self) -> f64 {
        if self.0.is_empty() || other.0.is_empty() {
            return 0.0;
        }
        let shared = self.0.iter().filter(|word| other.0.binary_search(word).is_ok()).count();
        shared as f64 / (self.0.len() + other.0.len() - shared) as f64
    }

    /// Whether the overlap reaches `least`; cheap when the sizes alone rule it out.
    pub fn is_near(&self, other: &Self, min_overlap: f64) -> bool {
        let (a, b) = (self.0.len() as f64, other.0.len() as f64);
        a.min(b) >= min_overlap * a.max(b) && self.overlap(other) >= min_overlap
    }
}

fn hash(word: &str) -> u64 {
    let mut hasher = FxHasher::default();
    if word.is_ascii() {
        word.bytes().for_each(|byte| hasher.write_u8(byte.to_ascii_lowercase()));
    } else {
        word.chars().flat_map(char::to_lowercase).for_each(|c| hasher.write_u32(u32::from(c)));
    }
    hasher.finish()
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
