//! Runs questions: haystacks in parallel, outcomes in the order of the dataset.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use gbrain_brain::Assistants;
use gbrain_core::benchmark::reading::{ReadingPrompt, excerpts, prompt};
use gbrain_core::benchmark::{
    DatasetQuestion, DocumentText, Granularity, Haystack, HaystackRanking, QuestionOutcome,
    QuestionTimings, ReferenceOrder, ScoringRules, ShownDocument, ShownPassages, figures_of_order,
    outcome, score,
};
use gbrain_core::format::benchmark::log_line;
use gbrain_core::hook::HookError;
use gbrain_core::measure::Measure;
use gbrain_core::ranking::Hit;
use gbrain_core::request::{Expansion, Filter, Operation, Request, RetrievalMode, Viewer};
use gbrain_core::search::Settings;
use gbrain_index::Models;
use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::hermetic::{HaystackAnswer, HaystackBrain};
use crate::EvalError;

/// Query time for questions and documents without dates.
const DEFAULT_TIME: i64 = 1_767_225_600;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retrieval {
    Hybrid,
    Words,
}

/// A model that answers; absent if only retrieval is measured.
pub type Answerer<'a> = &'a (dyn Fn(&ReadingPrompt) -> Result<String, String> + Sync);

/// A model that expands queries.
pub type Expander<'a> = &'a (dyn Fn(&str) -> Result<Vec<String>, HookError> + Sync);

pub struct BenchmarkOptions<'a> {
    /// Number of top documents that count.
    pub k: usize,
    pub depth: usize,
    pub measures: Vec<Measure>,
    pub retrieval: Retrieval,
    /// The unit that counts as a document: a session or a turn.
    pub granularity: Granularity,
    pub settings: Settings,
    pub models: Models,
    /// Seed of the random ranking.
    pub seed: u64,
    /// Number of haystacks processed at once.
    pub concurrency: usize,
    /// Reference rankings measured beside ours.
    pub baselines: Vec<ReferenceOrder>,
    /// Whether LongMemEval's own figures are computed.
    pub has_official: bool,
    /// Whether LongMemEval's retrieval log is produced.
    pub has_log: bool,
    pub expander: Option<Expander<'a>>,
    /// The owner's assisting models, used according to the settings.
    pub assistants: Option<&'a Assistants>,
    pub answerer: Option<Answerer<'a>>,
    /// Identifies everything that rows depend on besides their question.
    pub run: String,
}

/// The result of one question, with its line of LongMemEval's retrieval log.
pub struct QuestionResult {
    pub outcome: QuestionOutcome,
    /// The log line, if requested.
    pub log: Option<Value>,
}

/// A haystack to process, or one whose questions are done.
pub enum NextHaystack {
    Ask(Box<Haystack>),
    /// Already done; only counts for the order.
    Finished,
}

/// Runs all haystacks. `next` yields them in dataset order, and `take` receives results in that
/// order. Memory holds the haystacks in progress and results that wait for their turn.
pub fn run(
    options: &BenchmarkOptions<'_>,
    next: impl FnMut() -> Result<Option<NextHaystack>, EvalError> + Send,
    mut take: impl FnMut(Vec<QuestionResult>) -> Result<(), EvalError>,
) -> Result<(), EvalError> {
    let source = Mutex::new((next, 0usize, false));
    let (sender, receiver) = channel::<(usize, Result<Vec<QuestionResult>, EvalError>)>();
    std::thread::scope(|scope| {
        for _ in 0..options.concurrency.max(1) {
            let (sender, source) = (sender.clone(), &source);
            scope.spawn(move || work(options, source, &sender));
        }
        drop(sender);
        let mut waiting: BTreeMap<usize, Vec<QuestionResult>> = BTreeMap::new();
        let mut next_index = 0;
        let mut result = Ok(());
        for (place, done) in receiver {
            if result.is_err() {
                continue;
            }
            match done {
                Ok(done) => {
                    waiting.insert(place, done);
                }
                Err(error) => result = Err(error),
            }
            while result.is_ok()
                && let Some(done) = waiting.remove(&next_index)
            {
                next_index += 1;
                result = take(done);
            }
            if result.is_err() {
                // Stop the workers; haystacks in progress finish.
                source.lock().unwrap_or_else(std::sync::PoisonError::into_inner).2 = true;
            }
        }
        result
    })
}

