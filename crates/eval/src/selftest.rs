//! A mutation test of the gate: a retriever is broken in ways that must be seen, and the gate is
//! run on each. A mutant that passes is a hole.
//!
//! The gate is run on the real retriever first. Most mutants change what that said, which is asked once
//! for all of them; one is about time and slows the real retriever down.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use gbrain_core::baseline::{Baseline, BaselineError, Reader, Thresholds};
use gbrain_core::capture::Retrieved;
use gbrain_core::format::selftest::{MutantRow, SelftestBody};
use gbrain_core::gate::{QueryResult, Status, Verdict};
use gbrain_core::latency::Timing;
use gbrain_core::named;
use gbrain_core::provenance::CorpusAt;
use gbrain_core::replay::ReplayedRow;
use gbrain_core::request::Viewer;
use gbrain_core::scrub::{MARKER, Scrubber};
use gbrain_core::target::{Found, Question, TargetAnswer, TargetError, TargetErrorKind, Timings};

use crate::gate::{GateInputs, GateOutcome, gate};
use crate::retriever::RetrieverInfo;
use crate::{EvalError, Retriever, SlowedRetriever};

/// How many times as long a slowed retriever takes.
const SLOWDOWN: u32 = 3;

/// A way to break a retriever, or the file it is gated with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mutant {
    /// The first page is missing.
    DropFirst,
    /// The same pages, another order.
    Shuffle,
    /// The second half is missing.
    Truncate,
    /// The first page again and again.
    Duplicate,
    /// The right slugs of the wrong source.
    SwapSource,
    /// Other pages whose scrubbed names are the same.
    SwapIdentity,
    Empty,
    /// Three times the work, or for a remote target three times the wait.
    SlowDown,
    /// An error for the queries that were hardest.
    Throw,
    /// The baseline is edited after it was published.
    EditBaseline,
    /// A latency, and a threshold, that is not a number.
    Nan,
}

named! {
    Mutant {
        DropFirst = "drop_first",
        Shuffle = "shuffle",
        Truncate = "truncate",
        Duplicate = "duplicate",
        SwapSource = "swap_source",
        SwapIdentity = "swap_identity",
        Empty = "empty",
        SlowDown = "slow_down",
        Throw = "throw",
        EditBaseline = "edit_baseline",
        Nan = "nan",
    }
}

/// What became of a mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MutantReport {
    pub mutant: Mutant,
    /// Whether the gate saw it; none when these files give it nothing to break.
    pub is_killed: Option<bool>,
    /// What happened, in words.
    pub note: String,
}

/// The mutation test.
#[derive(Debug, Clone, PartialEq)]
pub struct Selftest {
    /// The verdict without any mutant: a gate that is red anyway tells nothing.
    pub unmutated: Verdict,
    pub mutants: Vec<MutantReport>,
}

impl Selftest {
    /// Mutants that were seen, and mutants that apply.
    pub fn kills(&self) -> (usize, usize) {
        let applied = self.mutants.iter().filter_map(|report| report.is_killed);
        (applied.clone().filter(|killed| *killed).count(), applied.count())
    }

    /// Its wire form.
    pub fn body(&self) -> SelftestBody<'_> {
        let Self { unmutated, mutants } = self;
        SelftestBody::new(*unmutated, mutants.iter().map(MutantReport::row).collect())
    }
}

impl MutantReport {
    fn row(&self) -> MutantRow<'_> {
        let Self { mutant, is_killed, note } = self;
        MutantRow { mutant: mutant.name(), killed: *is_killed, note }
    }
}

/// Runs every mutant. `baseline_text` is the baseline's file as it was read.
pub fn selftest(
    retriever: &dyn Retriever,
    inputs: &GateInputs<'_>,
    baseline_text: Option<&str>,
) -> Result<Selftest, EvalError> {
    let recorded = Recorded { retriever, answers: Mutex::default() };
    let mut inputs = inputs.clone();
    (inputs.replay.blame, inputs.replay.explain) = (false, 0);
    let base = gate(retriever, &inputs, &|_| ())?;
    let test = Test { recorded: &recorded, inputs: &inputs, base: &base, baseline_text };
    let mutants = Mutant::ALL.iter().map(|mutant| test.run(*mutant));
    Ok(Selftest { unmutated: base.verdict, mutants: mutants.collect::<Result<_, _>>()? })
}

struct Test<'a> {
    recorded: &'a Recorded<'a>,
    inputs: &'a GateInputs<'a>,
    base: &'a GateOutcome,
    baseline_text: Option<&'a str>,
}

