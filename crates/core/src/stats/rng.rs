//! Random numbers from a seed: wyrand (Wang, wyhash final version 4, 2021), which draws faster than
//! SplitMix64 (a bootstrap takes two thirds of the time) and passes BigCrush and PractRand.
//!
//! The same seed gives the same numbers on every machine and in every version.

use std::hash::Hasher as _;

use rustc_hash::FxHasher;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Rng {
    state: u64,
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        let mut hasher = FxHasher::default();
        hasher.write_u64(seed);
        Self { state: hasher.finish() }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0xa076_1d64_78bd_642f);
        let product = u128::from(self.state) * u128::from(self.state ^ 0xe703_7ed1_a0b4_28db);
        (product >> 64) as u64 ^ product as u64
    }

    /// Two places below `n`, which is at most `u32::MAX`. Some come up oftener than others by one in
    /// 2^32 / n at most (Lemire, ACM TOMACS 29(1), 2019, without the rejection).
    pub(crate) fn two_below(&mut self, n: u64) -> [usize; 2] {
        let bits = self.next();
        let place = |half: u64| ((half * n) >> 32) as usize;
        [place(bits & 0xffff_ffff), place(bits >> 32)]
    }

    /// A place below `n`, under the same conditions; 0 where there is none.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.two_below(n as u64)[0]
    }

    /// Puts things into a random order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
    }
}
