//! What is wrong with a file of suites, with the lines it is on: all of it, not only the first.
//!
//! Each suite, threshold, target and channel is read on its own, and within a suite each key that a reader
//! stumbles over is set aside before the rest is read. What is only odd is a warning.
//!
//! Promises: a file in which nothing is wrong is one that [`SuiteFile::parse`] takes.

use std::collections::BTreeSet;

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::file::is_blank;
use super::part::{Fault, Part, faults};
use super::{FileError, SuiteEntry, SuiteFile, ThresholdEntry, ThresholdsEntry};
use crate::alert::channel::channel;
use crate::format::target::read_target;
use crate::reading::plain::plain;
use crate::reading::suggest::nearest;
use crate::suite::SuiteError;
use crate::suite::measure::Measure;
use crate::target::LOCAL;
use crate::yaml;

/// The keys of the file.
const KEYS: [&str; 6] = ["version", "targets", "channels", "thresholds", "workspaces", "suites"];

/// Stands for the name of a suite in what is wrong with it.
const SUITE: &str = "<suite>";

/// Something that is wrong, or odd.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    pub line: usize,
    pub message: String,
}

/// What was found, by line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked {
    pub problems: Vec<Problem>,
    /// What is odd, and no reason to refuse the file.
    pub warnings: Vec<Problem>,
}

/// What is known from elsewhere, by name.
#[derive(Debug, Clone, Copy)]
struct Elsewhere<'a> {
    targets: &'a BTreeSet<String>,
    channels: &'a BTreeSet<String>,
}

/// Everything that is wrong with a text, and what is odd. `targets` and `channels` are known from elsewhere.
pub fn check(text: &str, targets: &BTreeSet<String>, channels: &BTreeSet<String>) -> Checked {
    let mut found = Checked::default();
    if is_blank(text) {
        found.warn(1, "the file is empty; `gbrain suites create --help` shows how to make a suite");
        return found;
    }
    let whole = yaml::parse(text).and_then(|node| Ok((node, yaml::typed::<Value>(text)?)));
    match whole {
        Err(error) => found.tell(error.line, plain(&error.reason)),
        Ok((node, Value::Object(file))) => {
            found.file(&Part { node: &node, value: &file }, Elsewhere { targets, channels });
            found.net(text);
        }
        Ok((node, _)) => {
            found.tell(node.line, "a file of suites is a table of keys, such as `suites:`")
        }
    }
    found.problems.sort();
    found.problems.dedup();
    found.warnings.sort();
    found
}

impl Checked {
    fn tell(&mut self, line: usize, message: impl Into<String>) {
        self.problems.push(Problem { line, message: message.into() });
    }

    fn warn(&mut self, line: usize, message: impl Into<String>) {
        self.warnings.push(Problem { line, message: message.into() });
    }

