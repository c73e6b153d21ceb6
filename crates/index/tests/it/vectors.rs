//! Vectors: nearest pages, filters, and files that are missing, damaged or of another model.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gbrain_core::chunk::PagePart;
use gbrain_core::id::SourceId;
use gbrain_core::page::{StoredPage, Visibility};
use gbrain_core::request::{Filter, Viewer};
use gbrain_embed::{EmbedError, Embedder, StaticTable};
use gbrain_index::{Corpus, DiskIndex, Index, IndexError, MemoryIndex, Models, VectorQuery, View};

use crate::corpus::{WAIT, change, fill, models, page, with};

/// A model with eight dimensions: the frequency of each of eight letters in a text.
struct Letters(&'static str);

impl Embedder for Letters {
    fn id(&self) -> &str {
        self.0
    }

    fn dims(&self) -> usize {
        8
    }

    fn centre(&self) -> &[f32] {
        &[0.3; 8]
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let count = |text: &str, letter: char| text.matches(letter).count() as f32;
        let vector = |text: &&str| "abcdefgh".chars().map(|c| count(text, c)).collect();
        Ok(texts.iter().map(vector).collect())
    }
}

fn letters() -> Models {
    Models::new(Arc::new(Letters("letters-8-1")))
}

fn asked(text: &str) -> VectorQuery {
    VectorQuery::new(&Letters("letters-8-1"), text).unwrap().unwrap()
}

fn near(view: &dyn View, text: &str, filter: &Filter, k: usize) -> Vec<(i64, u32, usize)> {
    let hits = view.vectors(&asked(text), filter, 10, k).unwrap();
    hits.iter().map(|near| (near.hit.page.0, near.hit.ordinal, near.place)).collect()
}

fn trusted() -> Filter {
    Filter { trust: Viewer::Trusted, ..Filter::default() }
}

fn on_both(pages: &[StoredPage], check: impl Fn(&dyn View)) {
    let memory = MemoryIndex::new(letters());
    fill(&memory, pages);
    check(memory.view().unwrap().as_ref());
    let dir = tempfile::tempdir().unwrap();
    let disk = DiskIndex::open(dir.path(), "store", letters(), WAIT).unwrap();
    fill(&disk, pages);
    check(disk.view().unwrap().as_ref());
}

#[test]
fn the_nearest_passage_of_each_page_comes_first() {
    let pages = [
        page(1, "wiki", "one", &["bbb", "aab", "ccc"]),
        page(2, "wiki", "two", &["aaa"]),
        page(3, "wiki", "three", &["hhh"]),
        page(4, "wiki", "nothing", &["xyz", "..."]),
        page(5, "wiki", "empty", &[]),
    ];
    on_both(&pages, |view| {
        assert_eq!(near(view, "a", &trusted(), 2), [(2, 0, 1), (1, 1, 2)]);
        // Every page with a direction is found at some depth; the others are never found.
        assert_eq!(near(view, "a", &trusted(), 10).len(), 3);
        assert!(near(view, "a", &trusted(), 0).is_empty());
        let hits = view.vectors(&asked("aab"), &trusted(), 10, 1).unwrap();
        assert!((hits[0].hit.score - 1.0).abs() < 1e-3, "{}", hits[0].hit.score);
        assert_eq!(view.read(&hits[0].hit).unwrap().text, "aab");
    });
}

#[test]
fn filters_are_exact_however_few_pass() {
    let mut pages: Vec<_> =
        (0..300).map(|id| page(id, "wiki", &format!("p{id}"), &["aaa"])).collect();
    pages.push(page(300, "other", "far", &["ab"]));
    pages.push(with(page(301, "wiki", "secret", &["aab"]), |p| {
        p.visibility = Visibility::Private;
    }));
    pages.push(with(page(302, "other", "timeline", &["aaaaa"]), |p| {
        p.chunks[0].part = PagePart::Timeline;
    }));
    on_both(&pages, |view| {
        let other = Filter { sources: vec![SourceId::new("other").unwrap()], ..trusted() };
        let found = |filter: &Filter| {
            near(view, "a", filter, 50).into_iter().map(|(id, ..)| id).collect::<Vec<_>>()
        };
        assert_eq!(found(&other), [302, 300]);
        assert_eq!(found(&Filter { truth_only: true, ..other.clone() }), [300]);
        assert!(found(&trusted()).contains(&301));
        assert!(!found(&Filter { trust: Viewer::Untrusted, ..trusted() }).contains(&301));
        let none = Filter { types: vec!["no such type".into()], ..trusted() };
        assert!(found(&none).is_empty());
    });
}

#[test]
fn duplicates_share_a_rank_and_displace_nothing() {
    let mut pages: Vec<_> =
        (0..500).map(|id| page(id, "wiki", &format!("copy{id}"), &["aaaaaaab"])).collect();
    pages.push(page(500, "wiki", "other", &["aabb"]));
    pages.push(page(501, "wiki", "third", &["abc"]));
    on_both(&pages, |view| {
        let hits = near(view, "a", &trusted(), 3);
        let places = |id| hits.iter().find(|(page, ..)| *page == id).map(|(.., place)| *place);
        assert_eq!((places(0), places(499)), (Some(1), None));
        assert_eq!(hits.iter().filter(|(.., place)| *place == 1).count(), 4, "one and its copies");
        assert_eq!((places(500), places(501)), (Some(2), Some(3)));
    });
}

#[test]
fn equals_are_ordered_by_source_and_slug() {
    let pages = [
        page(1, "wiki", "b", &["a"]),
        page(2, "notes", "z", &["a"]),
        page(3, "wiki", "a", &["a", "a"]),
    ];
    on_both(&pages, |view| {
        assert_eq!(near(view, "a", &trusted(), 9), [(2, 0, 1), (3, 0, 1), (1, 0, 1)]);
    });
}

#[test]
fn a_query_of_another_model_is_refused() {
    on_both(&[page(1, "wiki", "a", &["a"])], |view| {
        assert_eq!(view.vector_model(), Some("letters-8-1"));
        let other = VectorQuery::new(&StaticTable::built_in(), "water").unwrap().unwrap();
        let refused = view.vectors(&other, &trusted(), 10, 10);
        assert!(matches!(refused, Err(IndexError::OtherModel { .. })));
    });
}

#[test]
fn an_index_without_a_model_has_no_vectors() {
    let dir = tempfile::tempdir().unwrap();
    let disk = DiskIndex::open(dir.path(), "store", Models::none(), WAIT).unwrap();
    fill(&disk, &[page(1, "wiki", "a", &["a"])]);
    let view = disk.view().unwrap();
    assert_eq!(view.vector_model(), None);
    assert!(matches!(
        view.vectors(&asked("a"), &trusted(), 10, 10),
        Err(IndexError::OtherModel { .. })
    ));
    assert!(vector_files(dir.path()).is_empty());
}

fn vector_files(dir: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|e| e == "vec")).collect()
}