type Change<'a> = &'a (dyn Fn(&Question, TargetAnswer) -> Result<TargetAnswer, TargetError> + Sync);

fn with_pages(answer: TargetAnswer, pages: &[Retrieved]) -> TargetAnswer {
    let result = |page: &Retrieved| Found { document: page.to_string(), ..Found::default() };
    TargetAnswer { results: pages.iter().map(result).collect(), ..answer }
}

impl Test<'_> {
    fn run(&self, mutant: Mutant) -> Result<MutantReport, EvalError> {
        let pages = |change: fn(Vec<Retrieved>) -> Vec<Retrieved>| {
            self.mutate(mutant, &move |_, answer| {
                let pages = change(answer.pages());
                Ok(with_pages(answer, &pages))
            })
        };
        match mutant {
            Mutant::DropFirst => pages(|pages| pages.into_iter().skip(1).collect()),
            Mutant::Shuffle | Mutant::Duplicate if !self.has_long_answer() => {
                Ok(not_applicable(mutant, "no answer has more than one page"))
            }
            Mutant::Shuffle => pages(rotate),
            Mutant::Truncate => pages(|pages| pages[..pages.len() / 2].to_vec()),
            Mutant::Duplicate => pages(|pages| {
                vec![pages.first().cloned(); pages.len()].into_iter().flatten().collect()
            }),
            Mutant::SwapSource => pages(swap_source),
            Mutant::SwapIdentity => self.swap_identity(),
            Mutant::Empty => pages(|_| Vec::new()),
            Mutant::SlowDown => self.slow_down(),
            Mutant::Throw => self.throw(),
            Mutant::EditBaseline => Ok(self.edit_baseline()),
            Mutant::Nan => self.nan(),
        }
    }

    /// Whether some answer has an order.
    fn has_long_answer(&self) -> bool {
        let rows = self.base.regression.iter().flat_map(|(_, rows)| rows);
        let mut rows = rows.filter_map(ReplayedRow::compared);
        let mut queries = self.base.correctness.iter().flat_map(|found| &found.queries);
        rows.any(|row| row.current.len() > 1)
            || queries
                .any(|query| matches!(&query.result, QueryResult::Ranked(pages) if pages.len() > 1))
    }

    fn mutate(&self, mutant: Mutant, change: Change<'_>) -> Result<MutantReport, EvalError> {
        let mutated = Mutated { recorded: self.recorded, change, past: None };
        let mut inputs = self.inputs.clone();
        inputs.replay.repeats = 1;
        let outcome = gate(&mutated, &inputs, &|_| ())?;
        Ok(report(mutant, outcome.verdict != Verdict::Pass, said(&outcome)))
    }

    /// Few rows may have such names, too few to move a mean: each of them must be seen to move.
    fn swap_identity(&self) -> Result<MutantReport, EvalError> {
        let rows = |outcome: &GateOutcome| {
            let rows = outcome.regression.as_ref().map(|(_, rows)| rows.clone());
            rows.unwrap_or_default()
        };
        let has_scrubbed = |row: &ReplayedRow| {
            row.compared().is_some_and(|row| row.current.iter().any(|name| name.contains(MARKER)))
        };
        let before = rows(self.base);
        if !before.iter().any(has_scrubbed) {
            return Ok(not_applicable(
                Mutant::SwapIdentity,
                "no answer has a name that is scrubbed",
            ));
        }
        let scrubber = Scrubber::default();
        let hashes = self.captured_hashes();
        let change = |_: &Question, answer: TargetAnswer| {
            let swap = |page: Retrieved| {
                let scrubbed = scrubber.scrub_slug(&page.slug);
                let source = page.source.as_deref();
                let key = self.inputs.replay.identity.as_ref();
                let hash =
                    key.zip(source).map(|(key, source)| key.page_hash_of(source, &page.slug));
                match hash.is_some_and(|hash| hashes.contains(hash.as_str())) {
                    // The name of a private page stays as it is when it is scrubbed.
                    true if scrubbed == page.slug => Retrieved { slug: other(MARKER), ..page },
                    false if scrubbed == page.slug => page,
                    _ => Retrieved { slug: other(&scrubbed), ..page },
                }
            };
            let pages: Vec<Retrieved> = answer.pages().into_iter().map(swap).collect();
            Ok(with_pages(answer, &pages))
        };
        let mutated = Mutated { recorded: self.recorded, change: &change, past: None };
        let outcome = gate(&mutated, self.inputs, &|_| ())?;
        let after = rows(&outcome);
        let swapped = before.iter().zip(&after).filter(|(row, _)| has_scrubbed(row));
        let unseen = swapped.filter(|(before, after)| {
            before.compared().map(|row| &row.current) == after.compared().map(|row| &row.current)
        });
        Ok(match unseen.count() {
            0 => report(Mutant::SwapIdentity, true, said(&outcome)),
            n => report(Mutant::SwapIdentity, false, format!("not seen in {n} rows")),
        })
    }

    /// The hashes of captured pages whose names are not shown.
    fn captured_hashes(&self) -> HashSet<&str> {
        let rows = self.inputs.baseline.iter().flat_map(|(baseline, _)| &baseline.rows);
        let pages = rows.flat_map(|row| row.expected().unwrap_or_default());
        pages.filter_map(|page| page.key_hash.as_deref()).collect()
    }

    fn slow_down(&self) -> Result<MutantReport, EvalError> {
        let is_compared =
            self.base.regression.as_ref().is_some_and(|(found, _)| found.latency.n > 0);
        if !is_compared {
            let why = "no captured time can be compared: publish captures with a CPU time, or of this target";
            return Ok(not_applicable(Mutant::SlowDown, why));
        }
        let retriever = Box::new(self.recorded.retriever);
        let slowed = SlowedRetriever { retriever, factor: SLOWDOWN };
        let outcome = gate(&slowed, self.inputs, &|_| ())?;
        // Only the check of latency can see it: what else is red was not slowed.
        let status = outcome.regression.as_ref().map(|(found, _)| found.latency.status);
        let is_killed = status.is_some_and(|status| status != Status::Pass);
        Ok(report(Mutant::SlowDown, is_killed, said(&outcome)))
    }

    fn throw(&self) -> Result<MutantReport, EvalError> {
        let hard = self.hard_queries();
        self.mutate(Mutant::Throw, &|question, answer| {
            if hard.contains(&question.text) {
                let message = "made to fail by the selftest";
                return Err(TargetError::new(TargetErrorKind::Cancelled, message));
            }
            Ok(answer)
        })
    }

    /// A tenth of the queries, those that did worst without any mutant.
    fn hard_queries(&self) -> Vec<String> {
        let mut scored: Vec<(f64, String)> = Vec::new();
        if let Some((_, rows)) = &self.base.regression {
            scored.extend(
                rows.iter().filter_map(|row| Some((row.compared()?.rbo, row.query.clone()))),
            );
        }
        if let Some(found) = &self.base.correctness {
            let judged =
                found.queries.iter().filter(|q| matches!(q.result, QueryResult::Ranked(_)));
            scored.extend(
                judged.map(|q| {
                    (q.recall_at_k.unwrap_or(0.0), q.query.text.clone().unwrap_or_default())
                }),
            );
        }
        scored.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        let tenth = scored.len().div_ceil(10);
        scored.into_iter().take(tenth).map(|(_, query)| query).collect()
    }

    fn edit_baseline(&self) -> MutantReport {
        let Some(text) = self.baseline_text else {
            return not_applicable(Mutant::EditBaseline, "no baseline was given");
        };
        let edits = [remove_last_row(text), swap_first_slugs(text), lower_threshold(text)];
        let mut unseen = Vec::new();
        for (name, edited) in
            ["a row removed", "a row's pages changed", "a threshold lowered"].iter().zip(edits)
        {
            if edited.as_deref().is_some_and(|edited| edited != text && read(edited).is_ok()) {
                unseen.push(*name);
            }
        }
        if unseen.is_empty() {
            return report(Mutant::EditBaseline, true, "every edit is refused".to_owned());
        }
        let note = format!("not seen: {}; publish it again to get a rows_hash", unseen.join(", "));
        report(Mutant::EditBaseline, false, note)
    }

    fn nan(&self) -> Result<MutantReport, EvalError> {
        let nan_thresholds = Thresholds { jaccard: f64::NAN, ..Thresholds::default() };
        if nan_thresholds.check().is_ok() {
            return Ok(report(Mutant::Nan, false, "a threshold of NaN is taken".to_owned()));
        }
        let has_latency =
            self.base.regression.as_ref().is_some_and(|(found, _)| found.latency.n > 0);
        if !has_latency {
            return Ok(report(Mutant::Nan, true, "thresholds of NaN are refused".to_owned()));
        }
        self.mutate(Mutant::Nan, &|_, answer| {
            let timings = Timings { total_ms: Some(f64::NAN), ..answer.timings };
            Ok(TargetAnswer { latency_ms: f64::NAN, timings, ..answer })
        })
    }
}

