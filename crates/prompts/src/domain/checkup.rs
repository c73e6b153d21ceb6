//! Checks the files of a prompt for problems.

use std::collections::BTreeMap;

use serde::Serialize;

use super::evaluation::Evaluation;
use super::evidence::MissingEvidence;
use super::meta::{Meta, PromptStatus};
use super::template::placeholders;
use super::words::words;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingLevel {
    Warning,
    Problem,
}

gbrain_core::named! { FindingLevel { Warning = "warning", Problem = "problem" } }

/// A problem in a prompt's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckupFinding {
    pub level: FindingLevel,
    pub message: String,
}

/// The files of a prompt to check.
#[derive(Debug, Clone, Copy)]
pub struct CheckupInputs<'a> {
    pub directory: &'a str,
    pub meta: &'a Meta,
    pub template: &'a str,
    /// `eval.yml`, if there is one.
    pub eval: Option<&'a str>,
}

const DESCRIPTION_MOST: usize = 1024;
const WORDS_WARN: u64 = 3500;
const WORDS_MOST: u64 = 5000;
const LINES_WARN: usize = 200;

/// Checks the files of one prompt.
pub fn checkup(parts: &CheckupInputs<'_>) -> Vec<CheckupFinding> {
    let mut findings = Findings(Vec::new());
    check_identity(parts, &mut findings);
    check_inputs(parts, &mut findings);
    check_skill(parts, &mut findings);
    if let Some(eval) = parts.eval {
        match Evaluation::parse(eval) {
            Ok(evaluation) if evaluation.cases.is_empty() => {
                findings.warn("eval.yml has no cases: an evaluation can't be green");
            }
            Ok(_) => (),
            Err(error) => findings.problem(format!("eval.yml: {error}")),
        }
    }
    findings.0
}

struct Findings(Vec<CheckupFinding>);

impl Findings {
    fn warn(&mut self, message: impl Into<String>) {
        self.0.push(CheckupFinding { level: FindingLevel::Warning, message: message.into() });
    }

    fn problem(&mut self, message: impl Into<String>) {
        self.0.push(CheckupFinding { level: FindingLevel::Problem, message: message.into() });
    }
}

fn check_identity(parts: &CheckupInputs<'_>, findings: &mut Findings) {
    if parts.meta.id != parts.directory {
        findings.problem(format!(
            "meta.yml says id `{}`, the directory is `{}`",
            parts.meta.id, parts.directory
        ));
    }
    if parts.template.trim().is_empty() {
        findings.problem("the template is empty");
    }
}

fn check_inputs(parts: &CheckupInputs<'_>, findings: &mut Findings) {
    let used = placeholders(parts.template);
    for key in &used {
        if parts.meta.input(key).is_none() {
            findings.problem(format!("`{{{{{key}}}}}` is not declared in inputs"));
        }
    }
    for input in &parts.meta.inputs {
        let is_used = used.contains(&input.name.as_str());
        if !is_used && input.required {
            findings.problem(format!("input `{}` is required and never used", input.name));
        } else if !is_used {
            findings.warn(format!("input `{}` is never used", input.name));
        }
    }
}

/// Checks the requirements of an exported skill.
fn check_skill(parts: &CheckupInputs<'_>, findings: &mut Findings) {
    let id = parts.meta.id.to_ascii_lowercase();
    if ["claude", "anthropic"].iter().any(|name| id.contains(name)) {
        findings.problem(format!("id `{}` names a vendor, which a skill may not", parts.meta.id));
    }
    if let Some(description) = &parts.meta.description {
        let length = description.chars().count();
        if length > DESCRIPTION_MOST {
            findings.problem(format!(
                "description has {length} characters, at most {DESCRIPTION_MOST}"
            ));
        }
        if description.contains(['<', '>']) {
            findings.problem("description holds an angle bracket");
        }
        if !description.to_lowercase().contains("use when") {
            findings.warn("description does not say \"use when\"");
        }
    }
    for (key, items) in [("triggers", &parts.meta.triggers), ("not_for", &parts.meta.not_for)] {
        if items.iter().any(|item| item.trim().is_empty()) {
            findings.problem(format!("{key} has an empty item"));
        }
    }
    check_size(parts.template, findings);
}

fn check_size(template: &str, findings: &mut Findings) {
    let words = words(template.as_bytes());
    let lines = template.lines().filter(|line| !line.trim().is_empty()).count();
    match words {
        WORDS_MOST.. => {
            findings.problem(format!("the template has {words} words, {WORDS_MOST} or more"))
        }
        WORDS_WARN.. => {
            findings.warn(format!("the template has {words} words, {WORDS_WARN} or more"))
        }
        _ => (),
    }
    if lines >= LINES_WARN {
        findings.warn(format!("the template has {lines} lines, {LINES_WARN} or more"));
    }
}

/// The finding for a status without evidence. It is a problem for a ready prompt, because others
/// rely on it.
pub fn check_evidence(
    id: &str,
    status: PromptStatus,
    missing_evidence: Option<&MissingEvidence>,
) -> Option<CheckupFinding> {
    let level =
        if status == PromptStatus::Ready { FindingLevel::Problem } else { FindingLevel::Warning };
    let message = |why: &MissingEvidence| format!("{why}: {}", why.remedy(id));
    missing_evidence.map(|why| CheckupFinding { level, message: message(why) })
}

