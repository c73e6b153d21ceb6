//! Has pairs judged: planted ones first, each once, with cached judgements.

use std::sync::{Mutex, PoisonError};

use gbrain_core::contradiction::prompt::{PairPrompt, schema};
use gbrain_core::contradiction::rate::CANARIES_OF_EACH;
use gbrain_core::contradiction::{
    Canary, JudgeError, Judgement, JudgingOutcome, Origin, Pair, PairSet, offline, parse,
};
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_core::repair::json_object;
use gbrain_llm::{
    Chat, ModelCallError, ModelCallErrorKind, ModelClient, ModelRef, Schema, TOKEN_BYTES,
};
use gbrain_store::{AnswerKind, ModelAnswer, Store, StoreError};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::spread::spread;

/// Maximum tokens of a judgement, including reasoning.
const JUDGEMENT_TOKENS: u32 = 512;
/// Typical tokens of a judgement, for the estimate.
const USUAL_TOKENS: u64 = 120;
const CACHE_TTL: SignedDuration = SignedDuration::from_hours(24 * 30);
/// Planted pairs of each kind for a paid judge: half the certainty, for a third of the price.
const PAID_CANARIES_OF_EACH: usize = 60;

pub enum Judge<'a> {
    Offline,
    Model(&'a ModelClient, ModelRef),
}

pub struct JudgementCache<'a> {
    pub store: &'a Store,
    pub workspace: &'a WorkspaceId,
    /// The current time, for expiry.
    pub now: Timestamp,
    /// Whether cached judgements are used; if not, all pairs are judged anew and cached.
    pub reads: bool,
}

/// Judges the pairs of a docket, and planted pairs.
pub struct JudgeSession<'a> {
    judge: &'a Judge<'a>,
    memory: Option<JudgementCache<'a>>,
    docket: &'a PairSet,
    planted: Vec<Canary>,
    cases: Vec<JudgeCase>,
}

/// A pair to judge, with its prompt.
struct JudgeCase {
    subject: PairRef,
    prompt: PairPrompt,
    cached: Option<Judgement>,
}

#[derive(Clone, Copy)]
enum PairRef {
    /// Index of a planted pair.
    Canary(usize),
    /// Index of a pair on the docket.
    PairSet(usize),
}

pub struct SessionResult {
    /// The outcome of each pair of the docket, in its order.
    pub outcomes: Vec<JudgingOutcome>,
    pub planted: Vec<(Canary, JudgingOutcome)>,
    /// The first error, or the one that ended the run.
    pub first_error: Option<ModelCallError>,
}

/// The default number of planted pairs of each kind for a judge.
pub fn default_canaries(judge: &Judge<'_>) -> usize {
    match judge {
        Judge::Offline => CANARIES_OF_EACH,
        Judge::Model(..) => PAID_CANARIES_OF_EACH,
    }
}

impl Judge<'_> {
    /// The name in reports.
    pub fn name(&self) -> String {
        match self {
            Self::Offline => offline::JUDGE_NAME.to_owned(),
            Self::Model(_, model) => model.to_string(),
        }
    }
}

impl<'a> JudgeSession<'a> {
    /// Prepares a session: looks up cached judgements, sends nothing. Planted pairs come first, so
    /// that the reliability of the judge is known even if the budget ends the run.
    pub fn new(
        judge: &'a Judge<'a>,
        memory: Option<JudgementCache<'a>>,
        docket: &'a PairSet,
        planted: Vec<Canary>,
        max_chars: usize,
    ) -> Result<Self, StoreError> {
        let case = |subject, prompt| JudgeCase { subject, prompt, cached: None };
        let of_planted = planted.iter().enumerate().map(|(place, canary)| {
            case(PairRef::Canary(place), PairPrompt::of(&canary.pair, max_chars))
        });
        let of_docket = docket
            .to_judge()
            .map(|place| case(PairRef::PairSet(place), docket.pairs()[place].prompt.clone()));
        let cases = of_planted.chain(of_docket).collect();
        let mut session = Self { judge, memory, docket, planted, cases };
        session.read_cache()?;
        Ok(session)
    }

