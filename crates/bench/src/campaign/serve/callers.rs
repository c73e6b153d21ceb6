//! The callers: services over HTTP, an agent over MCP, and crowds that exceed the limits.

use std::time::Duration;

use anyhow::Result;
use fastrand::Rng;
use gbrain_core::hash::Hash;
use serde_json::json;

use super::site::{Client, Site, address};
use crate::campaign::ledger::{Change, Ledger};
use crate::campaign::tree::{self, Tree};

/// Pages of one writer.
const NOTES: usize = 60;
/// How many call at once in a burst: more than take turns and wait.
pub(super) const CROWD: usize = 160;
/// How long a caller thinks between two requests, at most.
const THINKING: Duration = Duration::from_millis(40);

/// Asks about pages that never change, and finds them.
pub(super) fn ask(site: &Site, stable: &Tree, mut rng: Rng) -> Result<()> {
    let mut client = Client::new(site);
    while !site.is_over() {
        let Some((slug, text)) = rng.choice(stable.pages()) else { return Ok(()) };
        let marker = tree::marker(text).unwrap_or_default();
        let answer = match rng.u8(..3) {
            0 => client.ask("search", "/v1/search", marker)?,
            1 => client.ask("query", "/v1/query", marker)?,
            _ => {
                client.ask("query", "/v1/query", &format!("what depends on {slug}?"))?;
                None
            }
        };
        if let Some(answer) = answer
            && answer["hits"][0]["slug"] != slug.as_str()
        {
            site.violations.add(format!("{slug} is not found by {marker}"));
        }
        site.rest(&mut rng, THINKING);
    }
    Ok(())
}

pub(super) fn read(site: &Site, stable: &Tree, mut rng: Rng) -> Result<()> {
    let mut client = Client::new(site);
    while !site.is_over() {
        let Some((slug, text)) = rng.choice(stable.pages()) else { return Ok(()) };
        let page = address(slug);
        match rng.u8(..10) {
            0 => client.get("links", &format!("{page}/links"))?,
            1 => client.get("history", &format!("{page}/history"))?,
            2 => client.get("list pages", "/v1/pages?limit=100")?,
            3 => client.get("sources", "/v1/sources")?,
            4 => client.get("eval status", "/v1/eval/status")?,
            5 => client.get("metrics", "/metrics")?,
            6 => client.get("ready", "/v1/ready")?,
            7 => client.get("jobs", "/v1/jobs?limit=20")?,
            _ => {
                let answer = client.get("get page", &page)?;
                if answer.as_ref().is_some_and(|a| a.json()["content"] != text.as_str()) {
                    site.violations.add(format!("{slug} has another text"));
                }
                answer
            }
        };
        site.rest(&mut rng, THINKING);
    }
    Ok(())
}

/// Puts and deletes its own pages, and reads what it wrote.
pub(super) fn write(site: &Site, name: &str, mut rng: Rng, ledger: &mut Ledger) -> Result<()> {
    let mut client = Client::new(site);
    let mut count = 0;
    while !site.is_over() {
        count += 1;
        let page = format!("{name}/note-{}", rng.usize(..NOTES));
        let is_put = matches!(ledger.certain(&page), Some(Change::Put(_)));
        if is_put && rng.u8(..6) == 0 {
            delete(&mut client, ledger, &page)?;
        } else {
            let text = tree::page(&mut rng, &page, &format!("{name}x{count}"));
            if put(&mut client, "put", ledger, &page, &text)? {
                read_back(site, &mut client, &page, &text, rng.u8(..4) == 0)?;
            }
        }
        site.rest(&mut rng, THINKING);
    }
    Ok(())
}

/// Puts a page, and tells whether that was acknowledged.
fn put(
    client: &mut Client<'_>,
    what: &'static str,
    ledger: &mut Ledger,
    page: &str,
    text: &str,
) -> Result<bool> {
    let body = json!({ "content": text }).to_string();
    ledger.begin(page, Change::Put(Hash::of(text.as_bytes())));
    let answer = client.call(what, ("PUT", &address(page), &body), 200)?;
    match &answer {
        Some(answer) => ledger.acknowledge(page, version(&answer.json())),
        None => ledger.withdraw(page),
    }
    Ok(answer.is_some())
}

