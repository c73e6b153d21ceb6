//! `kick`: runs a prompt once and appends a row to its usage log.
//!
//! Everything that could stop a run is checked before it is sent. From then on its row is always
//! written: a failed verifier, a signal, or an answer that cannot be written is a problem of the
//! run, which its row shows. A run with such a problem, or without a model, has no record in
//! `.runs.jsonl`: it is evidence neither for the prompt nor against it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::hook::{self, HookEnvironment, PromptHooks, Verification};
use super::sender::{AnswerSinks, Command, SendOutcome};
use super::signals::SignalForwarder;
use super::{LibraryPrompt, PromptError, log};
use crate::domain::usage::{RunRecord, UsageRow};
use crate::domain::{RenderedPrompt, Vars, render, words};

/// A variable from the command line, in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VarSource {
    Pair(String),
    /// `--var-file PATH`: the file as `file_contents`.
    File(PathBuf),
}

/// The parameters of a run.
#[derive(Debug, Clone, Default)]
pub struct KickRequest {
    /// The case whose inputs are the first layer.
    pub case: Option<String>,
    pub given: Vec<VarSource>,
    /// The command to send to; `None` only renders the prompt.
    pub send: Option<Command>,
    /// The path of a copy of the answer.
    pub keep_output: Option<PathBuf>,
}

/// The result of a run.
#[derive(Debug, Clone)]
pub struct KickResult {
    /// The row that was appended.
    pub row: UsageRow,
    /// The prompt with its variables filled in.
    pub rendered: RenderedPrompt,
    /// The guard's messages, beside variables.
    pub talk: Vec<String>,
    /// The reason that the command did not run.
    pub trouble: Option<String>,
    /// Problems after the prompt was sent.
    pub problems: Vec<RunProblem>,
    /// Whether the run counts for the gates of this text.
    pub is_recorded: bool,
}

/// A problem of a run that was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunProblem {
    /// A signal arrived during the run.
    #[error("signal {0} interrupted the run: it counts for nothing")]
    Interrupted(i32),
    /// The verifier gave no verdict.
    #[error("verify.sh gave no verdict ({0}): the run counts for nothing")]
    NoVerdict(String),
    /// The answer could not be written completely.
    #[error("the answer could not be written to {place}: {reason}")]
    AnswerNotWritten { place: String, reason: String },
    /// A hook changed during the run.
    #[error("guard.sh or verify.sh changed during the run: it counts for nothing")]
    HooksChanged,
    /// The record of the text could not be written.
    #[error("the run was not recorded and counts for nothing: {0}")]
    NotRecorded(String),
}

