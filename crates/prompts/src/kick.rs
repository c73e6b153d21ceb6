//! `kick`: one run of a prompt, and the row it leaves.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use gbrain_core::prompt::{Rendered, Vars, render, words};
use gbrain_core::usage::UsageRow;
use jiff::Timestamp;

use crate::hook::{self, Setting};
use crate::sender::Command;
use crate::signals::Forwarding;
use crate::{Prompt, PromptError, log};

/// A variable from the command line, in the order in which it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// `--var KEY=VALUE`.
    Pair(String),
    /// `--var-file PATH`: the file as `file_contents`.
    File(PathBuf),
}

/// What to run.
#[derive(Debug, Clone, Default)]
pub struct Kick {
    /// The case whose inputs come first.
    pub case: Option<String>,
    /// What was typed.
    pub given: Vec<Given>,
    /// The command to send to; none renders only.
    pub send: Option<Command>,
    /// Where the answer is kept.
    pub keep_output: Option<PathBuf>,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Kicked {
    /// The row that was appended.
    pub row: UsageRow,
    /// The prompt as it was rendered.
    pub rendered: Rendered,
    /// What the guard said beside variables.
    pub talk: Vec<String>,
    /// Why the command did not run, if it did not.
    pub trouble: Option<String>,
}

/// Runs a prompt and appends its row. The answer goes to `watcher` as it comes.
pub fn kick(
    prompt: &Prompt,
    kick: &Kick,
    watcher: &mut dyn Write,
    clock: &dyn Fn() -> Timestamp,
) -> Result<Kicked, PromptError> {
    let started = Instant::now();
    let signals = Forwarding::begin().map_err(PromptError::io(&prompt.dir))?;
    let mut vars = layers(prompt, kick)?;
    let case = kick.case.as_deref();
    let guarded = hook::guard(prompt, &Setting::new(prompt, case, &vars)?, Some(&signals))?;
    for (key, value) in &guarded.pairs {
        vars.push(key, value)?;
    }
    let setting = Setting::new(prompt, case, &vars)?;
    let rendered = rendered(prompt, &vars);
    let mut run = Run { sent: false, exit_code: 0, verified: None, output_words: 0, trouble: None };
    if let Some(command) = &kick.send {
        require(prompt, &rendered)?;
        let way = Way { command, setting: &setting, signals: &signals };
        run = send(prompt, kick, &way, &rendered.text, watcher)?;
    }
    let mut row = UsageRow {
        ts: Timestamp::UNIX_EPOCH,
        case: kick.case.clone(),
        vars_hash: vars.hash(),
        sent: run.sent,
        exit_code: run.exit_code.into(),
        verified: run.verified,
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        prompt_words: words(rendered.text.as_bytes()),
        output_words: run.output_words,
    };
    log::append(&prompt.usage_log(), || {
        // Taken while nobody else appends, so that times rise with lines.
        row.ts = clock();
        row.to_line()
    })?;
    Ok(Kicked { row, rendered, talk: guarded.talk, trouble: run.trouble })
}

/// The inputs of the case, then what was typed, from left to right.
fn layers(prompt: &Prompt, kick: &Kick) -> Result<Vars, PromptError> {
    let mut vars = Vars::default();
    if let Some(case) = &kick.case {
        for (key, value) in prompt.case(case)? {
            vars.push(&key, &value)?;
        }
    }
    for given in &kick.given {
        match given {
            Given::Pair(pair) => vars.push_pair(pair)?,
            Given::File(path) => vars.push("file_contents", &text(path)?)?,
        }
    }
    Ok(vars)
}

fn text(path: &Path) -> Result<String, PromptError> {
    let bytes = std::fs::read(path).map_err(PromptError::io(path))?;
    String::from_utf8(bytes).map_err(|_| PromptError::NotText(path.to_owned()))
}

/// The prompt with its variables; what nobody gave a value has its default.
pub(crate) fn rendered(prompt: &Prompt, vars: &Vars) -> Rendered {
    render(&prompt.template.text, |key| {
        let default = || prompt.meta.input(key).and_then(|input| input.default.as_deref());
        vars.get(key).or_else(default)
    })
}

/// A prompt with a hole where something is required is not sent.
pub(crate) fn require(prompt: &Prompt, rendered: &Rendered) -> Result<(), PromptError> {
    let is_required = |key: &&String| prompt.meta.input(key).is_some_and(|input| input.required);
    let unset: Vec<String> = rendered.unset.iter().filter(is_required).cloned().collect();
    if unset.is_empty() { Ok(()) } else { Err(PromptError::Unset(unset)) }
}

struct Run {
    sent: bool,
    exit_code: i32,
    verified: Option<bool>,
    output_words: u64,
    trouble: Option<String>,
}

/// How a prompt gets to a model.
struct Way<'a> {
    command: &'a Command,
    setting: &'a Setting,
    signals: &'a Forwarding,
}

fn send(
    prompt: &Prompt,
    kick: &Kick,
    way: &Way<'_>,
    text: &str,
    watcher: &mut dyn Write,
) -> Result<Run, PromptError> {
    let temporary = tempfile::NamedTempFile::new();
    let temporary = temporary.map_err(PromptError::io(std::env::temp_dir()))?;
    let path = kick.keep_output.as_deref().unwrap_or(temporary.path());
    let mut file = File::create(path).map_err(PromptError::io(path))?;
    let Way { command, setting, signals } = way;
    let sent = command.send(text, setting, signals, &mut file, watcher);
    let sent = sent.map_err(PromptError::io(path))?;
    let setting = (*setting).clone().with("EVA_OUTPUT_FILE", path);
    let verified = hook::verify(prompt, &setting, signals)?;
    Ok(Run {
        sent: true,
        exit_code: sent.exit_code,
        verified,
        output_words: sent.output_words,
        trouble: sent.trouble,
    })
}