fn report(mutant: Mutant, is_killed: bool, note: String) -> MutantReport {
    MutantReport { mutant, is_killed: Some(is_killed), note }
}

fn not_applicable(mutant: Mutant, why: &str) -> MutantReport {
    MutantReport { mutant, is_killed: None, note: why.to_owned() }
}

fn said(outcome: &GateOutcome) -> String {
    let of_rows = outcome.regression.iter().flat_map(|(found, _)| &found.breaches);
    let of_queries = outcome.correctness.iter().flat_map(|found| &found.breaches);
    let metrics: Vec<&str> = of_rows.chain(of_queries).map(|breach| breach.metric).collect();
    if metrics.is_empty() { outcome.verdict.to_string() } else { metrics.join(", ") }
}

/// Another order with another first page.
fn rotate(mut pages: Vec<Retrieved>) -> Vec<Retrieved> {
    let middle = pages.len() / 2;
    if middle > 0 {
        pages.rotate_left(middle);
    }
    pages
}

fn swap_source(pages: Vec<Retrieved>) -> Vec<Retrieved> {
    let swap = |page: Retrieved| {
        let other = format!("not-{}", page.source.unwrap_or_default());
        Retrieved { source: Some(other), ..page }
    };
    pages.into_iter().map(swap).collect()
}

