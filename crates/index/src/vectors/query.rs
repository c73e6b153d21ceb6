//! A query's vector, prepared for codes and for rows.

use gbrain_embed::{EmbedError, Embedder};

use super::kernel::{Kernel, MAX_ENTRY, Scores, Tables};

/// The largest value of a query: the sum of its products with a row, over the dimensions of any
/// model, fits 32 bits.
const MAX_VALUE: f32 = 4095.0;

/// The vector of a query with the tables for scanning codes.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorQuery {
    model: String,
    /// The query as integers.
    values: Vec<i16>,
    /// One over their length.
    inverse_length: f64,
    /// For each four dimensions, the contribution of each bit pattern to a code's sum.
    tables: Tables,
    kernel: Kernel,
}

impl VectorQuery {
    /// Embeds a text; `None` if the model returns a vector without direction.
    pub fn new(embedder: &dyn Embedder, text: &str) -> Result<Option<Self>, EmbedError> {
        Ok(Self::all(embedder, &[text])?.pop().flatten())
    }

    /// Embeds several texts in one request to the model.
    pub fn all(embedder: &dyn Embedder, texts: &[&str]) -> Result<Vec<Option<Self>>, EmbedError> {
        let vectors = embedder.embed_queries(texts)?;
        let (model, dims) = (embedder.id(), embedder.dims());
        if vectors.len() != texts.len() || vectors.iter().any(|vector| vector.len() != dims) {
            let reason = format!("not {} vectors of {dims} numbers each", texts.len());
            return Err(EmbedError::Run { model: model.to_owned(), reason });
        }
        Ok(vectors.iter().map(|vector| Self::of(model, vector)).collect())
    }

    fn of(model: &str, vector: &[f32]) -> Option<Self> {
        let largest = vector.iter().fold(0f32, |largest, x| largest.max(x.abs()));
        if largest == 0.0 || !largest.is_finite() {
            return None;
        }
        let values: Vec<i16> =
            vector.iter().map(|x| (x / largest * MAX_VALUE).round() as i16).collect();
        let squares: i64 = values.iter().map(|v| i64::from(*v) * i64::from(*v)).sum();
        Some(Self {
            model: model.to_owned(),
            tables: tables(&values),
            values,
            inverse_length: 1.0 / (squares as f64).sqrt(),
            kernel: Kernel::best(),
        })
    }

    /// The id of the model that embedded it.
    pub fn model(&self) -> &str {
        &self.model
    }

    pub(crate) fn dims(&self) -> usize {
        self.values.len()
    }

    /// Scores the codes of a block; returns the best score.
    pub(super) fn score_block(&self, block: &[u8], scores: &mut Scores) -> i32 {
        self.kernel.score(block, &self.tables, scores)
    }

    /// The cosine with a row, whose bytes are signed numbers.
    pub(crate) fn cosine(&self, row: &[u8], inverse_length: f32) -> f64 {
        f64::from(self.kernel.product(&self.values, row))
            * self.inverse_length
            * f64::from(inverse_length)
    }
}

/// A table per four dimensions. An entry is the sum of the query's values where the pattern has a
/// one, minus those where it has a zero, shifted and scaled equally in all tables so that entries
/// are small and not negative. Sums keep their order except for rounding.
fn tables(values: &[i16]) -> Tables {
    let reaches: Vec<i32> =
        values.chunks(4).map(|four| four.iter().map(|v| i32::from(v.abs())).sum()).collect();
    let widest = reaches.iter().copied().max().unwrap_or_default().max(1);
    let entries = i32::from(MAX_ENTRY.min(i16::MAX as u16 / reaches.len().max(1) as u16));
    let table = |(four, reach): (&[i16], &i32)| {
        std::array::from_fn(|pattern| {
            let signed = |(at, v): (usize, &i16)| match pattern >> at & 1 {
                1 => i32::from(*v),
                _ => -i32::from(*v),
            };
            let sum: i32 = four.iter().enumerate().map(signed).sum();
            // Rounded to the nearest: from 0 to twice the reach becomes 0 to `entries`.
            ((sum + reach) * entries + widest).div_euclid(2 * widest) as u8
        })
    };
    let neutral = (reaches.iter().sum::<i32>() * entries + widest).div_euclid(2 * widest);
    Tables {
        entries: values.chunks(4).zip(&reaches).map(table).collect(),
        neutral: i16::try_from(neutral).expect("entries are small enough for their sum"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::VectorRow;

    #[test]
    fn cosines_are_those_of_the_vectors() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..50 {
            let mut vector = || (0..256).map(|_| random.f32() - 0.5).collect::<Vec<f32>>();
            let (a, b) = (vector(), vector());
            let length = |v: &[f32]| v.iter().map(|x| x * x).sum::<f32>().sqrt();
            let exact =
                a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>() / (length(&a) * length(&b));
            let row = VectorRow::of(&b);
            let bytes: Vec<u8> = row.values.iter().map(|v| *v as u8).collect();
            let query = VectorQuery::of("m", &a).unwrap();
            assert!((query.cosine(&bytes, row.inverse_length) - f64::from(exact)).abs() < 0.003);
        }
    }

    #[test]
    fn a_query_without_direction_is_none() {
        assert_eq!(VectorQuery::of("m", &[0.0; 8]), None);
        assert_eq!(VectorQuery::of("m", &[f32::NAN; 8]), None);
    }

    #[test]
    fn tables_add_up_to_the_signed_sum() {
        let values = [5, -3, 2, 0, 100, 1, -50, 7];
        let Tables { entries: tables, neutral } = tables(&values);
        assert_eq!((tables.len(), neutral), (2, 68), "half of each reach: 158 and 10 of 158");
        // The widest four dimensions use the whole range; their best pattern is the query's signs.
        assert_eq!(tables[1][0b1011], 127);
        assert_eq!(tables[1][0b0100], 0);
        assert!(tables[0].iter().all(|entry| *entry <= 8));
    }
}