    /// The number of pairs to judge, including planted ones.
    pub fn count(&self) -> usize {
        self.cases.len()
    }

    /// The estimated cost of judging them.
    pub fn estimate(&self) -> Result<Usd, ModelCallError> {
        let Judge::Model(client, model) = self.judge else { return Ok(Usd::ZERO) };
        if client.is_replay_only() {
            return Ok(Usd::ZERO);
        }
        let price = client.price(model)?;
        let unknown = self.cases.iter().filter(|case| case.cached.is_none());
        Ok(unknown
            .map(|JudgeCase { prompt, .. }| {
                let bytes = prompt.system.len() + prompt.user.len();
                price.of(bytes as u64 / TOKEN_BYTES, USUAL_TOKENS, 0)
            })
            .sum())
    }

    /// Has every pair judged. After a failure that every further call would share, the remaining
    /// calls are skipped.
    pub fn run(self, progress: &(dyn Fn(usize) + Sync)) -> SessionResult {
        let first_error = Mutex::new(None);
        let threads = match self.judge {
            Judge::Offline => std::thread::available_parallelism().map_or(1, usize::from),
            Judge::Model(client, _) => client.concurrency(),
        };
        let judged = spread(self.cases.len(), threads, |at| {
            let outcome = self.judge_case(&self.cases[at], &first_error);
            progress(1);
            outcome
        });
        let Self { docket, planted, cases, .. } = self;
        let mut outcomes = vec![JudgingOutcome::NotAsked; docket.pairs().len()];
        let mut of_planted = vec![JudgingOutcome::NotAsked; planted.len()];
        for (case, outcome) in cases.iter().zip(judged) {
            match case.subject {
                PairRef::Canary(place) => of_planted[place] = outcome,
                PairRef::PairSet(place) => outcomes[place] = outcome,
            }
        }
        let planted = planted.into_iter().zip(of_planted).collect();
        let first_error = first_error.into_inner().unwrap_or_else(PoisonError::into_inner);
        SessionResult { outcomes, planted, first_error }
    }

    fn read_cache(&mut self) -> Result<(), StoreError> {
        let Some(memory) = self.memory.as_ref().filter(|memory| memory.reads) else {
            return Ok(());
        };
        let Judge::Model(_, model) = self.judge else { return Ok(()) };
        let keys: Vec<Hash> =
            self.cases.iter().map(|case| key(model, &chat(&case.prompt))).collect();
        let JudgementCache { store, workspace, now, .. } = memory;
        let cached = store.model_answers(workspace, AnswerKind::Contradiction, &keys, *now)?;
        for (case, cached) in self.cases.iter_mut().zip(cached) {
            // An unreadable cached answer is asked for again.
            let cached = cached.and_then(|text| serde_json::from_str::<Value>(&text).ok());
            case.cached = cached.and_then(|answer| parse(&answer).ok());
        }
        Ok(())
    }

    fn judge_case(
        &self,
        case: &JudgeCase,
        first_error: &Mutex<Option<ModelCallError>>,
    ) -> JudgingOutcome {
        if let Some(judgement) = &case.cached {
            return JudgingOutcome::Judged(judgement.clone(), Origin::Cache);
        }
        let (client, model) = match self.judge {
            Judge::Model(client, model) => (client, model),
            Judge::Offline => {
                return JudgingOutcome::Judged(
                    offline::judge(self.pair(case.subject)),
                    Origin::Judge,
                );
            }
        };
        let known = first_error.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(error) = known.filter(|error| error.kind.is_final()) {
            return failed(error.kind);
        }
        match self.ask(client, model, case) {
            Ok(judgement) => JudgingOutcome::Judged(judgement, Origin::Judge),
            Err(JudgementError::Unreadable) => JudgingOutcome::Failed(JudgeError::ParseFail),
            Err(JudgementError::CallFailed(error)) => {
                let kind = error.kind;
                let mut first_error = first_error.lock().unwrap_or_else(PoisonError::into_inner);
                // An error that ends the run replaces an earlier one that did not.
                if first_error
                    .as_ref()
                    .is_none_or(|known| kind.is_final() && !known.kind.is_final())
                {
                    *first_error = Some(error);
                }
                failed(kind)
            }
        }
    }

