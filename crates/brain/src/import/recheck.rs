//! Checks the stored text of unchanged files.
//!
//! An import skips a file whose hash the store knows, but the stored text may be damaged. So the
//! store hashes the texts of such files, and a file whose text is damaged is written again.
//! PostgreSQL hashes in the database; SQLite reads about as many bytes as were read from the files.
//! `import --watch` does this once, when it starts.

use gbrain_core::id::SourceId;
use gbrain_store::{PageDigest, PageVersion};
use rustc_hash::FxHashMap;

use super::collect::FileJob;
use super::read::{FileOutcome, read_again};
use crate::{Brain, BrainError};

/// Reads unchanged files again if their stored text is damaged.
pub(super) fn recheck(
    brain: &Brain,
    source: &SourceId,
    jobs: &[FileJob],
    outcomes: &mut [FileOutcome],
    digests: &FxHashMap<String, PageDigest>,
) -> Result<(), BrainError> {
    let unchanged = jobs.iter().zip(outcomes.iter_mut());
    let unchanged = unchanged.filter(|(_, outcome)| matches!(outcome, FileOutcome::Unchanged));
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
