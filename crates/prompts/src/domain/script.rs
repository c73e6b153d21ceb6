//! Checks whether a hook can run and whether it contains any command.
//!
//! A verifier that cannot run is detected before a prompt is sent, because afterwards the answer is
//! paid for. An empty verifier would exit with 0 and accept every answer.

/// The way a script is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script<'a> {
    /// A native program, run directly.
    Binary,
    /// Text without `#!`: a shell runs it.
    Shell,
    /// A text that begins with `#!`.
    Interpreted {
        /// The program behind `#!`.
        interpreter: &'a str,
        /// The program that `env` looks up.
        program: Option<&'a str>,
    },
}

/// The reason that a script is unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// It contains no command.
    #[error("it is empty, so it would accept everything")]
    Empty,
    /// It has Windows line endings.
    #[error("its lines end with CR LF, which no shell reads: convert them (`sed -i 's/\\r$//'`)")]
    CarriageReturns,
    /// `#!` without a program.
    #[error("its first line is `#!` without an absolute path")]
    NoInterpreter,
}

const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ksh", "zsh", "ash"];

impl<'a> Script<'a> {
    /// Determines how a script is run.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ScriptError> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => text,
            _ => return Ok(Self::Binary),
        };
        let script = match text.strip_prefix("#!") {
            None => Self::Shell,
            Some(rest) => Self::interpreted(rest.split('\n').next().unwrap_or_default())?,
        };
        if script.is_shell() && text.contains("\r\n") {
            return Err(ScriptError::CarriageReturns);
        }
        let is_command =
            |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        if text.lines().any(is_command) { Ok(script) } else { Err(ScriptError::Empty) }
    }

    fn interpreted(line: &'a str) -> Result<Self, ScriptError> {
        if line.ends_with('\r') {
            return Err(ScriptError::CarriageReturns);
        }
        let mut words = line.split_whitespace();
        let interpreter = words.next().filter(|path| path.starts_with('/'));
        let interpreter = interpreter.ok_or(ScriptError::NoInterpreter)?;
        let is_program = |word: &&str| !word.starts_with('-') && !word.contains('=');
        let program = (name_of(interpreter) == "env").then(|| words.find(is_program)).flatten();
        Ok(Self::Interpreted { interpreter, program })
    }

    fn is_shell(&self) -> bool {
        match self {
            Self::Binary => false,
            Self::Shell => true,
            Self::Interpreted { interpreter, program } => {
                SHELLS.contains(&name_of(program.unwrap_or(interpreter)))
            }
        }
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_script_is_run() {
        let interpreted = |interpreter, program| Ok(Script::Interpreted { interpreter, program });
        let check =
            |text: &str, expected| assert_eq!(Script::parse(text.as_bytes()), expected, "{text:?}");
        check("#!/bin/sh\nexit 0\n", interpreted("/bin/sh", None));
        check("#! /usr/bin/awk -f\n{ print }\n", interpreted("/usr/bin/awk", None));
        check(
            "#!/usr/bin/env -S A=1 python3 -u\npass",
            interpreted("/usr/bin/env", Some("python3")),
        );
        check("#!/usr/bin/python3\r\npass\r\n", Err(ScriptError::CarriageReturns));
        check("#!/usr/bin/python3\npass\r\n", interpreted("/usr/bin/python3", None));
        check("#!/bin/sh\nexit 0\r\n", Err(ScriptError::CarriageReturns));
        check("#!/usr/bin/env bash\nexit 0\r\n", Err(ScriptError::CarriageReturns));
        check("exit 0\r\n", Err(ScriptError::CarriageReturns));
        check("exit 0\n", Ok(Script::Shell));
        check("", Err(ScriptError::Empty));
        check(" \n\t\n", Err(ScriptError::Empty));
        check("#!/bin/sh\n# to do\n", Err(ScriptError::Empty));
        check("#!\nexit 0\n", Err(ScriptError::NoInterpreter));
        check("#!sh\nexit 0\n", Err(ScriptError::NoInterpreter));
        check("\u{7f}ELF\0", Ok(Script::Binary));
        assert_eq!(Script::parse(b"\x7fELF\xff"), Ok(Script::Binary));
    }
}
