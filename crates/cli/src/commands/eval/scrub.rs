//! `gbrain eval scrub`: the scrubber on stdin, a line in, a line out.

use std::io::{BufRead as _, Write as _};

use clap::Args;
use serde_json::json;

use crate::capture::scrubber;
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::ExternalWriter;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  echo 'mail ada@example.com' | gbrain eval scrub\n  \
    gbrain eval scrub --json < queries.txt | jq .families\n\n\
    docs/scrubbing.md lists the families. Patterns of your own go into config.json: \
    \"eval\": { \"scrub_patterns\": [\"EMP-[0-9]{6}\"] }.")]
pub(crate) struct ScrubArgs {}

/// Scrubs every line of stdin.
pub(super) fn run(context: &CommandContext<'_>, _args: &ScrubArgs) -> Result<Exit, CliError> {
    let scrubber = scrubber(&context.home).map_err(CliError::config)?;
    let mut input = std::io::stdin().lock();
    let mut out = std::io::BufWriter::new(context.terminal.stdout());
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(|error| CliError::io("stdin", &error))? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let scrubbed = scrubber.scrub(text);
        let printed = if context.terminal.is_json() {
            let mut families: Vec<&str> = scrubbed.found.iter().map(|f| f.family.name()).collect();
            families.sort_unstable();
            families.dedup();
            let row = json!({
                "schema_version": 1, "text": scrubbed.text, "changed": scrubbed.changed(),
                "families": families,
                "found": scrubbed.found.iter().map(|found| json!({
                    "family": found.family.name(), "start": found.start, "end": found.end,
                })).collect::<Vec<_>>(),
            });
            writeln!(out, "{row}")
        } else {
            writeln!(out, "{}", scrubbed.text)
        };
        match printed {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(Exit::Pass),
            Err(error) => return Err(CliError::io("stdout", &error)),
        }
    }
    let flushed = out.into_inner().map_err(std::io::IntoInnerError::into_error);
    match flushed.and_then(ExternalWriter::finish) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CliError::io("stdout", &error))
        }
        _ => Ok(Exit::Pass),
    }
}
