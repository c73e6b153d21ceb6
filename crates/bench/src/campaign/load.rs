//! `campaign load`: two importing processes and four searching ones at once.
//!
//! Nobody may fail, no page may be lost, a search that is behind says so. The importers first have a
//! source each, then share one source and one tree.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use fastrand::Rng;
use gbrain_core::id::{PageKey, Slug, SourceId, WorkspaceId};
use gbrain_store::PageFilter;
use gbrain_testkit::process::Gbrain;
use serde_json::Value;

use super::scaffold::{CampaignArgs, Part, Progress, Setup, seconds};
use super::tree::{self, Change, Tree};
use super::violations::Violations;

const SEARCHERS: usize = 4;
/// Pages that never change, so that searchers must always find them.
const STABLE: usize = 60;

/// The work for each engine.
#[derive(Debug, Clone, Args)]
pub struct LoadPlan {
    /// Seconds on each engine.
    #[arg(long = "seconds", default_value = "60", value_parser = seconds)]
    pub time: Duration,
    /// Files in each tree that is imported.
    #[arg(long, default_value_t = 300)]
    pub pages: usize,
}

#[derive(Debug, Default)]
pub struct Report {
    pub imports: usize,
    pub searches: usize,
    /// Searches that were behind, and said so.
    pub behind: usize,
    /// Pages compared with their files at the end.
    pub compared: usize,
    pub violations: Vec<String>,
}

/// Runs the campaign on the engines that were asked for.
pub fn run(args: &CampaignArgs<LoadPlan>) -> Result<ExitCode> {
    args.each(|setup, plan| {
        let Report { imports, searches, behind, compared, violations } = load(setup, plan)?;
        let figures = format!(
            "{} s of load, {imports} imports by 2 processes at once, {searches} searches by {SEARCHERS}, {behind} of \
             them behind and said so, {compared} pages compared",
            plan.time.as_secs()
        );
        Ok(Part::new(figures, violations))
    })
}

pub fn load(setup: &Setup, plan: &LoadPlan) -> Result<Report> {
    let mut rng = setup.rng();
    let dir = tempfile::Builder::new().prefix("gbrain-tree-").tempdir()?;
    let brain = setup.brain()?;
    let crowd = Crowd::new(&brain, plan);
    let mut trees = Vec::new();
    for (name, pages) in [("stable", STABLE), ("one", plan.pages), ("two", plan.pages)] {
        let mut tree = Tree::new(dir.path(), name)?;
        tree.change(&mut rng, Change { edits: 0, additions: pages, deletions: 0 })?;
        trees.push(tree);
    }
    let [stable, one, two] = trees.as_mut_slice() else { unreachable!("three trees were made") };
    crowd.violations.expect("init", &brain.run(&["init"])?);
    crowd.import(stable, "stable")?;

    let searching = Searching { crowd: &crowd, stable, stop: AtomicBool::new(false) };
    let half = plan.time / 2;
    std::thread::scope(|scope| {
        for _ in 0..SEARCHERS {
            let rng = rng.fork();
            scope.spawn(|| crowd.violations.note("a searcher", searching.run(rng)));
        }
        crowd.violations.note("importers apart", apart(&crowd, one, two, half, &mut rng));
        crowd.violations.note("importers together", together(&crowd, one, half, &mut rng));
        searching.stop.store(true, Ordering::Relaxed);
    });
    crowd.violations.expect("reindex --verify", &brain.run(&["reindex", "--verify"])?);
    crowd.compare(&[("stable", stable), ("one", one), ("two", two)])?;
    Ok(crowd.report())
}

/// Each importer has its own source and changes its own tree.
fn apart(
    crowd: &Crowd<'_>,
    one: &mut Tree,
    two: &mut Tree,
    time: Duration,
    rng: &mut Rng,
) -> Result<()> {
    let end = Instant::now() + time;
    std::thread::scope(|scope| {
        for (tree, source) in [(one, "one"), (two, "two")] {
            let mut rng = rng.fork();
            scope.spawn(move || {
                crowd
                    .violations
                    .note("an importer", change_and_import(crowd, tree, source, end, &mut rng))
            });
        }
    });
    Ok(())
}

fn change_and_import(
    crowd: &Crowd<'_>,
    tree: &mut Tree,
    source: &str,
    end: Instant,
    rng: &mut Rng,
) -> Result<()> {
    crowd.import(tree, source)?;
    while Instant::now() < end {
        change(tree, rng)?;
        crowd.import(tree, source)?;
    }
    Ok(())
}

/// Both importers take the same tree into the same source at the same moment.
fn together(crowd: &Crowd<'_>, tree: &mut Tree, time: Duration, rng: &mut Rng) -> Result<()> {
    let end = Instant::now() + time;
    while Instant::now() < end {
        change(tree, rng)?;
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| crowd.violations.note("an importer", crowd.import(tree, "one")));
            }
        });
    }
    Ok(())
}

