//! A model behind an address as an embedder of the index.
//!
//! Vectors are kept in the store under the model and the text, so that an index that is made again holds
//! the same numbers and costs nothing, and a query that was asked before is not sent again.

use std::sync::Arc;
use std::time::SystemTime;

use gbrain_core::clock::moment;
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_embed::{Cause, EmbedError, Embedder, Passage, Urgency};
use gbrain_store::{AnswerKind, ModelAnswer, Store};
use jiff::{SignedDuration, Timestamp};

use crate::ask::Asker;
use crate::error::{AskError, AskErrorKind};
use crate::model::ModelRef;
use crate::wire::Purpose;

/// Texts in one call: what every provider takes.
const BATCH: usize = 96;
/// Bytes in one call, so that texts of the largest size still fit a provider's limit of tokens.
const BATCH_BYTES: usize = 200_000;
/// How long the vector of a passage is kept: it costs money to make again.
const KEEP_PASSAGE: SignedDuration = SignedDuration::from_hours(24 * 365 * 20);
/// How long the vector of a query is kept.
const KEEP_QUERY: SignedDuration = SignedDuration::from_hours(24 * 30);

/// A model behind an address.
pub struct RemoteEmbedder {
    /// For passages while work is done, which can wait.
    asker: Asker,
    /// For queries, and for passages that a query waits for.
    quick: Asker,
    store: Arc<Store>,
    workspace: WorkspaceId,
    model: ModelRef,
    id: String,
    dims: usize,
    centre: Vec<f32>,
    /// Whether vectors are kept and used again.
    remembers: bool,
    clock: fn() -> Timestamp,
}

impl RemoteEmbedder {
    /// A model with vectors of so many numbers, which is a multiple of eight. Queries go through a door of
    /// their own, which waits less long.
    pub fn new(
        asker: Asker,
        quick: Asker,
        store: Arc<Store>,
        workspace: WorkspaceId,
        model: ModelRef,
        dims: usize,
    ) -> Self {
        let id = format!("{model}/{dims}");
        let centre = vec![0.0; dims];
        Self {
            asker,
            quick,
            store,
            workspace,
            model,
            id,
            dims,
            centre,
            remembers: true,
            clock: || moment(SystemTime::now()),
        }
    }

    /// The same model, asked anew for every text: for what measures it, not for what uses it.
    #[must_use]
    pub fn forgetful(mut self) -> Self {
        self.remembers = false;
        self
    }

    /// `pages` names the pages of the text at a place, which are kept with its vector; none if they are not known.
    fn vectors(
        &self,
        asker: &Asker,
        texts: &[&str],
        purpose: Purpose,
        pages: &dyn Fn(usize) -> Option<Vec<String>>,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let keys: Vec<Hash> = texts.iter().map(|text| self.key(text, purpose)).collect();
        let known = self.known(&keys)?;
        let missing: Vec<usize> = (0..texts.len()).filter(|at| known[*at].is_none()).collect();
        let mut vectors: Vec<Vec<f32>> = known.into_iter().map(Option::unwrap_or_default).collect();
        for batch in batches(&missing, texts) {
            let asked: Vec<&str> = batch.iter().map(|at| texts[*at]).collect();
            let made = asker.embed(&self.model, &asked, purpose, Some(self.dims));
            let made = made.map_err(|error| self.failed(&error))?.0;
            let mut kept = Vec::with_capacity(batch.len());
            for (at, vector) in batch.iter().zip(made) {
                let vector = self.unit(vector)?;
                kept.push(ModelAnswer {
                    key: keys[*at],
                    body: written(&vector),
                    pages: pages(*at),
                });
                vectors[*at] = vector;
            }
            self.keep(&kept, purpose)?;
        }
        Ok(vectors)
    }

    fn key(&self, text: &str, purpose: Purpose) -> Hash {
        let purpose: &[u8] = match purpose {
            Purpose::Document => b"document",
            Purpose::Query => b"query",
        };
        Hash::of_parts(&[self.id.as_bytes(), purpose, text.as_bytes()])
    }

