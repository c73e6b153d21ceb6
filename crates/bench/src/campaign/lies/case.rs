//! A case: a lie, the commands that could believe it, and what each of them may do.

use anyhow::Result;
use clap::ValueEnum;
use fastrand::Rng;
use gbrain_core::defect::reports_panic;
use gbrain_testkit::process::Output;
use serde_json::Value;

use super::scene::Scene;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Class {
    EditedBaseline,
    /// Captures were edited before they were published.
    EditedCapture,
    /// Pages whose scrubbed names are the same changed places.
    MergedIdentity,
    /// A target answers with something else than it should.
    LyingTarget,
    /// There are too few rows to decide, or none.
    TinySample,
    ForgedResult,
    /// The rows that a benchmark goes on with were edited.
    ForgedRows,
    /// A title calls recall a score of answers.
    ForgedTitle,
    /// Judgements name what is not there, or say nothing.
    BadJudgements,
    /// Two runs are compared that differ, tie or are no numbers.
    Comparison,
    /// Imported queries are the same once they are scrubbed.
    MergedQueries,
    /// Captures come from the future.
    SkewedClock,
    /// A ratchet would bank a loss.
    BankedLoss,
    /// Names of pages that look like something else.
    HostileSlug,
    /// The evidence for a prompt's status was forged, replaced or lost.
    ForgedEvidence,
    /// A judge's reply has no score.
    UnreadableScore,
    /// A run of a prompt was interrupted, could not be verified or could not be written.
    CutRun,
    /// A remote dependency is down.
    Outage,
    /// A contradiction is passed over in silence.
    Silence,
    /// A setting names what can't be used.
    ForgedSetting,
    /// Queries are of another workspace, or of pages that are not there.
    ForeignQueries,
    /// A purge would make something look better than it was measured.
    Purge,
    /// A report could not be written.
    UnwrittenReport,
    DamagedIndex,
    MistypedArgument,
    /// A suite asks fewer queries than it requires, or requires fewer than the playbook.
    SmallSuite,
    /// Something else than a recovery would resolve an alert.
    EarlyRecovery,
    /// A trial of a threshold does not speak for what is there.
    ForgedTrial,
}

/// Makes a lie in a home of its own.
pub type Plant = Box<dyn Fn(&mut Scene, &mut Rng) -> Result<()> + Send + Sync>;

/// A lie, or the honest counterpart of one.
pub struct Case {
    pub class: Class,
    /// The manipulation, in a few words.
    pub name: String,
    /// Does it.
    pub plant: Plant,
    pub attempts: Vec<Attempt>,
}

/// A command and what it may do.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The words behind `gbrain`; with `eva`, `kick` or `sh` in front, those of that program.
    pub args: Vec<String>,
    pub allowed: Allowed,
}

#[derive(Debug, Clone, Copy)]
pub enum Allowed {
    /// Exit with 1 or 2.
    Refusal,
    /// Exit with 1 or 2, or print one of these, ignoring case.
    Told(&'static [&'static str]),
    /// Exit with 1 or 2, or print none of these.
    Silent(&'static [&'static str]),
    /// Exit with 1 or 2, or print a document that shows the truth.
    Shown(fn(&Value) -> bool),
    /// An honest case: exit with 0.
    Green,
    /// An honest case: exit with 0 and print such a document.
    GreenWith(fn(&Value) -> bool),
    /// A step of the lie itself: anything.
    Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseOutcome {
    /// Exit 2: no verdict.
    Refused,
    /// Exit 1: a failure.
    Red,
    /// Exit 0 with the warning or the figures that are required.
    Warned,
    /// Exit 0 as if nothing were wrong.
    Green,
    /// An honest case that is not green.
    FalseAlarm,
    /// A crash, or an exit code that means nothing.
    Broken,
    /// A step of the lie, which is not judged.
    NotJudged,
}

impl Case {
    pub fn new(
        class: Class,
        name: impl Into<String>,
        attempts: Vec<Attempt>,
        plant: impl Fn(&mut Scene, &mut Rng) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self { class, name: name.into(), plant: Box::new(plant), attempts }
    }

    pub fn is_honest(&self) -> bool {
        self.attempts
            .iter()
            .any(|one| matches!(one.allowed, Allowed::Green | Allowed::GreenWith(_)))
    }
}

impl Attempt {
    /// A command, as words with blanks between them.
    pub fn new(command: &str, allowed: Allowed) -> Self {
        Self { args: command.split(' ').map(str::to_owned).collect(), allowed }
    }

    /// A command that must refuse or fail.
    pub fn refused(command: &str) -> Self {
        Self::new(command, Allowed::Refusal)
    }

    /// An honest command.
    pub fn green(command: &str) -> Self {
        Self::new(command, Allowed::Green)
    }

    /// The same with one more word, which may have blanks.
    pub fn with(mut self, word: &str) -> Self {
        self.args.push(word.to_owned());
        self
    }

    pub fn reaction(&self, output: &Output) -> CaseOutcome {
        // `kick` ends as its command did, or with 128 and a signal.
        let most = if self.args.first().is_some_and(|word| word == "kick" || word == "sh") {
            255
        } else {
            2
        };
        let is_broken = reports_panic(&output.stderr)
            || output.code.is_none_or(|code| !(0..=most).contains(&code));
        let is_zero = output.code == Some(0);
        match self.allowed {
            _ if is_broken => CaseOutcome::Broken,
            Allowed::Step => CaseOutcome::NotJudged,
            Allowed::Green if is_zero => CaseOutcome::Warned,
            Allowed::GreenWith(holds) if is_zero && output.json().is_ok_and(|v| holds(&v)) => {
                CaseOutcome::Warned
            }
            Allowed::Green | Allowed::GreenWith(_) => CaseOutcome::FalseAlarm,
            // A verdict of pass is green, even with another exit code.
            _ if !is_zero && says_pass(&output.stdout) => CaseOutcome::Green,
            _ if output.code == Some(2) => CaseOutcome::Refused,
            _ if !is_zero => CaseOutcome::Red,
            Allowed::Told(words) if words.iter().any(|word| says(output, word)) => {
                CaseOutcome::Warned
            }
            Allowed::Silent(words) if !words.iter().any(|word| says(output, word)) => {
                CaseOutcome::Warned
            }
            Allowed::Shown(holds) if output.json().is_ok_and(|value| holds(&value)) => {
                CaseOutcome::Warned
            }
            _ => CaseOutcome::Green,
        }
    }
}

fn says(output: &Output, word: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(&word.to_lowercase());
    has(&output.stdout) || has(&output.stderr)
}

fn says_pass(stdout: &str) -> bool {
    let verdict = serde_json::from_str::<Value>(stdout).ok().map(|value| value["verdict"].clone());
    verdict.is_some_and(|verdict| verdict == "pass")
        || stdout.lines().any(|line| line.starts_with("PASS ") || line == "verdict: pass")
}
