//! Replays captured rows.
//!
//! Rows run in parallel and are reported in the order of the file. Each runs several times: the
//! shortest time counts, and rankings that differ are reported as unstable. A row with a captured
//! CPU time runs as often as its capture was timed, in the same way ([`measure_cpu`]), so that both
//! times can be compared.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use gbrain_brain::cpu::{is_machine_busy, measure_cpu};
use gbrain_core::blame::{CounterfactualResult, Counterfactuals, blame};
use gbrain_core::capture::{CapturedPage, CapturedRow};
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::identity::IdentityKey;
use gbrain_core::latency::{CpuTime, NotComparedReason, TimeComparison, TimingMethod};
use gbrain_core::provenance::{CorpusSnapshot, FactorDifference, Provenance};
use gbrain_core::replay::{
    Caveat, LostPage, PageMatcher, ReplayRequest, ReplaySummary, ReplayedRow, RowComparison,
    RowOutcome, SettingsSource, ask, comparable, compare, first_page_without_source, summarise,
};
use gbrain_core::request::Request;
use gbrain_core::scrub::Scrubber;
use gbrain_core::target::{Question, StageFallback, TargetAnswer};

use crate::{EvalError, Retriever};

/// Number of rows that run once as a warm-up.
const WARM_UP: usize = 8;
/// Maximum number of lost pages per row that are explained.
const LOST: usize = 3;

/// The corpus that rows run against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayCorpus {
    Now,
    /// The corpus of each row's capture, if available.
    Capture,
}

#[derive(Debug, Clone, Copy)]
pub struct ReplayOptions {
    pub as_of: ReplayCorpus,
    pub settings: SettingsSource,
    /// Number of rows that run at once.
    pub concurrency: usize,
    /// Number of runs of each row, at least one; comparing CPU times may require more.
    pub repeats: usize,
    /// Whether to blame a cause for each moved row.
    pub blame: bool,
    /// Number of worst rows to explain.
    pub explain: usize,
    /// The brain's identity key, for rows with scrubbed names; without it they are not comparable.
    pub identity: Option<IdentityKey>,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self {
            as_of: ReplayCorpus::Now,
            settings: SettingsSource::Live,
            concurrency: 1,
            repeats: 3,
            blame: false,
            explain: 0,
            identity: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// Every row, in the order of the file.
    pub rows: Vec<ReplayedRow>,
    pub summary: ReplaySummary,
}

/// A row with the request to replay.
struct ReplayJob<'r> {
    row: &'r CapturedRow,
    asked: ReplayRequest,
    question: Question,
}

/// The question for a request, limited to the retriever's maximum number of results.
fn question_of(retriever: &dyn Retriever, request: &Request) -> Question {
    Question::of_request(request, retriever.info().max_results)
}

/// Replays captured rows against a retriever.
pub fn replay(
    retriever: &dyn Retriever,
    rows: &[CapturedRow],
    options: &ReplayOptions,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Replay, EvalError> {
    if options.as_of == ReplayCorpus::Now && retriever.info().page_count == Some(0) {
        return Err(EvalError::EmptyBrain);
    }
    let scrubber = Scrubber::default();
    let pages = PageMatcher { scrubber: &scrubber, key: options.identity.as_ref() };
    let mut outcomes: Vec<Option<RowOutcome>> = vec![None; rows.len()];
    let mut jobs: Vec<(usize, ReplayJob<'_>)> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let asked = ask(row, &retriever.info().live, options.settings);
        match asked.and_then(|asked| comparable(row, pages.key).map(|()| asked)) {
            Ok(asked) => {
                let question = question_of(retriever, &asked.request);
                jobs.push((place, ReplayJob { row, asked, question }));
            }
            Err(skip) => outcomes[place] = Some(RowOutcome::Skipped(skip)),
        }
    }
    for (corpus, mut group) in by_corpus(jobs, options.as_of) {
        let past = match &corpus {
            None => None,
            Some(corpus) => {
                let past = retriever.at_corpus(corpus)?;
                if past.is_none() {
                    let caveats = group.iter_mut().map(|(_, job)| &mut job.asked.caveats);
                    caveats.for_each(|caveats| caveats.push(Caveat::CorpusUnknown));
                }
                past
            }
        };
        let retriever = past.as_deref().unwrap_or(retriever);
        let run = GroupReplay { retriever, options, pages, progress };
        for (place, outcome) in run.all(&group) {
            outcomes[place] = Some(outcome);
        }
    }
    let mut replayed: Vec<ReplayedRow> = rows
        .iter()
        .zip(outcomes)
        .filter_map(|(row, outcome)| Some(ReplayedRow::new(row, outcome?)))
        .collect();
    if options.blame {
        BlameAnalysis { retriever, options, pages }.all(rows, &mut replayed)?;
    }
    explain(retriever, rows, &mut replayed, options)?;
    let summary = summarise(&replayed);
    Ok(Replay { rows: replayed, summary })
}

type Group<'r> = Vec<(usize, ReplayJob<'r>)>;

