//! What to do about a class, as the playbook says, in commands.

use super::Class;
use crate::suite::report::Reason;
use crate::target::LOCAL;

/// So many pages have a command of their own.
const NAMED: usize = 5;

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mitigation {
    pub advice: String,
    /// What to paste, in order.
    pub commands: Vec<String>,
}

/// A suite that can be run again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rerun<'a> {
    pub name: &'a str,
    /// Who it asks by itself; none if nobody here can tell.
    pub target: Option<&'a str>,
}

/// Something that should have been found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    pub page: String,
    /// Whether it was deleted.
    pub is_deleted: bool,
    /// The text of the query, where the reader may see it.
    pub query: Option<String>,
}

/// Where something is to be done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Remedy<'a> {
    pub workspace: &'a str,
    /// The number of the run.
    pub run: i64,
    /// The suite that failed.
    pub suite: Rerun<'a>,
    /// The suite that is run after something was mended; none where there is none for that.
    pub smoke: Option<Rerun<'a>>,
    pub target: &'a str,
    /// Whether nobody describes who was asked.
    pub is_target_unknown: bool,
    /// Whether the index holds vectors of another model than the one that is wanted.
    pub is_other_model: bool,
    /// Why the run does not say enough.
    pub reasons: &'a [Reason],
    /// What should have been found.
    pub lost: &'a [Lost],
}

impl Remedy<'_> {
    fn own(&self, command: &str) -> String {
        format!("gbrain --workspace {} {command}", self.workspace)
    }

    /// A run that asks whom this one asked.
    fn run(&self, suite: Rerun<'_>) -> String {
        let own = suite.target.unwrap_or(LOCAL);
        match self.target == own || self.target.is_empty() {
            true => self.own(&format!("suites run {}", suite.name)),
            false => {
                let target = word(self.target);
                self.own(&format!("suites run {} --target {target}", suite.name))
            }
        }
    }

    fn check(&self) -> String {
        match self.is_target_unknown {
            true => self.own("targets list"),
            false => self.own(&format!("targets check {}", word(self.target))),
        }
    }

    /// A command for each page, as far as there is room.
    fn each(&self, command: impl Fn(&Lost) -> String) -> Vec<String> {
        let mut commands: Vec<String> = Vec::new();
        for command in self.lost.iter().map(|lost| self.own(&command(lost))) {
            if commands.len() < NAMED && !commands.contains(&command) {
                commands.push(command);
            }
        }
        commands
    }
}

/// What to do about a class.
pub fn mitigation(class: Class, remedy: &Remedy<'_>) -> Mitigation {
    let (advice, commands) = match of_reasons(class, remedy) {
        Some(found) => found,
        None => of_class(class, remedy),
    };
    let mut pages: Vec<&str> = remedy.lost.iter().map(|one| one.page.as_str()).collect();
    pages.sort_unstable();
    pages.dedup();
    let is_cut = remedy.target == LOCAL && matches!(class, Class::PipelineBug | Class::Ranking);
    let more = match pages.len().saturating_sub(NAMED) {
        more if more > 0 && is_cut => format!(" (and {more} more page(s), not named here)"),
        _ => String::new(),
    };
    Mitigation { advice: format!("{advice}{more}"), commands }
}

/// What a run asks for that could not measure.
fn of_reasons(class: Class, remedy: &Remedy<'_>) -> Option<(&'static str, Vec<String>)> {
    let has = |reason: Reason| remedy.reasons.contains(&reason);
    let own = |command: &str| remedy.own(command);
    match class {
        Class::Infrastructure if remedy.is_target_unknown => Some((
            "nobody describes the target so that it can be used: describe it in config.json or in the file \
             of suites (docs/targets.md), then run the suite",
            vec![own("targets list"), remedy.run(remedy.suite)],
        )),
        Class::Unknown if has(Reason::NoQueries) || has(Reason::SampleTooSmall) => Some((
            "write down what is to be asked and what must be found, then run the suite",
            vec![
                own("queries list"),
                own("queries promote"),
                own("queries import --help"),
                remedy.run(remedy.suite),
            ],
        )),
        Class::Threshold if has(Reason::NoCalibration) && remedy.lost.is_empty() => Some((
            "choose a reranker if there is none, collect pairs and calibrate, then run the suite",
            vec![
                own("config set models.rerank voyage:rerank-2.5"),
                own("calibrate collect"),
                own("calibrate score"),
                own("calibrate deploy"),
                remedy.run(remedy.suite),
            ],
        )),
        _ => None,
    }
}

