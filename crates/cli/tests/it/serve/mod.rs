//! `gbrain serve` as its callers meet it: decent ones, curious ones and hostile ones.

mod client;
mod hostile;
mod isolation;
mod schemathesis;
