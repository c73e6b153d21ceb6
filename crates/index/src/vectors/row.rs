//! A passage's vector as small integers.

/// A vector scaled to a maximum of 127 and rounded, and one over its length.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VectorRow {
    pub(crate) values: Vec<i8>,
    /// Zero if the passage has no direction; such a passage is never found.
    pub(crate) inverse_length: f32,
}

/// The compact form of a row for the scan: one bit per dimension, and their scale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VectorCode {
    /// The side of the centre on which the vector lies, the first dimension lowest.
    pub(crate) bits: Vec<u8>,
    /// |r|² / Σ|r|, where r is the vector minus the centre: the product of a query with r is nearly
    /// its product with the signs of r times this (Gao and Long, RaBitQ, SIGMOD 2024).
    pub(crate) stretch: u16,
}

/// A stretch is at most about one over the root of the dimensions times the longest r: far below
/// eight for any model, so it fits 16 bits.
const STRETCH_UNIT: f64 = 8192.0;

impl VectorRow {
    /// Quantises a vector to integers from -127 to 127.
    pub(crate) fn of(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0f32, |largest, x| largest.max(x.abs()));
        if largest == 0.0 || !largest.is_finite() {
            return Self::without_direction(vector.len());
        }
        let values: Vec<i8> = vector.iter().map(|x| rounded(x / largest * 127.0)).collect();
        let squares: i64 = values.iter().map(|v| i64::from(*v) * i64::from(*v)).sum();
        Self { values, inverse_length: (1.0 / (squares as f64).sqrt()) as f32 }
    }

    /// The row of a vector without direction.
    pub(crate) fn without_direction(dims: usize) -> Self {
        Self { values: vec![0; dims], inverse_length: 0.0 }
    }

    /// The code of the row. Computed from the row alone, so that only rows have to be stored.
    pub(crate) fn code(&self, centre: &[f32]) -> VectorCode {
        let mut bits = vec![0; self.values.len().div_ceil(8)];
        let (mut squares, mut sum) = (0f64, 0f64);
        for (at, (value, centre)) in self.values.iter().zip(centre).enumerate() {
            let away = f32::from(*value) * self.inverse_length - centre;
            bits[at / 8] |= u8::from(away > 0.0) << (at % 8);
            squares += f64::from(away) * f64::from(away);
            sum += f64::from(away.abs());
        }
        let has_stretch = sum > 0.0 && self.inverse_length > 0.0;
        let stretch = if has_stretch { squares / sum } else { 0.0 };
        VectorCode { bits, stretch: (stretch * STRETCH_UNIT).round() as u16 }
    }
}

/// `f32::round` for numbers that fit, without a call, so that the loop is vectorised.
fn rounded(x: f32) -> i8 {
    let whole = x as i32;
    // Exact: both have the same sign, and the remainder has no more digits than `x`.
    let rest = x - whole as f32;
    (whole + i32::from(rest >= 0.5) - i32::from(rest <= -0.5)) as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_that_of_floats() {
        let near = [0.0, 0.5, 1.0, 1.5, 2.5, 63.5, 126.5, 127.0];
        let near = near.into_iter().flat_map(|x: f32| [x, x.next_up(), x.next_down()]);
        for x in near.filter(|x| *x <= 127.0) {
            assert_eq!((rounded(x), rounded(-x)), (x.round() as i8, -(x.round() as i8)), "{x}");
        }
    }

    #[test]
    fn rows_keep_direction() {
        let row = VectorRow::of(&[0.6, -0.8, 0.0, 0.2]);
        assert_eq!(row.values, [95, -127, 0, 32]);
        let length = (95f64 * 95.0 + 127.0 * 127.0 + 32.0 * 32.0).sqrt();
        assert_eq!(row.inverse_length, (1.0 / length) as f32);
        assert_eq!(VectorRow::of(&[0.0, 0.0]).inverse_length, 0.0);
        assert_eq!(VectorRow::of(&[f32::NAN, f32::INFINITY]).inverse_length, 0.0);
    }

    #[test]
    fn codes_say_the_side_of_the_centre() {
        let row = VectorRow::of(&[1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        let mut centre = vec![0.0; 9];
        centre[2] = 0.9;
        let code = row.code(&centre);
        assert_eq!(code.bits, [0b1111_1001, 1]);
        let third = 1.0 / 3.0f64;
        let (squares, sum) =
            (8.0 * third * third + (third - 0.9).powi(2), 8.0 * third + 0.9 - third);
        assert_eq!(code.stretch, (squares / sum * 8192.0).round() as u16);
        assert_eq!(VectorRow::of(&[0.0; 8]).code(&[0.0; 8]).stretch, 0);
        assert_eq!(VectorRow::of(&[0.0; 8]).code(&[0.3; 8]).stretch, 0, "nothing reaches nowhere");
    }
}
