//! A range of documents with their points so far.

use std::ops::Range;

use tantivy::DocId;

/// Number of documents in a window: their sums and marks fit in the L1 cache.
pub(super) const WINDOW: DocId = 2048;

/// Sums of the documents of a window, and marks on remaining candidates.
pub(super) struct Window {
    first: DocId,
    sums: Vec<u32>,
    marks: Vec<u64>,
}

impl Window {
    pub(super) fn new() -> Self {
        Self { first: 0, sums: vec![0; WINDOW as usize], marks: vec![0; WINDOW as usize / 64] }
    }

    /// Starts a window at `first`. The previous one must have been drained.
    pub(super) fn start(&mut self, first: DocId) {
        debug_assert!(self.marks.iter().all(|marks| *marks == 0));
        self.first = first;
    }

    #[inline]
    pub(super) fn add_and_mark(&mut self, doc: DocId, points: u32) {
        let place = (doc - self.first) as usize;
        self.sums[place] += points;
        self.marks[place / 64] |= 1 << (place % 64);
    }

    /// Adds points to a document that is marked.
    #[inline]
    pub(super) fn add(&mut self, doc: DocId, points: u32) {
        self.sums[(doc - self.first) as usize] += points;
    }

    #[inline]
    pub(super) fn is_marked(&self, doc: DocId) -> bool {
        let place = (doc - self.first) as usize;
        self.marks[place / 64] >> (place % 64) & 1 == 1
    }

    /// Removes the marks of documents with fewer points than `least`.
    pub(super) fn prune(&mut self, least: u32) {
        if least == 0 {
            return;
        }
        for (word, marks) in self.marks.iter_mut().enumerate() {
            let mut rest = *marks;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                let sum = &mut self.sums[word * 64 + bit as usize];
                if *sum < least {
                    *sum = 0;
                    *marks &= !(1 << bit);
                }
            }
        }
    }

    /// The marked documents in a range, in order.
    pub(super) fn marked(&self, documents: Range<DocId>) -> MarkedDocuments<'_> {
        let place = (documents.start - self.first) as usize;
        let end = (documents.end - self.first) as usize;
        let word = place / 64;
        let rest = self.marks.get(word).map_or(0, |marks| marks & (u64::MAX << (place % 64)));
        MarkedDocuments { marks: &self.marks, first: self.first, word, rest, end }
    }

    /// Takes the sums of all marked documents, in order, and clears the marks.
    pub(super) fn drain(
        &mut self,
        mut each: impl FnMut(DocId, u32) -> tantivy::Result<()>,
    ) -> tantivy::Result<()> {
        let mut result = Ok(());
        for (word, marks) in self.marks.iter_mut().enumerate() {
            let mut rest = std::mem::take(marks);
            while rest != 0 {
                let place = word * 64 + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let sum = std::mem::take(&mut self.sums[place]);
                if result.is_ok() {
                    result = each(self.first + place as DocId, sum);
                }
            }
        }
        result
    }
}

pub(super) struct MarkedDocuments<'w> {
    marks: &'w [u64],
    first: DocId,
    word: usize,
    rest: u64,
    end: usize,
}

impl Iterator for MarkedDocuments<'_> {
    type Item = DocId;

    fn next(&mut self) -> Option<DocId> {
        while self.rest == 0 {
            self.word += 1;
            if self.word * 64 >= self.end {
                return None;
            }
            self.rest = self.marks[self.word];
        }
        let place = self.word * 64 + self.rest.trailing_zeros() as usize;
        self.rest &= self.rest - 1;
        (place < self.end).then_some(self.first + place as DocId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_sums_go_together() {
        let mut window = Window::new();
        window.start(100);
        for (doc, points) in [(100, 5), (163, 7), (164, 1), (300, 9), (163, 1)] {
            window.add_and_mark(doc, points);
        }
        let marked = |window: &Window, range| window.marked(range).collect::<Vec<_>>();
        assert_eq!(marked(&window, 100..2148), [100, 163, 164, 300]);
        assert_eq!(marked(&window, 101..164), [163]);
        assert_eq!(marked(&window, 165..300), [] as [DocId; 0]);
        window.prune(5);
        assert!(!window.is_marked(164));
        window.add(300, 1);
        let mut drained = Vec::new();
        window
            .drain(|doc, sum| {
                drained.push((doc, sum));
                Ok(())
            })
            .unwrap();
        assert_eq!(drained, [(100, 5), (163, 8), (300, 10)]);
        assert_eq!(marked(&window, 100..2148), [] as [DocId; 0]);
    }
}
