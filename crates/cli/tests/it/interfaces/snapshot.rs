//! Files that hold what an interface looked like, and what differs from them.

use std::fs;
use std::path::Path;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots/interfaces");
const UPDATE: &str = "GBRAIN_UPDATE_SNAPSHOTS";
/// Lines shown before and after a change.
const CONTEXT: usize = 3;
/// Lines of a difference that are shown.
const SHOWN: usize = 80;
/// Characters of a line that are shown.
const WIDTH: usize = 240;
/// Lines that are aligned with each other; longer differences are shown as removed and added.
const ALIGNED: usize = 3000;

/// Compares a text with the snapshot of this name, or writes the snapshot if that was asked for.
#[track_caller]
pub(super) fn check(name: &str, actual: &str) {
    let path = Path::new(DIRECTORY).join(name);
    if std::env::var_os(UPDATE).is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, actual).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == actual, "{}", report(name, &expected, actual));
}

/// Fails if there are snapshots in a directory that no test checks, such as those of a step that was removed.
#[track_caller]
pub(super) fn check_names(directory: &str, names: &[String]) {
    let path = Path::new(DIRECTORY).join(directory);
    let entries = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name());
    for entry in entries.map(|name| name.into_string().unwrap()) {
        if names.contains(&entry) {
            continue;
        }
        let is_update = std::env::var_os(UPDATE).is_some();
        assert!(is_update, "{directory}/{entry} is no longer written; remove it with {UPDATE}=1");
        fs::remove_file(path.join(entry)).unwrap();
    }
}

fn report(name: &str, expected: &str, actual: &str) -> String {
    format!(
        "the interface changed: {name}\n{}\nIf that is on purpose, write the snapshots again and review them:\n  \
         {UPDATE}=1 cargo xtask with cargo nextest run -p gbrain-cli -E 'test(interfaces::)'\n",
        excerpt(expected, actual)
    )
}

/// The differences between two texts, with some lines around each.
fn excerpt(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let changes = changes(&old, &new);
    let mut shown =
        vec![format!("--- snapshot, {} lines\n+++ now, {} lines", old.len(), new.len())];
    let mut is_gap = false;
    for (at, (mark, line)) in changes.iter().enumerate() {
        let near = at.saturating_sub(CONTEXT)..changes.len().min(at + CONTEXT + 1);
        let is_near = changes[near].iter().any(|(mark, _)| *mark != ' ');
        if is_near {
            let gap = if is_gap { "@@\n" } else { "" };
            shown.push(format!("{gap}{mark}{}", cut(line, counterpart(&changes, at))));
        }
        is_gap = !is_near;
    }
    if old == new {
        shown.push("only line ends differ".to_owned());
    }
    let left_out = shown.len().saturating_sub(SHOWN);
    shown.truncate(SHOWN);
    if left_out > 0 {
        shown.push(format!("... and {left_out} more lines"));
    }
    shown.join("\n")
}

/// The line that a removed line became or that an added line was: the one at the same place of the other half of a
/// change.
fn counterpart<'a>(changes: &[(char, &'a str)], at: usize) -> &'a str {
    let is_common = |(mark, _): &(char, &str)| *mark == ' ';
    let start = changes[..at].iter().rposition(is_common).map_or(0, |common| common + 1);
    let end = changes[at..].iter().position(is_common).map_or(changes.len(), |common| at + common);
    let half = |mark: char| {
        let lines = changes[start..end].iter().enumerate().filter(move |(_, line)| line.0 == mark);
        lines.map(|(n, line)| (start + n, line.1)).collect::<Vec<_>>()
    };
    let (own, other) = match changes[at].0 {
        '-' => (half('-'), half('+')),
        '+' => (half('+'), half('-')),
        _ => return "",
    };
    let place = own.iter().position(|(n, _)| *n == at).unwrap_or_default();
    other.get(place).map_or("", |(_, line)| line)
}

/// A long line from shortly before the first character in which it differs from another.
fn cut(line: &str, other: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let common = line.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let from = common.saturating_sub(WIDTH / 4);
    let before = if from > 0 { "..." } else { "" };
    let part: String = line.chars().skip(from).take(WIDTH).collect();
    let after = if from + WIDTH < line.chars().count() { "..." } else { "" };
    format!("{before}{part}{after}")
}

/// Every line of both texts, marked as common, removed or added.
fn changes<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let middle = align(&old_rest[..old_rest.len() - end], &new_rest[..new_rest.len() - end]);
    let common = |lines: &[&'a str]| lines.iter().map(|line| (' ', *line)).collect::<Vec<_>>();
    [common(&old[..start]), middle, common(&old[old.len() - end..])].concat()
}

/// Lines in both texts stay common along a longest common subsequence.
fn align<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    let marked = |mark: char, lines: &[&'a str]| {
        lines.iter().map(|line| (mark, *line)).collect::<Vec<(char, &'a str)>>()
    };
    if old.len() > ALIGNED || new.len() > ALIGNED {
        return [marked('-', old), marked('+', new)].concat();
    }
    // Invariant: `longest[i][j]` is the length of the longest common subsequence of `old[i..]` and `new[j..]`.
    let mut longest = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i][j] = match old[i] == new[j] {
                true => longest[i + 1][j + 1] + 1,
                false => longest[i + 1][j].max(longest[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut changes) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            changes.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if longest[i + 1][j] >= longest[i][j + 1] {
            changes.push(('-', old[i]));
            i += 1;
        } else {
            changes.push(('+', new[j]));
            j += 1;
        }
    }
    [changes, marked('-', &old[i..]), marked('+', &new[j..])].concat()
}

#[test]
fn a_difference_is_shown_with_its_surroundings() {
    let old: Vec<String> = (0..30).map(|n| format!("line {n}")).collect();
    let mut new = old.clone();
    new[4] = "changed".to_owned();
    new.remove(25);
    let shown = excerpt(&old.join("\n"), &new.join("\n"));
    let expected = "--- snapshot, 30 lines\n+++ now, 29 lines\n@@\n line 1\n line 2\n line 3\n-line 4\n+changed\n \
                    line 5\n line 6\n line 7\n@@\n line 22\n line 23\n line 24\n-line 25\n line 26\n line 27\n line 28";
    assert_eq!(shown, expected);
}

#[test]
fn a_long_line_is_shown_where_it_differs() {
    let line = |word: &str| format!("{}{word}{}", "a".repeat(1000), "z".repeat(1000));
    let shown = excerpt(&line("one"), &line("two"));
    let part = |word: &str| format!("...{}{word}{}...", "a".repeat(60), "z".repeat(177));
    let expected =
        format!("--- snapshot, 1 lines\n+++ now, 1 lines\n-{}\n+{}", part("one"), part("two"));
    assert_eq!(shown, expected);
}
