//! The tests of core that need more than one room, or data.

mod pages;
mod split;
mod world;
