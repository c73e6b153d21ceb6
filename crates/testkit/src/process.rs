//! The real binary on a brain of its own.

use std::fs::{File, Permissions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use gbrain_core::defect::reports_panic;
use gbrain_store::{Location, OpenMode, Store};
use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;

use crate::engine::{Database, Engine};

/// Longer than any command here may take on a busy machine: past this it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Variables of the environment that would change what a command does, or spend the money of a key's owner.
const FOREIGN: [&str; 12] = [
    "GBRAIN_WORKSPACE",
    "GBRAIN_CONTRIBUTOR_MODE",
    "GBRAIN_BASELINE_KEY",
    "GBRAIN_MODEL",
    "GITHUB_STEP_SUMMARY",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "COHERE_API_KEY",
    "VOYAGE_API_KEY",
    "JINA_API_KEY",
    "DATABASE_URL",
];

/// A brain in a temporary home, and the program that works on it.
#[derive(Debug)]
pub struct Gbrain {
    program: PathBuf,
    home: TempDir,
    database: Option<Database>,
}

#[derive(Debug)]
pub struct Output {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: File,
    stderr: File,
    started: Instant,
}

impl Gbrain {
    /// A home without a brain yet. On PostgreSQL `gbrain init` comes first.
    pub fn new(program: &Path, engine: Engine) -> Result<Self> {
        let database = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(Database::create()?),
        };
        Self::new_in(program, &std::env::temp_dir(), database)
    }

    /// A home in this directory, on SQLite or on this database.
    pub fn new_in(program: &Path, parent: &Path, database: Option<Database>) -> Result<Self> {
        // As `gbrain init` makes it, or `doctor` would complain.
        let private = Permissions::from_mode(0o700);
        let mut builder = tempfile::Builder::new();
        let home = builder.prefix("gbrain-home-").permissions(private).tempdir_in(parent)?;
        Ok(Self { program: program.to_owned(), home, database })
    }

    /// A brain of its own with everything that this one has. No process may be at work on this one.
    pub fn copy(&self) -> Result<Self> {
        let database = self.database.as_ref().map(Database::copy).transpose()?;
        let copy = Self::new_in(&self.program, &std::env::temp_dir(), database)?;
        for entry in walkdir::WalkDir::new(self.home()).min_depth(1) {
            let entry = entry?;
            let target = copy.home().join(entry.path().strip_prefix(self.home())?);
            if entry.file_type().is_dir() {
                std::fs::create_dir(&target)?;
                std::fs::set_permissions(&target, entry.metadata()?.permissions())?;
            } else {
                std::fs::copy(entry.path(), &target)?;
            }
        }
        Ok(copy)
    }

    /// The directory that holds the brain.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The command, in an environment where only this brain is known.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).env("GBRAIN_HOME", self.home()).stdin(Stdio::null());
        for name in FOREIGN {
            command.env_remove(name);
        }
        if let Some(database) = &self.database {
            command.env("DATABASE_URL", database.url());
        }
        command
    }

    /// Another program of the same build, or a shell that finds them all, without settings of its own.
    pub fn beside(&self, program: &str, args: &[&str]) -> Command {
        let beside = self.program.with_file_name(program);
        let is_ours = beside.is_file();
        let mut command = Command::new(if is_ours { beside } else { program.into() });
        let own = self.program.parent().map(Path::to_owned);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let dirs = own.into_iter().chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(dirs) {
            command.env("PATH", path);
        }
        for name in ["EVA_ROOT", "EVA_SEND_CMD", "EVA_JUDGE_CMD", "EVA_MODEL"] {
            command.env_remove(name);
        }
        command.args(args).env("GBRAIN_HOME", self.home()).env("EVA_USER", "campaign");
        command
    }

    /// Starts a command with this text on its stdin.
    pub fn spawn(&self, args: &[&str], input: &str) -> Result<Running> {
        Running::start(self.command(args), input)
    }

    /// Runs a command to its end.
    pub fn run(&self, args: &[&str]) -> Result<Output> {
        self.spawn(args, "")?.wait()
    }

    /// Runs a command with a text on its stdin.
    pub fn run_with_input(&self, args: &[&str], input: &str) -> Result<Output> {
        self.spawn(args, input)?.wait()
    }

    /// The store, opened in this process.
    pub fn store(&self) -> Result<Store> {
        let location = match &self.database {
            Some(database) => Location::Postgres(database.url().to_owned()),
            None => Location::Sqlite(self.home().join("brain.db")),
        };
        Ok(gbrain_store::Store::open(&location, OpenMode::Use, Timestamp::now())?)
    }

    /// The address of its PostgreSQL database; none on SQLite.
    pub fn database_url(&self) -> Option<&str> {
        self.database.as_ref().map(Database::url)
    }

    /// Waits until nothing that a killed process began is still under way.
    pub fn settle(&self) -> Result<()> {
        self.database.as_ref().map_or(Ok(()), Database::settle)
    }

    pub fn remove_index(&self) -> Result<()> {
        match std::fs::remove_dir_all(self.home().join("index")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Keeps the home on disk, for inspection after a failure.
    pub fn keep(mut self) -> PathBuf {
        self.home.disable_cleanup(true);
        self.home.path().to_owned()
    }
}

impl Running {
    /// Starts a command with this text on its stdin.
    pub fn start(mut command: Command, input: &str) -> Result<Self> {
        // Files instead of pipes: output written before a kill can be read after it, and needs no thread that drains
        // it.
        let (stdout, stderr, mut stdin) =
            (tempfile::tempfile()?, tempfile::tempfile()?, tempfile::tempfile()?);
        stdin.write_all(input.as_bytes())?;
        stdin.rewind()?;
        command.stdin(stdin).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
        let started = Instant::now();
        let child = command.spawn().with_context(|| format!("{command:?} can't be run"))?;
        Ok(Self { child, stdout, stderr, started })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// The first line it prints, waited for. One that ends without a word is an error.
    pub fn first_line(&mut self) -> Result<String> {
        let begun = Instant::now();
        loop {
            let has_ended = self.has_ended()?;
            let mut bytes = [0; 4096];
            // Read in place: the offset is the child's too.
            let length = self.stdout.read_at(&mut bytes, 0)?;
            let text = String::from_utf8_lossy(&bytes[..length]);
            if let Some((line, _)) = text.split_once('\n') {
                return Ok(line.to_owned());
            }
            if has_ended || begun.elapsed() > PATIENCE {
                let mut said = [0; 4096];
                let length = self.stderr.read_at(&mut said, 0)?;
                bail!("a process said nothing but {}", String::from_utf8_lossy(&said[..length]));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Tells the process to end; `wait` waits for it.
    pub fn terminate(&self) -> Result<()> {
        self.signal("TERM")
    }

    /// Sends a signal, by its name.
    pub fn signal(&self, name: &str) -> Result<()> {
        signal(self.pid(), name)
    }

    /// Everything it has written to stderr so far.
    pub fn log(&self) -> Result<String> {
        let mut bytes = vec![0; usize::try_from(self.stderr.metadata()?.len())?];
        // Read in place: the offset is the child's too.
        let length = self.stderr.read_at(&mut bytes, 0)?;
        bytes.truncate(length);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Sends SIGKILL now, waits until the process is gone, and tells what it said until then.
    pub fn kill_and_wait(&mut self) -> Result<String> {
        self.child.kill()?;
        self.child.wait()?;
        self.stderr.rewind()?;
        let mut said = Vec::new();
        self.stderr.read_to_end(&mut said)?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// Waits for the process. One that hangs is an error.
    pub fn wait(mut self) -> Result<Output> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                let took = self.started.elapsed();
                return self.output(status.code(), took);
            }
            if begun.elapsed() > PATIENCE {
                self.child.kill()?;
                self.child.wait()?;
                bail!("a process hung for {} s and was killed", PATIENCE.as_secs());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Sends SIGKILL `after` the start. The code tells whether the process had already ended.
    pub fn kill(mut self, after: Duration) -> Result<Output> {
        std::thread::sleep(after.saturating_sub(self.started.elapsed()));
        // A process that has ended on its own keeps its code.
        self.child.kill()?;
        let took = self.started.elapsed();
        let code = self.child.wait()?.code();
        self.output(code, took)
    }

    fn output(mut self, code: Option<i32>, took: Duration) -> Result<Output> {
        let mut texts = [String::new(), String::new()];
        for (file, text) in [&mut self.stdout, &mut self.stderr].into_iter().zip(&mut texts) {
            file.rewind()?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
        let [stdout, stderr] = texts;
        Ok(Output { code, stdout, stderr, took })
    }
}

/// Sends a signal to a process, by its name.
pub fn signal(pid: u32, name: &str) -> Result<()> {
    let mut kill = Command::new("/bin/sh");
    kill.args(["-c", "kill -s \"$1\" \"$2\"", "kill", name, &pid.to_string()]);
    if !kill.status()?.success() {
        bail!("process {pid} can't be sent {name}");
    }
    Ok(())
}

impl Drop for Running {
    /// A process that is no longer awaited is killed. One that has ended is left alone.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Output {
    /// Describes the failure of a process that should have succeeded.
    pub fn complaint(&self) -> Option<String> {
        let is_quiet = !self.stderr.contains("error:") && !reports_panic(&self.stderr);
        if self.code == Some(0) && is_quiet {
            return None;
        }
        let code = self.code.map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
        Some(format!("ended with {code}: {} {}", self.stderr.trim(), self.stdout.trim()))
    }

    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.stdout)
            .with_context(|| format!("not one JSON document: {:?} {}", self.stdout, self.stderr))
    }
}
