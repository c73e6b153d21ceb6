//! The playbook's mitigation for each failure class, as commands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FailureCause;
use crate::suite::report::InconclusiveReason;
use crate::target::LOCAL;

/// Maximum number of pages with a command of their own.
const NAMED: usize = 5;

/// Advice for a failure class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mitigation {
    pub advice: String,
    // Commands to run, in order.
    pub commands: Vec<String>,
}

/// A suite to run again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rerun<'a> {
    pub name: &'a str,
    /// The suite's own target; none if unknown.
    pub target: Option<&'a str>,
}

/// An expected page that was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPage {
    pub page: String,
    pub is_deleted: bool,
    /// The query text, if the reader may see it.
    pub query: Option<String>,
}

/// The context that commands are built for.
#[derive(Debug, Clone, Copy, Default)]
pub struct MitigationContext<'a> {
    pub workspace: &'a str,
    /// Id of the run.
    pub run: i64,
    pub suite: Rerun<'a>,
    /// The suite to run after a fix, if there is one.
    pub smoke: Option<Rerun<'a>>,
    pub target: &'a str,
    /// Whether the target is not configured here.
    pub is_target_unknown: bool,
    /// Whether the index contains vectors of another model than the configured one.
    pub is_other_model: bool,
    /// Why the run is inconclusive.
    pub reasons: &'a [InconclusiveReason],
    /// Expected pages that were not found.
    pub lost: &'a [MissingPage],
}

impl MitigationContext<'_> {
    fn own(&self, command: &str) -> String {
        format!("gbrain --workspace {} {command}", self.workspace)
    }

    /// A command that runs a suite against the target of the failed run.
    fn run(&self, suite: Rerun<'_>) -> String {
        let own = suite.target.unwrap_or(LOCAL);
        match self.target == own || self.target.is_empty() {
            true => self.own(&format!("suites run {}", suite.name)),
            false => {
                let target = shell_word(self.target);
                self.own(&format!("suites run {} --target {target}", suite.name))
            }
        }
    }

    fn check(&self) -> String {
        match self.is_target_unknown {
            true => self.own("targets list"),
            false => self.own(&format!("targets check {}", shell_word(self.target))),
        }
    }

    /// One command per page, up to the maximum.
    fn each(&self, command: impl Fn(&MissingPage) -> String) -> Vec<String> {
        let mut commands: Vec<String> = Vec::new();
        for command in self.lost.iter().map(|lost| self.own(&command(lost))) {
            if commands.len() < NAMED && !commands.contains(&command) {
                commands.push(command);
            }
        }
        commands
    }
}

/// The mitigation for a class.
pub fn mitigation(class: FailureCause, remedy: &MitigationContext<'_>) -> Mitigation {
    let (advice, commands) = match of_reasons(class, remedy) {
        Some(found) => found,
        None => of_class(class, remedy),
    };
    let mut pages: Vec<&str> = remedy.lost.iter().map(|one| one.page.as_str()).collect();
    pages.sort_unstable();
    pages.dedup();
    let is_cut = remedy.target == LOCAL
        && matches!(class, FailureCause::PipelineBug | FailureCause::Ranking);
    let more = match pages.len().saturating_sub(NAMED) {
        more if more > 0 && is_cut => format!(" (and {more} more page(s))"),
        _ => String::new(),
    };
    Mitigation { advice: format!("{advice}{more}"), commands }
}

/// The mitigation for an inconclusive run.
fn of_reasons(
    class: FailureCause,
    remedy: &MitigationContext<'_>,
) -> Option<(&'static str, Vec<String>)> {
    let has = |reason: InconclusiveReason| remedy.reasons.contains(&reason);
    let own = |command: &str| remedy.own(command);
    match class {
        FailureCause::Infrastructure if remedy.is_target_unknown => Some((
            "the target is not configured or not usable: configure it in config.json or in the suites file \
             (docs/targets.md), then run the suite",
            vec![own("targets list"), remedy.run(remedy.suite)],
        )),
        FailureCause::Unknown
            if has(InconclusiveReason::NoQueries) || has(InconclusiveReason::SampleTooSmall) =>
        {
            Some((
                "add queries with expected results, then run the suite",
                vec![
                    own("queries list"),
                    own("queries promote"),
                    own("queries import --help"),
                    remedy.run(remedy.suite),
                ],
            ))
        }
        FailureCause::Threshold
            if has(InconclusiveReason::NoCalibration) && remedy.lost.is_empty() =>
        {
            Some((
                "choose a reranker if there is none, collect pairs and calibrate, then run the suite",
                vec![
                    own("config set models.rerank voyage:rerank-2.5"),
                    own("calibrate collect"),
                    own("calibrate score"),
                    own("calibrate deploy"),
                    remedy.run(remedy.suite),
                ],
            ))
        }
        _ => None,
    }
}

