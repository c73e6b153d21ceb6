//! `campaign kill`: SIGKILL at random moments of init, import, put and reindex.
//!
//! After every kill, what was acknowledged is there, every page is whole (the old text or the new),
//! `reindex --verify` is clean and a search finds what the store holds. A neighbour that writes at
//! the same time is not hurt. Now and then the index is thrown away, an import is run to its end,
//! and a new brain is begun.
//!
//! Deliberately absent: power failure. A killed process leaves its writes to the kernel.

mod model;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use fastrand::Rng;
use gbrain_core::id::WorkspaceId;
use gbrain_store::PageFilter;
use gbrain_testkit::engine::Engine;
use gbrain_testkit::process::{Gbrain, Output};
use tempfile::TempDir;

use model::{Begun, Model};

use super::scaffold::{CampaignArgs, Part, Progress, Setup, minutes, say};
use super::tree::{self, Change, Tree};

/// After so many kills a new brain is begun, so that its making is killed too.
const BRAIN_LIFE: usize = 40;

/// The work for each engine.
#[derive(Debug, Clone, Args)]
pub struct KillPlan {
    /// Kills that must land in a running process, on each engine.
    #[arg(long, default_value_t = 200)]
    pub kills: usize,
    /// Files in the tree that is imported.
    #[arg(long, default_value_t = 300)]
    pub pages: usize,
    /// Minutes after which an engine's turn ends, whatever has been done by then.
    #[arg(long = "minutes", default_value = "20", value_parser = minutes)]
    pub time: Duration,
}

/// A command that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Victim {
    Init,
    Import,
    Put,
    Reindex,
}

#[derive(Debug, Default)]
pub struct Report {
    /// Kills that landed in a running process, by command.
    pub landed: BTreeMap<Victim, usize>,
    /// Kills that came after the end, by command.
    pub late: BTreeMap<Victim, usize>,
    /// Killed writes of which nothing was there afterwards.
    pub undone: usize,
    /// Killed writes of which everything was there, though nothing had been acknowledged.
    pub done: usize,
    /// Killed writes that stopped between two transactions.
    pub partly: usize,
    /// Times the index was thrown away.
    pub index_removals: usize,
    /// Processes that wrote beside one that was killed.
    pub neighbours: usize,
    pub brains: usize,
    /// Pages compared with the model.
    pub compared: usize,
    pub violations: Vec<String>,
}

/// Runs the campaign on the engines that were asked for.
pub fn run(args: &CampaignArgs<KillPlan>) -> Result<ExitCode> {
    args.each(|setup, plan| {
        let report = run_on_engine(setup, plan)?;
        let (landed, lines) = (report.kills(), report.lines());
        let part = Part::new(format!("{landed} kills"), report.violations).lines(lines);
        Ok(part.require(landed >= plan.kills, "too few kills landed in a running process"))
    })
}

/// Kills until enough kills have landed.
pub fn run_on_engine(setup: &Setup, plan: &KillPlan) -> Result<Report> {
    let mut rng = setup.rng();
    let mut report = Report::default();
    let start = Instant::now();
    let progress = Progress::new("kills", plan.kills);
    while report.kills() < plan.kills && start.elapsed() < plan.time && report.violations.is_empty()
    {
        let mut life = Life::begin(setup, plan, rng.fork(), &mut report)?;
        let until = (report.kills() + BRAIN_LIFE).min(plan.kills);
        while report.kills() < until && start.elapsed() < plan.time && report.violations.is_empty()
        {
            life.round(&mut report)?;
            progress.reach(report.kills());
        }
        life.end(&report);
    }
    Ok(report)
}

/// One brain, from its making to its last kill.
struct Life {
    brain: Gbrain,
    tree: Tree,
    notes: usize,
    model: Model,
    /// How long each command takes when nobody kills it.
    usual: BTreeMap<Victim, Duration>,
    rng: Rng,
    _dir: TempDir,
}

