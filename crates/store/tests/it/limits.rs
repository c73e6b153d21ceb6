//! Limits of the store: Unicode, large pages, rows that violate a constraint.

use gbrain_core::link::{DetectedBy, Direction, Link, LinkType};
use gbrain_core::page::{MAX_TAG_BYTES, MAX_TITLE, MAX_TYPE, Page};
use gbrain_store::{PageFilter, PageWrite, StoreError};

use crate::database::Database;
use crate::fixture::*;

on_both_engines! {
    unicode_names_and_texts,
    ten_megabytes,
    long_names_of_stored_pages_are_cut,
    nul_is_refused,
    broken_rows_are_refused_whole,
    raw_rows_are_checked,
}

fn unicode_names_and_texts(db: &Database) {
    let store = db.open();
    let names = ["日本/語", "Ärger", "emoji/🦀👩‍👩‍👧", "e\u{301}", "é", "a'b\"c%_\\", "x $1 ?1"];
    let pages: Vec<Page> =
        names.iter().map(|name| full(name, &format!("{name} \u{10FFFF} \r\n\t'\\"))).collect();
    write(&store, &pages.iter().collect::<Vec<_>>(), 1);
    for page in &pages {
        assert_eq!(&store.page(&ws(), &page.key).unwrap().unwrap().page, page);
    }
    assert_sound(&store);
}

fn ten_megabytes(db: &Database) {
    let store = db.open();
    let text = "ünïcode and words \n".repeat(10 * 1024 * 1024 / 21 + 1);
    assert!(text.len() > 10 << 20);
    let (big, also) = (plain("big", &text), plain("also", &format!("{text}!")));
    write(&store, &[&big, &plain("small", "x"), &also], 1);
    assert!(store.page(&ws(), &big.key).unwrap().unwrap().page == big);
    let batch = store.changes(&ws(), Default::default(), 10, 1 << 20).unwrap();
    assert_eq!((batch.upserts.len(), batch.upto.0, batch.head.0), (1, 1, 3));
    assert_sound(&store);
}

/// Pages that were stored before there were limits.
fn long_names_of_stored_pages_are_cut(db: &Database) {
    let store = db.open();
    let mut page = full("a", "text");
    page.title = "ä".repeat(100_000);
    page.page_type = "t".repeat(100_000);
    page.tags = (0..1_000).map(|n| format!("{n:0>1000}")).collect();
    write(&store, &[&page], 1);
    let title = format!("{}…", "ä".repeat(MAX_TITLE - 1));
    let is_bounded = |page_type: &str, tags: &[String]| {
        page_type.chars().count() == MAX_TYPE
            && tags.iter().map(String::len).sum::<usize>() <= MAX_TAG_BYTES
    };
    let stored = store.page(&ws(), &page.key).unwrap().unwrap().page;
    assert!(stored.title == title);
    assert!(is_bounded(&stored.page_type, &stored.tags));
    let batch = store.changes(&ws(), Default::default(), 10, 1 << 20).unwrap();
    assert!(batch.upserts[0].page.title == title);
    let listed = store.list(&ws(), &PageFilter::default(), None, 10).unwrap();
    assert!(listed[0].title == title);
    assert!(is_bounded(&listed[0].page_type, &listed[0].tags));
    assert!(store.history(&ws(), &page.key).unwrap()[0].title == title);
    assert_sound(&store);
}

fn nul_is_refused(db: &Database) {
    let store = db.open();
    let mut section = plain("a", "x");
    section.chunks[0].section = "a\0b".to_owned();
    for page in [plain("a", "secret \0 text"), section] {
        let write = PageWrite { page: &page, origin: None };
        let error = store.write_pages(&ws(), &[write], at(1)).unwrap_err();
        assert_eq!(error.to_string(), "the page default::a holds a NUL character; remove it");
    }
}

fn link(confidence: f64, evidence_end: u32) -> Link {
    Link {
        link_type: LinkType::Mentions,
        direction: Direction::Out,
        target: "secret".to_owned(),
        confidence,
        detected_by: DetectedBy::Link,
        since: None,
        until: None,
        evidence_chunk: None,
        evidence_start: 5,
        evidence_end,
    }
}

fn broken_rows_are_refused_whole(db: &Database) {
    let store = db.open();
    let broken = |change: &dyn Fn(&mut Page), wanted: &str| {
        let mut page = full("bad", "the secret text");
        change(&mut page);
        let good = plain("good", "x");
        let writes = [&good, &page].map(|page| PageWrite { page, origin: None });
        let error = store.write_pages(&ws(), &writes, at(1)).unwrap_err();
        let StoreError::Constraint { which } = &error else { panic!("{error:?}") };
        assert!(which.contains(wanted), "{which}");
        assert!(!error.to_string().contains("secret"), "{error}");
        assert_eq!(store.head(&ws()).unwrap(), Default::default());
    };
    broken(&|page| page.links = vec![link(1.5, 9)], "confidence");
    broken(&|page| page.links = vec![link(f64::NAN, 9)], "confidence");
    broken(&|page| page.links = vec![link(0.5, 4)], "link_evidence");
    broken(&|page| page.takes[0].weight = -0.1, "take_weight");
    broken(&|page| page.chunks[0].start = 1000, "chunk_span");
    broken(&|page| page.chunks[1].ordinal = 0, "chunks");
    assert_sound(&store);
}

fn raw_rows_are_checked(db: &Database) {
    let store = db.open();
    write(&store, &[&plain("a", "x"), &plain("b", "y")], 1);
    for sql in [
        "UPDATE pages SET visibility = 'secret'",
        "UPDATE pages SET slug = 'a'",
        "UPDATE page_versions SET op = 'edit'",
        "UPDATE page_versions SET content = NULL",
        "UPDATE changes SET op = 'edit'",
        "UPDATE workspaces SET root = ''",
        "PRAGMA_ON; UPDATE chunks SET version = 99",
        "PRAGMA_ON; UPDATE pages SET source_id = 'none'",
    ] {
        let pragma = matches!(db, Database::Sqlite(_)).then_some("PRAGMA foreign_keys = ON");
        let sql = sql.replace("PRAGMA_ON", pragma.unwrap_or("SELECT 1"));
        let error = db.raw(&sql).unwrap_err();
        assert!(matches!(error, StoreError::Constraint { .. }), "{sql}: {error:?}");
    }
}
