//! `kick`: one run of a prompt, and the row it leaves.
//!
//! Whatever could stop a run is checked before it is sent. From then on nothing loses its row: a verifier that does
//! not run, a signal, an answer that can't be written are problems of the run, and the row says so. A run with such
//! a problem, or without a model, has no record in `.runs.jsonl`: it is evidence neither for the prompt nor against it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::hook::{self, Hooks, Setting, Verification};
use super::sender::{Command, Places, Sent};
use super::signals::Forwarding;
use super::{Prompt, PromptError, log};
use crate::domain::usage::{RunRecord, UsageRow};
use crate::domain::{Rendered, Vars, render, words};

/// A variable from the command line, in the order in which it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    Pair(String),
    /// `--var-file PATH`: the file as `file_contents`.
    File(PathBuf),
}

/// What to run.
#[derive(Debug, Clone, Default)]
pub struct Kick {
    /// The case whose inputs come first.
    pub case: Option<String>,
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
    /// What went wrong after it was sent.
    pub problems: Vec<RunProblem>,
    /// Whether the run counts for the gates of this text.
    pub is_recorded: bool,
}

/// What can go wrong with a run that was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunProblem {
    /// A signal came during the run.
    #[error("signal {0} interrupted the run: it counts for nothing")]
    Interrupted(i32),
    /// The verifier has no verdict.
    #[error("verify.sh gave no verdict ({0}): the run counts for nothing")]
    NoVerdict(String),
    /// The answer is not whole where the caller reads it.
    #[error("the answer could not be written to {place}: {reason}")]
    AnswerNotWritten { place: String, reason: String },
    /// A hook is another one than when the run began.
    #[error("guard.sh or verify.sh changed during the run: it counts for nothing")]
    HooksChanged,
    /// The record of the text could not be written.
    #[error("the run was not recorded and counts for nothing: {0}")]
    NotRecorded(String),
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
    let run = match &kick.send {
        None => Run::dry(),
        Some(command) => {
            check_before_sending(prompt, &rendered, &signals)?;
            let way = Way { command, setting: &setting, signals: &signals };
            send(prompt, kick, &way, &rendered.text, watcher)?
        }
    };
    let row = UsageRow {
        ts: Timestamp::UNIX_EPOCH,
        case: kick.case.clone(),
        vars_hash: vars.hash(),
        sent: kick.send.is_some(),
        exit_code: run.exit_code.into(),
        verified: run.verified,
        duration_ms: milliseconds(run.duration.unwrap_or_else(|| started.elapsed())),
        prompt_words: words(rendered.text.as_bytes()),
        output_words: run.output_words,
    };
    let Run { trouble, mut problems, is_evidence, .. } = run;
    let row = append(prompt, row, clock)?;
    let model = kick.send.as_ref().and_then(Command::model);
    let recorded = is_evidence.then(|| record(prompt, &row, model)).transpose();
    let is_recorded = matches!(recorded, Ok(Some(())));
    problems.extend(
        recorded.err().map(|error| RunProblem::NotRecorded(gbrain_core::fault::chain(&error))),
    );
    Ok(Kicked { row: row.row, rendered, talk: guarded.talk, trouble, problems, is_recorded })
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A row that was appended.
struct AppendedRow {
    row: UsageRow,
    line: String,
    at: Timestamp,
}

fn append(
    prompt: &Prompt,
    mut row: UsageRow,
    clock: &dyn Fn() -> Timestamp,
) -> Result<AppendedRow, PromptError> {
    let (mut line, mut at) = (row.to_line(), row.ts);
    let appended = log::append(&prompt.usage_log(), || {
        // Taken while no other process appends, so that times rise with lines.
        at = clock();
        row.ts = at;
        line = row.to_line();
        line.clone()
    });
    match appended {
        Ok(()) => Ok(AppendedRow { row, line, at }),
        Err(error) if row.sent => Err(PromptError::RowNotWritten {
            row: line.trim_end().to_owned(),
            source: Box::new(error),
        }),
        Err(error) => Err(error),
    }
}

/// Records the text that a run was of.
fn record(prompt: &Prompt, row: &AppendedRow, model: Option<&str>) -> Result<(), PromptError> {
    let record = RunRecord::new(row.at, prompt.hash_with(model), &row.line);
    log::append(&prompt.run_log(), || record.to_line())
}

