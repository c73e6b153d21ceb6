//! Clients that work on the brain while its processes are killed: writers, importers, queriers.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use fastrand::Rng;
use gbrain_core::hash::Hash;
use gbrain_testkit::http::Answer;
use serde_json::json;

use super::gate::{Gate, Line};
use crate::campaign::aftermath::{Asked, Import};
use crate::campaign::ledger::{Change, Ledger};
use crate::campaign::tree;
use crate::campaign::violations::Violations;

/// Writers, each with pages of its own.
pub(super) const WRITERS: usize = 2;
/// Pages of a writer that no job writes.
const NOTES: usize = 20;
/// Jobs that are open at once.
const OPEN_JOBS: usize = 3;
/// The share of jobs that make the index again: one in so many.
const REINDEXES: usize = 8;
/// Only up to so many imports: making the index goes through all that was ever written, and begins
/// again after every kill, so that later ones would only ever be killed.
const REINDEXED: usize = 15;

/// A page that both writers and imports write.
pub(super) fn shared_page(number: usize) -> String {
    format!("shared/page-{number}")
}

/// Puts pages, and deletes some, until it is time to go home.
pub(super) fn write(
    gate: &Gate,
    violations: &Violations,
    mut rng: Rng,
    writer: usize,
    pages: usize,
) -> Result<Ledger> {
    let mut ledger = Ledger::default();
    let mut line = Line::new(gate);
    let mut count = 0;
    while !gate.is_over() {
        count += 1;
        let note = format!("notes-{writer}/note-{}", rng.usize(..NOTES));
        let is_put = matches!(ledger.certain(&note), Some(Change::Put(_)));
        if is_put && rng.u8(..6) == 0 {
            delete(&mut line, violations, &mut ledger, &note)?;
            continue;
        }
        let shared = rng.usize(..pages) / WRITERS * WRITERS + writer;
        let page = if rng.bool() || shared >= pages { note } else { shared_page(shared) };
        let text = tree::page(&mut rng, &page, &format!("writer{writer}x{count}"));
        put(&mut line, violations, &mut ledger, &page, &text)?;
        std::thread::sleep(Duration::from_millis(rng.u64(..10)));
    }
    Ok(ledger)
}

fn put(
    line: &mut Line<'_>,
    violations: &Violations,
    ledger: &mut Ledger,
    page: &str,
    text: &str,
) -> Result<()> {
    ledger.begin(page, Change::Put(Hash::of(text.as_bytes())));
    let body = json!({ "content": text }).to_string();
    let Some(answer) = line.call("PUT", &address(page), &body)? else { return Ok(()) };
    if is_well("put", &answer, 200, violations) {
        let version = answer.json()["version"].as_u64().and_then(|n| u32::try_from(n).ok());
        ledger.acknowledge(page, version);
    }
    Ok(())
}

fn delete(
    line: &mut Line<'_>,
    violations: &Violations,
    ledger: &mut Ledger,
    page: &str,
) -> Result<()> {
    ledger.begin(page, Change::Delete);
    let Some(answer) = line.call("DELETE", &address(page), "")? else { return Ok(()) };
    if is_well("delete", &answer, 200, violations) {
        ledger.acknowledge(page, None);
    }
    Ok(())
}

/// The address of a page: its name is one part of the path.
fn address(page: &str) -> String {
    format!("/v1/pages/{}", page.replace('/', "%2F"))
}

/// Starts jobs, so that there always is one to be killed over.
pub(super) fn import(
    gate: &Gate,
    violations: &Violations,
    mut rng: Rng,
    pages: usize,
) -> Result<Asked> {
    let mut done = Asked::default();
    let mut line = Line::new(gate);
    let mut open: Vec<i64> = Vec::new();
    while !gate.is_over() {
        if open.len() >= OPEN_JOBS {
            std::thread::sleep(Duration::from_millis(20));
            open = still_open(&mut line, violations, open)?;
            continue;
        }
        let is_reindex = rng.usize(..REINDEXES) == 0 && done.imports.len() < REINDEXED;
        let id = if is_reindex {
            let id = start(&mut line, violations, &json!({ "kind": "reindex" }).to_string())?;
            done.others.extend(id);
            id
        } else {
            let (body, texts) = new_import(&mut rng, done.imports.len(), pages);
            let id = start(&mut line, violations, &body)?;
            done.imports.push(Import { id, texts });
            id
        };
        open.extend(id);
    }
    Ok(done)
}

/// Every shared page with a text that only this import has.
fn new_import(rng: &mut Rng, number: usize, pages: usize) -> (String, BTreeMap<String, Hash>) {
    let (mut texts, mut rows) = (BTreeMap::new(), Vec::new());
    for page in (0..pages).map(shared_page) {
        let text = tree::page(rng, &page, &format!("job{number}x{}", rows.len()));
        rows.push(json!({ "slug": page, "content": text }));
        texts.insert(page, Hash::of(text.as_bytes()));
    }
    (json!({ "kind": "import", "pages": rows }).to_string(), texts)
}

fn start(line: &mut Line<'_>, violations: &Violations, body: &str) -> Result<Option<i64>> {
    let Some(answer) = line.call("POST", "/v1/jobs", body)? else { return Ok(None) };
    let is_well = is_well("a job", &answer, 202, violations);
    Ok(answer.json()["id"].as_i64().filter(|_| is_well))
}

fn still_open(line: &mut Line<'_>, violations: &Violations, jobs: Vec<i64>) -> Result<Vec<i64>> {
    let mut open = Vec::new();
    for id in jobs {
        let Some(answer) = line.call("GET", &format!("/v1/jobs/{id}"), "")? else {
            open.push(id);
            continue;
        };
        let state = answer.json()["state"].clone();
        match state.as_str() {
            _ if !is_well("a look at a job", &answer, 200, violations) => {}
            Some("queued" | "running") => open.push(id),
            Some("done") => {}
            _ => violations.add(format!("job {id} is {state}: {}", answer.text())),
        }
    }
    Ok(open)
}

/// Asks until it is time to go home, and counts the answers.
pub(super) fn ask(gate: &Gate, violations: &Violations, mut rng: Rng) -> Result<usize> {
    let mut line = Line::new(gate);
    let mut answers = 0;
    while !gate.is_over() {
        let path = if rng.bool() { "/v1/query" } else { "/v1/search" };
        let body = json!({ "query": format!("harbour note {}", rng.u8(..)) }).to_string();
        if let Some(answer) = line.call("POST", path, &body)? {
            answers += usize::from(is_well(path, &answer, 200, violations));
        }
        std::thread::sleep(Duration::from_millis(rng.u64(..30)));
    }
    Ok(answers)
}

fn is_well(what: &str, answer: &Answer, expected: u16, violations: &Violations) -> bool {
    if answer.status == expected {
        return true;
    }
    violations.add(format!("{what} was answered with {}: {}", answer.status, answer.text()));
    false
}
