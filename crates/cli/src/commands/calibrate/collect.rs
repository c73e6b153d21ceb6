//! `gbrain calibrate collect`: collects borderline pairs for review.

use std::path::PathBuf;

use clap::Args;
use gbrain_brain::IndexKind;
use gbrain_core::fault::FaultKind;
use gbrain_core::format::calibration::{PairCollectionBody, PairEntry, read_pairs};
use gbrain_core::target::LOCAL;
use gbrain_eval::calibrate::{PairCollector, PairSources, Passages};
use gbrain_eval::suite::local;

use super::CalibrationContext;
use crate::capture::scrubber;
use crate::commands::CommandContext;
use crate::commands::suites::SuiteSource;
use crate::error::{CliError, Exit};
use crate::model_access::interrupted;
use crate::targets::target_registry;
use crate::terminal::{advance, table};

/// As many are told one by one.
const TOLD: usize = 10;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain calibrate collect\n  \
    gbrain calibrate collect --from pairs.jsonl --canonical\n  \
    gbrain calibrate collect --json | jq -c '.review[]' > review.jsonl   (to label and take in)\n\n\
    A line of a file: {\"query\": \"who owns X?\", \"document\": \"wiki::x\", \"label\": \"borderline\"}, with a \
    `chunk` and its `text` where they are known. Labels are relevant, borderline and irrelevant. A \
    missing text is looked up in the local brain, or in the answers of --target.")]
pub(super) struct CollectArgs {
    /// Take pairs in from files of JSON lines.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from: Vec<PathBuf>,
    /// Make relevant pairs from the expected results of canonical queries, and irrelevant pairs from
    /// results far from them.
    #[arg(long)]
    canonical: bool,
    /// Look texts up in what this target answers.
    #[arg(long, value_name = "NAME", default_value = LOCAL, hide_default_value = true)]
    target: String,
}

pub(super) fn run(context: &CommandContext<'_>, args: &CollectArgs) -> Result<Exit, CliError> {
    let sources = PairSources { entries: entries(&args.from)?, canonical: args.canonical };
    let bench = CalibrationContext::new(context)?;
    let brain = context.brain_in(bench.store.clone(), IndexKind::Disk)?;
    let scrubber = scrubber(&context.home).map_err(CliError::config)?;
    let bar = context.terminal.progress("collecting");
    let progress = |done: usize, total: usize| {
        bar.set_length(total as u64);
        advance(&bar, done as u64);
    };
    let stop = interrupted();
    let own = local(&brain, brain.settings()?, None, &stop)?;
    let (registry, remote);
    let passages = if args.target == LOCAL {
        Passages { target: &own, local: Some((&brain, own.snapshot())) }
    } else {
        registry = target_registry(&context.home, SuiteSource::new(&context.home, None));
        remote = registry.open(&args.target, &brain, None, &stop)?;
        Passages { target: remote.as_ref(), local: None }
    };
    let collection = PairCollector {
        store: bench.store.as_ref(),
        workspace: &context.home.workspace,
        passages,
        scrubber: &scrubber,
        progress: &progress,
        now: context.now,
    };
    let body = collection.collect(&sources)?;
    bar.finish_and_clear();
    tell(context, &body);
    Ok(Exit::Pass)
}

/// The pairs of files, all or none.
fn entries(files: &[PathBuf]) -> Result<Vec<PairEntry>, CliError> {
    let mut entries = Vec::new();
    for path in files {
        let at = path.display();
        let text = String::from_utf8(gbrain_eval::read_document(path)?)
            .map_err(|_| CliError::new(FaultKind::Input, format!("{at} is not UTF-8")))?;
        let read = read_pairs(&text);
        entries.extend(read.map_err(|(line, why)| {
            CliError::new(FaultKind::Input, format!("{at}: line {line}: {why}"))
                .hint("labels are relevant, borderline and irrelevant")
        })?);
    }
    Ok(entries)
}

fn tell(context: &CommandContext<'_>, body: &PairCollectionBody) {
    let terminal = context.terminal;
    if terminal.is_json() {
        return terminal.json(body);
    }
    let PairCollectionBody { added, changed, unchanged, passed_over, pairs, missing, review } =
        body;
    terminal.line(format!("{added} added, {changed} changed, {unchanged} as they were"));
    let rows = [
        ("borderline", pairs.borderline),
        ("relevant", pairs.relevant),
        ("irrelevant", pairs.irrelevant),
    ];
    let rows = rows.iter().map(|(label, count)| vec![(*label).to_owned(), count.to_string()]);
    terminal.out_paged(table(&["LABEL", "PAIRS"], rows));
    for one in passed_over.iter().take(TOLD) {
        terminal.warn(format!("passed over {}: {}", one.document, one.why));
    }
    if passed_over.len() > TOLD {
        terminal.warn(format!("passed over {} more", passed_over.len() - TOLD));
    }
    if *missing > 0 {
        terminal.remark(format!("need {missing} more borderline pairs (30 required)"));
    }
    if pairs.irrelevant < 10 {
        terminal.remark("10 irrelevant pairs say whether scores separate: --canonical makes some");
    }
    if !review.is_empty() {
        terminal.remark(format!("{} low-rated results wait for a label: see --json", review.len()));
    }
}
