//! The scan: scores of a block of codes.
//!
//! A code is read four bits at a time. For each four dimensions the query has a table with the
//! contribution of each of the sixteen patterns, and one instruction looks up sixteen-entry tables
//! for 32 passages. The portable path computes the same sums one by one and returns the same
//! numbers.

use super::block::{BLOCK, STRETCHES};

/// Entries of a table.
pub(super) const PATTERNS: usize = 16;
/// The largest entry: two of them must fit a byte.
pub(super) const MAX_ENTRY: u16 = 127;

/// Scores of the passages of a block.
pub(super) type Scores = [i32; BLOCK];
/// Sums of table entries of the passages of a block.
type Sums = [i16; BLOCK];

/// Lookup tables of a query.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tables {
    /// One table per four dimensions.
    pub(super) entries: Vec<[u8; PATTERNS]>,
    /// The sum for a code without any similarity.
    pub(super) neutral: i16,
}

/// The implementation that scans blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    /// 32 passages at once.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Kernel {
    /// The fastest implementation for this processor.
    pub(super) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Self::Avx2;
        }
        Self::Portable
    }

    /// Scores each passage of a block: the sum of the table entries minus the neutral sum, times
    /// the passage's stretch. Returns the best score.
    pub(super) fn score(self, block: &[u8], tables: &Tables, scores: &mut Scores) -> i32 {
        let (bits, stretches) = block.split_at(block.len() - STRETCHES);
        assert_eq!(bits.len() * 2, tables.entries.len() * BLOCK, "a block fits its tables");
        match self {
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "the only way to call for instructions")]
            // SAFETY: `best` returns this variant only after detecting AVX2.
            Self::Avx2 => unsafe { avx2::score(bits, stretches, tables, scores) },
            Self::Portable => {
                let mut sums = [0; BLOCK];
                portable(bits, &tables.entries, &mut sums);
                stretch(&sums, stretches, tables.neutral, scores)
            }
        }
    }

    /// The dot product of a query with a row, whose bytes are signed numbers.
    pub(super) fn product(self, query: &[i16], row: &[u8]) -> i32 {
        match self {
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "the only way to call for instructions")]
            // SAFETY: `best` returns this variant only after detecting AVX2.
            Self::Avx2 => unsafe { avx2::product(query, row) },
            Self::Portable => product(query, row),
        }
    }
}

fn portable(bits: &[u8], entries: &[[u8; PATTERNS]], sums: &mut Sums) {
    for (bytes, pair) in bits.chunks_exact(BLOCK).zip(entries.chunks_exact(2)) {
        for (sum, byte) in sums.iter_mut().zip(bytes) {
            let (low, high) = (usize::from(byte & 15), usize::from(byte >> 4));
            *sum += i16::from(pair[0][low]) + i16::from(pair[1][high]);
        }
    }
}

/// Inlined so that it is compiled with the caller's instruction set.
#[inline(always)]
fn stretch(sums: &Sums, stretches: &[u8], neutral: i16, scores: &mut Scores) -> i32 {
    let stretches = stretches.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]]));
    for ((score, sum), stretch) in scores.iter_mut().zip(sums).zip(stretches) {
        *score = i32::from(sum - neutral) * i32::from(stretch);
    }
    scores.iter().copied().fold(i32::MIN, i32::max)
}

