//! A brain with public and private pages, its server, and untrusted callers.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fastrand::Rng;
use gbrain_core::defect::reports_panic;
use gbrain_testkit::cluster::Cluster;
use gbrain_testkit::engine::{Database, Engine};
use gbrain_testkit::http::{Answer, Caller};
use gbrain_testkit::process::{Gbrain, Output, Running};
use gbrain_testkit::served::Served;
use serde_json::{Value, json};

use super::fault::Fault;
use super::host::{Launch, SmallDisk};
use super::report::{FaultRow, FindingKind};
use super::writes::WriteLog;
use super::{FaultPlan, Sizes};
use crate::campaign::scaffold::Setup;
use crate::campaign::tree;

/// How long a caller waits for an answer: longer than the server gives itself.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);
/// How many seconds the server gives itself for an answer.
const SERVER_TIMEOUT: &str = "5";
/// The directory of private pages. No request names it, so no answer may.
const VAULT: &str = "vault/";
const PRIVATE_PAGES: usize = 6;
/// MiB of the small file system: several times what a brain takes.
const DISK_MIB: u64 = 96;

/// Everything that a fault happens to.
///
/// Fields are dropped in this order: the server before its database, both before the file system.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) server: Option<Served>,
    pub(super) brain: Gbrain,
    pub(super) cluster: Option<Cluster>,
    pub(super) disk: Option<SmallDisk>,
    pub(super) writes: WriteLog,
    /// Pages that were public, with the word that found them.
    pub(super) hidden: Vec<(String, String)>,
    pub(super) rng: Rng,
    pub(super) row: FaultRow,
    pub(super) sizes: Sizes,
    pub(super) launch: Launch,
    /// Pages written so far; part of every marker.
    serial: usize,
    /// How much of the running server's log was looked at.
    log_read: usize,
}

impl Subject {
    /// Makes a brain and starts a server on it.
    pub(super) fn new(setup: &Setup, plan: &FaultPlan, fault: Fault) -> Result<Self> {
        let mut row = FaultRow::new(fault, setup.engine);
        let mut launch = Launch::default();
        let mut disk = None;
        match fault {
            Fault::FullDisk => {
                disk = SmallDisk::mount(DISK_MIB).ok();
                row.method = match &disk {
                    Some(_) => format!("tmpfs of {DISK_MIB} MiB"),
                    None => "limit of file size (mounting is not permitted)".to_owned(),
                };
                launch = launch.without_size_signal();
            }
            Fault::ReadOnlyFiles => launch = launch.bound_by_permissions(),
            _ => {}
        }
        let (cluster, database) = match setup.engine {
            Engine::Sqlite => (None, None),
            Engine::Postgres => {
                let cluster = Cluster::create()?;
                let database = Database::create_with_role(&cluster.url())?;
                (Some(cluster), Some(database))
            }
        };
        let parent = disk.as_ref().map_or_else(std::env::temp_dir, |disk| disk.path().to_owned());
        let brain = Gbrain::new_in(&setup.program, &parent, database)?;
        let mut subject = Self {
            server: None,
            brain,
            cluster,
            disk,
            writes: WriteLog::default(),
            hidden: Vec::new(),
            rng: setup.rng(),
            row,
            sizes: plan.sizes,
            launch,
            serial: 0,
            log_read: 0,
        };
        subject.fill()?;
        subject.start()?;
        Ok(subject)
    }

    /// Imports the first pages.
    fn fill(&mut self) -> Result<()> {
        let dir = tempfile::Builder::new().prefix("gbrain-tree-").tempdir()?;
        let write = |slug: &str, text: &str| -> Result<()> {
            let path: PathBuf = dir.path().join(format!("{slug}.md"));
            std::fs::create_dir_all(path.parent().context("a slug has a directory")?)?;
            Ok(std::fs::write(path, text)?)
        };
        for number in 0..self.sizes.pages {
            let (slug, text) = self.new_page(&format!("seed/page-{number}"));
            write(&slug, &text)?;
            self.writes.begin(&slug, &text);
            self.writes.acknowledge(&slug, &text);
        }
        for number in 0..PRIVATE_PAGES {
            let slug = format!("{VAULT}{number}");
            let text = format!(
                "---\nvisibility: private\n---\n# Locked {number}\n\nharbour lantern hush{number}word\n"
            );
            write(&slug, &text)?;
            self.writes.begin(&slug, &text);
            self.writes.acknowledge(&slug, &text);
            self.writes.hide(&slug);
        }
        let root = dir.path().to_str().context("a temporary directory has a plain name")?;
        for args in [&["init"][..], &["import", root]] {
            let output = self.run(args, "")?;
            anyhow::ensure!(output.complaint().is_none(), "{args:?} {:?}", output.complaint());
        }
        Ok(())
    }

    fn new_page(&mut self, slug: &str) -> (String, String) {
        self.serial += 1;
        let text = tree::page(&mut self.rng, slug, &format!("f{}", self.serial));
        (slug.to_owned(), text)
    }

