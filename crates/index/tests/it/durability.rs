//! The index on disk among other processes: kills, queues, readers, other versions and damage.
//!
//! The other processes are this test binary, run again for one test that does nothing unless
//! [`ROLE`] is set.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gbrain_core::id::Generation;
use gbrain_core::request::Filter;
use gbrain_index::{Corpus, DiskIndex, Index, IndexError};

use crate::corpus::{WAIT, fill, models, page, query};

const ROLE: &str = "GBRAIN_INDEX_TEST_ROLE";
const DIR: &str = "GBRAIN_INDEX_TEST_DIR";
const PAGES_PER_COMMIT: i64 = 20;

#[test]
fn another_process() {
    let (Ok(role), Ok(dir)) = (std::env::var(ROLE), std::env::var(DIR)) else { return };
    match role.as_str() {
        "write" => (0..10).for_each(|_| add_generation(Path::new(&dir))),
        "write for ever" => loop {
            add_generation(Path::new(&dir));
        },
        "hang before commit" => hang_before_commit(Path::new(&dir)),
        "read" => read_for_a_while(Path::new(&dir)),
        other => panic!("no role {other}"),
    }
}

fn play(role: &str, dir: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "durability::another_process", "--nocapture"]);
    command
        .env(ROLE, role)
        .env(DIR, dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn open(dir: &Path) -> DiskIndex {
    DiskIndex::open(dir, "store", models(), WAIT).unwrap()
}

/// Adds the number of pages that every generation has.
fn add_generation(dir: &Path) {
    let index = open(dir);
    let mut writer = index.writer(WAIT).unwrap();
    let Corpus { generation: Generation(at), .. } = writer.corpus();
    let pages: Vec<_> = (at * PAGES_PER_COMMIT..(at + 1) * PAGES_PER_COMMIT)
        .map(|id| page(id, "wiki", &format!("p{id}"), &["a lantern on the quay"]))
        .collect();
    writer.apply(&pages, &[]).unwrap();
    let pages = ((at + 1) * PAGES_PER_COMMIT) as u64;
    writer
        .commit(Corpus {
            generation: Generation(at + 1),
            pages,
            chunks: pages,
            ..Corpus::default()
        })
        .unwrap();
    writer.settle().unwrap();
}

fn hang_before_commit(dir: &Path) {
    let index = open(dir);
    let mut writer = index.writer(WAIT).unwrap();
    let pages: Vec<_> =
        (1000..1500).map(|id| page(id, "wiki", &format!("p{id}"), &["lantern"])).collect();
    writer.apply(&pages, &[]).unwrap();
    fs::write(dir.join("hanging"), "").unwrap();
    std::thread::sleep(WAIT);
}

/// Reads the current commit: each must be complete.
fn read_for_a_while(dir: &Path) {
    let index = open(dir);
    let started = Instant::now();
    let mut last = Generation(0);
    while started.elapsed() < Duration::from_millis(1500) {
        last = check(&index).generation.max(last);
    }
}

/// Checks that a view is exactly one commit.
fn check(index: &DiskIndex) -> Corpus {
    let view = index.view().unwrap();
    let corpus = view.corpus();
    assert_eq!(corpus.pages, corpus.generation.0 as u64 * PAGES_PER_COMMIT as u64);
    assert_eq!(view.count_contents().unwrap().pages, corpus.pages);
    let hits = view.words(&query("lantern"), &Filter::default(), 10_000).unwrap();
    assert_eq!(hits.len() as u64, corpus.pages);
    corpus
}

#[test]
fn two_writers_and_four_readers_get_along() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path());
    let roles = ["write", "write", "read", "read", "read", "read"];
    let mut players: Vec<_> = roles.iter().map(|role| play(role, dir.path())).collect();
    for player in &mut players {
        assert!(player.wait().unwrap().success());
    }
    assert_eq!(check(&open(dir.path())).generation, Generation(20));
}

