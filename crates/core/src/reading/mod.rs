//! Reading documents that others send: in little memory, within limits, with errors in plain words.

pub mod json;
pub mod meter;
pub mod plain;
pub mod shape;
pub mod suggest;

/// The error on a line of NDJSON, without its position: the parser counts every line as the first,
/// which would contradict the line number from the file's reader.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}
