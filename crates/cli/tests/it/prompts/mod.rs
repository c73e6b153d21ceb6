//! `kick` and `eva` as a user runs them, on a stub model.

mod evidence;
mod kick;
mod lifecycle;
mod many;
mod newcomer;
mod promises;
mod rows;
mod seed;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gbrain_prompts::domain::usage::RunRecord;
use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;

use super::support::Ran;

/// A library of prompts in a temporary directory, with a model that is a script.
pub(crate) struct Library {
    dir: TempDir,
}

impl Library {
    /// A library with one prompt, `greet`, whose template is `Hello {{name}}.`
    pub(crate) fn new() -> Self {
        let library = Self { dir: tempfile::tempdir().unwrap() };
        library.write(
            "prompts/greet/meta.yml",
            "id: greet\ntitle: Greet\nsummary: Says hello.\nstatus: draft # for now\nversion: 0.1.0\n\
             created: 2026-05-01\nupdated: 2026-05-01\ninputs:\n  - name: name\n    required: true\n",
        );
        library.write("prompts/greet/prompt.xml", "Hello {{name}}.\n");
        library.model("cat");
        library
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A file that may be executed.
    pub(crate) fn script(&self, name: &str, text: &str) {
        self.write(name, &format!("#!/bin/sh\n{text}\n"));
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The model's script, which gets the prompt on standard input.
    pub(crate) fn model(&self, text: &str) {
        self.script("model.sh", text);
    }

    pub(crate) fn command(&self, program: &str, args: &[&str]) -> Command {
        let path = match program {
            "eva" => env!("CARGO_BIN_EXE_eva"),
            "kick" => env!("CARGO_BIN_EXE_kick"),
            other => panic!("{other}"),
        };
        let mut command = Command::new(path);
        for name in ["EVA_ROOT", "EVA_JUDGE_CMD", "EVA_MODEL", "VISUAL", "EDITOR"] {
            command.env_remove(name);
        }
        command.env("EVA_SEND_CMD", self.path("model.sh")).env("EVA_USER", "ada");
        command.args(args).current_dir(self.root()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, program: &str, args: &[&str]) -> Ran {
        Ran::of(self.command(program, args).output().unwrap())
    }

    #[track_caller]
    pub(crate) fn eva(&self, args: &[&str], code: i32) -> Ran {
        self.check("eva", args, code)
    }

    #[track_caller]
    pub(crate) fn kick(&self, args: &[&str], code: i32) -> Ran {
        self.check("kick", args, code)
    }

    #[track_caller]
    fn check(&self, program: &str, args: &[&str], code: i32) -> Ran {
        let ran = self.run(program, args);
        assert_eq!(ran.code, Some(code), "{program} {args:?}\n{}\n{}", ran.stdout, ran.stderr);
        ran
    }

    #[track_caller]
    pub(crate) fn show(&self) -> Value {
        serde_json::from_str(&self.eva(&["show", "greet", "--json"], 0).stdout).unwrap()
    }

    /// The rows of the usage log.
    pub(crate) fn rows(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("prompts/greet/.usage.jsonl"));
        text.unwrap_or_default().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Records every row of the usage log as a run of the prompt as it is now.
    pub(crate) fn record_rows(&self) {
        let prompt = gbrain_prompts::LibraryPrompt::read(self.path("prompts/greet")).unwrap();
        let rows = std::fs::read_to_string(self.path("prompts/greet/.usage.jsonl"));
        let line = |(at, row): (usize, &str)| {
            let ts = Timestamp::new(1_777_973_460, i32::try_from(at).unwrap()).unwrap();
            RunRecord::new(ts, prompt.hash(), row).to_line()
        };
        let rows = rows.unwrap_or_default();
        let lines: String = rows.lines().enumerate().map(line).collect();
        self.write("prompts/greet/.runs.jsonl", &lines);
    }

    /// The lines of the log of runs.
    pub(crate) fn records(&self) -> usize {
        let text = std::fs::read_to_string(self.path("prompts/greet/.runs.jsonl"));
        text.unwrap_or_default().lines().count()
    }
}
