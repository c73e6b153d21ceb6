//! The one door to models.
//!
//! A question is looked up on the cassette. If it is not there, its price is looked up, it waits for a place,
//! its worst case is charged, it is sent, and what it did cost is charged instead. An attempt that failed in a
//! way that the provider does not bill is given back; one that may have been billed stays charged at its
//! worst, and the next attempt is charged anew. What waits, for a place or for another attempt, holds neither
//! a place nor money.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use gbrain_core::clock::moment;
use gbrain_core::hash::Hash;
use gbrain_core::money::Usd;
use gbrain_net::{Call, Client, Lane, Retry, Secret, pause};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cassette::{Cassette, CassetteMode, Key, Recalled};
use crate::error::{AskError, AskErrorKind};
use crate::http::{self, Failed};
use crate::model::ModelRef;
use crate::price::{Price, Prices};
use crate::provider::{Provider, Providers};
use crate::spending::{Allowance, Spending};
use crate::wire::{self, Chat, Outgoing, Purpose, Usage};

/// About how many bytes a token of English is, for estimates.
pub const TOKEN_BYTES: u64 = 4;

/// How long, how often, how many at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub timeout: Duration,
    pub retry: Retry,
    /// Calls under way at once.
    pub concurrency: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(120), retry: Retry::default(), concurrency: 8 }
    }
}

/// Looks a variable of the environment up.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What arrives from outside: the environment, the time, chance, and somebody's wish to stop.
#[derive(Clone)]
pub(crate) struct Outside {
    pub(crate) environment: Environment,
    pub(crate) clock: fn() -> Timestamp,
    pub(crate) random: fn() -> f64,
    pub(crate) cancel: Arc<AtomicBool>,
}

/// What an answer cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bill {
    /// All its attempts together.
    pub cost: Usd,
    /// Attempts that were sent.
    pub attempts: u32,
    /// Whether it came from the cassette.
    pub replayed: bool,
}

/// What every attempt of a question shares.
struct Attempt<'a> {
    model: &'a ModelRef,
    provider: &'a Provider,
    price: &'a Price,
    worst: Usd,
    call: Call,
    key: Option<Secret>,
}

/// The door.
pub struct Asker {
    providers: Providers,
    prices: Prices,
    limits: Limits,
    spending: Option<Spending>,
    cassette: Option<Cassette>,
    outside: Outside,
    lane: Lane,
    client: Client,
    charged: AtomicI64,
}

impl Asker {
    /// A door without money: it answers from a cassette, once it has one.
    pub fn new(
        providers: Providers,
        prices: Prices,
        limits: Limits,
        environment: Environment,
    ) -> Self {
        let outside = Outside {
            environment,
            clock: || moment(SystemTime::now()),
            random: fastrand::f64,
            cancel: Arc::new(AtomicBool::new(false)),
        };
        Self {
            providers,
            prices,
            lane: Lane::new(limits.concurrency),
            client: http::client(limits.timeout),
            limits,
            spending: None,
            cassette: None,
            outside,
            charged: AtomicI64::new(0),
        }
    }

    /// With money.
    #[must_use]
    pub fn spending(mut self, spending: Spending) -> Self {
        self.spending = Some(spending);
        self
    }

    /// With a cassette.
    #[must_use]
    pub fn cassette(mut self, cassette: Cassette) -> Self {
        self.cassette = Some(cassette);
        self
    }

    /// Stops when somebody sets this.
    #[must_use]
    pub fn until(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.outside.cancel = cancel;
        self
    }

    /// What a model costs.
    pub fn price(&self, model: &ModelRef) -> Result<&Price, AskError> {
        let provider = self.provider(model)?;
        self.prices.find(model, provider).ok_or_else(|| {
            let message = format!("nobody says what {model} costs, so no budget can hold it");
            AskError::new(AskErrorKind::NoPrice, message)
        })
    }

