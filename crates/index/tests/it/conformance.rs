//! One suite, run on both indexes.

use gbrain_core::chunk::PagePart;
use gbrain_core::id::{Generation, PageId, PageKey, Slug, SourceId};
use gbrain_core::page::{StoredPage, Visibility};
use gbrain_core::request::{Filter, Viewer};
use gbrain_index::{Corpus, DiskIndex, Index, IndexError, MemoryIndex, NameKind, View};
use jiff::civil::date;
use std::time::Duration;

use crate::corpus::{WAIT, change, corpus, fill, link, models, page, query, with};

macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod memory {
            $(#[test] fn $name() { super::$name(&super::MemoryIndex::new(super::models())); })+
        }
        mod disk {
            $(#[test] fn $name() {
                let dir = tempfile::tempdir().unwrap();
                let disk = super::DiskIndex::open(dir.path(), "store", super::models(), super::WAIT);
                super::$name(&disk.unwrap());
            })+
        }
    };
}

on_both! {
    an_empty_index_answers_nothing,
    better_matches_come_first,
    equals_are_ordered_by_source_and_slug,
    a_page_with_many_chunks_takes_one_place,
    filters_are_exact,
    timelines_can_be_left_out,
    private_pages_do_not_exist_for_the_untrusted,
    private_words_do_not_move_scores_of_the_untrusted,
    passages_of_a_page_are_scored_alike,
    passages_are_read_as_they_were_written,
    entries_are_found_by_number_and_key,
    names_are_found_by_how_they_name,
    links_are_found_from_both_ends,
    a_page_is_replaced_whole,
    a_page_that_changes_visibility_moves,
    removals_take_everything_of_a_page,
    pages_without_chunks_have_names,
    views_do_not_move,
    uncommitted_work_is_lost_alone,
    a_second_writer_waits_its_turn,
    clearing_takes_everything_out,
    the_corpus_is_what_was_committed,
    exact_forms_break_ties_of_stems,
    query_text_is_only_text,
}

fn trusted() -> Filter {
    Filter { trust: Viewer::Trusted, ..Filter::default() }
}

/// The slugs that a query finds.
fn found(view: &dyn View, text: &str, filter: &Filter, k: usize) -> Vec<String> {
    let hits = view.words(&query(text), filter, k).unwrap();
    let slug = |id| view.entry(id, Viewer::Trusted).unwrap().unwrap().key.slug.to_string();
    hits.iter().map(|hit| slug(hit.page)).collect()
}

fn view(index: &dyn Index) -> std::sync::Arc<dyn View> {
    index.view().unwrap()
}

fn an_empty_index_answers_nothing(index: &dyn Index) {
    let view = view(index);
    assert_eq!(found(view.as_ref(), "berth", &trusted(), 10), Vec::<String>::new());
    assert_eq!(view.corpus(), Corpus::default());
    assert_eq!(view.entry(PageId(1), Viewer::Trusted).unwrap(), None);
    assert_eq!(view.count_contents().unwrap().pages, 0);
}

fn better_matches_come_first(index: &dyn Index) {
    fill(
        index,
        &[
            page(1, "wiki", "once", &["the berth is near the old quay and its long wall of stone"]),
            page(2, "wiki", "both", &["berth planner"]),
            page(3, "wiki", "other", &["nothing of the kind"]),
            with(page(4, "wiki", "titled", &["about ships"]), |p| {
                p.title = "Berth Planning".to_owned()
            }),
        ],
    );
    let view = view(index);
    assert_eq!(
        found(view.as_ref(), "berths for planners", &trusted(), 10),
        ["both", "titled", "once"]
    );
    assert_eq!(found(view.as_ref(), "berth", &trusted(), 1).len(), 1);
    assert_eq!(found(view.as_ref(), "berth", &trusted(), 0).len(), 0);
}

fn equals_are_ordered_by_source_and_slug(index: &dyn Index) {
    let names = [
        ("wiki", "b"),
        ("a-source", "z"),
        ("wiki", "a/c"),
        ("wiki", "a b"),
        ("wiki2", "a"),
        ("a", "z"),
    ];
    let pages: Vec<_> = names
        .iter()
        .zip(1..)
        .map(|((source, slug), id)| page(id, source, slug, &["same words"]))
        .collect();
    fill(index, &pages);
    let view = view(index);
    let all = found(view.as_ref(), "same", &trusted(), 10);
    assert_eq!(all, ["z", "z", "a b", "a/c", "b", "a"]);
    for k in 1..6 {
        assert_eq!(found(view.as_ref(), "same", &trusted(), k), all[..k]);
    }
    let hits = view.words(&query("same"), &trusted(), 2).unwrap();
    assert_eq!((hits[0].page, hits[1].page), (PageId(6), PageId(2)));
}

