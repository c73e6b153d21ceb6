//! Has one case judged by a panel.

use gbrain_core::cross_modal::{
    Call, CallOutcome, CallSkipReason, JudgeInput, JudgePrompt, JudgedOutput, JudgingError, Panel,
    PanelError, PanelSeat, PanelSlot, Rubric, VerdictState, next_calls, prompt, read,
    verdict_state,
};
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::money::Usd;
use gbrain_llm::{Chat, ModelCallError, ModelCallErrorKind, ModelClient, ModelRef, Schema};

use crate::spread::spread;

/// A panel of models that vote.
pub struct Jury<'a> {
    pub client: &'a ModelClient,
    pub rubric: &'a Rubric,
    /// The model in each slot.
    pub seats: Vec<(PanelSlot, ModelRef)>,
    /// Maximum number of votes per model.
    pub cycles: u8,
    /// Maximum tokens of a reply, including reasoning.
    pub max_tokens: u32,
}

/// Typical tokens of a vote, including reasoning: the default panel of three models costs about
/// $0.70 for ten rows, as documented.
const USUAL_REPLY: u32 = 1_500;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JuryCost {
    /// The expected cost of all calls.
    pub likely: Usd,
    /// The maximum cost: each call is charged with its part of this until it is answered.
    pub most: Usd,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JuryError {
    #[error(transparent)]
    Panel(#[from] PanelError),
    /// One of its models is unavailable.
    #[error("slot {slot}: {model} can't be asked")]
    PanelSeat { slot: PanelSlot, model: ModelRef, source: ModelCallError },
}

impl From<JuryError> for Fault {
    fn from(error: JuryError) -> Self {
        match error {
            JuryError::Panel(error) => Self::new(FaultKind::Usage, error.to_string())
                .hint("name three different models with --slot-a-model, --slot-b-model and --slot-c-model"),
            JuryError::PanelSeat { slot, model, source } => {
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
    pub fn panel_seats(&self) -> Vec<PanelSeat> {
        let seat = |(slot, model): &(PanelSlot, ModelRef)| PanelSeat {
            slot: *slot,
            model: model.to_string(),
        };
        self.seats.iter().map(seat).collect()
    }

    /// Checks that the panel is valid and every model available.
    pub fn ready(&self) -> Result<(), JuryError> {
        self.panel()?;
        for (slot, model) in &self.seats {
            let unready =
                |source| JuryError::PanelSeat { slot: *slot, model: model.clone(), source };
            self.client.ready(model).map_err(unready)?;
        }
        Ok(())
    }

    /// Estimates the cost of judging some cases: every seat in every cycle, at the length of each
    /// case. Zero if only a cassette answers.
    pub fn estimate<'c>(
        &self,
        cases: impl IntoIterator<Item = JudgeInput<'c>>,
    ) -> Result<JuryCost, ModelCallError> {
        let mut cost = JuryCost::default();
        for case in cases {
            let chat = self.chat(&prompt(self.rubric, &case), 1);
            for (_, model) in &self.seats {
                let cycles = u64::from(self.cycles);
                let likely = self.client.estimated_chat_cost(model, &chat, USUAL_REPLY)?;
                let most = self.client.max_chat_cost(model, &chat)?;
                cost.likely = cost.likely + likely.times(cycles);
                cost.most = cost.most + most.times(cycles);
            }
        }
        Ok(cost)
    }

    /// Asks until the verdict is settled, the calls are used up, or a call cannot be made.
    pub fn judge(&self, case: &JudgeInput<'_>) -> Result<JudgedOutput, JudgingError> {
        let prompt = prompt(self.rubric, case);
        let none = |error: PanelError| JudgingError { message: error.to_string(), cost: Usd::ZERO };
        let mut panel = self.panel().map_err(none)?;
        loop {
            let calls = next_calls(&panel);
            if calls.is_empty() {
                break;
            }
            let results = spread(calls.len(), calls.len(), |at| self.call(&prompt, calls[at]));
            record(&mut panel, results)?;
        }
        let rest =
            panel.missing_calls().into_iter().map(|call| self.unmade_call(&panel, &prompt, call));
        let rest: Vec<CallResult> = rest.collect();
        record(&mut panel, rest)?;
        Ok(JudgedOutput::new(panel, &prompt, case))
    }

    fn panel(&self) -> Result<Panel, PanelError> {
        Panel::new(self.rubric, &self.panel_seats(), self.cycles)
    }

    /// Each cycle has its own cassette entry.
    fn chat(&self, prompt: &JudgePrompt, cycle: u8) -> Chat {
        Chat {
            system: prompt.system.clone(),
            user: prompt.user.clone(),
            max_tokens: self.max_tokens,
            schema: Some(Schema { name: "vote".to_owned(), schema: prompt.schema.clone() }),
            repeat: u32::from(cycle - 1),
        }
    }

    fn model(&self, slot: PanelSlot) -> &ModelRef {
        let seat = self.seats.iter().find(|(seated, _)| *seated == slot);
        &seat.expect("a panel asks its own seats").1
    }

    fn call(&self, prompt: &JudgePrompt, (slot, cycle): (PanelSlot, u8)) -> CallResult {
        let results = |outcome, cost| Ok(Call { slot, cycle, outcome, cost });
        match self.client.chat(self.model(slot), &self.chat(prompt, cycle)) {
            Ok((reply, bill)) => match read(self.rubric, &reply) {
                Ok(vote) => results(CallOutcome::Scored(vote), bill.cost),
                Err(error) => results(failed(ModelCallErrorKind::Malformed, &error), bill.cost),
            },
            Err(error) => match outcome(&error) {
                Some(outcome) => results(outcome, error.cost),
                None => Err(JudgingError {
                    message: format!("slot {slot}: {}: {error}", error.kind),
                    cost: error.cost,
                }),
            },
        }
    }

    /// The record of a remaining call after the panel stopped.
    fn unmade_call(
        &self,
        panel: &Panel,
        prompt: &JudgePrompt,
        (slot, cycle): (PanelSlot, u8),
    ) -> CallResult {
        let model = self.model(slot);
        let saved =
            || self.client.estimated_chat_cost(model, &self.chat(prompt, cycle), USUAL_REPLY);
        let why = match (verdict_state(panel), stopped(panel)) {
            (VerdictState::Open, Some(why)) => why,
            // If the price was removed, the savings are unknown.
            _ => CallSkipReason::Settled(saved().unwrap_or(Usd::ZERO)),
        };
        Ok(Call { slot, cycle, outcome: CallOutcome::NotMade(why), cost: Usd::ZERO })
    }
}

type CallResult = Result<Call, JudgingError>;

/// The panel outcome of a failed call. `None` if the failure is our own: it says nothing about the
/// model and ends the panel.
fn outcome(error: &ModelCallError) -> Option<CallOutcome> {
    Some(match error.kind {
        ModelCallErrorKind::OverBudget => CallOutcome::NotMade(CallSkipReason::OverBudget),
        ModelCallErrorKind::Cancelled => CallOutcome::NotMade(CallSkipReason::Cancelled),
        ModelCallErrorKind::StaleCassette => CallOutcome::NotMade(CallSkipReason::StaleCassette),
        ModelCallErrorKind::NotRecorded => CallOutcome::NotMade(CallSkipReason::NotRecorded),
        ModelCallErrorKind::RateLimited
        | ModelCallErrorKind::Timeout
        | ModelCallErrorKind::Unavailable
        | ModelCallErrorKind::Unreachable
        | ModelCallErrorKind::Denied
        | ModelCallErrorKind::BadRequest
        | ModelCallErrorKind::Refusal
        | ModelCallErrorKind::Truncated
        | ModelCallErrorKind::Malformed => failed(error.kind, error),
        ModelCallErrorKind::NoProvider
        | ModelCallErrorKind::NoKey
        | ModelCallErrorKind::NoPrice
        | ModelCallErrorKind::Ledger => return None,
    })
}

fn failed(kind: ModelCallErrorKind, error: &dyn std::error::Error) -> CallOutcome {
    CallOutcome::Failed(format!("{kind}: {error}"))
}

/// The reason of the first skipped call.
fn stopped(panel: &Panel) -> Option<CallSkipReason> {
    panel.calls().iter().find_map(|call| match call.outcome {
        CallOutcome::NotMade(why) => Some(why),
        _ => None,
    })
}

/// Adds calls to a panel. An error of our own ends the panel, with the cost so far.
fn record(panel: &mut Panel, results: Vec<CallResult>) -> Result<(), JudgingError> {
    let mut first_error: Option<JudgingError> = None;
    for results in results {
        match results {
            Ok(call) => {
                panel.record(call).expect("a next_calls has calls that are left, each once")
            }
            Err(error) => match &mut first_error {
                Some(first) => first.cost = first.cost + error.cost,
                None => first_error = Some(error),
            },
        }
    }
    match first_error {
        None => Ok(()),
        Some(JudgingError { message, cost }) => {
            let paid: Usd = panel.calls().iter().map(|call| call.cost).sum();
            Err(JudgingError { message, cost: cost + paid })
        }
    }
}