/// What must hold for a run to leave its row and to be judged.
fn check_before_sending(
    prompt: &Prompt,
    rendered: &Rendered,
    signals: &Forwarding,
) -> Result<(), PromptError> {
    require(prompt, rendered)?;
    hook::check_verifier(prompt)?;
    log::check_appendable(&prompt.usage_log())?;
    log::check_appendable(&prompt.run_log())?;
    match signals.received() {
        Some(signal) => Err(PromptError::Interrupted(signal)),
        None => Ok(()),
    }
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

/// What came of a run, but for its row.
struct Run {
    exit_code: i32,
    verified: Option<bool>,
    output_words: u64,
    /// How long the model took; none if it was not asked.
    duration: Option<Duration>,
    trouble: Option<String>,
    problems: Vec<RunProblem>,
    is_evidence: bool,
}

impl Run {
    fn dry() -> Self {
        Self {
            exit_code: 0,
            verified: None,
            output_words: 0,
            duration: None,
            trouble: None,
            problems: Vec::new(),
            is_evidence: false,
        }
    }
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
    let answer = tempfile::NamedTempFile::new();
    let mut answer = answer.map_err(PromptError::io(std::env::temp_dir()))?;
    let keep = |path: &PathBuf| File::create(path).map_err(PromptError::io(path));
    let kept = kick.keep_output.as_ref().map(keep).transpose()?;
    let Way { command, setting, signals } = way;
    let mut places = Places { file: answer.as_file_mut(), kept, watcher };
    let sent = command.send(text, setting, signals, &mut places);
    let setting = (*setting).clone().with("EVA_OUTPUT_FILE", answer.path());
    let (verified, mut problems) =
        judge(prompt, &sent, || hook::verify(prompt, &setting, signals), signals);
    let is_evidence = problems.is_empty() && sent.trouble.is_none();
    problems.extend(unwritten(kick, &sent));
    Ok(Run {
        exit_code: sent.exit_code,
        verified,
        output_words: sent.output_words,
        duration: Some(sent.duration),
        trouble: sent.trouble,
        problems,
        is_evidence,
    })
}

/// What the verifier makes of an answer, and why its verdict does not count. Where there was no model, there is
/// nothing to verify; where a verifier gave no verdict, its answer is not verified.
fn judge(
    prompt: &Prompt,
    sent: &Sent,
    verify: impl FnOnce() -> Verification,
    signals: &Forwarding,
) -> (Option<bool>, Vec<RunProblem>) {
    if sent.trouble.is_some() {
        return (None, Vec::new());
    }
    let lost = [&sent.write_errors.read, &sent.write_errors.file].into_iter().flatten().next();
    let verification = match (signals.received(), lost) {
        (Some(signal), _) => Verification::Killed(signal),
        (None, Some(error)) => Verification::NotRun(std::io::Error::other(error.to_string())),
        (None, None) => verify(),
    };
    let mut problems = Vec::new();
    if let Some(signal) = signals.received() {
        problems.push(RunProblem::Interrupted(signal));
    } else if Hooks::read(&prompt.dir).ok().as_ref() != Some(&prompt.hooks) {
        problems.push(RunProblem::HooksChanged);
    }
    let verified = match verification {
        Verification::NoVerifier => None,
        Verification::Verdict(verdict) => Some(verdict && problems.is_empty()),
        Verification::NotRun(error) => {
            problems.push(RunProblem::NoVerdict(error.to_string()));
            prompt.hooks.verifier.as_ref().map(|_| false)
        }
        Verification::Killed(signal) => {
            if problems.is_empty() {
                problems.push(RunProblem::NoVerdict(format!("signal {signal} ended it")));
            }
            prompt.hooks.verifier.as_ref().map(|_| false)
        }
    };
    (verified, problems)
}

/// Where the caller's answer is not whole. A reader that closed its end of a pipe has what it wanted.
fn unwritten(kick: &Kick, sent: &Sent) -> Vec<RunProblem> {
    let is_closed = |error: &&std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    let stdout = sent.write_errors.watcher.as_ref().filter(|error| !is_closed(error));
    let kept = sent.write_errors.kept.as_ref().zip(kick.keep_output.as_ref());
    let problem = |place: String, error: &std::io::Error| RunProblem::AnswerNotWritten {
        place,
        reason: error.to_string(),
    };
    let stdout = stdout.map(|error| problem("stdout".to_owned(), error));
    let kept = kept.map(|(error, path)| problem(path.display().to_string(), error));
    stdout.into_iter().chain(kept).collect()
}
