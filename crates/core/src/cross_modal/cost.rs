//! What a panel may cost, before it is asked.
//!
//! Promises: an estimate covers every seat, cycle and row at its real length, with replies as long as
//! they may be. A model without a price has no estimate, and says so; it is never left out.

use super::{Prompt, Slot};
use crate::money::Usd;

/// What a million tokens cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Read by the model.
    pub input: Usd,
    /// Written by the model.
    pub output: Usd,
}

/// A seat with what it costs, if that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Priced {
    /// The place.
    pub slot: Slot,
    /// The model, as `provider:model`.
    pub model: String,
    /// Its price.
    pub price: Option<Price>,
}

/// A model without a price.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("slot {slot}: the model `{model}` has no price, so nothing can be said about its cost")]
pub struct Unpriced {
    /// Where it sits.
    pub slot: Slot,
    /// The model.
    pub model: String,
}

/// How long the replies may be, and how often each model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// How often each model is asked about a row.
    pub cycles: u8,
    /// The longest reply, in tokens.
    pub max_tokens: u32,
}

/// Bytes of text to a token, at the least.
const BYTES_PER_TOKEN: u64 = 3;
/// What a request holds beside its texts: roles, the schema's frame.
const OVERHEAD: u64 = 64;

/// The tokens of a prompt, estimated high: prose in English has four to five bytes a token. Text of
/// other scripts or of code may have more tokens than this; a budget is held by reservations, not by
/// this number.
pub fn input_tokens(prompt: &Prompt) -> u64 {
    let bytes = prompt.system.len() + prompt.user.len() + prompt.schema.to_string().len();
    (bytes as u64).div_ceil(BYTES_PER_TOKEN) + OVERHEAD
}

/// What one call costs at most.
pub fn call(price: &Price, input_tokens: u64, max_tokens: u32) -> Usd {
    price.input.for_tokens(input_tokens) + price.output.for_tokens(u64::from(max_tokens))
}

/// What a panel costs at most, over rows with so many input tokens each.
pub fn preflight(
    seats: &[Priced],
    rows: impl IntoIterator<Item = u64>,
    extent: Extent,
) -> Result<Usd, Unpriced> {
    let priced = |seat: &Priced| {
        let unpriced = || Unpriced { slot: seat.slot, model: seat.model.clone() };
        seat.price.ok_or_else(unpriced)
    };
    let prices: Vec<Price> = seats.iter().map(priced).collect::<Result<_, _>>()?;
    let row = |tokens: u64| -> Usd {
        prices.iter().map(|price| call(price, tokens, extent.max_tokens)).sum()
    };
    Ok(rows.into_iter().map(row).sum::<Usd>().times(u64::from(extent.cycles)))
}

#[cfg(test)]
mod tests {
    use super::super::{Case, Rubric, prompt};
    use super::*;

    fn seat(slot: Slot, price: Option<(u32, u32)>) -> Priced {
        let price = price
            .map(|(input, output)| Price { input: Usd::cents(input), output: Usd::cents(output) });
        Priced { slot, model: format!("model-{slot}"), price }
    }

    #[track_caller]
    fn check(rows: &[u64], cycles: u8, max_tokens: u32, expected: &str) {
        let seats = [seat(Slot::A, Some((125, 1000))), seat(Slot::B, Some((500, 2500)))];
        let estimate = preflight(&seats, rows.iter().copied(), Extent { cycles, max_tokens });
        assert_eq!(estimate.unwrap().to_string(), expected);
    }

    #[test]
    fn by_hand() {
        // 1000 tokens in: 0.00125 + 0.005. 4000 out: 0.04 + 0.1.
        check(&[1000], 1, 4000, "$0.14625");
        check(&[1000], 3, 4000, "$0.43875");
        check(&[1000, 3000], 1, 4000, "$0.305");
        check(&[], 1, 4000, "$0.00");
    }

    #[test]
    fn no_price_no_estimate() {
        let seats = [seat(Slot::A, Some((1, 1))), seat(Slot::C, None)];
        let error = preflight(&seats, [1000], Extent { cycles: 1, max_tokens: 10 }).unwrap_err();
        let message =
            "slot C: the model `model-C` has no price, so nothing can be said about its cost";
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn longer_texts_cost_more() {
        let tokens = |output: &str| {
            input_tokens(&prompt(&Rubric::qa(), &Case { task: "t", expected: None, output }))
        };
        assert_eq!(tokens(&"x".repeat(3001)) - tokens("x"), 1000);
    }
}
