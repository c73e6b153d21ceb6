//! Invariants during a fault and after it.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use gbrain_core::id::WorkspaceId;
use gbrain_store::PageFilter;
use gbrain_testkit::process::Running;
use gbrain_testkit::served::Served;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::report::FindingKind;
use super::subject::{Subject, TIMEOUT, address};
use crate::campaign::tree;

/// Past this a brain has not recovered.
const RECOVERY_LIMIT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(10);
/// Longer than the server believes what it found when it was last asked whether it is ready.
const READINESS_AGE: Duration = Duration::from_millis(1_500);
/// The time of every question, so that answers can be compared.
const NOW: &str = "2026-06-01T00:00:00Z";
/// Questions whose answers are compared with those of an index made anew.
const QUESTIONS: [&str; 4] =
    ["harbour lantern", "what depends on shelf-3/page-7?", "granite falcon ember", "hush3word"];
/// How often a corpus that changes under the comparison is compared again.
const COMPARISONS: usize = 5;
/// Pages that became private and are asked for.
const HIDDEN_CHECKED: usize = 3;

/// An answer, as far as it must not depend on the index that gave it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranked {
    corpus: Value,
    hits: Value,
}

impl Ranked {
    fn of(answer: &Value) -> Self {
        Self { corpus: answer["corpus"]["root"].clone(), hits: answer["hits"].clone() }
    }
}

impl Subject {
    /// Reads something at random: what is answered with 200 must be right, or say that it is behind.
    pub(super) fn read(&mut self) {
        let certain = self.writes.certain();
        let Some((slug, text)) = self.rng.choice(certain) else { return };
        let (slug, text) = (slug.to_owned(), text.to_owned());
        match self.rng.u8(..4) {
            0 => drop(self.call("GET", "/v1/pages?limit=200", None, TIMEOUT)),
            1 => {
                let answer = self.call("GET", &address(&slug), None, TIMEOUT);
                let is_wrong = answer.is_some_and(|answer| {
                    answer.status == 404
                        || (answer.status == 200 && answer.json()["content"] != text.as_str())
                });
                if is_wrong {
                    let what = format!("{slug} was acknowledged and is not read as it was written");
                    self.row.add(FindingKind::FalseGreen, what);
                }
            }
            _ => drop(self.finds(&slug, &text)),
        }
    }

    /// Whether a search for the word of a page finds it in an answer that is not behind. One that claims to be
    /// whole and does not find it is a finding.
    fn finds(&mut self, slug: &str, text: &str) -> bool {
        let marker = tree::marker(text).unwrap_or_default();
        let body = json!({ "query": marker });
        let Some(answer) = self.call("POST", "/v1/search", Some(&body), TIMEOUT) else {
            return false;
        };
        let said = answer.json();
        let is_whole = answer.status == 200 && said["served"]["behind"] == 0;
        let is_found = said["hits"][0]["slug"] == slug;
        if is_whole && !is_found && said["degraded"].as_array().is_none_or(Vec::is_empty) {
            let what = format!("{slug} is not found by {marker}: {said}");
            self.row.add(FindingKind::FalseGreen, what);
        }
        is_whole && is_found
    }

    /// Pages that became private are not read and not found.
    pub(super) fn look_for_hidden(&mut self) {
        let hidden: Vec<_> = self.hidden.iter().rev().take(HIDDEN_CHECKED).cloned().collect();
        for (slug, word) in hidden {
            let read = self.call("GET", &address(&slug), None, TIMEOUT);
            if read.is_some_and(|answer| answer.status == 200) {
                self.row.add(FindingKind::Leak, format!("{slug} is private and can be read"));
            }
            for path in ["/v1/search", "/v1/query"] {
                let body = json!({ "query": word });
                let Some(answer) = self.call("POST", path, Some(&body), TIMEOUT) else { continue };
                let said = answer.json();
                let hits = said["hits"].as_array().cloned().unwrap_or_default();
                if hits.iter().any(|hit| hit["slug"] == slug.as_str()) {
                    let what = format!("{slug} is private and {path} finds it: {}", said["served"]);
                    self.row.add(FindingKind::Leak, what);
                }
            }
        }
    }

