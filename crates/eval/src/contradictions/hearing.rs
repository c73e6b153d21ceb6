//! Pairs before a judge: planted ones first, each asked once, answers remembered.

use std::sync::{Mutex, PoisonError};

use gbrain_core::contradiction::prompt::{Prompt, schema};
use gbrain_core::contradiction::rate::CANARIES_OF_EACH;
use gbrain_core::contradiction::{
    Canary, Docket, JudgeError, Judgement, Origin, Outcome, Pair, offline, parse,
};
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_core::repair::json_object;
use gbrain_llm::{AskError, AskErrorKind, Asker, Chat, ModelRef, Schema, TOKEN_BYTES};
use gbrain_store::{AnswerKind, ModelAnswer, Store, StoreError};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::spread::spread;

/// The most tokens of a judgement, thinking included.
const JUDGEMENT_TOKENS: u32 = 512;
/// About what a judgement takes, for an estimate.
const USUAL_TOKENS: u64 = 120;
/// How long a judgement is remembered.
const KEEP: SignedDuration = SignedDuration::from_hours(24 * 30);
/// Planted pairs of each kind for a judge that costs money: half as sure of it, for a third of the price.
const PAID_CANARIES_OF_EACH: usize = 60;

/// Who judges.
pub enum Judge<'a> {
    /// The rules that are built in.
    Offline,
    /// A model, through a door.
    Model(&'a Asker, ModelRef),
}

/// What judges said before.
pub struct Memory<'a> {
    /// Where it is kept.
    pub store: &'a Store,
    pub workspace: &'a WorkspaceId,
    /// What is the time.
    pub now: Timestamp,
    /// Whether what is there is used; if not, everything is asked anew and kept.
    pub recalls: bool,
}

/// A docket and planted pairs before a judge.
pub struct Hearing<'a> {
    judge: &'a Judge<'a>,
    memory: Option<Memory<'a>>,
    docket: &'a Docket,
    planted: Vec<Canary>,
    cases: Vec<Case>,
}

/// A pair that is to be judged.
struct Case {
    subject: Subject,
    prompt: Prompt,
    recalled: Option<Judgement>,
}

#[derive(Clone, Copy)]
enum Subject {
    /// A place among the planted pairs.
    Planted(usize),
    /// A place on the docket.
    Docketed(usize),
}

/// What came of a hearing.
pub struct Heard {
    /// What became of the docket's pairs, in its order.
    pub outcomes: Vec<Outcome>,
    /// The planted pairs, and what became of them.
    pub planted: Vec<(Canary, Outcome)>,
    /// Why the first call that failed did.
    pub trouble: Option<AskError>,
}

/// How many pairs of each kind are planted for a judge, unless told otherwise.
pub fn planted_for(judge: &Judge<'_>) -> usize {
    match judge {
        Judge::Offline => CANARIES_OF_EACH,
        Judge::Model(..) => PAID_CANARIES_OF_EACH,
    }
}

impl Judge<'_> {
    /// Its name in reports.
    pub fn name(&self) -> String {
        match self {
            Self::Offline => offline::JUDGE_NAME.to_owned(),
            Self::Model(_, model) => model.to_string(),
        }
    }
}

impl<'a> Hearing<'a> {
    /// Prepares a hearing: looks up what is remembered, asks nobody. Planted pairs come first, so that what
    /// the judge is worth is known wherever the money ends.
    pub fn new(
        judge: &'a Judge<'a>,
        memory: Option<Memory<'a>>,
        docket: &'a Docket,
        planted: Vec<Canary>,
        max_chars: usize,
    ) -> Result<Self, StoreError> {
        let case = |subject, prompt| Case { subject, prompt, recalled: None };
        let of_planted = planted.iter().enumerate().map(|(place, canary)| {
            case(Subject::Planted(place), Prompt::of(&canary.pair, max_chars))
        });
        let of_docket = docket
            .to_judge()
            .map(|place| case(Subject::Docketed(place), docket.pairs()[place].prompt.clone()));
        let cases = of_planted.chain(of_docket).collect();
        let mut hearing = Self { judge, memory, docket, planted, cases };
        hearing.recall()?;
        Ok(hearing)
    }

