//! Selects the segments to merge.
//!
//! Every segment adds a little to the cost of each search, and every merge costs its size in
//! writes. Sorted by size, each segment should be at least [`STEP`] times as large as all smaller
//! ones together; where that does not hold, the smaller ones are merged. So a page is rewritten a
//! logarithmic number of times, and there are few segments. A segment with many deleted documents
//! is merged alone.

use tantivy::index::{SegmentId, SegmentMeta};

/// Minimum ratio of a segment's size to that of all smaller ones together.
const STEP: u64 = 2;
/// Up to this many segments are never merged because of their sizes.
const ALWAYS_WELL: usize = 4;
/// A segment is rewritten when more than one document in this many is deleted.
const DELETED_SHARE: u64 = 5;

/// The segments to merge next, if any.
pub(super) fn due(segments: &[SegmentMeta]) -> Option<Vec<SegmentId>> {
    let sizes: Vec<SegmentSize> = segments.iter().map(SegmentSize::of).collect();
    let merge = due_of(&sizes)?;
    Some(merge.into_iter().map(|place| segments[place].id()).collect())
}

#[derive(Debug, Clone, Copy)]
struct SegmentSize {
    live: u64,
    deleted: u64,
}

impl SegmentSize {
    fn of(segment: &SegmentMeta) -> Self {
        Self { live: u64::from(segment.num_docs()), deleted: u64::from(segment.num_deleted_docs()) }
    }
}

fn due_of(sizes: &[SegmentSize]) -> Option<Vec<usize>> {
    let is_worn = |size: &SegmentSize| size.deleted * DELETED_SHARE > size.live + size.deleted;
    if let Some(worn) = sizes.iter().position(is_worn) {
        return Some(vec![worn]);
    }
    if sizes.len() <= ALWAYS_WELL {
        return None;
    }
    let mut places: Vec<usize> = (0..sizes.len()).collect();
    places.sort_by_key(|place| std::cmp::Reverse(sizes[*place].live));
    let smaller = |from: usize| places[from..].iter().map(|place| sizes[*place].live).sum::<u64>();
    let broken = (0..places.len() - 1).find(|at| sizes[places[*at]].live < STEP * smaller(at + 1));
    // Even if every ratio holds, there may be too many segments: the smallest are merged.
    let from = broken.unwrap_or(ALWAYS_WELL - 1);
    Some(places.split_off(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(live: &[u64], expected: Option<&[usize]>) {
        let sizes: Vec<SegmentSize> =
            live.iter().map(|live| SegmentSize { live: *live, deleted: 0 }).collect();
        assert_eq!(due_of(&sizes).as_deref(), expected, "{live:?}");
    }

    #[test]
    fn few_segments_are_left_alone() {
        check(&[], None);
        check(&[1, 1, 1, 1], None);
    }

    #[test]
    fn equals_are_merged_and_the_large_stay() {
        check(&[100, 100, 100, 100, 100], Some(&[0, 1, 2, 3, 4]));
        check(&[10_000, 1, 1, 1, 1], Some(&[1, 2, 3, 4]));
        check(&[1, 10_000, 100, 9, 3], Some(&[4, 0]));
    }

    #[test]
    fn worn_segments_are_rewritten() {
        let sizes = [SegmentSize { live: 100, deleted: 0 }, SegmentSize { live: 70, deleted: 30 }];
        assert_eq!(due_of(&sizes), Some(vec![1]));
    }
}
