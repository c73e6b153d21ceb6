//! Suites: whether the last run of each passed.

use gbrain_core::format::suite::SuiteInfo;
use gbrain_core::gate::Verdict;
use gbrain_eval::suite::wire;
use gbrain_store::{Store, StoreError};

use super::finding::{DoctorCheck, unknown};
use crate::commands::CommandContext;

const CHECK: &str = "suites";

/// Checks the last run of every suite that is registered.
pub(super) fn check(context: &CommandContext<'_>, store: &Store) -> DoctorCheck {
    inspect(context, store).unwrap_or_else(|error| unknown(CHECK, error))
}

fn inspect(context: &CommandContext<'_>, store: &Store) -> Result<DoctorCheck, StoreError> {
    let suites = wire::suites(store, &context.home.workspace, None, context.now)?;
    let of = |verdict: Verdict| {
        let is_it =
            |one: &&SuiteInfo| one.last_run.as_ref().is_some_and(|run| run.verdict == verdict);
        suites.iter().filter(is_it).collect::<Vec<_>>()
    };
    let (failed, doubtful) = (of(Verdict::Fail), of(Verdict::Inconclusive));
    let names = |suites: &[&SuiteInfo]| {
        suites.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let count = suites.len();
    let run = failed.first().or(doubtful.first()).and_then(|one| one.last_run.as_ref());
    let finding = match (failed.is_empty(), doubtful.is_empty()) {
        (true, true) => DoctorCheck::ok(CHECK, format!("{count} registered, no last run failed")),
        (false, _) => {
            DoctorCheck::warn(CHECK, format!("the last run failed of: {}", names(&failed)))
        }
        (true, false) => DoctorCheck::warn(
            CHECK,
            format!("the last run gave no verdict of: {}", names(&doubtful)),
        ),
    };
    let finding = match run {
        Some(run) => finding.remedy(format!("gbrain triage {}", run.id)),
        None => finding,
    };
    Ok(finding
        .detail("registered", count)
        .detail("failed", failed.len())
        .detail("without_verdict", doubtful.len()))
}
