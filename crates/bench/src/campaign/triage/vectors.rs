//! Damage to the files of vectors of an index, as they lie on disk.
//!
//! A file has a head of 64 bytes with the numbers of documents and dimensions, then a row of `i8` a
//! document, then one over the length of each, and at its end the SHA-256 of all of it. The row of a text is the one that is nearest to what the
//! built-in model makes of it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use gbrain_core::hash::Hash;
use gbrain_embed::{Embedder as _, StaticTable};

const HEAD: usize = 64;
const CHECKSUM: usize = 32;

struct File {
    path: PathBuf,
    bytes: Vec<u8>,
    documents: usize,
    dims: usize,
}

/// A row: which file, and which document of it.
type Place = (usize, usize);

/// The vectors of some notes are no longer there.
pub fn drop_rows(home: &Path, texts: &[String], _: &mut Rng) -> Result<()> {
    let mut files = files(home)?;
    for (file, document) in places(&files, texts)? {
        let dims = files[file].dims;
        files[file].write(document, &vec![0; dims], 0.0);
    }
    save(&files)
}

/// The vectors of some notes are those of others.
pub fn shuffle_rows(home: &Path, texts: &[String], rng: &mut Rng) -> Result<()> {
    let mut files = files(home)?;
    for (file, document) in places(&files, texts)? {
        let other = (document + rng.usize(1..files[file].documents)) % files[file].documents;
        let (own, theirs) = (files[file].read(document), files[file].read(other));
        files[file].write(document, &theirs.0, theirs.1);
        files[file].write(other, &own.0, own.1);
    }
    save(&files)
}

/// All vectors are those of a model that means something else by its numbers.
pub fn replace_all(home: &Path, rng: &mut Rng) -> Result<()> {
    let mut files = files(home)?;
    for file in &mut files {
        for document in 0..file.documents {
            let row: Vec<i8> = (0..file.dims).map(|_| rng.i8(-127..=127)).collect();
            let squares: f32 = row.iter().map(|one| f32::from(*one) * f32::from(*one)).sum();
            file.write(document, &row, 1.0 / squares.sqrt());
        }
    }
    save(&files)
}

fn files(home: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(home.join("index")) {
        let path = entry?.into_path();
        if path.extension().is_some_and(|ending| ending == "vec") {
            let bytes = std::fs::read(&path)?;
            let number = |at: usize| -> Result<usize> {
                let four = bytes.get(at..at + 4).context("a file of vectors is cut off")?;
                Ok(u32::from_le_bytes(four.try_into()?) as usize)
            };
            let (documents, dims) = (number(8)?, number(12)?);
            files.push(File { path, bytes, documents, dims });
        }
    }
    ensure!(!files.is_empty(), "the index has no vectors");
    Ok(files)
}

fn save(files: &[File]) -> Result<()> {
    for File { path, bytes, .. } in files {
        let mut bytes = bytes.clone();
        reseal(&mut bytes);
        std::fs::write(path, bytes)?;
    }
    Ok(())
}

/// Gives a file of vectors the checksum of what is in it now: it is whole, and wrong.
pub fn reseal(bytes: &mut [u8]) {
    let end = bytes.len().saturating_sub(CHECKSUM);
    let checksum = Hash::of(&bytes[..end]);
    bytes[end..].copy_from_slice(&checksum.0);
}

/// The row of each passage of each text.
fn places(files: &[File], texts: &[String]) -> Result<Vec<Place>> {
    let model = StaticTable::built_in();
    let mut places = Vec::new();
    for text in texts {
        // The front is no part of a passage, and a long note has two.
        let body = text.splitn(3, "---\n").nth(2).unwrap_or(text);
        let title = text.lines().find_map(|line| line.strip_prefix("title: ")).unwrap_or_default();
        for part in body.split("## ").filter(|part| !part.trim().is_empty()) {
            let said = format!("{title}\n{part}");
            let vector = model.embed(&[&said])?.pop().context("a text has a vector")?;
            places.push(nearest(files, &vector).context("a passage has a row")?);
        }
    }
    places.dedup();
    Ok(places)
}

fn nearest(files: &[File], vector: &[f32]) -> Option<Place> {
    let all =
        files.iter().enumerate().flat_map(|(at, file)| (0..file.documents).map(move |d| (at, d)));
    let cosine = |(at, document): &Place| {
        let (row, inverse) = files[*at].read(*document);
        row.iter().zip(vector).map(|(a, b)| f32::from(*a) * b).sum::<f32>() * inverse
    };
    all.max_by(|a, b| cosine(a).total_cmp(&cosine(b)))
}

impl File {
    fn read(&self, document: usize) -> (Vec<i8>, f32) {
        let row = HEAD + document * self.dims;
        let length = self.length(document);
        let values = self.bytes[row..row + self.dims].iter().map(|byte| *byte as i8).collect();
        let bytes: [u8; 4] = self.bytes[length..length + 4].try_into().expect("four were taken");
        (values, f32::from_le_bytes(bytes))
    }

    fn write(&mut self, document: usize, values: &[i8], inverse: f32) {
        let (row, length) = (HEAD + document * self.dims, self.length(document));
        let bytes: Vec<u8> = values.iter().map(|value| *value as u8).collect();
        self.bytes[row..row + self.dims].copy_from_slice(&bytes);
        self.bytes[length..length + 4].copy_from_slice(&inverse.to_le_bytes());
    }

    fn length(&self, document: usize) -> usize {
        HEAD + self.documents * self.dims + 4 * document
    }
}
