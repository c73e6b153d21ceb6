//! Annotations for GitHub workflow runs.
//!
//! Guarantees: one command per line and at most ten of each kind, which is GitHub's limit per step;
//! the tenth states how many were omitted.

use crate::gate::{GateParts, Verdict};
use crate::suite::SuiteRun;

use super::escape::{annotation, annotation_property, visible};
use super::headline::{breach, breaches, checks, undecided, warnings, why, word};
use super::{Queries, suite};

/// Maximum number of annotations of one kind.
const SHOWN: usize = 10;
/// Maximum length of a message, in characters.
const MESSAGE: usize = 1_000;

/// The annotations of a gate.
pub fn gate(parts: &GateParts<'_>, queries: Queries) -> String {
    let mut text = String::new();
    let title = format!("gbrain eval gate: {}", word(parts.verdict));
    match parts.verdict {
        Verdict::Pass => text.push_str(&command("notice", &title, &why(parts))),
        Verdict::Fail | Verdict::Inconclusive => {
            text.push_str(&commands("error", &title, &errors(parts, queries)));
        }
    }
    let warnings: Vec<String> = warnings(parts).cloned().collect();
    text.push_str(&commands("warning", "gbrain eval gate", &warnings));
    text
}

/// The annotations of a suite run. Contains no queries, so it can be shared.
pub fn suite(run: &SuiteRun) -> String {
    let title = format!("gbrain suites run {}: {}", run.suite, suite::word(run.verdict));
    if run.verdict == Verdict::Pass {
        let mut text = command("notice", &title, &suite::headline(run));
        text.push_str(&commands("warning", &title, &suite::why(run)));
        return text;
    }
    let mut errors = suite::why(run);
    // There is always at least one error unless the run passes.
    errors.insert(0, suite::headline(run));
    commands("error", &title, &errors)
}

fn errors(parts: &GateParts<'_>, queries: Queries) -> Vec<String> {
    let with_example = |one: &crate::gate::Breach| match (queries, one.examples.first()) {
        (Queries::Shown, Some(example)) => format!("{}: {example}", breach(one)),
        (_, _) => breach(one),
    };
    let mut errors: Vec<String> = breaches(parts).map(with_example).collect();
    errors.extend(checks(parts).filter_map(undecided));
    // There is always at least one error unless the run passes.
    if errors.is_empty() {
        errors.push(why(parts));
    }
    errors
}

fn commands(kind: &str, title: &str, messages: &[String]) -> String {
    if messages.len() <= SHOWN {
        return messages.iter().map(|message| command(kind, title, message)).collect();
    }
    let (shown, left) = messages.split_at(SHOWN - 1);
    let mut text: String = shown.iter().map(|message| command(kind, title, message)).collect();
    text.push_str(&command(kind, title, &format!("{} more not shown", left.len())));
    text
}

fn command(kind: &str, title: &str, message: &str) -> String {
    let message = annotation(&visible(message, MESSAGE));
    format!("::{kind} title={}::{message}\n", annotation_property(title))
}
