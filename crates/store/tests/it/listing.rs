//! Lists: byte order, paging, filters.

use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::{Page, Visibility};
use gbrain_store::{PageFilter, PageInfo, SourceTrust, Store};

use crate::database::Database;
use crate::fixture::*;

on_both_engines! {
    lists_are_ordered_by_bytes,
    pages_of_a_list_join_up,
    filters_narrow,
    digests_are_ordered_and_tell_deletions,
    stats_count,
    what_everybody_may_see_is_told_apart,
}

/// Slugs whose byte order differs from language collations.
const SLUGS: [&str; 8] = ["Zed", "a b", "a-b", "a/b", "ab", "zed", "Ärger", "日本/語"];

fn filled(db: &Database) -> Store {
    let store = db.open();
    for source in ["wiki", "a-b", "a1"] {
        let id = SourceId::new(source).unwrap();
        store.add_source(&ws(), &id, source, SourceTrust::Untrusted, at(0)).unwrap();
    }
    let mut pages = Vec::new();
    for source in ["wiki", "default", "a1", "a-b"] {
        for slug in SLUGS.iter().rev() {
            pages.push(plain(&format!("{source}::{slug}"), slug));
        }
    }
    write(&store, &pages.iter().collect::<Vec<_>>(), 1);
    store
}

fn keys(infos: &[PageInfo]) -> Vec<PageKey> {
    infos.iter().map(|info| info.key.clone()).collect()
}

fn lists_are_ordered_by_bytes(db: &Database) {
    let store = filled(db);
    let listed = keys(&store.list(&ws(), &PageFilter::default(), None, 1000).unwrap());
    assert_eq!(listed.len(), 32);
    let mut sorted = listed.clone();
    sorted.sort();
    assert_eq!(listed, sorted);
    let sources: Vec<_> = store.sources(&ws()).unwrap().into_iter().map(|s| s.id).collect();
    assert!(sources.is_sorted());
    assert_eq!(sources.len(), 4);
}

fn pages_of_a_list_join_up(db: &Database) {
    let store = filled(db);
    let filter = PageFilter::default();
    let whole = keys(&store.list(&ws(), &filter, None, 1000).unwrap());
    for limit in [1, 3, 7, 32, 33] {
        let mut joined: Vec<PageKey> = Vec::new();
        loop {
            let part = store.list(&ws(), &filter, joined.last(), limit).unwrap();
            assert!(part.len() <= limit);
            if part.is_empty() {
                break;
            }
            joined.extend(keys(&part));
        }
        assert_eq!(joined, whole, "limit {limit}");
    }
    assert_eq!(store.list(&ws(), &filter, None, 0).unwrap(), []);
}

fn filters_narrow(db: &Database) {
    let store = filled(db);
    let person = full("people/ada", "Ada");
    write(&store, &[&person, &plain("people/bob", "Bob")], 2);
    store.delete_pages(&ws(), &[key("people/bob")], at(3)).unwrap();
    let list = |filter: PageFilter| keys(&store.list(&ws(), &filter, None, 1000).unwrap());
    let none = PageFilter::default();
    let source = Some(SourceId::new("a1").unwrap());
    let of_source = list(PageFilter { source: source.clone(), ..none.clone() });
    assert_eq!(of_source.len(), 8);
    assert!(of_source.iter().all(|key| Some(&key.source) == source.as_ref()));
    let ada = vec![key("people/ada")];
    assert_eq!(list(PageFilter { page_type: Some("person".into()), ..none.clone() }), ada);
    for tag in &person.tags {
        assert_eq!(list(PageFilter { tag: Some(tag.clone()), ..none.clone() }), ada, "{tag}");
    }
    assert_eq!(list(PageFilter { tag: Some("gr".into()), ..none.clone() }), []);
    assert_eq!(list(PageFilter { prefix: Some("people/".into()), ..none.clone() }), ada);
    assert_eq!(list(PageFilter { prefix: Some("日".into()), ..none.clone() }).len(), 4);
    assert_eq!(list(PageFilter { prefix: Some("%".into()), ..none.clone() }), []);
    let deleted = PageFilter { prefix: Some("people/".into()), include_deleted: true, ..none };
    let infos = store.list(&ws(), &deleted, None, 10).unwrap();
    assert_eq!(infos.iter().map(|i| i.deleted_at).collect::<Vec<_>>(), [None, Some(at(3))]);
    let info = &infos[0];
    assert_eq!((&info.title, &info.tags), (&person.title, &person.tags));
    assert_eq!((info.created_at, info.chunks, info.version), (at(2), 3, 1));
    let after = list_after(&store, source, "wiki::Zed");
    assert_eq!(after, [], "a filter behind the start");
}

fn list_after(store: &Store, source: Option<SourceId>, after: &str) -> Vec<PageKey> {
    let filter = PageFilter { source, ..PageFilter::default() };
    keys(&store.list(&ws(), &filter, Some(&key(after)), 10).unwrap())
}

