//! The command that a prompt is piped into, and its result.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::PromptError;
use super::hook::HookEnvironment;
use super::signals::SignalForwarder;
use crate::domain::{Settings, WordCounter};

/// A shell's exit codes for a missing command, and for one that cannot be executed.
const NOT_FOUND: i32 = 127;
const NOT_RUNNABLE: i32 = 126;

/// A command that reads a prompt and writes an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    words: Vec<String>,
    model_flag: Option<String>,
    model: Option<String>,
}

/// The result of sending a prompt.
#[derive(Debug)]
pub struct SendOutcome {
    /// The exit code as a shell reports it: 128 plus the signal if one killed it.
    pub exit_code: i32,
    /// The number of words of the answer.
    pub output_words: u64,
    /// The duration from start to exit.
    pub duration: Duration,
    /// The reason that the command did not run.
    pub trouble: Option<String>,
    /// Errors of writing the answer.
    pub(crate) write_errors: WriteErrors,
}

/// The first error of each output.
#[derive(Debug, Default)]
pub(crate) struct WriteErrors {
    pub(crate) file: Option<io::Error>,
    pub(crate) kept: Option<io::Error>,
    pub(crate) watcher: Option<io::Error>,
    /// The error of reading the answer.
    pub(crate) read: Option<io::Error>,
}

/// The outputs that the answer is streamed to.
pub(crate) struct AnswerSinks<'a> {
    /// The file that the verifier reads.
    pub(crate) file: &'a mut File,
    /// The caller's copy of the answer.
    pub(crate) kept: Option<File>,
    /// The caller's live output.
    pub(crate) watcher: &'a mut dyn Write,
}

impl Command {
    /// The command in the environment (`EVA_SEND_CMD`), or the library's.
    pub fn resolve(environment: Option<&str>, settings: &Settings) -> Result<Self, PromptError> {
        let Some(text) = environment else {
            let (words, model_flag) = (settings.send.clone(), settings.model_flag.clone());
            return Ok(Self { words, model_flag, model: None });
        };
        let words = shlex::split(text).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| PromptError::Command(text.to_owned()))?;
        Ok(Self { words, model_flag: None, model: None })
    }

    /// The judging command: from the environment (`EVA_JUDGE_CMD`), from the library, or the same
    /// command.
    pub fn judge(
        &self,
        environment: Option<&str>,
        settings: &Settings,
    ) -> Result<Self, PromptError> {
        match (environment, &settings.judge) {
            (Some(_), _) => Self::resolve(environment, settings),
            (None, Some(words)) => Ok(Self { words: words.clone(), model_flag: None, model: None }),
            (None, None) => Ok(self.clone()),
        }
    }

    /// The same command with a model: passed by its flag, in place of `{model}`, and as
    /// `EVA_MODEL`.
    #[must_use]
    pub fn with_model(&self, model: Option<&str>) -> Self {
        Self { model: model.map(str::to_owned), ..self.clone() }
    }

    /// The program that is started.
    pub fn program(&self) -> &str {
        &self.words[0]
    }

    fn command(&self, environment: &HookEnvironment) -> std::process::Command {
        let model = self.model.as_deref().unwrap_or_default();
        let mut words = self.words.iter().map(|word| word.replace("{model}", model));
        let mut command = std::process::Command::new(words.next().unwrap_or_default());
        command.args(words);
        if let (Some(flag), Some(model)) = (&self.model_flag, &self.model) {
            command.args([flag, model]);
        }
        if let Some(model) = &self.model {
            command.env("EVA_MODEL", model);
        }
        environment.apply(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    /// The model that is passed to it.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Sends a prompt and streams the answer to each output. Signals are forwarded to the command.
    /// Errors do not end the run early: they are part of the result.
    pub(crate) fn send(
        &self,
        prompt: &str,
        environment: &HookEnvironment,
        signals: &SignalForwarder,
        places: &mut AnswerSinks<'_>,
    ) -> SendOutcome {
        let started = Instant::now();
        let mut child = match signals.spawn(&mut self.command(environment)) {
            Ok(child) => child,
            Err(error) => return self.not_run(&error),
        };
        feed(&mut child, prompt);
        let mut write_errors = WriteErrors::default();
        let output_words = tee(&mut child, places, &mut write_errors);
        let exit_code = match signals.wait(&mut child) {
            Ok(status) => exit_code(status),
            Err(error) => {
                write_errors.read.get_or_insert(error);
                NOT_RUNNABLE
            }
        };
        let duration = started.elapsed();
        // A shell reports a missing command by its exit code, without output.
        let is_missing = matches!(exit_code, NOT_FOUND | NOT_RUNNABLE) && output_words == 0;
        let trouble = is_missing.then(|| {
            format!("`{}` ended with {exit_code}: it could not run the model", self.program())
        });
        SendOutcome { exit_code, output_words, duration, trouble, write_errors }
    }

    fn not_run(&self, error: &io::Error) -> SendOutcome {
        let exit_code =
            if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUNNABLE };
        let trouble = Some(format!("`{}` can't be run: {error}", self.program()));
        let write_errors = WriteErrors::default();
        SendOutcome { exit_code, output_words: 0, duration: Duration::ZERO, trouble, write_errors }
    }

    /// Sends a prompt and waits for the whole answer, up to a timeout.
    pub(crate) fn ask(
        &self,
        prompt: &str,
        environment: &HookEnvironment,
        timeout: Duration,
    ) -> Result<String, String> {
        let spawned = self.command(environment).spawn();
        let mut child =
            spawned.map_err(|error| format!("`{}` can't be run: {error}", self.program()))?;
        feed(&mut child, prompt);
        let deadline = Instant::now() + timeout;
        let output = collect(&mut child);
        let late = || format!("no answer in {} s", timeout.as_secs());
        let Ok(output) = output.recv_timeout(timeout) else {
            // A failed kill cannot be handled further.
            let _ = child.kill();
            let _ = child.wait();
            return Err(late());
        };
        let status = wait_until(&mut child, deadline).ok_or_else(late)?;
        if !status.success() {
            return Err(format!("`{}` ended with {}", self.program(), exit_code(status)));
        }
        String::from_utf8(output).map_err(|_| "the answer is not UTF-8 text".to_owned())
    }
}

