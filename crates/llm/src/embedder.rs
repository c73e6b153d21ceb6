//! A remote embedding model as an embedder of the index.
//!
//! Vectors are cached in the store under the model and the text, so that rebuilding the index gives
//! the same vectors at no cost, and a repeated query is not sent again.

use std::sync::Arc;
use std::time::SystemTime;

use gbrain_core::clock::moment;
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_embed::{EmbedError, EmbedErrorKind, Embedder, PassageText, Urgency};
use gbrain_store::{AnswerKind, ModelAnswer, Store};
use jiff::{SignedDuration, Timestamp};

use crate::client::ModelClient;
use crate::error::{ModelCallError, ModelCallErrorKind};
use crate::model::ModelRef;
use crate::wire::EmbeddingPurpose;

/// Texts per call: a number that every provider accepts.
const BATCH: usize = 96;
/// Bytes per call, so that the largest texts still fit a provider's token limit.
const BATCH_BYTES: usize = 200_000;
/// How long the vector of a passage is cached: recomputing it costs money.
const KEEP_PASSAGE: SignedDuration = SignedDuration::from_hours(24 * 365 * 20);
/// How long the vector of a query is cached.
const KEEP_QUERY: SignedDuration = SignedDuration::from_hours(24 * 30);

/// An embedding model behind an API.
pub struct RemoteEmbedder {
    /// For passages in background work, with normal timeouts.
    client: ModelClient,
    /// For queries, and for passages that a query waits for, with short timeouts.
    quick: ModelClient,
    store: Arc<Store>,
    workspace: WorkspaceId,
    model: ModelRef,
    id: String,
    dims: usize,
    centre: Vec<f32>,
    /// Whether vectors are cached.
    caches: bool,
    clock: fn() -> Timestamp,
}

impl RemoteEmbedder {
    /// `dims` is the length of the vectors, a multiple of eight. Queries use the client `with_short_timeouts`,
    /// which has short timeouts.
    pub fn new(
        client: ModelClient,
        quick: ModelClient,
        store: Arc<Store>,
        workspace: WorkspaceId,
        model: ModelRef,
        dims: usize,
    ) -> Self {
        let id = format!("{model}/{dims}");
        let centre = vec![0.0; dims];
        Self {
            client,
            quick,
            store,
            workspace,
            model,
            id,
            dims,
            centre,
            caches: true,
            clock: || moment(SystemTime::now()),
        }
    }

    /// The same model without the cache, to measure the model itself.
    #[must_use]
    pub fn without_cache(mut self) -> Self {
        self.caches = false;
        self
    }

    /// `pages` returns the pages of the text at an index, which are stored with its vector; `None`
    /// if unknown.
    fn vectors(
        &self,
        client: &ModelClient,
        texts: &[&str],
        purpose: EmbeddingPurpose,
        pages: &dyn Fn(usize) -> Option<Vec<String>>,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let keys: Vec<Hash> = texts.iter().map(|text| self.key(text, purpose)).collect();
        let cached = self.cached(&keys)?;
        let missing: Vec<usize> = (0..texts.len()).filter(|at| cached[*at].is_none()).collect();
        let mut vectors: Vec<Vec<f32>> =
            cached.into_iter().map(Option::unwrap_or_default).collect();
        for batch in batches(&missing, texts) {
            let inputs: Vec<&str> = batch.iter().map(|at| texts[*at]).collect();
            let embedded = client.embed(&self.model, &inputs, purpose, Some(self.dims));
            let embedded = embedded.map_err(|error| self.failed(&error))?.0;
            let mut answers = Vec::with_capacity(batch.len());
            for (at, vector) in batch.iter().zip(embedded) {
                let vector = self.unit(vector)?;
                answers.push(ModelAnswer {
                    key: keys[*at],
                    body: written(&vector),
                    pages: pages(*at),
                });
                vectors[*at] = vector;
            }
            self.store_vectors(&answers, purpose)?;
        }
        Ok(vectors)
    }

    fn key(&self, text: &str, purpose: EmbeddingPurpose) -> Hash {
        let purpose: &[u8] = match purpose {
            EmbeddingPurpose::Document => b"document",
            EmbeddingPurpose::Query => b"query",
        };
        Hash::of_parts(&[self.id.as_bytes(), purpose, text.as_bytes()])
    }

    fn cached(&self, keys: &[Hash]) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
        if !self.caches {
            return Ok(vec![None; keys.len()]);
        }
        let answers =
            self.store.model_answers(&self.workspace, AnswerKind::Vector, keys, (self.clock)());
        let answers = answers.map_err(|error| self.broken(error.to_string()))?;
        let parse = |text: Option<String>| read(&text?).filter(|vector| vector.len() == self.dims);
        Ok(answers.into_iter().map(parse).collect())
    }

    fn store_vectors(
        &self,
        answers: &[ModelAnswer],
        purpose: EmbeddingPurpose,
    ) -> Result<(), EmbedError> {
        if !self.caches {
            return Ok(());
        }
        let now = (self.clock)();
        let how_long = match purpose {
            EmbeddingPurpose::Document => KEEP_PASSAGE,
            EmbeddingPurpose::Query => KEEP_QUERY,
        };
        let until = now.saturating_add(how_long).unwrap_or(Timestamp::MAX);
        let kind = AnswerKind::Vector;
        let stored = self.store.store_model_answers(&self.workspace, kind, answers, now, until);
        stored.map_err(|error| self.broken(error.to_string()))
    }

    /// Normalises a vector to length one.
    fn unit(&self, vector: Vec<f32>) -> Result<Vec<f32>, EmbedError> {
        if vector.len() != self.dims {
            let (wanted, got) = (self.dims, vector.len());
            return Err(self.broken(format!(
                "the model returned vectors of {got} dimensions instead of {wanted}"
            )));
        }
        let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        if length == 0.0 {
            return Ok(vector);
        }
        Ok(vector.iter().map(|x| (f64::from(*x) / length) as f32).collect())
    }

    fn failed(&self, error: &ModelCallError) -> EmbedError {
        let cause = match error.kind {
            ModelCallErrorKind::Timeout => EmbedErrorKind::Timeout,
            ModelCallErrorKind::OverBudget => EmbedErrorKind::OverBudget,
            ModelCallErrorKind::NoKey => EmbedErrorKind::NoKey,
            _ => EmbedErrorKind::Failed,
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
        self.vectors(&self.client, texts, EmbeddingPurpose::Document, &|_| None)
    }

    fn embed_passages(
        &self,
        passages: &[PassageText<'_>],
        urgency: Urgency,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts: Vec<&str> = passages.iter().map(|passage| passage.text).collect();
        let page = |at: usize| Some(vec![passages[at].page.to_owned()]);
        let client = match urgency {
            Urgency::Work => &self.client,
            Urgency::Answer => &self.quick,
        };
        self.vectors(client, &texts, EmbeddingPurpose::Document, &page)
    }

    fn embed_queries(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.vectors(&self.quick, texts, EmbeddingPurpose::Query, &|_| Some(Vec::new()))
    }

    fn is_remote(&self) -> bool {
        true
    }
}

/// Groups indexes into batches within the limits on number and size. Empty texts have no vector.
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

/// Encodes the bits of each number in hexadecimal, so that they are restored exactly.
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
