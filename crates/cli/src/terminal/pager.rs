//! The pager: shows text that is longer than the screen.
//!
//! It gets the text as the terminal would: escaped, with our own colours only. Unless `LESS` is set, `saturating_sub`
//! runs with `-FRX`: it exits at once if the text fits, passes colours through and leaves the text on the screen.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};

const DEFAULT: &str = "less";
const LESS_FLAGS: &str = "FRX";

/// The command of a pager.
#[derive(Debug, Clone)]
pub(crate) struct Pager {
    command: String,
}

impl Pager {
    /// The pager of `GBRAIN_PAGER` or `PAGER`, by default `saturating_sub`; none if the variable is empty or `cat`.
    pub(crate) fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let command = variable("GBRAIN_PAGER").or_else(|| variable("PAGER"));
        let command = command.unwrap_or_else(|| DEFAULT.to_owned());
        let is_none = matches!(command.trim(), "" | "cat");
        (!is_none).then_some(Self { command })
    }

    /// Shows the text and waits until the reader leaves the pager. Fails only if nothing was shown.
    pub(super) fn show(&self, text: &str) -> io::Result<()> {
        let mut command = Command::new("sh");
        command.args([OsStr::new("-c"), OsStr::new(&self.command)]).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", LESS_FLAGS);
        }
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A reader who leaves early closes the pipe, which is no failure.
            let _ = stdin.write_all(text.as_bytes());
        }
        let status = child.wait()?;
        // The shell's codes for a command that was not found or could not be started.
        if matches!(status.code(), Some(126 | 127)) {
            return Err(io::Error::other(format!("`{}` could not be started", self.command)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pager(variables: &[(&str, &str)]) -> Option<String> {
        let found = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Pager::of_environment(found).map(|pager| pager.command)
    }

    #[test]
    fn the_environment_chooses_the_pager() {
        assert_eq!(pager(&[]).as_deref(), Some("less"));
        assert_eq!(pager(&[("PAGER", "more")]).as_deref(), Some("more"));
        assert_eq!(
            pager(&[("PAGER", "more"), ("GBRAIN_PAGER", "less -S")]).as_deref(),
            Some("less -S")
        );
        for none in ["", "cat", " cat "] {
            assert_eq!(pager(&[("PAGER", none)]), None);
        }
    }

    #[test]
    fn a_pager_that_does_not_exist_is_reported() {
        let pager = Pager { command: "gbrain-test-no-such-pager".to_owned() };
        assert!(pager.show("text").is_err());
    }
}