fn a_page_with_many_chunks_takes_one_place(index: &dyn Index) {
    let many = vec!["ferry ferry"; 3000];
    let pages = [page(1, "wiki", "many", &many), page(2, "wiki", "one", &["a ferry leaves"])];
    fill(index, &pages);
    let view = view(index);
    assert_eq!(found(view.as_ref(), "ferry", &trusted(), 2), ["many", "one"]);
    let best = view.words(&query("ferry"), &trusted(), 1).unwrap();
    assert_eq!(best[0].ordinal, 0, "the first of equal chunks");
}

fn filters_are_exact(index: &dyn Index) {
    let make = |id: i64| {
        with(
            page(
                id,
                if id % 2 == 0 { "even" } else { "odd" },
                &format!("p{id:03}"),
                &["harbour light"],
            ),
            |p| {
                p.page_type = format!("type{}", id % 5);
                p.tags = vec![format!("tag{}", id % 3), "all".to_owned()];
                p.effective_date =
                    (id % 4 != 0).then(|| date(2020, 1, 1) + jiff::Span::new().days(id));
            },
        )
    };
    let pages: Vec<StoredPage> = (1..=200).map(make).collect();
    fill(index, &pages);
    let view = view(index);
    let count = |filter: Filter| {
        let found = found(view.as_ref(), "light", &filter, 500);
        let expected =
            pages.iter().filter(|stored| gbrain_index::PageEntry::of(stored).passes(&filter));
        let mut slugs: Vec<_> = expected.map(|stored| stored.page.key.clone()).collect();
        slugs.sort();
        let slugs: Vec<_> = slugs.into_iter().map(|key| key.slug.to_string()).collect();
        assert_eq!(found, slugs, "{filter:?}");
        found.len()
    };
    let source = |name: &str| SourceId::new(name).unwrap();
    assert_eq!(count(Filter { sources: vec![source("odd")], ..trusted() }), 100);
    assert_eq!(count(Filter { sources: vec![source("none")], ..trusted() }), 0);
    assert_eq!(count(Filter { sources: vec![source("odd"), source("even")], ..trusted() }), 200);
    assert_eq!(count(Filter { types: vec!["type1".into(), "type9".into()], ..trusted() }), 40);
    assert_eq!(count(Filter { tags: vec!["tag2".into()], ..trusted() }), 67);
    assert_eq!(count(Filter { tags: vec!["nobody".into()], ..trusted() }), 0);
    assert_eq!(count(Filter { since: Some(date(2020, 1, 11)), ..trusted() }), 143);
    assert_eq!(
        count(Filter {
            since: Some(date(2020, 1, 11)),
            until: Some(date(2020, 1, 12)),
            ..trusted()
        }),
        2
    );
    let narrow = Filter { types: vec!["type1".into()], tags: vec!["tag0".into()], ..trusted() };
    assert_eq!(count(Filter { sources: vec![source("odd")], ..narrow }), 6);
}

fn timelines_can_be_left_out(index: &dyn Index) {
    let timeline = with(page(1, "wiki", "a", &["tide table", "tide tide tide"]), |p| {
        p.chunks[1].part = PagePart::Timeline
    });
    fill(
        index,
        &[
            timeline,
            with(page(2, "wiki", "b", &["tide"]), |p| p.chunks[0].part = PagePart::Timeline),
        ],
    );
    let view = view(index);
    let truth = Filter { truth_only: true, ..trusted() };
    assert_eq!(view.words(&query("tide"), &trusted(), 9).unwrap()[0].ordinal, 1);
    let hits = view.words(&query("tide"), &truth, 9).unwrap();
    assert_eq!((hits.len(), hits[0].page, hits[0].ordinal), (1, PageId(1), 0));
    assert_eq!(
        view.page_words(&query("tide"), &truth, &[PageId(1)], 9).unwrap()[0].passages.len(),
        1
    );
    assert_eq!(
        view.page_words(&query("tide"), &truth, &[PageId(2)], 9).unwrap()[0].passages.len(),
        0
    );
}

