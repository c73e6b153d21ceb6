//! Validates a suites file and reports every problem with its line, not only the first.
//!
//! Each suite, threshold, target and channel is parsed separately. Within a suite, each key at
//! fault is set aside before the rest is parsed. Oddities are warnings.
//!
//! Guarantee: [`SuiteFile::parse`] accepts a file without errors.

use std::collections::BTreeSet;

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::file::is_blank;
use super::part::{KeyError, Part, faults};
use super::{FileError, SuiteEntry, SuiteFile, ThresholdEntry, ThresholdsEntry};
use crate::alert::channel::channel;
use crate::format::target::read_target;
use crate::reading::plain::plain;
use crate::reading::suggest::nearest;
use crate::suite::SuiteError;
use crate::suite::measure::SuiteMeasure;
use crate::target::LOCAL;
use crate::yaml;

/// Top-level keys of the file.
const KEYS: [&str; 6] = ["version", "targets", "channels", "thresholds", "workspaces", "suites"];

/// Placeholder for the name of a suite in messages.
const SUITE: &str = "<suite>";

/// An error or a warning with its line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    pub line: usize,
    pub message: String,
}

/// Errors and warnings, sorted by line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SuiteFileProblems {
    pub problems: Vec<Problem>,
    /// Oddities that do not invalidate the file.
    pub warnings: Vec<Problem>,
}

/// Targets and channels defined outside the file, by name.
#[derive(Debug, Clone, Copy)]
struct OutsideNames<'a> {
    targets: &'a BTreeSet<String>,
    channels: &'a BTreeSet<String>,
}

/// Validates a suites file. `targets` and `channels` are the names defined outside the file.
pub fn check(
    text: &str,
    targets: &BTreeSet<String>,
    channels: &BTreeSet<String>,
) -> SuiteFileProblems {
    let mut found = SuiteFileProblems::default();
    if is_blank(text) {
        found.add_warning(
            1,
            "the file is empty; `gbrain suites create --help` shows how to make a suite",
        );
        return found;
    }
    let whole = yaml::parse(text).and_then(|node| Ok((node, yaml::read_typed::<Value>(text)?)));
    match whole {
        Err(error) => found.add_problem(error.line, plain(&error.reason)),
        Ok((node, Value::Object(file))) => {
            found.file(&Part { node: &node, value: &file }, OutsideNames { targets, channels });
            found.net(text);
        }
        Ok((node, _)) => {
            found.add_problem(node.line, "a file of suites is a table of keys, such as `suites:`")
        }
    }
    found.problems.sort();
    found.problems.dedup();
    found.warnings.sort();
    found
}

impl SuiteFileProblems {
    fn add_problem(&mut self, line: usize, message: impl Into<String>) {
        self.problems.push(Problem { line, message: message.into() });
    }

    fn add_warning(&mut self, line: usize, message: impl Into<String>) {
        self.warnings.push(Problem { line, message: message.into() });
    }

