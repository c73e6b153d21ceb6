//! A mutation test of the gate: the gate runs on a retriever that is broken in known ways. A mutant
//! that passes is a hole in the gate.
//!
//! The gate runs on the real retriever first. Most mutants modify its recorded answers; one is
//! about time and slows the real retriever down.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use gbrain_core::baseline::{Baseline, BaselineError, BaselineReader, BaselineThresholds};
use gbrain_core::capture::CapturedPage;
use gbrain_core::format::selftest::{MutantRow, SelftestBody};
use gbrain_core::gate::{CheckStatus, QueryResult, Verdict};
use gbrain_core::latency::TimingMethod;
use gbrain_core::named;
use gbrain_core::provenance::CorpusSnapshot;
use gbrain_core::replay::ReplayedRow;
use gbrain_core::request::Viewer;
use gbrain_core::scrub::{MARKER, Scrubber};
use gbrain_core::target::{
    Question, TargetAnswer, TargetError, TargetErrorKind, TargetResult, TargetTimings,
};

use crate::gate::{GateInputs, GateOutcome, gate};
use crate::retriever::RetrieverInfo;
use crate::{EvalError, Retriever, SlowedRetriever};

const SLOWDOWN: u32 = 3;

/// A way to break a retriever, or the file that gates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mutant {
    DropFirst,
    /// Returns the same pages in another order.
    Shuffle,
    /// Removes the second half.
    Truncate,
    /// Repeats the first page.
    Duplicate,
    /// Returns the right slugs with a wrong source.
    SwapSource,
    /// Returns other pages whose scrubbed names are the same.
    SwapIdentity,
    Empty,
    /// Triples the work, or for a remote target the wait.
    SlowDown,
    /// Fails the hardest queries.
    Throw,
    /// Edits the baseline after it was published.
    EditBaseline,
    /// Makes a latency, and a threshold, not a number.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MutantReport {
    pub mutant: Mutant,
    /// Whether the gate detected it; `None` if it does not apply to these files.
    pub is_killed: Option<bool>,
    /// A description of what happened.
    pub note: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Selftest {
    /// The verdict without any mutant: if the gate fails anyway, the test says nothing.
    pub unmutated: Verdict,
    pub mutants: Vec<MutantReport>,
}

impl Selftest {
    /// The number of detected mutants, and of applicable ones.
    pub fn kills(&self) -> (usize, usize) {
        let applied = self.mutants.iter().filter_map(|report| report.is_killed);
        (applied.clone().filter(|killed| *killed).count(), applied.count())
    }

    /// The body that `--json` prints.
    pub fn wire_body(&self) -> SelftestBody<'_> {
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

/// Runs every mutant. `baseline_text` is the baseline's file.
pub fn selftest(
    retriever: &dyn Retriever,
    inputs: &GateInputs<'_>,
    baseline_text: Option<&str>,
) -> Result<Selftest, EvalError> {
    let recorded = RecordedRetriever { retriever, answers: Mutex::default() };
    let mut inputs = inputs.clone();
    (inputs.replay.blame, inputs.replay.explain) = (false, 0);
    let base = gate(retriever, &inputs, &|_| ())?;
    let test = MutationTest { recorded: &recorded, inputs: &inputs, base: &base, baseline_text };
    let mutants = Mutant::ALL.iter().map(|mutant| test.run(*mutant));
    Ok(Selftest { unmutated: base.verdict, mutants: mutants.collect::<Result<_, _>>()? })
}

struct MutationTest<'a> {
    recorded: &'a RecordedRetriever<'a>,
    inputs: &'a GateInputs<'a>,
    base: &'a GateOutcome,
    baseline_text: Option<&'a str>,
}

type AnswerMutation<'a> =
    &'a (dyn Fn(&Question, TargetAnswer) -> Result<TargetAnswer, TargetError> + Sync);

