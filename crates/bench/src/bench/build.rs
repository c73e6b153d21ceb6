//! `bench build`: a brain of a given number of chunks, and questions that are independent of it.
//!
//! Runs in a process of its own, so that its memory does not count as the searcher's. What it
//! leaves in the directory is `home`, `questions.txt` and `build.json`; what is there is kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use gbrain_bench::campaign::scaffold::progress;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::{PageFormat, PageInput, parse, slug_of_path};
use serde::{Deserialize, Serialize};

use super::corpus::Corpus;
use super::data_dir;
use super::home::Home;
use super::machine::status_kib;
use super::questions::questions;

const SEED: u64 = 20_260_601;
const QUESTIONS: usize = 1000;

/// A brain of a given number of chunks.
#[derive(Debug, clap::Parser)]
pub(crate) struct BuildArgs {
    /// How many chunks.
    #[arg(long)]
    chunks: usize,
    /// Where to.
    #[arg(long)]
    dir: PathBuf,
}

/// How a brain was built.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BuildTimes {
    pub(crate) real_pages: usize,
    pub(crate) made_pages: usize,
    pub(crate) failed: usize,
    pub(crate) chunks: u64,
    pub(crate) bytes: u64,
    pub(crate) import_seconds: f64,
    pub(crate) import_peak_kib: u64,
}

/// Files to import, counted as they are written.
struct Pages {
    dir: PathBuf,
    chunks: usize,
    bytes: u64,
}

/// The brain of `chunks` chunks in `dir`, built by another process where it is not there yet.
pub(crate) fn ensure_built(chunks: usize, dir: &Path) -> Result<BuildTimes> {
    if !dir.join("build.json").exists() {
        let status = Command::new(std::env::current_exe()?)
            .args(["bench", "build", "--chunks", &chunks.to_string(), "--dir"])
            .arg(dir)
            .status()?;
        ensure!(status.success(), "the brain could not be built");
    }
    let text = fs::read_to_string(dir.join("build.json"))?;
    Ok(serde_json::from_str(&text)?)
}

/// The questions that were made with a brain.
pub(crate) fn read_questions(dir: &Path) -> Result<Vec<String>> {
    let text =
        fs::read_to_string(dir.join("questions.txt")).context("the brain has no questions")?;
    Ok(text.lines().map(str::to_owned).collect())
}

pub(crate) fn run(args: &BuildArgs) -> Result<ExitCode> {
    if args.dir.exists() {
        fs::remove_dir_all(&args.dir)
            .context("what an unfinished build left could not be removed")?;
    }
    fs::create_dir_all(&args.dir)?;
    let pages = tempfile::tempdir()?;
    let mut built = write_pages(args, pages.path())?;
    progress(format!("importing {} pages", built.real_pages + built.made_pages));
    let home = Home::open(&args.dir.join("home"))?;
    let begun = Instant::now();
    let summary = home.import(&[pages.path().to_owned()])?;
    built.import_seconds = begun.elapsed().as_secs_f64();
    built.failed = summary.failed.len();
    built.import_peak_kib = status_kib("VmHWM");
    built.chunks = home.brain.store().head(home.brain.workspace())?.chunks;
    fs::write(args.dir.join("build.json"), serde_json::to_string_pretty(&built)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Real pages make up to half of the chunks, made ones the rest.
fn write_pages(args: &BuildArgs, dir: &Path) -> Result<BuildTimes> {
    let unpacked = tempfile::tempdir()?;
    let corpus = Corpus::load(&data_dir()?, unpacked.path())?;
    let questions = questions(&corpus.held_out, QUESTIONS, SEED);
    fs::write(args.dir.join("questions.txt"), questions.join("\n"))?;

    let mut pages = Pages { dir: dir.to_owned(), chunks: 0, bytes: 0 };
    let mut order: Vec<usize> = (0..corpus.pages.len()).collect();
    fastrand::Rng::with_seed(SEED).shuffle(&mut order);
    let mut real_pages = 0;
    for place in order {
        if pages.chunks >= args.chunks / 2 {
            break;
        }
        let page = &corpus.pages[place];
        pages.write(&page.path, &page.text)?;
        real_pages += 1;
    }
    let generator = corpus.generator(SEED);
    let mut made_pages = 0;
    while pages.chunks < args.chunks {
        let (path, text) = generator.page(made_pages);
        pages.write(&path, &text)?;
        made_pages += 1;
    }
    let Pages { bytes, .. } = pages;
    Ok(BuildTimes {
        real_pages,
        made_pages,
        failed: 0,
        chunks: 0,
        bytes,
        import_seconds: 0.0,
        import_peak_kib: 0,
    })
}

impl Pages {
    fn write(&mut self, path: &Path, text: &str) -> Result<()> {
        let to = self.dir.join(path);
        fs::create_dir_all(to.parent().context("a page is in a directory")?)?;
        fs::write(&to, text)?;
        self.bytes += text.len() as u64;
        self.chunks += chunks_of(path, text);
        Ok(())
    }
}

/// How many chunks a page will have; none if it will be refused.
fn chunks_of(path: &Path, text: &str) -> usize {
    let Ok(slug) = slug_of_path(&path.to_string_lossy()) else { return 0 };
    let key = PageKey::new(SourceId::default(), slug);
    let input = PageInput { key, file_name: None, content: text, format: PageFormat::Markdown };
    parse(input).map_or(0, |page| page.chunks.len())
}
