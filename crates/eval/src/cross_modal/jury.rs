//! One case before a panel.

use gbrain_core::cross_modal::{
    Call, Case, Judged, JudgingError, Outcome, Panel, PanelError, Prompt, Rubric, Seat, Slot,
    Standing, Unmade, prompt, read, standing, wave,
};
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::money::Usd;
use gbrain_llm::{AskError, AskErrorKind, Asker, Chat, ModelRef, Schema};

use crate::spread::spread;

/// Models that are asked for their votes.
pub struct Jury<'a> {
    /// The door to them.
    pub asker: &'a Asker,
    pub rubric: &'a Rubric,
    /// Who sits where, by slot.
    pub seats: Vec<(Slot, ModelRef)>,
    /// How often each is asked, at most.
    pub cycles: u8,
    /// The most tokens of a reply, thinking included.
    pub max_tokens: u32,
}

/// About what a vote takes, thinking included: three models of the default panel and ten rows come to some
/// $0.70, as documented.
const USUAL_REPLY: u32 = 1_500;

/// What judging costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JuryCost {
    /// About what is expected.
    pub likely: Usd,
    /// The most that it can be: each call is charged with its part of this until it is answered.
    pub most: Usd,
}

/// Why a jury can't be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JuryError {
    /// It is no panel.
    #[error(transparent)]
    Panel(#[from] PanelError),
    /// One of its models can't be asked.
    #[error("slot {slot}: {model} can't be asked")]
    Seat { slot: Slot, model: ModelRef, source: AskError },
}

impl From<JuryError> for Fault {
    fn from(error: JuryError) -> Self {
        match error {
            JuryError::Panel(error) => Self::new(FaultKind::Usage, error.to_string())
                .hint("name three different models with --slot-a-model, --slot-b-model and --slot-c-model"),
            JuryError::Seat { slot, model, source } => {
                let Self { kind, message, hints, .. } = Self::from(source);
                let flag = format!("--slot-{}-model", slot.name().to_lowercase());
                let fault = Self::new(kind, format!("slot {slot}: {model} can't be asked: {message}"));
                let fault = hints.into_iter().fold(fault, Self::hint);
                fault.hint(format!("or put another model in its place: {flag} provider:model"))
            }
        }
    }
}

impl Jury<'_> {
    /// Who sits on the panel.
    pub fn panel_seats(&self) -> Vec<Seat> {
        let seat =
            |(slot, model): &(Slot, ModelRef)| Seat { slot: *slot, model: model.to_string() };
        self.seats.iter().map(seat).collect()
    }

    /// Whether it is a panel and every seat can be asked.
    pub fn ready(&self) -> Result<(), JuryError> {
        self.panel()?;
        for (slot, model) in &self.seats {
            let unready = |source| JuryError::Seat { slot: *slot, model: model.clone(), source };
            self.asker.ready(model).map_err(unready)?;
        }
        Ok(())
    }

    /// What judging these costs: every seat in every cycle, at the length of each case. Nothing, if a
    /// cassette alone may answer.
    pub fn estimate<'c>(
        &self,
        cases: impl IntoIterator<Item = Case<'c>>,
    ) -> Result<JuryCost, AskError> {
        let mut cost = JuryCost::default();
        for case in cases {
            let chat = self.chat(&prompt(self.rubric, &case), 1);
            for (_, model) in &self.seats {
                let cycles = u64::from(self.cycles);
                let likely = self.asker.likely_of_chat(model, &chat, USUAL_REPLY)?;
                let most = self.asker.worst_of_chat(model, &chat)?;
                cost.likely = cost.likely + likely.times(cycles);
                cost.most = cost.most + most.times(cycles);
            }
        }
        Ok(cost)
    }

    /// Asks until the verdict can't change any more, the calls are used up, or one can't be made.
    pub fn judge(&self, case: &Case<'_>) -> Result<Judged, JudgingError> {
        let prompt = prompt(self.rubric, case);
        let none = |error: PanelError| JudgingError { message: error.to_string(), cost: Usd::ZERO };
        let mut panel = self.panel().map_err(none)?;
        loop {
            let calls = wave(&panel);
            if calls.is_empty() {
                break;
            }
            let made = spread(calls.len(), calls.len(), |at| self.call(&prompt, calls[at]));
            record(&mut panel, made)?;
        }
        let rest = panel.left().into_iter().map(|call| self.not_made(&panel, &prompt, call));
        let rest: Vec<Made> = rest.collect();
        record(&mut panel, rest)?;
        Ok(Judged::new(panel, &prompt, case))
    }

    fn panel(&self) -> Result<Panel, PanelError> {
        Panel::new(self.rubric, &self.panel_seats(), self.cycles)
    }

    /// Each cycle is a question of its own to a cassette.
    fn chat(&self, prompt: &Prompt, cycle: u8) -> Chat {
        Chat {
            system: prompt.system.clone(),
            user: prompt.user.clone(),
            max_tokens: self.max_tokens,
            schema: Some(Schema { name: "vote".to_owned(), schema: prompt.schema.clone() }),
            repeat: u32::from(cycle - 1),
        }
    }

    fn model(&self, slot: Slot) -> &ModelRef {
        let seat = self.seats.iter().find(|(seated, _)| *seated == slot);
        &seat.expect("a panel asks its own seats").1
    }

    fn call(&self, prompt: &Prompt, (slot, cycle): (Slot, u8)) -> Made {
        let made = |outcome, cost| Ok(Call { slot, cycle, outcome, cost });
        match self.asker.chat(self.model(slot), &self.chat(prompt, cycle)) {
            Ok((said, bill)) => match read(self.rubric, &said) {
                Ok(vote) => made(Outcome::Scored(vote), bill.cost),
                Err(error) => made(failed(AskErrorKind::Malformed, &error), bill.cost),
            },
            Err(error) => match outcome(&error) {
                Some(outcome) => made(outcome, error.cost),
                None => Err(JudgingError {
                    message: format!("slot {slot}: {}: {error}", error.kind),
                    cost: error.cost,
                }),
            },
        }
    }

    /// A call that is left when nobody is asked any more.
    fn not_made(&self, panel: &Panel, prompt: &Prompt, (slot, cycle): (Slot, u8)) -> Made {
        let model = self.model(slot);
        let saved = || self.asker.likely_of_chat(model, &self.chat(prompt, cycle), USUAL_REPLY);
        let why = match (standing(panel), stopped(panel)) {
            (Standing::Open, Some(why)) => why,
            // A price that is gone since saves nothing that could be told.
            _ => Unmade::Settled(saved().unwrap_or(Usd::ZERO)),
        };
        Ok(Call { slot, cycle, outcome: Outcome::NotMade(why), cost: Usd::ZERO })
    }
}

