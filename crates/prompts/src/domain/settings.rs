//! `eva.yml`: the settings of a library of prompts.

use gbrain_core::yaml::{Node, Value};

use super::lifecycle::Thresholds;
use super::yml::{self, FlatError, map, number, scalar, texts, truth};

/// The settings of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The command that a prompt is piped into: a program and its arguments.
    pub send: Vec<String>,
    /// The flag that passes a model to the command.
    pub model_flag: Option<String>,
    /// The judging command, if it differs.
    pub judge: Option<Vec<String>>,
    /// The number of uses that each transition needs.
    pub thresholds: Thresholds,
    /// Whether only uses whose command exited with 0 count.
    pub require_exit_zero: bool,
}

/// The reason that an `eva.yml` is invalid.
pub type SettingsError = FlatError;

impl Default for Settings {
    fn default() -> Self {
        Self {
            send: vec!["claude".to_owned(), "-p".to_owned()],
            model_flag: Some("--model".to_owned()),
            judge: None,
            thresholds: Thresholds::default(),
            require_exit_zero: false,
        }
    }
}

impl Settings {
    /// Parses an `eva.yml`. An unknown key is an error, because it would change nothing.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        const KNOWN: [&str; 5] = ["send", "model_flag", "judge", "gates", "require_exit_zero"];
        let mut settings = Self::default();
        let (mut has_send, mut has_flag) = (false, false);
        for (key, value) in map(&yml::parse(text)?, "eva.yml")? {
            match key.as_str() {
                "send" => {
                    has_send = true;
                    settings.send = command(value, &key)?;
                }
                "judge" => settings.judge = Some(command(value, &key)?),
                "model_flag" => {
                    has_flag = true;
                    settings.model_flag =
                        Some(scalar(value, &key)?).filter(|flag| !flag.is_empty());
                }
                "gates" => settings.thresholds = gates(value)?,
                "require_exit_zero" => settings.require_exit_zero = truth(value, &key)?,
                _ => return Err(yml::unknown(value, &key, &KNOWN)),
            }
        }
        // The default model flag applies only to the default command.
        if has_send && !has_flag {
            settings.model_flag = None;
        }
        Ok(settings)
    }
}

fn command(node: &Node, key: &str) -> Result<Vec<String>, FlatError> {
    let words = match &node.value {
        Value::List(_) => texts(node, key)?,
        _ => scalar(node, key)?.split_whitespace().map(str::to_owned).collect(),
    };
    match words.first() {
        Some(program) if !program.is_empty() => Ok(words),
        _ => Err(FlatError::new(node.line, format!("`{key}` names no program"))),
    }
}

fn gates(node: &Node) -> Result<Thresholds, FlatError> {
    let mut thresholds = Thresholds::default();
    for (key, value) in map(node, "gates")? {
        match key.as_str() {
            "draft_to_tested" => thresholds.draft_to_tested = number(value, &key)?,
            "tested_to_ready" => thresholds.tested_to_ready = number(value, &key)?,
            _ => return Err(yml::unknown(value, &key, &["draft_to_tested", "tested_to_ready"])),
        }
    }
    Ok(thresholds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_read() {
        let text = "send: [ollama, run, \"a b\"]\njudge: claude -p\nmodel_flag:\ngates:\n  tested_to_ready: 20\n\
            require_exit_zero: yes\n";
        let settings = Settings::parse(text).unwrap();
        assert_eq!(settings.send, ["ollama", "run", "a b"]);
        assert_eq!(settings.judge.unwrap(), ["claude", "-p"]);
        assert_eq!((settings.model_flag, settings.require_exit_zero), (None, true));
        assert_eq!(
            (settings.thresholds.draft_to_tested, settings.thresholds.tested_to_ready),
            (3, 20)
        );
    }

    #[test]
    fn mistakes_are_named() {
        let check = |text: &str| Settings::parse(text).unwrap_err().to_string();
        assert!(check("sent: x\n").contains("unknown key `sent`"));
        assert!(check("send:\n").contains("names no program"));
        assert!(check("gates:\n  tested: 1\n").contains("unknown key `tested`"));
        assert!(check("gates:\n  tested_to_ready: -1\n").contains("whole number"));
    }
}
