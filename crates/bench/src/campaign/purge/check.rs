//! Whether exactly the page's traces are gone, told by two dumps and by what the campaign wrote.

use std::collections::{BTreeMap, BTreeSet};

use gbrain_core::baseline::BaselineReader;
use serde_json::Value;

use super::dump::{Dump, Row};
use super::fill::{Filled, FilledPage, TEAM, chunk_number};

/// Tables of the corpus: what they lose is looked at by page.
const CORPUS: [&str; 6] = ["pages", "page_versions", "chunks", "links", "aliases", "takes"];
/// The feed and its head are set right for every generation.
const FEED: [&str; 2] = ["changes", "workspaces"];
/// Rows of these go whole.
const ERASED: [&str; 3] = ["labels", "calibration_pairs", "model_answers"];
/// Columns that hold names; every other column of a row must be the same.
const COLUMNS: [&str; 11] = [
    "body",
    "report",
    "comment",
    "retrieved_slugs",
    "retrieved_chunk_ids",
    "extra",
    "document",
    "summary",
    "hash",
    "bytes",
    "state",
];
/// The changes that a purge may make beside names: hashes of both texts, a judge's words about both pages, seals.
const DERIVED: [&str; 9] = [
    "pair_id",
    "axis",
    "resolution_advice",
    "resolution_command",
    "contradictions",
    "expected_snippets",
    "state",
    "rows_hash",
    "retrieved_slugs",
];

pub(super) struct Check<'a> {
    page: &'a FilledPage,
    names: Names,
    before: &'a Dump,
    after: &'a Dump,
    pub(super) changed: usize,
    pub(super) same: usize,
    pub(super) violations: Vec<String>,
}

/// Everything that names the page.
struct Names {
    whole: String,
    source: String,
    slug: String,
    word: String,
    hash: String,
    chunks: BTreeSet<String>,
    numbers: BTreeSet<u64>,
    /// The keys of all pages, longest first.
    known: Vec<String>,
    is_only_of_slug: bool,
}

impl<'a> Check<'a> {
    pub(super) fn new(
        filled: &Filled,
        page: &'a FilledPage,
        before: &'a Dump,
        after: &'a Dump,
    ) -> Self {
        let mut known: Vec<String> = filled.pages.iter().map(|one| one.key.to_string()).collect();
        known.push(page.key.to_string());
        known.sort_by_key(|key| std::cmp::Reverse(key.len()));
        let names = Names {
            whole: page.key.to_string(),
            source: page.key.source.as_str().to_owned(),
            slug: page.key.slug.as_str().to_owned(),
            word: page.word.clone(),
            hash: filled.identity.keyed_page_hash(&page.key),
            chunks: page.chunks.iter().cloned().collect(),
            numbers: page.chunks.iter().map(|id| chunk_number(id)).collect(),
            known,
            is_only_of_slug: !filled.pages.iter().any(|one| one.key.slug == page.key.slug),
        };
        Self { page, names, before, after, changed: 0, same: 0, violations: Vec::new() }
    }

    /// Compares everything; `printed` is what `purge --json` said.
    pub(super) fn run(&mut self, printed: Option<&Value>) {
        let mut lost = BTreeMap::new();
        for table in self.before.tables.keys() {
            match table.as_str() {
                table if FEED.contains(&table) => (),
                table if CORPUS.contains(&table) => self.corpus(table),
                "label_reviews" => self.reviews(),
                table => drop(lost.insert(table, self.table(table))),
            }
        }
        let files = self.files();
        self.bytes(printed);
        if let Some(printed) = printed {
            self.counts(&printed["erased"], &lost, files);
        }
    }

    fn fail(&mut self, text: impl Into<String>) {
        self.violations.push(text.into());
    }

