//! Asking captured rows again.
//!
//! Rows are asked in parallel and reported in the order of the file. Each is asked several times:
//! the shortest time counts, and rankings that are not all the same are reported as unstable. A row
//! with a captured CPU time is asked as often as its capture was timed, in the same way
//! ([`measure_cpu`]), so that both times can be compared.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use gbrain_brain::cpu::{is_machine_busy, measure_cpu};
use gbrain_core::blame::{Corner, Corners, blame};
use gbrain_core::capture::{CapturedRow, Retrieved};
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::identity::IdentityKey;
use gbrain_core::latency::{CpuTime, NotCompared, TimeComparison, Timing};
use gbrain_core::provenance::{CorpusAt, Difference, Provenance};
use gbrain_core::replay::{
    Asked, Caveat, Compared, Lost, Outcome, PageMatcher, ReplayedRow, SettingsFrom, Summary, ask,
    comparable, compare, summarise, unsourced,
};
use gbrain_core::request::Request;
use gbrain_core::scrub::Scrubber;
use gbrain_core::target::{Question, StageFallback, TargetAnswer};

use crate::{EvalError, Retriever};

/// Rows that are asked once before anything is timed.
const WARM_UP: usize = 8;
/// Lost pages of one row that are followed through the pipeline.
const LOST: usize = 3;

/// Which corpus rows are asked of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsOf {
    Now,
    /// Each row's own, where it can be had.
    Capture,
}

/// How to replay.
#[derive(Debug, Clone, Copy)]
pub struct ReplayOptions {
    /// Which corpus rows are asked of.
    pub as_of: AsOf,
    /// Whose settings are used.
    pub settings: SettingsFrom,
    /// How many rows are asked at once.
    pub concurrency: usize,
    /// How often each row is asked, at least once; a row whose CPU time is compared is asked at
    /// least as often as that takes.
    pub repeats: usize,
    /// Whether to find out what moved each row.
    pub blame: bool,
    /// How many of the worst rows to explain.
    pub explain: usize,
    /// The key of the brain, for rows whose names were scrubbed; without it they are not comparable.
    pub identity: Option<IdentityKey>,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self {
            as_of: AsOf::Now,
            settings: SettingsFrom::Live,
            concurrency: 1,
            repeats: 3,
            blame: false,
            explain: 0,
            identity: None,
        }
    }
}

/// What a replay gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// Every row, in the order of the file.
    pub rows: Vec<ReplayedRow>,
    /// What they add up to.
    pub summary: Summary,
}

/// A row on its way.
struct Job<'r> {
    row: &'r CapturedRow,
    asked: Asked,
    question: Question,
}

/// The question of a request. A retriever that gives fewer results is asked for as many as it gives.
fn question_of(retriever: &dyn Retriever, request: &Request) -> Question {
    Question::of_request(request, retriever.info().max_results)
}

