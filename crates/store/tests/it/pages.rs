//! Writing, reading, deleting and restoring pages.

use gbrain_core::id::{Generation, SourceId, WorkspaceId};
use gbrain_core::page::{DERIVE_VERSION, PageKind};
use gbrain_core::request::Viewer;
use gbrain_store::{
    DeleteOutcome, PageVersion, PageWrite, StoreError, VersionOp, WriteKind, WriteOutcome,
};

use crate::database::Database;
use crate::fixture::*;

on_both_engines! {
    a_page_comes_back_as_it_was,
    unchanged_pages_are_left_alone,
    an_unchanged_batch_opens_no_write_transaction,
    a_damaged_text_is_written_again,
    a_damaged_text_is_not_restored,
    a_page_may_come_twice_in_a_batch,
    a_page_is_written_only_at_the_version_that_was_read,
    origins_follow_the_last_write,
    deletion_and_restoration,
    history_keeps_every_version,
    an_older_derivation_is_written_again,
    another_kind_is_another_version,
    many_pages_at_once,
    unknown_names_are_errors,
}

fn a_page_comes_back_as_it_was(db: &Database) {
    let store = db.open();
    let mut page = full("people/ada", "# Ada\n\nworks at [[acme]] 🦀");
    page.warnings.push("not stored".to_owned());
    let outcome = write(&store, &[&page], 1)[0];
    assert_eq!((outcome.kind, outcome.version), (WriteKind::Added, 1));
    let stored = store.page(&ws(), &page.key).unwrap().unwrap();
    assert_eq!((stored.id, stored.version), (outcome.id, 1));
    assert_eq!(stored.generation, outcome.generation);
    page.warnings.clear();
    assert_eq!(stored.page, page);
    assert_eq!(store.page(&ws(), &key("people/bob")).unwrap(), None);
    let at = PageVersion { id: outcome.id, version: 1 };
    let missing = PageVersion { id: outcome.id, version: 9 };
    let texts = store.texts(&ws(), &[missing, at]).unwrap();
    assert_eq!(texts, [None, Some(page.content)]);
    assert_sound(&store);
}

fn unchanged_pages_are_left_alone(db: &Database) {
    let store = db.open();
    let (a, b) = (plain("a", "one"), plain("b", "two"));
    let first = write(&store, &[&a, &b], 1);
    let head = store.head(&ws()).unwrap();
    let again = write(&store, &[&b, &a], 2);
    assert!(again.iter().all(|outcome| outcome.kind == WriteKind::Unchanged));
    assert_eq!(again[1].generation, first[0].generation);
    assert_eq!(store.head(&ws()).unwrap(), head);
    let b2 = plain("b", "two, changed");
    let mixed = write(&store, &[&a, &b2], 3);
    assert_eq!(mixed[0].kind, WriteKind::Unchanged);
    assert_eq!((mixed[1].kind, mixed[1].version), (WriteKind::Changed, 2));
    assert_eq!(store.head(&ws()).unwrap().root, root([&a, &b2]));
    assert_sound(&store);
}

fn an_unchanged_batch_opens_no_write_transaction(db: &Database) {
    let store = db.open();
    let page = plain("a", "one");
    write(&store, &[&page], 1);
    // Another process holds the write lock: a write transaction would have to wait for it.
    let mut other = db.connect();
    other.begin_write(&ws());
    assert_eq!(write(&store, &[&page], 2)[0].kind, WriteKind::Unchanged);
    let gone = store.delete_pages(&ws(), &[key("nowhere")], at(3)).unwrap();
    assert_eq!(gone, [DeleteOutcome::Unknown]);
    other.batch("ROLLBACK").unwrap();
}

fn a_damaged_text_is_written_again(db: &Database) {
    let store = db.open();
    let (a, b, chat) = (plain("a", "one"), plain("b", "two"), full("chat", "three"));
    let first = write(&store, &[&a, &b, &chat], 1);
    let versions: Vec<_> = first.iter().map(|of| PageVersion { id: of.id, version: 1 }).collect();
    let missing = PageVersion { id: first[0].id, version: 9 };
    let hashes = store.text_hashes(&ws(), &[versions[1], missing, versions[0]]).unwrap();
    assert_eq!(hashes, [Some(b.content_hash), None, Some(a.content_hash)]);
    let head = store.head(&ws()).unwrap();
    for (page, damaged) in [(1, "0ne"), (3, "thr€€")] {
        db.raw(&format!("UPDATE page_versions SET content = '{damaged}' WHERE page_id = {page}"))
            .unwrap();
    }
    assert_eq!(store.check(&ws()).unwrap().len(), 2);
    // The same text twice is written once.
    let again = write(&store, &[&a, &b, &chat, &a], 2);
    let kinds: Vec<_> = again.iter().map(|of| (of.kind, of.version)).collect();
    let (changed, unchanged) = (WriteKind::Changed, WriteKind::Unchanged);
    assert_eq!(kinds, [(changed, 2), (unchanged, 1), (changed, 2), (unchanged, 2)]);
    for page in [&a, &chat] {
        let history = store.history(&ws(), &page.key).unwrap();
        assert_eq!(history.len(), 2);
        for version in [1, 2] {
            let stored = store.page_at_version(&ws(), &page.key, version).unwrap().unwrap();
            assert_eq!(stored.page.content, page.content);
        }
    }
    let after = store.head(&ws()).unwrap();
    assert_eq!((after.root, after.pages, after.chunks), (head.root, head.pages, head.chunks));
    assert_eq!(after.generation, Generation(head.generation.0 + 2), "the feed tells of it");
    assert_sound(&store);
    let third = write(&store, &[&a, &b, &chat], 3);
    assert!(third.iter().all(|of| of.kind == unchanged));
}