    /// How many pairs there are to judge, planted ones included.
    pub fn count(&self) -> usize {
        self.cases.len()
    }

    /// About what judging them costs.
    pub fn estimate(&self) -> Result<Usd, AskError> {
        let Judge::Model(asker, model) = self.judge else { return Ok(Usd::ZERO) };
        if asker.is_replay_only() {
            return Ok(Usd::ZERO);
        }
        let price = asker.price(model)?;
        let unknown = self.cases.iter().filter(|case| case.recalled.is_none());
        Ok(unknown
            .map(|Case { prompt, .. }| {
                let bytes = prompt.system.len() + prompt.user.len();
                price.of(bytes as u64 / TOKEN_BYTES, USUAL_TOKENS, 0)
            })
            .sum())
    }

    /// Has every pair judged. After a failure that every further call would share, nobody is asked any more.
    pub fn run(self, progress: &(dyn Fn(usize) + Sync)) -> Heard {
        let trouble = Mutex::new(None);
        let threads = match self.judge {
            Judge::Offline => std::thread::available_parallelism().map_or(1, usize::from),
            Judge::Model(asker, _) => asker.concurrency(),
        };
        let judged = spread(self.cases.len(), threads, |at| {
            let outcome = self.hear(&self.cases[at], &trouble);
            progress(1);
            outcome
        });
        let Self { docket, planted, cases, .. } = self;
        let mut outcomes = vec![Outcome::NotAsked; docket.pairs().len()];
        let mut of_planted = vec![Outcome::NotAsked; planted.len()];
        for (case, outcome) in cases.iter().zip(judged) {
            match case.subject {
                Subject::Planted(place) => of_planted[place] = outcome,
                Subject::Docketed(place) => outcomes[place] = outcome,
            }
        }
        let planted = planted.into_iter().zip(of_planted).collect();
        let trouble = trouble.into_inner().unwrap_or_else(PoisonError::into_inner);
        Heard { outcomes, planted, trouble }
    }

    fn recall(&mut self) -> Result<(), StoreError> {
        let Some(memory) = self.memory.as_ref().filter(|memory| memory.recalls) else {
            return Ok(());
        };
        let Judge::Model(_, model) = self.judge else { return Ok(()) };
        let keys: Vec<Hash> =
            self.cases.iter().map(|case| key(model, &chat(&case.prompt))).collect();
        let Memory { store, workspace, now, .. } = memory;
        let kept = store.model_answers(workspace, AnswerKind::Contradiction, &keys, *now)?;
        for (case, kept) in self.cases.iter_mut().zip(kept) {
            // What can't be read is asked again.
            let kept = kept.and_then(|text| serde_json::from_str::<Value>(&text).ok());
            case.recalled = kept.and_then(|answer| parse(&answer).ok());
        }
        Ok(())
    }

    fn hear(&self, case: &Case, trouble: &Mutex<Option<AskError>>) -> Outcome {
        if let Some(judgement) = &case.recalled {
            return Outcome::Judged(judgement.clone(), Origin::Cache);
        }
        let (asker, model) = match self.judge {
            Judge::Model(asker, model) => (asker, model),
            Judge::Offline => {
                return Outcome::Judged(offline::judge(self.pair(case.subject)), Origin::Judge);
            }
        };
        let known = trouble.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(error) = known.filter(|error| error.kind.is_final()) {
            return failed(error.kind);
        }
        match self.ask(asker, model, case) {
            Ok(judgement) => Outcome::Judged(judgement, Origin::Judge),
            Err(Unjudged::Unreadable) => Outcome::Failed(JudgeError::ParseFail),
            Err(Unjudged::Unanswered(error)) => {
                let kind = error.kind;
                let mut trouble = trouble.lock().unwrap_or_else(PoisonError::into_inner);
                // The one that ends the run is the one to tell of.
                if trouble.as_ref().is_none_or(|known| kind.is_final() && !known.kind.is_final()) {
                    *trouble = Some(error);
                }
                failed(kind)
            }
        }
    }