    fn rows(dump: &'a Dump, table: &str) -> &'a [Row] {
        dump.tables.get(table).map_or(&[], Vec::as_slice)
    }

    /// The page's rows are gone, and no other row of the corpus has changed.
    fn corpus(&mut self, table: &str) {
        let (before, after) = (Self::rows(self.before, table), Self::rows(self.after, table));
        let pages = Self::rows(self.before, "pages").iter();
        let is_it = |row: &&Row| {
            is_own(row) && row["source_id"] == self.names.source && row["slug"] == self.names.slug
        };
        let id = pages.clone().find(is_it).map(|row| row["page_id"].clone());
        let is_of_page = |row: &&Row| is_own(row) && Some(&row["page_id"]) == id.as_ref();
        let expected: Vec<&Row> = before.iter().filter(|row| !is_of_page(row)).collect();
        self.same += expected.len();
        if expected != after.iter().collect::<Vec<_>>() {
            self.fail(format!("{table}: other rows than the page's changed, or the page's stay"));
        }
    }

    /// Judgements go with their label, and no other judgement has changed.
    fn reviews(&mut self) {
        let rows = |dump: &'a Dump, table| Self::rows(dump, table).iter();
        let labels: Vec<_> =
            rows(self.after, "labels").map(|row| (&row["workspace_id"], &row["id"])).collect();
        let is_labelled = |row: &&Row| labels.contains(&(&row["workspace_id"], &row["label_id"]));
        let expected: Vec<&Row> = rows(self.before, "label_reviews").filter(is_labelled).collect();
        self.same += expected.len();
        if expected != rows(self.after, "label_reviews").collect::<Vec<_>>() {
            self.fail("label_reviews: other rows than the label's changed, or the label's stay");
        }
    }

    /// How many rows of a table lost a name.
    fn table(&mut self, table: &str) -> usize {
        let (before, after) = (Self::rows(self.before, table), Self::rows(self.after, table));
        let (old, new): (BTreeSet<String>, BTreeSet<String>) = (texts(before), texts(after));
        let lost: Vec<&Row> = before.iter().filter(|row| !new.contains(&text(row))).collect();
        let made: Vec<&Row> = after.iter().filter(|row| !old.contains(&text(row))).collect();
        self.same += before.len() - lost.len();
        self.changed += lost.len();
        let named: Vec<&Row> =
            after.iter().filter(|row| self.names.are_in_row(table, row)).collect();
        for row in named {
            self.fail(format!("{table} still names the page: {}", text(row)));
        }
        for row in &made {
            if !lost.iter().any(|old| identity(old) == identity(row)) {
                self.fail(format!("{table} has a new row: {}", text(row)));
            }
        }
        for row in &lost {
            let is_unrecorded = table == "model_answers" && row["pages"].is_null() && is_own(row);
            if !is_unrecorded && !self.names.are_in_row(table, row) {
                self.fail(format!("{table} lost what is not the page's: {}", text(row)));
            }
            let now = made.iter().find(|new| identity(new) == identity(row));
            match now {
                Some(now) => self.row(table, row, now),
                None if ERASED.contains(&table) => (),
                None => self.fail(format!("{table} lost a whole row: {}", text(row))),
            }
        }
        lost.len()
    }

    /// A row that named the page keeps everything else.
    fn row(&mut self, table: &str, before: &Row, after: &Row) {
        for (column, value) in before {
            if !COLUMNS.contains(&column.as_str()) && after.get(column) != Some(value) {
                self.fail(format!("{table}.{column} changed from {value}"));
            }
        }
        let mut left = Vec::new();
        leaves(&parsed(&Value::from(after.clone())), None, &mut left);
        let mut expected = Vec::new();
        leaves(&parsed(&Value::from(before.clone())), Some(&self.names), &mut expected);
        for leaf in expected {
            match left.iter().position(|one| *one == leaf) {
                Some(at) => drop(left.swap_remove(at)),
                None => self.fail(format!("{table} lost {leaf:?} of {}", text(before))),
            }
        }
        if table == "canonical_queries" {
            self.query(before, after);
        }
        if table == "suite_runs" && before["verdict"] != after["verdict"] {
            self.fail("a verdict changed");
        }
        if table == "documents" && before["kind"] == "baseline" && !verifies(&after["body"]) {
            self.fail("a stored baseline no longer verifies");
        }
    }

    /// Retired if and only if it has no key left.
    fn query(&mut self, before: &Row, after: &Row) {
        let body = parsed(&after["body"]);
        let has_key = body["expected"].as_array().is_some_and(|keys| !keys.is_empty());
        let expected = if has_key { before["state"].as_str() } else { Some("retired") };
        if after["state"].as_str() != expected {
            self.fail(format!("a query with keys {} is {}", body["expected"], after["state"]));
        }
    }

    /// The files that changed: how many baselines, and how many audit lines.
    fn files(&mut self) -> (usize, usize) {
        let (before, after) = (&self.before.files, &self.after.files);
        let (mut baselines, mut lines) = (0, 0);
        if before.keys().ne(after.keys()) {
            self.fail(format!("other files: {:?}", after.keys().collect::<Vec<_>>()));
        }
        for (path, bytes) in after {
            let old =
                before.get(path).map_or("", |old| std::str::from_utf8(old).unwrap_or_default());
            let new = std::str::from_utf8(bytes).unwrap_or_default();
            let name = path.to_string_lossy().into_owned();
            let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
            let changed = old.iter().zip(&new).filter(|(old, new)| old != new).count();
            for (old, new) in old.iter().zip(&new) {
                let is_named = self.names.are_in_line(old) && !old.contains(TEAM_LINE);
                if old != new && !is_named && !old.contains("rows_hash") {
                    self.fail(format!("{name}: a line without the page changed: {old}"));
                }
                // A file that holds no rows is a person's: it is not reached.
                let is_record = new.starts_with('{') && !new.contains(TEAM_LINE);
                if is_record && self.names.are_in_line(new) {
                    self.fail(format!("{name} still names the page: {new}"));
                }
            }
            match name.starts_with("audit") {
                true => lines += changed,
                false => baselines += usize::from(changed > 0),
            }
            if name.ends_with("baseline.ndjson") && !verifies(&Value::from(new.join("\n"))) {
                self.fail(format!("{name} no longer verifies"));
            }
        }
        (baselines, lines)
    }

    /// The word of the page is in no file of the index, nor in the database once it was scrubbed.
    fn bytes(&mut self, printed: Option<&Value>) {
        let is_scrubbed = printed.is_some_and(|printed| printed["scrubbed"] == true);
        for (path, bytes) in &self.after.opaque {
            let is_judged = is_scrubbed || path.starts_with("index");
            let word = self.page.word.as_bytes();
            if is_judged
                && bytes.windows(word.len()).any(|window| window == word)
                && !is_shared(path)
            {
                self.violations.push(format!("{} still holds its text", path.display()));
            }
            if path.to_string_lossy().ends_with(".purging") {
                self.violations.push("the mark of the purge is left".to_owned());
            }
        }
    }

    fn counts(&mut self, printed: &Value, lost: &BTreeMap<&str, usize>, files: (usize, usize)) {
        let of = |table: &str| lost.get(table).copied().unwrap_or_default();
        let sum = |names: &[&str]| -> usize {
            names.iter().map(|name| printed[*name].as_u64().unwrap_or_default() as usize).sum()
        };
        let counted = [
            ("eval_candidates", of("eval_candidates"), sum(&["captures"])),
            ("labels", of("labels"), sum(&["labels"])),
            ("queries", of("canonical_queries"), sum(&["queries_changed", "queries_retired"])),
            ("pairs", of("calibration_pairs"), sum(&["calibration_pairs"])),
            ("runs", of("suite_runs"), sum(&["suite_reports"])),
            ("logs", of("retrieval_logs"), sum(&["retrieval_logs"])),
            ("contradictions", of("eval_runs"), sum(&["contradiction_reports"])),
            ("documents", of("documents"), sum(&["qrels", "baselines"])),
            ("remarks", of("feedback_events") + of("suite_events"), sum(&["remarks"])),
            (
                "answers",
                of("model_answers"),
                sum(&["model_answers", "model_answers_without_pages"]),
            ),
            ("baseline files", files.0, sum(&["baseline_files"])),
            ("audit lines", files.1, sum(&["audit_lines"])),
        ];
        for (what, found, said) in counted {
            if found != said {
                self.fail(format!("{what}: {found} changed and {said} printed"));
            }
        }
    }
}

/// The content of an audit line of the other workspace.
const TEAM_LINE: &str = "\"workspace\":\"team\"";

/// On SQLite the other workspace has pages with the same words in the same file.
fn is_shared(path: &std::path::Path) -> bool {
    let path = path.to_string_lossy();
    path.starts_with("brain.db") || path.starts_with(&format!("index/{TEAM}-"))
}

fn is_own(row: &Row) -> bool {
    row.get("workspace_id").and_then(Value::as_str) == Some("default")
}

fn verifies(body: &Value) -> bool {
    let mut reader = BaselineReader::default();
    let is_read = body.as_str().unwrap_or_default().lines().all(|line| reader.line(line).is_ok());
    is_read && reader.finish_baseline().is_ok()
}

fn text(row: &Row) -> String {
    Value::from(row.clone()).to_string()
}

fn texts(rows: &[Row]) -> BTreeSet<String> {
    rows.iter().map(text).collect()
}

/// The columns that identify a row of a table.
fn identity(row: &Row) -> Vec<Option<&Value>> {
    ["workspace_id", "kind", "id", "key", "name", "dedup_key"]
        .map(|column| row.get(column))
        .to_vec()
}

/// A value with every JSON text in it read, and lines taken apart.
fn parsed(value: &Value) -> Value {
    match value {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => parsed(&inner),
            _ if text.contains('\n') => text.lines().map(|line| parsed(&line.into())).collect(),
            _ => value.clone(),
        },
        Value::Array(values) => values.iter().map(parsed).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, value)| (key.clone(), parsed(value))).collect())
        }
        other => other.clone(),
    }
}

