//! Invariants after all clients have stopped.
//!
//! Every page has the history that its writer was told of and what imports wrote; every job ended
//! once; what is stored is found; `doctor --deep` has nothing to say.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::job::JobState;
use gbrain_store::{JobFilter, JobInfo, Store, VersionOp};
use gbrain_testkit::process::Gbrain;
use serde_json::Value;

use super::ledger::{Ledger, Version};
use super::tree;

/// More jobs than a campaign can have.
const ALL: usize = 1_000_000;
/// How many pages are searched for.
const SEARCHES: usize = 5;

/// The requests of all clients, and the responses they got.
#[derive(Debug, Default)]
pub struct Asked {
    /// By writers of pages.
    pub ledger: Ledger,
    /// By importers: each text of theirs is of one import only.
    pub imports: Vec<Import>,
    /// Jobs of other kinds whose number was heard.
    pub others: Vec<i64>,
}

/// An import that was asked for.
#[derive(Debug)]
pub struct Import {
    /// Its number, if the answer was heard.
    pub id: Option<i64>,
    /// The text it writes, by page.
    pub texts: BTreeMap<String, Hash>,
}

#[derive(Debug, Default)]
pub struct BrainAfterRun {
    /// Versions of pages that were compared with what was told.
    pub versions: usize,
    pub jobs: usize,
    /// Jobs that were claimed more than once.
    pub resumed: usize,
    /// How often a job was claimed at most, by kind.
    pub attempts: BTreeMap<String, u32>,
    pub violations: Vec<String>,
}

/// How often an import wrote its pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Written {
    once: usize,
    more: usize,
}

type Histories = BTreeMap<String, Vec<Version>>;

/// Compares the responses of all clients with the state of the brain. All clients must have stopped.
pub fn compare_with_responses(brain: &Gbrain, asked: &Asked) -> Result<BrainAfterRun> {
    let store = brain.store()?;
    let store = &store;
    let mut seen = BrainAfterRun::default();
    let histories = histories(store, asked)?;
    let written = seen.check_pages(asked, &histories);
    seen.check_texts(store, &histories)?;
    seen.check_jobs(store, asked, &written)?;
    seen.check_finding(brain, store, &histories)?;
    seen.check_doctor(brain)?;
    Ok(seen)
}

fn histories(store: &Store, asked: &Asked) -> Result<Histories> {
    let imported = asked.imports.iter().flat_map(|import| import.texts.keys());
    let pages: BTreeSet<&str> = asked.ledger.pages().chain(imported.map(String::as_str)).collect();
    let mut histories = BTreeMap::new();
    for page in pages {
        let history = store.history(&WorkspaceId::default(), &key(page)?)?;
        let history = history.iter().map(|info| Version {
            number: info.version,
            op: info.op,
            hash: info.content_hash,
        });
        histories.insert(page.to_owned(), history.collect());
    }
    Ok(histories)
}

fn key(page: &str) -> Result<PageKey> {
    Ok(PageKey::parse(page, &SourceId::default())?)
}

impl BrainAfterRun {
    /// How often jobs were claimed at most, in words.
    pub fn attempts(&self) -> String {
        let kinds = self.attempts.iter().map(|(kind, most)| format!("{kind} {most}"));
        kinds.collect::<Vec<_>>().join(", ")
    }

    fn add(&mut self, violation: String) {
        self.violations.push(violation);
    }

    /// Compares histories with the ledger, and counts what each import wrote.
    fn check_pages(&mut self, asked: &Asked, histories: &Histories) -> Vec<Written> {
        let mut written = vec![Written::default(); asked.imports.len()];
        for (page, history) in histories {
            self.versions += history.len();
            let texts = asked.imports.iter().enumerate();
            let texts: HashMap<Hash, usize> =
                texts.filter_map(|(at, import)| Some((*import.texts.get(page)?, at))).collect();
            let is_other = |hash| texts.contains_key(&hash);
            self.violations.extend(asked.ledger.check(page, history, is_other));
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            for at in history.iter().filter_map(|version| texts.get(&version.hash)) {
                *counts.entry(*at).or_default() += 1;
            }
            for (at, count) in counts {
                let import = &mut written[at];
                let times = if count == 1 { &mut import.once } else { &mut import.more };
                *times += 1;
            }
        }
        written
    }

    /// A page is its last version.
    fn check_texts(&mut self, store: &Store, histories: &Histories) -> Result<()> {
        for (page, history) in histories {
            let last = history.last().filter(|version| version.op != VersionOp::Delete);
            let stored = store.page(&WorkspaceId::default(), &key(page)?)?;
            let found = stored.map(|stored| Hash::of(stored.page.content.as_bytes()));
            if found != last.map(|version| version.hash) {
                self.add(format!("{page} is not what its last version says"));
            }
        }
        Ok(())
    }