    /// A server that can't answer questions does not stay ready.
    pub(super) fn check_readiness(&mut self) {
        if self.failure().is_none() {
            return;
        }
        std::thread::sleep(READINESS_AGE);
        let ready = self.call("GET", "/v1/ready", None, TIMEOUT).map(|answer| answer.status);
        if ready == Some(200)
            && let Some(failure) = self.failure()
        {
            let what = format!("/v1/ready is 200 while questions are 5xx: {failure}");
            self.row.add(FindingKind::FalseGreen, what);
        }
    }

    /// The answer to a question, if the server failed to answer it, with the last line of its log.
    fn failure(&mut self) -> Option<String> {
        let body = json!({ "query": QUESTIONS[0] });
        let answer = self.call("POST", "/v1/query", Some(&body), TIMEOUT);
        let answer = answer.filter(|answer| answer.status >= 500)?;
        let log = self.server().and_then(Served::log).unwrap_or_default();
        let last = log.lines().last().unwrap_or_default();
        Some(format!("{}, {last}", answer.text()))
    }

    /// Waits until everything is right again, and notes how long that took since then.
    pub(super) fn recover(&mut self, since: Instant) -> Result<()> {
        while let Some(wrong) = self.wrong()? {
            if since.elapsed() > RECOVERY_LIMIT {
                let seconds = RECOVERY_LIMIT.as_secs();
                let what = format!("not right after {seconds} s: {wrong}");
                self.row.add(FindingKind::Unrecovered, what);
                self.stop()?;
                return self.start();
            }
            std::thread::sleep(POLL);
        }
        self.row.worst_recovery = self.row.worst_recovery.max(since.elapsed());
        Ok(())
    }

    /// What keeps everything from being right: ready, a page that was written before is found, and so is one that is
    /// written now.
    fn wrong(&mut self) -> Result<Option<String>> {
        self.restart_if_ended()?;
        let ready = self.call("GET", "/v1/ready", None, TIMEOUT);
        if ready.as_ref().is_none_or(|answer| answer.status != 200) {
            let said = ready.map_or("no answer".to_owned(), |answer| answer.text());
            return Ok(Some(format!("not ready: {said}")));
        }
        // After many faults each older page may have a write without an answer: then only the new one can tell.
        let certain = self.writes.certain();
        if let Some((slug, text)) = self.rng.choice(certain) {
            let (slug, text) = (slug.to_owned(), text.to_owned());
            if !self.finds(&slug, &text) {
                return Ok(Some(format!("{slug} is not found")));
            }
        }
        if !self.write(TIMEOUT) {
            return Ok(Some("a write is not acknowledged".to_owned()));
        }
        let Some((slug, text)) = self.writes.last() else {
            return Ok(Some("the last write is not certain".to_owned()));
        };
        let (slug, text) = (slug.to_owned(), text.to_owned());
        let is_found = self.finds(&slug, &text);
        Ok((!is_found).then(|| format!("{slug}, which was just written, is not found")))
    }

    /// A server that ended by itself is a finding, and is started again.
    fn restart_if_ended(&mut self) -> Result<()> {
        let Some(server) = &mut self.server else { return self.start() };
        if server.has_ended()? {
            self.read_log()?;
            let log = self.server()?.log()?;
            let is_reason = |line: &&str| line.contains("memory allocation of");
            let reason = log.lines().find(is_reason).or(log.lines().last()).unwrap_or_default();
            self.row.add(FindingKind::Panic, format!("the server ended by itself: {reason}"));
            self.server = None;
            self.brain.settle()?;
            self.start()?;
        }
        Ok(())
    }