    /// Whether a model can be asked: its provider is known, has its key, and the model has a price. With
    /// a cassette alone, every model can.
    pub fn ready(&self, model: &ModelRef) -> Result<(), AskError> {
        if self.is_replay_only() {
            return Ok(());
        }
        let provider = self.provider(model)?;
        provider.secret(&*self.outside.environment)?;
        self.price(model).map(|_| ())
    }

    /// What everything that was sent through this door is charged at so far, failures included.
    pub fn charged(&self) -> Usd {
        Usd::nanos(self.charged.load(Ordering::Relaxed))
    }

    /// What calls through this door may still cost; none where only a cassette answers.
    pub fn allowance(&self) -> Result<Option<Allowance>, AskError> {
        match &self.spending {
            Some(spending) if !self.is_replay_only() => spending.allowance(self.now()).map(Some),
            _ => Ok(None),
        }
    }

    /// How many calls may be under way at once.
    pub fn concurrency(&self) -> usize {
        self.limits.concurrency
    }

    /// Whether nobody but the cassette is asked.
    pub fn is_replay_only(&self) -> bool {
        self.cassette.as_ref().is_some_and(|tape| tape.mode() == CassetteMode::ReplayOnly)
    }

    /// The most that a chat can cost: a token is at least one byte of what is sent.
    pub fn worst_of_chat(&self, model: &ModelRef, chat: &Chat) -> Result<Usd, AskError> {
        if self.is_replay_only() {
            return Ok(Usd::ZERO);
        }
        let outgoing = wire::chat(self.provider(model)?, &model.model, chat)?;
        let usage = worst_of_chat(&outgoing, chat);
        Ok(self.price(model)?.of_usage(usage))
    }

    /// About what a chat costs, with a reply of so many tokens: English has some four bytes a token.
    pub fn likely_of_chat(
        &self,
        model: &ModelRef,
        chat: &Chat,
        reply_tokens: u32,
    ) -> Result<Usd, AskError> {
        if self.is_replay_only() {
            return Ok(Usd::ZERO);
        }
        let outgoing = wire::chat(self.provider(model)?, &model.model, chat)?;
        let input = body_tokens(&outgoing).div_ceil(TOKEN_BYTES);
        let output = u64::from(reply_tokens.min(chat.max_tokens));
        Ok(self.price(model)?.of(input, output, 0))
    }

    /// The most that scoring documents can cost.
    pub fn worst_of_rerank(
        &self,
        model: &ModelRef,
        query: &str,
        documents: &[&str],
    ) -> Result<Usd, AskError> {
        if self.is_replay_only() {
            return Ok(Usd::ZERO);
        }
        let outgoing = wire::rerank(self.provider(model)?, &model.model, query, documents)?;
        Ok(self.price(model)?.of_usage(worst_of_rerank(&outgoing, query, documents)))
    }

    /// Asks a model a question.
    pub fn chat(&self, model: &ModelRef, chat: &Chat) -> Result<(String, Bill), AskError> {
        let key = Key {
            model: model.to_string(),
            prompt: chat.prompt_hash(),
            input: chat.input_hash(),
            repeat: chat.repeat,
        };
        let text = |said: &Value| {
            let text = said["text"].as_str().map(str::to_owned);
            text.ok_or_else(|| wire::malformed("the cassette's answer has no text"))
        };
        if let Some(said) = self.recall(&key)? {
            return Ok((text(&said)?, Bill { replayed: true, ..Bill::default() }));
        }
        let provider = self.provider(model)?;
        let outgoing = wire::chat(provider, &model.model, chat)?;
        let worst = worst_of_chat(&outgoing, chat);
        let read = |answer: &Value| wire::replied(provider, answer).map(|reply| reply.text);
        let (said, bill) = self.send(model, provider, &outgoing, worst, &read)?;
        let kept = self.remember(&key, json!({ "text": said }));
        let text = kept.and_then(|kept| text(&kept)).map_err(|error| error.after(&bill))?;
        Ok((text, bill))
    }

