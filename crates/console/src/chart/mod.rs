//! Charts as SVG. Each has a text alternative that says what the drawing shows.

pub(crate) mod bars;
pub(crate) mod contributions;
pub(crate) mod days;
pub(crate) mod distribution;
pub(crate) mod heat;
pub(crate) mod line;
pub(crate) mod neighbourhood;
pub(crate) mod periods;
pub(crate) mod plot;
