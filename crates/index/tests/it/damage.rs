//! Damaged files: every kind of file of an index, emptied, truncated, with flipped bits and
//! overwritten. Nothing panics, no answer is wrong, and the damaged file is named.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use gbrain_core::id::Generation;
use gbrain_core::request::{Filter, Viewer};
use gbrain_embed::StaticTable;
use gbrain_index::{Corpus, DiskIndex, Index, IndexError, VectorHit, VectorQuery};

use crate::corpus::{WAIT, models, page, query};

/// An index with several segments, deletions and private pages.
fn fill_for_damage(dir: &Path) {
    let index = open(dir);
    let words = ["lantern", "harbour", "anchor", "tide"];
    let pages: Vec<_> = (0..12)
        .map(|n: usize| page(n as i64, "wiki", &format!("p{n}"), &[words[n % 4], "common"]))
        .collect();
    for batch in pages.chunks(5) {
        let mut writer = index.writer(WAIT).unwrap();
        writer.apply(batch, &[]).unwrap();
        let Corpus { generation, pages, chunks, root } = writer.corpus();
        let (more, of_each) = (batch.len() as u64, batch[0].page.chunks.len() as u64);
        let pages = pages + more;
        let chunks = chunks + more * of_each;
        let corpus = Corpus { generation: Generation(generation.0 + 1), pages, chunks, root };
        writer.commit(corpus).unwrap();
    }
    let mut writer = index.writer(WAIT).unwrap();
    let Corpus { generation, pages: count, chunks, root } = writer.corpus();
    writer.apply(&[], &[pages[1].id, pages[7].id]).unwrap();
    let chunks = chunks - 2 * pages[1].page.chunks.len() as u64;
    let corpus =
        Corpus { generation: Generation(generation.0 + 1), pages: count - 2, chunks, root };
    writer.commit(corpus).unwrap();
}

/// Everything that a reader could return.
fn answers(index: &DiskIndex) -> Result<String, IndexError> {
    let view = index.view()?;
    let mut told = format!("{:?} {:?}\n", view.corpus(), view.count_contents()?);
    for word in ["lantern", "harbour", "anchor", "tide", "common"] {
        for hit in view.words(&query(word), &Filter::default(), 20)? {
            told += &format!("{word} {:?} {} {}", hit.page, hit.ordinal, hit.score);
            told +=
                &format!(" {:?} {:?}\n", view.read(&hit)?, view.entry(hit.page, Viewer::Trusted)?);
        }
        let near = VectorQuery::new(&StaticTable::built_in(), word)?.unwrap();
        for VectorHit { hit, place } in view.vectors(&near, &Filter::default(), 20, 10)? {
            told += &format!("near {word} {place} {:?} {} {}\n", hit.page, hit.ordinal, hit.score);
        }
    }
    Ok(told)
}

/// Ways to damage a file with this content.
fn damages(bytes: &[u8], rng: &mut fastrand::Rng) -> Vec<(String, Vec<u8>)> {
    let mut all = vec![
        ("emptied".to_owned(), Vec::new()),
        ("one byte".to_owned(), bytes[..bytes.len().min(1)].to_vec()),
        ("five bytes".to_owned(), bytes[..bytes.len().min(5)].to_vec()),
        ("half".to_owned(), bytes[..bytes.len() / 2].to_vec()),
        ("one byte short".to_owned(), bytes[..bytes.len().saturating_sub(1)].to_vec()),
        ("zeros".to_owned(), vec![0; bytes.len()]),
        ("longer".to_owned(), [bytes, b"more"].concat()),
    ];
    for _ in 0..24 {
        let (at, bit) = (rng.usize(..bytes.len()), rng.u32(..8));
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 1 << bit;
        all.push((format!("bit {bit} of byte {at} flipped"), flipped));
    }
    all
}