fn private_pages_do_not_exist_for_the_untrusted(index: &dyn Index) {
    let secret = with(page(1, "wiki", "secret", &["the vault code"]), |p| {
        p.visibility = Visibility::Private;
        p.title = "Vault".to_owned();
        p.links = vec![link("Open")];
    });
    fill(
        index,
        &[
            secret,
            with(page(2, "wiki", "open", &["the vault door"]), |p| p.links = vec![link("vault")]),
        ],
    );
    let view = view(index);
    assert_eq!(found(view.as_ref(), "vault", &Filter::default(), 9), ["open"]);
    assert_eq!(found(view.as_ref(), "vault", &trusted(), 9), ["secret", "open"]);
    let key = PageKey::new(SourceId::new("wiki").unwrap(), Slug::new("secret").unwrap());
    for trust in [Viewer::Untrusted, Viewer::Trusted] {
        let sees = trust == Viewer::Trusted;
        assert_eq!(view.entry(PageId(1), trust).unwrap().is_some(), sees);
        assert_eq!(view.entry_by_key(&key, trust).unwrap().is_some(), sees);
        assert_eq!(view.passage(PageId(1), 0, trust).unwrap().is_some(), sees);
        assert_eq!(
            view.named("vault", &Filter { trust, ..Filter::default() }).unwrap().len(),
            usize::from(sees)
        );
        assert_eq!(view.links_of(PageId(1), trust).unwrap().len(), usize::from(sees));
        assert_eq!(view.links_to("open", trust).unwrap().len(), usize::from(sees));
        assert_eq!(view.backlinks("open", trust).unwrap(), u64::from(sees));
        let filter = Filter { trust, ..Filter::default() };
        assert_eq!(
            view.page_words(&query("vault"), &filter, &[PageId(1)], 9).unwrap()[0].passages.len(),
            usize::from(sees)
        );
    }
}

fn private_words_do_not_move_scores_of_the_untrusted(index: &dyn Index) {
    let open: Vec<_> = (1..20)
        .map(|id| page(id, "wiki", &format!("p{id}"), &["crane and quay", "quay"]))
        .collect();
    fill(index, &open);
    let before = view(index).words(&query("crane quay"), &Filter::default(), 9).unwrap();
    let private: Vec<_> = (20..90)
        .map(|id| {
            with(
                page(id, "wiki", &format!("p{id}"), &["crane crane crane", "long long words here"]),
                |p| {
                    p.visibility = Visibility::Private;
                },
            )
        })
        .collect();
    change(index, 2, |writer| writer.apply(&private, &[]).unwrap());
    let after = view(index).words(&query("crane quay"), &Filter::default(), 9).unwrap();
    let bare = |hits: &[gbrain_index::ChunkHit]| -> Vec<_> {
        hits.iter().map(|h| (h.page, h.ordinal, h.score)).collect()
    };
    assert_eq!(bare(&before), bare(&after));
    assert_eq!(view(index).words(&query("crane"), &trusted(), 1).unwrap()[0].page, PageId(20));
}

fn passages_of_a_page_are_scored_alike(index: &dyn Index) {
    let texts = [
        "no match",
        "ferry",
        "ferry ferry",
        "ferry",
        "ferry timetable long before ferry and ferry winter hours",
    ];
    fill(index, &[page(1, "wiki", "a", &texts), page(2, "wiki", "b", &["ferry"])]);
    let view = view(index);
    let best = view.words(&query("ferry"), &trusted(), 1).unwrap()[0];
    let passages =
        &view.page_words(&query("ferry"), &trusted(), &[PageId(1)], 9).unwrap()[0].passages;
    let ordinals: Vec<_> = passages.iter().map(|hit| hit.ordinal).collect();
    assert_eq!(ordinals, [2, 1, 3, 4]);
    assert_eq!((passages[0].page, passages[0].score), (best.page, best.score));
    assert_eq!(
        view.page_words(&query("ferry"), &trusted(), &[PageId(1)], 2).unwrap()[0].passages.len(),
        2
    );
    assert_eq!(
        view.page_words(&query("ferry"), &trusted(), &[PageId(3)], 2).unwrap()[0].passages.len(),
        0
    );
}

