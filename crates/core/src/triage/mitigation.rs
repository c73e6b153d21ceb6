//! What to do about a class, as the playbook says, in commands.

use super::Class;

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mitigation {
    /// In a sentence.
    pub advice: &'static str,
    /// What to paste, in order.
    pub commands: Vec<String>,
}

/// What to do about a class, for a suite of a workspace.
pub fn mitigation(class: Class, workspace: &str, suite: &str) -> Mitigation {
    let own = |command: &str| format!("gbrain --workspace {workspace} {command}");
    let run = |suite: &str| own(&format!("suites run {suite}"));
    let (advice, commands) = match class {
        Class::EmbeddingDrift => (
            "make the vectors again, then see whether the measures come back",
            vec![own("reembed"), run(suite)],
        ),
        Class::Threshold => (
            "score the borderline pairs again and set a threshold that keeps recall, then run the suite",
            vec![
                own("calibrate score"),
                own("calibrate verify"),
                own("calibrate deploy"),
                run(suite),
            ],
        ),
        Class::PipelineBug => (
            "look at what was taken in, roll back or mend it, then run the smoke suite",
            vec![own("doctor --deep"), own("reindex --verify"), run("smoke")],
        ),
        Class::Infrastructure => (
            "follow the runbook of the part that did not answer, then run the suite",
            vec![own("targets check"), own("doctor"), run(suite)],
        ),
        Class::Ranking => (
            "see which stage put others before it; replay before the settings are changed",
            vec![
                own("query \"...\" --explain --why-not SLUG"),
                own("eval replay --against captured.ndjson --blame"),
            ],
        ),
        Class::Unknown => (
            "look at the case by hand, and let the target tell what its stages found",
            vec![own("targets check"), run(suite)],
        ),
    };
    Mitigation { advice, commands }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_commands() {
        for class in Class::ALL {
            let found = mitigation(*class, "team-a", "weekly");
            assert!(!found.commands.is_empty() && !found.advice.is_empty());
            assert!(found.commands.iter().all(|one| one.starts_with("gbrain --workspace team-a ")));
        }
    }
}