fn of_class(class: Class, remedy: &Remedy<'_>) -> (&'static str, Vec<String>) {
    let is_local = remedy.target == LOCAL;
    let own = |command: &str| remedy.own(command);
    let run = || remedy.run(remedy.suite);
    let smoke = || remedy.run(remedy.smoke.unwrap_or(remedy.suite));
    let check = || remedy.check();
    match class {
        Class::EmbeddingDrift if !is_local => (
            "have the target make its vectors again, then see whether the measures come back",
            vec![check(), run()],
        ),
        Class::EmbeddingDrift if remedy.is_other_model => (
            "move the vectors to the model that is wanted, then see whether the measures come back",
            vec![own("reembed --status"), own("reembed"), run()],
        ),
        Class::EmbeddingDrift => (
            "make the vectors again, then see whether the measures come back",
            vec![own("reindex --verify"), own("reindex"), run()],
        ),
        Class::Threshold => (
            "score the borderline pairs again and set a threshold that keeps recall, then run the suite",
            vec![own("calibrate score"), own("calibrate verify"), own("calibrate deploy"), run()],
        ),
        Class::PipelineBug if !is_local => (
            "look at what the target took in, roll back or mend it, then run the smoke suite",
            vec![check(), smoke()],
        ),
        Class::PipelineBug => (
            "look at what was taken in, roll back or mend it, then run the smoke suite",
            [own("doctor --deep"), own("reindex --verify")]
                .into_iter()
                .chain(remedy.each(|Lost { page, is_deleted, query: _ }| {
                    let verb = if *is_deleted { "restore" } else { "history" };
                    format!("{verb} {}", quoted(page))
                }))
                .chain([smoke()])
                .collect(),
        ),
        Class::Infrastructure => (
            "follow the runbook of the part that did not answer, then run the suite",
            vec![check(), own("doctor"), run()],
        ),
        Class::Ranking if !is_local => (
            "see what is ranked before it; replay before the target's settings are changed",
            vec![
                check(),
                own("eval export --output captured.ndjson"),
                own(&format!(
                    "eval replay --against captured.ndjson --target {}",
                    word(remedy.target)
                )),
            ],
        ),
        Class::Ranking => (
            "see which stage put others before it; replay before the settings are changed",
            ranked(remedy)
                .into_iter()
                .chain([
                    own("eval export --output captured.ndjson"),
                    own("eval replay --against captured.ndjson --blame"),
                ])
                .collect(),
        ),
        Class::Unknown => (
            "look at the case by hand, and let the target tell what its stages found",
            vec![check(), run()],
        ),
    }
}

/// What tells why pages are where they are.
fn ranked(remedy: &Remedy<'_>) -> Vec<String> {
    // Without the text of a query, what can be pasted is the command that prints it.
    let with_texts = format!("triage {} --show-queries", remedy.run);
    match remedy.lost.is_empty() {
        true => vec![remedy.own(&with_texts)],
        false => remedy.each(|Lost { page, query, is_deleted: _ }| match query {
            Some(query) => {
                format!("query {} --explain --why-not {}", quoted(query), quoted(page))
            }
            None => with_texts.clone(),
        }),
    }
}

/// A name as a shell reads it back.
fn word(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// One word of a shell, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remedy() -> Remedy<'static> {
        let suite = Rerun { name: "weekly", target: Some(LOCAL) };
        Remedy { workspace: "team-a", run: 12, suite, target: LOCAL, ..Remedy::default() }
    }

    fn lost(page: &str, is_deleted: bool, query: Option<&str>) -> Lost {
        Lost { page: page.to_owned(), is_deleted, query: query.map(str::to_owned) }
    }

    #[test]
    fn every_class_has_commands() {
        for class in Class::ALL {
            for target in [LOCAL, "prod"] {
                let found = mitigation(*class, &Remedy { target, ..remedy() });
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
    fn every_lost_page_has_a_command_as_far_as_there_is_room() {
        let pages: Vec<Lost> = (0..7).map(|at| lost(&format!("n{at}"), at == 1, None)).collect();
        let smoke = Some(Rerun { name: "quick", target: None });
        let found = mitigation(Class::PipelineBug, &Remedy { lost: &pages, smoke, ..remedy() });
        let commands = found.commands.join("\n");
        assert!(
            commands.contains("history 'n0'") && commands.contains("restore 'n1'"),
            "{commands}"
        );
        assert!(commands.contains("'n4'") && !commands.contains("'n5'"), "{commands}");
        assert!(found.advice.ends_with("(and 2 more page(s), not named here)"), "{found:?}");
        assert!(commands.ends_with("suites run quick"), "{commands}");
    }

    #[test]
    fn what_is_asked_is_quoted_for_a_shell() {
        let pages = [lost("wiki::a'b", false, Some("who's there?")), lost("c", false, None)];
        let found = mitigation(Class::Ranking, &Remedy { lost: &pages, ..remedy() });
        assert!(
            found.commands[0]
                .ends_with(r"query 'who'\''s there?' --explain --why-not 'wiki::a'\''b'"),
            "{found:?}"
        );
        assert!(found.commands[1].ends_with("triage 12 --show-queries"), "{found:?}");
    }

    #[test]
    fn a_run_asks_whom_it_asked() {
        let last = |remedy: &Remedy<'_>| {
            mitigation(Class::Infrastructure, remedy).commands.last().unwrap().clone()
        };
        assert!(last(&remedy()).ends_with("suites run weekly"));
        let staging = Remedy { target: "staging", ..remedy() };
        assert!(last(&staging).ends_with("suites run weekly --target staging"));
        let suite = Rerun { name: "weekly", target: Some("staging") };
        assert!(last(&Remedy { suite, ..staging }).ends_with("suites run weekly"));
    }

    #[test]
    fn what_could_not_measure_says_what_it_needs() {
        let check = |class, remedy: &Remedy<'_>, expected: &str| {
            let commands = mitigation(class, remedy).commands.join("\n");
            assert!(commands.contains(expected), "{commands}");
        };
        let reasons = |reasons| Remedy { reasons, ..remedy() };
        check(Class::Unknown, &reasons(&[Reason::NoQueries]), "queries import");
        check(Class::Unknown, &reasons(&[Reason::SampleTooSmall]), "queries promote");
        check(Class::Threshold, &reasons(&[Reason::NoCalibration]), "config set models.rerank");
        check(Class::Threshold, &reasons(&[Reason::NoCalibration]), "calibrate collect");
        let unknown = Remedy { target: "gone", is_target_unknown: true, ..remedy() };
        check(Class::Infrastructure, &unknown, "targets list");
        let advice = mitigation(Class::Infrastructure, &unknown).advice;
        assert!(advice.starts_with("nobody describes the target"), "{advice}");
    }
}