    /// One vector a text, in their order.
    pub fn embed(
        &self,
        model: &ModelRef,
        texts: &[&str],
        purpose: Purpose,
        dims: Option<usize>,
    ) -> Result<(Vec<Vec<f32>>, Bill), AskError> {
        if self.is_replay_only() {
            let message = "a cassette holds no vectors, and nobody else may be asked";
            return Err(AskError::new(AskErrorKind::NotRecorded, message));
        }
        let provider = self.provider(model)?;
        let outgoing = wire::embed(provider, &model.model, texts, purpose, dims)?;
        let worst = Usage { input: body_tokens(&outgoing), ..Usage::default() };
        let read = |answer: &Value| wire::embedded(provider, answer, texts.len());
        self.send(model, provider, &outgoing, worst, &read)
    }

    /// One score a document, in their order; higher is better.
    pub fn rerank(
        &self,
        model: &ModelRef,
        query: &str,
        documents: &[&str],
    ) -> Result<(Vec<f64>, Bill), AskError> {
        let parts: Vec<&[u8]> =
            std::iter::once(query).chain(documents.iter().copied()).map(str::as_bytes).collect();
        let input = Hash::of_parts(&parts);
        let key = Key { model: model.to_string(), prompt: Hash::of(b"rerank"), input, repeat: 0 };
        let scores = |said: &Value| {
            let scores = said["scores"].as_array()?.iter().map(Value::as_f64);
            scores.collect::<Option<Vec<f64>>>().filter(|scores| scores.len() == documents.len())
        };
        let unlike = || wire::malformed("the cassette's answer does not score each document");
        if let Some(said) = self.recall(&key)? {
            let bill = Bill { replayed: true, ..Bill::default() };
            return Ok((scores(&said).ok_or_else(unlike)?, bill));
        }
        let provider = self.provider(model)?;
        let outgoing = wire::rerank(provider, &model.model, query, documents)?;
        let worst = worst_of_rerank(&outgoing, query, documents);
        let read = |answer: &Value| wire::reranked(answer, documents.len());
        let (said, bill) = self.send(model, provider, &outgoing, worst, &read)?;
        let kept = self.remember(&key, json!({ "scores": said }));
        kept.map_err(|error| error.after(&bill))?;
        Ok((said, bill))
    }

    pub(crate) fn provider(&self, model: &ModelRef) -> Result<&Provider, AskError> {
        self.providers.find(&model.provider).ok_or_else(|| {
            let names: Vec<&str> = self.providers.iter().map(|own| own.name.as_str()).collect();
            let message =
                format!("there is no provider {}; there are {}", model.provider, names.join(", "));
            AskError::new(AskErrorKind::NoProvider, message)
        })
    }

    fn recall(&self, key: &Key) -> Result<Option<Value>, AskError> {
        let Some(tape) = &self.cassette else { return Ok(None) };
        let message = match tape.find(key) {
            Recalled::Said(value) => return Ok(Some(value)),
            _ if tape.mode() == CassetteMode::Record => return Ok(None),
            Recalled::Stale => {
                let message = "the cassette was recorded with another prompt";
                return Err(AskError::new(AskErrorKind::StaleCassette, message));
            }
            Recalled::Unknown => "the cassette has no answer to this",
        };
        Err(AskError::new(AskErrorKind::NotRecorded, message))
    }

    fn remember(&self, key: &Key, said: Value) -> Result<Value, AskError> {
        let Some(tape) = &self.cassette else { return Ok(said) };
        let failed = |error| AskError::new(AskErrorKind::Ledger, format!("{error}"));
        tape.keep(key, said).map_err(failed)
    }

    /// Sends what is asked, as often as it takes, charging every attempt.
    fn send<T>(
        &self,
        model: &ModelRef,
        provider: &Provider,
        outgoing: &Outgoing,
        worst: Usage,
        read: &dyn Fn(&Value) -> Result<T, AskError>,
    ) -> Result<(T, Bill), AskError> {
        let mut bill = Bill::default();
        let answer = self.answer(model, provider, outgoing, worst, &mut bill);
        let said = answer.and_then(|answer| read(&answer)).map_err(|error| error.after(&bill))?;
        Ok((said, bill))
    }