/// Groups rows by corpus, in the order of generations.
fn by_corpus(jobs: Group<'_>, as_of: ReplayCorpus) -> Vec<(Option<CorpusSnapshot>, Group<'_>)> {
    let mut groups: BTreeMap<(i64, String), (Option<CorpusSnapshot>, Group<'_>)> = BTreeMap::new();
    for (place, job) in jobs {
        let corpus = match as_of {
            ReplayCorpus::Now => None,
            ReplayCorpus::Capture => job.row.provenance.corpus.clone(),
        };
        let key = corpus.as_ref().map_or((i64::MAX, String::new()), |corpus| {
            (corpus.generation, corpus.fingerprint.root.to_hex())
        });
        let mut job = job;
        if as_of == ReplayCorpus::Capture && corpus.is_none() {
            job.asked.caveats.push(Caveat::CorpusUnknown);
        }
        groups.entry(key).or_insert_with(|| (corpus, Vec::new())).1.push((place, job));
    }
    groups.into_values().collect()
}

/// Replays one group of rows against one retriever.
struct GroupReplay<'a> {
    retriever: &'a dyn Retriever,
    options: &'a ReplayOptions,
    pages: PageMatcher<'a>,
    progress: &'a (dyn Fn(usize) + Sync),
}

impl GroupReplay<'_> {
    fn all(&self, group: &Group<'_>) -> Vec<(usize, RowOutcome)> {
        for (_, job) in group.iter().take(WARM_UP) {
            let _ = self.retriever.retrieve(&job.question);
        }
        // Only captures of a target use the wall clock, which a busy machine distorts.
        let has_target = group.iter().any(|(_, job)| job.row.provenance.target.is_some());
        let is_busy = has_target && is_machine_busy();
        let mut done = self.replay_all(group);
        if has_target && (is_busy || is_machine_busy()) {
            done.iter_mut().for_each(|(_, outcome)| mark_busy(outcome));
        }
        done
    }

    fn replay_all(&self, group: &Group<'_>) -> Vec<(usize, RowOutcome)> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            while let Some((place, job)) = group.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.push((*place, self.one(job)));
                (self.progress)(1);
            }
            done
        };
        let threads = self.options.concurrency.clamp(1, group.len().max(1));
        if threads == 1 {
            return work();
        }
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|w| w.join().expect("rows do not panic")).collect()
        })
    }

    fn one(&self, job: &ReplayJob<'_>) -> RowOutcome {
        match self.repeated(job) {
            Err(error) => RowOutcome::Errored(error),
            Ok((answers, cpu_time)) => match first_page_without_source(job.row, &answers.pages) {
                Some(page) => RowOutcome::Errored(format!(
                    "the target names `{page}` without a source: describe its ids (`ids.source` or \
                     `ids.source_of_result`)"
                )),
                None => RowOutcome::Compared(Box::new(self.compared(job, &answers, cpu_time))),
            },
        }
    }

    /// All answers, and the CPU time if the capture has one to compare with.
    fn repeated(&self, job: &ReplayJob<'_>) -> Result<(RepeatedAnswers, Option<CpuTime>), String> {
        let (retriever, question) = (self.retriever, &job.question);
        let mut answers: Option<RepeatedAnswers> = None;
        let mut ask = || {
            let answer = retriever.retrieve(question);
            let answer = answer.map_err(|error| retriever.info().error_text(&error))?;
            let latency_ms = checked_latency(retriever.info().latency_of(&answer))?;
            match &mut answers {
                Some(answers) => answers.add(&answer, latency_ms),
                None => answers = Some(RepeatedAnswers::new(answer, latency_ms)),
            }
            Ok::<_, String>(())
        };
        let mut cpu_time = None;
        let mut asked = 0;
        if let (TimingMethod::Cpu, Some(captured)) = (retriever.timing(question), job.row.cpu_time)
        {
            cpu_time = measure_cpu(captured.repeats, None, &mut ask)?;
            asked = captured.repeats as usize + 1;
        }
        for _ in asked..self.options.repeats.max(1) {
            ask()?;
        }
        Ok((answers.expect("a row is asked at least once"), cpu_time))
    }

    fn timing(
        &self,
        job: &ReplayJob<'_>,
        answers: &RepeatedAnswers,
        cpu_time: Option<CpuTime>,
    ) -> TimeComparison {
        let row = job.row;
        let (target, now) = (&row.provenance.target, &answers.first.provenance.target);
        let compared = match self.retriever.timing(&job.question) {
            TimingMethod::Untimed => Err(NotComparedReason::Untimed),
            _ if target != now && (target.is_some() || now.is_some()) => {
                Err(NotComparedReason::OtherTarget)
            }
            TimingMethod::Wall if now.is_none() => Err(NotComparedReason::NoCpuClock),
            TimingMethod::Wall => wall_times(row, answers),
            TimingMethod::Cpu => match (row.cpu_time, cpu_time) {
                (None, _) => Err(NotComparedReason::NoCpuTime),
                (Some(_), None) => Err(NotComparedReason::NoCpuClock),
                (Some(captured), Some(current)) => Ok(TimeComparison::Cpu { captured, current }),
            },
        };
        compared.unwrap_or_else(TimeComparison::NotCompared)
    }

    fn compared(
        &self,
        job: &ReplayJob<'_>,
        answers: &RepeatedAnswers,
        cpu_time: Option<CpuTime>,
    ) -> RowComparison {
        let answer = &answers.first;
        let mut caveats = job.asked.caveats.clone();
        // A stage that was already degraded in the capture adds no caveat.
        let is_known = |fallback: &StageFallback| {
            let mut known = job.row.degraded.iter();
            known.any(|(stage, reason)| (stage, reason) == (&fallback.stage, &fallback.reason))
        };
        if !answer.fallbacks.iter().all(is_known) {
            caveats.push(Caveat::ReplayDegraded);
        }
        if !answers.is_stable {
            caveats.push(Caveat::Unstable);
        }
        if !answer.not_asked.is_empty() || job.question.k < job.asked.request.limit {
            caveats.push(Caveat::NotAsked);
        }
        let sides = self.pages.comparable_rankings(job.row, &answers.pages, job.asked.cut);
        let differences = job.row.provenance.differences(&answer.provenance);
        // A saved answer has no latency.
        let latencies = match answers.shortest(answers.latencies.len()) {
            Some(current) => (job.row.latency_ms, current),
            None => (None, 0.0),
        };
        let timing = self.timing(job, answers, cpu_time);
        RowComparison { timing, ..compare(sides, latencies, caveats, differences) }
    }
}