#[test]
fn no_damage_of_any_file_panics_or_changes_an_answer() {
    let dir = tempfile::tempdir().unwrap();
    fill_for_damage(dir.path());
    let expected = answers(&open(dir.path())).unwrap();
    let mut rng = fastrand::Rng::with_seed(19);
    let (mut kinds, mut told, mut whole) = (BTreeSet::new(), 0, 0);
    for path in files(dir.path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        kinds.insert(name.rsplit('.').next().unwrap().to_owned());
        let healthy = fs::read(&path).unwrap();
        if healthy.is_empty() {
            continue;
        }
        for (how, bytes) in damages(&healthy, &mut rng) {
            let copy = tempfile::tempdir().unwrap();
            for file in files(dir.path()) {
                fs::copy(&file, copy.path().join(file.file_name().unwrap())).unwrap();
            }
            fs::write(copy.path().join(&name), bytes).unwrap();
            let opened = DiskIndex::open(copy.path(), "store", models(), WAIT);
            match opened.and_then(|index| answers(&index)) {
                Ok(answers) => {
                    assert_eq!(answers, expected, "{name}: {how}");
                    whole += 1;
                }
                Err(IndexError::Corrupt { .. } | IndexError::Stale { .. }) => {
                    told += 1;
                    let replaced = DiskIndex::replace(copy.path(), "store", models(), WAIT);
                    assert_eq!(replaced.unwrap().view().unwrap().corpus(), Corpus::default());
                }
                Err(error) => panic!("{name}: {how}: {error:?}"),
            }
        }
    }
    let all = ["del", "fast", "fieldnorm", "idx", "json", "pos", "store", "term", "vec"];
    assert!(all.iter().all(|kind| kinds.contains(*kind)), "{kinds:?}");
    assert!(told > 300 && whole > 30, "{told} told, {whole} whole");
}

#[test]
fn a_file_that_changed_is_noticed_when_an_open_index_reads_the_next_commit() {
    let dir = tempfile::tempdir().unwrap();
    fill_for_damage(dir.path());
    let index = open(dir.path());
    assert!(index.view().is_ok());
    let is_store = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "store");
    let store = files(dir.path()).into_iter().find(is_store).unwrap();
    // In place: a new file under the old name would not be read, because the old one stays open.
    let byte = fs::read(&store).unwrap()[3] ^ 1;
    File::options().write(true).open(&store).unwrap().write_all_at(&[byte], 3).unwrap();
    let meta = dir.path().join("meta.json");
    replace(&meta, &fs::read(&meta).unwrap());
    let Err(IndexError::Corrupt { source, .. }) = index.view() else { panic!("not noticed") };
    let name = store.file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(source.to_string(), format!("{name}: its checksum does not match"));
}

#[test]
fn files_are_compared_once_and_again_when_they_change() {
    let dir = tempfile::tempdir().unwrap();
    fill_for_damage(dir.path());
    let old = SystemTime::now() - Duration::from_secs(10);
    for file in files(dir.path()) {
        File::options().append(true).open(file).unwrap().set_modified(old).unwrap();
    }
    drop(open(dir.path()));
    let known = fs::read_to_string(dir.path().join("verified.json")).unwrap();
    let known: serde_json::Value = serde_json::from_str(&known).unwrap();
    let store = |name: &&String| name.ends_with(".store");
    let files = known["files"].as_object().unwrap();
    assert_eq!(files.keys().filter(store).count(), 3, "{files:?}");
    let name = files.keys().find(store).unwrap();
    let path = dir.path().join(name);
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 8;
    fs::write(&path, bytes).unwrap();
    File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
    let opened = DiskIndex::open(dir.path(), "store", models(), WAIT);
    assert!(matches!(opened, Err(IndexError::Corrupt { .. })), "its old time hides nothing");
}

/// An index whose files are too large to stay in memory.
fn fill_large(dir: &Path) {
    let index = open(dir);
    let mut rng = fastrand::Rng::with_seed(20);
    let mut word = || format!("w{}", rng.u32(..40_000));
    let pages: Vec<_> = (1..=1_500)
        .map(|n: i64| {
            let mut text = "common lantern".to_owned();
            (0..120).for_each(|_| text = format!("{text} {}", word()));
            page(n, "wiki", &format!("p{n}"), &[&text])
        })
        .collect();
    let mut writer = index.writer(WAIT).unwrap();
    writer.apply(&pages, &[]).unwrap();
    let count = pages.len() as u64;
    let corpus =
        Corpus { generation: Generation(1), pages: count, chunks: count, ..Corpus::default() };
    writer.commit(corpus).unwrap();
}

