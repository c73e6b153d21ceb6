//! `bench import`: pages per second, beside the same without vectors, beside reading and hashing
//! the same files and beside tantivy's indexing of the same chunks.
//!
//! An import parses, finds links, writes the store with every version durable, and indexes.
//! tantivy gets the chunks ready made and the same analyser, stores the text as gbrain's index
//! does, and has the two threads and the memory that gbrain gives it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use gbrain_bench::campaign::scaffold::progress;
use gbrain_core::chunk;
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::{PageFormat, PageInput, parse, slug_of_path};
use gbrain_index::Models;
use walkdir::WalkDir;

use super::analysed::index_chunks;
use super::corpus::{Corpus, Generator};
use super::data_dir;
use super::home::Home;
use super::machine::mib;
use super::percentile::median;
use super::report::{Cell, Report};

const SEED: u64 = 20_260_602;
/// The rate of the largest import, as a share of the smallest's.
const TARGET: f64 = 0.8;
/// The time of an import with vectors, beside one without.
const VECTORS_TARGET: f64 = 1.3;
/// Below this many pages a run is short, and is repeated to be sure of it.
const SHORT: usize = 20_000;
const SHORT_ROUNDS: usize = 5;
const HEADERS: [&str; 10] = [
    "pages",
    "MiB",
    "chunks",
    "n",
    "import pages/s",
    "time / without vectors",
    "read+hash pages/s",
    "tantivy pages/s",
    "read+hash / import",
    "again s",
];

/// Pages per second.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// How many pages, smallest first.
    #[arg(long, value_delimiter = ',', default_values_t = [2_000, 200_000])]
    pages: Vec<usize>,
    /// Where brains and indexes are made; a temporary directory by default, where pages always are.
    #[arg(long)]
    dir: Option<PathBuf>,
}

/// The seconds that one round took.
#[derive(Debug, Clone, Copy)]
struct Round {
    import: f64,
    without_vectors: f64,
    again: f64,
    hash: f64,
    tantivy: f64,
}

struct Size {
    pages: usize,
    bytes: u64,
    chunks: usize,
    rounds: Vec<Round>,
}

pub(crate) fn run(args: &ImportArgs) -> Result<Report> {
    let temporary = tempfile::tempdir()?;
    let dir = args.dir.clone().unwrap_or_else(|| temporary.path().to_owned());
    fs::create_dir_all(&dir)?;
    let generator = {
        let unpacked = tempfile::tempdir()?;
        Corpus::load(&data_dir()?, unpacked.path())?.generator(SEED)
    };
    let mut sizes = Vec::new();
    for pages in &args.pages {
        sizes.push(measure(*pages, &generator, &dir)?);
    }
    Ok(report(&sizes))
}

fn measure(pages: usize, generator: &Generator, dir: &Path) -> Result<Size> {
    let work = tempfile::tempdir_in(dir)?;
    let tree = tempfile::tempdir()?;
    let tree = tree.path();
    let bytes = write_pages(generator, pages, tree)?;
    let rounds = if pages < SHORT { SHORT_ROUNDS } else { 1 };
    let mut size = Size { pages, bytes, chunks: 0, rounds: Vec::new() };
    for round in 0..rounds {
        progress(format!("{pages} pages, round {}", round + 1));
        // The order alternates, so that neither side is always first.
        let measured = if round % 2 == 0 {
            let hash = time(|| read_and_hash(tree))?.0;
            let (import, again) = import_twice(tree, work.path(), pages)?;
            let without_vectors = import_words(tree, work.path())?;
            let (tantivy, chunks) = index_alone(tree, work.path())?;
            size.chunks = chunks;
            Round { import, without_vectors, again, hash, tantivy }
        } else {
            let tantivy = index_alone(tree, work.path())?.0;
            let without_vectors = import_words(tree, work.path())?;
            let (import, again) = import_twice(tree, work.path(), pages)?;
            let hash = time(|| read_and_hash(tree))?.0;
            Round { import, without_vectors, again, hash, tantivy }
        };
        size.rounds.push(measured);
    }
    Ok(size)
}

fn write_pages(generator: &Generator, pages: usize, tree: &Path) -> Result<u64> {
    let mut bytes = 0;
    for number in 0..pages {
        let (path, text) = generator.page(number);
        let path = tree.join(path);
        fs::create_dir_all(path.parent().context("a page is in a directory")?)?;
        fs::write(&path, &text)?;
        bytes += text.len() as u64;
    }
    Ok(bytes)
}