    /// Every job ended once: it is done, it says that it wrote each of its pages, and each of these
    /// has one version from it. An import whose number nobody heard did the same, or was never
    /// queued.
    fn check_jobs(&mut self, store: &Store, asked: &Asked, written: &[Written]) -> Result<()> {
        let jobs = store.jobs(&WorkspaceId::default(), &JobFilter::default(), ALL)?;
        for job in jobs.iter().filter(|job| job.state != JobState::Done) {
            self.add(format!("job {} is {}: {:?}", job.id, job.state, job.error));
        }
        self.jobs = jobs.len();
        self.resumed = jobs.iter().filter(|job| job.attempt > 1).count();
        for job in &jobs {
            let most = self.attempts.entry(job.kind.clone()).or_default();
            *most = job.attempt.max(*most);
        }
        let known: BTreeSet<i64> = jobs.iter().map(|job| job.id).collect();
        let told = asked.imports.iter().filter_map(|import| import.id).chain(asked.others.clone());
        for id in told.filter(|id| !known.contains(id)) {
            self.add(format!("job {id} was acknowledged and is gone"));
        }
        let mut effective = 0;
        for (import, written) in asked.imports.iter().zip(written) {
            let is_queued = import.id.is_some() || *written != Written::default();
            effective += usize::from(is_queued);
            let pages = import.texts.len();
            if is_queued && *written != (Written { once: pages, more: 0 }) {
                let id = import.id;
                self.add(format!("an import ({id:?}) of {pages} pages wrote {written:?}"));
            }
        }
        let imports: Vec<&JobInfo> = jobs.iter().filter(|job| job.kind == "import").collect();
        if imports.len() != effective {
            let stored = imports.len();
            self.add(format!("{stored} imports are stored and {effective} had an effect"));
        }
        imports.into_iter().try_for_each(|job| self.check_result(store, job))
    }

    /// An import counts every page once, independent of its writer.
    fn check_result(&mut self, store: &Store, job: &JobInfo) -> Result<()> {
        let whole = store.job(&WorkspaceId::default(), job.id)?;
        let result = whole.and_then(|whole| serde_json::from_str(whole.result.as_deref()?).ok());
        let result: Value = result.unwrap_or_default();
        let number = |name: &str| result[name].as_u64().unwrap_or(0);
        let written = number("added") + number("changed");
        let is_whole = Some(written) == job.total && number("unchanged") == 0;
        if !is_whole || result["failed"].as_array().is_none_or(|failed| !failed.is_empty()) {
            self.add(format!("import {} of {:?} pages says {result}", job.id, job.total));
        }
        Ok(())
    }

    /// A page is found by the word that only its last version has.
    fn check_finding(
        &mut self,
        brain: &Gbrain,
        store: &Store,
        histories: &Histories,
    ) -> Result<()> {
        for page in histories.keys().step_by(histories.len().div_ceil(SEARCHES).max(1)) {
            let Some(stored) = store.page(&WorkspaceId::default(), &key(page)?)? else { continue };
            let marker = tree::marker(&stored.page.content).unwrap_or_default();
            let output = brain.run(&["search", marker, "--json"])?;
            let answer = output.json().unwrap_or_default();
            if answer["hits"][0]["slug"] != page.as_str() || answer["served"]["behind"] != 0 {
                self.add(format!("{page} is not found: {} {}", output.stdout, output.stderr));
            }
        }
        Ok(())
    }

    /// `doctor --deep` finds nothing wrong, but for captures that a killed process had not stored and the role of the
    /// private PostgreSQL, which is a superuser.
    fn check_doctor(&mut self, brain: &Gbrain) -> Result<()> {
        let output = brain.run(&["doctor", "--deep", "--json"])?;
        let body = output.json()?;
        let checks = body["checks"].as_array().cloned().unwrap_or_default();
        if !checks.iter().any(|check| check["name"] == "verify") {
            self.add(format!("doctor did not look deep: {body}"));
        }
        let is_expected = |check: &Value| {
            check["status"] == "warn"
                && ["eval_capture", "row_security"].iter().any(|name| check["name"] == *name)
        };
        let bad = checks.iter().filter(|check| check["status"] != "ok" && !is_expected(check));
        self.violations.extend(bad.map(|check| format!("doctor says {check}")));
        Ok(())
    }
}
