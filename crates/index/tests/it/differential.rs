//! The index on disk against the oracle: the same hits and the same bits, regardless of segments,
//! write order and deletions.

use std::collections::BTreeMap;

use fastrand::Rng;
use gbrain_core::chunk::PagePart;
use gbrain_core::id::{PageId, SourceId};
use gbrain_core::page::{StoredPage, Visibility};
use gbrain_core::request::{Filter, Viewer};
use gbrain_core::text::QueryTerms;
use gbrain_embed::StaticTable;
use gbrain_index::{
    ChunkHit, Corpus, DiskIndex, Index, MemoryIndex, VectorHit, VectorQuery, View, WordsQuery,
};
use jiff::civil::date;
use proptest::prelude::*;

use crate::corpus::{WAIT, models, page, with};

const SOURCES: [&str; 3] = ["wiki", "notes", "a"];

/// A word by rank: the first are common, and the endings share stems.
fn word(rng: &mut Rng, vocabulary: u32) -> String {
    let rank = (f64::from(vocabulary).powf(rng.f64()) - 1.0) as u32;
    let stem: String = format!("{rank:03}").bytes().map(|b| char::from(b - b'0' + b'b')).collect();
    let endings = ["", "", "ing", "ed", "s"];
    format!("{stem}o{stem}{}", endings[rng.usize(..endings.len())])
}

fn text(rng: &mut Rng, vocabulary: u32, longest: usize) -> String {
    let length = rng.usize(1..=longest);
    (0..length).map(|_| word(rng, vocabulary)).collect::<Vec<_>>().join(" ")
}

fn random_page(rng: &mut Rng, id: i64, vocabulary: u32, longest: usize) -> StoredPage {
    let chunks = if rng.u8(..) < 8 { 40 } else { rng.usize(0..5) };
    let texts: Vec<_> = (0..chunks).map(|_| text(rng, vocabulary, longest)).collect();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let slug = format!("{}/p{id}", (b'a' + (id % 7) as u8) as char);
    with(page(id, SOURCES[rng.usize(..3)], &slug, &texts), |p| {
        p.title = text(rng, vocabulary, 3);
        p.page_type = format!("t{}", rng.u8(..4));
        p.tags = (0..rng.usize(..3)).map(|_| format!("g{}", rng.u8(..4))).collect();
        p.effective_date = rng.bool().then(|| date(2024, rng.i8(1..=12), rng.i8(1..=28)));
        p.visibility = if rng.u8(..) < 40 { Visibility::Private } else { Visibility::World };
        for chunk in &mut p.chunks {
            chunk.part = if rng.u8(..) < 50 { PagePart::Timeline } else { PagePart::Truth };
        }
    })
}

fn random_filter(rng: &mut Rng) -> Filter {
    let mut filter = Filter {
        trust: if rng.bool() { Viewer::Trusted } else { Viewer::Untrusted },
        ..Filter::default()
    };
    match rng.u8(..8) {
        0 => filter.sources = vec![SourceId::new(SOURCES[rng.usize(..3)]).unwrap()],
        1 => filter.types = vec!["t1".into(), "t3".into()],
        2 => filter.tags = vec!["g2".into()],
        3 => filter.since = Some(date(2024, 11, 1)),
        4 => filter.truth_only = true,
        5 => filter.until = Some(date(2024, 2, 1)),
        _ => {}
    }
    filter
}

fn random_query(rng: &mut Rng, vocabulary: u32) -> WordsQuery {
    let terms = QueryTerms::of(&text(rng, vocabulary, 6));
    let (k1, b) = [(1.2, 0.75), (0.9, 0.4), (2.0, 1.0), (1.2, 0.0)][rng.usize(..4)];
    WordsQuery { terms, k1, b, exact_weight: [0.15, 0.0, 1.0][rng.usize(..3)] }
}

/// The final state of the pages.
type Live = BTreeMap<i64, StoredPage>;

/// Writes random batches of edits and removals; returns the final pages.
fn write_randomly(
    rng: &mut Rng,
    index: &dyn Index,
    pages: i64,
    commits: usize,
    vocabulary: u32,
    longest: usize,
) -> Live {
    let mut live = Live::new();
    for _ in 0..commits {
        let mut writer = index.writer(WAIT).unwrap();
        for _ in 0..rng.usize(1..3) {
            let upserts: Vec<_> = (0..pages / commits as i64)
                .map(|_| {
                    let id = rng.i64(0..pages);
                    random_page(rng, id, vocabulary, longest)
                })
                .collect();
            let removals: Vec<_> = (0..pages / 16).map(|_| PageId(rng.i64(0..pages))).collect();
            for id in &removals {
                live.remove(&id.0);
            }
            for stored in &upserts {
                live.insert(stored.id.0, stored.clone());
            }
            writer.apply(&upserts, &removals).unwrap();
        }
        writer.commit(Corpus { pages: live.len() as u64, ..Corpus::default() }).unwrap();
        if rng.bool() {
            writer.settle().unwrap();
        }
    }
    live
}

