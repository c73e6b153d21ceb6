//! `gbrain triage`: why a run failed, and what to do about it.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use gbrain_brain::IndexKind;
use gbrain_core::format::triage::TriageBody;
use gbrain_core::gate::Verdict;
use gbrain_core::report::text;
use gbrain_core::request::Trust;
use gbrain_core::target::LOCAL;
use gbrain_eval::triage::{Subject, TriageMeans, find, look};
use gbrain_store::Store;

use super::suites::SuiteSource;
use crate::asking::{Asks, assistants, desk, interrupted, settings};
use crate::commands::Context;
use crate::error::{CliError, Exit};
use crate::targets::target_book;

/// Arguments of `triage`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain triage 12\n  \
    gbrain triage gbrain/default/weekly/recall@5/all --show-queries\n  gbrain triage 12 --ask --json\n\n\
    Every failing case is infrastructure, pipeline_bug, threshold, embedding_drift, ranking or unknown, \
    with what that was chosen by. The local brain is asked again, deeper; targets elsewhere and models \
    that cost something only with --ask. `gbrain incident open --run 12` keeps what was found.\n\n\
    Exit codes: 0 nothing is wrong, 1 something is, 2 nothing can be said.")]
pub(crate) struct TriageArgs {
    /// The number of a run, as `gbrain suites history` shows it, or the key of an alert.
    #[arg(value_name = "RUN|ALERT")]
    what: String,
    #[command(flatten)]
    how: HowArgs,
    /// Show what was asked beside the ids of queries.
    #[arg(long)]
    show_queries: bool,
}

/// How a run is looked at.
#[derive(Debug, Clone, Args)]
pub(crate) struct HowArgs {
    /// Ask targets elsewhere again too, and models that cost something.
    #[arg(long)]
    ask: bool,
    /// The file of suites, for targets that it describes [default: the home's].
    #[arg(long, short, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
}

/// Triages a run.
pub(crate) fn run(context: &Context<'_>, args: &TriageArgs) -> Result<Exit, CliError> {
    let store: Arc<dyn Store> = context.store()?.into();
    let subject = find(store.as_ref(), &context.home.workspace, &args.what)?;
    let body = looked(context, &store, &subject, &args.how, (Trust::Trusted, args.show_queries))?;
    if context.terminal.is_json() {
        context.terminal.json(&body);
    } else {
        context.terminal.out(text::triage(&body));
    }
    Ok(match body.verdict {
        Verdict::Pass => Exit::Pass,
        Verdict::Fail => Exit::Fail,
        Verdict::Inconclusive => Exit::NoVerdict,
    })
}

/// What is known of a run.
pub(super) fn looked(
    context: &Context<'_>,
    store: &Arc<dyn Store>,
    subject: &Subject,
    how: &HowArgs,
    (trust, shows_queries): (Trust, bool),
) -> Result<TriageBody, CliError> {
    let workspace = &context.home.workspace;
    let source = SuiteSource::new(&context.home, how.file.as_deref());
    let targets = target_book(&context.home, source);
    let is_local = subject.body.target == LOCAL;
    let brain = context.brain_in(store.clone(), IndexKind::Disk)?;
    let helpers = match how.ask && is_local {
        true => {
            let config = settings(store.as_ref(), workspace)?;
            assistants(Asks::Caller, &desk(&context.home)?, store, workspace, &config)?
        }
        false => None,
    };
    let stop = interrupted();
    let again = match is_local || how.ask {
        true => Some(targets.open(&subject.body.target, &brain, helpers.as_ref(), &stop)?),
        false => None,
    };
    let bar = context.terminal.progress("looking");
    let progress = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let means = TriageMeans {
        store: store.as_ref(),
        workspace,
        brain: is_local.then_some(&brain),
        again: again.as_deref(),
        trust,
        may_cost: how.ask,
        progress: &progress,
    };
    let body = look(&means, subject, shows_queries)?;
    bar.finish_and_clear();
    Ok(body)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};
    use gbrain_core::triage::{Class, Remedy, mitigation};

    use super::LOCAL;
    use crate::args::Args;

    /// The words of a line as a shell reads them: quotes keep blanks.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('\'').enumerate();
        let mut words: Vec<String> = Vec::new();
        for (at, part) in parts {
            match at % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        words
    }

    /// Whatever triage tells people to type is something that this program understands.
    #[test]
    fn every_command_of_every_mitigation_is_one() {
        let known =
            |name: &str| Args::command().get_subcommands().any(|one| one.get_name() == name);
        for class in Class::ALL {
            for (target, is_other_model) in [(LOCAL, false), (LOCAL, true), ("prod", false)] {
                let (workspace, suite, page) = ("team-a", "weekly", Some("wiki::a b"));
                let smoke = Some("smoke");
                let remedy = Remedy { workspace, suite, smoke, target, is_other_model, page };
                for command in mitigation(*class, &remedy).commands {
                    let words = words(&command);
                    if words[3] == "calibrate" && !known("calibrate") {
                        continue;
                    }
                    let parsed = Args::try_parse_from(&words);
                    assert!(parsed.is_ok(), "{command}: {:?}", parsed.err());
                }
            }
        }
    }
}