    fn answer(
        &self,
        model: &ModelRef,
        provider: &Provider,
        outgoing: &Outgoing,
        worst: Usage,
        bill: &mut Bill,
    ) -> Result<Value, AskError> {
        let price = self.price(model)?;
        let key = provider.secret(&*self.outside.environment)?;
        let call = Call {
            url: format!("{}{}", provider.base_url, outgoing.path),
            headers: wire::headers(provider, key.as_ref()),
            body: Some(outgoing.body.to_string().into_bytes()),
        };
        let worst = price.of_usage(worst);
        let attempt = Attempt { model, provider, price, worst, call, key };
        loop {
            let (charged, sent) = self.attempt(&attempt)?;
            bill.attempts += 1;
            bill.cost = bill.cost + charged;
            self.charged.fetch_add(charged.as_nanos(), Ordering::Relaxed);
            let Failed { error, again, after, .. } = match sent {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            let wait = self.limits.retry.wait(bill.attempts, after, (self.outside.random)());
            match wait.filter(|_| again) {
                Some(wait) => self.sleep(wait)?,
                None => return Err(error),
            }
        }
    }

    /// One attempt, and what is charged for it. The place comes before the money and is held until it is known
    /// what the attempt cost: of a thousand calls that wait for one of eight places, at most eight are charged
    /// at their worst, and a process that is killed leaves no more than that behind.
    fn attempt(&self, attempt: &Attempt<'_>) -> Result<(Usd, Result<Value, Failed>), AskError> {
        let Attempt { model, provider, price, worst, call, key } = attempt;
        let is_stopped = || self.is_stopped();
        let place = self.lane.enter_unless(&is_stopped).filter(|_| !is_stopped());
        let _place = place.ok_or_else(stopped)?;
        let none = || AskError::new(AskErrorKind::OverBudget, "no budget was given");
        let spending = self.spending.as_ref().ok_or_else(none)?;
        let charge = spending.reserve(model, *worst, self.now())?;
        // A ledger that others write too may have taken its time.
        if self.is_stopped() {
            spending.give_up(&charge, false, *worst, self.now());
            return Err(stopped());
        }
        let sent = http::send(&self.client, call, key.as_ref());
        let charged = match &sent {
            Ok(answer) => {
                let used = wire::used(provider, answer).map(|used| (used, *price));
                spending.settle(&charge, used, *worst, self.now())
            }
            Err(failed) => spending.give_up(&charge, failed.billed, *worst, self.now()),
        };
        Ok((charged, sent))
    }

    fn is_stopped(&self) -> bool {
        self.outside.cancel.load(Ordering::Relaxed)
    }

    fn sleep(&self, wait: Duration) -> Result<(), AskError> {
        pause(wait, &|| self.is_stopped());
        if self.is_stopped() { Err(stopped()) } else { Ok(()) }
    }

    fn now(&self) -> Timestamp {
        (self.outside.clock)()
    }
}

fn stopped() -> AskError {
    AskError::new(AskErrorKind::Cancelled, "it was stopped")
}

/// A token is at least one byte of what is sent.
fn body_tokens(outgoing: &Outgoing) -> u64 {
    outgoing.body.to_string().len() as u64
}

/// A cross-encoder reads the query again with every document.
fn worst_of_rerank(outgoing: &Outgoing, query: &str, documents: &[&str]) -> Usage {
    let again = (query.len() * documents.len()) as u64;
    let searches = wire::searches(query, documents);
    Usage { input: body_tokens(outgoing) + again, output: 0, searches }
}

fn worst_of_chat(outgoing: &Outgoing, chat: &Chat) -> Usage {
    Usage { input: body_tokens(outgoing), output: u64::from(chat.max_tokens), searches: 0 }
}
