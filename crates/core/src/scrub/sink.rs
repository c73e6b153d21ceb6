//! Claims of families on bytes of a text.
//!
//! Families come one after the other; what is claimed stays claimed. A family offers its candidates
//! in the order in which they begin, so that every look goes forward and a family costs one walk over
//! what was claimed before it.

use memchr::memmem;

use super::text::{ScannedText, has};
use super::{BEARER_MARKER, MARKER, ScrubFamily, SensitiveMatch};

/// A part of the text that is not free; without a family it is a marker that was there before.
#[derive(Debug, Clone, Copy)]
struct Claim {
    start: usize,
    end: usize,
    family: Option<ScrubFamily>,
}

pub(super) struct Sink {
    claims: Vec<Claim>,
    new: Vec<Claim>,
    family: Option<ScrubFamily>,
    /// Claims before this one end before the candidate begins.
    next: usize,
}

impl Sink {
    pub(super) fn new(text: &ScannedText<'_>) -> Self {
        let claims = if text.has(has::BRACKET) { markers(text.bytes) } else { Vec::new() };
        Self { claims, new: Vec::new(), family: None, next: 0 }
    }

    pub(super) fn begin(&mut self, family: ScrubFamily) {
        self.merge();
        self.family = Some(family);
        self.next = 0;
    }

    /// Claims bytes if all of them are free; says whether they were.
    pub(super) fn offer(&mut self, start: usize, end: usize) -> bool {
        if start >= end || self.new.last().is_some_and(|last| start < last.end) {
            return false;
        }
        while self.claims.get(self.next).is_some_and(|claim| claim.end <= start) {
            self.next += 1;
        }
        if self.claims.get(self.next).is_some_and(|claim| claim.start < end) {
            return false;
        }
        self.new.push(Claim { start, end, family: self.family });
        true
    }

    /// Whether something claimed ends where a candidate begins: then nothing stands before it.
    pub(super) fn ends_at(&self, start: usize) -> bool {
        self.new.last().is_some_and(|claim| claim.end == start)
            || self.claims.binary_search_by_key(&start, |claim| claim.end).is_ok()
    }

    pub(super) fn finish(mut self) -> Vec<SensitiveMatch> {
        self.merge();
        let found = self.claims.iter().filter_map(|claim| {
            claim.family.map(|family| SensitiveMatch { family, start: claim.start, end: claim.end })
        });
        found.collect()
    }

    fn merge(&mut self) {
        if self.new.is_empty() {
            return;
        }
        self.claims.append(&mut self.new);
        self.claims.sort_by_key(|claim| claim.start);
    }
}

/// Markers that the text has, a bearer's with its word: what is left of a match is not matched again.
fn markers(bytes: &[u8]) -> Vec<Claim> {
    let word = BEARER_MARKER.len() - MARKER.len();
    let claim = |at: usize| {
        let end = at + MARKER.len();
        let is_bearer = bytes[..end].ends_with(BEARER_MARKER.as_bytes());
        Claim { start: if is_bearer { at - word } else { at }, end, family: None }
    };
    memmem::find_iter(bytes, MARKER).map(claim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_claim_wins() {
        let text = ScannedText::new("abc [REDACTED]def");
        let mut sink = Sink::new(&text);
        sink.begin(ScrubFamily::Email);
        assert!(sink.offer(0, 2) && !sink.offer(1, 3));
        assert!(!sink.offer(3, 5), "overlaps the marker");
        sink.begin(ScrubFamily::Phone);
        assert!(!sink.offer(1, 3) && sink.offer(2, 3));
        let found = sink.finish();
        assert_eq!(found.len(), 2);
        assert_eq!(found[1], SensitiveMatch { family: ScrubFamily::Phone, start: 2, end: 3 });
    }
}