    /// Starts the server, with the launch that is set.
    pub(super) fn start(&mut self) -> Result<()> {
        let connections = self.sizes.server_connections.to_string();
        let words = ["serve", "--timeout", SERVER_TIMEOUT, "--connections", &connections];
        let command = self.launch.wrap(&self.brain.command(&words));
        self.log_read = 0;
        self.server = Some(Served::start(command)?);
        Ok(())
    }

    pub(super) fn stop(&mut self) -> Result<()> {
        self.read_log()?;
        let Some(server) = self.server.take() else { return Ok(()) };
        let output = server.stop()?;
        if reports_panic(&output.stderr[self.log_read.min(output.stderr.len())..]) {
            self.row.add(FindingKind::Panic, last_panic(&output.stderr));
        }
        Ok(())
    }

    /// The server that should be running.
    pub(super) fn server(&self) -> Result<&Served> {
        self.server.as_ref().context("no server was started")
    }

    /// Looks for panics in the part of the log that is new.
    pub(super) fn read_log(&mut self) -> Result<()> {
        let Some(server) = &self.server else { return Ok(()) };
        let log = server.log()?;
        let news = log.get(self.log_read..).unwrap_or_default();
        for line in news.lines().filter(|line| reports_panic(line)) {
            self.row.add(FindingKind::Panic, line);
        }
        self.log_read = log.len();
        Ok(())
    }

    /// A command of this brain, started like the server.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        self.launch.wrap(&self.brain.command(args))
    }

    /// Runs a command; a panic or a signal is a finding.
    pub(super) fn run(&mut self, args: &[&str], input: &str) -> Result<Output> {
        let output = Running::start(self.command(args), input)?.wait()?;
        if reports_panic(&output.stderr) || output.code.is_none() {
            let what = format!("gbrain {args:?} ended with {:?}: {}", output.code, output.stderr);
            self.row.add(FindingKind::Panic, what);
        }
        Ok(output)
    }

    /// Sends a request on a connection of its own; none if there was no answer. Whatever comes back must not
    /// name a private page.
    pub(super) fn call(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        timeout: Duration,
    ) -> Option<Answer> {
        let address = self.server.as_ref()?.address();
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut caller = Caller::connect_within(address, timeout).ok()?;
        let answer = caller.call(method, path, body.as_bytes()).ok()?;
        let text = answer.text();
        if text.contains(VAULT) || text.contains("vault%2F") {
            self.row.add(FindingKind::Leak, format!("{method} {path} was answered with {text}"));
        }
        Some(answer)
    }

    /// Writes a page over HTTP, a new one or another text of one whose text is certain.
    pub(super) fn write(&mut self, timeout: Duration) -> bool {
        let known = self.writes.certain().into_iter().map(|(slug, _)| slug.to_owned());
        let known: Vec<String> = known.collect();
        let slug = match self.rng.choice(&known) {
            Some(slug) if self.rng.bool() => slug.clone(),
            _ => format!("note/{}", self.serial),
        };
        let (slug, text) = self.new_page(&slug);
        self.writes.begin(&slug, &text);
        let body = json!({ "content": text });
        let answer = self.call("PUT", &address(&slug), Some(&body), timeout);
        let is_acknowledged = answer.is_some_and(|answer| answer.status == 200);
        if is_acknowledged {
            self.writes.acknowledge(&slug, &text);
        } else {
            self.row.unacknowledged += 1;
        }
        is_acknowledged
    }

    /// Makes a public page private at the keyboard. Once that is acknowledged no caller may find it.
    pub(super) fn hide_a_page(&mut self) -> Result<()> {
        let certain = self.writes.certain();
        let Some((slug, old)) = self.rng.choice(certain) else { return Ok(()) };
        let word = tree::marker(old).unwrap_or_default().to_owned();
        let slug = slug.to_owned();
        let (_, text) = self.new_page(&slug);
        let text = text.replacen("---\n", "---\nvisibility: private\n", 1);
        self.writes.begin(&slug, &text);
        let output = self.run(&["put", &slug], &text)?;
        if output.code == Some(0) {
            self.writes.acknowledge(&slug, &text);
            self.writes.hide(&slug);
            self.hidden.push((slug, word));
        } else {
            self.row.unacknowledged += 1;
        }
        Ok(())
    }

    /// Writes while `action` runs on a thread of its own, and at least so often.
    pub(super) fn write_during(
        &mut self,
        least: usize,
        action: impl FnOnce() -> Result<()> + Send,
    ) -> Result<()> {
        std::thread::scope(|scope| {
            let action = scope.spawn(action);
            let mut count = 0;
            while !action.is_finished() || count < least {
                self.write(TIMEOUT);
                count += 1;
                // A server that is down refuses thousands of connections a second.
                std::thread::sleep(Duration::from_millis(2));
            }
            action.join().map_err(|_| anyhow::anyhow!("the thread of a fault panicked"))?
        })
    }
}

fn last_panic(log: &str) -> String {
    log.lines().rfind(|line| reports_panic(line)).unwrap_or_default().to_owned()
}

/// The address of a page: its name is one part of the path.
pub(super) fn address(page: &str) -> String {
    format!("/v1/pages/{}", page.replace('/', "%2F"))
}