/// A slug that looks the same once it is scrubbed.
fn other(scrubbed: &str) -> String {
    scrubbed.replace(MARKER, "swapped-by-selftest-at-example-com")
}

fn read(text: &str) -> Result<Baseline, BaselineError> {
    let mut reader = Reader::default();
    text.lines().try_for_each(|line| reader.line(line))?;
    reader.finish_baseline()
}

fn remove_last_row(text: &str) -> Option<String> {
    let (kept, _) = text.trim_end().rsplit_once('\n')?;
    Some(format!("{kept}\n"))
}

/// Changes what a row expects.
fn swap_first_slugs(text: &str) -> Option<String> {
    let at = text.find("\"retrieved_slugs\":[\"")? + "\"retrieved_slugs\":[\"".len();
    Some(format!("{}edited-{}", &text[..at], &text[at..]))
}

fn lower_threshold(text: &str) -> Option<String> {
    let start = text.find("\"jaccard\":")? + "\"jaccard\":".len();
    let end = start + text[start..].find([',', '}'])?;
    Some(format!("{}0.01{}", &text[..start], &text[end..]))
}

type Answers = HashMap<String, Result<TargetAnswer, TargetError>>;

/// The real retriever, asked once for every question.
struct Recorded<'a> {
    retriever: &'a dyn Retriever,
    answers: Mutex<Answers>,
}

impl Recorded<'_> {
    fn answer(
        &self,
        corpus: Option<&CorpusAt>,
        retriever: &dyn Retriever,
        question: &Question,
    ) -> Result<TargetAnswer, TargetError> {
        let key = format!("{corpus:?} {question:?}");
        if let Some(answer) = self.lock().get(&key) {
            return answer.clone();
        }
        let answer = retriever.retrieve(question);
        self.lock().insert(key, answer.clone());
        answer
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The recorded retriever with something changed.
struct Mutated<'a> {
    recorded: &'a Recorded<'a>,
    change: Change<'a>,
    /// A past corpus, and its retriever.
    past: Option<(CorpusAt, Box<dyn Retriever + 'a>)>,
}

impl Retriever for Mutated<'_> {
    fn info(&self) -> &RetrieverInfo {
        self.recorded.retriever.info()
    }

    fn retrieve(&self, question: &Question) -> Result<TargetAnswer, TargetError> {
        let (corpus, retriever) = match &self.past {
            None => (None, self.recorded.retriever),
            Some((corpus, retriever)) => (Some(corpus), retriever.as_ref()),
        };
        (self.change)(question, self.recorded.answer(corpus, retriever, question)?)
    }

    fn timing(&self, _: &Question) -> Timing {
        Timing::Untimed
    }

    fn at_corpus(&self, corpus: &CorpusAt) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        let (recorded, change) = (self.recorded, self.change);
        let past = recorded.retriever.at_corpus(corpus)?;
        Ok(past.map(|past| {
            let past = Some((corpus.clone(), past));
            Box::new(Mutated { recorded, change, past }) as Box<dyn Retriever>
        }))
    }

    fn has_pages(&self, names: &[&str], viewer: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        self.recorded.retriever.has_pages(names, viewer)
    }
}
