//! Baselines and the last gate.

use std::path::{Path, PathBuf};

use gbrain_core::baseline::{Baseline, SignatureCheck};
use gbrain_core::triage::shell_word;
use gbrain_eval::{EvalError, Input, read_baseline};
use jiff::Timestamp;
use serde_json::Value;

use super::finding::{DoctorCheck, unknown};
use crate::commands::CommandContext;
use crate::commands::baseline_key::of_environment;
use crate::terminal::count;

/// A baseline older than this many days says little about today's brain.
const OLD_DAYS: i64 = 90;

/// Checks baselines and the last gate.
pub(super) fn check(context: &CommandContext<'_>) -> Vec<DoctorCheck> {
    vec![baselines(context), last_gate(context)]
}

fn baselines(context: &CommandContext<'_>) -> DoctorCheck {
    let files = files(context);
    let signature = match of_environment(&context.home) {
        Ok(key) => SignatureCheck::required(key.as_ref()),
        Err(error) => return DoctorCheck::fail("baselines", error.message),
    };
    let mut newest: Option<Timestamp> = None;
    for path in &files {
        match Input::open(path).and_then(|input| read_baseline(input.checking(signature.clone()))) {
            Err(EvalError::Baseline { source, .. }) => {
                return DoctorCheck::fail("baselines", format!("{}: {source}", path.display()))
                    .remedy(format!("gbrain baseline verify '{}'", path.display()));
            }
            Err(error) => return unknown("baselines", error),
            Ok(Baseline { metadata, .. }) => {
                newest = newest.max(metadata.published_at.parse().ok());
            }
        }
    }
    let Some(newest) = newest else {
        return DoctorCheck::ok("baselines", "none yet").remedy(format!(
            "gbrain eval export > captured.ndjson, then gbrain baseline publish --from captured.ndjson --to {}",
            suggested_file(context)
        ));
    };
    let days = (context.now.as_second() - newest.as_second()) / 86_400;
    let message = format!("{} intact, the newest {days} days old", files.len());
    let finding = if days > OLD_DAYS {
        DoctorCheck::warn("baselines", message)
            .remedy("publish a new one, or bank with `gbrain baseline ratchet`")
    } else {
        DoctorCheck::ok("baselines", message)
    };
    finding.detail("count", files.len()).detail("newest", newest.to_string())
}

fn files(context: &CommandContext<'_>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(&context.home.baselines_dir(), DEEPEST, &mut files);
    files.sort();
    files
}

/// How deep directories of baselines are looked into.
const DEEPEST: usize = 4;

fn collect(dir: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() && depth > 0 {
            collect(&path, depth - 1, files);
        } else if path.extension().is_some_and(|extension| extension == "ndjson") {
            files.push(path);
        }
    }
}

/// A file for the first baseline, quoted for a shell.
fn suggested_file(context: &CommandContext<'_>) -> String {
    let file = context.home.baselines_dir().join("mine.baseline.ndjson");
    shell_word(&file.to_string_lossy())
}

/// The verdict of this home's last gate. A gate that has never run gives no protection.
fn last_gate(context: &CommandContext<'_>) -> DoctorCheck {
    let path = context.home.runs_dir().join("gates.jsonl");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let records: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let Some(last) = records.last() else {
        return DoctorCheck::ok("gate", "never run here")
            .remedy(format!("gbrain eval gate --baseline {}", suggested_file(context)));
    };
    let (verdict, at) =
        (last["verdict"].as_str().unwrap_or("?"), last["ts"].as_str().unwrap_or("?"));
    let message = format!("{verdict} at {at}, {} in all", count(records.len(), "run", "runs"));
    let finding = if verdict == "pass" {
        DoctorCheck::ok("gate", message)
    } else {
        DoctorCheck::warn("gate", message)
            .remedy("gbrain eval gate --baseline FILE --html gate.html")
    };
    finding.detail("verdict", verdict).detail("at", at).detail("runs", records.len())
}