fn oracle_of(live: &Live) -> MemoryIndex {
    let oracle = MemoryIndex::new(models());
    let mut writer = oracle.writer(WAIT).unwrap();
    let pages: Vec<_> = live.values().cloned().collect();
    writer.apply(&pages, &[]).unwrap();
    writer.commit(Corpus::default()).unwrap();
    oracle
}

/// Hits without the handles, which differ between views.
fn bare(view: &dyn View, query: &WordsQuery, filter: &Filter, k: usize) -> Vec<(i64, u32, u64)> {
    let hits = view.words(query, filter, k).unwrap();
    hits.iter().map(|hit| (hit.page.0, hit.ordinal, hit.score.to_bits())).collect()
}

fn compare(rng: &mut Rng, disk: &dyn View, oracle: &dyn View, queries: usize, vocabulary: u32) {
    assert_eq!(disk.count_contents().unwrap(), oracle.count_contents().unwrap());
    for _ in 0..queries {
        let (query, filter) = (random_query(rng, vocabulary), random_filter(rng));
        let k = [1, 3, 10, 50, 1000][rng.usize(..5)];
        let expected = bare(oracle, &query, &filter, k);
        assert_eq!(bare(disk, &query, &filter, k), expected, "{query:?} {filter:?} {k}");
        compare_vectors(rng, disk, oracle, &filter, vocabulary);
        for (page, ..) in expected.iter().take(1) {
            compare_passages(disk, oracle, &query, &filter, PageId(*page));
        }
    }
}

/// The same shortlist, the same cosines and the same order, at any depth.
fn compare_vectors(
    rng: &mut Rng,
    disk: &dyn View,
    oracle: &dyn View,
    filter: &Filter,
    vocabulary: u32,
) {
    let text: Vec<String> = (0..rng.usize(1..6)).map(|_| word(rng, vocabulary)).collect();
    let Some(query) = VectorQuery::new(&StaticTable::built_in(), &text.join(" ")).unwrap() else {
        return;
    };
    let (depth, k) = ([1, 40, 400][rng.usize(..3)], [1, 5, 40][rng.usize(..3)]);
    let of = |view: &dyn View| {
        let hits = view.vectors(&query, filter, depth, k).unwrap();
        let bare = |near: &VectorHit| {
            (near.place, near.hit.page.0, near.hit.ordinal, near.hit.score.to_bits())
        };
        hits.iter().map(bare).collect::<Vec<_>>()
    };
    assert_eq!(of(disk), of(oracle), "{text:?} {filter:?} {depth} {k}");
}

fn compare_passages(
    disk: &dyn View,
    oracle: &dyn View,
    query: &WordsQuery,
    filter: &Filter,
    page: PageId,
) {
    let of = |view: &dyn View| {
        let words = view.page_words(query, filter, &[page], 5).unwrap().remove(0);
        let read = |hit: &ChunkHit| (hit.ordinal, hit.score.to_bits(), view.read(hit).unwrap());
        (words.score.to_bits(), words.passages.iter().map(read).collect::<Vec<_>>())
    };
    assert_eq!(of(disk), of(oracle), "{query:?} {filter:?} {page:?}");
}

fn check(seed: u64, pages: i64, commits: usize, vocabulary: u32, longest: usize) {
    let mut rng = Rng::with_seed(seed);
    let dir = tempfile::tempdir().unwrap();
    let disk = DiskIndex::open(dir.path(), "store", models(), WAIT).unwrap();
    let live = write_randomly(&mut rng, &disk, pages, commits, vocabulary, longest);
    let oracle = oracle_of(&live).view().unwrap();
    compare(&mut rng, disk.view().unwrap().as_ref(), oracle.as_ref(), 40, vocabulary);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]
    #[test]
    fn random_histories_agree(seed in any::<u64>(), commits in 1usize..8, vocabulary in 2u32..200) {
        check(seed, 150, commits, vocabulary, 30);
    }
}

#[test]
fn long_lists_agree() {
    check(1, 3000, 3, 400, 8);
}

#[test]
fn long_lists_of_equals_agree() {
    check(2, 2500, 3, 4, 2);
}

#[test]
fn orders_and_segments_do_not_matter() {
    let mut rng = Rng::with_seed(3);
    let pages: Vec<_> = (0..400).map(|id| random_page(&mut rng, id, 60, 20)).collect();
    let queries: Vec<_> =
        (0..40).map(|_| (random_query(&mut rng, 60), random_filter(&mut rng))).collect();
    let mut answers = Vec::new();
    for batch in [400, 37, 5] {
        let mut pages = pages.clone();
        rng.shuffle(&mut pages);
        let dir = tempfile::tempdir().unwrap();
        let disk = DiskIndex::open(dir.path(), "store", models(), WAIT).unwrap();
        for batch in pages.chunks(batch).take(20) {
            let mut writer = disk.writer(WAIT).unwrap();
            writer.apply(batch, &[]).unwrap();
            writer.commit(Corpus::default()).unwrap();
        }
        let mut writer = disk.writer(WAIT).unwrap();
        writer.apply(&pages, &[]).unwrap();
        writer.commit(Corpus::default()).unwrap();
        drop(writer);
        let view = disk.view().unwrap();
        answers.push(
            queries
                .iter()
                .map(|(query, filter)| bare(view.as_ref(), query, filter, 20))
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
}
