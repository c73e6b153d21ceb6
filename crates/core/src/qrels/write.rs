//! Qrels as TREC lines.

use std::fmt::Write as _;

use super::Qrels;

/// Why something cannot be written as TREC lines, which are split at blanks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} id {id:?} {reason}; TREC files are split at blanks: rename it, or keep the JSON form"
)]
pub struct WriteError {
    pub what: &'static str,
    pub id: String,
    /// The reason why it cannot be written.
    pub reason: &'static str,
}

/// The TREC lines of qrels. Grades that are whole are written whole.
pub fn trec_qrels(qrels: &Qrels) -> Result<String, WriteError> {
    let mut text = String::new();
    for query in &qrels.queries {
        ensure_writable("query", &query.id)?;
        for judgement in &query.judgements {
            ensure_writable("document", &judgement.doc)?;
            writeln!(text, "{} 0 {} {}", query.id, judgement.doc, judgement.grade)
                .expect("writing to a string succeeds");
        }
    }
    Ok(text)
}

/// Rejects ids that would be read back differently.
pub(crate) fn ensure_writable(what: &'static str, id: &str) -> Result<(), WriteError> {
    let reason = match id {
        "" => "is empty",
        _ if id.contains(char::is_whitespace) => "holds whitespace",
        _ if id.contains(|c: char| c.is_control() || c == '\u{feff}') => "holds control characters",
        _ if what == "query" && id.starts_with(['#', '{', '[']) => "starts like a remark or JSON",
        _ => return Ok(()),
    };
    Err(WriteError { what, id: id.to_owned(), reason })
}