/// Ways to change a file in place while it is open.
fn change(path: &Path, how: usize) {
    let file = File::options().write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    match how {
        0 => file.set_len(0).unwrap(),
        1 => file.set_len(length / 2).unwrap(),
        2 => fs::remove_file(path).unwrap(),
        _ => {
            let mut bytes = fs::read(path).unwrap();
            let end = bytes.len().saturating_sub(200);
            bytes[..end].iter_mut().for_each(|byte| *byte ^= 0x11);
            file.write_all_at(&bytes, 0).unwrap();
        }
    }
}

/// Before files were read instead of memory-mapped, this killed the process (SIGBUS) or changed
/// answers.
#[test]
fn files_that_change_under_an_open_index_neither_end_the_process_nor_change_an_answer() {
    let healthy = tempfile::tempdir().unwrap();
    fill_large(healthy.path());
    let expected = answers(&open(healthy.path())).unwrap();
    let large = |path: &&PathBuf| fs::metadata(path).unwrap().len() > 300_000;
    let names: Vec<PathBuf> = files(healthy.path()).iter().filter(large).cloned().collect();
    for kind in ["idx", "store", "vec"] {
        let is_kind = |name: &PathBuf| name.extension().is_some_and(|of| of == kind);
        assert!(names.iter().any(is_kind), "{kind}: {names:?}");
    }
    let (mut told, mut whole) = (0, 0);
    for path in &names {
        for (how, is_warm) in [(0, false), (1, true), (2, false), (3, false), (3, true)] {
            let copy = tempfile::tempdir().unwrap();
            for file in files(healthy.path()) {
                fs::copy(&file, copy.path().join(file.file_name().unwrap())).unwrap();
            }
            let index = open(copy.path());
            let view = index.view().unwrap();
            if is_warm {
                answers(&index).unwrap();
            }
            change(&copy.path().join(path.file_name().unwrap()), how);
            match answers(&index) {
                Ok(answers) => {
                    assert_eq!(answers, expected, "{path:?} {how}");
                    whole += 1;
                }
                Err(IndexError::Corrupt { .. }) => {
                    assert!(view.is_damaged(), "{path:?} {how}");
                    assert!(matches!(index.view(), Err(IndexError::Corrupt { .. })));
                    told += 1;
                }
                Err(error) => panic!("{path:?} {how}: {error:?}"),
            }
        }
    }
    assert!(told > 3 && whole > 3, "{told} told, {whole} whole");
}

#[test]
fn verifying_compares_files_whose_times_did_not_change() {
    let dir = tempfile::tempdir().unwrap();
    fill_for_damage(dir.path());
    let index = open(dir.path());
    assert_eq!(index.check_files().unwrap(), Vec::<String>::new());
    for kind in ["del", "fast", "fieldnorm", "idx", "pos", "store", "term", "vec"] {
        let is_kind = |path: &PathBuf| path.extension().is_some_and(|of| of == kind);
        let path = files(dir.path()).into_iter().find(is_kind).unwrap();
        let healthy = fs::read(&path).unwrap();
        let mut flipped = healthy.clone();
        flipped[2] ^= 0x20;
        File::options().write(true).open(&path).unwrap().write_all_at(&flipped, 0).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let found = index.check_files().unwrap();
        assert_eq!(found, [format!("{name}: its checksum does not match")]);
        File::options().write(true).open(&path).unwrap().write_all_at(&healthy, 0).unwrap();
    }
    assert_eq!(index.check_files().unwrap(), Vec::<String>::new());
}

#[test]
fn every_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("index/default");
    fill_for_damage(&dir);
    drop(open(&dir));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&dir), mode(dir.parent().unwrap())), (0o700, 0o700));
    let modes: Vec<_> = files(&dir).into_iter().map(|path| (mode(&path), path)).collect();
    assert!(modes.len() > 20 && modes.iter().all(|(mode, _)| *mode == 0o600), "{modes:?}");
}

fn replace(path: &Path, bytes: &[u8]) {
    let part = path.with_extension("new");
    fs::write(&part, bytes).unwrap();
    fs::rename(&part, path).unwrap();
}

fn open(dir: &Path) -> DiskIndex {
    DiskIndex::open(dir, "store", models(), WAIT).unwrap()
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    files
}
