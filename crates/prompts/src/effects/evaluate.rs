//! `eva eval`: runs the cases of a prompt.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use super::hook::{self, HookEnvironment};
use super::kick::{rendered, require};
use super::sender::Command;
use super::{Library, LibraryPrompt, PromptError, log};
use crate::domain::{
    EvalCase, EvalRow, Evaluation, Inputs, Rubric, Vars, flat, rubric_prompt, score,
    triggering_prompt, verdict,
};

/// The default time limit of an answer.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// The options of an evaluation.
#[derive(Debug, Clone)]
pub struct EvalOptions {
    /// Only the case with this name. Its row is marked partial.
    pub case: Option<String>,
    /// The command that answers.
    pub send: Command,
    /// The command that judges.
    pub judge: Command,
    /// The model that answers, if it overrides the one in the files.
    pub model: Option<String>,
    /// Number of cases that run at once.
    pub jobs: usize,
}

/// The result of a case, or of a trigger question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseReport {
    pub name: String,
    /// Failure messages; the case passed if there are none.
    pub failures: Vec<String>,
}

/// The result of an evaluation.
#[derive(Debug, Clone)]
pub struct EvalReport {
    /// The row that was appended.
    pub row: EvalRow,
    /// Every case, in the order of the file.
    pub cases: Vec<CaseReport>,
}

/// Progress callback: cases done and total.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

enum Task<'a> {
    Case(&'a EvalCase),
    Trigger { question: &'a str, should_match: bool },
}

impl Task<'_> {
    fn name(&self) -> String {
        match self {
            Self::Case(case) => case.name.clone(),
            Self::Trigger { question, should_match: true } => format!("should match: {question}"),
            Self::Trigger { question, .. } => format!("should not match: {question}"),
        }
    }
}

/// Runs the cases of a prompt and appends one row.
pub fn evaluate(
    library: &Library,
    prompt: &LibraryPrompt,
    options: &EvalOptions,
    clock: &dyn Fn() -> Timestamp,
    progress: Progress<'_>,
) -> Result<EvalReport, PromptError> {
    let evaluation = prompt.evaluation()?;
    let eval_hash = prompt.cases_hash(&library.root)?;
    // Answers cost money, so the log is checked first.
    log::check_appendable(&prompt.eval_log())?;
    let tasks = tasks(prompt, &evaluation, options)?;
    let bench = Evaluator { library, prompt, evaluation: &evaluation, options };
    let cases = bench.run_all(&tasks, progress);
    let failed = |case: &&CaseReport| !case.failures.is_empty();
    let failed_cases: Vec<String> =
        cases.iter().filter(failed).map(|case| case.name.clone()).collect();
    let mut row = EvalRow {
        ts: Timestamp::UNIX_EPOCH,
        total: cases.len() as u64,
        passed: (cases.len() - failed_cases.len()) as u64,
        failed_cases,
        partial: options.case.is_some(),
        // A model from the command line evaluates another prompt; a model in eval.yml belongs to
        // the cases.
        prompt_hash: Some(
            prompt.hash_with(options.model.as_deref().or(prompt.meta.model.as_deref())),
        ),
        eval_hash,
        model: bench.model().map(str::to_owned),
    };
    log::append(&prompt.eval_log(), || {
        row.ts = clock();
        row.to_line()
    })?;
    Ok(EvalReport { row, cases })
}

fn tasks<'e>(
    prompt: &LibraryPrompt,
    evaluation: &'e Evaluation,
    options: &EvalOptions,
) -> Result<Vec<Task<'e>>, PromptError> {
    let Some(name) = &options.case else {
        let cases = evaluation.cases.iter().map(Task::Case);
        let triggering = &evaluation.triggering;
        let trigger =
            |should_match| move |question: &'e String| Task::Trigger { question, should_match };
        let matching = triggering.should_match.iter().map(trigger(true));
        let others = triggering.should_not_match.iter().map(trigger(false));
        return Ok(cases.chain(matching).chain(others).collect());
    };
    let case = evaluation.cases.iter().find(|case| case.name == *name);
    let missing = || PromptError::NoCase { id: prompt.id.clone(), case: name.clone() };
    Ok(vec![Task::Case(case.ok_or_else(missing)?)])
}

struct Evaluator<'a> {
    library: &'a Library,
    prompt: &'a LibraryPrompt,
    evaluation: &'a Evaluation,
    options: &'a EvalOptions,
}

