//! The client through which all model calls go.
//!
//! A call is first looked up on the cassette. Otherwise it waits for a concurrency permit, its
//! maximum cost is charged, it is sent, and the charge is corrected to the actual cost. A failed
//! attempt that the provider does not bill is refunded; one that may be billed stays charged at its
//! maximum, and the next attempt is charged separately. A call that waits, for a permit or a retry,
//! holds neither a permit nor a charge.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use gbrain_core::clock::moment;
use gbrain_core::hash::Hash;
use gbrain_core::money::Usd;
use gbrain_net::{Client, ConcurrencyLimit, HttpRequest, RetryPolicy, Secret, pause};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cassette::{Cassette, CassetteKey, CassetteLookup, CassetteMode};
use crate::error::{ModelCallError, ModelCallErrorKind};
use crate::http::{self, FailedAttempt};
use crate::model::ModelRef;
use crate::price::{Price, Prices};
use crate::provider::{Provider, Providers};
use crate::spending::{Allowance, Spending};
use crate::wire::{self, Chat, EmbeddingPurpose, ProviderRequest, Usage};

/// Approximate bytes per token of English text, for estimates.
pub const TOKEN_BYTES: u64 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelLimits {
    pub timeout: Duration,
    pub retry: RetryPolicy,
    /// Maximum number of calls at once.
    pub concurrency: usize,
}

impl Default for ModelLimits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(120), retry: RetryPolicy::default(), concurrency: 8 }
    }
}

/// Looks up an environment variable.
pub type EnvLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// External inputs: environment variables, clock, randomness and the cancel flag.
#[derive(Clone)]
pub(crate) struct ClientEnvironment {
    pub(crate) variables: EnvLookup,
    pub(crate) clock: fn() -> Timestamp,
    pub(crate) random: fn() -> f64,
    pub(crate) cancel: Arc<AtomicBool>,
}

/// The cost of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallCost {
    /// Time limit of all attempts together.
    pub cost: Usd,
    pub attempts: u32,
    /// Whether the reply came from the cassette.
    pub replayed: bool,
}

/// The data that all attempts of a call share.
struct Attempt<'a> {
    model: &'a ModelRef,
    provider: &'a Provider,
    price: &'a Price,
    worst: Usd,
    call: HttpRequest,
    key: Option<Secret>,
}

/// Calls models within their budgets.
pub struct ModelClient {
    providers: Providers,
    prices: Prices,
    limits: ModelLimits,
    spending: Option<Spending>,
    cassette: Option<Cassette>,
    environment: ClientEnvironment,
    concurrency: ConcurrencyLimit,
    client: Client,
    charged: AtomicI64,
}

impl ModelClient {
    /// A client without a budget: it can only replay a cassette until it gets one.
    pub fn new(
        providers: Providers,
        prices: Prices,
        limits: ModelLimits,
        environment: EnvLookup,
    ) -> Self {
        let environment = ClientEnvironment {
            variables: environment,
            clock: || moment(SystemTime::now()),
            random: fastrand::f64,
            cancel: Arc::new(AtomicBool::new(false)),
        };
        Self {
            providers,
            prices,
            concurrency: ConcurrencyLimit::new(limits.concurrency),
            client: http::client(limits.timeout),
            limits,
            spending: None,
            cassette: None,
            environment,
            charged: AtomicI64::new(0),
        }
    }

    /// Charges every call to a budget and the daily limit.
    #[must_use]
    pub fn spending(mut self, spending: Spending) -> Self {
        self.spending = Some(spending);
        self
    }

    /// Records to or replays from a cassette.
    #[must_use]
    pub fn cassette(mut self, cassette: Cassette) -> Self {
        self.cassette = Some(cassette);
        self
    }

