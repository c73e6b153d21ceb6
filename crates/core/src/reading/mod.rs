//! Reading documents that others send: in little memory, within limits, with errors in plain words.

pub mod json;
pub mod meter;
pub mod plain;
pub mod shape;
pub mod suggest;

/// What is wrong with a line of NDJSON. The parser counts every line as its first, which would
/// contradict the number that the file's reader gives.
pub(crate) fn in_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}