/// Asks rows again.
pub fn replay(
    retriever: &dyn Retriever,
    rows: &[CapturedRow],
    options: &ReplayOptions,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Replay, EvalError> {
    if options.as_of == AsOf::Now && retriever.info().page_count == Some(0) {
        return Err(EvalError::EmptyBrain);
    }
    let scrubber = Scrubber::default();
    let pages = PageMatcher { scrubber: &scrubber, key: options.identity.as_ref() };
    let mut outcomes: Vec<Option<Outcome>> = vec![None; rows.len()];
    let mut jobs: Vec<(usize, Job<'_>)> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let asked = ask(row, &retriever.info().live, options.settings);
        match asked.and_then(|asked| comparable(row, pages.key).map(|()| asked)) {
            Ok(asked) => {
                let question = question_of(retriever, &asked.request);
                jobs.push((place, Job { row, asked, question }));
            }
            Err(skip) => outcomes[place] = Some(Outcome::Skipped(skip)),
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
        let run = Run { retriever, options, pages, progress };
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
        Blaming { retriever, options, pages }.all(rows, &mut replayed)?;
    }
    explain(retriever, rows, &mut replayed, options)?;
    let summary = summarise(&replayed);
    Ok(Replay { rows: replayed, summary })
}

type Group<'r> = Vec<(usize, Job<'r>)>;

/// Rows that are asked of the same corpus, in the order of generations.
fn by_corpus(jobs: Group<'_>, as_of: AsOf) -> Vec<(Option<CorpusAt>, Group<'_>)> {
    let mut groups: BTreeMap<(i64, String), (Option<CorpusAt>, Group<'_>)> = BTreeMap::new();
    for (place, job) in jobs {
        let corpus = match as_of {
            AsOf::Now => None,
            AsOf::Capture => job.row.provenance.corpus.clone(),
        };
        let key = corpus.as_ref().map_or((i64::MAX, String::new()), |corpus| {
            (corpus.generation, corpus.print.root.to_hex())
        });
        let mut job = job;
        if as_of == AsOf::Capture && corpus.is_none() {
            job.asked.caveats.push(Caveat::CorpusUnknown);
        }
        groups.entry(key).or_insert_with(|| (corpus, Vec::new())).1.push((place, job));
    }
    groups.into_values().collect()
}

/// Asks one group of rows of one retriever.
struct Run<'a> {
    retriever: &'a dyn Retriever,
    options: &'a ReplayOptions,
    pages: PageMatcher<'a>,
    progress: &'a (dyn Fn(usize) + Sync),
}

impl Run<'_> {
    fn all(&self, group: &Group<'_>) -> Vec<(usize, Outcome)> {
        for (_, job) in group.iter().take(WARM_UP) {
            let _ = self.retriever.retrieve(&job.question);
        }
        // Only captures of a target are compared by the wall clock, which a busy machine distorts.
        let has_target = group.iter().any(|(_, job)| job.row.provenance.target.is_some());
        let is_busy = has_target && is_machine_busy();
        let mut done = self.asked(group);
        if has_target && (is_busy || is_machine_busy()) {
            done.iter_mut().for_each(|(_, outcome)| mark_busy(outcome));
        }
        done
    }

    fn asked(&self, group: &Group<'_>) -> Vec<(usize, Outcome)> {
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

    fn one(&self, job: &Job<'_>) -> Outcome {
        match self.repeated(job) {
            Err(error) => Outcome::Errored(error),
            Ok((answers, cpu_time)) => match unsourced(job.row, &answers.pages) {
                Some(page) => Outcome::Errored(format!(
                    "the target names `{page}` without a source: describe its ids (`ids.source` or \
                     `ids.source_of_result`)"
                )),
                None => Outcome::Compared(Box::new(self.compared(job, &answers, cpu_time))),
            },
        }
    }

    /// Every answer, and the CPU time where the capture has one to compare it with.
    fn repeated(&self, job: &Job<'_>) -> Result<(Answers, Option<CpuTime>), String> {
        let (retriever, question) = (self.retriever, &job.question);
        let mut answers: Option<Answers> = None;
        let mut ask = || {
            let answer = retriever.retrieve(question);
            let answer = answer.map_err(|error| retriever.info().error_text(&error))?;
            let latency_ms = checked_latency(retriever.info().latency_of(&answer))?;
            match &mut answers {
                Some(answers) => answers.add(&answer, latency_ms),
                None => answers = Some(Answers::new(answer, latency_ms)),
            }
            Ok::<_, String>(())
        };
        let mut cpu_time = None;
        let mut asked = 0;
        if let (Timing::Cpu, Some(captured)) = (retriever.timing(question), job.row.cpu_time) {
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
        job: &Job<'_>,
        answers: &Answers,
        cpu_time: Option<CpuTime>,
    ) -> TimeComparison {
        let row = job.row;
        let (target, now) = (&row.provenance.target, &answers.first.provenance.target);
        let compared = match self.retriever.timing(&job.question) {
            Timing::Untimed => Err(NotCompared::Untimed),
            _ if target != now && (target.is_some() || now.is_some()) => {
                Err(NotCompared::OtherTarget)
            }
            Timing::Wall if now.is_none() => Err(NotCompared::NoCpuClock),
            Timing::Wall => wall_times(row, answers),
            Timing::Cpu => match (row.cpu_time, cpu_time) {
                (None, _) => Err(NotCompared::NoCpuTime),
                (Some(_), None) => Err(NotCompared::NoCpuClock),
                (Some(captured), Some(current)) => Ok(TimeComparison::Cpu { captured, current }),
            },
        };
        compared.unwrap_or_else(TimeComparison::NotCompared)
    }

    fn compared(&self, job: &Job<'_>, answers: &Answers, cpu_time: Option<CpuTime>) -> Compared {
        let answer = &answers.first;
        let mut caveats = job.asked.caveats.clone();
        // A stage that already failed when the row was captured is no news.
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
        let sides = self.pages.sides(job.row, &answers.pages, job.asked.cut);
        let differences = job.row.provenance.differences(&answer.provenance);
        // An answer that was saved has no time.
        let latencies = match answers.shortest(answers.latencies.len()) {
            Some(current) => (job.row.latency_ms, current),
            None => (None, 0.0),
        };
        let timing = self.timing(job, answers, cpu_time);
        Compared { timing, ..compare(sides, latencies, caveats, differences) }
    }
}

/// Every answer to one request.
struct Answers {
    first: TargetAnswer,
    /// The pages of the first.
    pages: Vec<Retrieved>,
    /// Whether all have the same pages in the same order.
    is_stable: bool,
    /// The time of each, in order.
    latencies: Vec<Option<f64>>,
}

impl Answers {
    fn new(first: TargetAnswer, latency_ms: Option<f64>) -> Self {
        Self { pages: first.pages(), first, is_stable: true, latencies: vec![latency_ms] }
    }

    fn add(&mut self, answer: &TargetAnswer, latency_ms: Option<f64>) {
        self.latencies.push(latency_ms);
        self.is_stable &= answer.documents() == self.first.documents();
    }

    /// The shortest time of the first so many answers; none if one of them has no time.
    fn shortest(&self, count: usize) -> Option<f64> {
        let timed = self.latencies.iter().take(count);
        timed.copied().reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b)))?
    }
}