fn a_damaged_text_is_not_restored(db: &Database) {
    let store = db.open();
    let (note, chat) = (plain("note", "one"), full("chat", "two"));
    write(&store, &[&note, &chat], 1);
    store.delete_pages(&ws(), &[note.key.clone(), chat.key.clone()], at(2)).unwrap();
    db.raw("UPDATE page_versions SET content = 'xxx' WHERE content IS NOT NULL").unwrap();
    for page in [&note, &chat] {
        let error = store.restore_page(&ws(), &page.key, at(3)).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert_eq!(write(&store, &[page], 4)[0].kind, WriteKind::Restored);
    }
}

fn a_page_may_come_twice_in_a_batch(db: &Database) {
    let store = db.open();
    let (first, second) = (plain("a", "one"), plain("a", "two"));
    let outcomes = write(&store, &[&first, &second, &second], 1);
    assert_eq!(outcomes.iter().map(|o| o.version).collect::<Vec<_>>(), [1, 2, 2]);
    assert_eq!(outcomes[2].kind, WriteKind::Unchanged);
    assert_eq!(store.page(&ws(), &key("a")).unwrap().unwrap().page, second);
    assert_eq!(store.head(&ws()).unwrap().pages, 1);
    assert_sound(&store);
}

fn a_page_is_written_only_at_the_version_that_was_read(db: &Database) {
    let store = db.open();
    let write_at = |text: &str, version: u32, second: i64| {
        let page = plain("a", text);
        let write = PageWrite { page: &page, origin: None };
        store.write_page_at(Viewer::Untrusted, &ws(), &write, version, at(second))
    };
    let stale = |result: gbrain_store::Result<WriteOutcome>| match result.unwrap_err() {
        StoreError::Stale { key: stale, version } if stale == key("a") => version,
        error => panic!("{error}"),
    };
    assert_eq!(stale(write_at("one", 1, 1)), 0, "there is none yet");
    assert_eq!(write_at("one", 0, 1).unwrap().kind, WriteKind::Added);
    assert_eq!(stale(write_at("two", 0, 2)), 1);
    assert_eq!(write_at("two", 1, 2).unwrap().version, 2);
    assert_eq!(write_at("two", 2, 3).unwrap().kind, WriteKind::Unchanged);
    assert_eq!(stale(write_at("two", 1, 3)), 2, "the same text at another version, too");
    store.delete_pages(&ws(), &[key("a")], at(4)).unwrap();
    assert_eq!(stale(write_at("three", 2, 5)), 3);
    assert_eq!(write_at("three", 3, 5).unwrap().kind, WriteKind::Restored);
    assert_sound(&store);
}

fn origins_follow_the_last_write(db: &Database) {
    let store = db.open();
    let page = plain("a", "one");
    let origin = |second, origin| {
        let write = PageWrite { page: &page, origin };
        store.write_pages(&ws(), &[write], at(second)).unwrap();
        store.digests(&ws(), &SourceId::default()).unwrap()[0].origin.clone()
    };
    assert_eq!(origin(1, Some("/notes/a.md")).as_deref(), Some("/notes/a.md"));
    let head = store.head(&ws()).unwrap();
    assert_eq!(origin(2, Some("/moved/a.md")).as_deref(), Some("/moved/a.md"));
    assert_eq!(origin(3, None), None);
    assert_eq!(store.head(&ws()).unwrap(), head);
}

fn deletion_and_restoration(db: &Database) {
    let store = db.open();
    let (a, b) = (full("a", "one"), plain("b", "two"));
    write(&store, &[&a, &b], 1);
    let keys = [a.key.clone(), key("nowhere"), a.key.clone()];
    let outcomes = store.delete_pages(&ws(), &keys, at(2)).unwrap();
    let deleted = DeleteOutcome::Deleted(Generation(3));
    assert_eq!(outcomes, [deleted, DeleteOutcome::Unknown, DeleteOutcome::AlreadyDeleted]);
    assert_eq!(store.page(&ws(), &a.key).unwrap(), None);
    let head = store.head(&ws()).unwrap();
    assert_eq!((head.pages, head.chunks, head.root), (1, 1, root([&b])));
    assert_sound(&store);

    let restored = store.restore_page(&ws(), &a.key, at(3)).unwrap();
    assert_eq!((restored.kind, restored.version), (WriteKind::Restored, 3));
    assert_eq!(store.page(&ws(), &a.key).unwrap().unwrap().page, a);
    assert_eq!(store.head(&ws()).unwrap().root, root([&a, &b]));
    let again = store.restore_page(&ws(), &a.key, at(4)).unwrap();
    assert_eq!(again.kind, WriteKind::Unchanged);
    assert_sound(&store);

    store.delete_pages(&ws(), std::slice::from_ref(&a.key), at(5)).unwrap();
    assert_eq!(write(&store, &[&a], 6)[0].kind, WriteKind::Restored);
    assert_eq!(store.head(&ws()).unwrap().root, root([&a, &b]));
    assert_sound(&store);
}

