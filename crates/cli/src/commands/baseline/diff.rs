//! `gbrain baseline diff`: what changed between two baselines.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use gbrain_core::baseline::{Baseline, query_hash};
use gbrain_core::capture::CapturedRow;
use gbrain_core::overlap::jaccard;
use gbrain_core::report::json::{BASELINE_VERSION, BaselineDiff, ChangedRow};

use super::read_checked;
use crate::commands::CommandContext;
use crate::commands::baseline_key::KeyArgs;
use crate::error::{CliError, Exit};
use crate::terminal::field;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain baseline diff old.baseline.ndjson new.baseline.ndjson")]
pub(crate) struct DiffArgs {
    /// The file of the older baseline.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The file of the newer baseline.
    #[arg(value_name = "B")]
    b: PathBuf,
    #[command(flatten)]
    key: KeyArgs,
}

/// Compares two baselines row by row.
pub(super) fn run(context: &CommandContext<'_>, args: &DiffArgs) -> Result<Exit, CliError> {
    let key = args.key.read(&context.home)?;
    let a = read_checked(context, &args.a, key.as_ref())?;
    let b = read_checked(context, &args.b, key.as_ref())?;
    let diff = diff(&a, &b);
    if context.terminal.is_json() {
        context.terminal.json(&diff);
    } else {
        context.terminal.out(as_text(&diff));
    }
    Ok(Exit::Pass)
}

fn diff<'a>(a: &'a Baseline, b: &'a Baseline) -> BaselineDiff<'a> {
    let (before, after) = (by_request(a), by_request(b));
    let only = |these: &RowsByRequest<'a>, those: &RowsByRequest<'a>| -> Vec<&'a str> {
        let alone = these.iter().filter(|(key, _)| !those.contains_key(*key));
        alone.map(|(_, row)| row.query.as_str()).collect()
    };
    let both = before.iter().filter_map(|(key, old)| Some((*old, *after.get(key)?)));
    let (both, unknown): (Vec<_>, Vec<_>) = both.partition(|(old, new)| is_comparable(old, new));
    let changed = both.into_iter().filter(|(old, new)| old.expected() != new.expected());
    let mut changed: Vec<(usize, ChangedRow<'a>)> = changed
        .map(|(old, new)| {
            let (a, b) = (names(old), names(new));
            (old.line, ChangedRow { query: &old.query, jaccard: jaccard(&a, &b), a, b })
        })
        .collect();
    changed.sort_by(|x, y| x.1.jaccard.total_cmp(&y.1.jaccard).then(x.0.cmp(&y.0)));
    BaselineDiff {
        schema_version: BASELINE_VERSION,
        a: &a.metadata.label,
        b: &b.metadata.label,
        thresholds_differ: a.metadata.thresholds != b.metadata.thresholds,
        added: only(&after, &before),
        removed: only(&before, &after),
        changed: changed.into_iter().map(|(_, row)| row).collect(),
        not_comparable: unknown.into_iter().map(|(_, new)| new.query.as_str()).collect(),
    }
}

/// Whether every scrubbed name of both rows has a hash of the same key.
fn is_comparable(old: &CapturedRow, new: &CapturedRow) -> bool {
    let scrubbed = |row: &CapturedRow| {
        let pages = row.expected().unwrap_or_default().iter();
        pages.filter(|page| page.is_scrubbed()).map(|page| page.key_hash.is_some()).collect()
    };
    let (before, after): (Vec<bool>, Vec<bool>) = (scrubbed(old), scrubbed(new));
    let is_hashed = before.iter().chain(&after).all(|has_hash| *has_hash);
    let is_same_key = old.identity_key_id == new.identity_key_id;
    is_hashed && (before.is_empty() || after.is_empty() || is_same_key)
}

type RowsByRequest<'a> = BTreeMap<(String, String, usize), &'a CapturedRow>;

/// RowsByRequest by what is asked; a question that stands twice keeps both by its place.
fn by_request(baseline: &Baseline) -> RowsByRequest<'_> {
    let mut rows = RowsByRequest::new();
    for row in &baseline.rows {
        let asked = format!("{} {:?} {:?} {:?}", row.operation, row.limit, row.mode, row.filter);
        let mut place = 0;
        while rows.contains_key(&(query_hash(&row.query), asked.clone(), place)) {
            place += 1;
        }
        rows.insert((query_hash(&row.query), asked, place), row);
    }
    rows
}

fn names(row: &CapturedRow) -> Vec<String> {
    row.expected().unwrap_or_default().iter().map(ToString::to_string).collect()
}

fn as_text(diff: &BaselineDiff<'_>) -> String {
    let mut lines = vec![format!(
        "{} to {}: {} added, {} removed, {} changed, {} not comparable, thresholds {}",
        diff.a,
        diff.b,
        diff.added.len(),
        diff.removed.len(),
        diff.changed.len(),
        diff.not_comparable.len(),
        if diff.thresholds_differ { "differ" } else { "the same" }
    )];
    lines.extend(diff.added.iter().map(|query| format!("+ {query}")));
    lines.extend(diff.removed.iter().map(|query| format!("- {query}")));
    let unknown = diff.not_comparable.iter();
    lines.extend(unknown.map(|query| format!("? {query} (scrubbed names can't be distinguished)")));
    for ChangedRow { query, jaccard, a, b } in &diff.changed {
        lines.push(format!("~ jaccard={jaccard:.2} {query}"));
        let gone = a.iter().filter(|page| !b.contains(page));
        lines.extend(gone.map(|page| format!("    - {page}")));
        let new = b.iter().filter(|page| !a.contains(page));
        lines.extend(new.map(|page| format!("    + {page}")));
    }
    lines.iter().map(|line| field(line) + "\n").collect()
}
