//! PostgreSQL stopped, paused and full.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use gbrain_testkit::process::signal;

use super::super::subject::{Subject, TIMEOUT};

/// How long a caller waits while nothing can answer.
const SHORT: Duration = Duration::from_millis(500);

impl Subject {
    /// Stops PostgreSQL without telling its clients, and starts it again.
    pub(super) fn restart_postgres(&mut self) -> Result<()> {
        self.row.method = "pg_ctl stop -m immediate, start".to_owned();
        self.hide_a_page()?;
        let mut cluster = self.cluster.take().context("PostgreSQL is a cluster of its own")?;
        let after = Duration::from_micros(self.rng.u64(..30_000));
        let written = self.write_during(1, || {
            std::thread::sleep(after);
            cluster.stop()?;
            Ok(cluster.start()?)
        });
        self.cluster = Some(cluster);
        written?;
        let since = Instant::now();
        self.look_for_hidden();
        self.recover(since)
    }

    /// Stops every process of PostgreSQL: connections are open, and nothing answers.
    pub(super) fn pause_postgres(&mut self) -> Result<()> {
        self.row.method = "SIGSTOP of every process".to_owned();
        self.hide_a_page()?;
        let paused = Paused::pause(self.postmaster()?)?;
        for _ in 0..2 {
            self.write(SHORT);
        }
        self.look_for_hidden();
        self.check_readiness();
        let since = Instant::now();
        drop(paused);
        self.recover(since)
    }

    /// Takes every connection that PostgreSQL has, those of the server too.
    pub(super) fn exhaust_connections(&mut self) -> Result<()> {
        self.row.method = "every connection taken, those of the server closed".to_owned();
        self.hide_a_page()?;
        let url = self.brain.database_url().context("the brain is on PostgreSQL")?;
        let mut held = Vec::new();
        take_connections(url, &mut held);
        let own = self.cluster.as_ref().context("PostgreSQL is a cluster of its own")?.url();
        let mut superuser = postgres::Client::connect(&own, postgres::NoTls)?;
        for _ in 0..3 {
            let ours: Vec<i32> = held.iter_mut().filter_map(backend).collect();
            let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                       WHERE datname IS NOT NULL AND pid <> pg_backend_pid() AND pid <> ALL($1)";
            superuser.query(sql, &[&ours])?;
            take_connections(url, &mut held);
        }
        for _ in 0..self.sizes.writes {
            self.write(TIMEOUT);
            self.read();
        }
        self.look_for_hidden();
        self.check_readiness();
        let refused = self.run(&["doctor", "--offline"], "")?;
        if refused.code == Some(0) {
            let what = "doctor is green while PostgreSQL refuses connections";
            self.row.add(super::super::report::FindingKind::FalseGreen, what);
        }
        let since = Instant::now();
        drop(held);
        self.recover(since)
    }

    fn postmaster(&self) -> Result<u32> {
        let url = self.cluster.as_ref().context("PostgreSQL is a cluster of its own")?.url();
        let host = url.split(' ').find_map(|setting| setting.strip_prefix("host="));
        let host = host.context("the cluster has a socket")?;
        let file = std::path::Path::new(host).join("data/postmaster.pid");
        let text = std::fs::read_to_string(file)?;
        Ok(text.lines().next().unwrap_or_default().trim().parse()?)
    }
}

/// Opens connections until there are no more.
fn take_connections(url: &str, held: &mut Vec<postgres::Client>) {
    while let Ok(client) = postgres::Client::connect(url, postgres::NoTls) {
        held.push(client);
    }
}

fn backend(client: &mut postgres::Client) -> Option<i32> {
    Some(client.query_one("SELECT pg_backend_pid()", &[]).ok()?.get(0))
}

/// A PostgreSQL whose processes are stopped, until this is dropped.
#[derive(Debug)]
struct Paused(Vec<u32>);

impl Paused {
    fn pause(postmaster: u32) -> Result<Self> {
        // The postmaster first: it can't start another process then.
        signal(postmaster, "STOP")?;
        let mut paused = Self(vec![postmaster]);
        for child in children(postmaster)? {
            // One that has just ended needs no pause.
            if signal(child, "STOP").is_ok() {
                paused.0.push(child);
            }
        }
        Ok(paused)
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        for pid in self.0.iter().rev() {
            // One that is gone needs no signal.
            let _ = signal(*pid, "CONT");
        }
    }
}

fn children(parent: u32) -> Result<Vec<u32>> {
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name, in parentheses, may hold anything; the parent is the second field after it.
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        if fields.split_whitespace().nth(1) == Some(&parent.to_string()) {
            children.push(pid);
        }
    }
    Ok(children)
}