type HaystackQueue<F> = Mutex<(F, usize, bool)>;

fn work<F: FnMut() -> Result<Option<NextHaystack>, EvalError>>(
    options: &BenchmarkOptions<'_>,
    source: &HaystackQueue<F>,
    sender: &Sender<(usize, Result<Vec<QuestionResult>, EvalError>)>,
) {
    loop {
        let (place, next) = {
            let mut source = source.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if source.2 {
                return;
            }
            let next = (source.0)();
            let place = source.1;
            source.1 += 1;
            source.2 |= !matches!(next, Ok(Some(_)));
            (place, next)
        };
        let done = match next {
            Ok(None) => return,
            Ok(Some(NextHaystack::Finished)) => Ok(Vec::new()),
            Ok(Some(NextHaystack::Ask(haystack))) => ask_all(options, *haystack),
            Err(error) => Err(error),
        };
        if sender.send((place, done)).is_err() {
            return;
        }
    }
}

pub fn ask_all(
    options: &BenchmarkOptions<'_>,
    haystack: Haystack,
) -> Result<Vec<QuestionResult>, EvalError> {
    let started = Instant::now();
    let haystack = haystack.by(options.granularity);
    let brain = HaystackBrain::of(&haystack, &options.models)?;
    let import_ms = milliseconds(started);
    let share = haystack.questions.len().max(1) as f64;
    let scoring = options.scoring();
    let one = |question: &DatasetQuestion| {
        let one = QuestionRun {
            options,
            scoring: &scoring,
            haystack: &haystack,
            brain: &brain,
            question,
        };
        one.done(import_ms / share)
    };
    Ok(haystack.questions.iter().map(one).collect())
}

impl BenchmarkOptions<'_> {
    pub fn scoring(&self) -> ScoringRules {
        ScoringRules {
            k: self.k,
            granularity: self.granularity,
            measures: self.measures.clone(),
            has_official: self.has_official,
            run: self.run.clone(),
        }
    }
}

struct QuestionRun<'a> {
    options: &'a BenchmarkOptions<'a>,
    scoring: &'a ScoringRules,
    haystack: &'a Haystack,
    brain: &'a HaystackBrain,
    question: &'a DatasetQuestion,
}