fn delete(client: &mut Client<'_>, ledger: &mut Ledger, page: &str) -> Result<()> {
    ledger.begin(page, Change::Delete);
    if client.call("delete", ("DELETE", &address(page), ""), 200)?.is_none() {
        ledger.withdraw(page);
        return Ok(());
    }
    ledger.acknowledge(page, None);
    client.call("get deleted", ("GET", &address(page), ""), 404)?;
    Ok(())
}

fn version(answer: &serde_json::Value) -> Option<u32> {
    answer["version"].as_u64().and_then(|version| u32::try_from(version).ok())
}

/// A page that was put is read as it was put, and found unless the answer says that it is behind.
fn read_back(
    site: &Site,
    client: &mut Client<'_>,
    page: &str,
    text: &str,
    is_searched: bool,
) -> Result<()> {
    let answer = client.get("get page", &address(page))?;
    if answer.is_some_and(|answer| answer.json()["content"] != text) {
        site.violations.add(format!("{page} is not read as it was put"));
    }
    if !is_searched {
        return Ok(());
    }
    let marker = tree::marker(text).unwrap_or_default();
    let Some(answer) = client.ask("search", "/v1/search", marker)? else { return Ok(()) };
    if answer["hits"][0]["slug"] != page && answer["served"]["behind"] == 0 {
        site.violations.add(format!("{page} is not found after it was put"));
    }
    Ok(())
}

/// An agent: tools, with pages of its own.
pub(super) fn converse(
    site: &Site,
    stable: &Tree,
    mut rng: Rng,
    ledger: &mut Ledger,
) -> Result<()> {
    let mut client = Client::new(site);
    let mut count = 0;
    while !site.is_over() {
        count += 1;
        let Some((slug, text)) = rng.choice(stable.pages()) else { return Ok(()) };
        let page = format!("agent/note-{}", rng.usize(..NOTES));
        let marker = tree::marker(text).unwrap_or_default();
        match rng.u8(..8) {
            0 | 1 => client.tool("tool query", "query", &json!({ "query": marker }))?,
            2 => client.tool("tool search", "search", &json!({ "query": marker }))?,
            3 => client.tool("tool get_page", "get_page", &json!({ "page": slug }))?,
            4 => client.tool("tool list_pages", "list_pages", &json!({ "limit": 20 }))?,
            5 => client.tool("tool links", "links", &json!({ "page": slug }))?,
            6 => client.tool("tool eval_status", "eval_status", &json!({}))?,
            _ => {
                let text = tree::page(&mut rng, &page, &format!("agent{count}"));
                ledger.begin(&page, Change::Put(Hash::of(text.as_bytes())));
                let arguments = json!({ "page": page, "content": text });
                let said = client.tool("tool put_page", "put_page", &arguments)?;
                match &said {
                    Some(said) => ledger.acknowledge(&page, version(said)),
                    None => ledger.withdraw(&page),
                }
                said
            }
        };
        site.rest(&mut rng, THINKING);
    }
    Ok(())
}

/// Crowds that come at once: by turns to ask, and to write a page each.
pub(super) fn crowd(site: &Site, every: Duration, mut rng: Rng, ledger: &mut Ledger) -> Result<()> {
    let mut ledgers: Vec<Ledger> = (0..CROWD).map(|_| Ledger::default()).collect();
    let mut count = 0;
    while !site.is_over() {
        site.rest(&mut rng, every);
        count += 1;
        let seed = rng.u64(..);
        site.burst(|| {
            std::thread::scope(|scope| {
                for (number, ledger) in ledgers.iter_mut().enumerate() {
                    let rng = Rng::with_seed(seed + number as u64);
                    scope.spawn(move || {
                        let done = come(site, ledger, (number, count), rng);
                        site.violations.note("one of a crowd", done);
                    });
                }
            });
        });
    }
    ledgers.into_iter().for_each(|one| ledger.join(one));
    Ok(())
}

fn come(
    site: &Site,
    ledger: &mut Ledger,
    (number, count): (usize, usize),
    mut rng: Rng,
) -> Result<()> {
    let mut client = Client::new(site);
    if count % 2 == 1 {
        for _ in 0..2 {
            client.ask("query of a crowd", "/v1/query", "which harbour has a lantern?")?;
        }
        return Ok(());
    }
    let page = format!("crowd/note-{number}");
    let text = tree::page(&mut rng, &page, &format!("crowd{number}x{count}"));
    put(&mut client, "put of a crowd", ledger, &page, &text)?;
    Ok(())
}