/// A time that is not one would pass every comparison that it is left out of.
fn checked_latency(latency_ms: Option<f64>) -> Result<Option<f64>, String> {
    match latency_ms {
        Some(ms) if !(ms.is_finite() && ms >= 0.0) => {
            Err(format!("it reported a latency of {ms} ms, which is not a time"))
        }
        latency => Ok(latency),
    }
}

/// The wall-clock times of a row that was captured from the same target.
fn wall_times(row: &CapturedRow, answers: &Answers) -> Result<TimeComparison, NotCompared> {
    let captured_ms = row.latency_ms.filter(|ms| *ms > 0.0).ok_or(NotCompared::NoLatency)?;
    let repeats = row.latency_repeats.and_then(|repeats| usize::try_from(repeats).ok());
    let repeats = repeats.filter(|repeats| (1..=answers.latencies.len()).contains(repeats));
    let repeats = repeats.ok_or(NotCompared::OtherRepeats)?;
    let current_ms = answers.shortest(repeats).ok_or(NotCompared::NoLatency)?;
    Ok(TimeComparison::Wall { captured_ms, current_ms, is_machine_busy: false })
}

fn mark_busy(outcome: &mut Outcome) {
    if let Outcome::Compared(compared) = outcome
        && let TimeComparison::Wall { is_machine_busy, .. } = &mut compared.timing
    {
        *is_machine_busy = true;
    }
}

/// Finds out what moved each row, by asking its corners.
struct Blaming<'a> {
    retriever: &'a dyn Retriever,
    options: &'a ReplayOptions,
    pages: PageMatcher<'a>,
}