/// The repeated answers to one request.
struct RepeatedAnswers {
    first: TargetAnswer,
    /// The pages of the first answer.
    pages: Vec<CapturedPage>,
    /// Whether all answers have the same pages in the same order.
    is_stable: bool,
    /// The latencies, in order.
    latencies: Vec<Option<f64>>,
}

impl RepeatedAnswers {
    fn new(first: TargetAnswer, latency_ms: Option<f64>) -> Self {
        Self { pages: first.pages(), first, is_stable: true, latencies: vec![latency_ms] }
    }

    fn add(&mut self, answer: &TargetAnswer, latency_ms: Option<f64>) {
        self.latencies.push(latency_ms);
        self.is_stable &= answer.documents() == self.first.documents();
    }

    /// The shortest latency of the first `count` answers; `None` if one of them has none.
    fn shortest(&self, count: usize) -> Option<f64> {
        let timed = self.latencies.iter().take(count);
        timed.copied().reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b)))?
    }
}

/// Rejects invalid latencies: they would be left out of comparisons and so pass them.
fn checked_latency(latency_ms: Option<f64>) -> Result<Option<f64>, String> {
    match latency_ms {
        Some(ms) if !(ms.is_finite() && ms >= 0.0) => {
            Err(format!("it reported a latency of {ms} ms, which is not a time"))
        }
        latency => Ok(latency),
    }
}