/// Damages the vectors of an index, and checks that they are computed again.
fn check_healed(damage: impl Fn(&Path)) {
    let dir = tempfile::tempdir().unwrap();
    let pages: Vec<_> = (0..70)
        .map(|id| page(id, "wiki", &format!("p{id}"), &["abc", &"ab".repeat(id as usize + 1)]))
        .collect();
    let open = || DiskIndex::open(dir.path(), "store", letters(), WAIT).unwrap();
    fill(&open(), &pages);
    let expected = near(open().view().unwrap().as_ref(), "aab", &trusted(), 40);
    assert!(!expected.is_empty());
    let files = vector_files(dir.path());
    assert!(!files.is_empty());
    let whole: Vec<_> = files.iter().map(|path| fs::read(path).unwrap()).collect();
    files.iter().for_each(|path| damage(path));
    assert_eq!(near(open().view().unwrap().as_ref(), "aab", &trusted(), 40), expected);
    let healed: Vec<_> = files.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(healed == whole, "the files are the same as before");
}

#[test]
fn missing_vectors_are_made_again() {
    check_healed(|path| fs::remove_file(path).unwrap());
}

#[test]
fn vectors_that_were_cut_off_are_made_again() {
    check_healed(|path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    });
}

#[test]
fn empty_vectors_are_made_again() {
    check_healed(|path| fs::write(path, []).unwrap());
}

#[test]
fn a_reader_whose_writer_is_busy_makes_vectors_for_itself() {
    let dir = tempfile::tempdir().unwrap();
    let disk = DiskIndex::open(dir.path(), "store", letters(), WAIT).unwrap();
    fill(&disk, &[page(1, "wiki", "a", &["ab"]), page(2, "wiki", "b", &["b"])]);
    vector_files(dir.path()).iter().for_each(|path| fs::remove_file(path).unwrap());
    let reader = DiskIndex::open(dir.path(), "store", letters(), WAIT).unwrap();
    let _writer = disk.writer(WAIT).unwrap();
    assert_eq!(near(reader.view().unwrap().as_ref(), "b", &trusted(), 9), [(2, 0, 1), (1, 0, 2)]);
    assert!(vector_files(dir.path()).is_empty(), "only the writer writes");
}

#[test]
fn merges_keep_vectors_and_leave_no_files_behind() {
    let dir = tempfile::tempdir().unwrap();
    let disk = DiskIndex::open(dir.path(), "store", letters(), WAIT).unwrap();
    for id in 0..12 {
        let pages = [page(id, "wiki", &format!("p{id}"), &[&"abcdefgh"[..=(id % 8) as usize]])];
        let mut writer = disk.writer(WAIT).unwrap();
        writer.apply(&pages, &[]).unwrap();
        writer.commit(Corpus::default()).unwrap();
        writer.settle().unwrap();
    }
    let segments = |dir: &Path| {
        let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|e| e == "store")).count()
    };
    assert_eq!(vector_files(dir.path()).len(), segments(dir.path()));
    let view = disk.view().unwrap();
    let found = near(view.as_ref(), "abc", &trusted(), 1);
    assert_eq!(found, [(10, 0, 1), (2, 0, 1)], "the two that say so, by slug");
    for id in 0..12 {
        let stored = page(id, "wiki", &format!("p{id}"), &[&"abcdefgh"[..=(id % 8) as usize]]);
        assert_eq!(view.vectors_fit(&stored).unwrap(), Some(true));
        let changed = page(id, "wiki", &format!("p{id}"), &["hhh"]);
        assert_eq!(view.vectors_fit(&changed).unwrap(), Some(false));
    }
    assert_eq!(view.vectors_fit(&page(99, "wiki", "none", &["a"])).unwrap(), None);
}