fn with_pages(answer: TargetAnswer, pages: &[CapturedPage]) -> TargetAnswer {
    let result = |page: &CapturedPage| TargetResult {
        document: page.to_string(),
        ..TargetResult::default()
    };
    TargetAnswer { results: pages.iter().map(result).collect(), ..answer }
}

impl MutationTest<'_> {
    fn run(&self, mutant: Mutant) -> Result<MutantReport, EvalError> {
        let pages = |change: fn(Vec<CapturedPage>) -> Vec<CapturedPage>| {
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

    /// Whether some answer has more than one page.
    fn has_long_answer(&self) -> bool {
        let rows = self.base.regression.iter().flat_map(|(_, rows)| rows);
        let mut rows = rows.filter_map(ReplayedRow::compared);
        let mut queries = self.base.correctness.iter().flat_map(|found| &found.queries);
        rows.any(|row| row.current.len() > 1)
            || queries
                .any(|query| matches!(&query.result, QueryResult::Ranked(pages) if pages.len() > 1))
    }

    fn mutate(
        &self,
        mutant: Mutant,
        change: AnswerMutation<'_>,
    ) -> Result<MutantReport, EvalError> {
        let mutated = MutatedRetriever { recorded: self.recorded, change, past: None };
        let mut inputs = self.inputs.clone();
        inputs.replay.repeats = 1;
        let outcome = gate(&mutated, &inputs, &|_| ())?;
        Ok(report(mutant, outcome.verdict != Verdict::Pass, summarise(&outcome)))
    }

    /// Rows with scrubbed names may be too few to move a mean, so each of them must be detected.
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
            let swap = |page: CapturedPage| {
                let scrubbed = scrubber.scrub_slug(&page.slug);
                let source = page.source.as_deref();
                let key = self.inputs.replay.identity.as_ref();
                let hash =
                    key.zip(source).map(|(key, source)| key.keyed_page_hash_of(source, &page.slug));
                match hash.is_some_and(|hash| hashes.contains(hash.as_str())) {
                    // Scrubbing does not change the name of a private page.
                    true if scrubbed == page.slug => CapturedPage { slug: other(MARKER), ..page },
                    false if scrubbed == page.slug => page,
                    _ => CapturedPage { slug: other(&scrubbed), ..page },
                }
            };
            let pages: Vec<CapturedPage> = answer.pages().into_iter().map(swap).collect();
            Ok(with_pages(answer, &pages))
        };
        let mutated = MutatedRetriever { recorded: self.recorded, change: &change, past: None };
        let outcome = gate(&mutated, self.inputs, &|_| ())?;
        let after = rows(&outcome);
        let swapped = before.iter().zip(&after).filter(|(row, _)| has_scrubbed(row));
        let unseen = swapped.filter(|(before, after)| {
            before.compared().map(|row| &row.current) == after.compared().map(|row| &row.current)
        });
        Ok(match unseen.count() {
            0 => report(Mutant::SwapIdentity, true, summarise(&outcome)),
            n => report(Mutant::SwapIdentity, false, format!("not seen in {n} rows")),
        })
    }

    /// The hashes of captured pages with hidden names.
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
        // Only the latency check can detect it: other failures have other causes.
        let status = outcome.regression.as_ref().map(|(found, _)| found.latency.status);
        let is_killed = status.is_some_and(|status| status != CheckStatus::Pass);
        Ok(report(Mutant::SlowDown, is_killed, summarise(&outcome)))
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

    /// The tenth of the queries that scored worst without any mutant.
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
        let nan_thresholds =
            BaselineThresholds { jaccard: f64::NAN, ..BaselineThresholds::default() };
        if nan_thresholds.check().is_ok() {
            return Ok(report(Mutant::Nan, false, "a threshold of NaN is taken".to_owned()));
        }
        let has_latency =
            self.base.regression.as_ref().is_some_and(|(found, _)| found.latency.n > 0);
        if !has_latency {
            return Ok(report(Mutant::Nan, true, "thresholds of NaN are refused".to_owned()));
        }
        self.mutate(Mutant::Nan, &|_, answer| {
            let timings = TargetTimings { total_ms: Some(f64::NAN), ..answer.timings };
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

fn summarise(outcome: &GateOutcome) -> String {
    let of_rows = outcome.regression.iter().flat_map(|(found, _)| &found.breaches);
    let of_queries = outcome.correctness.iter().flat_map(|found| &found.breaches);
    let metrics: Vec<&str> = of_rows.chain(of_queries).map(|breach| breach.metric).collect();
    if metrics.is_empty() { outcome.verdict.to_string() } else { metrics.join(", ") }
}

/// Rotates the pages, so that another one is first.
fn rotate(mut pages: Vec<CapturedPage>) -> Vec<CapturedPage> {
    let middle = pages.len() / 2;
    if middle > 0 {
        pages.rotate_left(middle);
    }
    pages
}

fn swap_source(pages: Vec<CapturedPage>) -> Vec<CapturedPage> {
    let swap = |page: CapturedPage| {
        let other = format!("not-{}", page.source.unwrap_or_default());
        CapturedPage { source: Some(other), ..page }
    };
    pages.into_iter().map(swap).collect()
}

/// Another slug with the same scrubbed form.
fn other(scrubbed: &str) -> String {
    scrubbed.replace(MARKER, "swapped-by-selftest-at-example-com")
}

fn read(text: &str) -> Result<Baseline, BaselineError> {
    let mut reader = BaselineReader::default();
    text.lines().try_for_each(|line| reader.line(line))?;
    reader.finish_baseline()
}

fn remove_last_row(text: &str) -> Option<String> {
    let (kept, _) = text.trim_end().rsplit_once('\n')?;
    Some(format!("{kept}\n"))
}

/// Edits the expected pages of the first row.
fn swap_first_slugs(text: &str) -> Option<String> {
    let at = text.find("\"retrieved_slugs\":[\"")? + "\"retrieved_slugs\":[\"".len();
    Some(format!("{}edited-{}", &text[..at], &text[at..]))
}

fn lower_threshold(text: &str) -> Option<String> {
    let start = text.find("\"jaccard\":")? + "\"jaccard\":".len();
    let end = start + text[start..].find([',', '}'])?;
    Some(format!("{}0.01{}", &text[..start], &text[end..]))
}

type AnswerCache = HashMap<String, Result<TargetAnswer, TargetError>>;

/// Records the answers of the real retriever, so that each question is asked once.
struct RecordedRetriever<'a> {
    retriever: &'a dyn Retriever,
    answers: Mutex<AnswerCache>,
}

impl RecordedRetriever<'_> {
    fn answer(
        &self,
        corpus: Option<&CorpusSnapshot>,
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

    fn lock(&self) -> std::sync::MutexGuard<'_, AnswerCache> {
        self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The recorded retriever with modified answers.
struct MutatedRetriever<'a> {
    recorded: &'a RecordedRetriever<'a>,
    change: AnswerMutation<'a>,
    /// A past corpus with its retriever.
    past: Option<(CorpusSnapshot, Box<dyn Retriever + 'a>)>,
}

impl Retriever for MutatedRetriever<'_> {
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

    fn timing(&self, _: &Question) -> TimingMethod {
        TimingMethod::Untimed
    }

    fn at_corpus(
        &self,
        corpus: &CorpusSnapshot,
    ) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        let (recorded, change) = (self.recorded, self.change);
        let past = recorded.retriever.at_corpus(corpus)?;
        Ok(past.map(|past| {
            let past = Some((corpus.clone(), past));
            Box::new(MutatedRetriever { recorded, change, past }) as Box<dyn Retriever>
        }))
    }

    fn has_pages(&self, names: &[&str], viewer: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        self.recorded.retriever.has_pages(names, viewer)
    }
}