    fn known(&self, keys: &[Hash]) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
        if !self.remembers {
            return Ok(vec![None; keys.len()]);
        }
        let kept =
            self.store.model_answers(&self.workspace, AnswerKind::Vector, keys, (self.clock)());
        let kept = kept.map_err(|error| self.broken(error.to_string()))?;
        let known = |text: Option<String>| read(&text?).filter(|vector| vector.len() == self.dims);
        Ok(kept.into_iter().map(known).collect())
    }

    fn keep(&self, kept: &[ModelAnswer], purpose: Purpose) -> Result<(), EmbedError> {
        if !self.remembers {
            return Ok(());
        }
        let now = (self.clock)();
        let how_long = match purpose {
            Purpose::Document => KEEP_PASSAGE,
            Purpose::Query => KEEP_QUERY,
        };
        let until = now.saturating_add(how_long).unwrap_or(Timestamp::MAX);
        let kind = AnswerKind::Vector;
        let kept = self.store.keep_model_answers(&self.workspace, kind, kept, now, until);
        kept.map_err(|error| self.broken(error.to_string()))
    }

    /// A vector of length one.
    fn unit(&self, vector: Vec<f32>) -> Result<Vec<f32>, EmbedError> {
        if vector.len() != self.dims {
            let (wanted, got) = (self.dims, vector.len());
            return Err(
                self.broken(format!("vectors have {got} numbers, and {wanted} were asked for"))
            );
        }
        let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        if length == 0.0 {
            return Ok(vector);
        }
        Ok(vector.iter().map(|x| (f64::from(*x) / length) as f32).collect())
    }

    fn failed(&self, error: &AskError) -> EmbedError {
        let cause = match error.kind {
            AskErrorKind::Timeout => Cause::Timeout,
            AskErrorKind::OverBudget => Cause::OverBudget,
            AskErrorKind::NoKey => Cause::NoKey,
            _ => Cause::Failed,
        };
        let reason = format!("{} ({})", error.message, error.kind);
        EmbedError::Remote { model: self.id.clone(), cause, reason }
    }

    fn broken(&self, reason: String) -> EmbedError {
        EmbedError::Run { model: self.id.clone(), reason }
    }
}

impl Embedder for RemoteEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dims(&self) -> usize {
        self.dims
    }

    fn centre(&self) -> &[f32] {
        &self.centre
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.vectors(&self.asker, texts, Purpose::Document, &|_| None)
    }

    fn embed_passages(
        &self,
        passages: &[Passage<'_>],
        urgency: Urgency,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts: Vec<&str> = passages.iter().map(|passage| passage.text).collect();
        let page = |at: usize| Some(vec![passages[at].page.to_owned()]);
        let asker = match urgency {
            Urgency::Work => &self.asker,
            Urgency::Answer => &self.quick,
        };
        self.vectors(asker, &texts, Purpose::Document, &page)
    }

    fn embed_queries(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.vectors(&self.quick, texts, Purpose::Query, &|_| Some(Vec::new()))
    }

    fn is_remote(&self) -> bool {
        true
    }
}

/// Places in batches that are neither too many nor too large. Empty texts have no vector.
fn batches(places: &[usize], texts: &[&str]) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut bytes = 0;
    for place in places {
        let size = texts[*place].len();
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH && bytes + size <= BATCH_BYTES => {
                batch.push(*place);
                bytes += size;
            }
            _ => {
                batches.push(vec![*place]);
                bytes = size;
            }
        }
    }
    batches
}

/// Numbers as hexadecimal digits of their bytes, so that they come back bit for bit.
fn written(vector: &[f32]) -> String {
    vector.iter().map(|number| format!("{:08x}", number.to_bits())).collect()
}

fn read(text: &str) -> Option<Vec<f32>> {
    let (numbers, rest) = text.as_bytes().as_chunks::<8>();
    let number = |digits: &[u8; 8]| {
        let digits = std::str::from_utf8(digits).ok()?;
        Some(f32::from_bits(u32::from_str_radix(digits, 16).ok()?)).filter(|x| x.is_finite())
    };
    rest.is_empty().then(|| numbers.iter().map(number).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_bit_for_bit() {
        let vector = [0.1, -0.0, f32::MIN_POSITIVE, 1.0 / 3.0];
        let back = read(&written(&vector)).unwrap();
        assert!(back.iter().zip(vector).all(|(a, b)| a.to_bits() == b.to_bits()));
        for bad in ["0", "zzzzzzzz", "7f800000", "3f80000"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn batches_are_bounded() {
        let long = "x".repeat(BATCH_BYTES - 1);
        let texts: Vec<&str> =
            std::iter::repeat_n("ab", 100).chain([&long[..], &long[..]]).collect();
        let places: Vec<usize> = (0..texts.len()).collect();
        let sizes: Vec<usize> = batches(&places, &texts).iter().map(Vec::len).collect();
        assert_eq!(sizes, [96, 4, 1, 1]);
        assert!(batches(&[], &texts).is_empty());
    }
}