fn of_class(class: FailureCause, remedy: &MitigationContext<'_>) -> (&'static str, Vec<String>) {
    let is_local = remedy.target == LOCAL;
    let own = |command: &str| remedy.own(command);
    let run = || remedy.run(remedy.suite);
    let smoke = || remedy.run(remedy.smoke.unwrap_or(remedy.suite));
    let check = || remedy.check();
    match class {
        FailureCause::EmbeddingDrift if !is_local => (
            "re-embed the documents on the target, then check whether the measures recover",
            vec![check(), run()],
        ),
        FailureCause::EmbeddingDrift if remedy.is_other_model => (
            "re-embed with the configured model, then check whether the measures recover",
            vec![own("reembed --status"), own("reembed"), run()],
        ),
        FailureCause::EmbeddingDrift => (
            "rebuild the vectors, then check whether the measures recover",
            vec![own("reindex --verify"), own("reindex"), run()],
        ),
        FailureCause::Threshold => (
            "score the borderline pairs again and set a threshold that keeps recall, then run the suite",
            vec![own("calibrate score"), own("calibrate verify"), own("calibrate deploy"), run()],
        ),
        FailureCause::PipelineBug if !is_local => (
            "inspect the target's recent imports, roll back or repair them, then run the smoke suite",
            vec![check(), smoke()],
        ),
        FailureCause::PipelineBug => (
            "inspect recent imports, roll back or repair them, then run the smoke suite",
            [own("doctor --deep"), own("reindex --verify")]
                .into_iter()
                .chain(remedy.each(|MissingPage { page, is_deleted, query: _ }| {
                    let verb = if *is_deleted { "restore" } else { "history" };
                    format!("{verb} {}", quoted(page))
                }))
                .chain([smoke()])
                .collect(),
        ),
        FailureCause::Infrastructure => (
            "follow the runbook of the component that did not answer, then run the suite",
            vec![check(), own("doctor"), run()],
        ),
        FailureCause::Ranking if !is_local => (
            "inspect the results ranked above it; replay before you change the target's settings",
            vec![
                check(),
                own("eval export --output captured.ndjson"),
                own(&format!(
                    "eval replay --against captured.ndjson --target {}",
                    shell_word(remedy.target)
                )),
            ],
        ),
        FailureCause::Ranking => (
            "find the stage that ranked others above it; replay before you change settings",
            ranked(remedy)
                .into_iter()
                .chain([
                    own("eval export --output captured.ndjson"),
                    own("eval replay --against captured.ndjson --blame"),
                ])
                .collect(),
        ),
        FailureCause::Unknown => (
            "inspect the case by hand, and configure the target to report stage details",
            vec![check(), run()],
        ),
    }
}

/// Commands that explain the ranks of pages.
fn ranked(remedy: &MitigationContext<'_>) -> Vec<String> {
    // Without permission to show the query text, suggest the command that prints it.
    let with_texts = format!("triage {} --show-queries", remedy.run);
    match remedy.lost.is_empty() {
        true => vec![remedy.own(&with_texts)],
        false => remedy.each(|MissingPage { page, query, is_deleted: _ }| match query {
            Some(query) => {
                format!("query {} --explain --why-not {}", quoted(query), quoted(page))
            }
            None => with_texts.clone(),
        }),
    }
}

