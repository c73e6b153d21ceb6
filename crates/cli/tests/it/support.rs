//! Running the real binary in a home of its own.

use std::ffi::OsStr;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use gbrain_bench::campaign::scaffold::Setup;
use gbrain_store::Store;
use gbrain_testkit::engine::{Engine, connect};
use gbrain_testkit::process::Gbrain;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A temporary home, on SQLite or on a PostgreSQL database of its own.
pub(crate) struct Home {
    brain: Gbrain,
}

/// The output of a command.
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
        assert_eq!(ran.code, Some(0), "gbrain {args:?}\n{ran}");
        ran.stdout
    }

    /// Runs a command with `--json` that must succeed.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.ok(&args)).unwrap()
    }

    /// Starts a command with pipes to its stdin, stdout and stderr.
    #[track_caller]
    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs a command with this text on its stdin.
    #[track_caller]
    pub(crate) fn run_with_input(&self, args: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let mut child = self.spawn(args);
        // A command that refuses its arguments does not read.
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        Ran::of(child.wait_with_output().unwrap())
    }

    #[track_caller]
    pub(crate) fn put(&self, slug: &str, text: &str) -> Ran {
        self.run_with_input(&["put", slug], text)
    }

    /// The path of a file in the home.
    pub(crate) fn file(&self, name: &str) -> String {
        self.path().join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file into the home and returns its path.
    #[track_caller]
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.file(name);
        std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The database's URL, on PostgreSQL.
    pub(crate) fn url(&self) -> &str {
        self.brain.database_url().unwrap()
    }

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
    /// The output of a finished process.
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Asserts that the process ended with this exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    #[track_caller]
    pub(crate) fn stdout_has(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "{text:?} is not in stdout:\n{self}");
        self
    }

    #[track_caller]
    pub(crate) fn stderr_has(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "{text:?} is not in stderr:\n{self}");
        self
    }

    /// The JSON document on stdout.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        self.read()
    }

    /// The JSON document on stdout as a value of a type.
    #[track_caller]
    pub(crate) fn read<T: DeserializeOwned>(&self) -> T {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.stdout, self.stderr)
    }
}

/// The words of a command line; single quotes make one word of several.
pub(crate) fn args_of(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        })
        .collect()
}

/// Asserts that a JSON object has these fields, perhaps among others; `null` stands for a field that is missing.
#[track_caller]
pub(crate) fn assert_fields(object: &Value, fields: &Value) {
    for (name, value) in fields.as_object().unwrap() {
        assert_eq!(&object[name], value, "`{name}` of {object:#}");
    }
}

/// The object of a JSON list whose field has this value.
#[track_caller]
pub(crate) fn find<'a>(list: &'a Value, field: &str, value: &str) -> &'a Value {
    let mut found = list.as_array().unwrap().iter().filter(|one| one[field] == value);
    found.next().unwrap_or_else(|| panic!("{field} is nowhere {value:?}: {list:#}"))
}

/// Waits until something holds, which must be within a generous time.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}

/// Waits until there is a value.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The setup of a short campaign.
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