fn digests_are_ordered_and_tell_deletions(db: &Database) {
    let store = filled(db);
    store.delete_pages(&ws(), &[key("wiki::ab")], at(2)).unwrap();
    let wiki = SourceId::new("wiki").unwrap();
    let digests = store.digests(&ws(), &wiki).unwrap();
    let slugs: Vec<&str> = digests.iter().map(|digest| digest.slug.as_str()).collect();
    assert_eq!(slugs, SLUGS);
    let deleted: Vec<bool> = digests.iter().map(|digest| digest.deleted).collect();
    assert_eq!(deleted, [false, false, false, false, true, false, false, false]);
    assert!(store.digests(&ws(), &SourceId::new("none").unwrap()).is_err());
}

fn stats_count(db: &Database) {
    let store = filled(db);
    write(&store, &[&full("people/ada", "Ada"), &plain("people/bob", "Bob")], 2);
    write(&store, &[&full("people/ada", "Ada again")], 3);
    store.delete_pages(&ws(), &[key("people/bob")], at(4)).unwrap();
    let stats = store.stats(&ws()).unwrap();
    let of_default = &stats.sources[2];
    assert_eq!(of_default.source, SourceId::default());
    assert_eq!((of_default.pages, of_default.deleted, of_default.chunks), (9, 1, 11));
    let text: u64 = SLUGS.iter().map(|slug| slug.len() as u64).sum();
    assert_eq!(of_default.bytes, text + 9);
    assert_eq!(stats.types, [("note".to_owned(), 32), ("person".to_owned(), 1)]);
    assert_eq!(stats.versions, 32 + 2 + 1 + 1);
    assert_eq!(stats.links.len(), 12);
    assert!(stats.links.iter().all(|(_, count)| *count == 1));
    assert_eq!((stats.aliases, stats.takes), (3, 2));
    assert!(stats.database_bytes > stats.history_bytes);
}

fn seen_by(visibility: Visibility, name: &str, text: &str) -> Page {
    Page { visibility, ..plain(name, text) }
}

fn what_everybody_may_see_is_told_apart(db: &Database) {
    use Visibility::{Private, World};
    let store = filled(db);
    let visible = || -> Vec<(String, u64)> {
        let counts = store.visible_pages(&ws()).unwrap();
        counts.into_iter().map(|(source, pages)| (source.to_string(), pages)).collect()
    };
    let of = |source: &str, pages| (source.to_owned(), pages);
    assert_eq!(visible(), [of("a-b", 8), of("a1", 8), of("default", 8), of("wiki", 8)]);
    write(&store, &[&seen_by(Private, "p", "1"), &seen_by(World, "w", "1")], 2);
    write(&store, &[&seen_by(Private, "turned", "1"), &seen_by(World, "gone", "1")], 3);
    write(&store, &[&seen_by(World, "turned", "2"), &seen_by(Private, "gone", "2")], 4);
    store.delete_pages(&ws(), &[key("gone"), key("w")], at(5)).unwrap();
    let slugs: Vec<PageKey> = SLUGS.iter().map(|slug| key(&format!("wiki::{slug}"))).collect();
    store.delete_pages(&ws(), &slugs, at(5)).unwrap();
    assert_eq!(visible(), [of("a-b", 8), of("a1", 8), of("default", 9)]);

    let keys = ["p", "never", "turned", "w", "gone", "wiki::Zed", "p"].map(key);
    let expected =
        [Some(Private), None, Some(World), Some(World), Some(Private), Some(World), Some(Private)];
    assert_eq!(store.visibilities(&ws(), &keys).unwrap(), expected);
    assert_eq!(store.visibilities(&ws(), &[]).unwrap(), []);

    let list = |visibility, include_deleted| -> Vec<String> {
        let prefix = None;
        let source = Some(SourceId::default());
        let filter =
            PageFilter { source, prefix, visibility, include_deleted, ..PageFilter::default() };
        let pages = store.list(&ws(), &filter, Some(&key("b")), 100).unwrap();
        pages.into_iter().map(|page| page.key.slug.to_string()).collect()
    };
    assert_eq!(list(Some(Private), false), ["p"]);
    assert_eq!(list(Some(Private), true), ["gone", "p"]);
    assert_eq!(list(Some(World), false), ["turned", "zed", "Ärger", "日本/語"]);
    assert_eq!(list(None, false).len(), 5);
    let history = store.history(&ws(), &key("gone")).unwrap();
    let versions: Vec<_> = history.iter().map(|version| version.visibility).collect();
    assert_eq!(versions, [World, Private, Private], "a deletion has what it deleted");
    assert!(store.visible_pages(&crate::jobs::other()).is_err());
    assert!(store.visibilities(&crate::jobs::other(), &keys).is_err());
}
