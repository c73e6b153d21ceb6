//! Totals of a corpus.

use gbrain_core::page::Visibility;
use gbrain_core::request::Viewer;

/// Live chunks and their indexed tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ChunkTotals {
    pub(crate) chunks: u64,
    pub(crate) tokens: u64,
}

/// Totals of the public and of the private pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CorpusTotals {
    pub(crate) world: ChunkTotals,
    pub(crate) private: ChunkTotals,
}

impl ChunkTotals {
    pub(crate) fn add(&mut self, other: Self) {
        self.chunks += other.chunks;
        self.tokens += other.tokens;
    }

    pub(crate) fn subtract(&mut self, other: Self) {
        self.chunks -= other.chunks;
        self.tokens -= other.tokens;
    }
}

impl CorpusTotals {
    /// The totals visible to a caller.
    pub(crate) fn seen_by(&self, trust: Viewer) -> ChunkTotals {
        let mut totals = self.world;
        if trust == Viewer::Trusted {
            totals.add(self.private);
        }
        totals
    }

    pub(crate) fn of(&self, visibility: Visibility) -> ChunkTotals {
        match visibility {
            Visibility::World => self.world,
            Visibility::Private => self.private,
        }
    }

    pub(crate) fn of_mut(&mut self, visibility: Visibility) -> &mut ChunkTotals {
        match visibility {
            Visibility::World => &mut self.world,
            Visibility::Private => &mut self.private,
        }
    }
}

/// The visibilities that a caller may see.
pub(crate) fn seen_by(trust: Viewer) -> &'static [Visibility] {
    match trust {
        Viewer::Untrusted => &[Visibility::World],
        Viewer::Trusted => &[Visibility::World, Visibility::Private],
    }
}