    fn pair(&self, subject: Subject) -> &Pair {
        match subject {
            Subject::Planted(place) => &self.planted[place].pair,
            Subject::Docketed(place) => &self.docket.pairs()[place].pair,
        }
    }

    /// The pages that a judgement is made from; planted pairs are of no page.
    fn pages(&self, subject: Subject) -> Vec<String> {
        match subject {
            Subject::Planted(_) => Vec::new(),
            Subject::Docketed(_) => {
                let Pair { a, b, .. } = self.pair(subject);
                vec![a.key.to_string(), b.key.to_string()]
            }
        }
    }

    fn ask(&self, asker: &Asker, model: &ModelRef, case: &Case) -> Result<Judgement, Unjudged> {
        let chat = chat(&case.prompt);
        let (said, _) = asker.chat(model, &chat).map_err(Unjudged::Unanswered)?;
        let answer = json_object(&said).map_err(|_| Unjudged::Unreadable)?;
        let judgement = parse(&answer).map_err(|_| Unjudged::Unreadable)?;
        self.keep(&key(model, &chat), &answer, self.pages(case.subject));
        Ok(judgement)
    }

    /// A store that can't keep it now is no reason to lose a judgement that was paid for.
    fn keep(&self, key: &Hash, answer: &Value, pages: Vec<String>) {
        let Some(Memory { store, workspace, now, .. }) = &self.memory else { return };
        let until = now.saturating_add(KEEP).unwrap_or(Timestamp::MAX);
        let answers = [ModelAnswer { key: *key, body: answer.to_string(), pages: Some(pages) }];
        let kind = AnswerKind::Contradiction;
        let _ = store.keep_model_answers(workspace, kind, &answers, *now, until);
    }
}

/// Why a judge gave no judgement.
enum Unjudged {
    Unreadable,
    Unanswered(AskError),
}

fn chat(prompt: &Prompt) -> Chat {
    Chat {
        system: prompt.system.to_owned(),
        user: prompt.user.clone(),
        max_tokens: JUDGEMENT_TOKENS,
        schema: Some(Schema { name: "judgement".to_owned(), schema: schema() }),
        repeat: 0,
    }
}

/// Everything that a judgement depends on.
fn key(model: &ModelRef, chat: &Chat) -> Hash {
    let (prompt, input) = (chat.prompt_hash(), chat.input_hash());
    Hash::of_parts(&[model.to_string().as_bytes(), &prompt.0, &input.0])
}

fn failed(kind: AskErrorKind) -> Outcome {
    Outcome::Failed(match kind {
        AskErrorKind::Cancelled => return Outcome::NotAsked,
        AskErrorKind::Malformed | AskErrorKind::Truncated => JudgeError::ParseFail,
        AskErrorKind::Refusal => JudgeError::Refusal,
        AskErrorKind::Timeout => JudgeError::Timeout,
        AskErrorKind::Unavailable => JudgeError::Http5xx,
        AskErrorKind::RateLimited => JudgeError::RateLimited,
        AskErrorKind::OverBudget => JudgeError::OverBudget,
        AskErrorKind::StaleCassette | AskErrorKind::NotRecorded => JudgeError::StaleCassette,
        AskErrorKind::NoKey => JudgeError::NoKey,
        AskErrorKind::NoProvider
        | AskErrorKind::NoPrice
        | AskErrorKind::Unreachable
        | AskErrorKind::Denied
        | AskErrorKind::BadRequest
        | AskErrorKind::Ledger => JudgeError::Unknown,
    })
}
