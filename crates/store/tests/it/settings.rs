//! Workspaces, sources and settings.

use gbrain_core::id::{Generation, SourceId, WorkspaceId};
use gbrain_store::{PageWrite, SourceRemovalMode, SourceTrust, StoreError};

use crate::database::Database;
use crate::fixture::*;

on_both_engines! {
    workspaces_are_apart,
    a_removed_workspace_is_gone,
    sources_come_and_go,
    trust_is_told_to_the_feed,
    settings_are_kept,
}

fn workspaces_are_apart(db: &Database) {
    let store = db.open();
    let team = WorkspaceId::new("team-1").unwrap();
    store.add_workspace(&team, at(1)).unwrap();
    assert!(matches!(store.add_workspace(&team, at(1)), Err(StoreError::WorkspaceExists(_))));
    let (ours, theirs) = (plain("a", "ours"), plain("a", "theirs"));
    write(&store, &[&ours], 2);
    store.write_pages(&team, &[PageWrite { page: &theirs, origin: None }], at(2)).unwrap();
    store.config_set(&team, "k", "v").unwrap();
    assert_eq!(store.page(&ws(), &ours.key).unwrap().unwrap().page, ours);
    assert_eq!(store.page(&team, &ours.key).unwrap().unwrap().page, theirs);
    assert_eq!(store.config_get(&ws(), "k").unwrap(), None);
    assert_eq!(store.head(&team).unwrap().root, root([&theirs]));
    let listed = store.workspaces().unwrap();
    let ids: Vec<&str> = listed.iter().map(|workspace| workspace.id.as_str()).collect();
    assert_eq!(ids, ["default", "team-1"]);
    assert_eq!((listed[0].created_at, listed[1].created_at), (at(0), at(1)));
    assert_eq!(listed[1].head.pages, 1);
    assert_eq!(store.check(&team).unwrap(), []);
}

fn a_removed_workspace_is_gone(db: &Database) {
    let store = db.open();
    let team = WorkspaceId::new("team").unwrap();
    store.add_workspace(&team, at(1)).unwrap();
    store.write_pages(&team, &[PageWrite { page: &full("a", "x"), origin: None }], at(2)).unwrap();
    store.remove_workspace(&team).unwrap();
    assert!(matches!(store.head(&team), Err(StoreError::UnknownWorkspace(_))));
    assert!(matches!(store.remove_workspace(&team), Err(StoreError::UnknownWorkspace(_))));
    let kept = store.remove_workspace(&ws()).unwrap_err();
    assert_eq!(kept.to_string(), "the workspace `default` cannot be removed");
    store.add_workspace(&team, at(3)).unwrap();
    assert_eq!(store.head(&team).unwrap().generation, Generation(0));
    assert_eq!(store.page(&team, &key("a")).unwrap(), None);
    assert_eq!(store.sources(&team).unwrap().len(), 1);
}

fn sources_come_and_go(db: &Database) {
    let store = db.open();
    let default = store.sources(&ws()).unwrap().remove(0);
    assert_eq!((default.id, default.trust), (SourceId::default(), SourceTrust::Trusted));
    let wiki = SourceId::new("wiki").unwrap();
    store.add_source(&ws(), &wiki, "The wiki", SourceTrust::Untrusted, at(1)).unwrap();
    let again = store.add_source(&ws(), &wiki, "x", SourceTrust::Trusted, at(1));
    assert!(matches!(again, Err(StoreError::SourceExists(_))));
    let page = plain("wiki::a", "one");
    write(&store, &[&page, &plain("b", "two")], 2);
    let refused =
        store.remove_source(&ws(), &wiki, SourceRemovalMode::OnlyEmpty, at(3)).unwrap_err();
    assert!(matches!(refused, StoreError::SourceInUse { pages: 1, .. }), "{refused}");
    assert_eq!(store.remove_source(&ws(), &wiki, SourceRemovalMode::Cascade, at(3)).unwrap(), 1);
    assert_eq!(store.sources(&ws()).unwrap().len(), 1);
    assert_eq!(store.page(&ws(), &page.key).unwrap(), None);
    assert_eq!(store.history(&ws(), &page.key).unwrap().len(), 2, "history stays");
    let restored = store.restore_page(&ws(), &page.key, at(4));
    assert!(matches!(restored, Err(StoreError::UnknownSource(_))));
    assert_sound(&store);

    store.add_source(&ws(), &wiki, "Again", SourceTrust::Trusted, at(5)).unwrap();
    store.restore_page(&ws(), &page.key, at(6)).unwrap();
    assert_eq!(store.page(&ws(), &page.key).unwrap().unwrap().page, page);
    let default =
        store.remove_source(&ws(), &SourceId::default(), SourceRemovalMode::Cascade, at(7));
    assert!(matches!(default, Err(StoreError::Protected { .. })));
    let none =
        store.remove_source(&ws(), &SourceId::new("x").unwrap(), SourceRemovalMode::Cascade, at(7));
    assert!(matches!(none, Err(StoreError::UnknownSource(_))));
    assert_sound(&store);
}

fn trust_is_told_to_the_feed(db: &Database) {
    let store = db.open();
    let id = SourceId::default();
    let generation = || store.head(&ws()).unwrap().generation.0;
    store.set_source_trust(&ws(), &id, SourceTrust::Trusted, at(1)).unwrap();
    assert_eq!(generation(), 0, "nothing new");
    store.set_source_trust(&ws(), &id, SourceTrust::Untrusted, at(1)).unwrap();
    assert_eq!(generation(), 1);
    assert_eq!(store.sources(&ws()).unwrap()[0].trust, SourceTrust::Untrusted);
    let batch = store.changes(&ws(), Generation(0), 10, 1000).unwrap();
    assert!(batch.sources_changed && batch.upserts.is_empty());
    let none =
        store.set_source_trust(&ws(), &SourceId::new("x").unwrap(), SourceTrust::Trusted, at(1));
    assert!(matches!(none, Err(StoreError::UnknownSource(_))));
}

fn settings_are_kept(db: &Database) {
    let store = db.open();
    assert_eq!(store.config_get(&ws(), "search.limit").unwrap(), None);
    store.config_set(&ws(), "search.limit", "10").unwrap();
    store.config_set(&ws(), "Zoo", "ä").unwrap();
    store.config_set(&ws(), "search.limit", "20").unwrap();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let listed = store.config_list(&ws()).unwrap();
    assert_eq!(listed, [pair("Zoo", "ä"), pair("search.limit", "20")]);
    assert!(store.config_unset(&ws(), "Zoo").unwrap());
    assert!(!store.config_unset(&ws(), "Zoo").unwrap());
    assert!(matches!(store.config_set(&ws(), "a", "\0"), Err(StoreError::Nul { .. })));
    assert_eq!(store.head(&ws()).unwrap().generation, Generation(0), "not part of the corpus");
}