impl QuestionRun<'_> {
    fn done(&self, import_ms: f64) -> QuestionResult {
        let started = Instant::now();
        let BenchmarkOptions { expander, assistants, .. } = self.options;
        let asked = self.brain.ask(&self.request_expanded(), *expander, *assistants);
        let timings =
            QuestionTimings { import_ms, search_ms: milliseconds(started), answer_ms: None };
        match asked {
            Ok(asked) => self.measured(&asked, timings),
            Err(error) => {
                let error = Some(error.to_string());
                let outcome = self.outcome(&[], timings);
                QuestionResult {
                    outcome: QuestionOutcome { error, official: None, ..outcome },
                    log: None,
                }
            }
        }
    }

    fn measured(&self, asked: &HaystackAnswer, timings: QuestionTimings) -> QuestionResult {
        let documents = self.shown(asked);
        let texts: Vec<&DocumentText> =
            documents.iter().map(|shown| self.brain.text(shown.place)).collect();
        let shown = ShownPassages { documents: &documents, texts: &texts };
        let outcome = QuestionOutcome {
            turn_recall: shown.turn_recall(self.haystack, self.question),
            shown: documents.clone(),
            baselines: self.baselines(),
            degraded: asked.degraded.clone(),
            ..self.outcome(&asked.places, timings)
        };
        let log = outcome
            .official
            .as_ref()
            .filter(|_| self.options.has_log)
            .map(|official| log_line(self.haystack, self.question, &asked.places, official));
        QuestionResult { outcome: self.answered(outcome, shown), log }
    }

    fn outcome(&self, places: &[usize], timings: QuestionTimings) -> QuestionOutcome {
        QuestionOutcome { timings, ..outcome(self.scoring, self.haystack, self.question, places) }
    }

    fn answered(&self, outcome: QuestionOutcome, shown: ShownPassages<'_>) -> QuestionOutcome {
        let sessions = shown.sessions(self.haystack);
        let passages = shown.passages();
        let excerpts_of = shown.excerpts(self.haystack, &sessions, &passages);
        let Some(answerer) = self.options.answerer else {
            let hypothesis = excerpts(&excerpts_of);
            return QuestionOutcome { hypothesis, prompt_sessions: sessions, ..outcome };
        };
        let outcome = QuestionOutcome { prompt_sessions: sessions.clone(), ..outcome };
        let asked = self.question.asked.map(|at| at.strftime("%Y/%m/%d %H:%M").to_string());
        let started = Instant::now();
        let answer = answerer(&prompt(&self.question.text, asked.as_deref(), &excerpts_of));
        let answer_ms = Some(milliseconds(started));
        let timings = QuestionTimings { answer_ms, ..outcome.timings };
        match answer {
            Ok(hypothesis) => QuestionOutcome { hypothesis, timings, ..outcome },
            Err(error) => QuestionOutcome { error: Some(error), timings, ..outcome },
        }
    }

    /// The found passages of the first k documents: a model reads what retrieval found, not the
    /// beginning of a session.
    fn shown(&self, asked: &HaystackAnswer) -> Vec<ShownDocument> {
        let document = |(place, hit): &(usize, Hit)| {
            let passages = hit.passages.iter().map(|passage| passage.start..passage.end);
            let mut passages: Vec<_> = passages.collect();
            passages.sort_by_key(|passage| passage.start);
            ShownDocument { place: *place, passages }
        };
        asked.hits.iter().take(self.options.k).map(document).collect()
    }

    fn baselines(&self) -> BTreeMap<String, BTreeMap<String, f64>> {
        let mut baselines = BTreeMap::new();
        for order in &self.options.baselines {
            let BenchmarkOptions { measures, seed, .. } = self.options;
            let (haystack, question) = (self.haystack, self.question);
            let figures = figures_of_order(*order, haystack, question, measures, *seed);
            let figures = figures.unwrap_or_else(|| {
                let places = match order {
                    ReferenceOrder::Vectors => self.places(&self.vectors_only()),
                    _ => self.places(&self.request(Retrieval::Words)),
                };
                score(question, &HaystackRanking::of(haystack, &places).ids, measures)
            });
            baselines.insert(order.name().to_owned(), figures);
        }
        baselines
    }

    fn places(&self, request: &Request) -> Vec<usize> {
        self.brain.ask(request, None, None).map(|asked| asked.places).unwrap_or_default()
    }

    fn vectors_only(&self) -> Request {
        let mut request = self.request(Retrieval::Hybrid);
        request.settings.words_weight = 0.0;
        request
    }

    /// The measured request; reference rankings are not expanded.
    fn request_expanded(&self) -> Request {
        let mut request = self.request(self.options.retrieval);
        let BenchmarkOptions { expander, assistants, settings, .. } = self.options;
        let wants_expansion = expander.is_some() || assistants.is_some() && settings.expand >= 0.5;
        if wants_expansion && request.operation == Operation::Query {
            request.expansion = Expansion::Requested;
        }
        request
    }

    fn request(&self, retrieval: Retrieval) -> Request {
        Request {
            operation: match retrieval {
                Retrieval::Hybrid => Operation::Query,
                Retrieval::Words => Operation::Search,
            },
            query: self.question.text.clone(),
            limit: self.options.depth,
            detail: None,
            mode: RetrievalMode::Hybrid,
            filter: Filter { trust: Viewer::Trusted, ..Filter::default() },
            vectors: retrieval == Retrieval::Hybrid,
            expansion: Expansion::Off,
            now: self.now(),
            settings: self.options.settings.clone(),
        }
    }

    /// The query time: from the dataset, or the end of its last day.
    fn now(&self) -> Timestamp {
        let last = || self.haystack.documents.iter().filter_map(|document| document.date).max();
        let end = || {
            let end = last()?.to_datetime(Time::constant(23, 59, 59, 0));
            Some(end.to_zoned(TimeZone::UTC).ok()?.timestamp())
        };
        let pinned = || Timestamp::from_second(DEFAULT_TIME).expect("the pinned time is in range");
        self.question.asked.or_else(end).unwrap_or_else(pinned)
    }
}

fn milliseconds(started: Instant) -> f64 {
    started.elapsed().as_micros() as f64 / 1000.0
}