/// Imports into a new brain, then once more with nothing changed.
fn import_twice(tree: &Path, work: &Path, pages: usize) -> Result<(f64, f64)> {
    let dir = tempfile::tempdir_in(work)?;
    let home = Home::open(dir.path())?;
    let (import, summary) = time(|| home.import(&[tree.to_owned()]))?;
    ensure!(summary.added == pages, "{} of {pages} pages were added", summary.added);
    let (again, summary) = time(|| home.import(&[tree.to_owned()]))?;
    ensure!(summary.unchanged == pages, "{} of {pages} pages were unchanged", summary.unchanged);
    Ok((import, again))
}

/// Imports into a new brain without vectors.
fn import_words(tree: &Path, work: &Path) -> Result<f64> {
    let dir = tempfile::tempdir_in(work)?;
    let home = Home::open_with(dir.path(), Models::none())?;
    Ok(time(|| home.import(&[tree.to_owned()]))?.0)
}

/// On one thread, as a shell would.
fn read_and_hash(tree: &Path) -> Result<u8> {
    let mut seen = 0;
    for file in files(tree) {
        seen ^= Hash::of(&fs::read(file)?).0[0];
    }
    Ok(std::hint::black_box(seen))
}

/// Indexes the chunks by tantivy alone; returns the seconds and how many there are. Making the
/// chunks is not part of it.
fn index_alone(tree: &Path, work: &Path) -> Result<(f64, usize)> {
    let mut chunks: Vec<(String, String)> = Vec::new();
    for file in files(tree) {
        let text = fs::read_to_string(&file)?;
        let slug = slug_of_path(&file.strip_prefix(tree)?.to_string_lossy())?;
        let key = PageKey::new(SourceId::default(), slug);
        let input =
            PageInput { key, file_name: None, content: &text, format: PageFormat::Markdown };
        let page = parse(input)?;
        let texts = chunk::texts(&page.content, &page.chunks);
        chunks.extend(texts.into_iter().map(|text| (page.title.clone(), text.to_owned())));
    }
    let dir = tempfile::tempdir_in(work)?;
    let count = chunks.len();
    let (seconds, ()) = time(|| index_chunks(dir.path(), chunks))?;
    Ok((seconds, count))
}

fn files(tree: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = WalkDir::new(tree).into_iter().filter_map(Result::ok);
    entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path)
}

fn time<T>(work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let begun = Instant::now();
    let done = work()?;
    Ok((begun.elapsed().as_secs_f64(), done))
}

impl Size {
    fn typical(&self, of: fn(&Round) -> f64) -> f64 {
        median(&self.rounds.iter().map(of).collect::<Vec<_>>())
    }

    /// The time with vectors over the time without, round by round.
    fn vectors_cost(&self) -> f64 {
        self.typical(|round| round.import / round.without_vectors)
    }

    fn rate(&self, of: fn(&Round) -> f64) -> f64 {
        self.pages as f64 / self.typical(of)
    }
}

fn report(sizes: &[Size]) -> Report {
    let mut report = Report::new("import", &HEADERS);
    for size in sizes {
        let (import, hash) = (size.rate(|round| round.import), size.rate(|round| round.hash));
        report.row(vec![
            Cell::Count(size.pages as u64),
            Cell::number(mib(size.bytes), 0),
            Cell::Count(size.chunks as u64),
            Cell::Count(size.rounds.len() as u64),
            Cell::number(import, 0),
            Cell::number(size.vectors_cost(), 2),
            Cell::number(hash, 0),
            Cell::number(size.rate(|round| round.tantivy), 0),
            Cell::number(hash / import, 1),
            Cell::number(size.typical(|round| round.again), 2),
        ]);
    }
    for size in sizes {
        let cost = size.vectors_cost();
        let what = format!(
            "{} pages with vectors take {cost:.2} of the time without, at most {VECTORS_TARGET}",
            size.pages
        );
        report.target(what, cost <= VECTORS_TARGET);
    }
    if let [first, .., last] = sizes {
        let share = last.rate(|round| round.import) / first.rate(|round| round.import);
        let what = format!(
            "rate at {} pages is {share:.2} of that at {}, at least {TARGET}",
            last.pages, first.pages
        );
        report.target(what, share >= TARGET);
    }
    report
}