/// Runs a prompt and appends its row. The answer is streamed to `watcher`.
pub fn kick(
    prompt: &LibraryPrompt,
    kick: &KickRequest,
    watcher: &mut dyn Write,
    clock: &dyn Fn() -> Timestamp,
) -> Result<KickResult, PromptError> {
    let started = Instant::now();
    let signals = SignalForwarder::begin().map_err(PromptError::io(&prompt.dir))?;
    let mut vars = layers(prompt, kick)?;
    let case = kick.case.as_deref();
    let guard_output =
        hook::guard(prompt, &HookEnvironment::new(prompt, case, &vars)?, Some(&signals))?;
    for (key, value) in &guard_output.pairs {
        vars.push(key, value)?;
    }
    let setting = HookEnvironment::new(prompt, case, &vars)?;
    let rendered = rendered(prompt, &vars);
    let run = match &kick.send {
        None => RunOutcome::dry(),
        Some(command) => {
            check_before_sending(prompt, &rendered, &signals)?;
            let context = SendContext { command, setting: &setting, signals: &signals };
            send(prompt, kick, &context, &rendered.text, watcher)?
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
    let RunOutcome { trouble, mut problems, is_evidence, .. } = run;
    let row = append(prompt, row, clock)?;
    let model = kick.send.as_ref().and_then(Command::model);
    let recorded = is_evidence.then(|| record(prompt, &row, model)).transpose();
    let is_recorded = matches!(recorded, Ok(Some(())));
    problems.extend(
        recorded.err().map(|error| RunProblem::NotRecorded(gbrain_core::fault::chain(&error))),
    );
    Ok(KickResult {
        row: row.row,
        rendered,
        talk: guard_output.talk,
        trouble,
        problems,
        is_recorded,
    })
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
    prompt: &LibraryPrompt,
    mut row: UsageRow,
    clock: &dyn Fn() -> Timestamp,
) -> Result<AppendedRow, PromptError> {
    let (mut line, mut at) = (row.to_line(), row.ts);
    let appended = log::append(&prompt.usage_log(), || {
        // The time is taken under the lock, so that times ascend with lines.
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

/// Records the text of a run.
fn record(
    prompt: &LibraryPrompt,
    row: &AppendedRow,
    model: Option<&str>,
) -> Result<(), PromptError> {
    let record = RunRecord::new(row.at, prompt.hash_with(model), &row.line);
    log::append(&prompt.run_log(), || record.to_line())
}

/// Checks that the run can be judged and its row written.
fn check_before_sending(
    prompt: &LibraryPrompt,
    rendered: &RenderedPrompt,
    signals: &SignalForwarder,
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

/// The inputs of the case, then the variables of the command line, from left to right.
fn layers(prompt: &LibraryPrompt, kick: &KickRequest) -> Result<Vars, PromptError> {
    let mut vars = Vars::default();
    if let Some(case) = &kick.case {
        for (key, value) in prompt.case(case)? {
            vars.push(&key, &value)?;
        }
    }
    for given in &kick.given {
        match given {
            VarSource::Pair(pair) => vars.push_pair(pair)?,
            VarSource::File(path) => vars.push("file_contents", &text(path)?)?,
        }
    }
    Ok(vars)
}

fn text(path: &Path) -> Result<String, PromptError> {
    let bytes = std::fs::read(path).map_err(PromptError::io(path))?;
    String::from_utf8(bytes).map_err(|_| PromptError::NotText(path.to_owned()))
}

/// The prompt with its variables; a variable without a value gets its default.
pub(crate) fn rendered(prompt: &LibraryPrompt, vars: &Vars) -> RenderedPrompt {
    render(&prompt.template.text, |key| {
        let default = || prompt.meta.input(key).and_then(|input| input.default.as_deref());
        vars.get(key).or_else(default)
    })
}

/// Refuses a prompt whose required inputs have no value.
pub(crate) fn require(
    prompt: &LibraryPrompt,
    rendered: &RenderedPrompt,
) -> Result<(), PromptError> {
    let is_required = |key: &&String| prompt.meta.input(key).is_some_and(|input| input.required);
    let unset: Vec<String> = rendered.unset.iter().filter(is_required).cloned().collect();
    if unset.is_empty() { Ok(()) } else { Err(PromptError::Unset(unset)) }
}

/// The result of sending, without the row.
struct RunOutcome {
    exit_code: i32,
    verified: Option<bool>,
    output_words: u64,
    /// The duration of the model call; `None` if it was not made.
    duration: Option<Duration>,
    trouble: Option<String>,
    problems: Vec<RunProblem>,
    is_evidence: bool,
}

impl RunOutcome {
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

/// The command, environment and signals of a run.
struct SendContext<'a> {
    command: &'a Command,
    setting: &'a HookEnvironment,
    signals: &'a SignalForwarder,
}

fn send(
    prompt: &LibraryPrompt,
    kick: &KickRequest,
    context: &SendContext<'_>,
    text: &str,
    watcher: &mut dyn Write,
) -> Result<RunOutcome, PromptError> {
    let answer = tempfile::NamedTempFile::new();
    let mut answer = answer.map_err(PromptError::io(std::env::temp_dir()))?;
    let create = |path: &PathBuf| File::create(path).map_err(PromptError::io(path));
    let kept = kick.keep_output.as_ref().map(create).transpose()?;
    let SendContext { command, setting, signals } = context;
    let mut places = AnswerSinks { file: answer.as_file_mut(), kept, watcher };
    let sent = command.send(text, setting, signals, &mut places);
    let setting = (*setting).clone().with("EVA_OUTPUT_FILE", answer.path());
    let (verified, mut problems) =
        judge(prompt, &sent, || hook::verify(prompt, &setting, signals), signals);
    let is_evidence = problems.is_empty() && sent.trouble.is_none();
    problems.extend(unwritten(kick, &sent));
    Ok(RunOutcome {
        exit_code: sent.exit_code,
        verified,
        output_words: sent.output_words,
        duration: Some(sent.duration),
        trouble: sent.trouble,
        problems,
        is_evidence,
    })
}

/// The verdict of the verifier, and the problems that invalidate it. Without a model there is
/// nothing to verify; without a verdict the answer is not verified.
fn judge(
    prompt: &LibraryPrompt,
    sent: &SendOutcome,
    verify: impl FnOnce() -> Verification,
    signals: &SignalForwarder,
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
    } else if PromptHooks::read(&prompt.dir).ok().as_ref() != Some(&prompt.hooks) {
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

/// The outputs that did not receive the whole answer. A reader that closed its end of a pipe is not
/// a problem.
fn unwritten(kick: &KickRequest, sent: &SendOutcome) -> Vec<RunProblem> {
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
