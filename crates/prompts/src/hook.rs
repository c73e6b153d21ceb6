//! `guard.sh` and `verify.sh`: what a prompt's author wants to run before and after.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use gbrain_core::prompt::Vars;
use tempfile::TempDir;

use crate::signals::Forwarding;
use crate::{Prompt, PromptError};

/// The longest value that is put into an environment: systems refuse much longer ones.
const LONGEST_VALUE: usize = 32 << 10;

/// What hooks and the model's command find in their environment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setting {
    /// The prompt and the case: for everybody.
    about: Vec<(OsString, OsString)>,
    /// The variables: for hooks.
    vars: Vec<(OsString, OsString)>,
    /// Values that are too long for an environment, one file each.
    long: Option<Arc<TempDir>>,
}

impl Setting {
    /// The prompt, the case and the variables.
    pub(crate) fn new(
        prompt: &Prompt,
        case: Option<&str>,
        vars: &Vars,
    ) -> Result<Self, PromptError> {
        let about = vec![
            ("EVA_PROMPT_ID".into(), prompt.id.clone().into()),
            ("EVA_PROMPT_DIR".into(), prompt.dir.clone().into()),
            ("EVA_CASE".into(), case.unwrap_or_default().into()),
        ];
        let mut setting = Self { about, ..Self::default() };
        let inputs = prompt.meta.inputs.iter();
        let defaults =
            inputs.filter_map(|input| Some((input.name.as_str(), input.default.as_deref()?)));
        for (key, value) in defaults.chain(vars.winners()) {
            setting.add(key, value).map_err(PromptError::io(std::env::temp_dir()))?;
        }
        Ok(setting)
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

    /// One more.
    pub(crate) fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.about.push((name.into(), value.into()));
        self
    }

    /// For the model's command, which has the variables in its prompt.
    pub(crate) fn apply(&self, command: &mut Command) {
        command.envs(self.about.iter().map(|(name, value)| (name, value)));
    }

    fn apply_to_hook(&self, command: &mut Command) {
        self.apply(command);
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
    }
}

/// Whether there is something to run: a file that may be executed.
fn is_runnable(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// What a guard said: `KEY=VALUE` lines are variables, the others are talk.
#[derive(Debug, Default)]
pub(crate) struct Guarded {
    pub(crate) pairs: Vec<(String, String)>,
    pub(crate) talk: Vec<String>,
}

/// Runs the guard, if there is one. Signals reach it if somebody passes them on.
pub(crate) fn guard(
    prompt: &Prompt,
    setting: &Setting,
    signals: Option<&Forwarding>,
) -> Result<Guarded, PromptError> {
    let path = prompt.file("guard.sh");
    if !is_runnable(&path) {
        return Ok(Guarded::default());
    }
    let mut command = Command::new(&path);
    setting.apply_to_hook(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let ran = match signals {
        Some(signals) => signals.output(&mut command),
        None => command
            .spawn()
            .and_then(std::process::Child::wait_with_output)
            .map(|output| (output.stdout, output.status)),
    };
    let (said, status) = ran.map_err(PromptError::io(&path))?;
    if !status.success() {
        return Err(PromptError::Guard { code: crate::sender::exit_code(status) });
    }
    let text = String::from_utf8(said).map_err(|_| PromptError::NotText(path))?;
    let mut guarded = Guarded::default();
    for line in text.lines() {
        match line.split_once('=').filter(|(key, _)| gbrain_core::prompt::is_key(key)) {
            Some((key, value)) => guarded.pairs.push((key.to_owned(), value.to_owned())),
            None if line.trim().is_empty() => (),
            None => guarded.talk.push(line.to_owned()),
        }
    }
    Ok(guarded)
}

/// Runs the verifier, if there is one, and says what it thinks. What it prints is talk.
pub(crate) fn verify(
    prompt: &Prompt,
    setting: &Setting,
    signals: &Forwarding,
) -> Result<Option<bool>, PromptError> {
    let path = prompt.file("verify.sh");
    if !is_runnable(&path) {
        return Ok(None);
    }
    let mut command = Command::new(&path);
    setting.apply_to_hook(&mut command);
    command.stdin(Stdio::null()).stdout(std::io::stderr());
    let (_, status) = signals.output(&mut command).map_err(PromptError::io(&path))?;
    Ok(Some(status.success()))
}