/// The strings and numbers of a value, but for those that `names` allows to go.
fn leaves(value: &Value, names: Option<&Names>, found: &mut Vec<String>) {
    let is_named = |value: &Value| names.is_some_and(|names| names.are_in(value, true));
    match value {
        Value::Array(values) => values.iter().for_each(|value| leaves(value, names, found)),
        Value::Object(fields) => {
            let is_entry = ["slug", "id", "key_hash"].iter().any(|key| fields.contains_key(*key));
            let is_small = !fields.values().any(|value| value.is_array() || value.is_object());
            if is_entry && is_small && is_named(value) {
                return;
            }
            for (key, value) in fields {
                let is_derived =
                    DERIVED.contains(&key.as_str()) || ["hash", "bytes"].contains(&key.as_str());
                let is_bare = |key: &Value| names.is_some_and(|names| names.is_bare(key));
                match value.as_array().filter(|_| key == "expected") {
                    _ if is_derived => (),
                    Some(keys) => {
                        let keys = keys.iter().filter(|key| !is_bare(key));
                        keys.for_each(|key| leaves(key, names, found));
                    }
                    None => leaves(value, names, found),
                }
            }
        }
        Value::Null | Value::Bool(_) => (),
        leaf => {
            if !is_named(leaf) {
                found.push(leaf.to_string());
            }
        }
    }
}

