//! The similarity of two rankings without judgements: by their members and by their order.
//!
//! Lists are taken without their repeats: a key counts at its first place.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

/// The share of keys that both lists hold of those that either does (Jaccard 1912). Two empty lists
/// are alike: 1, which a mean should leave out.
pub fn jaccard<K: Eq + Hash>(a: &[K], b: &[K]) -> f64 {
    let a: FxHashSet<&K> = a.iter().collect();
    let b: FxHashSet<&K> = b.iter().collect();
    let both = a.intersection(&b).count();
    let either = a.len() + b.len() - both;
    if either == 0 { 1.0 } else { both as f64 / either as f64 }
}

/// Rank-biased overlap, extrapolated (Webber, Moffat and Zobel, ACM TOIS 28(4), 2010, eq. 32): the
/// agreement that a reader sees who goes one deeper with probability `p`, taken to go on past the
/// ends as it stood there. 1 for equal lists of any length, 0 when nothing is shared, an empty
/// list beside another among it. `p` is taken into 0..1.
pub(crate) fn rank_biased_overlap<K: Eq + Hash>(a: &[K], b: &[K], p: f64) -> f64 {
    let (a, b) = (distinct(a), distinct(b));
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.is_empty() {
        return if long.is_empty() { 1.0 } else { 0.0 };
    }
    let p = p.clamp(1e-9, 1.0 - 1e-9);
    let shared = shared_by_depth(&short, &long);
    let (s, l) = (short.len(), long.len());
    let (shared_s, shared_l) = (shared[s - 1] as f64, shared[l - 1] as f64);
    let (mut sum, mut weight) = (0.0, 1.0);
    for (at, shared) in shared.iter().enumerate() {
        let depth = (at + 1) as f64;
        weight *= p;
        let past = (at + 1).saturating_sub(s) as f64;
        sum += (*shared as f64 + shared_s * past / s as f64) / depth * weight;
    }
    let tail = ((shared_l - shared_s) / l as f64 + shared_s / s as f64) * weight;
    ((1.0 - p) / p * sum + tail).clamp(0.0, 1.0)
}

/// Kendall's tau (Biometrika 30, 1938) of the order of the keys that both lists hold: pairs in the
/// same order minus pairs in the other, by all pairs. None below two shared keys.
pub(crate) fn kendall_tau<K: Eq + Hash>(a: &[K], b: &[K]) -> Option<f64> {
    let places: FxHashMap<&K, usize> =
        distinct(b).into_iter().enumerate().map(|(place, key)| (key, place)).collect();
    let mut order: Vec<usize> =
        distinct(a).into_iter().filter_map(|key| places.get(key).copied()).collect();
    let n = order.len();
    let pairs = (n * n.saturating_sub(1) / 2) as f64;
    let swapped = inversions(&mut order) as f64;
    (n > 1).then(|| 1.0 - 2.0 * swapped / pairs)
}

fn distinct<K: Eq + Hash>(list: &[K]) -> Vec<&K> {
    let mut seen = FxHashSet::default();
    list.iter().filter(|key| seen.insert(*key)).collect()
}

/// How many keys the first d of both lists share, for every depth d of the longer one.
fn shared_by_depth<K: Eq + Hash>(short: &[&K], long: &[&K]) -> Vec<usize> {
    let mut seen: FxHashSet<&K> = FxHashSet::default();
    let mut shared = 0;
    let mut depths = Vec::with_capacity(long.len());
    for (at, key) in long.iter().enumerate() {
        // Neither list repeats a key: one that was seen was seen in the other.
        let brought = [Some(key), short.get(at)].into_iter().flatten();
        shared += brought.filter(|key| !seen.insert(**key)).count();
        depths.push(shared);
    }
    depths
}

/// Pairs out of order, counted while merging.
fn inversions(order: &mut [usize]) -> u64 {
    if order.len() < 2 {
        return 0;
    }
    let middle = order.len() / 2;
    let mut count = {
        let (left, right) = order.split_at_mut(middle);
        inversions(left) + inversions(right)
    };
    let mut merged = Vec::with_capacity(order.len());
    let (mut left, mut right) = (0, middle);
    while left < middle && right < order.len() {
        if order[left] <= order[right] {
            merged.push(order[left]);
            left += 1;
        } else {
            count += (middle - left) as u64;
            merged.push(order[right]);
            right += 1;
        }
    }
    merged.extend_from_slice(&order[left..middle]);
    merged.extend_from_slice(&order[right..]);
    order.copy_from_slice(&merged);
    count
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn jaccard_by_hand() {
        assert_eq!(jaccard(&["a", "b"], &["b", "c"]), 1.0 / 3.0);
        assert_eq!(jaccard(&["a", "a"], &["a"]), 1.0);
        assert_eq!(jaccard::<u8>(&[], &[]), 1.0);
        assert_eq!(jaccard(&["a"], &[]), 0.0);
    }

    #[test]
    fn overlap_by_hand() {
        for n in [1, 2, 10, 100] {
            let list: Vec<usize> = (0..n).collect();
            near(rank_biased_overlap(&list, &list, 0.9), 1.0);
        }
        near(rank_biased_overlap(&["a", "b"], &["c", "d"], 0.9), 0.0);
        near(rank_biased_overlap::<u8>(&[], &[], 0.9), 1.0);
        near(rank_biased_overlap(&["a"], &[], 0.9), 0.0);
        // Agreement 0 at depth 1, 1 at depth 2 and from then on: 1 - (1 - p).
        near(rank_biased_overlap(&["a", "b"], &["b", "a"], 0.9), 0.9);
        // A list that is the start of the other agrees wholly as far as it is known.
        near(rank_biased_overlap(&["a"], &["a", "b", "c"], 0.9), 1.0);
        // s = 1, l = 2, X = (0, 1), p = 1/2: sum (1/2)(1/4) = 1/8; tail (1/2)(1/4) = 1/8.
        near(rank_biased_overlap(&["a"], &["b", "a"], 0.5), 0.25);
    }

    #[test]
    fn tau_by_hand() {
        assert_eq!(kendall_tau(&["a", "b", "c"], &["a", "b", "c"]), Some(1.0));
        assert_eq!(kendall_tau(&["a", "b", "c"], &["c", "b", "a"]), Some(-1.0));
        near(kendall_tau(&["a", "x", "b", "c"], &["b", "a", "c", "y"]).unwrap(), 1.0 / 3.0);
        assert_eq!(kendall_tau(&["a"], &["a"]), None);
        assert_eq!(kendall_tau(&["a", "b"], &["c", "b"]), None);
    }

    proptest! {
        #[test]
        fn all_are_in_bounds_and_symmetric(
            a in prop::collection::vec(0..12u8, 0..15),
            b in prop::collection::vec(0..12u8, 0..15),
            p in 0.0..=1.0,
        ) {
            let overlap = rank_biased_overlap(&a, &b, p);
            prop_assert!((0.0..=1.0).contains(&overlap));
            prop_assert!((overlap - rank_biased_overlap(&b, &a, p)).abs() < 1e-12);
            prop_assert!((rank_biased_overlap(&a, &a, p) - 1.0).abs() < 1e-9);
            prop_assert_eq!(jaccard(&a, &b), jaccard(&b, &a));
            let tau = kendall_tau(&a, &b);
            prop_assert!(tau.is_none_or(|tau| (-1.0..=1.0).contains(&tau)));
            prop_assert_eq!(tau, kendall_tau(&b, &a));
        }
    }
}
