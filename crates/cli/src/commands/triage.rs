//! `gbrain triage`: why a run failed, and what to do about it.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use gbrain_brain::{Assistants, BuiltInModels, IndexKind};
use gbrain_core::format::triage::TriageBody;
use gbrain_core::gate::Verdict;
use gbrain_core::report::text;
use gbrain_core::request::Viewer;
use gbrain_core::target::LOCAL;
use gbrain_core::triage::TriageSubject;
use gbrain_eval::triage::{TriageContext, find, triage_run as run_triage};
use gbrain_store::Store;

use super::alerts::other_workspace_hint;
use super::suites::SuiteSource;
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::model_access::{catalog, interrupted, settings};
use crate::targets::target_registry;
use crate::terminal::advance;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain triage 12\n  \
    gbrain triage gbrain/default/weekly/recall@5/all --show-queries\n  gbrain triage 12 --ask --json\n\n\
    Every failing case is infrastructure, pipeline_bug, threshold, embedding_drift, ranking or unknown, \
    with the evidence for the class. The local brain is queried again for more results; remote targets \
    and paid models only with --ask. `gbrain incident open --run 12` stores the findings.\n\n\
    Exit codes: 0 nothing is wrong, 1 something is wrong, 2 inconclusive.")]
pub(crate) struct TriageArgs {
    /// The number of a run, as `gbrain suites history` shows it, or the key of an alert.
    #[arg(value_name = "RUN|ALERT")]
    what: String,
    #[command(flatten)]
    how: TriageRunArgs,
    /// Show the text of queries beside their ids.
    #[arg(long)]
    show_queries: bool,
}

/// Flags that control triage.
#[derive(Debug, Clone, Args)]
pub(crate) struct TriageRunArgs {
    /// Also query remote targets and paid models again.
    #[arg(long)]
    ask: bool,
    /// The file of suites, for targets that it describes [default: the home's].
    #[arg(long, short, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
}

pub(crate) fn run(context: &CommandContext<'_>, args: &TriageArgs) -> Result<Exit, CliError> {
    let store: Arc<Store> = context.store()?.into();
    let subject = find(store.as_ref(), &context.home.workspace, &args.what).map_err(|error| {
        let error = CliError::from(error);
        match other_workspace_hint(context, &args.what) {
            Some(hint) => CliError { hints: vec![hint], ..error },
            None => error,
        }
    })?;
    let body =
        triage_run(context, &store, &subject, &args.how, (Viewer::Trusted, args.show_queries))?;
    if context.terminal.is_json() {
        context.terminal.json(&body);
    } else {
        context.terminal.report(text::triage(&body));
    }
    Ok(match body.verdict {
        Verdict::Pass => Exit::Pass,
        Verdict::Fail => Exit::Fail,
        Verdict::Inconclusive => Exit::NoVerdict,
    })
}

/// Triages the failing cases of a run.
pub(super) fn triage_run(
    context: &CommandContext<'_>,
    store: &Arc<Store>,
    subject: &TriageSubject,
    how: &TriageRunArgs,
    (trust, shows_queries): (Viewer, bool),
) -> Result<TriageBody, CliError> {
    let workspace = &context.home.workspace;
    let source = SuiteSource::new(&context.home, how.file.as_deref());
    let targets = target_registry(&context.home, source);
    let is_local = subject.body.target == LOCAL;
    let brain = context.brain_in(store.clone(), IndexKind::Disk)?;
    let helpers = match how.ask && is_local {
        true => {
            let config = settings(store.as_ref(), workspace)?;
            let (catalog, refused) = (catalog(&context.home)?, BuiltInModels::Refused);
            Assistants::choose(&catalog, store, workspace, &config, refused)?
        }
        false => None,
    };
    let stop = interrupted();
    let found = (targets.find)(&subject.body.target);
    let target_problem = found.err().filter(|_| !is_local).map(|error| error.message);
    let again = match is_local || (how.ask && target_problem.is_none()) {
        true => Some(targets.open(&subject.body.target, &brain, helpers.as_ref(), &stop)?),
        false => None,
    };
    let bar = context.terminal.progress("looking");
    let progress = |done: usize, total: usize| {
        bar.set_length(total as u64);
        advance(&bar, done as u64);
    };
    let means = TriageContext {
        store: store.as_ref(),
        workspace,
        brain: is_local.then_some(&brain),
        again: again.as_deref(),
        trust,
        may_cost: how.ask,
        target_problem,
        progress: &progress,
    };
    let body = run_triage(&means, subject, shows_queries)?;
    bar.finish_and_clear();
    Ok(body)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use gbrain_core::suite::report::InconclusiveReason;
    use gbrain_core::triage::{FailureCause, MissingPage, MitigationContext, Rerun, mitigation};

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
        let page = |page: &str, is_deleted: bool| MissingPage {
            page: page.to_owned(),
            is_deleted,
            query: Some("who is there".to_owned()),
        };
        let lost = [page("wiki::a b", false), page("gone", true)];
        let reasons: [&[InconclusiveReason]; 3] =
            [&[], &[InconclusiveReason::NoQueries], &[InconclusiveReason::NoCalibration]];
        let suite = Rerun { name: "weekly", target: None };
        for class in FailureCause::ALL {
            for (target, is_other_model) in [(LOCAL, false), (LOCAL, true), ("prod", false)] {
                for (reasons, lost) in reasons.iter().flat_map(|one| [(one, &lost[..]), (one, &[])])
                {
                    let remedy = MitigationContext {
                        workspace: "team-a",
                        run: 12,
                        suite,
                        smoke: Some(Rerun { name: "smoke", target: Some("other") }),
                        target,
                        is_target_unknown: is_other_model,
                        is_other_model,
                        reasons,
                        lost,
                    };
                    for command in mitigation(*class, &remedy).commands {
                        let has_blank =
                            ["QUERY", "PAGE", "SLUG"].iter().any(|one| command.contains(one));
                        assert!(!has_blank, "{command}: it can't be pasted");
                        let parsed = Args::try_parse_from(words(&command));
                        let is_help = parsed.as_ref().is_err_and(|error| {
                            error.kind() == clap::error::ErrorKind::DisplayHelp
                        });
                        assert!(parsed.is_ok() || is_help, "{command}: {:?}", parsed.err());
                    }
                }
            }
        }
    }
}