    fn pair(&self, subject: PairRef) -> &Pair {
        match subject {
            PairRef::Canary(place) => &self.planted[place].pair,
            PairRef::PairSet(place) => &self.docket.pairs()[place].pair,
        }
    }

    /// The pages that a judgement is based on; planted pairs have none.
    fn pages(&self, subject: PairRef) -> Vec<String> {
        match subject {
            PairRef::Canary(_) => Vec::new(),
            PairRef::PairSet(_) => {
                let Pair { a, b, .. } = self.pair(subject);
                vec![a.key.to_string(), b.key.to_string()]
            }
        }
    }

    fn ask(
        &self,
        client: &ModelClient,
        model: &ModelRef,
        case: &JudgeCase,
    ) -> Result<Judgement, JudgementError> {
        let chat = chat(&case.prompt);
        let (reply, _) = client.chat(model, &chat).map_err(JudgementError::CallFailed)?;
        let answer = json_object(&reply).map_err(|_| JudgementError::Unreadable)?;
        let judgement = parse(&answer).map_err(|_| JudgementError::Unreadable)?;
        self.store_judgement(&key(model, &chat), &answer, self.pages(case.subject));
        Ok(judgement)
    }

    /// A failed cache write must not discard a paid judgement.
    fn store_judgement(&self, key: &Hash, answer: &Value, pages: Vec<String>) {
        let Some(JudgementCache { store, workspace, now, .. }) = &self.memory else { return };
        let until = now.saturating_add(CACHE_TTL).unwrap_or(Timestamp::MAX);
        let answers = [ModelAnswer { key: *key, body: answer.to_string(), pages: Some(pages) }];
        let kind = AnswerKind::Contradiction;
        let _ = store.store_model_answers(workspace, kind, &answers, *now, until);
    }
}

/// The reason that a judge returned no judgement.
enum JudgementError {
    Unreadable,
    CallFailed(ModelCallError),
}

fn chat(prompt: &PairPrompt) -> Chat {
    Chat {
        system: prompt.system.to_owned(),
        user: prompt.user.clone(),
        max_tokens: JUDGEMENT_TOKENS,
        schema: Some(Schema { name: "judgement".to_owned(), schema: schema() }),
        repeat: 0,
    }
}

/// The cache key: a hash of everything that a judgement depends on.
fn key(model: &ModelRef, chat: &Chat) -> Hash {
    let (prompt, input) = (chat.prompt_hash(), chat.input_hash());
    Hash::of_parts(&[model.to_string().as_bytes(), &prompt.0, &input.0])
}

fn failed(kind: ModelCallErrorKind) -> JudgingOutcome {
    JudgingOutcome::Failed(match kind {
        ModelCallErrorKind::Cancelled => return JudgingOutcome::NotAsked,
        ModelCallErrorKind::Malformed | ModelCallErrorKind::Truncated => JudgeError::ParseFail,
        ModelCallErrorKind::Refusal => JudgeError::Refusal,
        ModelCallErrorKind::Timeout => JudgeError::Timeout,
        ModelCallErrorKind::Unavailable => JudgeError::Http5xx,
        ModelCallErrorKind::RateLimited => JudgeError::RateLimited,
        ModelCallErrorKind::OverBudget => JudgeError::OverBudget,
        ModelCallErrorKind::StaleCassette | ModelCallErrorKind::NotRecorded => {
            JudgeError::StaleCassette
        }
        ModelCallErrorKind::NoKey => JudgeError::NoKey,
        ModelCallErrorKind::NoProvider
        | ModelCallErrorKind::NoPrice
        | ModelCallErrorKind::Unreachable
        | ModelCallErrorKind::Denied
        | ModelCallErrorKind::BadRequest
        | ModelCallErrorKind::Ledger => JudgeError::Unknown,
    })
}