impl Evaluator<'_> {
    /// Runs tasks concurrently; results are in their order.
    fn run_all(&self, tasks: &[Task<'_>], progress: Progress<'_>) -> Vec<CaseReport> {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let reports: Vec<Mutex<Option<CaseReport>>> =
            tasks.iter().map(|_| Mutex::default()).collect();
        std::thread::scope(|scope| {
            for _ in 0..self.options.jobs.clamp(1, tasks.len().max(1)) {
                scope.spawn(|| {
                    while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let at = tasks.iter().position(|other| std::ptr::eq(other, task));
                        let report = CaseReport { name: task.name(), failures: self.run(task) };
                        if let Some(slot) = at.and_then(|at| reports.get(at)) {
                            *slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
                                Some(report);
                        }
                        progress(done.fetch_add(1, Ordering::Relaxed) + 1, tasks.len());
                    }
                });
            }
        });
        let take = |slot: Mutex<Option<CaseReport>>| {
            slot.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        reports.into_iter().filter_map(take).collect()
    }

    fn run(&self, task: &Task<'_>) -> Vec<String> {
        let outcome = match task {
            Task::Case(case) => self.run_case(case),
            Task::Trigger { question, should_match } => self.run_trigger(question, *should_match),
        };
        outcome.unwrap_or_else(|trouble| vec![trouble])
    }

    fn run_case(&self, case: &EvalCase) -> Result<Vec<String>, String> {
        let message = |error: PromptError| gbrain_core::fault::chain(&error);
        let mut vars = self.vars(case).map_err(message)?;
        let name = Some(case.name.as_str());
        let setting = HookEnvironment::new(self.prompt, name, &vars).map_err(message)?;
        let guarded = hook::guard(self.prompt, &setting, None).map_err(message)?;
        for (key, value) in guarded.pairs {
            vars.push(&key, &value).map_err(|error| error.to_string())?;
        }
        let setting = HookEnvironment::new(self.prompt, name, &vars).map_err(message)?;
        let rendered = rendered(self.prompt, &vars);
        require(self.prompt, &rendered).map_err(message)?;
        let send = self.options.send.with_model(self.model());
        let answer = send.ask(&rendered.text, &setting, self.timeout())?;
        let mut failures: Vec<String> =
            case.assertions.iter().filter_map(|assertion| assertion.check(&answer)).collect();
        failures.extend(case.empty_answer(&answer));
        if let Some(rubric) = &case.rubric {
            failures.extend(self.judged(rubric, &rendered.text, &answer, &setting)?);
        }
        Ok(failures)
    }

    fn judged(
        &self,
        rubric: &Rubric,
        prompt: &str,
        answer: &str,
        setting: &HookEnvironment,
    ) -> Result<Option<String>, String> {
        let judge =
            self.options.judge.with_model(self.evaluation.judge_model.as_deref().or(self.model()));
        let reply = judge.ask(&rubric_prompt(rubric, prompt, answer), setting, self.timeout())?;
        let threshold = self.evaluation.pass_threshold;
        Ok(match score(&reply) {
            None => Some(format!("the judge gave no score: `{}`", start_of(&reply))),
            Some(score) if score < threshold => Some(format!(
                "the judge gave {score} of 5, {threshold} is needed: {}",
                start_of(&reply)
            )),
            Some(_) => None,
        })
    }

    fn run_trigger(&self, question: &str, should_match: bool) -> Result<Vec<String>, String> {
        let triggering = &self.evaluation.triggering;
        let of_judges = self.evaluation.judge_model.as_deref();
        let model = triggering.judge_model.as_deref().or(of_judges).or(self.model());
        let setting = HookEnvironment::new(self.prompt, None, &Vars::default());
        let setting = setting.map_err(|error| gbrain_core::fault::chain(&error))?;
        let ask = triggering_prompt(&self.prompt.meta, question);
        let reply = self.options.judge.with_model(model).ask(&ask, &setting, self.timeout())?;
        Ok(match verdict(&reply) {
            None => vec![format!("the judge gave no decision: `{}`", start_of(&reply))],
            Some(decision) if decision != should_match => vec![start_of(&reply)],
            Some(_) => Vec::new(),
        })
    }

    fn vars(&self, case: &EvalCase) -> Result<Vars, PromptError> {
        let pairs = match &case.inputs {
            Inputs::Inline(pairs) => pairs.clone(),
            Inputs::From(path) => self.inputs_from(path)?,
        };
        let mut vars = Vars::default();
        for (key, value) in pairs {
            vars.push(&key, &value)?;
        }
        Ok(vars)
    }

    /// Reads an input file, relative to the root of the library or to the prompt.
    fn inputs_from(&self, name: &str) -> Result<Vec<(String, String)>, PromptError> {
        match self.prompt.inputs_from(&self.library.root, name)? {
            Some((path, text)) => flat(&text).map_err(|source| PromptError::Yaml { path, source }),
            None => {
                let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
                Err(PromptError::io(PathBuf::from(name))(missing))
            }
        }
    }

    fn model(&self) -> Option<&str> {
        let chosen = self.options.model.as_deref().or(self.evaluation.model.as_deref());
        chosen.or(self.prompt.meta.model.as_deref())
    }

    fn timeout(&self) -> Duration {
        self.evaluation.timeout_s.map_or(DEFAULT_TIMEOUT, Duration::from_secs)
    }
}

/// The beginning of a reply, on one line.
fn start_of(reply: &str) -> String {
    let line: String = reply.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(200).collect()
}