impl Life {
    fn begin(setup: &Setup, plan: &KillPlan, mut rng: Rng, report: &mut Report) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("gbrain-tree-").tempdir()?;
        let mut tree = Tree::new(dir.path(), "tree")?;
        tree.change(&mut rng, Change { edits: 0, additions: plan.pages, deletions: 0 })?;
        let brain = setup.brain()?;
        report.brains += 1;
        let model = Model::default();
        let mut life =
            Self { brain, tree, notes: 0, model, usual: BTreeMap::new(), rng, _dir: dir };
        life.make(setup.engine, report)?;
        Ok(life)
    }

    /// Makes the brain, and kills its making first.
    fn make(&mut self, engine: Engine, report: &mut Report) -> Result<()> {
        let after = Duration::from_micros(self.rng.u64(..60_000));
        let output = self.brain.spawn(&["init"], "")?.kill(after)?;
        report.count(Victim::Init, &output);
        self.brain.settle()?;
        let output = self.brain.run(&["init"])?;
        report.expect("init after a killed init", &output);
        // The first import is the longest: everything is new.
        self.usual.insert(
            Victim::Import,
            Duration::from_millis(if engine == Engine::Sqlite { 600 } else { 900 }),
        );
        Ok(())
    }

    fn round(&mut self, report: &mut Report) -> Result<()> {
        let victim = match self.rng.u8(..10) {
            0..5 => Victim::Import,
            5..8 => Victim::Put,
            _ => Victim::Reindex,
        };
        if !self.usual.contains_key(&victim) || self.rng.u8(..8) == 0 {
            self.complete(victim, report)?;
        }
        let neighbour = (victim != Victim::Put && self.rng.u8(..4) == 0).then(|| self.write_note());
        let beside = match &neighbour {
            Some(note) => {
                Some(self.brain.spawn(&["put", &note.slug, "--source", "notes"], &note.text)?)
            }
            None => None,
        };
        let task = self.task(victim)?;
        let after = self.moment(victim);
        let output = self.brain.spawn(&task.args(), task.input())?.kill(after)?;
        if let (Some(beside), Some(note)) = (beside, neighbour) {
            report.neighbours += 1;
            if report.expect("a put beside a killed process", &beside.wait()?) {
                self.model.is(&note.name(), Some(note.text));
            }
        }
        self.brain.settle()?;
        report.count(victim, &output);
        self.acknowledge(&task, &output, report);
        if self.rng.u8(..8) == 0 {
            self.brain.remove_index()?;
            report.index_removals += 1;
        }
        self.check(report)
    }

    /// Runs a command to its end: it must succeed, and tells how long it takes.
    fn complete(&mut self, victim: Victim, report: &mut Report) -> Result<()> {
        let task = self.task(victim)?;
        let output = self.brain.spawn(&task.args(), task.input())?.wait()?;
        report.expect(victim.name(), &output);
        self.usual.insert(victim, output.took);
        self.acknowledge(&task, &output, report);
        self.check(report)
    }

    /// A moment in the usual time of a command, or a little after it.
    fn moment(&mut self, victim: Victim) -> Duration {
        let usual = self.usual.get(&victim).copied().unwrap_or(Duration::from_millis(100));
        usual.mul_f64(self.rng.f64() * 1.05)
    }

    fn task(&mut self, victim: Victim) -> Result<Task> {
        Ok(match victim {
            Victim::Init => Task::Init,
            Victim::Reindex => Task::Reindex,
            Victim::Put => {
                let note = self.write_note();
                Task::Put(note)
            }
            Victim::Import => {
                self.change_tree()?;
                self.expect_tree(Model::may_be);
                Task::Import(self.tree.root().to_owned())
            }
        })
    }

    /// A few files, many, or all.
    fn change_tree(&mut self) -> Result<()> {
        let pages = self.tree.pages().len();
        let edits = match self.rng.u8(..10) {
            0..5 => self.rng.usize(1..20),
            5..8 => pages / 3,
            _ => pages,
        };
        let (additions, deletions) = (self.rng.usize(..12), self.rng.usize(..12).min(pages / 2));
        self.tree.change(&mut self.rng, Change { edits, additions, deletions })
    }

    /// Tells the model what an import of the tree leads to.
    fn expect_tree(&mut self, tell: fn(&mut Model, &str, Option<String>)) {
        let prefix = "default::";
        for name in self.model.names() {
            let slug = name.strip_prefix(prefix);
            if slug.is_some_and(|slug| !self.tree.pages().contains_key(slug)) {
                tell(&mut self.model, &name, None);
            }
        }
        for (slug, text) in self.tree.pages() {
            tell(&mut self.model, &format!("{prefix}{slug}"), Some(text.clone()));
        }
    }

    /// A note that is new, or a new text of one.
    fn write_note(&mut self) -> Note {
        self.notes += 1;
        let slug = format!("note-{}", self.rng.usize(..20));
        let text = tree::page(&mut self.rng, &slug, &format!("note{}", self.notes));
        let note = Note { slug, text };
        self.model.may_be(&note.name(), Some(note.text.clone()));
        note
    }

    /// Believes what a process said before it ended, however it ended.
    fn acknowledge(&mut self, task: &Task, output: &Output, report: &mut Report) {
        if output.stdout.is_empty() {
            return;
        }
        match task {
            Task::Put(note) => self.model.is(&note.name(), Some(note.text.clone())),
            Task::Import(_) if output.stdout.contains(" 0 failed") => self.expect_tree(Model::is),
            Task::Import(_) => {
                report.violations.push(format!("an import failed: {}", output.stdout))
            }
            Task::Init | Task::Reindex => {}
        }
    }

    /// Everything that must hold whenever nothing runs.
    fn check(&mut self, report: &mut Report) -> Result<()> {
        // Both must be able to bring the index back, so neither may always come first.
        let search_first = self.rng.bool();
        let seen = self.pages()?;
        if search_first {
            self.check_search(&seen, report)?;
        }
        let output = self.brain.run(&["reindex", "--verify"])?;
        report.expect("reindex --verify", &output);
        if !search_first {
            self.check_search(&seen, report)?;
        }
        report.count_done(self.model.begun(&seen));
        report.compared += seen.len();
        let wrong = self.model.observe(&seen);
        report.violations.extend(wrong);
        Ok(())
    }

    /// A page that is there is found by its marker.
    fn check_search(&mut self, seen: &BTreeMap<String, String>, report: &mut Report) -> Result<()> {
        let certain = self.model.certain();
        let Some((page, text)) = self.rng.choice(certain) else { return Ok(()) };
        if seen.get(page).map(String::as_str) != Some(text) {
            return Ok(());
        }
        let marker = tree::marker(text).unwrap_or_default();
        let output = self.brain.run(&["search", marker, "--json"])?;
        if report.expect("search", &output) {
            let answer = output.json()?;
            let hit = &answer["hits"][0];
            let first = format!(
                "{}::{}",
                hit["source_id"].as_str().unwrap_or(""),
                hit["slug"].as_str().unwrap_or("")
            );
            if first != page {
                report
                    .violations
                    .push(format!("a search for {marker} finds {first} first and not {page}"));
            }
            if answer["served"]["behind"] != 0 {
                report.violations.push("a search is behind though nothing runs".to_owned());
            }
        }
        Ok(())
    }

    /// What a reader of the store sees.
    fn pages(&self) -> Result<BTreeMap<String, String>> {
        let (store, workspace) = (self.brain.store()?, WorkspaceId::default());
        let infos = store.list(&workspace, &PageFilter::default(), None, 100_000)?;
        let keys: Vec<_> = infos.into_iter().map(|info| info.key).collect();
        let pages = store.pages(&workspace, &keys)?.into_iter().flatten();
        Ok(pages.map(|stored| (stored.page.key.to_string(), stored.page.content)).collect())
    }

    fn end(self, report: &Report) {
        if !report.violations.is_empty() {
            say(format!("the brain is kept in {}", self.brain.keep().display()));
        }
    }
}

