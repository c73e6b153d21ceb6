//! Checks the messages that arrived: complete, identical under one id, and in order per key.

use std::collections::BTreeMap;

use anyhow::Result;
use gbrain_core::alert::verify_signature;
use gbrain_core::id::WorkspaceId;
use gbrain_store::Store;
use gbrain_testkit::receivers::ReceivedMessage;

use super::Report;
use crate::campaign::violations::Violations;

/// Counts what arrived, and adds what is wrong with it.
pub(super) fn check(
    taken: &[ReceivedMessage],
    suites: usize,
    rounds: usize,
    secret: &str,
    violations: &Violations,
    report: &mut Report,
) {
    let (hooks, pages): (Vec<&ReceivedMessage>, Vec<&ReceivedMessage>) =
        taken.iter().partition(|one| one.path.starts_with("/hook"));
    of_hook(&hooks, suites * rounds, secret, violations, report);
    of_pager(&pages, suites, rounds, violations, report);
}

fn of_hook(
    taken: &[&ReceivedMessage],
    expected: usize,
    secret: &str,
    violations: &Violations,
    report: &mut Report,
) {
    let mut texts: BTreeMap<&str, &str> = BTreeMap::new();
    let mut last: BTreeMap<&str, i64> = BTreeMap::new();
    for one in taken {
        let name = one.header("x-gbrain-delivery");
        let key = one.body["dedup_key"].as_str().unwrap_or_default();
        if verify_signature(secret, one.header("x-gbrain-signature"), one.text.as_bytes()).is_none()
        {
            violations.add(format!("{name} is not verify_signature as it should be"));
        }
        match texts.insert(name, &one.text) {
            None => report.arrived += 1,
            Some(before) => {
                report.again += 1;
                if before != one.text {
                    violations.add(format!("{name} came again as something else"));
                }
            }
        }
        let Some(number) = name.split('-').nth(1).and_then(|number| number.parse().ok()) else {
            violations.add(format!("{name:?} is no name of a message"));
            continue;
        };
        if last.insert(key, number).is_some_and(|before| before > number) {
            violations.add(format!("message {number} of {key} came too late"));
        }
    }
    if texts.len() != expected {
        violations.add(format!("{} of {expected} messages arrived at the webhook", texts.len()));
    }
}

/// Events have no names of their own: of every key they begin and end in turn, as often as runs did.
fn of_pager(
    taken: &[&ReceivedMessage],
    suites: usize,
    rounds: usize,
    violations: &Violations,
    report: &mut Report,
) {
    let mut by_key: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in taken {
        let key = one.body["dedup_key"].as_str().unwrap_or_default();
        by_key.entry(key).or_default().push(one.body["event_action"].as_str().unwrap_or_default());
    }
    if by_key.len() != suites {
        violations.add(format!("{} of {suites} keys arrived at the pager", by_key.len()));
    }
    for (key, actions) in by_key {
        let mut turns = actions.clone();
        turns.dedup();
        report.arrived += turns.len();
        report.again += actions.len() - turns.len();
        let expected = ["trigger", "resolve"].into_iter().cycle().take(rounds);
        if !turns.iter().copied().eq(expected) {
            violations.add(format!("{key} came as {actions:?}"));
        }
    }
}

/// Everything was sent, and nothing was given up.
pub(super) fn nothing_is_left(store: &Store, violations: &Violations) -> Result<()> {
    let counts = store.delivery_counts(&WorkspaceId::default())?;
    if counts.queued + counts.dead > 0 {
        violations.add(format!("{counts:?} messages are left"));
    }
    Ok(())
}