/// Compares wall-clock times of a row that was captured from the same target.
fn wall_times(
    row: &CapturedRow,
    answers: &RepeatedAnswers,
) -> Result<TimeComparison, NotComparedReason> {
    let captured_ms = row.latency_ms.filter(|ms| *ms > 0.0).ok_or(NotComparedReason::NoLatency)?;
    let repeats = row.latency_repeats.and_then(|repeats| usize::try_from(repeats).ok());
    let repeats = repeats.filter(|repeats| (1..=answers.latencies.len()).contains(repeats));
    let repeats = repeats.ok_or(NotComparedReason::OtherRepeats)?;
    let current_ms = answers.shortest(repeats).ok_or(NotComparedReason::NoLatency)?;
    Ok(TimeComparison::Wall { captured_ms, current_ms, is_machine_busy: false })
}

fn mark_busy(outcome: &mut RowOutcome) {
    if let RowOutcome::Compared(compared) = outcome
        && let TimeComparison::Wall { is_machine_busy, .. } = &mut compared.timing
    {
        *is_machine_busy = true;
    }
}

/// Blames a cause for each moved row, by replaying it with other settings and corpora.
struct BlameAnalysis<'a> {
    retriever: &'a dyn Retriever,
    options: &'a ReplayOptions,
    pages: PageMatcher<'a>,
}

impl BlameAnalysis<'_> {
    fn all(&self, rows: &[CapturedRow], replayed: &mut [ReplayedRow]) -> Result<(), EvalError> {
        let mut moved: Vec<usize> = (0..rows.len())
            .filter(|place| replayed[*place].compared().is_some_and(RowComparison::is_moved))
            .collect();
        // Past corpora are cheapest in ascending order.
        moved.sort_by_key(|place| generation(&rows[*place].provenance));
        for place in moved {
            let RowOutcome::Compared(compared) = &replayed[place].outcome else { continue };
            let corners = self.corners(&rows[place], compared)?;
            let found = blame(corners, &compared.differences);
            if let RowOutcome::Compared(compared) = &mut replayed[place].outcome {
                compared.blame = Some(found);
            }
        }
        Ok(())
    }

    fn corners(
        &self,
        row: &CapturedRow,
        compared: &RowComparison,
    ) -> Result<Counterfactuals, EvalError> {
        let differs = |difference| difference == FactorDifference::Differs;
        let (of_corpus, of_settings) =
            (differs(compared.differences.corpus), differs(compared.differences.settings));
        let as_is = match self.options.as_of {
            ReplayCorpus::Now => None,
            ReplayCorpus::Capture => row.provenance.corpus.as_ref(),
        };
        let captured = row.provenance.corpus.as_ref();
        let corner = |is_other, corpus, from| {
            if is_other {
                self.corner(row, corpus, from)
            } else {
                Ok(CounterfactualResult::SameAsNow)
            }
        };
        Ok(Counterfactuals {
            corpus: corner(of_corpus, captured, self.options.settings)?,
            settings: corner(of_settings, as_is, SettingsSource::Capture)?,
            both: corner(of_corpus && of_settings, captured, SettingsSource::Capture)?,
        })
    }

    fn corner(
        &self,
        row: &CapturedRow,
        corpus: Option<&CorpusSnapshot>,
        from: SettingsSource,
    ) -> Result<CounterfactualResult, EvalError> {
        let live = &self.retriever.info().live;
        let Ok(asked) = ask(row, live, from) else { return Ok(CounterfactualResult::Unavailable) };
        let past = corpus.map(|corpus| self.retriever.at_corpus(corpus)).transpose()?;
        let retriever = match &past {
            _ if asked.caveats.contains(&Caveat::SettingsUnknown) => None,
            None => Some(self.retriever),
            Some(past) => past.as_deref(),
        };
        let Some(retriever) = retriever else { return Ok(CounterfactualResult::Unavailable) };
        let Ok(answer) = retriever.retrieve(&question_of(retriever, &asked.request)) else {
            return Ok(CounterfactualResult::Unavailable);
        };
        let pages = answer.pages();
        if first_page_without_source(row, &pages).is_some() {
            return Ok(CounterfactualResult::Unavailable);
        }
        let sides = self.pages.comparable_rankings(row, &pages, asked.cut);
        Ok(if sides.captured == sides.current {
            CounterfactualResult::Restores
        } else {
            CounterfactualResult::Differs
        })
    }
}