/// A page that `put` writes.
#[derive(Debug)]
struct Note {
    slug: String,
    text: String,
}

impl Note {
    fn name(&self) -> String {
        format!("notes::{}", self.slug)
    }
}

/// A command with what it needs.
#[derive(Debug)]
enum Task {
    Init,
    Import(String),
    Put(Note),
    Reindex,
}

impl Task {
    fn args(&self) -> Vec<&str> {
        match self {
            Self::Init => vec!["init"],
            Self::Import(root) => vec!["import", root],
            Self::Put(note) => vec!["put", &note.slug, "--source", "notes"],
            Self::Reindex => vec!["reindex"],
        }
    }

    fn input(&self) -> &str {
        if let Self::Put(note) = self { &note.text } else { "" }
    }
}

impl Victim {
    fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Import => "import",
            Self::Put => "put",
            Self::Reindex => "reindex",
        }
    }
}

impl Report {
    /// Kills that landed in a running process.
    pub fn kills(&self) -> usize {
        self.landed.values().sum()
    }

    fn count(&mut self, victim: Victim, output: &Output) {
        let counts = if output.code.is_none() { &mut self.landed } else { &mut self.late };
        *counts.entry(victim).or_default() += 1;
    }

    fn expect(&mut self, what: &str, output: &Output) -> bool {
        let complaint = output.complaint();
        if let Some(complaint) = &complaint {
            self.violations.push(format!("{what} {complaint}"));
        }
        complaint.is_none()
    }

    fn count_done(&mut self, begun: Begun) {
        match begun {
            Begun { old: 0, new: 0 } => {}
            Begun { new: 0, .. } => self.undone += 1,
            Begun { old: 0, .. } => self.done += 1,
            Begun { .. } => self.partly += 1,
        }
    }

    fn lines(&self) -> Vec<String> {
        let victim = |(victim, landed): (&Victim, &usize)| {
            let late = self.late.get(victim).copied().unwrap_or_default();
            format!("  {:<8} {landed} killed while running, {late} had just ended", victim.name())
        };
        let mut lines: Vec<String> = self.landed.iter().map(victim).collect();
        lines.push(format!(
            "  {} brains, index thrown away {} times, {} neighbours, {} pages compared",
            self.brains, self.index_removals, self.neighbours, self.compared
        ));
        lines.push(format!(
            "  writes cut short: {} left nothing, {} a part, {} everything",
            self.undone, self.partly, self.done
        ));
        lines
    }
}
