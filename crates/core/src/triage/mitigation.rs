//! What to do about a class, as the playbook says, in commands.

use super::Class;
use crate::target::LOCAL;

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mitigation {
    /// In a sentence.
    pub advice: &'static str,
    /// What to paste, in order.
    pub commands: Vec<String>,
}

/// Where something is to be done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Remedy<'a> {
    /// The workspace.
    pub workspace: &'a str,
    /// The suite that failed.
    pub suite: &'a str,
    /// The suite that is run after something was mended; none where there is none for that.
    pub smoke: Option<&'a str>,
    /// Who was asked.
    pub target: &'a str,
    /// Whether the index holds vectors of another model than the one that is wanted.
    pub is_other_model: bool,
    /// Something that should have been found, as a page.
    pub page: Option<&'a str>,
}

/// What to do about a class.
pub fn mitigation(class: Class, remedy: &Remedy<'_>) -> Mitigation {
    let Remedy { workspace, suite, smoke, target, is_other_model, page } = *remedy;
    let is_local = target == LOCAL;
    let own = |command: &str| format!("gbrain --workspace {workspace} {command}");
    let run = |suite: &str| own(&format!("suites run {suite}"));
    let check = || own(&format!("targets check {target}"));
    let smoke = smoke.unwrap_or(suite);
    let (advice, commands) = match class {
        Class::EmbeddingDrift if !is_local => (
            "have the target make its vectors again, then see whether the measures come back",
            vec![check(), run(suite)],
        ),
        Class::EmbeddingDrift if is_other_model => (
            "move the vectors to the model that is wanted, then see whether the measures come back",
            vec![own("reembed --status"), own("reembed"), run(suite)],
        ),
        Class::EmbeddingDrift => (
            "make the vectors again, then see whether the measures come back",
            vec![own("reindex --verify"), own("reindex"), run(suite)],
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
        Class::PipelineBug if !is_local => (
            "look at what the target took in, roll back or mend it, then run the smoke suite",
            vec![check(), run(smoke)],
        ),
        Class::PipelineBug => (
            "look at what was taken in, roll back or mend it, then run the smoke suite",
            [own("doctor --deep"), own("reindex --verify")]
                .into_iter()
                .chain(page.map(|page| own(&format!("history {}", quoted(page)))))
                .chain([run(smoke)])
                .collect(),
        ),
        Class::Infrastructure => (
            "follow the runbook of the part that did not answer, then run the suite",
            vec![check(), own("doctor"), run(suite)],
        ),
        Class::Ranking if !is_local => (
            "see what is ranked before it; replay before the target's settings are changed",
            vec![check(), own(&format!("eval replay --against captured.ndjson --target {target}"))],
        ),
        Class::Ranking => (
            "see which stage put others before it; replay before the settings are changed",
            vec![
                own(&format!(
                    "query 'QUERY' --explain --why-not {}",
                    quoted(page.unwrap_or("SLUG"))
                )),
                own("eval replay --against captured.ndjson --blame"),
            ],
        ),
        Class::Unknown => (
            "look at the case by hand, and let the target tell what its stages found",
            vec![check(), run(suite)],
        ),
    };
    Mitigation { advice, commands }
}

/// One word of a shell, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_commands() {
        for class in Class::ALL {
            for target in [LOCAL, "prod"] {
                let remedy =
                    Remedy { workspace: "team-a", suite: "weekly", target, ..Remedy::default() };
                let found = mitigation(*class, &remedy);
                assert!(!found.commands.is_empty() && !found.advice.is_empty());
                let is_own = |one: &String| one.starts_with("gbrain --workspace team-a ");
                assert!(found.commands.iter().all(is_own), "{found:?}");
            }
        }
    }

    #[test]
    fn a_page_is_named_where_one_is_known() {
        let remedy = Remedy {
            target: LOCAL,
            page: Some("wiki::a'b"),
            smoke: Some("quick"),
            ..Remedy::default()
        };
        let commands = mitigation(Class::PipelineBug, &remedy).commands.join("\n");
        assert!(
            commands.contains(r"history 'wiki::a'\''b'") && commands.contains("suites run quick")
        );
    }
}