fn passages_are_read_as_they_were_written(index: &dyn Index) {
    let stored = with(page(7, "wiki", "a", &["première étape", "猫が好き second"]), |p| {
        p.chunks[1].section = "Über > 猫".to_owned();
        p.chunks[1].part = PagePart::Turns;
    });
    fill(index, std::slice::from_ref(&stored));
    let view = view(index);
    let passage = view.passage(PageId(7), 1, Viewer::Untrusted).unwrap().unwrap();
    let chunk = &stored.page.chunks[1];
    assert_eq!(passage.text, "猫が好き second");
    assert_eq!(
        (passage.ordinal, passage.part, passage.section.as_str()),
        (1, PagePart::Turns, "Über > 猫")
    );
    assert_eq!((passage.start, passage.end, passage.hash), (chunk.start, chunk.end, chunk.hash));
    assert_eq!(view.passage(PageId(7), 2, Viewer::Untrusted).unwrap(), None);
    let hit = view.words(&query("好き"), &trusted(), 1).unwrap()[0];
    assert_eq!(view.read(&hit).unwrap(), passage);
}

fn entries_are_found_by_number_and_key(index: &dyn Index) {
    let stored = with(page(7, "wiki", "People/Ada-Quill", &["text"]), |p| {
        p.title = "Ada Quill".to_owned();
        p.tags = vec!["x".to_owned()];
        p.aliases = vec!["A. Quill".to_owned(), "ada".to_owned()];
        p.effective_date = Some(date(1815, 12, 10));
    });
    fill(index, &[stored.clone(), page(8, "notes", "people/ada-quill", &["text"])]);
    let view = view(index);
    let entry = view.entry(PageId(7), Viewer::Untrusted).unwrap().unwrap();
    assert_eq!(*entry, gbrain_index::PageEntry::of(&stored));
    assert_eq!(view.entry_by_key(&stored.page.key, Viewer::Untrusted).unwrap(), Some(entry));
    let lower =
        PageKey::new(SourceId::new("wiki").unwrap(), Slug::new("people/ada-quill").unwrap());
    assert_eq!(view.entry_by_key(&lower, Viewer::Untrusted).unwrap(), None, "keys are exact");
}

fn names_are_found_by_how_they_name(index: &dyn Index) {
    let titled = |id, slug, title: &str, aliases: &[&str]| {
        with(page(id, "wiki", slug, &["text"]), |p| {
            p.title = title.to_owned();
            p.aliases = aliases.iter().map(|alias| (*alias).to_owned()).collect();
        })
    };
    let pages = [
        titled(1, "people/ada-quill", "Ada Quill", &[]),
        titled(2, "ada-quill", "Someone", &["Ada Quill", "Countess"]),
        titled(3, "x/ada_quill", "Else", &["ada-quill"]),
        titled(4, "ada quill", "Ada Quill", &["ADA QUILL!"]),
    ];
    fill(index, &pages);
    let view = view(index);
    let named = |key: &str| -> Vec<(i64, NameKind)> {
        let named = view.named(key, &trusted()).unwrap();
        named.iter().map(|named| (named.entry.id.0, named.how)).collect()
    };
    use NameKind::{Alias, Basename, Slug, Title};
    assert_eq!(named("ada quill"), [(4, Slug), (1, Title), (2, Alias), (3, Basename)]);
    assert_eq!(named("ada-quill"), [(2, Slug), (3, Alias), (1, Basename)]);
    assert_eq!(named("wiki::ada-quill"), [(2, Slug)]);
    assert_eq!(named("countess"), [(2, Alias)]);
    assert_eq!(named("nobody"), []);
    assert_eq!(named(""), []);
}

fn links_are_found_from_both_ends(index: &dyn Index) {
    let linking = |id, slug, targets: &[&str]| {
        with(page(id, "wiki", slug, &["text"]), |p| {
            p.links = targets.iter().map(|target| link(target)).collect()
        })
    };
    fill(
        index,
        &[
            linking(1, "b", &["Acme", "acme!", "Beta"]),
            linking(2, "a", &["ACME"]),
            linking(3, "c", &[]),
        ],
    );
    let view = view(index);
    let of = view.links_of(PageId(1), Viewer::Untrusted).unwrap();
    assert_eq!(of.len(), 3);
    assert_eq!(of[0].link, link("Acme"));
    let to = view.links_to("acme", Viewer::Untrusted).unwrap();
    let ends: Vec<_> = to.iter().map(|entry| (entry.owner.0, entry.link.target.as_str())).collect();
    assert_eq!(ends, [(2, "ACME"), (1, "Acme"), (1, "acme!")]);
    assert_eq!(view.backlinks("acme", Viewer::Untrusted).unwrap(), 2);
    assert_eq!(view.backlinks("nobody", Viewer::Untrusted).unwrap(), 0);
    assert_eq!(view.links_of(PageId(3), Viewer::Untrusted).unwrap(), []);
}

