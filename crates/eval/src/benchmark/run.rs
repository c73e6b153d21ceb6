//! Asking: haystacks in parallel, outcomes in the order of the dataset.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use gbrain_brain::Assistants;
use gbrain_core::benchmark::reading::{Prompt, excerpts, prompt};
use gbrain_core::benchmark::{
    DocumentText, Granularity, Haystack, Order, Outcome, Question, Ranked, Scoring, Shown,
    ShownDocument, Timings, figures_of_order, outcome, score,
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

use super::hermetic::{Asked, Brain};
use crate::EvalError;

/// The time of a question that has none, among documents without any.
const PINNED: i64 = 1_767_225_600;

/// What searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retrieval {
    Hybrid,
    Words,
}

/// A model that answers; none when only retrieval is measured.
pub type Answerer<'a> = &'a (dyn Fn(&Prompt) -> Result<String, String> + Sync);

/// A model that puts questions in other words; none when they are asked as they are.
pub type Expander<'a> = &'a (dyn Fn(&str) -> Result<Vec<String>, HookError> + Sync);

/// How to ask.
pub struct Asking<'a> {
    /// How many documents of a ranking are taken.
    pub k: usize,
    /// How deep rankings go.
    pub depth: usize,
    /// What is measured of them.
    pub measures: Vec<Measure>,
    pub retrieval: Retrieval,
    /// What a document is.
    pub granularity: Granularity,
    /// The numbers of the pipeline.
    pub settings: Settings,
    /// The models there are for vectors.
    pub models: Models,
    /// The seed of the random ranking.
    pub seed: u64,
    /// Haystacks that are asked at once.
    pub concurrency: usize,
    /// What other rankings are measured beside ours.
    pub baselines: Vec<Order>,
    /// Whether LongMemEval's own figures are worked out.
    pub has_official: bool,
    /// Whether lines of its retrieval log are made, too.
    pub has_log: bool,
    /// Who puts questions in other words.
    pub expander: Option<Expander<'a>>,
    /// The models that help with queries of the owner, who are asked as the settings say.
    pub assistants: Option<&'a Assistants>,
    pub answerer: Option<Answerer<'a>>,
    /// Names everything that rows depend on besides their question.
    pub run: String,
}

/// What one question gave, with its line of LongMemEval's retrieval log.
pub struct Done {
    pub outcome: Outcome,
    /// The line of the log, if it was asked for.
    pub log: Option<Value>,
}

/// A haystack that was read, or one whose questions are known from before.
pub enum Next {
    Ask(Box<Haystack>),
    /// Known already: in the order of the dataset, nothing is to be done.
    Known,
}

/// Asks all haystacks. `next` gives them in the order of the dataset, `take` gets what they gave in
/// that order. Memory holds as many haystacks as are asked at once, and what waits for its turn.
pub fn run(
    asking: &Asking<'_>,
    next: impl FnMut() -> Result<Option<Next>, EvalError> + Send,
    mut take: impl FnMut(Vec<Done>) -> Result<(), EvalError>,
) -> Result<(), EvalError> {
    let source = Mutex::new((next, 0usize, false));
    let (sender, receiver) = channel::<(usize, Result<Vec<Done>, EvalError>)>();
    std::thread::scope(|scope| {
        for _ in 0..asking.concurrency.max(1) {
            let (sender, source) = (sender.clone(), &source);
            scope.spawn(move || work(asking, source, &sender));
        }
        drop(sender);
        let mut waiting: BTreeMap<usize, Vec<Done>> = BTreeMap::new();
        let mut due = 0;
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
                && let Some(done) = waiting.remove(&due)
            {
                due += 1;
                result = take(done);
            }
            if result.is_err() {
                // Nobody has to go on; what is begun ends.
                source.lock().unwrap_or_else(std::sync::PoisonError::into_inner).2 = true;
            }
        }
        result
    })
}

type Source<F> = Mutex<(F, usize, bool)>;

fn work<F: FnMut() -> Result<Option<Next>, EvalError>>(
    asking: &Asking<'_>,
    source: &Source<F>,
    sender: &Sender<(usize, Result<Vec<Done>, EvalError>)>,
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
            Ok(Some(Next::Known)) => Ok(Vec::new()),
            Ok(Some(Next::Ask(haystack))) => ask_all(asking, *haystack),
            Err(error) => Err(error),
        };
        if sender.send((place, done)).is_err() {
            return;
        }
    }
}

/// Asks every question of a haystack.
pub fn ask_all(asking: &Asking<'_>, haystack: Haystack) -> Result<Vec<Done>, EvalError> {
    let started = Instant::now();
    let haystack = haystack.by(asking.granularity);
    let brain = Brain::of(&haystack, &asking.models)?;
    let import_ms = milliseconds(started);
    let share = haystack.questions.len().max(1) as f64;
    let scoring = asking.scoring();
    let one = |question: &Question| {
        let one = One { asking, scoring: &scoring, haystack: &haystack, brain: &brain, question };
        one.done(import_ms / share)
    };
    Ok(haystack.questions.iter().map(one).collect())
}

impl Asking<'_> {
    /// How rankings become figures.
    pub fn scoring(&self) -> Scoring {
        Scoring {
            k: self.k,
            granularity: self.granularity,
            measures: self.measures.clone(),
            has_official: self.has_official,
            run: self.run.clone(),
        }
    }
}