impl Blaming<'_> {
    fn all(&self, rows: &[CapturedRow], replayed: &mut [ReplayedRow]) -> Result<(), EvalError> {
        let mut moved: Vec<usize> = (0..rows.len())
            .filter(|place| replayed[*place].compared().is_some_and(Compared::is_moved))
            .collect();
        // Past corpora are cheapest in rising order.
        moved.sort_by_key(|place| generation(&rows[*place].provenance));
        for place in moved {
            let Outcome::Compared(compared) = &replayed[place].outcome else { continue };
            let corners = self.corners(&rows[place], compared)?;
            let found = blame(corners, &compared.differences);
            if let Outcome::Compared(compared) = &mut replayed[place].outcome {
                compared.blame = Some(found);
            }
        }
        Ok(())
    }

    fn corners(&self, row: &CapturedRow, compared: &Compared) -> Result<Corners, EvalError> {
        let differs = |difference| difference == Difference::Differs;
        let (of_corpus, of_settings) =
            (differs(compared.differences.corpus), differs(compared.differences.settings));
        let as_is = match self.options.as_of {
            AsOf::Now => None,
            AsOf::Capture => row.provenance.corpus.as_ref(),
        };
        let captured = row.provenance.corpus.as_ref();
        let corner = |is_other, corpus, from| {
            if is_other { self.corner(row, corpus, from) } else { Ok(Corner::SameAsNow) }
        };
        Ok(Corners {
            corpus: corner(of_corpus, captured, self.options.settings)?,
            settings: corner(of_settings, as_is, SettingsFrom::Capture)?,
            both: corner(of_corpus && of_settings, captured, SettingsFrom::Capture)?,
        })
    }

    fn corner(
        &self,
        row: &CapturedRow,
        corpus: Option<&CorpusAt>,
        from: SettingsFrom,
    ) -> Result<Corner, EvalError> {
        let live = &self.retriever.info().live;
        let Ok(asked) = ask(row, live, from) else { return Ok(Corner::Unavailable) };
        let past = corpus.map(|corpus| self.retriever.at_corpus(corpus)).transpose()?;
        let retriever = match &past {
            _ if asked.caveats.contains(&Caveat::SettingsUnknown) => None,
            None => Some(self.retriever),
            Some(past) => past.as_deref(),
        };
        let Some(retriever) = retriever else { return Ok(Corner::Unavailable) };
        let Ok(answer) = retriever.retrieve(&question_of(retriever, &asked.request)) else {
            return Ok(Corner::Unavailable);
        };
        let pages = answer.pages();
        if unsourced(row, &pages).is_some() {
            return Ok(Corner::Unavailable);
        }
        let sides = self.pages.sides(row, &pages, asked.cut);
        Ok(if sides.captured == sides.current { Corner::Restores } else { Corner::Differs })
    }
}

fn generation(provenance: &Provenance) -> i64 {
    provenance.corpus.as_ref().map_or(i64::MAX, |corpus| corpus.generation)
}

/// Follows the lost pages of the worst rows through the pipeline.
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
            AsOf::Now => None,
            AsOf::Capture => row.provenance.corpus.as_ref(),
        };
        let past = corpus.map(|corpus| newest.at_corpus(corpus)).transpose()?.flatten();
        let retriever = past.as_deref().unwrap_or(newest);
        let question = question_of(retriever, &asked.request);
        let Outcome::Compared(compared) = &mut replayed[place].outcome else { continue };
        compared.lost = lost(retriever, &question, row, compared);
    }
    Ok(())
}

fn lost(
    retriever: &dyn Retriever,
    question: &Question,
    row: &CapturedRow,
    compared: &Compared,
) -> Vec<Lost> {
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

/// Of a scrubbed name only the hash is left, which no page can be looked up by.
fn scrubbed_away(page: &str) -> Lost {
    Lost {
        page: page.to_owned(),
        stage: "unknown".to_owned(),
        why: "the capture keeps only a hash of its name, so it can't be followed".to_owned(),
    }
}
