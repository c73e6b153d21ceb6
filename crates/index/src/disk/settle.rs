//! Which segments to merge.
//!
//! Every segment costs each search a little, and every merge costs its size in writing. Segments
//! are kept in falling order of size, each at least [`STEP`] times all that are smaller together;
//! where that is broken, the smaller ones are merged. So a page is rewritten a logarithmic number
//! of times, and there are few segments. A segment with many deleted documents is merged alone.

use tantivy::index::{SegmentId, SegmentMeta};

/// How much larger a segment is than all smaller ones together.
const STEP: u64 = 2;
/// As many segments as this are always well.
const ALWAYS_WELL: usize = 4;
/// One deleted document in this many is too many.
const DELETED_SHARE: u64 = 5;

/// The segments to merge next, if any.
pub(super) fn due(segments: &[SegmentMeta]) -> Option<Vec<SegmentId>> {
    let sizes: Vec<Size> = segments.iter().map(Size::of).collect();
    let merge = due_of(&sizes)?;
    Some(merge.into_iter().map(|place| segments[place].id()).collect())
}

#[derive(Debug, Clone, Copy)]
struct Size {
    live: u64,
    deleted: u64,
}

impl Size {
    fn of(segment: &SegmentMeta) -> Self {
        Self { live: u64::from(segment.num_docs()), deleted: u64::from(segment.num_deleted_docs()) }
    }
}

fn due_of(sizes: &[Size]) -> Option<Vec<usize>> {
    let is_worn = |size: &Size| size.deleted * DELETED_SHARE > size.live + size.deleted;
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
    // Even where every step is kept, there may be too many: the smallest are worth little alone.
    let from = broken.unwrap_or(ALWAYS_WELL - 1);
    Some(places.split_off(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(live: &[u64], expected: Option<&[usize]>) {
        let sizes: Vec<Size> = live.iter().map(|live| Size { live: *live, deleted: 0 }).collect();
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
        let sizes = [Size { live: 100, deleted: 0 }, Size { live: 70, deleted: 30 }];
        assert_eq!(due_of(&sizes), Some(vec![1]));
    }
}