#[test]
fn a_kill_before_the_commit_loses_only_what_was_not_committed() {
    let dir = tempfile::tempdir().unwrap();
    add_generation(dir.path());
    let mut player = play("hang before commit", dir.path());
    while !dir.path().join("hanging").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let busy = open(dir.path()).writer(Duration::ZERO);
    assert!(matches!(busy, Err(IndexError::Busy { .. })));
    player.kill().unwrap();
    player.wait().unwrap();
    assert_eq!(check(&open(dir.path())).generation, Generation(1));
    add_generation(dir.path());
    assert_eq!(check(&open(dir.path())).generation, Generation(2));
}

#[test]
fn kills_at_any_moment_leave_a_whole_commit() {
    let dir = tempfile::tempdir().unwrap();
    add_generation(dir.path());
    let mut last = Generation(1);
    for round in 0..8 {
        let mut player = play("write for ever", dir.path());
        std::thread::sleep(Duration::from_millis(60 + 37 * round));
        player.kill().unwrap();
        player.wait().unwrap();
        let found = check(&open(dir.path())).generation;
        assert!(found >= last, "{found:?} after {last:?}");
        last = found;
    }
    add_generation(dir.path());
    assert_eq!(check(&open(dir.path())).generation, Generation(last.0 + 1));
}

#[test]
fn a_kill_between_deletions_and_commit_does_not_stop_the_next_commit() {
    let dir = tempfile::tempdir().unwrap();
    add_generation(dir.path());
    let meta = dir.path().join("meta.json");
    let before = fs::read(&meta).unwrap();
    for word in ["first", "second"] {
        let index = open(dir.path());
        let mut writer = index.writer(WAIT).unwrap();
        let corpus = writer.corpus();
        writer.apply(&[page(0, "wiki", "p0", &[word])], &[]).unwrap();
        // Only renaming `meta.json` makes a commit: without it the process was killed.
        writer.commit(Corpus { generation: Generation(2), ..corpus }).unwrap();
        let hits = index.view().unwrap().words(&query(word), &Filter::default(), 10).unwrap();
        assert_eq!(hits.len(), 1, "{word}");
        fs::write(&meta, &before).unwrap();
    }
}

#[test]
fn an_index_of_another_store_is_stale() {
    let dir = tempfile::tempdir().unwrap();
    fill(&open(dir.path()), &[page(1, "wiki", "a", &["lantern"])]);
    let other = DiskIndex::open(dir.path(), "another", models(), WAIT);
    let Err(IndexError::Stale { what, found, expected, .. }) = other else {
        panic!("it was opened")
    };
    assert_eq!((what, found.as_str(), expected.as_str()), ("its store", "store", "another"));
    let replaced = DiskIndex::replace(dir.path(), "another", models(), WAIT).unwrap();
    assert_eq!(replaced.view().unwrap().corpus(), Corpus::default());
    assert!(matches!(
        DiskIndex::open(dir.path(), "store", models(), WAIT),
        Err(IndexError::Stale { .. })
    ));
}

#[test]
fn replacing_an_index_that_fits_keeps_it() {
    let dir = tempfile::tempdir().unwrap();
    add_generation(dir.path());
    let kept = DiskIndex::replace(dir.path(), "store", models(), WAIT).unwrap();
    assert_eq!(check(&kept).generation, Generation(1));
}

#[test]
fn damage_is_reported_and_replaced() {
    for name in ["meta.json", "term", "store"] {
        let dir = tempfile::tempdir().unwrap();
        add_generation(dir.path());
        damage(dir.path(), name);
        let opened = DiskIndex::open(dir.path(), "store", models(), WAIT);
        assert!(matches!(opened, Err(IndexError::Corrupt { .. })), "{name}");
        let replaced = DiskIndex::replace(dir.path(), "store", models(), WAIT).unwrap();
        assert_eq!(replaced.view().unwrap().corpus(), Corpus::default());
        add_generation(dir.path());
        assert_eq!(check(&replaced).generation, Generation(1));
    }
}

/// Truncates every file with this name ending to zero bytes.
fn damage(dir: &Path, name: &str) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(name) {
            fs::write(path, "").unwrap();
        }
    }
}
