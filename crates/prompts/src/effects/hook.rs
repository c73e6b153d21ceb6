//! `guard.sh` and `verify.sh`: the author's hooks before and after a run.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;

use super::signals::SignalForwarder;
use super::{LibraryPrompt, PromptError};
use crate::domain::{Script, Vars};

const GUARD: &str = "guard.sh";
const VERIFIER: &str = "verify.sh";

/// The hooks of a prompt as they are on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PromptHooks {
    /// `guard.sh`, if it is executable.
    pub(crate) guard: Option<Vec<u8>>,
    /// `verify.sh`, if it is executable.
    pub(crate) verifier: Option<Vec<u8>>,
    /// Names of hooks that exist but are not executable.
    pub(crate) ignored: Vec<&'static str>,
}

impl PromptHooks {
    /// Reads the hooks in a directory.
    pub(crate) fn read(dir: &Path) -> Result<Self, PromptError> {
        let mut hooks = Self::default();
        for (name, content) in [(GUARD, &mut hooks.guard), (VERIFIER, &mut hooks.verifier)] {
            let path = dir.join(name);
            if is_runnable(&path) {
                *content = Some(std::fs::read(&path).map_err(PromptError::io(&path))?);
            } else if path.exists() {
                hooks.ignored.push(name);
            }
        }
        Ok(hooks)
    }
}

/// Checks that the guard can run.
pub(crate) fn check_guard(prompt: &LibraryPrompt) -> Result<(), PromptError> {
    match checked(prompt, GUARD, prompt.hooks.guard.as_deref()) {
        // An empty guard allows everything, which an author may want for now.
        Err(UnusableHook { is_empty: true, .. }) => Ok(()),
        other => other.map_err(|unusable| unusable.error),
    }
}

/// Checks that the verifier can run and is not empty.
pub(crate) fn check_verifier(prompt: &LibraryPrompt) -> Result<(), PromptError> {
    checked(prompt, VERIFIER, prompt.hooks.verifier.as_deref()).map_err(|unusable| unusable.error)
}

struct UnusableHook {
    is_empty: bool,
    error: PromptError,
}

fn checked(prompt: &LibraryPrompt, name: &str, content: Option<&[u8]>) -> Result<(), UnusableHook> {
    let Some(content) = content else { return Ok(()) };
    let unusable = |is_empty, reason: String| {
        let error = PromptError::Hook { path: prompt.file(name), reason };
        Err(UnusableHook { is_empty, error })
    };
    match Script::parse(content) {
        Err(error) => {
            let is_empty = error == crate::domain::ScriptError::Empty;
            unusable(is_empty, error.to_string())
        }
        Ok(Script::Interpreted { interpreter, .. }) if !is_runnable(Path::new(interpreter)) => {
            unusable(false, format!("its first line names `{interpreter}`, which can't be run"))
        }
        Ok(Script::Interpreted { program: Some(program), .. }) if !is_in_path(program) => {
            unusable(false, format!("its first line names `{program}`, which is not in PATH"))
        }
        Ok(_) => Ok(()),
    }
}