type Made = Result<Call, JudgingError>;

/// What a failure is to a panel; none if it is one of ours, which says nothing about the model and leaves
/// no panel to speak of.
fn outcome(error: &AskError) -> Option<Outcome> {
    Some(match error.kind {
        AskErrorKind::OverBudget => Outcome::NotMade(Unmade::OverBudget),
        AskErrorKind::Cancelled => Outcome::NotMade(Unmade::Cancelled),
        AskErrorKind::StaleCassette => Outcome::NotMade(Unmade::StaleCassette),
        AskErrorKind::NotRecorded => Outcome::NotMade(Unmade::NotRecorded),
        AskErrorKind::RateLimited
        | AskErrorKind::Timeout
        | AskErrorKind::Unavailable
        | AskErrorKind::Unreachable
        | AskErrorKind::Denied
        | AskErrorKind::BadRequest
        | AskErrorKind::Refusal
        | AskErrorKind::Truncated
        | AskErrorKind::Malformed => failed(error.kind, error),
        AskErrorKind::NoProvider
        | AskErrorKind::NoKey
        | AskErrorKind::NoPrice
        | AskErrorKind::Ledger => return None,
    })
}

fn failed(kind: AskErrorKind, error: &dyn std::error::Error) -> Outcome {
    Outcome::Failed(format!("{kind}: {error}"))
}

/// Why the first call that was not made was not.
fn stopped(panel: &Panel) -> Option<Unmade> {
    panel.calls().iter().find_map(|call| match call.outcome {
        Outcome::NotMade(why) => Some(why),
        _ => None,
    })
}

/// Takes calls; an error of ours ends the panel, with what everything cost.
fn record(panel: &mut Panel, made: Vec<Made>) -> Result<(), JudgingError> {
    let mut trouble: Option<JudgingError> = None;
    for made in made {
        match made {
            Ok(call) => panel.record(call).expect("a wave has calls that are left, each once"),
            Err(error) => match &mut trouble {
                Some(first) => first.cost = first.cost + error.cost,
                None => trouble = Some(error),
            },
        }
    }
    match trouble {
        None => Ok(()),
        Some(JudgingError { message, cost }) => {
            let paid: Usd = panel.calls().iter().map(|call| call.cost).sum();
            Err(JudgingError { message, cost: cost + paid })
        }
    }
}
