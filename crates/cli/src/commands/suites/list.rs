//! `gbrain suites list`: lists suites and their last runs.

use gbrain_core::format::suite::{SuiteInfo, SuitesBody};
use gbrain_eval::suite::wire;

use super::SuiteSource;
use super::file::take_over;
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::table;

pub(super) fn run(context: &CommandContext<'_>, source: &SuiteSource) -> Result<Exit, CliError> {
    let store = context.store()?;
    // Where there is no file any more, nothing is in it.
    let file = source.read()?.unwrap_or_default();
    let suites = wire::suites(&store, &context.home.workspace, Some(&file), context.now)?;
    if context.terminal.is_json() {
        context.terminal.json(&SuitesBody { suites });
    } else if suites.is_empty() {
        context
            .terminal
            .remark("there are no suites; `gbrain suites create --help` shows how to make one");
    } else {
        let head = ["NAME", "TYPE", "TARGET", "TRIGGERS", "ON", "LAST RUN"];
        context.terminal.out_paged(table(&head, suites.iter().map(row)));
        for (suite, drift) in suites.iter().filter_map(|one| Some((one, one.drift?))) {
            let SuiteInfo { name, enabled, .. } = suite;
            let what = take_over(name, drift, *enabled);
            let path = source.path.display();
            context.terminal.remark(format!("{name}: {} ({path}); {what}", drift.in_words()));
        }
    }
    Ok(Exit::Pass)
}

fn row(suite: &SuiteInfo) -> Vec<String> {
    let on = match (suite.registered, suite.enabled) {
        (_, true) => "on",
        (true, false) => "off",
        (false, false) => "not registered",
    };
    let last = match (&suite.problem, &suite.last_run) {
        (Some(problem), _) => format!("broken: {problem}"),
        (None, Some(run)) => {
            let smaller = run.sample.as_ref().and_then(|sample| sample.smaller());
            let smaller = smaller.map(|remark| format!(", {remark}")).unwrap_or_default();
            format!("{} {} (run {}){smaller}", run.verdict, run.finished_at, run.id)
        }
        (None, None) => "never".to_owned(),
    };
    let on = match suite.drift {
        Some(drift) => format!("{on}, {}", drift.in_words()),
        None => on.to_owned(),
    };
    vec![
        suite.name.clone(),
        suite.kind.to_string(),
        suite.target.clone(),
        suite.triggers.join(", "),
        on,
        last,
    ]
}
