//! Random operations against a small model.

use std::collections::BTreeMap;

use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::page::Page;
use gbrain_store::*;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::database::Database;
use crate::fixture::*;

on_both_engines! { random_operations_match_the_model }

#[derive(Debug, Clone)]
enum Op {
    Write(Vec<(u8, u8)>),
    Delete(Vec<u8>),
    Restore(u8),
    Purge(u8),
    RemoveSource,
    AddSource,
    Trust(bool),
}

/// Every version of a page, `None` for a deletion.
#[derive(Debug, Default)]
struct Model {
    pages: BTreeMap<PageKey, Vec<Option<Page>>>,
    generation: i64,
    has_wiki: bool,
    trusted: bool,
}

/// One of eight names in two sources.
fn name(n: u8) -> String {
    format!("{}::p{}", if n.is_multiple_of(2) { "default" } else { "wiki" }, n % 8)
}

fn page(n: u8, text: u8) -> Page {
    match text % 3 {
        0 => full(&name(n), &format!("text {text}")),
        _ => plain(&name(n), &format!("text {text}")),
    }
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let n = 0..8u8;
    let op = prop_oneof![
        6 => prop::collection::vec((n.clone(), 0..4u8), 1..5).prop_map(Op::Write),
        3 => prop::collection::vec(n.clone(), 1..4).prop_map(Op::Delete),
        2 => n.clone().prop_map(Op::Restore),
        2 => n.prop_map(Op::Purge),
        1 => Just(Op::RemoveSource),
        2 => Just(Op::AddSource),
        1 => any::<bool>().prop_map(Op::Trust),
    ];
    prop::collection::vec(op, 1..25)
}

impl Model {
    fn live(&self) -> impl Iterator<Item = &Page> {
        self.pages.values().filter_map(|versions| versions.last()?.as_ref())
    }

    fn is_live(&self, key: &PageKey) -> bool {
        self.pages.get(key).is_some_and(|versions| versions.last().is_some_and(Option::is_some))
    }

    fn push(&mut self, key: &PageKey, page: Option<Page>) {
        self.generation += 1;
        self.pages.entry(key.clone()).or_default().push(page);
    }

    fn has_source(&self, key: &PageKey) -> bool {
        self.has_wiki || key.source == SourceId::default()
    }

    fn write(&mut self, pages: &[Page]) -> Option<Vec<(WriteKind, u32)>> {
        if !pages.iter().all(|page| self.has_source(&page.key)) {
            return None;
        }
        Some(pages.iter().map(|page| self.write_one(page)).collect())
    }

    fn write_one(&mut self, page: &Page) -> (WriteKind, u32) {
        let versions = self.pages.get(&page.key);
        let kind = match versions.map(|versions| versions.last().unwrap()) {
            None => WriteKind::Added,
            Some(None) => WriteKind::Restored,
            Some(Some(old)) if old == page => WriteKind::Unchanged,
            Some(Some(_)) => WriteKind::Changed,
        };
        if kind != WriteKind::Unchanged {
            self.push(&page.key, Some(page.clone()));
        }
        (kind, self.pages[&page.key].len() as u32)
    }

    fn delete(&mut self, key: &PageKey) -> bool {
        let was_live = self.is_live(key);
        if was_live {
            self.push(key, None);
        }
        was_live
    }
}

