//! Running a command so that its output is both shown live and kept.

use std::io::{self, IsTerminal, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use anyhow::{Context, Result};

/// A finished command and everything it printed, stdout first.
pub(crate) struct CommandOutput {
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
}

/// Runs `command` to its end.
pub(crate) fn run(command: &mut Command) -> Result<CommandOutput> {
    keep_colours(command);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not run {command:?}"))?;
    let stdout = child.stdout.take().expect("stdout is piped");
    let stderr = child.stderr.take().expect("stderr is piped");

    let errors = thread::spawn(move || copy(stderr, io::stderr()));
    let mut output = copy(stdout, io::stdout()).context("could not pass stdout on")?;
    let errors = errors.join().expect("copying does not panic");
    output.extend(errors.context("could not pass stderr on")?);

    let status = child.wait().context("could not wait for the command")?;
    Ok(CommandOutput { status, output: String::from_utf8_lossy(&output).into_owned() })
}

/// Seeing a pipe, cargo would turn colours off although they end up on a terminal.
fn keep_colours(command: &mut Command) {
    let decided =
        ["NO_COLOR", "CARGO_TERM_COLOR"].iter().any(|name| std::env::var_os(name).is_some());
    if io::stderr().is_terminal() && !decided {
        command.env("CARGO_TERM_COLOR", "always");
    }
}

fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return Ok(kept),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(&buffer[..length])?;
        to.flush()?;
        kept.extend_from_slice(&buffer[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_and_the_status_are_preserved() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let finished = run(&mut command).unwrap();
        assert_eq!(finished.output, "out\nerr\n");
        assert_eq!(finished.status.code(), Some(3));
    }
}