fn a_page_is_replaced_whole(index: &dyn Index) {
    let first = with(page(1, "wiki", "a", &["old words", "older"]), |p| {
        p.title = "Old".to_owned();
        p.links = vec![link("x")];
    });
    fill(index, &[first, page(2, "wiki", "b", &["words"])]);
    let mut second = page(1, "wiki", "moved", &["new words"]);
    second.version = 2;
    change(index, 2, |writer| writer.apply(&[second], &[]).unwrap());
    let view = view(index);
    assert_eq!(found(view.as_ref(), "old", &trusted(), 9), Vec::<String>::new());
    assert_eq!(found(view.as_ref(), "words", &trusted(), 9), ["b", "moved"]);
    assert_eq!(view.entry(PageId(1), Viewer::Untrusted).unwrap().unwrap().version, 2);
    assert_eq!(view.named("old", &trusted()).unwrap(), []);
    assert_eq!(view.backlinks("x", Viewer::Trusted).unwrap(), 0);
    assert_eq!(view.count_contents().unwrap().chunks, 2);
}

fn a_page_that_changes_visibility_moves(index: &dyn Index) {
    fill(index, &[page(1, "wiki", "a", &["lantern"]), page(2, "wiki", "b", &["lantern"])]);
    let hidden = with(page(1, "wiki", "a", &["lantern"]), |p| p.visibility = Visibility::Private);
    change(index, 2, |writer| writer.apply(&[hidden], &[]).unwrap());
    assert_eq!(found(view(index).as_ref(), "lantern", &Filter::default(), 9), ["b"]);
    assert_eq!(found(view(index).as_ref(), "lantern", &trusted(), 9), ["a", "b"]);
    change(index, 3, |writer| writer.apply(&[page(1, "wiki", "a", &["lantern"])], &[]).unwrap());
    assert_eq!(found(view(index).as_ref(), "lantern", &Filter::default(), 9), ["a", "b"]);
    assert_eq!(view(index).count_contents().unwrap().chunks, 2);
}

fn removals_take_everything_of_a_page(index: &dyn Index) {
    let pages: Vec<_> = (1..=50)
        .map(|id| page(id, "wiki", &format!("p{id}"), &["anchor", "anchor chain"]))
        .collect();
    fill(index, &pages);
    let gone: Vec<_> = (1..=49).map(PageId).collect();
    change(index, 2, |writer| writer.apply(&[], &gone).unwrap());
    let view = view(index);
    assert_eq!(found(view.as_ref(), "anchor", &trusted(), 99), ["p50"]);
    assert_eq!(view.count_contents().unwrap().chunks, 2);
    let alone = MemoryIndex::new(models());
    fill(&alone, &pages[49..]);
    let score =
        |view: &dyn View| view.words(&query("anchor chain"), &trusted(), 9).unwrap()[0].score;
    assert_eq!(
        score(view.as_ref()),
        score(alone.view().unwrap().as_ref()),
        "the dead do not count"
    );
    change(index, 3, |writer| writer.apply(&[], &[PageId(50), PageId(7), PageId(999)]).unwrap());
    index.writer(WAIT).unwrap().settle().unwrap();
    assert_eq!(
        found(index.view().unwrap().as_ref(), "anchor", &trusted(), 99),
        Vec::<String>::new()
    );
}

fn pages_without_chunks_have_names(index: &dyn Index) {
    fill(
        index,
        &[
            with(page(1, "wiki", "stub", &[]), |p| p.links = vec![link("x")]),
            page(2, "wiki", "b", &["b"]),
        ],
    );
    let view = view(index);
    assert_eq!(view.named("stub", &trusted()).unwrap().len(), 1);
    assert_eq!(view.links_of(PageId(1), Viewer::Untrusted).unwrap().len(), 1);
    assert_eq!(view.passage(PageId(1), 0, Viewer::Untrusted).unwrap(), None);
    let held = view.count_contents().unwrap();
    assert_eq!((held.pages, held.chunks), (2, 1));
    change(index, 2, |writer| {
        writer.apply(&[page(1, "wiki", "stub", &["now a text"])], &[]).unwrap()
    });
    assert_eq!(index.view().unwrap().count_contents().unwrap().chunks, 2);
}