    /// Stops when this flag is set.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.environment.cancel = cancel;
        self
    }

    pub fn price(&self, model: &ModelRef) -> Result<&Price, ModelCallError> {
        let provider = self.provider(model)?;
        self.prices.find(model, provider).ok_or_else(|| {
            let message = format!("no price is configured for {model}: add one to prices.json");
            ModelCallError::new(ModelCallErrorKind::NoPrice, message)
        })
    }

    /// Whether a model can be called: its provider is known and has its key, and the model has a
    /// price. When only a cassette is replayed, every model can.
    pub fn ready(&self, model: &ModelRef) -> Result<(), ModelCallError> {
        if self.is_replay_only() {
            return Ok(());
        }
        let provider = self.provider(model)?;
        provider.secret(&*self.environment.variables)?;
        self.price(model).map(|_| ())
    }

    /// Total charges of this client so far, including failed calls.
    pub fn charged(&self) -> Usd {
        Usd::nanos(self.charged.load(Ordering::Relaxed))
    }

    /// The remaining budget; `None` when only a cassette is replayed.
    pub fn allowance(&self) -> Result<Option<Allowance>, ModelCallError> {
        match &self.spending {
            Some(spending) if !self.is_replay_only() => spending.allowance(self.now()).map(Some),
            _ => Ok(None),
        }
    }

    pub fn concurrency(&self) -> usize {
        self.limits.concurrency
    }

    pub fn is_replay_only(&self) -> bool {
        self.cassette.as_ref().is_some_and(|tape| tape.mode() == CassetteMode::ReplayOnly)
    }

    /// The maximum cost of a chat: a token is at least one byte of the request.
    pub fn max_chat_cost(&self, model: &ModelRef, chat: &Chat) -> Result<Usd, ModelCallError> {
        if self.is_replay_only() {
            return Ok(Usd::ZERO);
        }
        let outgoing = wire::chat(self.provider(model)?, &model.model, chat)?;
        let usage = max_chat_cost(&outgoing, chat);
        Ok(self.price(model)?.of_usage(usage))
    }

    /// The estimated cost of a chat with a reply of this many tokens.
    pub fn estimated_chat_cost(
        &self,
        model: &ModelRef,
        chat: &Chat,
        reply_tokens: u32,
    ) -> Result<Usd, ModelCallError> {
        if self.is_replay_only() {
            return Ok(Usd::ZERO);
        }
        let outgoing = wire::chat(self.provider(model)?, &model.model, chat)?;
        let input = body_tokens(&outgoing).div_ceil(TOKEN_BYTES);
        let output = u64::from(reply_tokens.min(chat.max_tokens));
        Ok(self.price(model)?.of(input, output, 0))
    }

    /// The maximum cost of scoring documents.
    pub fn max_rerank_cost(
        &self,
        model: &ModelRef,
        query: &str,
        documents: &[&str],
    ) -> Result<Usd, ModelCallError> {
        if self.is_replay_only() {
            return Ok(Usd::ZERO);
        }
        let outgoing = wire::rerank(self.provider(model)?, &model.model, query, documents)?;
        Ok(self.price(model)?.of_usage(max_rerank_cost(&outgoing, query, documents)))
    }

    /// Sends a chat and returns the reply.
    pub fn chat(
        &self,
        model: &ModelRef,
        chat: &Chat,
    ) -> Result<(String, CallCost), ModelCallError> {
        let key = CassetteKey {
            model: model.to_string(),
            prompt: chat.prompt_hash(),
            input: chat.input_hash(),
            repeat: chat.repeat,
        };
        let text = |reply: &Value| {
            let text = reply["text"].as_str().map(str::to_owned);
            text.ok_or_else(|| wire::malformed("the recorded reply has no text"))
        };
        if let Some(reply) = self.replay(&key)? {
            return Ok((text(&reply)?, CallCost { replayed: true, ..CallCost::default() }));
        }
        let provider = self.provider(model)?;
        let outgoing = wire::chat(provider, &model.model, chat)?;
        let worst = max_chat_cost(&outgoing, chat);
        let read =
            |answer: &Value| wire::parse_chat_reply(provider, answer).map(|reply| reply.text);
        let (reply, bill) = self.send(model, provider, &outgoing, worst, &read)?;
        let recorded = self.record(&key, json!({ "text": reply }));
        let text = recorded
            .and_then(|recorded| text(&recorded))
            .map_err(|error| error.with_cost(&bill))?;
        Ok((text, bill))
    }

    /// Embeds texts: one vector per text, in their order.
    pub fn embed(
        &self,
        model: &ModelRef,
        texts: &[&str],
        purpose: EmbeddingPurpose,
        dims: Option<usize>,
    ) -> Result<(Vec<Vec<f32>>, CallCost), ModelCallError> {
        if self.is_replay_only() {
            let message = "a cassette contains no vectors, and --replay-only allows no calls";
            return Err(ModelCallError::new(ModelCallErrorKind::NotRecorded, message));
        }
        let provider = self.provider(model)?;
        let outgoing = wire::embed(provider, &model.model, texts, purpose, dims)?;
        let worst = Usage { input: body_tokens(&outgoing), ..Usage::default() };
        let read = |answer: &Value| wire::parse_embeddings(provider, answer, texts.len());
        self.send(model, provider, &outgoing, worst, &read)
    }

    /// Scores documents: one score per document, in their order; higher is better.
    pub fn rerank(
        &self,
        model: &ModelRef,
        query: &str,
        documents: &[&str],
    ) -> Result<(Vec<f64>, CallCost), ModelCallError> {
        let parts: Vec<&[u8]> =
            std::iter::once(query).chain(documents.iter().copied()).map(str::as_bytes).collect();
        let input = Hash::of_parts(&parts);
        let key =
            CassetteKey { model: model.to_string(), prompt: Hash::of(b"rerank"), input, repeat: 0 };
        let scores = |reply: &Value| {
            let scores = reply["scores"].as_array()?.iter().map(Value::as_f64);
            scores.collect::<Option<Vec<f64>>>().filter(|scores| scores.len() == documents.len())
        };
        let unlike = || wire::malformed("the recorded reply does not score each document");
        if let Some(reply) = self.replay(&key)? {
            let bill = CallCost { replayed: true, ..CallCost::default() };
            return Ok((scores(&reply).ok_or_else(unlike)?, bill));
        }
        let provider = self.provider(model)?;
        let outgoing = wire::rerank(provider, &model.model, query, documents)?;
        let worst = max_rerank_cost(&outgoing, query, documents);
        let read = |answer: &Value| wire::parse_rerank_scores(answer, documents.len());
        let (reply, bill) = self.send(model, provider, &outgoing, worst, &read)?;
        let recorded = self.record(&key, json!({ "scores": reply }));
        recorded.map_err(|error| error.with_cost(&bill))?;
        Ok((reply, bill))
    }

    pub(crate) fn provider(&self, model: &ModelRef) -> Result<&Provider, ModelCallError> {
        self.providers.find(&model.provider).ok_or_else(|| {
            let names: Vec<&str> = self.providers.iter().map(|own| own.name.as_str()).collect();
            let message = format!(
                "unknown provider {}; known providers: {}",
                model.provider,
                names.join(", ")
            );
            ModelCallError::new(ModelCallErrorKind::NoProvider, message)
        })
    }

    fn replay(&self, key: &CassetteKey) -> Result<Option<Value>, ModelCallError> {
        let Some(tape) = &self.cassette else { return Ok(None) };
        let message = match tape.find(key) {
            CassetteLookup::Found(value) => return Ok(Some(value)),
            _ if tape.mode() == CassetteMode::Record => return Ok(None),
            CassetteLookup::Stale => {
                let message = "the cassette was recorded with another prompt";
                return Err(ModelCallError::new(ModelCallErrorKind::StaleCassette, message));
            }
            CassetteLookup::NotRecorded => "the cassette has no reply to this request",
        };
        Err(ModelCallError::new(ModelCallErrorKind::NotRecorded, message))
    }

    fn record(&self, key: &CassetteKey, reply: Value) -> Result<Value, ModelCallError> {
        let Some(tape) = &self.cassette else { return Ok(reply) };
        let failed = |error| ModelCallError::new(ModelCallErrorKind::Ledger, format!("{error}"));
        tape.record(key, reply).map_err(failed)
    }

    /// Sends a request with retries, charging every attempt.
    fn send<T>(
        &self,
        model: &ModelRef,
        provider: &Provider,
        outgoing: &ProviderRequest,
        worst: Usage,
        read: &dyn Fn(&Value) -> Result<T, ModelCallError>,
    ) -> Result<(T, CallCost), ModelCallError> {
        let mut bill = CallCost::default();
        let answer = self.answer(model, provider, outgoing, worst, &mut bill);
        let reply =
            answer.and_then(|answer| read(&answer)).map_err(|error| error.with_cost(&bill))?;
        Ok((reply, bill))
    }

    fn answer(
        &self,
        model: &ModelRef,
        provider: &Provider,
        outgoing: &ProviderRequest,
        worst: Usage,
        bill: &mut CallCost,
    ) -> Result<Value, ModelCallError> {
        let price = self.price(model)?;
        let key = provider.secret(&*self.environment.variables)?;
        let call = HttpRequest {
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
            let FailedAttempt { error, again, after, .. } = match sent {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            let wait = self.limits.retry.wait(bill.attempts, after, (self.environment.random)());
            match wait.filter(|_| again) {
                Some(wait) => self.sleep(wait)?,
                None => return Err(error),
            }
        }
    }

    /// Makes one attempt and returns its charge. The permit is acquired before the charge and held
    /// until the cost is known: of a thousand calls waiting for eight permits, at most eight are
    /// charged at their maximum, and a killed process leaves no more than that behind.
    fn attempt(
        &self,
        attempt: &Attempt<'_>,
    ) -> Result<(Usd, Result<Value, FailedAttempt>), ModelCallError> {
        let Attempt { model, provider, price, worst, call, key } = attempt;
        let is_stopped = || self.is_stopped();
        let place = self.concurrency.acquire_unless(&is_stopped).filter(|_| !is_stopped());
        let _place = place.ok_or_else(stopped)?;
        let none = || ModelCallError::new(ModelCallErrorKind::OverBudget, "no budget is set");
        let spending = self.spending.as_ref().ok_or_else(none)?;
        let charge = spending.reserve(model, *worst, self.now())?;
        // Waiting for the ledger may have taken a while.
        if self.is_stopped() {
            spending.give_up(&charge, false, *worst, self.now());
            return Err(stopped());
        }
        let sent = http::send(&self.client, call, key.as_ref());
        let charged = match &sent {
            Ok(answer) => {
                let used = wire::parse_usage(provider, answer).map(|used| (used, *price));
                spending.settle(&charge, used, *worst, self.now())
            }
            Err(failed) => spending.give_up(&charge, failed.billed, *worst, self.now()),
        };
        Ok((charged, sent))
    }

    fn is_stopped(&self) -> bool {
        self.environment.cancel.load(Ordering::Relaxed)
    }

    fn sleep(&self, wait: Duration) -> Result<(), ModelCallError> {
        pause(wait, &|| self.is_stopped());
        if self.is_stopped() { Err(stopped()) } else { Ok(()) }
    }

    fn now(&self) -> Timestamp {
        (self.environment.clock)()
    }
}

fn stopped() -> ModelCallError {
    ModelCallError::new(ModelCallErrorKind::Cancelled, "the call was cancelled")
}

/// A token is at least one byte of the request.
fn body_tokens(outgoing: &ProviderRequest) -> u64 {
    outgoing.body.to_string().len() as u64
}

/// A cross-encoder reads the query again with every document.
fn max_rerank_cost(outgoing: &ProviderRequest, query: &str, documents: &[&str]) -> Usage {
    let again = (query.len() * documents.len()) as u64;
    let searches = wire::billed_searches(query, documents);
    Usage { input: body_tokens(outgoing) + again, output: 0, searches }
}

fn max_chat_cost(outgoing: &ProviderRequest, chat: &Chat) -> Usage {
    Usage { input: body_tokens(outgoing), output: u64::from(chat.max_tokens), searches: 0 }
}
