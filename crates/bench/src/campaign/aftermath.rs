//! What must hold when everybody has gone home.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::job::JobState;
use gbrain_store::{JobFilter, JobInfo, Store, VersionOp};
use serde_json::Value;

use super::load::{Import, Imports};
use super::{Asked, Report};
use crate::campaign::ledger::Version;
use crate::campaign::process::Gbrain;
use crate::campaign::tree;

/// More jobs than a campaign can have.
const ALL: usize = 1_000_000;

/// Compares what everybody was told with what there is.
pub(super) fn check(brain: &Gbrain, asked: &Asked, report: &mut Report) -> Result<()> {
    let store = brain.store()?;
    let histories = histories(store.as_ref(), asked)?;
    for (page, history) in &histories {
        report.versions += history.len();
        let is_other =
            |hash| asked.imports.imports.iter().any(|i| i.texts.get(page) == Some(&hash));
        report.violations.extend(asked.ledger.check(page, history, is_other));
    }
    check_texts(store.as_ref(), &histories, report)?;
    check_jobs(store.as_ref(), &asked.imports, &histories, report)?;
    check_finding(brain, store.as_ref(), &histories, report)?;
    check_doctor(brain, report)
}

type Histories = BTreeMap<String, Vec<Version>>;

fn histories(store: &dyn Store, asked: &Asked) -> Result<Histories> {
    let imported = asked.imports.imports.iter().flat_map(|import| import.texts.keys());
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

/// A page is its last version.
fn check_texts(store: &dyn Store, histories: &Histories, report: &mut Report) -> Result<()> {
    for (page, history) in histories {
        let last = history.last().filter(|version| version.op != VersionOp::Delete);
        let stored = store.page(&WorkspaceId::default(), &key(page)?)?;
        let found = stored.map(|stored| Hash::of(stored.page.content.as_bytes()));
        if found != last.map(|version| version.hash) {
            report.violations.push(format!("{page} is not what its last version says"));
        }
    }
    Ok(())
}

/// Every job ended once: it is done, it says that it wrote each of its pages, and each of these has
/// one version from it. A job whose number nobody heard was queued, and did the same, or was not.
fn check_jobs(
    store: &dyn Store,
    asked: &Imports,
    histories: &Histories,
    report: &mut Report,
) -> Result<()> {
    let jobs = store.jobs(&WorkspaceId::default(), &JobFilter::default(), ALL)?;
    for job in jobs.iter().filter(|job| job.state != JobState::Done) {
        report.violations.push(format!("job {} is {}: {:?}", job.id, job.state, job.error));
    }
    report.jobs = jobs.len();
    report.resumed = jobs.iter().filter(|job| job.attempt > 1).count();
    report.most_attempts = jobs.iter().map(|job| job.attempt).max().unwrap_or(0);
    let known: BTreeSet<i64> = jobs.iter().map(|job| job.id).collect();
    for id in asked.imports.iter().filter_map(|import| import.id).chain(asked.others.clone()) {
        if !known.contains(&id) {
            report.violations.push(format!("job {id} was acknowledged and is gone"));
        }
    }
    let mut queued = 0;
    for (number, import) in asked.imports.iter().enumerate() {
        let writes = writes(import, histories);
        let is_queued = import.id.is_some() || writes.values().any(|count| *count > 0);
        queued += usize::from(is_queued);
        let wrong = writes.iter().filter(|(_, count)| **count != usize::from(is_queued));
        report.violations.extend(wrong.map(|(page, count)| {
            format!("import {number} ({:?}) wrote {page} {count} times", import.id)
        }));
    }
    let imports: Vec<&JobInfo> = jobs.iter().filter(|job| job.kind == "import").collect();
    if imports.len() != queued {
        let (held, counted) = (imports.len(), queued);
        report.violations.push(format!("{held} imports are stored and {counted} had an effect"));
    }
    for job in imports {
        check_result(store, job, report)?;
    }
    Ok(())
}

/// How often an import wrote each of its pages.
fn writes<'a>(import: &'a Import, histories: &Histories) -> BTreeMap<&'a str, usize> {
    let count = |page: &str, text: &Hash| {
        let history = histories.get(page).map_or(&[][..], Vec::as_slice);
        history.iter().filter(|version| version.hash == *text).count()
    };
    import.texts.iter().map(|(page, text)| (page.as_str(), count(page, text))).collect()
}

/// An import counts every page once, whoever wrote it.
fn check_result(store: &dyn Store, job: &JobInfo, report: &mut Report) -> Result<()> {
    let whole = store.job(&WorkspaceId::default(), job.id)?;
    let result: Value = whole
        .and_then(|whole| serde_json::from_str(whole.result.as_deref()?).ok())
        .unwrap_or_default();
    let number = |name: &str| result[name].as_u64().unwrap_or(0);
    let written = number("added") + number("changed");
    let is_whole = Some(written) == job.total && number("unchanged") == 0;
    if !is_whole || result["failed"].as_array().is_none_or(|failed| !failed.is_empty()) {
        let (id, total) = (job.id, job.total);
        report.violations.push(format!("import {id} of {total:?} pages says {result}"));
    }
    Ok(())
}

/// A page is found by the word that only its last version has.
fn check_finding(
    brain: &Gbrain,
    store: &dyn Store,
    histories: &Histories,
    report: &mut Report,
) -> Result<()> {
    for page in histories.keys().step_by(histories.len().div_ceil(5).max(1)) {
        let Some(stored) = store.page(&WorkspaceId::default(), &key(page)?)? else { continue };
        let marker = tree::marker(&stored.page.content).unwrap_or_default();
        let output = brain.run(&["search", marker, "--json"])?;
        let answer = output.json().unwrap_or_default();
        if answer["hits"][0]["slug"] != page.as_str() || answer["served"]["behind"] != 0 {
            report.violations.push(format!("{page} is not found: {}", output.stdout));
        }
    }
    Ok(())
}

/// `doctor --deep` has nothing to say.
fn check_doctor(brain: &Gbrain, report: &mut Report) -> Result<()> {
    let output = brain.run(&["doctor", "--deep", "--json"])?;
    let body = output.json()?;
    let checks = body["checks"].as_array().cloned().unwrap_or_default();
    if checks.len() < 5 {
        report.violations.push(format!("doctor looked at little: {body}"));
    }
    let bad = checks.iter().filter(|check| check["status"] != "ok");
    report.violations.extend(bad.map(|check| format!("doctor says {check}")));
    Ok(())
}
