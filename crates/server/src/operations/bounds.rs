//! Bounds of what callers send, as the schemas state them.

use std::fmt::Display;
use std::ops::RangeInclusive;

use gbrain_core::fault::Fault;

/// Refuses a text of more characters.
pub(crate) fn at_most(what: &str, text: Option<&str>, most: usize) -> Result<(), Fault> {
    match text.map_or(0, |text| text.chars().count()) {
        length if length > most => {
            Err(Fault::usage(format!("{what} has {length} characters, at most {most}")))
        }
        _ => Ok(()),
    }
}

/// Refuses a number outside of a range.
pub(crate) fn within<N: PartialOrd + Display + Copy>(
    name: &str,
    number: Option<N>,
    range: RangeInclusive<N>,
) -> Result<(), Fault> {
    match number {
        Some(number) if !range.contains(&number) => {
            let (from, to) = range.into_inner();
            Err(Fault::usage(format!(
                "`{name}` is {number}; it takes a number from {from} to {to}"
            )))
        }
        _ => Ok(()),
    }
}