    fn file(&mut self, file: &Part<'_>, elsewhere: OutsideNames<'_>) {
        for key in file.value.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let near = nearest(key, KEYS).map(|near| format!("; did you mean `{near}`?"));
            let known = KEYS.join(", ");
            let near = near.unwrap_or_else(|| format!("; there are {known}"));
            self.add_problem(file.line_of(key), format!("there is no key `{key}`{near}"));
        }
        if let Some(version) = file.value.get("version").filter(|one| **one != json!(1)) {
            let message = match version.as_u64().and_then(|one| u32::try_from(one).ok()) {
                Some(version) => FileError::Version(version).to_string(),
                None => "`version` is 1".to_owned(),
            };
            self.add_problem(file.line_of("version"), message);
        }
        self.thresholds(file, "thresholds");
        if let Some(workspaces) = self.table(file, "workspaces") {
            for name in workspaces.value.keys() {
                self.thresholds(&workspaces, name);
            }
        }
        self.named(file, "targets", &|name, value| {
            read_target(name, value).map(drop).map_err(|error| match &error.hint {
                Some(hint) if !error.reason.contains(hint) => format!("{error}; {hint}"),
                _ => error.to_string(),
            })
        });
        self.named(file, "channels", &|name, value| {
            channel(name, value).map(drop).map_err(|error| error.to_string())
        });
        self.suites(file, elsewhere);
    }

    /// The mapping under a key; none if the key is missing.
    fn table<'a>(&mut self, part: &Part<'a>, key: &str) -> Option<Part<'a>> {
        match part.value.get(key)? {
            Value::Null => None,
            Value::Object(value) => Some(Part { node: part.node_of(key), value }),
            _ => {
                self.add_problem(
                    part.line_of(key),
                    format!("`{key}` is a table of keys and values"),
                );
                None
            }
        }
    }

    /// Checks each target or channel separately.
    fn named(
        &mut self,
        file: &Part<'_>,
        key: &str,
        read: &dyn Fn(&str, &Value) -> Result<(), String>,
    ) {
        let Some(table) = self.table(file, key) else { return };
        for (name, value) in table.value {
            if let Err(message) = read(name, value) {
                self.add_problem(table.line_in(name, &message), message);
            }
        }
    }

    /// Checks each threshold under a key separately.
    fn thresholds(&mut self, part: &Part<'_>, key: &str) {
        let Some(table) = self.table(part, key) else { return };
        for (name, value) in table.value {
            let wrap = |inner: Value| json!({ name.as_str(): inner });
            match (name.as_str(), value) {
                ("all", Value::Object(rows)) => {
                    let rows = Part { node: table.node_of(name), value: rows };
                    self.rows(&rows, &wrap);
                }
                ("modes", Value::Object(modes)) => {
                    let modes = Part { node: table.node_of(name), value: modes };
                    for (mode, value) in modes.value {
                        let Value::Object(rows) = value else {
                            self.row(&modes, mode, &wrap(json!({ mode.as_str(): value })));
                            continue;
                        };
                        let rows = Part { node: modes.node_of(mode), value: rows };
                        self.rows(&rows, &|row| wrap(json!({ mode.as_str(): row })));
                    }
                }
                _ => self.row(&table, name, &wrap(value.clone())),
            }
        }
    }

    fn rows(&mut self, rows: &Part<'_>, wrap: &dyn Fn(Value) -> Value) {
        for (measure, value) in rows.value {
            self.row(rows, measure, &wrap(json!({ measure.as_str(): value })));
        }
    }

    /// Checks one threshold as the only one of a mapping.
    fn row(&mut self, rows: &Part<'_>, name: &str, alone: &Value) {
        if let Err(error) = ThresholdsEntry::deserialize(alone) {
            let message = plain(&error.to_string());
            self.add_problem(rows.line_in(name, &message), format!("`{name}`: {message}"));
            return;
        }
        let read = rows.value.get(name).and_then(|row| ThresholdEntry::deserialize(row).ok());
        if let Some((measure, row)) = SuiteMeasure::from_name(name).zip(read)
            && let Err(message) = row.read(measure)
        {
            self.add_problem(rows.line_of(name), message);
        }
    }

    fn suites(&mut self, file: &Part<'_>, elsewhere: OutsideNames<'_>) {
        let list: &[Value] = match file.value.get("suites") {
            None | Some(Value::Null) => &[],
            Some(Value::Array(list)) => list,
            Some(_) => {
                let message = "`suites` is a list; each begins with `- name: ...`";
                return self.add_problem(file.line_of("suites"), message);
            }
        };
        if list.is_empty() {
            let line = file.line_of("suites");
            self.add_warning(
                line,
                "there are no suites in it; `gbrain suites create --help` shows how to make one",
            );
        }
        let mut read: Vec<SuiteEntry> = Vec::new();
        for (value, node) in list.iter().zip(file.node_of("suites").items()) {
            let Value::Object(value) = value else {
                self.add_problem(node.line, "a suite is a table of keys, such as `- name: weekly`");
                continue;
            };
            let part = Part { node, value };
            self.suite(&part);
            self.refers(&part, file, elsewhere);
            // Duplicate names are reported in addition to other errors.
            let own = |key: &str| value.get(key).cloned().unwrap_or(Value::Null);
            let named =
                json!({ "name": own("name"), "type": "smoke", "workspace": own("workspace") });
            let Ok(entry) = SuiteEntry::deserialize(&named) else { continue };
            if read.iter().any(|other| other.is_same(&entry)) {
                let message = SuiteError::Twice(entry.name.clone()).to_string();
                self.add_problem(
                    part.line_of("name"),
                    format!("{message}; give this one another name"),
                );
            }
            read.push(entry);
        }
    }

    /// Checks a suite by itself.
    fn suite(&mut self, part: &Part<'_>) {
        self.thresholds(part, "thresholds");
        let mut own = part.value.clone();
        own.remove("thresholds");
        let stand_ins = [("name", json!("x")), ("type", json!("smoke")), ("owners", json!(["x"]))];
        // An error that contains the suite's name would look like a different error under another
        // name.
        let called = |name: &str| format!("suite `{name}`");
        let read = |value: &Map<String, Value>| {
            let entry = SuiteEntry::deserialize(&Value::Object(value.clone()))
                .map_err(|error| plain(&error.to_string()))?;
            let unnamed = |error: FileError| error.to_string().replace(&called(&entry.name), SUITE);
            entry.suite().map(drop).map_err(unnamed)
        };
        let name = part.value.get("name").and_then(Value::as_str).unwrap_or_default();
        for KeyError { key, reason } in faults(own, &stand_ins, &read) {
            let line = key.as_ref().map_or(part.node.line, |key| part.line_in(key, &reason));
            let is_named =
                |key: &String| reason.contains(SUITE) || reason.contains(&format!("`{key}`"));
            let reason = match key.filter(|key| !is_named(key)) {
                Some(key) => format!("`{key}`: {reason}"),
                None => reason.replace(SUITE, &called(name)),
            };
            self.add_problem(line, reason);
        }
    }

    /// Checks that the names a suite refers to exist.
    fn refers(&mut self, part: &Part<'_>, file: &Part<'_>, elsewhere: OutsideNames<'_>) {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let name = text(part.value.get("name")).unwrap_or_default();
        let has = |table: &str, name: &str| {
            file.value.get(table).is_some_and(|one| one.get(name).is_some())
        };
        for key in ["target", "endpoint"] {
            let Some(target) = text(part.value.get(key)) else { continue };
            if target != LOCAL && !elsewhere.targets.contains(&target) && !has("targets", &target) {
                self.add_problem(
                    part.line_of(key),
                    format!("suite `{name}` queries the unknown target `{target}`: define it under `targets`"),
                );
            }
        }
        let alerts = part.value.get("alerts");
        for key in ["page", "notify", "channel"] {
            let named = alerts.and_then(|alerts| alerts.get(key)).and_then(Value::as_array);
            for channel in named.into_iter().flatten().filter_map(Value::as_str) {
                if elsewhere.channels.contains(channel) || has("channels", channel) {
                    continue;
                }
                let message = format!(
                    "suite `{name}` notifies the unknown channel `{channel}`: messages wait until it is defined"
                );
                self.add_warning(part.line_in("alerts", &message), message);
            }
        }
    }

    /// Reports errors of parsing the whole file that no other check found.
    fn net(&mut self, text: &str) {
        if !self.problems.is_empty() {
            return;
        }
        let read = SuiteFile::parse(text).and_then(|file| file.suites());
        match read {
            Ok(_) => (),
            Err(FileError::Form { line, reason }) => self.add_problem(line, reason),
            Err(error) => self.add_problem(1, error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> SuiteFileProblems {
        let one = |name: &str| BTreeSet::from([name.to_owned()]);
        check(text, &one("prod"), &one("pager"))
    }

    #[track_caller]
    fn check_messages(found: &[Problem], expected: &[(usize, &str)]) {
        let shown: Vec<(usize, &str)> =
            found.iter().map(|one| (one.line, one.message.as_str())).collect();
        assert_eq!(shown.len(), expected.len(), "{shown:#?}");
        for ((line, message), (at, says)) in shown.iter().zip(expected) {
            assert!(line == at && message.contains(says), "{shown:#?}");
        }
    }

    #[track_caller]
    fn check_problems(text: &str, expected: &[(usize, &str)]) {
        check_messages(&found(text).problems, expected);
    }

    #[test]
    fn everything_that_is_wrong_has_its_line() {
        let check = check_problems;
        check("suites:\n  - name: a\n    type: smoke\n    owners: [x]\n    target: prod\n", &[]);
        check("suites:\n  - name: a\n    type: smoek\n    owners: [x]\n", &[(3, "smoek")]);
        check(
            "suites:\n  - name: a\n    type: smoke\n    owners: [x]\n    colour: red\n",
            &[(5, "colour")],
        );
        check(
            "targets:\n  far: { kind: telepathy }\nsuites:\n  - name: a\n    type: smoke\n  - name: b\n    \
             type: smoke\n    owners: [x]\n    target: mars\n  - type: smoke\n    name: b\n    owners: [x]\n",
            &[(2, "far"), (4, "no owners"), (9, "unknown target `mars`"), (11, "two suites")],
        );
        check("suites: 3\n", &[(1, "`suites` is a list")]);
        check("suites: [3]\n", &[(1, "a suite is a table")]);
        check("[a, b]\n", &[(1, "a file of suites is a table")]);
        check("suits: []\n", &[(1, "did you mean `suites`?")]);
        check("version: 2\nsuites: []\n", &[(1, "unknown version 2")]);
        check(
            "channels:\n  chat: { kind: slack, url_env: X }\n  odd: { kind: pigeon }\n  empty:\n    kind: slack\n    \
             url_env: ''\n",
            &[(3, "pigeon"), (6, "`url_env` takes the name of a variable")],
        );
    }

    #[test]
    fn one_mistake_hides_no_other() {
        check_problems(
            "targets:\n  far: { kind: telepathy }\n  near: { kind: http, api: gbrain, url: 'https://x', key_env: sk-live-1 }\n\
             thresholds:\n  all:\n    recall@7: { alert: 1 }\n    recall@5: { target: 90%, alert: 95% }\n    \
             mrr: 3\nsuites:\n  - name: a\n    type: smoek\n    owners: [x]\n    seed: many\n    k: [0]\n    \
             max_duration: soon\n  - type: soak\n    owners: 3\n    thresholds:\n      all:\n        \
             recall@5: { alert: 95% }\n",
            &[
                (2, "telepathy"),
                (3, "`key_env` takes the name of a variable"),
                (6, "recall@7"),
                (7, "above its target"),
                (8, "mrr"),
                (11, "unknown value `smoek`"),
                (13, "`seed`: a text stands where a whole number from 0 belongs"),
                (14, "`k` holds 0"),
                (15, "no duration"),
                (16, "`name` is missing; add `name: ...`"),
                (16, "soak"),
                (17, "a number stands where a list belongs"),
                (20, "it has no target"),
            ],
        );
    }

    #[test]
    fn no_reader_is_quoted() {
        let twice = "suites:\n  - name: a\n    name: b\n";
        check_problems(twice, &[(3, "the key `name` is written twice")]);
        let large = format!("suites: [{}]\n", "a, ".repeat(300_000));
        let found = found(&large).problems;
        assert!(found[0].message.contains("take it apart"), "{found:?}");
    }

    #[test]
    fn unusual_settings_are_warnings() {
        let check = |text: &str, expected: &[(usize, &str)]| {
            let found = found(text);
            check_messages(&found.problems, &[]);
            check_messages(&found.warnings, expected);
        };
        check("", &[(1, "the file is empty")]);
        check("# nothing yet\n", &[(1, "the file is empty")]);
        check("targets: {}\nsuites:\n", &[(2, "there are no suites")]);
        check(
            "suites:\n  - name: a\n    type: smoke\n    owners: [x]\n    alerts:\n      page: [pager]\n      \
             notify: [chta]\n",
            &[(7, "unknown channel `chta`")],
        );
    }
}
