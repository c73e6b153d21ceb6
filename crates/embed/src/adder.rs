//! Adding rows up, with the widest instructions there are.
//!
//! A product and a sum per dimension, never fused and never across dimensions: every machine gets
//! the same bits, whichever way it adds.

/// A way of adding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VectorAdder {
    /// Eight numbers at once.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// As the compiler will for any machine.
    Portable,
}

impl VectorAdder {
    /// The fastest that runs here.
    pub(crate) fn fastest() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Self::Avx2;
        }
        Self::Portable
    }

    /// Adds a row, whose numbers are bytes here, times a factor.
    pub(crate) fn add(self, factor: f32, row: &[u8], sum: &mut [f32]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "the only way to call for instructions")]
            // SAFETY: `fastest` made this value after the processor said that it has AVX2.
            Self::Avx2 => unsafe { add_avx2(factor, row, sum) },
            Self::Portable => add(factor, row, sum),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_avx2(factor: f32, row: &[u8], sum: &mut [f32]) {
    add(factor, row, sum);
}

/// Compiled again with wider instructions where it is called from.
#[inline(always)]
fn add(factor: f32, row: &[u8], sum: &mut [f32]) {
    for (sum, value) in sum.iter_mut().zip(row) {
        *sum += factor * f32::from(*value as i8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_gives_the_same_bits() {
        let row: Vec<u8> = (0..=255).collect();
        let (mut best, mut plain) = (vec![0.1; 256], vec![0.1; 256]);
        for factor in [0.013, -1.7e-5, 3.1e7, 0.33333334] {
            VectorAdder::fastest().add(factor, &row, &mut best);
            VectorAdder::Portable.add(factor, &row, &mut plain);
            let bits = |sums: &[f32]| sums.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&best), bits(&plain));
        }
        assert_eq!(plain[1] as f64, {
            let steps = [0.013f32, -1.7e-5, 3.1e7, 0.33333334];
            f64::from(steps.iter().fold(0.1f32, |sum, factor| sum + factor * 1.0))
        });
    }
}