    fn file(&mut self, file: &Part<'_>, elsewhere: Elsewhere<'_>) {
        for key in file.value.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let near = nearest(key, KEYS).map(|near| format!("; did you mean `{near}`?"));
            let known = KEYS.join(", ");
            let near = near.unwrap_or_else(|| format!("; there are {known}"));
            self.tell(file.line_of(key), format!("there is no key `{key}`{near}"));
        }
        if let Some(version) = file.value.get("version").filter(|one| **one != json!(1)) {
            let message = match version.as_u64().and_then(|one| u32::try_from(one).ok()) {
                Some(version) => FileError::Version(version).to_string(),
                None => "`version` is 1".to_owned(),
            };
            self.tell(file.line_of("version"), message);
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

    /// A table behind a key; none if it is not there.
    fn table<'a>(&mut self, part: &Part<'a>, key: &str) -> Option<Part<'a>> {
        match part.value.get(key)? {
            Value::Null => None,
            Value::Object(value) => Some(Part { node: part.node_of(key), value }),
            _ => {
                self.tell(part.line_of(key), format!("`{key}` is a table of keys and values"));
                None
            }
        }
    }

    /// Targets and channels: each is read on its own.
    fn named(
        &mut self,
        file: &Part<'_>,
        key: &str,
        read: &dyn Fn(&str, &Value) -> Result<(), String>,
    ) {
        let Some(table) = self.table(file, key) else { return };
        for (name, value) in table.value {
            if let Err(message) = read(name, value) {
                self.tell(table.line_in(name, &message), message);
            }
        }
    }

    /// Thresholds behind a key: each row is read on its own.
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

    /// One row, as the only one of a table.
    fn row(&mut self, rows: &Part<'_>, name: &str, alone: &Value) {
        if let Err(error) = ThresholdsEntry::deserialize(alone) {
            let message = plain(&error.to_string());
            self.tell(rows.line_in(name, &message), format!("`{name}`: {message}"));
            return;
        }
        let read = rows.value.get(name).and_then(|row| ThresholdEntry::deserialize(row).ok());
        if let Some((measure, row)) = Measure::from_name(name).zip(read)
            && let Err(message) = row.read(measure)
        {
            self.tell(rows.line_of(name), message);
        }
    }

    fn suites(&mut self, file: &Part<'_>, elsewhere: Elsewhere<'_>) {
        let list: &[Value] = match file.value.get("suites") {
            None | Some(Value::Null) => &[],
            Some(Value::Array(list)) => list,
            Some(_) => {
                let message = "`suites` is a list; each begins with `- name: ...`";
                return self.tell(file.line_of("suites"), message);
            }
        };
        if list.is_empty() {
            let line = file.line_of("suites");
            self.warn(
                line,
                "there are no suites in it; `gbrain suites create --help` shows how to make one",
            );
        }
        let mut read: Vec<SuiteEntry> = Vec::new();
        for (value, node) in list.iter().zip(file.node_of("suites").items()) {
            let Value::Object(value) = value else {
                self.tell(node.line, "a suite is a table of keys, such as `- name: weekly`");
                continue;
            };
            let part = Part { node, value };
            self.suite(&part);
            self.refers(&part, file, elsewhere);
            // Whatever else is wrong with them, two of one name are told.
            let own = |key: &str| value.get(key).cloned().unwrap_or(Value::Null);
            let named =
                json!({ "name": own("name"), "type": "smoke", "workspace": own("workspace") });
            let Ok(entry) = SuiteEntry::deserialize(&named) else { continue };
            if read.iter().any(|other| other.is_same(&entry)) {
                let message = SuiteError::Twice(entry.name.clone()).to_string();
                self.tell(part.line_of("name"), format!("{message}; give this one another name"));
            }
            read.push(entry);
        }
    }

    /// What is wrong with a suite in itself.
    fn suite(&mut self, part: &Part<'_>) {
        self.thresholds(part, "thresholds");
        let mut own = part.value.clone();
        own.remove("thresholds");
        let stand_ins = [("name", json!("x")), ("type", json!("smoke")), ("owners", json!(["x"]))];
        // A reason that named the suite would be another one under another name.
        let called = |name: &str| format!("suite `{name}`");
        let read = |value: &Map<String, Value>| {
            let entry = SuiteEntry::deserialize(&Value::Object(value.clone()))
                .map_err(|error| plain(&error.to_string()))?;
            let unnamed = |error: FileError| error.to_string().replace(&called(&entry.name), SUITE);
            entry.suite().map(drop).map_err(unnamed)
        };
        let name = part.value.get("name").and_then(Value::as_str).unwrap_or_default();
        for Fault { key, reason } in faults(own, &stand_ins, &read) {
            let line = key.as_ref().map_or(part.node.line, |key| part.line_in(key, &reason));
            let is_named =
                |key: &String| reason.contains(SUITE) || reason.contains(&format!("`{key}`"));
            let reason = match key.filter(|key| !is_named(key)) {
                Some(key) => format!("`{key}`: {reason}"),
                None => reason.replace(SUITE, &called(name)),
            };
            self.tell(line, reason);
        }
    }

    /// Whether the names that a suite uses are those of something.
    fn refers(&mut self, part: &Part<'_>, file: &Part<'_>, elsewhere: Elsewhere<'_>) {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let name = text(part.value.get("name")).unwrap_or_default();
        let has = |table: &str, name: &str| {
            file.value.get(table).is_some_and(|one| one.get(name).is_some())
        };
        for key in ["target", "endpoint"] {
            let Some(target) = text(part.value.get(key)) else { continue };
            if target != LOCAL && !elsewhere.targets.contains(&target) && !has("targets", &target) {
                self.tell(
                    part.line_of(key),
                    format!("suite `{name}` asks the target `{target}`, which nobody describes"),
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
                    "suite `{name}` tells the channel `{channel}`, which nobody describes yet: its messages wait"
                );
                self.warn(part.line_in("alerts", &message), message);
            }
        }
    }

    /// What a reader of the whole refuses, and nobody told of.
    fn net(&mut self, text: &str) {
        if !self.problems.is_empty() {
            return;
        }
        let read = SuiteFile::parse(text).and_then(|file| file.suites());
        match read {
            Ok(_) => (),
            Err(FileError::Form { line, reason }) => self.tell(line, reason),
            Err(error) => self.tell(1, error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Checked {
        let one = |name: &str| BTreeSet::from([name.to_owned()]);
        check(text, &one("prod"), &one("pager"))
    }

    #[track_caller]
    fn told(found: &[Problem], expected: &[(usize, &str)]) {
        let shown: Vec<(usize, &str)> =
            found.iter().map(|one| (one.line, one.message.as_str())).collect();
        assert_eq!(shown.len(), expected.len(), "{shown:#?}");
        for ((line, message), (at, says)) in shown.iter().zip(expected) {
            assert!(line == at && message.contains(says), "{shown:#?}");
        }
    }

    #[track_caller]
    fn check_problems(text: &str, expected: &[(usize, &str)]) {
        told(&found(text).problems, expected);
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
            &[
                (2, "far"),
                (4, "no owners"),
                (9, "`mars`, which nobody describes"),
                (11, "two suites"),
            ],
        );
        check("suites: 3\n", &[(1, "`suites` is a list")]);
        check("suites: [3]\n", &[(1, "a suite is a table")]);
        check("[a, b]\n", &[(1, "a file of suites is a table")]);
        check("suits: []\n", &[(1, "did you mean `suites`?")]);
        check("version: 2\nsuites: []\n", &[(1, "version 2 is not known here")]);
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
                (11, "nobody knows `smoek`"),
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
    fn what_is_only_odd_is_a_warning() {
        let check = |text: &str, expected: &[(usize, &str)]| {
            let found = found(text);
            told(&found.problems, &[]);
            told(&found.warnings, expected);
        };
        check("", &[(1, "the file is empty")]);
        check("# nothing yet\n", &[(1, "the file is empty")]);
        check("targets: {}\nsuites:\n", &[(2, "there are no suites")]);
        check(
            "suites:\n  - name: a\n    type: smoke\n    owners: [x]\n    alerts:\n      page: [pager]\n      \
             notify: [chta]\n",
            &[(7, "`chta`, which nobody describes")],
        );
    }
}
