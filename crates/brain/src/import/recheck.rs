//! Files that the store knows, and whose text it may have lost.
//!
//! An import leaves a file alone whose hash the store knows. That the store knows the hash does not say that it still has
//! the text. So the store hashes the texts of such files, and a file whose text is damaged is written like one that has
//! changed. PostgreSQL hashes where the texts are; SQLite reads about as many bytes as were just read of the files.
//! `import --watch` does this once, when it starts.

use gbrain_core::id::SourceId;
use gbrain_store::{PageDigest, PageVersion};
use rustc_hash::FxHashMap;

use super::collect::FileJob;
use super::read::{Outcome, read_again};
use crate::{Brain, BrainError};

/// Reads those of the unchanged files again whose stored text is damaged.
pub(super) fn recheck(
    brain: &Brain,
    source: &SourceId,
    jobs: &[FileJob],
    outcomes: &mut [Outcome],
    digests: &FxHashMap<String, PageDigest>,
) -> Result<(), BrainError> {
    let unchanged = jobs.iter().zip(outcomes.iter_mut());
    let unchanged = unchanged.filter(|(_, outcome)| matches!(outcome, Outcome::Unchanged));
    let known = unchanged
        .filter_map(|(job, outcome)| Some((job, outcome, digests.get(job.slug.as_str())?)));
    let known: Vec<_> = known.collect();
    let versions: Vec<PageVersion> = known.iter().map(|(_, _, digest)| digest.at).collect();
    let stored = brain.store().text_hashes(brain.workspace(), &versions)?;
    for ((job, outcome, digest), stored) in known.into_iter().zip(stored) {
        if stored != Some(digest.content_hash) {
            *outcome = read_again(job, source, digest);
        }
    }
    Ok(())
}
