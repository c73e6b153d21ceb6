//! Texts that the disk damaged, put back from the files they came from.
//!
//! An import leaves a file alone whose hash the store knows. That the store knows the hash does not say that it still has
//! the text: what is left alone is read back and compared first.

use gbrain_core::chunk;
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::Format;
use gbrain_store::{PageDigest, StoreError};

use super::ImportFailure;
use super::collect::FileJob;
use super::read::{Outcome, parse_file};
use crate::{Brain, BrainError};

const REPAIRED: &str = "its stored text was damaged and was put back from the file; `gbrain doctor --deep` looks for more damage";

/// Looks at the texts of files that were left alone, and puts back those that are damaged.
pub(super) fn repair(
    brain: &Brain,
    source: &SourceId,
    jobs: &[FileJob],
    outcomes: &mut [Outcome],
    digest_of: &dyn Fn(&FileJob) -> Option<PageDigest>,
) -> Result<(), BrainError> {
    let unchanged = jobs.iter().zip(outcomes.iter_mut());
    let unchanged = unchanged.filter(|(_, outcome)| matches!(outcome, Outcome::Unchanged));
    let (mut places, mut digests) = (Vec::new(), Vec::new());
    for (job, outcome) in unchanged {
        if let Some(digest) = digest_of(job) {
            places.push((job, outcome));
            digests.push(digest);
        }
    }
    let formats: Vec<Format> = places.iter().map(|(job, _)| job.format).collect();
    let sound = are_sound(brain, source, &digests, &formats)?;
    for (((job, outcome), digest), is_sound) in places.into_iter().zip(&digests).zip(sound) {
        if !is_sound {
            *outcome = put_back(brain, source, job, digest)?;
        }
    }
    Ok(())
}

/// Whether the store has each text as it was written.
fn are_sound(
    brain: &Brain,
    source: &SourceId,
    digests: &[PageDigest],
    formats: &[Format],
) -> Result<Vec<bool>, BrainError> {
    let at: Vec<_> = digests.iter().map(|digest| digest.at).collect();
    let texts = match brain.store().texts(brain.workspace(), &at) {
        Ok(texts) => texts,
        // A text that can't be decoded takes its batch along: each is read for itself.
        Err(error) if is_of_rows(&error) && digests.len() > 1 => {
            let each = digests.iter().zip(formats);
            let each = each.map(|(digest, format)| {
                let (digest, format) = (std::slice::from_ref(digest), std::slice::from_ref(format));
                Ok(are_sound(brain, source, digest, format)?[0])
            });
            return each.collect();
        }
        Err(error) if is_of_rows(&error) => return Ok(vec![false; digests.len()]),
        Err(error) => return Err(error.into()),
    };
    let checked = digests.iter().zip(formats).zip(texts);
    checked
        .map(|((digest, format), text)| {
            let Some(text) = text else { return Ok(false) };
            match format {
                Format::Markdown | Format::Text => {
                    Ok(Hash::of(text.as_bytes()) == digest.content_hash)
                }
                // The hash is that of the JSON, and the text was rendered from it: its chunks have hashes of their own.
                Format::ChatJson | Format::ChatJsonl => chunks_are_sound(brain, source, digest),
            }
        })
        .collect()
}

fn chunks_are_sound(
    brain: &Brain,
    source: &SourceId,
    digest: &PageDigest,
) -> Result<bool, BrainError> {
    let key = PageKey::new(source.clone(), digest.slug.clone());
    let Some(stored) = brain.store().page(brain.workspace(), &key)? else { return Ok(true) };
    let chunks = &stored.page.chunks;
    let texts = chunk::texts(&stored.page.content, chunks);
    Ok(chunks.iter().zip(texts).all(|(chunk, text)| Hash::of(text.as_bytes()) == chunk.hash))
}

fn put_back(
    brain: &Brain,
    source: &SourceId,
    job: &FileJob,
    digest: &PageDigest,
) -> Result<Outcome, BrainError> {
    let failed = |reason: String| ImportFailure { path: job.path.clone(), reason };
    let parsed = match parse_file(job, source) {
        Ok(parsed) => parsed,
        Err(reason) => return Ok(Outcome::Failed(failed(reason))),
    };
    let page = &parsed.page;
    let is_back = page.content_hash == digest.content_hash
        && brain.store().repair_text(brain.workspace(), digest.at, &page.content)?;
    Ok(if is_back {
        Outcome::Repaired(failed(REPAIRED.to_owned()))
    } else {
        let reason =
            "its stored text is damaged and can't be put back; `gbrain put` the page again";
        Outcome::Failed(failed(reason.to_owned()))
    })
}

/// Errors that say that a row can't be read, and not that the database can't.
fn is_of_rows(error: &StoreError) -> bool {
    matches!(error, StoreError::Corrupt { .. } | StoreError::Other { .. })
}