fn views_do_not_move(index: &dyn Index) {
    fill(index, &[page(1, "wiki", "a", &["buoy"])]);
    let before = view(index);
    change(index, 2, |writer| {
        writer.apply(&[page(2, "wiki", "b", &["buoy"])], &[PageId(1)]).unwrap()
    });
    assert_eq!(found(before.as_ref(), "buoy", &trusted(), 9), ["a"]);
    assert_eq!(before.corpus().generation, Generation(1));
    assert_eq!(found(view(index).as_ref(), "buoy", &trusted(), 9), ["b"]);
}

fn uncommitted_work_is_lost_alone(index: &dyn Index) {
    fill(index, &[page(1, "wiki", "a", &["buoy"])]);
    let mut writer = index.writer(WAIT).unwrap();
    writer.apply(&[page(2, "wiki", "b", &["buoy"])], &[PageId(1)]).unwrap();
    drop(writer);
    assert_eq!(found(view(index).as_ref(), "buoy", &trusted(), 9), ["a"]);
    change(index, 2, |writer| writer.apply(&[page(3, "wiki", "c", &["buoy"])], &[]).unwrap());
    assert_eq!(found(view(index).as_ref(), "buoy", &trusted(), 9), ["a", "c"]);
    assert_eq!(view(index).count_contents().unwrap().pages, 2);
}

fn a_second_writer_waits_its_turn(index: &dyn Index) {
    let first = index.writer(WAIT).unwrap();
    let refused = index.writer(Duration::from_millis(20));
    assert!(matches!(refused, Err(IndexError::Busy { .. })));
    std::thread::scope(|scope| {
        let second = scope.spawn(|| index.writer(WAIT).map(|writer| writer.corpus()));
        std::thread::sleep(Duration::from_millis(50));
        drop(first);
        assert_eq!(second.join().unwrap().unwrap(), Corpus::default());
    });
}

fn clearing_takes_everything_out(index: &dyn Index) {
    fill(index, &[page(1, "wiki", "a", &["buoy"])]);
    change(index, 2, |writer| {
        writer.apply(&[page(2, "wiki", "b", &["buoy"])], &[]).unwrap();
        writer.clear().unwrap();
        writer.apply(&[page(3, "wiki", "c", &["buoy"])], &[]).unwrap();
    });
    assert_eq!(found(view(index).as_ref(), "buoy", &trusted(), 9), ["c"]);
    assert_eq!(view(index).count_contents().unwrap().chunks, 1);
    change(index, 3, |writer| writer.clear().unwrap());
    assert_eq!(view(index).count_contents().unwrap().pages, 0);
}

fn the_corpus_is_what_was_committed(index: &dyn Index) {
    let pages = [page(1, "wiki", "a", &["buoy"])];
    fill(index, &pages);
    assert_eq!(view(index).corpus(), corpus(1, &pages));
    let mut writer = index.writer(WAIT).unwrap();
    assert_eq!(writer.corpus(), corpus(1, &pages));
    writer.commit(corpus(5, &pages)).unwrap();
    writer.settle().unwrap();
    assert_eq!(writer.corpus(), corpus(5, &pages));
    drop(writer);
    assert_eq!(view(index).corpus(), corpus(5, &pages));
}

fn exact_forms_break_ties_of_stems(index: &dyn Index) {
    fill(index, &[page(1, "wiki", "a", &["planner"]), page(2, "wiki", "b", &["planning"])]);
    let view = view(index);
    assert_eq!(found(view.as_ref(), "planning", &trusted(), 9), ["b"]);
    assert_eq!(found(view.as_ref(), "planner", &trusted(), 9), ["a"]);
    fill(index, &[page(3, "wiki", "c", &["connection"]), page(4, "wiki", "d", &["connected"])]);
    let view = index.view().unwrap();
    assert_eq!(found(view.as_ref(), "connected", &trusted(), 9), ["d", "c"]);
}

fn query_text_is_only_text(index: &dyn Index) {
    fill(index, &[page(1, "wiki", "a", &["C++ and title:foo", "don't AND panic"])]);
    let view = view(index);
    for text in
        ["C++", "title:foo", "don't", "AND panic", "\"panic", "panic*", "(panic", "panic OR -foo"]
    {
        assert_eq!(found(view.as_ref(), text, &trusted(), 9), ["a"], "{text}");
    }
    for text in ["", "*", "\"", "zzz"] {
        assert_eq!(found(view.as_ref(), text, &trusted(), 9).len(), 0, "{text}");
    }
}
