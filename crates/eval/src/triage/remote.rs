//! Evidence from a remote target: only a search shows whether it has a document.

use gbrain_core::suite::case::DEPTH;
use gbrain_core::suite::query::CanonicalQuery;
use gbrain_core::target::Question;
use gbrain_core::triage::{CaseEvidence, DocumentPresence};

use super::TriageContext;
use super::evidence::must_find;

/// Searches for a document by its expected snippets and by its id. A hit proves that it exists. A
/// literal snippet without a hit means that it is missing; an id without a hit proves nothing.
pub(super) fn check_presence(
    context: &TriageContext<'_>,
    query: &CanonicalQuery,
    is_it: &dyn Fn(&str) -> bool,
    evidence: &mut CaseEvidence,
) {
    let Some(ask) = context.again.filter(|_| evidence.is_missed && evidence.error.is_none()) else {
        return;
    };
    let snippets = query.snippets.iter().map(|one| one.text.as_str());
    let ids = must_find(query).iter().map(|key| key.id.as_str()).filter(|id| is_it(id));
    let mut is_asked_by_words = false;
    for (text, is_literal) in snippets.map(|text| (text, true)).chain(ids.map(|id| (id, false))) {
        let Ok(answer) = ask.retrieve(&Question::new(text, DEPTH)) else { return };
        if answer.documents().iter().any(|one| is_it(one)) {
            evidence.presence = DocumentPresence::Whole;
            evidence.notes.push("asked for by its own words, it is found".to_owned());
            return;
        }
        is_asked_by_words |= is_literal;
    }
    // A result that was found at a deeper rank exists.
    if is_asked_by_words && evidence.deeper_rank.is_none() {
        evidence.presence = DocumentPresence::Absent;
        evidence.notes.push("asked for by its own words, it is not found either".to_owned());
    }
}