fn generation(provenance: &Provenance) -> i64 {
    provenance.corpus.as_ref().map_or(i64::MAX, |corpus| corpus.generation)
}

/// Explains where the lost pages of the worst rows were dropped.
fn explain(
    newest: &dyn Retriever,
    rows: &[CapturedRow],
    replayed: &mut [ReplayedRow],
    options: &ReplayOptions,
) -> Result<(), EvalError> {
    if options.explain == 0 {
        return Ok(());
    }
    let mut worst: Vec<(usize, f64)> = replayed
        .iter()
        .enumerate()
        .filter_map(|(place, row)| Some((place, row.compared()?)))
        .filter(|(_, compared)| compared.jaccard < 1.0)
        .map(|(place, compared)| (place, compared.jaccard))
        .collect();
    worst.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    for (place, _) in worst.into_iter().take(options.explain) {
        let row = &rows[place];
        let Ok(asked) = ask(row, &newest.info().live, options.settings) else { continue };
        let corpus = match options.as_of {
            ReplayCorpus::Now => None,
            ReplayCorpus::Capture => row.provenance.corpus.as_ref(),
        };
        let past = corpus.map(|corpus| newest.at_corpus(corpus)).transpose()?.flatten();
        let retriever = past.as_deref().unwrap_or(newest);
        let question = question_of(retriever, &asked.request);
        let RowOutcome::Compared(compared) = &mut replayed[place].outcome else { continue };
        compared.lost = lost(retriever, &question, row, compared);
    }
    Ok(())
}

fn lost(
    retriever: &dyn Retriever,
    question: &Question,
    row: &CapturedRow,
    compared: &RowComparison,
) -> Vec<LostPage> {
    let hashed: Vec<String> = row
        .expected()
        .unwrap_or_default()
        .iter()
        .filter(|page| page.is_scrubbed())
        .map(ToString::to_string)
        .collect();
    let gone = compared.captured.iter().filter(|page| !compared.current.contains(page));
    gone.take(LOST)
        .filter_map(|page| {
            if hashed.contains(page) {
                return Some(scrubbed_away(page));
            }
            let key = PageKey::parse(page, &SourceId::default()).ok()?;
            retriever.why_not(question, &key)
        })
        .collect()
}

/// A scrubbed name is only a hash, by which no page can be looked up.
fn scrubbed_away(page: &str) -> LostPage {
    LostPage {
        page: page.to_owned(),
        stage: "unknown".to_owned(),
        why: "the capture keeps only a hash of its name, so it can't be followed".to_owned(),
    }
}
