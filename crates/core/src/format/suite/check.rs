//! What is wrong with a file of suites, with the lines it is on: all of it, not only the first.

use std::collections::BTreeSet;

use super::{FileError, SuiteEntry, SuiteFile};
use crate::alert::channel::channel;
use crate::format::target::read_target;
use crate::suite::SuiteError;
use crate::target::LOCAL;

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where, from 1.
    pub line: usize,
    /// What.
    pub message: String,
}

/// Everything that is wrong with a text, by line. `targets` and `channels` are known from elsewhere.
pub fn problems(
    text: &str,
    targets: &BTreeSet<String>,
    channels: &BTreeSet<String>,
) -> Vec<Problem> {
    let file = match SuiteFile::parse(text) {
        Ok(file) => file,
        Err(FileError::Form { line, reason }) => return vec![Problem { line, message: reason }],
        Err(error) => return vec![Problem { line: 1, message: error.to_string() }],
    };
    let mut found = Vec::new();
    for (name, value) in &file.targets {
        if let Err(error) = read_target(name, value) {
            found.push(Problem { line: line_of(text, name), message: error.to_string() });
        }
    }
    for (name, value) in &file.channels {
        if let Err(error) = channel(name, value) {
            found.push(Problem { line: line_of(text, name), message: error.to_string() });
        }
    }
    let is_told =
        |name: &String| file.channels.contains_key(name) || channels.contains(name.as_str());
    let is_any = !file.channels.is_empty() || !channels.is_empty();
    for (at, entry) in file.suites.iter().enumerate() {
        let line = line_of_suite(text, &entry.name);
        let mut tell = |message: String| found.push(Problem { line, message });
        if let Err(error) = file.suite(entry) {
            tell(error.to_string());
        }
        if file.suites[..at].iter().any(|other| is_same(other, entry)) {
            tell(SuiteError::Twice(entry.name.clone()).to_string());
        }
        let target = entry.target.as_deref().unwrap_or(LOCAL);
        if target != LOCAL && !targets.contains(target) && !file.targets.contains_key(target) {
            tell(format!(
                "suite `{}` asks the target `{target}`, which nobody describes",
                entry.name
            ));
        }
        let named = entry.alerts.iter().flat_map(|alerts| alerts.page.iter().chain(&alerts.notify));
        for channel in named.filter(|name| is_any && !is_told(name)) {
            tell(format!(
                "suite `{}` tells the channel `{channel}`, which nobody describes",
                entry.name
            ));
        }
    }
    found.sort();
    found
}

fn is_same(a: &SuiteEntry, b: &SuiteEntry) -> bool {
    let workspace = |entry: &SuiteEntry| entry.workspace.clone().unwrap_or("default".to_owned());
    a.name == b.name && workspace(a) == workspace(b)
}

/// The line that names a suite; the first where it can't be told.
fn line_of_suite(text: &str, name: &str) -> usize {
    let names_it = |line: &str| {
        let line = line.trim().trim_start_matches("- ").trim_start();
        let value = line.strip_prefix("name:").map(|value| value.trim());
        value.is_some_and(|value| value.trim_matches(['"', '\'']) == name)
            || (line.starts_with('{') && line.contains(name))
    };
    text.lines().position(names_it).map_or(1, |at| at + 1)
}

/// The line of a key.
fn line_of(text: &str, key: &str) -> usize {
    let is_it = |line: &str| {
        line.trim().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    text.lines().position(is_it).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(usize, &str)]) {
        let found = problems(
            text,
            &BTreeSet::from(["prod".to_owned()]),
            &BTreeSet::from(["pager".to_owned()]),
        );
        let shown: Vec<(usize, &str)> =
            found.iter().map(|one| (one.line, one.message.as_str())).collect();
        assert_eq!(shown.len(), expected.len(), "{shown:?}");
        for ((line, message), (at, says)) in shown.iter().zip(expected) {
            assert!(line == at && message.contains(says), "{shown:?}");
        }
    }

    #[test]
    fn everything_that_is_wrong_has_its_line() {
        check("suites:\n  - name: a\n    type: smoke\n    owners: [x]\n    target: prod\n", &[]);
        check("suites:\n  - name: a\n    type: smoek\n    owners: [x]\n", &[(3, "smoek")]);
        check(
            "suites:\n  - name: a\n    type: smoke\n    owners: [x]\n    colour: red\n",
            &[(5, "colour")],
        );
        check(
            "targets:\n  far: { kind: telepathy }\nsuites:\n  - name: a\n    type: smoke\n  - name: b\n    \
             type: smoke\n    owners: [x]\n    target: mars\n  - type: smoke\n    name: b\n    owners: [x]\n",
            &[
                (2, "far"),
                (4, "no owners"),
                (6, "`mars`, which nobody describes"),
                (6, "two suites"),
            ],
        );
        check("suites: 3\n", &[(1, "")]);
        check(
            "channels:\n  chat: { kind: slack, url_env: X }\n  odd: { kind: pigeon }\nsuites:\n  - name: a\n    \
             type: smoke\n    owners: [x]\n    alerts: { page: [pager], notify: [chat, chta] }\n",
            &[(3, "pigeon"), (5, "`chta`, which nobody describes")],
        );
    }
}
