//! The questions of the probe: a small file in LongMemEval's layout, compiled into the binary.
//!
//! All of it is fictional. Every haystack has near misses beside the sessions that answer, and one
//! question has no answer.

use std::io::Cursor;
use std::path::Path;

use gbrain_core::benchmark::Haystack;
use gbrain_core::hash::Hash;

use crate::EvalError;
use crate::benchmark::{DatasetError, DatasetObjectReader, of, read_entry};

const MINI: &[u8] = include_bytes!("mini.json");
/// The name of the file in error messages.
const NAME: &str = "the probe's own questions";

/// The first eight digits of the file's SHA-256.
pub(super) fn sha8() -> String {
    let mut hex = Hash::of(MINI).to_hex();
    hex.truncate(8);
    hex
}

/// The haystacks, each with its question.
pub(super) fn haystacks() -> Result<Vec<Haystack>, EvalError> {
    let path = Path::new(NAME);
    let mut values = DatasetObjectReader::new(Cursor::new(MINI));
    let mut haystacks = Vec::new();
    let broken = |error| of(path, DatasetError::Values(error));
    while let Some(entry) = values.next_object_bytes().map_err(broken)? {
        haystacks.push(read_entry(path, haystacks.len() + 1, &entry)?);
    }
    Ok(haystacks)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_questions_are_whole() {
        let haystacks = haystacks().unwrap();
        assert_eq!((haystacks.len(), sha8().len()), (10, 8));
        let questions: Vec<_> = haystacks.iter().flat_map(|one| &one.questions).collect();
        let kinds: BTreeSet<&str> = questions.iter().map(|one| one.kind.as_str()).collect();
        assert_eq!(kinds.len(), 6, "{kinds:?}");
        assert_eq!(questions.iter().filter(|one| one.is_abstention).count(), 1);
        let ids: BTreeSet<&str> = questions.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids.len(), 10);
        for (haystack, question) in haystacks.iter().zip(questions) {
            assert!(
                haystack.problems.is_empty() && haystack.documents.len() == 8,
                "{}",
                question.id
            );
            assert!(question.answer.is_some() && question.asked.is_some(), "{}", question.id);
            let held: BTreeSet<&str> =
                haystack.documents.iter().map(|one| one.id.as_str()).collect();
            assert_eq!(held.len(), 8, "{}", question.id);
            assert!(question.gold.iter().all(|gold| held.contains(gold.doc.as_str())));
            assert_eq!(question.gold.is_empty(), question.is_abstention, "{}", question.id);
            assert!(question.is_abstention || !question.gold_turns.is_empty(), "{}", question.id);
            assert!(haystack.documents.iter().all(|one| one.date.is_some()), "{}", question.id);
        }
    }
}
