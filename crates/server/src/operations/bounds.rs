//! Checks input against the limits in the schemas.

use std::fmt::Display;
use std::ops::RangeInclusive;

use gbrain_core::fault::Fault;

/// Refuses a text that is too long.
pub(crate) fn at_most(what: &str, text: Option<&str>, limit: usize) -> Result<(), Fault> {
    match text.map_or(0, |text| text.chars().count()) {
        length if length > limit => {
            Err(Fault::usage(format!("{what} has {length} characters; the limit is {limit}")))
        }
        _ => Ok(()),
    }
}

/// Refuses a text that is given and empty, or longer than `limit` characters.
pub(crate) fn filled_at_most(what: &str, text: Option<&str>, limit: usize) -> Result<(), Fault> {
    match text {
        Some("") => Err(Fault::usage(format!("{what} is empty"))),
        text => at_most(what, text, limit),
    }
}

pub(crate) fn within<N: PartialOrd + Display + Copy>(
    name: &str,
    number: Option<N>,
    range: RangeInclusive<N>,
) -> Result<(), Fault> {
    match number {
        Some(number) if !range.contains(&number) => {
            let (from, to) = range.into_inner();
            Err(Fault::usage(format!("`{name}` is {number}; it must be from {from} to {to}")))
        }
        _ => Ok(()),
    }
}
