//! Random numbers from a seed: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
//!
//! The same seed gives the same numbers on every machine and in every version.

use std::hash::Hasher as _;

use rustc_hash::FxHasher;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(super) struct Rng {
    state: u64,
}

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        let mut hasher = FxHasher::default();
        hasher.write_u64(seed);
        Self { state: hasher.finish() }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Two places below `n`, each at least as even as one in 2^32 / n (Lemire 2019, without the
    /// rejection). `n` is at most `u32::MAX`.
    pub(super) fn two_below(&mut self, n: u64) -> [usize; 2] {
        let bits = self.next();
        let place = |half: u64| ((half * n) >> 32) as usize;
        [place(bits & 0xffff_ffff), place(bits >> 32)]
    }
}
