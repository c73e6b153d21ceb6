//! The difference between two texts, line by line (Myers, Algorithmica 1, 1986).
//!
//! Equal lines at both ends are set aside first. Texts that differ in more than [`MAX_EDITS`] lines
//! are shown as wholly replaced between those ends: finding more in common would take too long.

use std::collections::HashMap;

/// Most edits that are searched for.
const MAX_EDITS: usize = 800;
/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// What happened to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Same,
    Removed,
    Added,
}

/// A line of either text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiffLine<'t> {
    pub(crate) change: Change,
    pub(crate) text: &'t str,
    /// Number of the line in the older and in the newer text, from 1.
    pub(crate) before: Option<usize>,
    pub(crate) after: Option<usize>,
}

/// Changed lines with those around them.
pub(crate) type Hunk<'t> = Vec<DiffLine<'t>>;

/// The changed parts of two texts, in order; empty for equal texts.
pub(crate) fn hunks<'t>(before: &'t str, after: &'t str) -> Vec<Hunk<'t>> {
    let lines = diff(before, after);
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    let mut end = 0;
    for (at, line) in lines.iter().enumerate() {
        if line.change == Change::Same {
            continue;
        }
        let from = at.saturating_sub(CONTEXT).max(end);
        if from > end || hunks.is_empty() {
            hunks.push(Vec::new());
        }
        let to = (at + 1 + CONTEXT).min(lines.len());
        let hunk = hunks.last_mut().expect("a hunk was pushed");
        hunk.extend_from_slice(&lines[from..to.max(from)]);
        end = end.max(to);
    }
    hunks
}

/// Every line of both texts.
pub(crate) fn diff<'t>(before: &'t str, after: &'t str) -> Vec<DiffLine<'t>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = rest.take_while(|(a, b)| a == b).count();
    let (old_middle, new_middle) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let mut changes = vec![Change::Same; start];
    changes.extend(edits(old_middle, new_middle));
    changes.extend(vec![Change::Same; end]);
    numbered(&old, &new, &changes)
}

fn numbered<'t>(old: &[&'t str], new: &[&'t str], changes: &[Change]) -> Vec<DiffLine<'t>> {
    let (mut before, mut after) = (0, 0);
    let mut lines = Vec::with_capacity(changes.len());
    for &change in changes {
        let text = if change == Change::Added { new[after] } else { old[before] };
        let (is_old, is_new) = (change != Change::Added, change != Change::Removed);
        before += usize::from(is_old);
        after += usize::from(is_new);
        let (before, after) = (is_old.then_some(before), is_new.then_some(after));
        lines.push(DiffLine { change, text, before, after });
    }
    lines
}

/// The changes that lead from `old` to `new`.
fn edits(old: &[&str], new: &[&str]) -> Vec<Change> {
    let mut ids: HashMap<&str, usize> = HashMap::new();
    let mut numbers = Vec::with_capacity(old.len() + new.len());
    for line in old.iter().chain(new) {
        let next = ids.len();
        numbers.push(*ids.entry(line).or_insert(next));
    }
    let (old, new) = numbers.split_at(old.len());
    match search(old, new) {
        Some(steps) => changes(old, new, &steps),
        None => replaced(old.len(), new.len()),
    }
}

fn replaced(old: usize, new: usize) -> Vec<Change> {
    std::iter::repeat_n(Change::Removed, old)
        .chain(std::iter::repeat_n(Change::Added, new))
        .collect()
}

/// How far each diagonal reaches after each number of edits; none if there are too many edits.
/// Diagonal `k` (lines of `old` minus lines of `new`) of step `d` is at index `d + k`.
fn search(old: &[usize], new: &[usize]) -> Option<Vec<Vec<usize>>> {
    let mut steps: Vec<Vec<usize>> = Vec::new();
    for d in 0..=MAX_EDITS.min(old.len() + new.len()) {
        let mut reach = vec![0; 2 * d + 1];
        for at in (0..=2 * d).step_by(2) {
            let mut x = first(steps.last(), d, at);
            while let Some(y) = (x + d).checked_sub(at)
                && x < old.len()
                && y < new.len()
                && old[x] == new[y]
            {
                x += 1;
            }
            reach[at] = x;
            if x >= old.len() && (x + d).checked_sub(at).is_some_and(|y| y >= new.len()) {
                steps.push(reach);
                return Some(steps);
            }
        }
        steps.push(reach);
    }
    None
}

/// Where diagonal `at` of step `d` begins: below the diagonal above, or right of the one below.
fn first(last: Option<&Vec<usize>>, d: usize, at: usize) -> usize {
    let Some(last) = last else { return 0 };
    if is_added(last, d, at) { last[at] } else { last[at - 2] + 1 }
}

/// Whether diagonal `at` of step `d` is best reached by an added line.
fn is_added(last: &[usize], d: usize, at: usize) -> bool {
    at == 0 || (at < 2 * d && last[at - 2] < last[at])
}

/// Walks back from the end to the start.
fn changes(old: &[usize], new: &[usize], steps: &[Vec<usize>]) -> Vec<Change> {
    let mut found = Vec::with_capacity(old.len() + new.len());
    let (mut x, mut y) = (old.len(), new.len());
    for d in (1..steps.len()).rev() {
        let at = x + d - y;
        let last = &steps[d - 1];
        let is_added = is_added(last, d, at);
        let start = first(Some(last), d, at);
        found.extend(std::iter::repeat_n(Change::Same, x - start));
        found.push(if is_added { Change::Added } else { Change::Removed });
        let begin = if is_added { start } else { start - 1 };
        (x, y) = (begin, start + d - at - usize::from(is_added));
    }
    found.extend(std::iter::repeat_n(Change::Same, x));
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str) -> String {
        let lines = diff(before, after);
        let mark = |line: &DiffLine<'_>| match line.change {
            Change::Same => ' ',
            Change::Removed => '-',
            Change::Added => '+',
        };
        lines.iter().map(|line| format!("{}{}\n", mark(line), line.text)).collect()
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
            let side = |without: Change| -> String {
                let kept = lines.iter().filter(|line| line.change != without);
                kept.map(|line| format!("{}\n", line.text)).collect()
            };
            assert_eq!((side(Change::Added), side(Change::Removed)), (before, after));
        }
    }

    #[test]
    fn long_texts_that_share_nothing_are_replaced() {
        let text = |name: &str| (0..5_000).map(|n| format!("{name}{n}\n")).collect::<String>();
        let (before, after) = (text("a"), text("b"));
        assert_eq!(diff(&before, &after).len(), 10_000);
    }

    #[test]
    fn only_what_is_near_a_change_is_shown() {
        let before: String = (0..40).map(|n| format!("{n}\n")).collect();
        let after = before.replace("\n5\n", "\nfive\n").replace("\n30\n", "\n");
        let hunks = hunks(&before, &after);
        let sizes: Vec<usize> = hunks.iter().map(Vec::len).collect();
        assert_eq!(sizes, [8, 7]);
        assert_eq!((hunks[0][0].before, hunks[0][0].text), (Some(3), "2"));
        assert!(super::hunks("a\n", "a\n").is_empty());
    }
}
