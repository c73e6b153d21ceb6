//! Running the real binary in a home of its own.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use gbrain_bench::campaign::scaffold::Setup;
use gbrain_store::Store;
use gbrain_testkit::engine::{Engine, connect};
use gbrain_testkit::process::Gbrain;
use serde_json::Value;

/// A temporary home, on SQLite or on a PostgreSQL database of its own.
pub(crate) struct Home {
    brain: Gbrain,
}

/// What a command gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    pub(crate) fn sqlite() -> Self {
        Self::new(Engine::Sqlite)
    }

    /// On PostgreSQL, schema made.
    pub(crate) fn postgres() -> Self {
        let home = Self::new(Engine::Postgres);
        home.ok(&["init"]);
        home
    }

    fn new(engine: Engine) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_gbrain"));
        Self { brain: Gbrain::new(program, engine).unwrap() }
    }

    pub(crate) fn both() -> [Self; 2] {
        [Self::sqlite(), Self::postgres()]
    }

    pub(crate) fn path(&self) -> &Path {
        self.brain.home()
    }

    /// The brain in it.
    pub(crate) fn brain(&self) -> &Gbrain {
        &self.brain
    }

    /// The binary with this home and nothing else of the environment that matters.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.brain.command(args)
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
        self.brain.database_url().unwrap()
    }

    /// Whether its database is a PostgreSQL.
    pub(crate) fn is_postgres(&self) -> bool {
        self.brain.database_url().is_some()
    }

    /// The store, opened in this process.
    pub(crate) fn store(&self) -> Store {
        self.brain.store().unwrap()
    }

    /// Runs a statement on the database, whichever it is.
    pub(crate) fn execute(&self, sql: &str) {
        if self.is_postgres() {
            return self.sql(sql);
        }
        let db = rusqlite::Connection::open(self.path().join("brain.db")).unwrap();
        db.execute_batch(sql).unwrap();
    }

    /// Runs statements on the database, on PostgreSQL.
    pub(crate) fn sql(&self, sql: &str) {
        connect(self.url()).unwrap().batch_execute(sql).unwrap();
    }

    /// Every row of the database as text, on PostgreSQL; an SQLite file lies in the home.
    pub(crate) fn rows(&self) -> Vec<String> {
        let Some(url) = self.brain.database_url() else { return Vec::new() };
        let mut client = connect(url).unwrap();
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

/// What the short form of a campaign works with.
pub(crate) fn setup(engine: Engine, seed: u64) -> Setup {
    Setup { program: env!("CARGO_BIN_EXE_gbrain").into(), engine, seed }
}

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

/// A command as settings and clients describe it: its words, and the variables that it is given.
pub(crate) fn described(command: &Command) -> (Vec<String>, Value) {
    let text = |text: &OsStr| text.to_str().unwrap().to_owned();
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let env =
        command.get_envs().filter_map(|(name, value)| Some((text(name), text(value?).into())));
    (words.map(text).collect(), Value::Object(env.collect()))
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
