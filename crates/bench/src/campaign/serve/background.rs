//! Clients that start background work and follow it: imports, replays, gates; and the collector of captures.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use fastrand::Rng;
use gbrain_core::hash::Hash;
use serde_json::{Value, json};

use super::site::{Client, Site};
use crate::campaign::aftermath::Import;
use crate::campaign::tree;

/// Pages of an import: more than are written in one transaction.
const PAGES: usize = 250;
/// How long passes between two pieces of work, at most.
const BETWEEN: Duration = Duration::from_secs(6);
/// Questions that must have been answered before there is something to measure.
const ENOUGH: u64 = 50;
/// One run in so many is a gate.
const GATES: usize = 5;

/// Imports the same pages with new texts, again and again.
pub(super) fn import(site: &Site, mut rng: Rng, imports: &mut Vec<Import>) -> Result<()> {
    let mut client = Client::new(site);
    while !site.is_over() {
        let (body, texts) = new_import(&mut rng, imports.len());
        let Some(id) = start(&mut client, "start import", "/v1/jobs", &body)? else { continue };
        imports.push(Import { id: Some(id), texts });
        follow(site, &mut client, "/v1/jobs", id)?;
        site.rest(&mut rng, BETWEEN);
    }
    Ok(())
}

fn new_import(rng: &mut Rng, number: usize) -> (String, BTreeMap<String, Hash>) {
    let (mut texts, mut rows) = (BTreeMap::new(), Vec::new());
    for at in 0..PAGES {
        let page = format!("imported/page-{at}");
        let text = tree::page(rng, &page, &format!("import{number}x{at}"));
        rows.push(json!({ "slug": page, "content": text }));
        texts.insert(page, Hash::of(text.as_bytes()));
    }
    (json!({ "kind": "import", "pages": rows }).to_string(), texts)
}

/// Replays what was captured, and now and then freezes it and gates on it.
pub(super) fn measure(site: &Site, mut rng: Rng, runs: &mut Vec<i64>) -> Result<()> {
    while !site.is_over() && site.questions() < ENOUGH {
        site.rest(&mut rng, BETWEEN);
    }
    let mut client = Client::new(site);
    while !site.is_over() {
        site.rest(&mut rng, BETWEEN);
        let is_gate = runs.len() % GATES == GATES - 1;
        let body = if is_gate {
            let frozen = json!({ "limit": 20 }).to_string();
            let call = ("PUT", "/v1/baselines/load", frozen.as_str());
            if client.call("publish baseline", call, 200)?.is_none() {
                continue;
            }
            json!({ "kind": "gate", "baseline": "load", "repeats": 1 })
        } else {
            json!({ "kind": "replay", "against": { "limit": 40 }, "repeats": 1 })
        };
        let id = start(&mut client, "start run", "/v1/runs", &body.to_string())?;
        if let Some(id) = id {
            runs.push(id);
            follow(site, &mut client, "/v1/runs", id)?;
        }
    }
    Ok(())
}

fn start(
    client: &mut Client<'_>,
    what: &'static str,
    path: &str,
    body: &str,
) -> Result<Option<i64>> {
    let answer = client.call(what, ("POST", path, body), 202)?;
    Ok(answer.and_then(|answer| answer.json()["id"].as_i64()))
}

/// Listens until a job is over, and fetches what came of it.
fn follow(site: &Site, client: &mut Client<'_>, path: &str, id: i64) -> Result<()> {
    let events = loop {
        if let Some(events) = client.get("events", &format!("{path}/{id}/events"))? {
            break events.text();
        }
        if site.violations.any() {
            return Ok(());
        }
    };
    let last = events.lines().filter_map(|line| line.strip_prefix("data:")).next_back();
    let state: Value = last.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    if state["state"] != "done" {
        site.violations.add(format!("{path}/{id} ended as {state}"));
        return Ok(());
    }
    client.get("result", &format!("{path}/{id}/result"))?;
    Ok(())
}

/// Reads what was captured since the last time.
#[derive(Debug)]
pub(super) struct Collector<'a> {
    client: Client<'a>,
    after: u64,
    /// Rows that were read.
    pub(super) rows: u64,
}

impl<'a> Collector<'a> {
    pub(super) fn new(site: &'a Site) -> Result<Self> {
        Ok(Self { client: Client::new(site), after: 0, rows: 0 })
    }

    /// Collects until it is time to go home.
    pub(super) fn collect(&mut self, site: &Site, mut rng: Rng) -> Result<()> {
        while !site.is_over() {
            self.take(site)?;
            site.rest(&mut rng, BETWEEN);
        }
        Ok(())
    }

    /// Every row is new: numbers rise, and none comes again.
    pub(super) fn take(&mut self, site: &Site) -> Result<()> {
        let path = format!("/v1/captures?after_id={}", self.after);
        let Some(answer) = self.client.get("captures", &path)? else { return Ok(()) };
        let mut before = u64::MAX;
        let mut newest = self.after;
        for line in answer.text().lines() {
            let row: Value = serde_json::from_str(line)?;
            let id = row["id"].as_u64().unwrap_or(0);
            if id <= self.after || id >= before || row["remote"] != true {
                site.violations.add(format!("a capture that should not be here: {line}"));
            }
            before = id;
            newest = newest.max(id);
            self.rows += 1;
        }
        self.after = newest;
        Ok(())
    }
}
