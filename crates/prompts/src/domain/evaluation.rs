//! `eval.yml`: the cases that a prompt must pass.

use gbrain_core::yaml::Node;

use super::assertion::{Assertion, Failure};
use super::yml::{self, FlatError, flat_map, items, map, number, scalar, texts};

/// The parsed content of `eval.yml`.
#[derive(Debug, Clone, Default)]
pub struct Evaluation {
    /// The model that answers, unless the caller names another.
    pub model: Option<String>,
    /// The timeout of an answer, in seconds.
    pub timeout_s: Option<u64>,
    /// The model that judges.
    pub judge_model: Option<String>,
    /// The score that a rubric needs, of 5.
    pub pass_threshold: f64,
    /// The cases, by name.
    pub cases: Vec<EvalCase>,
    /// The questions that should and should not select the prompt.
    pub triggering: TriggerQuestions,
}

/// One case of an evaluation.
#[derive(Debug, Clone)]
pub struct EvalCase {
    pub name: String,
    pub inputs: Inputs,
    /// Assertions about its answer.
    pub assertions: Vec<Assertion>,
    /// The criteria for a judge.
    pub rubric: Option<Rubric>,
}

/// The variables of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inputs {
    Inline(Vec<(String, String)>),
    /// In a file, relative to the root of the library or to the prompt.
    From(String),
}

/// The criteria by which a judge scores an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rubric(pub String);

/// The questions that should and should not select a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TriggerQuestions {
    /// The model that decides.
    pub judge_model: Option<String>,
    /// Questions that should select it.
    pub should_match: Vec<String>,
    /// Questions that should not select it.
    pub should_not_match: Vec<String>,
}

impl EvalCase {
    /// Describes an empty answer as a failure, unless the case asks for one.
    pub fn empty_answer(&self, answer: &str) -> Option<Failure> {
        let is_wanted = |one: &Assertion| matches!(one, Assertion::MaxTokens(0));
        let is_empty = answer.trim().is_empty() && !self.assertions.iter().any(is_wanted);
        is_empty.then(|| "the answer is empty".to_owned())
    }
}

impl TriggerQuestions {
    /// The number of questions.
    pub fn count(&self) -> usize {
        self.should_match.len() + self.should_not_match.len()
    }
}

/// The default score that a rubric needs.
const PASS_THRESHOLD: f64 = 4.0;

impl Evaluation {
    /// Parses an `eval.yml`. An unknown key is an error, because it would check nothing.
    pub fn parse(text: &str) -> Result<Self, FlatError> {
        const KNOWN: [&str; 4] = ["defaults", "judge", "cases", "triggering"];
        let mut evaluation = Self { pass_threshold: PASS_THRESHOLD, ..Self::default() };
        let root = yml::parse(text)?;
        for (key, value) in map(&root, "eval.yml")? {
            match key.as_str() {
                "defaults" => evaluation.read_defaults(value)?,
                "judge" => evaluation.read_judge(value)?,
                "cases" => evaluation.cases = cases(value)?,
                "triggering" => evaluation.triggering = triggering(value)?,
                _ => return Err(yml::unknown(value, &key, &KNOWN)),
            }
        }
        Ok(evaluation)
    }

    fn read_defaults(&mut self, node: &Node) -> Result<(), FlatError> {
        for (key, value) in map(node, "defaults")? {
            match key.as_str() {
                "model" => self.model = Some(scalar(value, &key)?),
                "timeout_s" => self.timeout_s = Some(number(value, &key)?.max(1)),
                "judge" => self.read_judge(value)?,
                _ => return Err(yml::unknown(value, &key, &["model", "timeout_s", "judge"])),
            }
        }
        Ok(())
    }

    fn read_judge(&mut self, node: &Node) -> Result<(), FlatError> {
        for (key, value) in map(node, "judge")? {
            match key.as_str() {
                "model" => self.judge_model = Some(scalar(value, &key)?),
                "pass_threshold" => self.pass_threshold = threshold(value)?,
                _ => return Err(yml::unknown(value, &key, &["model", "pass_threshold"])),
            }
        }
        Ok(())
    }
}

fn threshold(node: &Node) -> Result<f64, FlatError> {
    let text = scalar(node, "pass_threshold")?;
    let number = text.parse().ok().filter(|number| (1.0..=5.0).contains(number));
    number.ok_or_else(|| {
        FlatError::new(node.line, format!("`pass_threshold` is from 1 to 5, not `{text}`"))
    })
}

fn cases(node: &Node) -> Result<Vec<EvalCase>, FlatError> {
    let mut cases: Vec<EvalCase> = Vec::new();
    for item in items(node, "cases")? {
        let case = case(item)?;
        if cases.iter().any(|known| known.name == case.name) {
            return Err(FlatError::new(item.line, format!("there are two cases `{}`", case.name)));
        }
        cases.push(case);
    }
    Ok(cases)
}