/// The finding for malformed lines of a log.
pub fn check_log(file: &str, malformed: u64) -> Option<CheckupFinding> {
    let message = || match malformed {
        1 => format!("1 malformed line in {file} does not count"),
        _ => format!("{malformed} malformed lines in {file} do not count"),
    };
    (malformed > 0).then(|| CheckupFinding { level: FindingLevel::Warning, message: message() })
}

/// The finding for a directory of the old layout.
pub fn old_layout() -> CheckupFinding {
    let message = "a directory of the old layout: `eva migrate` converts it".to_owned();
    CheckupFinding { level: FindingLevel::Warning, message }
}

/// The aliases of an `aliases` file: one a line, comments after `#`.
pub fn aliases(text: &str) -> Vec<&str> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty()).collect()
}

/// Checks the aliases of all prompts, by prompt: names that no shell accepts, and names that an
/// earlier prompt has.
pub fn check_aliases<'a>(owners: &[(&'a str, Vec<&'a str>)]) -> Vec<(&'a str, CheckupFinding)> {
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    let mut findings = Vec::new();
    let mut problem = |owner, message| {
        findings.push((owner, CheckupFinding { level: FindingLevel::Problem, message }))
    };
    for (owner, names) in owners {
        for name in names {
            if !is_alias(name) {
                problem(
                    *owner,
                    format!(
                        "alias `{name}` is not a name: a letter or `_`, then letters, digits, `_` and `-`"
                    ),
                );
            } else if let Some(other) = first.insert(name, owner) {
                problem(*owner, format!("alias `{name}` is taken by `{other}`"));
                first.insert(name, other);
            }
        }
    }
    findings
}

/// Whether a text can be an alias: a valid name of a shell function.
pub fn is_alias(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::super::meta::{PromptInput, tests_meta};
    use super::*;

    fn findings(change: impl Fn(&mut Meta), template: &str, eval: Option<&str>) -> Vec<String> {
        let mut meta = tests_meta(PromptStatus::Draft);
        meta.inputs = vec![PromptInput { name: "who".into(), required: true, default: None }];
        change(&mut meta);
        let parts = CheckupInputs { directory: "x", meta: &meta, template, eval };
        checkup(&parts)
            .into_iter()
            .map(|found| format!("{}: {}", found.level, found.message))
            .collect()
    }

    #[track_caller]
    fn check(found: &[String], part: &str) {
        assert!(found.iter().any(|found| found.contains(part)), "{found:?}");
    }

    #[test]
    fn a_sound_prompt_has_nothing() {
        let eval = "cases: [{ name: a, inputs: {}, assert: { contains: x } }]";
        assert_eq!(findings(|_| (), "Hello {{who}}", Some(eval)), Vec::<String>::new());
    }

    #[test]
    fn each_finding() {
        check(&findings(|_| (), "Hello", None), "problem: input `who` is required and never used");
        check(&findings(|_| (), "{{who}} {{when}}", None), "problem: `{{when}}` is not declared");
        check(
            &findings(|meta| meta.id = "y".into(), "{{who}}", None),
            "problem: meta.yml says id `y`",
        );
        check(&findings(|_| (), " \n", None), "problem: the template is empty");
        check(&findings(|meta| meta.id = "claude-x".into(), "{{who}}", None), "names a vendor");
        check(
            &findings(|meta| meta.description = Some("<b>".into()), "{{who}}", None),
            "angle bracket",
        );
        check(
            &findings(|meta| meta.description = Some("d".into()), "{{who}}", None),
            "warning: description does not say",
        );
        check(
            &findings(|meta| meta.description = Some("d".repeat(1025)), "{{who}}", None),
            "1025 characters",
        );
        check(
            &findings(|meta| meta.triggers = vec![" ".into()], "{{who}}", None),
            "triggers has an empty item",
        );
        check(&findings(|_| (), &"w ".repeat(3500), None), "warning: the template has 3500 words");
        check(&findings(|_| (), &"w ".repeat(5000), None), "problem: the template has 5000 words");
        check(&findings(|_| (), &"w\n\n".repeat(200), None), "warning: the template has 200 lines");
        check(&findings(|_| (), "{{who}}", Some("cases: [{}]")), "problem: eval.yml: line 1");
        check(&findings(|_| (), "{{who}}", Some("cases: []")), "warning: eval.yml has no cases");
    }

    #[test]
    fn the_second_owner_of_an_alias_is_reported() {
        let owners = [("a", vec!["hi", "1x"]), ("b", vec!["hi"]), ("c", vec!["hi"])];
        let found: Vec<_> = check_aliases(&owners)
            .into_iter()
            .map(|(owner, found)| (owner, found.message))
            .collect();
        assert_eq!(found.len(), 3);
        assert!(found[0].0 == "a" && found[0].1.contains("`1x` is not a name"));
        assert_eq!(found[1], ("b", "alias `hi` is taken by `a`".to_owned()));
        assert_eq!(found[2], ("c", "alias `hi` is taken by `a`".to_owned()));
        assert_eq!(aliases("hi # short\n\n#x\nyo\n"), ["hi", "yo"]);
    }
}
