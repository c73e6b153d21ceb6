//! Running the real binary in a home of its own.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use gbrain_store::{Location, OpenMode, Store};
use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;

/// A temporary home, on SQLite or on a PostgreSQL database of its own.
pub(crate) struct Home {
    dir: TempDir,
    database: Option<Database>,
}

/// What a command gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    /// On SQLite.
    pub(crate) fn sqlite() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), database: None }
    }

    /// On PostgreSQL, schema made.
    pub(crate) fn postgres() -> Self {
        let home = Self { dir: tempfile::tempdir().unwrap(), database: Some(Database::create()) };
        home.ok(&["init"]);
        home
    }

    /// One of each.
    pub(crate) fn both() -> [Self; 2] {
        [Self::sqlite(), Self::postgres()]
    }

    /// The home directory.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The binary with this home and nothing else of the environment that matters.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gbrain"));
        command
            .env_remove("DATABASE_URL")
            .env_remove("GBRAIN_WORKSPACE")
            .env_remove("GBRAIN_CONTRIBUTOR_MODE")
            .env_remove("GBRAIN_BASELINE_KEY")
            .env_remove("GITHUB_STEP_SUMMARY")
            .env_remove("GBRAIN_MODEL")
            .env("GBRAIN_HOME", self.path());
        // A test that reaches a provider by accident would spend somebody's money.
        for provider in ["ANTHROPIC", "OPENAI", "GEMINI", "COHERE", "VOYAGE", "JINA"] {
            command.env_remove(format!("{provider}_API_KEY"));
        }
        if let Some(database) = &self.database {
            command.env("DATABASE_URL", &database.url);
        }
        command.args(args).stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// Runs a command that must succeed.
    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "gbrain {args:?}\n{}\n{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// Runs a command with `--json` that must succeed.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.ok(&args)).unwrap()
    }

    /// Writes a page.
    #[track_caller]
    pub(crate) fn put(&self, slug: &str, text: &str) -> Ran {
        let mut child = self
            .command(&["put", slug])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that refuses its arguments does not read.
        let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
        Ran::of(child.wait_with_output().unwrap())
    }

    /// The database's URL, on PostgreSQL.
    pub(crate) fn url(&self) -> &str {
        &self.database.as_ref().unwrap().url
    }

    /// Whether its database is a PostgreSQL.
    pub(crate) fn is_postgres(&self) -> bool {
        self.database.is_some()
    }

    /// The store, opened in this process.
    pub(crate) fn store(&self) -> Store {
        let location = match &self.database {
            Some(database) => Location::Postgres(database.url.clone()),
            None => Location::Sqlite(self.path().join("brain.db")),
        };
        gbrain_store::Store::open(&location, OpenMode::Use, Timestamp::now()).unwrap()
    }

    /// Runs a statement on the database, whichever it is.
    pub(crate) fn execute(&self, sql: &str) {
        match &self.database {
            Some(_) => self.sql(sql),
            None => {
                let db = rusqlite::Connection::open(self.path().join("brain.db")).unwrap();
                db.execute_batch(sql).unwrap();
            }
        }
    }

    /// Runs statements on the database, on PostgreSQL.
    pub(crate) fn sql(&self, sql: &str) {
        connect(self.url()).batch_execute(sql).unwrap();
    }

    /// Every row of the database as text, on PostgreSQL; an SQLite file lies in the home.
    pub(crate) fn rows(&self) -> Vec<String> {
        let Some(database) = &self.database else { return Vec::new() };
        let mut client = connect(&database.url);
        let tables = "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables \
                      WHERE schemaname NOT IN ('pg_catalog', 'information_schema')";
        let tables = client.query(tables, &[]).unwrap();
        let rows = tables.iter().flat_map(|table| {
            let all = format!("SELECT t::text FROM {} t", table.get::<_, String>(0));
            client.query(&all, &[]).unwrap()
        });
        rows.map(|row| row.get(0)).collect()
    }

    /// The hits of an answer as `source::slug`.
    #[track_caller]
    pub(crate) fn hits(&self, args: &[&str]) -> Vec<String> {
        keys(&self.json(args))
    }
}

/// The hits of an answer as `source::slug`.
pub(crate) fn keys(answer: &Value) -> Vec<String> {
    let hits = answer["hits"].as_array().unwrap();
    hits.iter()
        .map(|hit| {
            format!("{}::{}", hit["source_id"].as_str().unwrap(), hit["slug"].as_str().unwrap())
        })
        .collect()
}

impl Ran {
    /// What a finished process gave.
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The bundled corpus.
pub(crate) fn demo(source: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("demo").join(source)
}

/// A home with the bundled corpus in it.
pub(crate) fn demo_home(home: Home) -> Home {
    for source in ["wiki", "journal"] {
        home.ok(&["import", demo(source).to_str().unwrap(), "--source", source, "--quiet"]);
    }
    home
}

/// A database that goes with the test.
pub(crate) struct Database {
    server: String,
    name: String,
    /// What `DATABASE_URL` is set to.
    pub(crate) url: String,
}

impl Database {
    /// Makes one on the server that the test command started.
    pub(crate) fn create() -> Self {
        let server = std::env::var("GBRAIN_TEST_POSTGRES")
            .expect("GBRAIN_TEST_POSTGRES is not set: run `cargo xtask test`");
        let name = format!("cli_{}_{:x}", std::process::id(), fastrand::u64(..));
        connect(&server).batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        let url = format!("{server} dbname={name}");
        Self { server, name, url }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        connect(&self.server).batch_execute(&drop).unwrap();
    }
}

fn connect(server: &str) -> postgres::Client {
    postgres::Client::connect(server, postgres::NoTls).unwrap()
}

/// About so many of the labelled attacks, from all over the file; none, loudly, where it is not there.
#[expect(clippy::print_stderr, reason = "a skip is told")]
pub(crate) fn labelled_attacks(count: usize) -> Vec<String> {
    let Some(data) = std::env::var_os("GBRAIN_TEST_DATA") else {
        eprintln!("SKIPPED the labelled attacks: set GBRAIN_TEST_DATA");
        return Vec::new();
    };
    let text = std::fs::read_to_string(Path::new(&data).join("injection/train.jsonl")).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let attacks = rows.filter(|row| row["label"] == 1);
    let all: Vec<String> = attacks.map(|row| row["text"].as_str().unwrap().to_owned()).collect();
    all.iter().step_by(all.len() / count).cloned().collect()
}
