//! Values without repetitions, in one pass.

use std::hash::Hash;

use rustc_hash::FxHashSet;

/// The first of the values that have equal keys, in their order. Takes time in proportion to their number.
pub fn unique_by<T, K: Hash + Eq>(
    values: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<T> {
    let mut seen = FxHashSet::default();
    values.into_iter().filter(|value| seen.insert(key(value))).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::Hasher;

    use super::*;

    thread_local! {
        static COMPARISONS: Cell<usize> = const { Cell::new(0) };
    }

    struct Counted(u64);

    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            COMPARISONS.set(COMPARISONS.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted {}

    impl Hash for Counted {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    fn comparisons(count: u64) -> usize {
        COMPARISONS.set(0);
        let values = (0..count).chain(0..count);
        assert_eq!(unique_by(values, |value| Counted(*value)).len() as u64, count);
        COMPARISONS.get()
    }

    #[test]
    fn the_first_of_equals_stays_in_its_place() {
        let found = unique_by(["b", "a", "B", "c", "A"], |text| text.to_lowercase());
        assert_eq!(found, ["b", "a", "c"]);
    }

    #[test]
    fn comparisons_grow_with_the_number_of_values_and_not_with_its_square() {
        // Every repetition is compared once, and a few values more whose hashes are close.
        for count in [1_000, 2_000, 100_000] {
            assert!(comparisons(count) < 2 * count as usize, "{count}");
        }
    }
}
