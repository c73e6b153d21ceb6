//! The difference between two texts, line by line, as `similar` finds it.
//!
//! Equal lines at both ends are set aside first. If more than [`MAX_LINES`] lines are between them,
//! these are shown as wholly replaced: finding more in common would take too long. There is no
//! limit of time, so that the same texts always give the same difference.

use similar::{Algorithm, Change, DiffOp, capture_diff, group_diff_ops};

/// Most lines of both texts that are searched for common ones.
const MAX_LINES: usize = 40_000;
/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// Changed lines with those around them.
pub(crate) type Hunk<'t> = Vec<Change<&'t str>>;

/// The changed parts of two texts, in order; empty for equal texts.
pub(crate) fn hunks<'t>(before: &'t str, after: &'t str) -> Vec<Hunk<'t>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let lines = |ops: Vec<DiffOp>| ops.iter().flat_map(|op| op.iter_changes(&old, &new)).collect();
    group_diff_ops(operations(&old, &new), CONTEXT).into_iter().map(lines).collect()
}

/// The operations that lead from `old` to `new`.
fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = rest.take_while(|(a, b)| a == b).count();
    let (old_end, new_end) = (old.len() - end, new.len() - end);
    let (old_len, new_len) = (old_end - start, new_end - start);
    let first = DiffOp::Equal { old_index: 0, new_index: 0, len: start };
    let last = DiffOp::Equal { old_index: old_end, new_index: new_end, len: end };
    let middle = match old_len + new_len {
        0 => return vec![first],
        1..=MAX_LINES => capture_diff(Algorithm::Myers, old, start..old_end, new, start..new_end),
        _ => vec![DiffOp::Replace { old_index: start, old_len, new_index: start, new_len }],
    };
    [vec![first], middle, vec![last]].concat()
}

#[cfg(test)]
mod tests {
    use similar::ChangeTag;

    use super::*;

    /// Every line of both texts.
    fn diff<'t>(before: &'t str, after: &'t str) -> Hunk<'t> {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (before.lines().collect(), after.lines().collect());
        operations(&old, &new).iter().flat_map(|op| op.iter_changes(&old, &new)).collect()
    }

    fn shown(before: &str, after: &str) -> String {
        let lines = diff(before, after);
        lines.iter().map(|line| format!("{}{}\n", line.tag(), line.value())).collect()
    }

    #[test]
    fn lines_are_removed_and_added() {
        assert_eq!(shown("a\nb\nc", "a\nc\nd"), " a\n-b\n c\n+d\n");
        assert_eq!(shown("", "a"), "+a\n");
        assert_eq!(shown("a", ""), "-a\n");
        assert_eq!(
            shown("a\nb\nc\na\nb\nb\na", "c\nb\na\nb\na\nc")
                .lines()
                .filter(|l| !l.starts_with(' '))
                .count(),
            5
        );
    }

    /// Every difference leads from one text to the other.
    #[test]
    fn a_difference_holds_both_texts() {
        let mut seed = 7_u64;
        let mut text = || -> String {
            (0..12)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    ["a\n", "b\n", "c\n", "d\n"][(seed >> 60) as usize % 4]
                })
                .collect()
        };
        for _ in 0..500 {
            let (before, after) = (text(), text());
            let lines = diff(&before, &after);
            let side = |without: ChangeTag| -> String {
                let kept = lines.iter().filter(|line| line.tag() != without);
                kept.map(|line| format!("{}\n", line.value())).collect()
            };
            assert_eq!((side(ChangeTag::Insert), side(ChangeTag::Delete)), (before, after));
        }
    }

    #[test]
    fn long_texts_that_share_nothing_are_replaced() {
        let text = |name: &str| (0..5_000).map(|n| format!("{name}{n}\n")).collect::<String>();
        let (before, after) = (text("a"), text("b"));
        assert_eq!(diff(&before, &after).len(), 10_000);
        // Too many lines to search, so that the line that they share is not found.
        let text = |name: &str| format!("{0}same\n{0}", format!("{name}\n").repeat(MAX_LINES / 4));
        assert_eq!(diff(&text("a"), &text("b")).len(), MAX_LINES + 2);
        // Lines at the ends are no part of the search.
        let (before, after) = (text("a"), format!("first\n{}last\n", text("a")));
        assert_eq!(diff(&before, &after[6..]).len(), MAX_LINES / 2 + 2);
        assert_eq!(hunks(&before, &after[6..]).concat().len(), CONTEXT + 1);
    }

    #[test]
    fn only_what_is_near_a_change_is_shown() {
        let before: String = (0..40).map(|n| format!("{n}\n")).collect();
        let after = before.replace("\n5\n", "\nfive\n").replace("\n30\n", "\n");
        let hunks = hunks(&before, &after);
        let sizes: Vec<usize> = hunks.iter().map(Vec::len).collect();
        assert_eq!(sizes, [8, 7]);
        assert_eq!((hunks[0][0].old_index(), hunks[0][0].value()), (Some(2), "2"));
        assert!(super::hunks("a\n", "a\n").is_empty());
    }
}