    /// Everything that must hold when a fault is over.
    pub(super) fn check(&mut self) -> Result<()> {
        self.look_for_hidden();
        self.check_answers()?;
        for args in [&["reindex", "--verify"][..], &["doctor", "--offline"]] {
            let output = self.run(args, "")?;
            if output.code != Some(0) {
                let said = format!("{} {}", output.stdout.trim(), output.stderr.trim());
                self.row.add(FindingKind::Unrecovered, format!("gbrain {args:?}: {said}"));
            }
        }
        let seen = self.stored()?;
        for wrong in self.writes.check(&seen) {
            self.row.add(FindingKind::LostWrite, wrong);
        }
        self.read_log()
    }

    /// The pages that a reader of the store sees.
    fn stored(&self) -> Result<BTreeMap<String, String>> {
        let (store, workspace) = (self.brain.store()?, WorkspaceId::default());
        let infos = store.list(&workspace, &PageFilter::default(), None, 1_000_000)?;
        let keys: Vec<_> = infos.into_iter().map(|info| info.key).collect();
        let pages = store.pages(&workspace, &keys)?.into_iter().flatten();
        Ok(pages.map(|stored| (stored.page.key.slug.to_string(), stored.page.content)).collect())
    }

    /// Compares the server's answers with those of an index that is made anew.
    fn check_answers(&mut self) -> Result<()> {
        for _ in 0..COMPARISONS {
            let ours = self.answers();
            let anew = self.answers_anew()?;
            // A write without an answer can take effect between the two.
            if ours.iter().zip(&anew).any(|(one, other)| one.corpus != other.corpus) {
                continue;
            }
            self.row.compared += ours.len();
            if ours != anew {
                self.row.add(FindingKind::FalseGreen, "answers differ from those of a new index");
            }
            return Ok(());
        }
        self.row.add(FindingKind::Unrecovered, "the corpus is another than that of a new index");
        Ok(())
    }

    pub(super) fn answers(&mut self) -> Vec<Ranked> {
        let answer = |question: &&str| {
            let body = json!({ "query": question, "now": NOW });
            let answer = self.call("POST", "/v1/query", Some(&body), TIMEOUT);
            Ranked::of(&answer.map(|answer| answer.json()).unwrap_or_default())
        };
        QUESTIONS.iter().map(answer).collect()
    }

    /// Answers that were not given are null; any other that differs from what is expected is a finding.
    pub(super) fn expect_answers(&mut self, expected: &[Ranked], found: &[Ranked], who: &str) {
        let is_wrong = |(one, other): (&Ranked, &Ranked)| !other.hits.is_null() && one != other;
        let wrong = expected.iter().zip(found).filter(|pair| is_wrong(*pair)).count();
        if wrong > 0 {
            self.row.add(FindingKind::FalseGreen, format!("{wrong} wrong answers of {who}"));
        }
    }

    /// The answers of commands in this home.
    pub(super) fn answers_of_commands(&mut self) -> Result<Vec<Ranked>> {
        let answer = |question: &&str| {
            let words = ["query", question, "--now", NOW, "--untrusted", "--json"];
            let output = self.run(&words, "")?;
            let is_given = output.code == Some(0);
            Ok(Ranked::of(&if is_given { output.json()? } else { Value::Null }))
        };
        QUESTIONS.iter().map(answer).collect()
    }

    /// The answers of commands in a home that has the same store and no index yet.
    fn answers_anew(&self) -> Result<Vec<Ranked>> {
        let home = tempfile::Builder::new().prefix("gbrain-anew-").tempdir()?;
        if self.brain.database_url().is_none() {
            self.copy_database(&home)?;
        }
        let answer = |question: &&str| {
            let words = ["query", question, "--now", NOW, "--untrusted", "--json"];
            let mut command: Command = self.brain.command(&words);
            command.env("GBRAIN_HOME", home.path());
            Ok(Ranked::of(&Running::start(command, "")?.wait()?.json()?))
        };
        QUESTIONS.iter().map(answer).collect()
    }

    fn copy_database(&self, home: &TempDir) -> Result<()> {
        let copy = home.path().join("brain.db");
        let copy = copy.to_str().context("a temporary directory has a plain name")?;
        let database = rusqlite::Connection::open(self.brain.home().join("brain.db"))?;
        database.execute("VACUUM INTO ?1", [copy])?;
        Ok(())
    }
}
