//! `gbrain targets vectors`: the vectors that `{{vector}}` stands for, to fill an external database with.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use clap::Args;
use gbrain_core::fault::FaultKind;
use gbrain_embed::{Embedder, StaticTable};
use serde_json::json;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

/// Lines that are embedded together.
const BATCH: usize = 256;

#[derive(Debug, Args)]
#[command(
    after_help = "A line in is a text; a line out is {\"vector\": [...], \"model\": ...}, in the same order. \
    Nothing leaves this machine.\n\nExample:\n  gbrain targets vectors passages.txt > vectors.ndjson"
)]
pub(super) struct VectorsArgs {
    /// A file with a text on each line [default: standard input].
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Prints the vector of every line.
pub(super) fn run(context: &CommandContext<'_>, args: &VectorsArgs) -> Result<Exit, CliError> {
    let input: Box<dyn BufRead> = match &args.file {
        None => Box::new(std::io::stdin().lock()),
        Some(path) => {
            let file = File::open(path).map_err(|error| {
                CliError::new(FaultKind::Io, format!("can't read {}: {error}", path.display()))
            })?;
            Box::new(BufReader::new(file))
        }
    };
    let model = StaticTable::built_in();
    let mut batch: Vec<String> = Vec::with_capacity(BATCH);
    for (at, line) in input.lines().enumerate() {
        let wrong = |error| CliError::new(FaultKind::Input, format!("line {}: {error}", at + 1));
        batch.push(line.map_err(wrong)?);
        if batch.len() == BATCH {
            print(context, &model, &mut batch)?;
        }
    }
    print(context, &model, &mut batch)?;
    Ok(Exit::Pass)
}

fn print(
    context: &CommandContext<'_>,
    model: &dyn Embedder,
    batch: &mut Vec<String>,
) -> Result<(), CliError> {
    let texts: Vec<&str> = batch.iter().map(String::as_str).collect();
    let vectors =
        model.embed(&texts).map_err(|error| CliError::new(FaultKind::Model, error.to_string()))?;
    for vector in vectors {
        context.terminal.out(format!("{}\n", json!({ "vector": vector, "model": model.id() })));
    }
    batch.clear();
    Ok(())
}