/// Applies one operation to both and compares the outcomes.
fn step(store: &Store, ws: &WorkspaceId, model: &mut Model, op: &Op) -> Result<(), TestCaseError> {
    let wiki = SourceId::new("wiki").unwrap();
    match op {
        Op::Write(list) => {
            let pages: Vec<Page> = list.iter().map(|(n, text)| page(*n, *text)).collect();
            let writes: Vec<_> =
                pages.iter().map(|page| PageWrite { page, origin: None }).collect();
            let said = store.write_pages(ws, &writes, at(1)).ok();
            let said = said.map(|said| said.iter().map(|o| (o.kind, o.version)).collect());
            prop_assert_eq!(said, model.write(&pages));
        }
        Op::Delete(list) => {
            let keys: Vec<PageKey> = list.iter().map(|n| key(&name(*n))).collect();
            let said = store.delete_pages(ws, &keys, at(2)).unwrap();
            for (key, outcome) in keys.iter().zip(said) {
                let deleted = matches!(outcome, DeleteOutcome::Deleted(_));
                prop_assert_eq!(deleted, model.delete(key));
            }
        }
        Op::Restore(n) => {
            let key = key(&name(*n));
            let said = store.restore_page(ws, &key, at(3));
            let possible = model.pages.contains_key(&key);
            prop_assert_eq!(
                said.is_ok(),
                possible && (model.has_source(&key) || model.is_live(&key))
            );
            if said.is_ok() && !model.is_live(&key) {
                let versions = &model.pages[&key];
                let last = versions[versions.len() - 2].clone();
                model.push(&key, last);
            }
        }
        Op::Purge(n) => {
            let key = key(&name(*n));
            let said =
                store.purge_page(ws, &key, at(4)).ok().map(|purged| purged.versions as usize);
            prop_assert_eq!(said, model.pages.get(&key).map(Vec::len));
            model.generation += i64::from(model.pages.remove(&key).is_some());
        }
        Op::AddSource => {
            let said = store.add_source(ws, &wiki, "Wiki", SourceTrust::Trusted, at(5));
            prop_assert_eq!(said.is_ok(), !model.has_wiki);
            model.generation += i64::from(!model.has_wiki);
            model.has_wiki = true;
        }
        Op::RemoveSource => {
            let said = store.remove_source(ws, &wiki, SourceRemovalMode::Cascade, at(6));
            prop_assert_eq!(said.is_ok(), model.has_wiki);
            let keys: Vec<_> =
                model.pages.keys().filter(|key| key.source == wiki).cloned().collect();
            let deleted = keys.iter().filter(|key| model.delete(key)).count() as u64;
            prop_assert_eq!(said.unwrap_or(0), deleted);
            model.generation += i64::from(model.has_wiki);
            model.has_wiki = false;
        }
        Op::Trust(trusted) => {
            let trust = if *trusted { SourceTrust::Trusted } else { SourceTrust::Untrusted };
            store.set_source_trust(ws, &SourceId::default(), trust, at(7)).unwrap();
            model.generation += i64::from(model.trusted != *trusted);
            model.trusted = *trusted;
        }
    }
    Ok(())
}

/// Compares everything that can be read.
fn compare(store: &Store, ws: &WorkspaceId, model: &Model) -> Result<(), TestCaseError> {
    let live: Vec<&Page> = model.live().collect();
    let head = store.head(ws).unwrap();
    prop_assert_eq!(head.generation.0, model.generation);
    prop_assert_eq!(head.pages, live.len() as u64);
    prop_assert_eq!(head.chunks, live.iter().map(|page| page.chunks.len() as u64).sum::<u64>());
    prop_assert_eq!(head.root, root(live.iter().copied()));
    let listed = store.list(ws, &PageFilter::default(), None, 100).unwrap();
    let listed: Vec<_> = listed.into_iter().map(|info| info.key).collect();
    prop_assert_eq!(&listed, &live.iter().map(|page| page.key.clone()).collect::<Vec<_>>());
    let pages = store.pages(ws, &listed).unwrap();
    prop_assert!(pages.iter().map(|found| &found.as_ref().unwrap().page).eq(live.iter().copied()));
    for (key, versions) in &model.pages {
        for (at, page) in versions.iter().enumerate() {
            let stored = store.page_at_version(ws, key, at as u32 + 1).unwrap();
            prop_assert_eq!(&stored.map(|stored| stored.page), page);
        }
    }
    prop_assert_eq!(store.check(ws).unwrap(), vec![]);
    Ok(())
}

/// Follows the feed from the start in batches; every root on the way must be right.
fn follow(store: &Store, ws: &WorkspaceId, limit: usize) -> Result<(), TestCaseError> {
    let mut pages: BTreeMap<_, Page> = BTreeMap::new();
    let mut after = Default::default();
    loop {
        let batch = store.changes(ws, after, limit, 1 << 20).unwrap();
        pages.retain(|id, _| !batch.removals.contains(id));
        pages.extend(batch.upserts.into_iter().map(|stored| (stored.id, stored.page)));
        let real =
            pages.values().fold(Hash::default(), |root, page| root.toggle(page.fingerprint()));
        prop_assert_eq!((real, pages.len() as u64), (batch.root, batch.pages));
        after = batch.upto;
        if batch.upto == batch.head {
            return Ok(());
        }
    }
}

fn random_operations_match_the_model(db: &Database) {
    let store = db.open();
    let cases = if matches!(db, Database::Sqlite(_)) { 40 } else { 16 };
    let mut runner =
        TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let result = runner.run(&(ops(), 1..7usize), |(ops, limit)| {
        let ws = WorkspaceId::new(&format!("w{:08x}", fastrand::u32(..))).unwrap();
        store.add_workspace(&ws, at(0)).unwrap();
        let mut model = Model { trusted: true, ..Model::default() };
        for op in &ops {
            step(&store, &ws, &mut model, op)?;
        }
        compare(&store, &ws, &model)?;
        follow(&store, &ws, limit)?;
        store.remove_workspace(&ws).unwrap();
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
