//! The responses that writers got, and whether the history of each page agrees.
//!
//! A page has one writer, who never writes the same text twice. A change that was acknowledged is in
//! the history exactly once, in the order in which it was asked for, under the version that the
//! answer named; one whose answer was never heard is there once or not at all; and there is nothing
//! else but what jobs wrote.
//!
//! Deliberately absent: deletions in a row. A page is deleted only after a put that was acknowledged,
//! so that every deletion in a history can be told from the next.

use std::collections::BTreeMap;

use gbrain_core::hash::Hash;
use gbrain_store::VersionOp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// This text.
    Put(Hash),
    /// No text any more.
    Delete,
}

/// The response to a change, as its writer got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Nothing,
    Done,
    Version(u32),
}

/// The changes of some pages, each page's in order.
#[derive(Debug, Default)]
pub struct Ledger {
    pages: BTreeMap<String, Vec<(Change, Heard)>>,
}

/// A version of a page, as its history tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    pub number: u32,
    /// The request that made it.
    pub op: VersionOp,
    /// Of its text.
    pub hash: Hash,
}

impl Ledger {
    /// A change is asked for.
    pub fn begin(&mut self, page: &str, change: Change) {
        self.pages.entry(page.to_owned()).or_default().push((change, Heard::Nothing));
    }

    /// The change that was asked for last is acknowledged, perhaps with its version.
    pub fn acknowledge(&mut self, page: &str, version: Option<u32>) {
        if let Some((_, heard)) = self.pages.get_mut(page).and_then(|changes| changes.last_mut()) {
            *heard = version.map_or(Heard::Done, Heard::Version);
        }
    }

    /// The change that was asked for last was refused: it must never be seen.
    pub fn withdraw(&mut self, page: &str) {
        if let Some(changes) = self.pages.get_mut(page) {
            changes.pop();
        }
    }

    /// The known text of a page, if its last change was acknowledged.
    pub fn certain(&self, page: &str) -> Option<Change> {
        let (change, heard) = self.pages.get(page)?.last()?;
        (*heard != Heard::Nothing).then_some(*change)
    }

    /// Takes the pages of another writer.
    pub fn join(&mut self, other: Self) {
        self.pages.extend(other.pages);
    }

    /// The pages that were written.
    pub fn pages(&self) -> impl Iterator<Item = &str> {
        self.pages.keys().map(String::as_str)
    }

    /// Changes that were acknowledged, and changes whose answer was never heard.
    pub fn counts(&self) -> (usize, usize) {
        let all = self.pages.values().flatten();
        let unheard = all.clone().filter(|(_, heard)| *heard == Heard::Nothing).count();
        (all.count() - unheard, unheard)
    }

    /// Violations in the history of a page. Texts of other writers are checked by `is_other`.
    pub fn check(
        &self,
        page: &str,
        history: &[Version],
        is_other: impl Fn(Hash) -> bool,
    ) -> Vec<String> {
        let changes = self.pages.get(page).map_or(&[][..], Vec::as_slice);
        let mut wrong = Vec::new();
        let mut next = 0;
        for version in history {
            if version.op == VersionOp::Write && is_other(version.hash) {
                continue;
            }
            let found = changes[next..].iter().position(|(change, _)| made(*change, version));
            let Some(found) = found else {
                wrong.push(format!("{page} has a version that nobody asked for: {version:?}"));
                continue;
            };
            missing(page, &changes[next..next + found], &mut wrong);
            next += found + 1;
            if let Heard::Version(number) = changes[next - 1].1
                && number != version.number
            {
                wrong.push(format!("{page} has as {version:?} what was told to be {number}"));
            }
        }
        missing(page, &changes[next..], &mut wrong);
        wrong
    }
}

fn made(change: Change, version: &Version) -> bool {
    match change {
        Change::Put(hash) => version.op == VersionOp::Write && version.hash == hash,
        Change::Delete => version.op == VersionOp::Delete,
    }
}

/// Changes that are not in the history where they should be.
fn missing(page: &str, changes: &[(Change, Heard)], wrong: &mut Vec<String>) {
    let lost = changes.iter().filter(|(_, heard)| *heard != Heard::Nothing);
    wrong.extend(lost.map(|lost| format!("{page} has lost what was acknowledged: {lost:?}")));
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: u8 = 9;

    fn text(n: u8) -> Hash {
        Hash([n; 32])
    }

    /// Changes are texts, 0 a deletion; `!` was acknowledged, `?` was not.
    fn ledger(changes: &str) -> Ledger {
        let mut ledger = Ledger::default();
        for word in changes.split_whitespace() {
            let (number, heard) = word.split_at(1);
            let change = match number.parse().expect("a digit") {
                0 => Change::Delete,
                n => Change::Put(text(n)),
            };
            ledger.begin("p", change);
            if heard == "!" {
                ledger.acknowledge("p", None);
            }
        }
        ledger
    }

    fn check(changes: &str, history: &[u8], is_well: bool) {
        let history: Vec<Version> = (1..)
            .zip(history)
            .map(|(number, n)| Version {
                number,
                op: if *n == 0 { VersionOp::Delete } else { VersionOp::Write },
                hash: text(*n),
            })
            .collect();
        let wrong = ledger(changes).check("p", &history, |hash| hash == text(JOB));
        assert_eq!(wrong.is_empty(), is_well, "{changes} {history:?}: {wrong:?}");
    }

    #[test]
    fn an_acknowledged_change_is_there_once_and_in_order() {
        check("", &[], true);
        check("1! 2!", &[1, 2], true);
        check("1! 2!", &[1, JOB, 2], true);
        check("1! 2!", &[1], false);
        check("1! 2!", &[2], false);
        check("1! 2!", &[2, 1], false);
        check("1! 2!", &[1, 2, 1], false);
        check("1!", &[1, 1], false);
        check("1!", &[1, 3], false);
    }

    #[test]
    fn a_change_that_was_not_heard_of_is_there_once_or_not() {
        check("1! 2?", &[1], true);
        check("1! 2?", &[1, 2], true);
        check("1! 2? 3!", &[1, 2, 3], true);
        check("1! 2? 3!", &[1, 3], true);
        check("1! 2? 3!", &[1, 3, 2], false);
        check("1! 0? 2! 0!", &[1, 2, 0], true);
        check("1! 0? 2! 0!", &[1, 0, 2, 0], true);
        check("1! 0? 2! 0!", &[1, 0, 2], false);
        check("1! 0!", &[1], false);
    }

    #[test]
    fn versions_match_their_acknowledgement() {
        let mut ledger = Ledger::default();
        ledger.begin("p", Change::Put(text(1)));
        assert_eq!(ledger.certain("p"), None);
        ledger.acknowledge("p", Some(2));
        assert_eq!(ledger.certain("p"), Some(Change::Put(text(1))));
        let at = |number| [Version { number, op: VersionOp::Write, hash: text(1) }];
        assert!(ledger.check("p", &at(2), |_| false).is_empty());
        assert_eq!(ledger.check("p", &at(1), |_| false).len(), 1);
        assert_eq!(ledger.counts(), (1, 0));
        ledger.begin("p", Change::Put(text(2)));
        ledger.withdraw("p");
        let seen = Version { number: 3, op: VersionOp::Write, hash: text(2) };
        assert_eq!(ledger.check("p", &[at(2)[0], seen], |_| false).len(), 1);
    }
}
