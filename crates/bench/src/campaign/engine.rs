//! The two engines, and a PostgreSQL database of one's own.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;

/// Which database holds the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// A file in the home.
    Sqlite,
    /// A database on the server that `GBRAIN_TEST_POSTGRES` names.
    Postgres,
}

/// Which engines a campaign is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Engines {
    /// SQLite alone.
    Sqlite,
    /// PostgreSQL alone.
    Postgres,
    /// One after the other.
    Both,
}

/// A database that goes away when it is dropped.
#[derive(Debug)]
pub struct Database {
    server: String,
    name: String,
    /// The role that connects; the server's own if none.
    role: Option<String>,
}

impl Engine {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

impl Engines {
    /// The engines, in order.
    pub fn list(self) -> &'static [Engine] {
        match self {
            Self::Sqlite => &[Engine::Sqlite],
            Self::Postgres => &[Engine::Postgres],
            Self::Both => &[Engine::Sqlite, Engine::Postgres],
        }
    }
}

impl Database {
    /// Makes a database with a name that nobody else has.
    pub fn create() -> Result<Self> {
        let Ok(server) = std::env::var("GBRAIN_TEST_POSTGRES") else {
            bail!(
                "GBRAIN_TEST_POSTGRES is not set: run `cargo xtask test` or `cargo xtask campaign`"
            );
        };
        let name = format!("c_{:016x}", fastrand::u64(..));
        connect(&server)?.batch_execute(&format!("CREATE DATABASE {name}"))?;
        Ok(Self { server, name, role: None })
    }

    /// Makes a database on this server, owned by a role of its own that is no superuser: what a product
    /// should connect as.
    pub fn create_with_role(server: &str) -> Result<Self> {
        let name = format!("c_{:016x}", fastrand::u64(..));
        let role = format!("r_{name}");
        let mut client = connect(server)?;
        client.batch_execute(&format!("CREATE ROLE {role} LOGIN"))?;
        client.batch_execute(&format!("CREATE DATABASE {name} OWNER {role}"))?;
        Ok(Self { server: server.to_owned(), name, role: Some(role) })
    }

    /// A database with the same rows, of the same owner. Nobody may be connected to this one.
    pub fn copy(&self) -> Result<Self> {
        let name = format!("c_{:016x}", fastrand::u64(..));
        let owner = self.role.as_ref().map(|role| format!(" OWNER {role}")).unwrap_or_default();
        let sql = format!("CREATE DATABASE {name} TEMPLATE {}{owner}", self.name);
        connect(&self.server)?.batch_execute(&sql)?;
        Ok(Self { server: self.server.clone(), name, role: self.role.clone() })
    }

    /// Its address, as a keyword string.
    pub fn url(&self) -> String {
        let is_kept = |setting: &&str| {
            !(setting.starts_with("dbname=") || self.role.is_some() && setting.starts_with("user="))
        };
        let mut settings: Vec<String> =
            self.server.split(' ').filter(is_kept).map(str::to_owned).collect();
        settings.extend(self.role.as_ref().map(|role| format!("user={role}")));
        settings.push(format!("dbname={}", self.name));
        settings.join(" ")
    }

    /// Waits until the server has noticed that its clients are gone: it finishes the statement
    /// that a killed client sent last, and that may be a commit.
    pub fn settle(&self) -> Result<()> {
        let mut client = connect(&self.server)?;
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(30) {
            let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1";
            let clients: i64 = client.query_one(sql, &[&self.name])?.get(0);
            if clients == 0 {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        bail!("PostgreSQL still serves a client that was killed 30 s ago")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Ok(mut client) = connect(&self.server) {
            // The whole server is thrown away soon.
            let _ = client
                .batch_execute(&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
        }
    }
}

fn connect(url: &str) -> Result<postgres::Client> {
    postgres::Client::connect(url, postgres::NoTls).context("PostgreSQL can't be reached")
}
