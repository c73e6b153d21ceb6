//! The two engines, and a PostgreSQL database of one's own.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// Which database holds the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// A file in the home.
    Sqlite,
    /// A database on the server that `GBRAIN_TEST_POSTGRES` names.
    Postgres,
}

/// A database that goes away when it is dropped.
#[derive(Debug)]
pub struct Database {
    server: String,
    name: String,
    /// The role that connects; the server's own if none.
    role: Option<String>,
    url: String,
}

impl Engine {
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// How to get what a test needs.
pub(crate) const REMEDY: &str = "run `cargo xtask test` or `cargo xtask campaign`";

/// The connection string of the PostgreSQL server that `cargo xtask` started.
pub fn server() -> Result<String> {
    match std::env::var("GBRAIN_TEST_POSTGRES") {
        Ok(server) => Ok(server),
        Err(_) => bail!("GBRAIN_TEST_POSTGRES is not set: {REMEDY}"),
    }
}

/// A connection string with one setting replaced.
pub fn with_setting(url: &str, key: &str, value: &str) -> String {
    let is_other = |setting: &&str| setting.split_once('=').is_none_or(|(name, _)| name != key);
    let mut settings: Vec<&str> = url.split(' ').filter(is_other).collect();
    let setting = format!("{key}={value}");
    settings.push(&setting);
    settings.join(" ")
}

pub fn connect(url: &str) -> Result<postgres::Client> {
    postgres::Client::connect(url, postgres::NoTls).context("PostgreSQL can't be reached")
}

impl Database {
    /// Creates an empty database.
    pub fn create() -> Result<Self> {
        Self::create_with("")
    }

    /// Makes a database with options of `CREATE DATABASE`.
    pub fn create_with(options: &str) -> Result<Self> {
        Self::create_on(server()?, None, options)
    }

    /// Makes a database on this server, owned by a role of its own that is no superuser: what a product
    /// should connect as.
    pub fn create_with_role(server: &str) -> Result<Self> {
        let role = format!("r_{:016x}", fastrand::u64(..));
        connect(server)?.batch_execute(&format!("CREATE ROLE {role} LOGIN"))?;
        Self::create_on(server.to_owned(), Some(role), "")
    }

    /// Makes a database with a name that no other has.
    fn create_on(server: String, role: Option<String>, options: &str) -> Result<Self> {
        let name = format!("c_{:016x}", fastrand::u64(..));
        let owner = role.as_ref().map(|role| format!(" OWNER {role}")).unwrap_or_default();
        connect(&server)?.batch_execute(&format!("CREATE DATABASE {name} {options}{owner}"))?;
        let url = with_setting(&server, "dbname", &name);
        let url = role.as_ref().map_or(url.clone(), |role| with_setting(&url, "user", role));
        Ok(Self { server, name, role, url })
    }

    /// Copies the database with its rows and its owner. No client may be connected to the original.
    pub fn copy(&self) -> Result<Self> {
        let template = format!("TEMPLATE {}", self.name);
        Self::create_on(self.server.clone(), self.role.clone(), &template)
    }

    /// Its address, as a keyword string.
    pub fn url(&self) -> &str {
        &self.url
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