#[test]
fn a_merge_of_many_commits_leaves_nothing_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let disk = DiskIndex::open(dir.path(), "store", letters(), WAIT).unwrap();
    let mut writer = disk.writer(WAIT).unwrap();
    for id in 0..8 {
        writer.apply(&[page(id, "wiki", &format!("p{id}"), &["abc"])], &[]).unwrap();
        writer.commit(Corpus::default()).unwrap();
    }
    assert_eq!(vector_files(dir.path()).len(), 8);
    // A view from before the merge is open, as during an import.
    let before = disk.view().unwrap();
    writer.settle().unwrap();
    drop(writer);
    let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let segments: std::collections::BTreeSet<String> = names
        .filter_map(|name| Some(name.to_str()?.split_once('.')?.0.to_owned()))
        .filter(|stem| stem.len() == 32)
        .collect();
    assert_eq!(segments.len(), 1, "{segments:?}");
    assert_eq!(near(before.as_ref(), "abc", &trusted(), 1).len(), 2, "one, and one copy");
    assert_eq!(near(disk.view().unwrap().as_ref(), "abc", &trusted(), 1).len(), 2);
}

#[test]
fn clearing_takes_vectors_too() {
    let dir = tempfile::tempdir().unwrap();
    let disk = DiskIndex::open(dir.path(), "store", letters(), WAIT).unwrap();
    fill(&disk, &[page(1, "wiki", "a", &["aaa"])]);
    change(&disk, 2, |writer| {
        writer.apply(&[page(2, "wiki", "lost", &["aaa"])], &[]).unwrap();
        writer.clear().unwrap();
        writer.apply(&[page(3, "wiki", "c", &["ab"])], &[]).unwrap();
    });
    disk.writer(WAIT).unwrap().settle().unwrap();
    assert_eq!(near(disk.view().unwrap().as_ref(), "a", &trusted(), 9), [(3, 0, 1)]);
    assert_eq!(vector_files(dir.path()).len(), 1);
}

#[test]
fn another_model_takes_over_without_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let pages: Vec<_> = (0..50)
        .map(|id| page(id, "wiki", &format!("p{id}"), &[["water", "stone"][id as usize % 2]]))
        .collect();
    let old = DiskIndex::open(dir.path(), "store", letters(), WAIT).unwrap();
    fill(&old, &pages);
    // Both models are available: the old one answers until the switch.
    let both = models().and(Arc::new(Letters("letters-8-1")));
    let new = DiskIndex::open(dir.path(), "store", both, WAIT).unwrap();
    let before = new.view().unwrap();
    assert_eq!(before.vector_model(), Some("letters-8-1"));
    let calls = std::cell::Cell::new(0);
    new.make_wanted_vectors(&|done, total| {
        assert!(done <= total && total == 50);
        calls.set(calls.get() + 1);
    })
    .unwrap();
    assert!(calls.get() > 1);
    assert_eq!(new.view().unwrap().vector_model(), Some("letters-8-1"));
    assert_eq!(near(new.view().unwrap().as_ref(), "e", &trusted(), 50).len(), 50);
    // Pages added meanwhile have vectors of the old model, and of the new one after the switch.
    let mut writer = new.writer(WAIT).unwrap();
    writer.apply(&[page(50, "wiki", "late", &["a late river"])], &[]).unwrap();
    writer.commit(Corpus::default()).unwrap();
    assert_eq!(new.view().unwrap().vector_model(), Some("letters-8-1"));
    writer.adopt_wanted_model().unwrap();
    drop(writer);
    let view = new.view().unwrap();
    let table = StaticTable::built_in();
    assert_eq!(view.vector_model(), Some(table.id()));
    let query = VectorQuery::new(&table, "a late river").unwrap().unwrap();
    assert_eq!(view.vectors(&query, &trusted(), 60, 1).unwrap()[0].hit.page.0, 50);
    assert!(
        vector_files(dir.path()).iter().all(|path| path.to_str().unwrap().contains(table.id()))
    );
    // A view from before the switch still answers; one without the model names the model of the
    // index.
    assert_eq!(near(before.as_ref(), "e", &trusted(), 50).len(), 50);
    assert_eq!(old.view().unwrap().vector_model(), Some(table.id()));
    assert!(matches!(
        old.view().unwrap().vectors(&asked("a"), &trusted(), 10, 10),
        Err(IndexError::OtherModel { .. })
    ));
}
