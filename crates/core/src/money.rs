//! Exact amounts of US dollars, so that rounding never exceeds a budget, after any number of calls.
//!
//! Amounts are whole billionths of a dollar; one token of the cheapest model costs tens of them.
//! Sums saturate instead of wrapping, so that an overflow cannot bypass a budget.

use serde::Serializer;
use std::fmt;
use std::iter::Sum;
use std::ops::Add;
use std::str::FromStr;

const NANOS: i64 = 1_000_000_000;
const MILLION: u128 = 1_000_000;

/// An amount of US dollars, never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Usd(i64);

/// A text that is not an amount of dollars.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an amount of dollars; use a number such as 0.50, with at most 9 decimals")]
pub struct UsdError(String);

impl Usd {
    /// Serializes the amount as a number.
    pub fn as_number<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }

    pub const ZERO: Self = Self(0);
    pub const MAX: Self = Self(i64::MAX);

    /// An amount in billionths of a dollar; negative values become zero.
    pub const fn nanos(nanos: i64) -> Self {
        Self(if nanos < 0 { 0 } else { nanos })
    }

    pub const fn cents(cents: u32) -> Self {
        Self(cents as i64 * (NANOS / 100))
    }

    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The amount in dollars, for reports.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / NANOS as f64
    }

    /// The cost of `tokens` at this price per million tokens. Rounded up, because estimates must be
    /// worst cases.
    #[must_use]
    pub fn for_tokens(self, tokens: u64) -> Self {
        let nanos = (u128::from(self.0.unsigned_abs()) * u128::from(tokens)).div_ceil(MILLION);
        Self(i64::try_from(nanos).unwrap_or(i64::MAX))
    }

    /// The amount multiplied by `count`.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX)))
    }

    /// The difference, at least zero.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self((self.0 - other.0).max(0))
    }
}

impl Add for Usd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

/// A dollar sign and as many decimals as needed, at least two.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:09}", self.0 % NANOS);
        let digits = decimals.trim_end_matches('0').len().max(2);
        write!(f, "${}.{}", self.0 / NANOS, &decimals[..digits])
    }
}

impl FromStr for Usd {
    type Err = UsdError;

    fn from_str(text: &str) -> Result<Self, UsdError> {
        let bad = || UsdError(text.to_owned());
        let digits = text.trim().trim_start_matches('$');
        let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + decimals.len() == 0 || decimals.len() > 9 {
            return Err(bad());
        }
        if !is_number(whole) || !is_number(decimals) {
            return Err(bad());
        }
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| bad())? };
        let decimals: i64 = format!("{decimals:0<9}").parse().map_err(|_| bad())?;
        let nanos = whole.checked_mul(NANOS).and_then(|nanos| nanos.checked_add(decimals));
        nanos.map(Self).ok_or_else(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_and_written_exactly() {
        let check = |text: &str, written: &str| {
            let amount: Usd = text.parse().unwrap();
            assert_eq!(amount.to_string(), written, "{text}");
            assert_eq!(written.parse::<Usd>(), Ok(amount));
        };
        check("5", "$5.00");
        check("0.35", "$0.35");
        check("$0.000000020", "$0.00000002");
        check(".5", "$0.50");
        check("9223372036.854775807", "$9223372036.854775807");
    }

    #[test]
    fn other_texts_are_rejected() {
        for bad in ["", ".", "-1", "1e3", "NaN", "inf", "1,5", "0.0000000001", "9223372037", "$"] {
            assert!(bad.parse::<Usd>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn tokens_round_up() {
        let a_million: Usd = "0.15".parse().unwrap();
        assert_eq!(a_million.for_tokens(1_000_000), a_million);
        assert_eq!(a_million.for_tokens(1), Usd::nanos(150));
        assert_eq!(Usd::nanos(1).for_tokens(1), Usd::nanos(1));
        assert_eq!(a_million.for_tokens(0), Usd::ZERO);
        assert_eq!(Usd::MAX.for_tokens(u64::MAX), Usd::MAX);
    }

    #[test]
    fn sums_saturate() {
        assert_eq!(Usd::MAX + Usd::cents(1), Usd::MAX);
        assert_eq!(Usd::MAX.times(3), Usd::MAX);
        assert_eq!(Usd::cents(1).saturating_sub(Usd::cents(2)), Usd::ZERO);
        assert_eq!([Usd::cents(1), Usd::cents(2)].into_iter().sum::<Usd>(), Usd::cents(3));
    }
}