/// Writes the prompt from a separate thread: a child that writes before it has read everything
/// would deadlock with us.
fn feed(child: &mut Child, prompt: &str) {
    if let Some(mut stdin) = child.stdin.take() {
        let prompt = prompt.to_owned();
        // The child may exit without reading.
        std::thread::spawn(move || stdin.write_all(prompt.as_bytes()));
    }
}

/// Copies the child's output and counts its words. A failed output does not stop copying: the child
/// would be killed, and the other outputs would have half an answer.
fn tee(child: &mut Child, places: &mut AnswerSinks<'_>, write_errors: &mut WriteErrors) -> u64 {
    let Some(mut stdout) = child.stdout.take() else { return 0 };
    let (mut words, mut block) = (WordCounter::default(), vec![0; 64 << 10]);
    loop {
        let read = match stdout.read(&mut block) {
            Ok(0) => return words.count(),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                write_errors.read = Some(error);
                return words.count();
            }
        };
        let part = &block[..read];
        words.add(part);
        write_unless_failed(&mut write_errors.file, places.file, part);
        if let Some(kept) = &mut places.kept {
            write_unless_failed(&mut write_errors.kept, kept, part);
        }
        write_unless_failed(&mut write_errors.watcher, places.watcher, part);
    }
}

fn write_unless_failed(failure: &mut Option<io::Error>, to: &mut dyn Write, part: &[u8]) {
    if failure.is_none() {
        *failure = to.write_all(part).and_then(|()| to.flush()).err();
    }
}

/// Receives the child's whole output once it is complete.
fn collect(child: &mut Child) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    if let Some(mut stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut output = Vec::new();
            let _ = stdout.read_to_end(&mut output);
            let _ = sender.send(output);
        });
    }
    receiver
}

/// Waits for the exit of a child that closed its output; kills it at the deadline.
fn wait_until(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The exit code of a process, as a shell reports it.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(NOT_RUNNABLE)
}