fn is_in_path(program: &str) -> bool {
    if program.contains('/') {
        return is_runnable(Path::new(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| is_runnable(&dir.join(program)))
}

/// The command for a hook: itself, or a shell if it has no `#!`.
fn command(path: &Path, content: &[u8]) -> Command {
    match Script::parse(content) {
        Ok(Script::Shell) => {
            let mut command = Command::new("sh");
            command.arg(path);
            command
        }
        _ => Command::new(path),
    }
}

/// Maximum length of a value in the environment: systems refuse much longer ones.
const LONGEST_VALUE: usize = 32 << 10;

/// The environment variables of hooks and of the model's command.
#[derive(Debug, Clone, Default)]
pub(crate) struct HookEnvironment {
    /// The prompt and the case, for hooks and the command.
    about: Vec<(OsString, OsString)>,
    /// The variables: for hooks.
    vars: Vec<(OsString, OsString)>,
    /// Values that are too long for an environment, in one file each.
    long: Option<Arc<TempDir>>,
}

impl HookEnvironment {
    /// The environment for a prompt, a case and variables.
    pub(crate) fn new(
        prompt: &LibraryPrompt,
        case: Option<&str>,
        vars: &Vars,
    ) -> Result<Self, PromptError> {
        let about = vec![
            ("EVA_PROMPT_ID".into(), prompt.id.clone().into()),
            ("EVA_PROMPT_DIR".into(), prompt.dir.clone().into()),
            ("EVA_CASE".into(), case.unwrap_or_default().into()),
        ];
        let mut environment = Self { about, ..Self::default() };
        let inputs = prompt.meta.inputs.iter();
        let defaults =
            inputs.filter_map(|input| Some((input.name.as_str(), input.default.as_deref()?)));
        for (key, value) in defaults.chain(vars.winners()) {
            environment.add(key, value).map_err(PromptError::io(std::env::temp_dir()))?;
        }
        Ok(environment)
    }

    fn add(&mut self, key: &str, value: &str) -> std::io::Result<()> {
        if value.len() <= LONGEST_VALUE {
            self.vars.push((format!("EVA_VAR_{key}").into(), value.into()));
            return Ok(());
        }
        let dir = match &self.long {
            Some(dir) => dir.clone(),
            None => self.long.insert(Arc::new(tempfile::tempdir()?)).clone(),
        };
        let path = dir.path().join(key);
        std::fs::write(&path, value)?;
        self.vars.push((format!("EVA_VAR_FILE_{key}").into(), path.into()));
        Ok(())
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.about.push((name.into(), value.into()));
        self
    }

    /// Sets the environment of the model's command, which has the variables in its prompt.
    pub(crate) fn apply(&self, command: &mut Command) {
        command.envs(self.about.iter().map(|(name, value)| (name, value)));
    }

    fn apply_to_hook(&self, command: &mut Command) {
        self.apply(command);
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
    }
}

/// Whether a path is an executable file.
fn is_runnable(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The parsed output of a guard: `KEY=VALUE` lines are variables, other lines are messages.
#[derive(Debug, Default)]
pub(crate) struct GuardOutput {
    pub(crate) pairs: Vec<(String, String)>,
    pub(crate) talk: Vec<String>,
}

/// Runs the guard, if there is one, and forwards signals to it if `signals` is given.
pub(crate) fn guard(
    prompt: &LibraryPrompt,
    environment: &HookEnvironment,
    signals: Option<&SignalForwarder>,
) -> Result<GuardOutput, PromptError> {
    let Some(content) = &prompt.hooks.guard else { return Ok(GuardOutput::default()) };
    check_guard(prompt)?;
    let path = prompt.file(GUARD);
    let mut command = command(&path, content);
    environment.apply_to_hook(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let result = match signals {
        Some(signals) => signals.output(&mut command),
        None => command
            .spawn()
            .and_then(std::process::Child::wait_with_output)
            .map(|output| (output.stdout, output.status)),
    };
    let (output, status) = result.map_err(PromptError::io(&path))?;
    if !status.success() {
        return Err(PromptError::Guard { code: super::sender::exit_code(status) });
    }
    let text = String::from_utf8(output).map_err(|_| PromptError::NotText(path))?;
    let mut guard_output = GuardOutput::default();
    for line in text.lines() {
        match line.split_once('=').filter(|(key, _)| crate::domain::is_key(key)) {
            Some((key, value)) => guard_output.pairs.push((key.to_owned(), value.to_owned())),
            None if line.trim().is_empty() => (),
            None => guard_output.talk.push(line.to_owned()),
        }
    }
    Ok(guard_output)
}

/// The result of a verifier.
#[derive(Debug)]
pub(crate) enum Verification {
    /// There is no verifier.
    NoVerifier,
    /// It exited, with status 0 or not.
    Verdict(bool),
    /// It could not be started.
    NotRun(std::io::Error),
    /// A signal killed it before it gave a verdict.
    Killed(i32),
}

/// Runs the verifier, if there is one. Its output goes to stderr.
pub(crate) fn verify(
    prompt: &LibraryPrompt,
    environment: &HookEnvironment,
    signals: &SignalForwarder,
) -> Verification {
    let Some(content) = &prompt.hooks.verifier else { return Verification::NoVerifier };
    let mut command = command(&prompt.file(VERIFIER), content);
    environment.apply_to_hook(&mut command);
    command.stdin(Stdio::null()).stdout(std::io::stderr());
    match signals.output(&mut command) {
        Err(error) => Verification::NotRun(error),
        Ok((_, status)) => match status.signal() {
            Some(signal) => Verification::Killed(signal),
            None => Verification::Verdict(status.success()),
        },
    }
}
