//! The store and what is derived from it.

use gbrain_brain::{Brain, BrainError};

use super::DoctorArgs;
use super::finding::{DoctorCheck, unknown};
use super::remote::EmbedderState;
use crate::commands::CommandContext;
use crate::terminal::count;

/// Checks store, index, embedder and settings.
pub(super) fn check(
    context: &CommandContext<'_>,
    brain: &Brain,
    args: &DoctorArgs,
    remote: Option<&EmbedderState>,
) -> Vec<DoctorCheck> {
    let engine = brain.store().engine();
    let mut findings = vec![
        DoctorCheck::ok("schema", format!("{engine}, up to date"))
            .detail("engine", engine.name())
            .detail("from", context.home.location_origin.to_string()),
    ];
    findings.push(unless_broken("index", index(brain, args.fix, remote)));
    if args.deep {
        findings.push(unless_broken("verify", verify(context, brain)));
    }
    findings.push(unless_broken("embedder", embedder(brain, remote)));
    findings.push(unless_broken("settings", settings(context, brain)));
    findings
}

/// A check that can't run has the status unknown.
fn unless_broken(check: &'static str, found: Result<DoctorCheck, BrainError>) -> DoctorCheck {
    found.unwrap_or_else(|error| unknown(check, error))
}

fn index(
    brain: &Brain,
    fix: bool,
    remote: Option<&EmbedderState>,
) -> Result<DoctorCheck, BrainError> {
    let head = brain.store().head(brain.workspace())?;
    if fix {
        brain.snapshot(&|_, _| ())?;
    }
    let report = brain.index_report()?;
    let behind = head.generation.0 - report.generation;
    let outage = remote.and_then(|remote| remote.problem.as_ref());
    let lag = format!("{} behind the store", count(behind, "change", "changes"));
    let finding = match behind {
        1.. if outage.is_some() && report.generation == 0 => {
            let message = format!("empty, {lag}: the embedder does not answer");
            DoctorCheck::fail("index", message).remedy(EMBEDDER_REMEDY)
        }
        1.. if outage.is_some() => {
            let message = format!("{lag}: the embedder does not answer");
            DoctorCheck::warn("index", message).remedy(EMBEDDER_REMEDY)
        }
        1.. if fix => DoctorCheck::warn("index", lag)
            .remedy("gbrain reindex says what keeps it from catching up"),
        0 => DoctorCheck::ok("index", format!("at generation {}", report.generation)),
        1.. => DoctorCheck::ok("index", lag)
            .remedy("the next question catches up; or now: gbrain doctor --fix"),
        _ => DoctorCheck::fail("index", "ahead of the store: it was put back from a backup")
            .remedy("gbrain reindex"),
    };
    Ok(finding
        .detail("generation", report.generation)
        .detail("head", head.generation.0)
        .detail("bytes", report.bytes)
        .detail("pages", head.pages)
        .detail("chunks", head.chunks))
}

fn verify(context: &CommandContext<'_>, brain: &Brain) -> Result<DoctorCheck, BrainError> {
    let progress = context.terminal.indexing();
    let report = brain.verify(&|done, total| progress(done, total))?;
    Ok(match report.findings.first() {
        None => DoctorCheck::ok("verify", format!("{} pages are as in the store", report.pages)),
        Some(first) => {
            let n = report.findings.len();
            DoctorCheck::fail(
                "verify",
                format!("{n} findings, first: {}: {}", first.check, first.detail),
            )
            .remedy("gbrain reindex, then gbrain reindex --verify")
        }
    })
}

/// The remedy while the embedder is down: queries and pages wait for it.
const EMBEDDER_REMEDY: &str = "gbrain query answers from what is indexed and catches up by itself; for the built-in \
    model instead, remove `embedder` from config.json and run gbrain reembed";

fn embedder(brain: &Brain, remote: Option<&EmbedderState>) -> Result<DoctorCheck, BrainError> {
    let report = brain.vector_report()?;
    let held = report.held.clone().unwrap_or_else(|| "none".to_owned());
    let problem = remote.and_then(|state| Some((&state.model, state.problem.as_ref()?)));
    let finding = if let Some((model, error)) = problem {
        DoctorCheck::warn("embedder", format!("{model} does not answer: {error}"))
            .remedy(EMBEDDER_REMEDY)
    } else if report.is_settled() {
        DoctorCheck::ok("embedder", held.clone())
    } else if report.is_searchable {
        let wanted = report.wanted.clone().unwrap_or_default();
        DoctorCheck::warn("embedder", format!("vectors of {held} are searched, {wanted} is wanted"))
            .remedy("gbrain reembed")
    } else {
        DoctorCheck::warn(
            "embedder",
            format!("this gbrain does not have {held}: words alone answer"),
        )
        .remedy("gbrain reembed")
    };
    Ok(finding.detail("held", report.held).detail("wanted", report.wanted))
}

fn settings(context: &CommandContext<'_>, brain: &Brain) -> Result<DoctorCheck, BrainError> {
    let hash = brain.settings()?.hash();
    let unknown = brain.unknown_settings()?;
    let finding = match (unknown.first(), context.home.warnings.first()) {
        (Some(key), _) => {
            DoctorCheck::warn("settings", format!("`{key}` in the database is read by nothing"))
                .remedy(format!("gbrain config unset {key}"))
        }
        (None, Some(warning)) => DoctorCheck::warn("settings", warning.clone())
            .remedy(format!("take the key out of {}", context.home.config_path().display())),
        (None, None) => DoctorCheck::ok("settings", format!("hash {hash}")),
    };
    Ok(finding.detail("settings_hash", hash))
}