/// One question of one haystack.
struct One<'a> {
    asking: &'a Asking<'a>,
    scoring: &'a Scoring,
    haystack: &'a Haystack,
    brain: &'a Brain,
    question: &'a Question,
}

impl One<'_> {
    fn done(&self, import_ms: f64) -> Done {
        let started = Instant::now();
        let Asking { expander, assistants, .. } = self.asking;
        let asked = self.brain.ask(&self.request_expanded(), *expander, *assistants);
        let timings = Timings { import_ms, search_ms: milliseconds(started), answer_ms: None };
        match asked {
            Ok(asked) => self.measured(&asked, timings),
            Err(error) => {
                let error = Some(error.to_string());
                let outcome = self.outcome(&[], timings);
                Done { outcome: Outcome { error, official: None, ..outcome }, log: None }
            }
        }
    }

    fn measured(&self, asked: &Asked, timings: Timings) -> Done {
        let documents = self.shown(asked);
        let texts: Vec<&DocumentText> =
            documents.iter().map(|shown| self.brain.text(shown.place)).collect();
        let shown = Shown { documents: &documents, texts: &texts };
        let outcome = Outcome {
            turn_recall: shown.turn_recall(self.haystack, self.question),
            shown: documents.clone(),
            baselines: self.baselines(),
            degraded: asked.degraded.clone(),
            ..self.outcome(&asked.places, timings)
        };
        let log = outcome
            .official
            .as_ref()
            .filter(|_| self.asking.has_log)
            .map(|official| log_line(self.haystack, self.question, &asked.places, official));
        Done { outcome: self.answered(outcome, shown), log }
    }

    fn outcome(&self, places: &[usize], timings: Timings) -> Outcome {
        Outcome { timings, ..outcome(self.scoring, self.haystack, self.question, places) }
    }

    fn answered(&self, outcome: Outcome, shown: Shown<'_>) -> Outcome {
        let sessions = shown.sessions(self.haystack);
        let passages = shown.passages();
        let excerpts_of = shown.excerpts(self.haystack, &sessions, &passages);
        let Some(answerer) = self.asking.answerer else {
            let hypothesis = excerpts(&excerpts_of);
            return Outcome { hypothesis, prompt_sessions: sessions, ..outcome };
        };
        let outcome = Outcome { prompt_sessions: sessions.clone(), ..outcome };
        let asked = self.question.asked.map(|at| at.strftime("%Y/%m/%d %H:%M").to_string());
        let started = Instant::now();
        let answer = answerer(&prompt(&self.question.text, asked.as_deref(), &excerpts_of));
        let answer_ms = Some(milliseconds(started));
        let timings = Timings { answer_ms, ..outcome.timings };
        match answer {
            Ok(hypothesis) => Outcome { hypothesis, timings, ..outcome },
            Err(error) => Outcome { error: Some(error), timings, ..outcome },
        }
    }

    /// The passages that were found in the first k documents: what retrieval found is what a
    /// model reads, not the beginning of a session.
    fn shown(&self, asked: &Asked) -> Vec<ShownDocument> {
        let document = |(place, hit): &(usize, Hit)| {
            let passages = hit.passages.iter().map(|passage| passage.start..passage.end);
            let mut passages: Vec<_> = passages.collect();
            passages.sort_by_key(|passage| passage.start);
            ShownDocument { place: *place, passages }
        };
        asked.hits.iter().take(self.asking.k).map(document).collect()
    }

    fn baselines(&self) -> BTreeMap<String, BTreeMap<String, f64>> {
        let mut baselines = BTreeMap::new();
        for order in &self.asking.baselines {
            let Asking { measures, seed, .. } = self.asking;
            let (haystack, question) = (self.haystack, self.question);
            let figures = figures_of_order(*order, haystack, question, measures, *seed);
            let figures = figures.unwrap_or_else(|| {
                let places = match order {
                    Order::Vectors => self.places(&self.vectors_only()),
                    _ => self.places(&self.request(Retrieval::Words)),
                };
                score(question, &Ranked::of(haystack, &places).ids, measures)
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

    /// What is measured; what it is compared with is not expanded.
    fn request_expanded(&self) -> Request {
        let mut request = self.request(self.asking.retrieval);
        let Asking { expander, assistants, settings, .. } = self.asking;
        let is_wanted = expander.is_some() || assistants.is_some() && settings.expand >= 0.5;
        if is_wanted && request.operation == Operation::Query {
            request.expansion = Expansion::Wanted;
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
            limit: self.asking.depth,
            detail: None,
            mode: RetrievalMode::Hybrid,
            filter: Filter { trust: Viewer::Trusted, ..Filter::default() },
            vectors: retrieval == Retrieval::Hybrid,
            expansion: Expansion::Off,
            now: self.now(),
            settings: self.asking.settings.clone(),
        }
    }

    /// When the question is asked: as the dataset says, or at the end of the last day it tells of.
    fn now(&self) -> Timestamp {
        let last = || self.haystack.documents.iter().filter_map(|document| document.date).max();
        let end = || {
            let end = last()?.to_datetime(Time::constant(23, 59, 59, 0));
            Some(end.to_zoned(TimeZone::UTC).ok()?.timestamp())
        };
        let pinned = || Timestamp::from_second(PINNED).expect("the pinned time is in range");
        self.question.asked.or_else(end).unwrap_or_else(pinned)
    }
}

fn milliseconds(started: Instant) -> f64 {
    started.elapsed().as_micros() as f64 / 1000.0
}