/// Inlined so that it is compiled with the caller's instruction set.
#[inline(always)]
fn product(query: &[i16], row: &[u8]) -> i32 {
    query.iter().zip(row).map(|(q, v)| i32::from(*q) * i32::from(*v as i8)).sum()
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_loadu_si128, _mm256_add_epi8, _mm256_add_epi16, _mm256_and_si256,
        _mm256_broadcastsi128_si256, _mm256_loadu_si256, _mm256_permute2x128_si256,
        _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi16,
        _mm256_srli_epi16, _mm256_storeu_si256, _mm256_sub_epi16, _mm256_unpackhi_epi16,
        _mm256_unpacklo_epi16,
    };

    use super::{BLOCK, PATTERNS, Scores, Sums, Tables};

    #[target_feature(enable = "avx2")]
    pub(super) fn score(
        bits: &[u8],
        stretches: &[u8],
        tables: &Tables,
        scores: &mut Scores,
    ) -> i32 {
        let mut sums = [0; BLOCK];
        add_up(bits, &tables.entries, &mut sums);
        super::stretch(&sums, stretches, tables.neutral, scores)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn product(query: &[i16], row: &[u8]) -> i32 {
        super::product(query, row)
    }

    #[target_feature(enable = "avx2")]
    fn add_up(bits: &[u8], entries: &[[u8; PATTERNS]], sums: &mut Sums) {
        let four_bits = _mm256_set1_epi8(15);
        // Sums of pairs of passages as 16-bit numbers, and of the upper ones alone.
        let (mut pairs, mut odd) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        for (bytes, pair) in bits.chunks_exact(BLOCK).zip(entries.chunks_exact(2)) {
            let bytes = load(bytes.try_into().expect("chunks are whole"));
            let low = _mm256_and_si256(bytes, four_bits);
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), four_bits);
            let low = _mm256_shuffle_epi8(table(&pair[0]), low);
            let high = _mm256_shuffle_epi8(table(&pair[1]), high);
            // Invariant: an entry is at most 127, so two of them fit a byte.
            let both = _mm256_add_epi8(low, high);
            pairs = _mm256_add_epi16(pairs, both);
            odd = _mm256_add_epi16(odd, _mm256_srli_epi16::<8>(both));
        }
        let even = _mm256_sub_epi16(pairs, _mm256_slli_epi16::<8>(odd));
        let (first, second) = (_mm256_unpacklo_epi16(even, odd), _mm256_unpackhi_epi16(even, odd));
        let (low, high) = sums.split_at_mut(BLOCK / 2);
        store(low, _mm256_permute2x128_si256::<0x20>(first, second));
        store(high, _mm256_permute2x128_si256::<0x31>(first, second));
    }

    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8; BLOCK]) -> __m256i {
        #[expect(unsafe_code, reason = "a load is by pointer")]
        // SAFETY: the slice has 32 bytes, and the load needs no alignment.
        unsafe {
            _mm256_loadu_si256(bytes.as_ptr().cast::<__m256i>())
        }
    }

    #[target_feature(enable = "avx2")]
    fn table(entries: &[u8; PATTERNS]) -> __m256i {
        #[expect(unsafe_code, reason = "a load is by pointer")]
        // SAFETY: the array has 16 bytes, and the load needs no alignment.
        let half = unsafe { _mm_loadu_si128(entries.as_ptr().cast::<__m128i>()) };
        _mm256_broadcastsi128_si256(half)
    }

    #[target_feature(enable = "avx2")]
    fn store(sums: &mut [i16], values: __m256i) {
        let sums: &mut [i16; BLOCK / 2] = sums.try_into().expect("half a block is given");
        #[expect(unsafe_code, reason = "a store is by pointer")]
        // SAFETY: the array has 16 numbers of 16 bits, and the store needs no alignment.
        unsafe {
            _mm256_storeu_si256(sums.as_mut_ptr().cast::<__m256i>(), values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_gives_the_same_scores() {
        let mut random = fastrand::Rng::with_seed(7);
        for bytes in [1, 8, 32, 48, 96] {
            for _ in 0..50 {
                let entry = |_: usize| random.u8(..=MAX_ENTRY as u8);
                let entries: Vec<u8> = (0..2 * bytes * PATTERNS).map(entry).collect();
                let entries = entries.chunks_exact(PATTERNS).map(|e| e.try_into().unwrap());
                let tables = Tables { entries: entries.collect(), neutral: random.i16(0..9000) };
                let block: Vec<u8> =
                    (0..bytes * BLOCK + STRETCHES).map(|_| random.u8(..)).collect();
                let (mut best, mut plain) = ([0; BLOCK], [0; BLOCK]);
                let top = Kernel::best().score(&block, &tables, &mut best);
                assert_eq!(Kernel::Portable.score(&block, &tables, &mut plain), top);
                assert_eq!(best, plain, "{bytes} bytes");
                assert_eq!(plain.iter().max(), Some(&top));
                let by_hand: i32 = (0..bytes)
                    .map(|at| {
                        let byte = block[at * BLOCK + 5];
                        let (low, high) = (usize::from(byte & 15), usize::from(byte >> 4));
                        let entries = &tables.entries;
                        i32::from(entries[2 * at][low]) + i32::from(entries[2 * at + 1][high])
                    })
                    .sum();
                let at = bytes * BLOCK + 10;
                let stretch = i32::from(u16::from_le_bytes([block[at], block[at + 1]]));
                assert_eq!(plain[5], (by_hand - i32::from(tables.neutral)) * stretch);
                let query: Vec<i16> = (0..8 * bytes).map(|_| random.i16(-4095..=4095)).collect();
                let row = &block[..8 * bytes];
                let by_hand =
                    query.iter().zip(row).map(|(q, v)| i64::from(*q) * i64::from(*v as i8));
                let by_hand: i64 = by_hand.sum();
                assert_eq!(i64::from(Kernel::best().product(&query, row)), by_hand);
                assert_eq!(i64::from(Kernel::Portable.product(&query, row)), by_hand);
            }
        }
    }

    #[test]
    fn the_largest_sums_fit() {
        let tables = Tables { entries: vec![[MAX_ENTRY as u8; PATTERNS]; 2 * 96], neutral: 0 };
        let mut scores = [0; BLOCK];
        let best = Kernel::best().score(&[0xff; 96 * BLOCK + STRETCHES], &tables, &mut scores);
        assert_eq!((scores, best), ([192 * 127 * 65535; BLOCK], 192 * 127 * 65535));
    }
}
