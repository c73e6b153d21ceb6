//! `gbrain eval datasets`: where to get what the benchmarks run on. Downloads nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use gbrain_core::benchmark::{CATALOGUE, CatalogueEntry, KNOWN_FILES, known_as};
use gbrain_eval::benchmark::sha256 as sha256_of;
use serde_json::json;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::bold;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain eval datasets\n  gbrain eval datasets --hash longmemeval_s_cleaned.json"
)]
pub(crate) struct DatasetsArgs {
    /// Print the SHA-256 of a file, and whether it is a published one.
    #[arg(long, value_name = "FILE")]
    hash: Option<PathBuf>,
}

pub(super) fn run(context: &CommandContext<'_>, args: &DatasetsArgs) -> Result<Exit, CliError> {
    let terminal = context.terminal;
    if let Some(path) = &args.hash {
        let hash = sha256_of(std::slice::from_ref(path))?.to_hex();
        if terminal.is_json() {
            terminal.json(&json!({
                "file": path.display().to_string(), "sha256": hash, "known_as": known_as(&hash),
            }));
        } else {
            let known = match known_as(&hash) {
                Some(name) => format!("verified: {name}"),
                None => "unknown file: no SHA-256 in `gbrain eval datasets` is this one".to_owned(),
            };
            terminal.line(format!("{hash}  {}  ({known})", path.display()));
        }
        return Ok(Exit::Pass);
    }
    if terminal.is_json() {
        let all: Vec<_> = CATALOGUE
            .iter()
            .map(|one| {
                json!({
                    "name": one.name, "command": one.command, "source": one.source, "files": one.files,
                    "hash": one.hash, "sha256": sha256(one), "licence": one.licence,
                    "measured": one.measured, "notes": one.notes,
                })
            })
            .collect();
        terminal.json(&all);
        return Ok(Exit::Pass);
    }
    for one in &CATALOGUE {
        terminal.line(bold(one.name));
        let hash = if one.hash.is_empty() { "none that we know of" } else { one.hash };
        let lines = [
            ("run", one.command),
            ("from", one.source),
            ("files", one.files),
            ("hash", hash),
            ("licence", one.licence),
            ("measures", one.measured),
            ("note", one.notes),
        ];
        for (name, value) in lines {
            terminal.line(format!("  {name:<8} {value}"));
        }
    }
    Ok(Exit::Pass)
}

/// The published SHA-256 of a dataset's files, by their names.
fn sha256(dataset: &CatalogueEntry) -> BTreeMap<&'static str, &'static str> {
    let known = KNOWN_FILES.iter().filter(|known| dataset.hash.contains(known.sha256));
    known.map(|known| (known.file, known.sha256)).collect()
}