impl Names {
    fn are_in_row(&self, table: &str, row: &Row) -> bool {
        let is_probe = table == "eval_runs" && row["kind"] == "quality_probe";
        is_own(row)
            && !is_probe
            && self.are_in(&parsed(&Value::from(row.clone())), table == "canonical_queries")
    }

    fn are_in_line(&self, line: &str) -> bool {
        self.are_in(&parsed(&line.into()), false)
    }

    /// Whether a value names the page. A bare slug does so only among the keys of a query.
    fn are_in(&self, value: &Value, is_query: bool) -> bool {
        match value {
            Value::String(text) => self.is_name(text),
            Value::Number(number) => {
                number.as_u64().is_some_and(|number| self.numbers.contains(&number))
            }
            Value::Array(values) => values.iter().any(|value| self.are_in(value, is_query)),
            Value::Object(fields) => {
                let is =
                    |key: &str, name: &str| fields.get(key).and_then(Value::as_str) == Some(name);
                let expected = fields.get("expected").and_then(Value::as_array);
                (is("source_id", &self.source) && is("slug", &self.slug))
                    || (is_query
                        && expected.is_some_and(|keys| keys.iter().any(|key| self.is_bare(key))))
                    || fields.values().any(|value| self.are_in(value, is_query))
            }
            Value::Null | Value::Bool(_) => false,
        }
    }

    /// Whether a key is the page's slug and no other page has it.
    fn is_bare(&self, key: &Value) -> bool {
        self.is_only_of_slug && *key == self.slug.as_str()
    }

    fn is_name(&self, text: &str) -> bool {
        let is_id = self.chunks.contains(text) || text == self.hash || text.contains(&self.word);
        is_id || self.is_mentioned(text)
    }

    /// Whether the longest key that stands at some place of a text is the page's.
    fn is_mentioned(&self, text: &str) -> bool {
        let mut rest = text;
        while let Some(at) = rest.find(&self.whole) {
            let here = &rest[at..];
            let longest = self.known.iter().find(|key| here.starts_with(key.as_str()));
            if longest == Some(&self.whole) {
                return true;
            }
            rest = &here[longest.map_or(1, String::len)..];
        }
        false
    }
}
