//! `gbrain bench diff`: what changed between two baselines.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use gbrain_core::baseline::{Baseline, query_hash};
use gbrain_core::capture::CapturedRow;
use gbrain_core::format::baseline::{BASELINE_VERSION, BaselineDiff, ChangedRow};
use gbrain_core::overlap::jaccard;

use super::read_checked;
use crate::commands::Context;
use crate::commands::baseline_key::KeyArgs;
use crate::error::{CliError, Exit};
use crate::terminal::field;

/// Arguments of `bench diff`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain bench diff old.baseline.ndjson new.baseline.ndjson")]
pub(crate) struct DiffArgs {
    /// The older baseline.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The newer baseline.
    #[arg(value_name = "B")]
    b: PathBuf,
    #[command(flatten)]
    key: KeyArgs,
}

/// What differs.
struct Diff<'a> {
    added: Vec<&'a CapturedRow>,
    removed: Vec<&'a CapturedRow>,
    /// Worst overlap first.
    changed: Vec<(f64, &'a CapturedRow, &'a CapturedRow)>,
    /// Scrubbed names can't be told apart: neither the same nor changed.
    not_comparable: Vec<&'a CapturedRow>,
    thresholds_differ: bool,
}

/// Compares two baselines row by row.
pub(super) fn run(context: &Context<'_>, args: &DiffArgs) -> Result<Exit, CliError> {
    let key = args.key.read(&context.home)?;
    let a = read_checked(context, &args.a, key.as_ref())?;
    let b = read_checked(context, &args.b, key.as_ref())?;
    let diff = diff(&a, &b);
    if context.terminal.is_json() {
        context.terminal.json(&body(&a, &b, &diff));
    } else {
        context.terminal.out(as_text(&a, &b, &diff));
    }
    Ok(Exit::Pass)
}

fn diff<'a>(a: &'a Baseline, b: &'a Baseline) -> Diff<'a> {
    let (before, after) = (by_request(a), by_request(b));
    let only = |these: &Rows<'a>, those: &Rows<'a>| {
        these.iter().filter(|(key, _)| !those.contains_key(*key)).map(|(_, row)| *row).collect()
    };
    let both = before.iter().filter_map(|(key, old)| Some((*old, *after.get(key)?)));
    let (both, unknown): (Vec<_>, Vec<_>) = both.partition(|(old, new)| is_comparable(old, new));
    let mut changed: Vec<_> = both
        .into_iter()
        .filter(|(old, new)| old.expected() != new.expected())
        .map(|(old, new)| (jaccard(&names(old), &names(new)), old, new))
        .collect();
    changed.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.line.cmp(&y.1.line)));
    Diff {
        added: only(&after, &before),
        removed: only(&before, &after),
        changed,
        not_comparable: unknown.into_iter().map(|(_, new)| new).collect(),
        thresholds_differ: a.metadata.thresholds != b.metadata.thresholds,
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

type Rows<'a> = BTreeMap<(String, String, usize), &'a CapturedRow>;

/// Rows by what is asked; a question that stands twice keeps both by its place.
fn by_request(baseline: &Baseline) -> Rows<'_> {
    let mut rows = Rows::new();
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

fn body<'a>(a: &'a Baseline, b: &'a Baseline, diff: &Diff<'a>) -> BaselineDiff<'a> {
    let Diff { added, removed, changed, not_comparable, thresholds_differ } = diff;
    let queries = |rows: &[&'a CapturedRow]| rows.iter().map(|row| row.query.as_str()).collect();
    let changed = changed.iter().map(|(jaccard, old, new)| ChangedRow {
        query: &old.query,
        jaccard: *jaccard,
        a: names(old),
        b: names(new),
    });
    BaselineDiff {
        schema_version: BASELINE_VERSION,
        a: &a.metadata.label,
        b: &b.metadata.label,
        thresholds_differ: *thresholds_differ,
        added: queries(added),
        removed: queries(removed),
        changed: changed.collect(),
        not_comparable: queries(not_comparable),
    }
}

fn as_text(a: &Baseline, b: &Baseline, diff: &Diff<'_>) -> String {
    let mut lines = vec![format!(
        "{} to {}: {} added, {} removed, {} changed, {} not comparable, thresholds {}",
        a.metadata.label,
        b.metadata.label,
        diff.added.len(),
        diff.removed.len(),
        diff.changed.len(),
        diff.not_comparable.len(),
        if diff.thresholds_differ { "differ" } else { "the same" }
    )];
    lines.extend(diff.added.iter().map(|row| format!("+ {}", row.query)));
    lines.extend(diff.removed.iter().map(|row| format!("- {}", row.query)));
    let unknown = diff.not_comparable.iter();
    lines
        .extend(unknown.map(|row| format!("? {} (scrubbed names can't be told apart)", row.query)));
    for (overlap, old, new) in &diff.changed {
        let (before, after) = (names(old), names(new));
        lines.push(format!("~ jaccard={overlap:.2} {}", old.query));
        let gone = before.iter().filter(|page| !after.contains(page));
        lines.extend(gone.map(|page| format!("    - {page}")));
        let new = after.iter().filter(|page| !before.contains(page));
        lines.extend(new.map(|page| format!("    + {page}")));
    }
    lines.iter().map(|line| field(line) + "\n").collect()
}