fn history_keeps_every_version(db: &Database) {
    let store = db.open();
    let (one, two) = (full("a", "one"), plain("a", "two"));
    write(&store, &[&one], 1);
    write(&store, &[&two], 2);
    store.delete_pages(&ws(), &[key("a")], at(3)).unwrap();
    store.restore_page(&ws(), &key("a"), at(4)).unwrap();
    let history = store.history(&ws(), &key("a")).unwrap();
    let ops: Vec<VersionOp> = history.iter().map(|version| version.op).collect();
    assert_eq!(ops, [VersionOp::Write, VersionOp::Write, VersionOp::Delete, VersionOp::Restore]);
    assert_eq!(history[1].created_at, at(2));
    assert_eq!((history[0].bytes, history[0].chunks, history[2].bytes), (3, 3, 0));
    assert_eq!(history.iter().map(|v| v.generation.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let past = |version| store.page_at_version(&ws(), &key("a"), version).unwrap();
    assert_eq!(past(1).unwrap().page, one);
    assert_eq!(past(2).unwrap().page, two);
    assert_eq!(past(3), None);
    assert_eq!(past(4).unwrap().page, two);
    assert_eq!(past(5), None);
    assert_eq!(store.history(&ws(), &key("nowhere")).unwrap(), []);
    assert_eq!(store.page_at_version(&ws(), &key("nowhere"), 1).unwrap(), None);
}

fn an_older_derivation_is_written_again(db: &Database) {
    let store = db.open();
    let page = plain("a", "one");
    write(&store, &[&page], 1);
    let older = DERIVE_VERSION - 1;
    db.raw(&format!(
        "UPDATE pages SET derive_version = {older}; UPDATE page_versions SET derive_version = {older}"
    ))
    .unwrap();
    assert_eq!(store.digests(&ws(), &SourceId::default()).unwrap()[0].derive_version, older);
    assert_eq!(write(&store, &[&page], 2)[0].kind, WriteKind::Changed);
}

fn another_kind_is_another_version(db: &Database) {
    let store = db.open();
    let mut page = plain("a", "one");
    write(&store, &[&page], 1);
    page.kind = PageKind::Text;
    assert_eq!(write(&store, &[&page], 2)[0].kind, WriteKind::Changed);
    assert_eq!(store.page(&ws(), &key("a")).unwrap().unwrap().page, page);
    assert_sound(&store);
}

fn many_pages_at_once(db: &Database) {
    let store = db.open();
    let pages: Vec<_> = (0..300).map(|n| full(&format!("p/{n}"), &format!("text {n}"))).collect();
    write(&store, &pages.iter().collect::<Vec<_>>(), 1);
    let mut keys: Vec<_> = pages.iter().rev().map(|page| page.key.clone()).collect();
    keys.insert(7, key("nowhere"));
    let found = store.pages(&ws(), &keys).unwrap();
    assert_eq!(found[7], None);
    let found: Vec<_> = found.into_iter().flatten().map(|stored| stored.page).collect();
    assert!(found.iter().rev().eq(&pages));
    assert_eq!(store.pages(&ws(), &[]).unwrap(), []);
    assert_eq!(write(&store, &[], 2), []);
}

fn unknown_names_are_errors(db: &Database) {
    let store = db.open();
    let other = WorkspaceId::new("other").unwrap();
    let page = plain("a", "one");
    let writes = [PageWrite { page: &page, origin: None }];
    let error = store.write_pages(&other, &writes, at(1)).unwrap_err();
    assert!(matches!(error, StoreError::UnknownWorkspace(id) if id == other));
    assert!(matches!(store.head(&other), Err(StoreError::UnknownWorkspace(_))));
    assert!(matches!(store.page(&other, &page.key), Err(StoreError::UnknownWorkspace(_))));
    let stray = plain("wiki::a", "one");
    let writes =
        [PageWrite { page: &page, origin: None }, PageWrite { page: &stray, origin: None }];
    let error = store.write_pages(&ws(), &writes, at(1)).unwrap_err();
    assert!(matches!(&error, StoreError::UnknownSource(id) if id.as_str() == "wiki"));
    assert!(error.to_string().contains("gbrain sources add wiki"), "{error}");
    assert_eq!(store.head(&ws()).unwrap().pages, 0, "all or nothing");
    let missing = store.restore_page(&ws(), &key("nowhere"), at(1)).unwrap_err();
    assert!(matches!(missing, StoreError::NotFound(_)));
    let missing = store.purge_page(&ws(), &key("nowhere"), at(1)).unwrap_err();
    assert_eq!(missing.to_string(), "there is no page default::nowhere");
}