fn change(tree: &mut Tree, rng: &mut Rng) -> Result<()> {
    let pages = tree.pages().len();
    let edits = if rng.u8(..4) == 0 { pages / 2 } else { rng.usize(1..30).min(pages) };
    let (additions, deletions) = (rng.usize(..20), rng.usize(..20).min(pages / 2));
    tree.change(rng, Change { edits, additions, deletions })
}

/// All clients of the brain, and their observations.
struct Crowd<'a> {
    brain: &'a Gbrain,
    imports: AtomicUsize,
    searches: AtomicUsize,
    behind: AtomicUsize,
    compared: AtomicUsize,
    violations: Violations,
    begun: Instant,
    progress: Progress,
}

impl<'a> Crowd<'a> {
    fn new(brain: &'a Gbrain, plan: &LoadPlan) -> Self {
        let progress = Progress::new("s of load", plan.time.as_secs() as usize);
        let count = AtomicUsize::default;
        let (imports, searches, behind, compared) = (count(), count(), count(), count());
        Self {
            brain,
            imports,
            searches,
            behind,
            compared,
            violations: Violations::default(),
            begun: Instant::now(),
            progress,
        }
    }

    fn import(&self, tree: &Tree, source: &str) -> Result<()> {
        self.progress.reach(self.begun.elapsed().as_secs() as usize);
        let output = self.brain.run(&["import", tree.root(), "--source", source])?;
        self.violations.expect("import", &output);
        self.imports.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Every file is a page, and every page a file.
    fn compare(&self, trees: &[(&str, &Tree)]) -> Result<()> {
        let (store, workspace) = (self.brain.store()?, WorkspaceId::default());
        let mut expected = 0;
        for (source, tree) in trees {
            expected += tree.pages().len();
            for (slug, text) in tree.pages() {
                let key = PageKey::new(SourceId::new(source)?, Slug::new(slug)?);
                let stored = store.page(&workspace, &key)?;
                if stored.is_none_or(|stored| stored.page.content != *text) {
                    self.violations.add(format!("{key} is lost, or not what its file says"));
                }
            }
        }
        let held = store.list(&workspace, &PageFilter::default(), None, 1_000_000)?.len();
        if held != expected {
            self.violations.add(format!("there are {held} pages and {expected} files"));
        }
        self.compared.store(expected, Ordering::Relaxed);
        Ok(())
    }

    fn report(self) -> Report {
        Report {
            imports: self.imports.into_inner(),
            searches: self.searches.into_inner(),
            behind: self.behind.into_inner(),
            compared: self.compared.into_inner(),
            violations: self.violations.into_list(),
        }
    }
}

/// The queries of the searchers, and when they stop.
struct Searching<'a> {
    crowd: &'a Crowd<'a>,
    stable: &'a Tree,
    stop: AtomicBool,
}

impl Searching<'_> {
    fn run(&self, mut rng: Rng) -> Result<()> {
        let store = self.crowd.brain.store()?;
        while !self.stop.load(Ordering::Relaxed) {
            let Some((slug, text)) = rng.choice(self.stable.pages()) else { return Ok(()) };
            let marker = tree::marker(text).unwrap_or_default();
            let command = if rng.bool() { "search" } else { "query" };
            let before = store.head(&WorkspaceId::default())?.generation.0;
            let output = self.crowd.brain.run(&[command, marker, "--json"])?;
            self.crowd.searches.fetch_add(1, Ordering::Relaxed);
            if self.crowd.violations.expect(command, &output) {
                self.check(&output.json()?, &output.stderr, slug, before);
            }
        }
        Ok(())
    }

    fn check(&self, answer: &Value, stderr: &str, slug: &str, before: i64) {
        let first = &answer["hits"][0];
        if first["slug"] != slug || first["source_id"] != "stable" {
            self.crowd.violations.add(format!("stable::{slug} is not found, but {first}"));
        }
        let served = &answer["served"];
        let (generation, behind) =
            (served["generation"].as_i64(), served["behind"].as_i64().unwrap_or(0));
        let says_so = stderr.contains(" behind");
        if behind > 0 {
            self.crowd.behind.fetch_add(1, Ordering::Relaxed);
        }
        if (behind > 0) != says_so {
            self.crowd
                .violations
                .add(format!("{behind} changes behind, and on stderr: {stderr:?}"));
        }
        if generation.is_none_or(|generation| generation < before) && behind == 0 {
            self.crowd
                .violations
                .add(format!("answered from {generation:?}, older than {before}, without a word"));
        }
    }
}
