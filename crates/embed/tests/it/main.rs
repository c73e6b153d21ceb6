//! Tests of the built-in model from outside.

#![expect(clippy::unwrap_used, reason = "a step of a test that fails has failed the test")]

#[cfg(feature = "onnx")]
mod onnx;
mod table;
mod wordpiece;
