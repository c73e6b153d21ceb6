//! The one door to models.
//!
//! A question is looked up on the cassette. If it is not there, its price is looked up, its worst case is
//! charged, it is sent, and what it did cost is charged instead. An attempt that failed in a way that the
//! provider does not bill is given back; one that may have been billed stays charged at its worst, and the
//! next attempt is charged anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_net::{Call, Client, Lane, Retry, pause};
use gbrain_store::{Budget, ChargeId, NewCharge, STANDING, Settlement, Store, StoreError};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::cassette::{Cassette, CassetteMode, Key, Recalled};
use crate::error::{AskError, AskErrorKind};
use crate::http::{self, Failed};
use crate::model::ModelRef;
use crate::price::{Price, Prices};
use crate::provider::{Provider, Providers};
use crate::wire::{self, Chat, Outgoing, Purpose, Usage};

/// How long, how often, how many at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For one attempt.
    pub timeout: Duration,
    /// For one question.
    pub retry: Retry,
    /// Calls under way at once.
    pub concurrency: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(120), retry: Retry::default(), concurrency: 8 }
    }
}

/// Whose money, and how much of it.
#[derive(Clone)]
pub struct Spending {
    /// Where charges are kept.
    pub store: Arc<dyn Store>,
    /// Whose they are.
    pub workspace: WorkspaceId,
    /// The budget of this run. None charges the day's alone.
    pub budget: Option<Budget>,
    /// The most that may be charged in a day (UTC), by everybody together.
    pub per_day: Option<Usd>,
    /// What for.
    pub purpose: String,
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
            clock: Timestamp::now,
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
        Ok(cost(self.price(model)?, usage))
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
        // A cross-encoder reads the query again with every document.
        let again = (query.len() * documents.len()) as u64;
        let searches = wire::searches(documents.len());
        let worst = Usage { input: body_tokens(&outgoing) + again, output: 0, searches };
        let read = |answer: &Value| wire::reranked(answer, documents.len());
        let (said, bill) = self.send(model, provider, &outgoing, worst, &read)?;
        let kept = self.remember(&key, json!({ "scores": said }));
        kept.map_err(|error| error.after(&bill))?;
        Ok((said, bill))
    }

    fn provider(&self, model: &ModelRef) -> Result<&Provider, AskError> {
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
        let answer = self.attempt(model, provider, outgoing, worst, &mut bill);
        let said = answer.and_then(|answer| read(&answer)).map_err(|error| error.after(&bill))?;
        Ok((said, bill))
    }

    fn attempt(
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
        let worst = cost(price, worst);
        loop {
            self.go_on()?;
            let charge = self.reserve(model, worst)?;
            bill.attempts += 1;
            let sent = {
                let _place = self.lane.enter();
                http::send(&self.client, &call, key.as_ref())
            };
            match sent {
                Ok(answer) => {
                    let used = wire::used(provider, &answer);
                    self.bill(bill, self.settle(&charge, used, price, worst));
                    return Ok(answer);
                }
                Err(Failed { error, again, after, billed }) => {
                    self.bill(bill, self.give_up(&charge, billed, worst));
                    let wait =
                        self.limits.retry.wait(bill.attempts, after, (self.outside.random)());
                    match wait.filter(|_| again) {
                        Some(wait) => self.sleep(wait)?,
                        None => return Err(error),
                    }
                }
            }
        }
    }

    fn bill(&self, bill: &mut Bill, cost: Usd) {
        bill.cost = bill.cost + cost;
        self.charged.fetch_add(cost.as_nanos(), Ordering::Relaxed);
    }

    fn go_on(&self) -> Result<(), AskError> {
        if self.outside.cancel.load(Ordering::Relaxed) {
            return Err(AskError::new(AskErrorKind::Cancelled, "it was stopped"));
        }
        Ok(())
    }

    fn sleep(&self, wait: Duration) -> Result<(), AskError> {
        pause(wait, &|| self.outside.cancel.load(Ordering::Relaxed));
        self.go_on()
    }

    fn reserve(&self, model: &ModelRef, worst: Usd) -> Result<ChargeId, AskError> {
        let Some(spending) = &self.spending else {
            return Err(AskError::new(AskErrorKind::OverBudget, "no budget was given"));
        };
        let now = (self.outside.clock)();
        let day = now.to_zoned(TimeZone::UTC).date();
        let day = spending.per_day.map(|cap| Budget { name: format!("{STANDING}{day}"), cap });
        let (budget, standing) = match (&spending.budget, day) {
            (Some(budget), day) => (budget.clone(), day),
            (None, Some(day)) => (day, None),
            (None, None) => {
                return Err(AskError::new(AskErrorKind::OverBudget, "no budget was given"));
            }
        };
        let charge = NewCharge {
            budget,
            standing,
            model: model.to_string(),
            purpose: spending.purpose.clone(),
            worst,
        };
        spending.store.reserve(&spending.workspace, &charge, now).map_err(|error| {
            let kind = match error {
                StoreError::OverBudget { .. } => AskErrorKind::OverBudget,
                _ => AskErrorKind::Ledger,
            };
            AskError::new(kind, error.to_string())
        })
    }

    /// Charges an answered call with what it cost; what is charged now.
    fn settle(&self, charge: &ChargeId, used: Option<Usage>, price: &Price, worst: Usd) -> Usd {
        let Some(used) = used else { return self.give_up(charge, true, worst) };
        let usd = cost(price, used);
        let settlement = Settlement::Cost { usd, input: used.input, output: used.output };
        if self.write(charge, &settlement) { usd } else { worst }
    }

    /// Gives a call that has no answer back, unless it may be billed; what is charged now.
    fn give_up(&self, charge: &ChargeId, billed: bool, worst: Usd) -> Usd {
        let settlement = if billed { Settlement::Unknown } else { Settlement::Free };
        if self.write(charge, &settlement) && !billed { Usd::ZERO } else { worst }
    }

    /// Whether the ledger took it. If it did not, the charge stays at its worst, which is never too
    /// little.
    fn write(&self, charge: &ChargeId, settlement: &Settlement) -> bool {
        let Some(spending) = &self.spending else { return false };
        let now = (self.outside.clock)();
        spending.store.settle(&spending.workspace, charge, settlement, now).unwrap_or(false)
    }
}

fn cost(price: &Price, usage: Usage) -> Usd {
    price.of(usage.input, usage.output, usage.searches)
}

/// A token is at least one byte of what is sent.
fn body_tokens(outgoing: &Outgoing) -> u64 {
    outgoing.body.to_string().len() as u64
}

fn worst_of_chat(outgoing: &Outgoing, chat: &Chat) -> Usage {
    Usage { input: body_tokens(outgoing), output: u64::from(chat.max_tokens), searches: 0 }
}