fn case(node: &Node) -> Result<EvalCase, FlatError> {
    const KNOWN: [&str; 5] = ["name", "inputs", "inputs_from", "assert", "rubric"];
    let (mut name, mut inputs, mut rubric) = (String::new(), None, None);
    let mut assertions = Vec::new();
    for (key, value) in map(node, "a case")? {
        match key.as_str() {
            "name" => name = scalar(value, &key)?,
            "inputs" | "inputs_from" if inputs.is_some() => {
                return Err(FlatError::new(value.line, "`inputs` or `inputs_from`, not both"));
            }
            "inputs" => inputs = Some(Inputs::Inline(flat_map(value)?)),
            "inputs_from" => inputs = Some(Inputs::From(scalar(value, &key)?)),
            "assert" => assertions = Assertion::parse_all(value)?,
            "rubric" => rubric = Some(scalar(value, &key)?).filter(|text| !text.trim().is_empty()),
            _ => return Err(yml::unknown(value, &key, &KNOWN)),
        }
    }
    let missing = |what: &str| FlatError::new(node.line, format!("case `{name}` has no {what}"));
    if name.trim().is_empty() {
        return Err(FlatError::new(node.line, "a case has no name"));
    }
    if assertions.is_empty() && rubric.is_none() {
        return Err(missing("`assert` and no `rubric`: it could not fail"));
    }
    let inputs = inputs.ok_or_else(|| missing("`inputs` or `inputs_from`"))?;
    Ok(EvalCase { name, inputs, assertions, rubric: rubric.map(Rubric) })
}

fn triggering(node: &Node) -> Result<TriggerQuestions, FlatError> {
    const KNOWN: [&str; 3] = ["judge", "should_match", "should_not_match"];
    let mut triggering = TriggerQuestions::default();
    for (key, value) in map(node, "triggering")? {
        match key.as_str() {
            "judge" => triggering.judge_model = judge_model(value)?,
            "should_match" => triggering.should_match = texts(value, &key)?,
            "should_not_match" => triggering.should_not_match = texts(value, &key)?,
            _ => return Err(yml::unknown(value, &key, &KNOWN)),
        }
    }
    Ok(triggering)
}

fn judge_model(node: &Node) -> Result<Option<String>, FlatError> {
    let mut model = None;
    for (key, value) in map(node, "judge")? {
        match key.as_str() {
            "model" => model = Some(scalar(value, &key)?),
            _ => return Err(yml::unknown(value, &key, &["model"])),
        }
    }
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "defaults: { model: haiku, timeout_s: 30 }\njudge: { model: opus, pass_threshold: 3 }\n\
        cases:\n  - name: polite\n    inputs: { who: Ada }\n    assert: { contains: Ada }\n  - name: kind\n    \
        inputs_from: examples/kind/inputs.yml\n    rubric: Is it kind?\ntriggering:\n  should_match: [greet me]\n  \
        should_not_match: [add 1 and 1]\n";

    #[test]
    fn everything_is_read() {
        let evaluation = Evaluation::parse(WHOLE).unwrap();
        assert_eq!((evaluation.model.as_deref(), evaluation.timeout_s), (Some("haiku"), Some(30)));
        assert_eq!(
            (evaluation.judge_model.as_deref(), evaluation.pass_threshold),
            (Some("opus"), 3.0)
        );
        assert_eq!(evaluation.cases.len(), 2);
        assert_eq!(evaluation.cases[1].inputs, Inputs::From("examples/kind/inputs.yml".to_owned()));
        assert_eq!(evaluation.triggering.count(), 2);
    }

    #[test]
    fn an_empty_answer_passes_only_where_it_is_asked_for() {
        let case = |assert: &str| {
            let text = format!("cases: [{{ name: a, inputs: {{}}, assert: {{ {assert} }} }}]");
            Evaluation::parse(&text).unwrap().cases.remove(0)
        };
        assert!(case("max_tokens: 60").empty_answer(" \n").is_some());
        assert!(case("not_contains: x").empty_answer("").is_some());
        assert_eq!(case("max_tokens: 60").empty_answer("word"), None);
        assert_eq!(case("max_tokens: 0").empty_answer("\n"), None);
    }

    #[test]
    fn a_case_that_could_not_fail_is_refused() {
        let check = |old: &str, new: &str| {
            assert!(WHOLE.contains(old));
            Evaluation::parse(&WHOLE.replace(old, new)).unwrap_err().reason
        };
        assert!(check("    assert: { contains: Ada }\n", "").contains("could not fail"));
        assert!(check("name: kind", "name: polite").contains("two cases `polite`"));
        assert!(check("inputs: { who: Ada }\n    ", "").contains("has no `inputs`"));
        assert!(check("assert:", "asert:").contains("unknown key `asert`"));
        assert!(check("pass_threshold: 3", "pass_threshold: 9").contains("from 1 to 5"));
        assert!(check("should_match", "shuold_match").contains("unknown key"));
        assert_eq!(Evaluation::parse("cases: { a: 1 }").unwrap_err().reason, "`cases` is a list");
    }
}