/// A name, quoted for a shell if needed.
pub fn shell_word(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// A text as one quoted shell word.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remedy() -> MitigationContext<'static> {
        let suite = Rerun { name: "weekly", target: Some(LOCAL) };
        MitigationContext {
            workspace: "team-a",
            run: 12,
            suite,
            target: LOCAL,
            ..MitigationContext::default()
        }
    }

    fn lost(page: &str, is_deleted: bool, query: Option<&str>) -> MissingPage {
        MissingPage { page: page.to_owned(), is_deleted, query: query.map(str::to_owned) }
    }

    #[test]
    fn every_class_has_commands() {
        for class in FailureCause::ALL {
            for target in [LOCAL, "prod"] {
                let found = mitigation(*class, &MitigationContext { target, ..remedy() });
                assert!(!found.commands.is_empty() && !found.advice.is_empty());
                let is_own = |one: &String| one.starts_with("gbrain --workspace team-a ");
                assert!(found.commands.iter().all(is_own), "{found:?}");
                let has_blank =
                    |one: &String| ["QUERY", "SLUG", "PAGE"].iter().any(|word| one.contains(word));
                assert!(!found.commands.iter().any(has_blank), "{found:?}");
            }
        }
    }

    #[test]
    fn missing_pages_get_commands_up_to_the_maximum() {
        let pages: Vec<MissingPage> =
            (0..7).map(|at| lost(&format!("n{at}"), at == 1, None)).collect();
        let smoke = Some(Rerun { name: "quick", target: None });
        let found = mitigation(
            FailureCause::PipelineBug,
            &MitigationContext { lost: &pages, smoke, ..remedy() },
        );
        let commands = found.commands.join("\n");
        assert!(
            commands.contains("history 'n0'") && commands.contains("restore 'n1'"),
            "{commands}"
        );
        assert!(commands.contains("'n4'") && !commands.contains("'n5'"), "{commands}");
        assert!(found.advice.ends_with("(and 2 more page(s))"), "{found:?}");
        assert!(commands.ends_with("suites run quick"), "{commands}");
    }

    #[test]
    fn queries_are_quoted_for_a_shell() {
        let pages = [lost("wiki::a'b", false, Some("who's there?")), lost("c", false, None)];
        let found =
            mitigation(FailureCause::Ranking, &MitigationContext { lost: &pages, ..remedy() });
        assert!(
            found.commands[0]
                .ends_with(r"query 'who'\''s there?' --explain --why-not 'wiki::a'\''b'"),
            "{found:?}"
        );
        assert!(found.commands[1].ends_with("triage 12 --show-queries"), "{found:?}");
    }

    #[test]
    fn a_rerun_uses_the_same_target() {
        let last = |remedy: &MitigationContext<'_>| {
            mitigation(FailureCause::Infrastructure, remedy).commands.last().unwrap().clone()
        };
        assert!(last(&remedy()).ends_with("suites run weekly"));
        let staging = MitigationContext { target: "staging", ..remedy() };
        assert!(last(&staging).ends_with("suites run weekly --target staging"));
        let suite = Rerun { name: "weekly", target: Some("staging") };
        assert!(last(&MitigationContext { suite, ..staging }).ends_with("suites run weekly"));
    }

    #[test]
    fn inconclusive_runs_get_their_own_commands() {
        let check = |class, remedy: &MitigationContext<'_>, expected: &str| {
            let commands = mitigation(class, remedy).commands.join("\n");
            assert!(commands.contains(expected), "{commands}");
        };
        let reasons = |reasons| MitigationContext { reasons, ..remedy() };
        check(FailureCause::Unknown, &reasons(&[InconclusiveReason::NoQueries]), "queries import");
        check(
            FailureCause::Unknown,
            &reasons(&[InconclusiveReason::SampleTooSmall]),
            "queries promote",
        );
        check(
            FailureCause::Threshold,
            &reasons(&[InconclusiveReason::NoCalibration]),
            "config set models.rerank",
        );
        check(
            FailureCause::Threshold,
            &reasons(&[InconclusiveReason::NoCalibration]),
            "calibrate collect",
        );
        let unknown = MitigationContext { target: "gone", is_target_unknown: true, ..remedy() };
        check(FailureCause::Infrastructure, &unknown, "targets list");
        let advice = mitigation(FailureCause::Infrastructure, &unknown).advice;
        assert!(advice.starts_with("the target is not configured"), "{advice}");
    }
}
