//! Checks of serving: the token key exists, and a worker runs the queued jobs.

use gbrain_core::job::JobState;
use gbrain_store::{Engine, JobFilter, JobInfo, Store, StoreError};

use super::finding::{DoctorCheck, unknown};
use crate::commands::CommandContext;
use crate::serving::{ROLE_REMEDY, key_path, token_key};

/// A job that waited this long has no worker.
const WAITED_SECONDS: i64 = 600;
/// Jobs that are looked at.
const LOOKED_AT: usize = 200;

/// Checks tokens and jobs.
pub(super) fn check(context: &CommandContext<'_>, store: &Store) -> Vec<DoctorCheck> {
    let jobs = jobs(context, store).unwrap_or_else(|error| unknown("jobs", error));
    vec![tokens(context, store), jobs, row_security(store)]
}

/// Row-level security is what keeps workspaces apart if a statement of ours forgets to.
fn row_security(store: &Store) -> DoctorCheck {
    match store.role_without_row_security() {
        Err(error) => unknown("row_security", error),
        Ok(Some(role)) => {
            DoctorCheck::warn("row_security", format!("it does not hold the role {role}"))
                .remedy(ROLE_REMEDY)
        }
        Ok(None) if store.engine() == Engine::Sqlite => {
            DoctorCheck::ok("row_security", "sqlite has no roles: do not share the file")
        }
        Ok(None) => DoctorCheck::ok("row_security", "holds the role of this connection"),
    }
}

fn tokens(context: &CommandContext<'_>, store: &Store) -> DoctorCheck {
    let tokens = match store.tokens(&context.home.workspace) {
        Ok(tokens) => tokens,
        Err(error) => return unknown("tokens", error),
    };
    let live = tokens.iter().filter(|token| token.is_live(context.now)).count();
    let finding = match token_key(&context.home) {
        Err(error) => unknown("tokens", error),
        Ok(None) if live > 0 => DoctorCheck::warn(
            "tokens",
            format!("{live} live, but no key here: a server on this machine rejects every token"),
        )
        .remedy(format!(
            "bring {} from the machine on which they were made, or set GBRAIN_TOKEN_KEY",
            key_path(&context.home).display()
        )),
        Ok(_) if live == 0 => DoctorCheck::ok("tokens", "none: only this machine is served"),
        Ok(_) => DoctorCheck::ok("tokens", format!("{live} live")),
    };
    finding.detail("live", live).detail("all", tokens.len())
}

fn jobs(context: &CommandContext<'_>, store: &Store) -> Result<DoctorCheck, StoreError> {
    let ws = &context.home.workspace;
    let of = |state| JobFilter { state: Some(state), ..JobFilter::default() };
    let now = context.now.as_second();
    let waiting: Vec<JobInfo> = store.jobs(ws, &of(JobState::Queued), LOOKED_AT)?;
    let running = store.jobs(ws, &of(JobState::Running), LOOKED_AT)?;
    let failed: Vec<JobInfo> = store
        .jobs(ws, &of(JobState::Failed), LOOKED_AT)?
        .into_iter()
        .filter(|job| job.finished_at.is_some_and(|at| now - at.as_second() < 86_400))
        .collect();
    let stuck = |job: &&JobInfo| now - job.run_after.as_second() > WAITED_SECONDS;
    let message = format!("{} waiting, {} running", waiting.len(), running.len());
    let finding = if let Some(job) = waiting.iter().find(stuck) {
        DoctorCheck::warn("jobs", format!("{message}; job {} waits for a worker", job.id))
            .remedy("gbrain worker, or gbrain serve")
    } else if let Some(job) = failed.first() {
        let message = format!("{message}; {} failed in the last 24 h", failed.len());
        DoctorCheck::warn("jobs", message).remedy(format!("gbrain jobs show {}", job.id))
    } else {
        DoctorCheck::ok("jobs", message)
    };
    Ok(finding
        .detail("queued", waiting.len())
        .detail("running", running.len())
        .detail("failed_last_24h", failed.len()))
}
