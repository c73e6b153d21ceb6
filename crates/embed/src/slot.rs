//! The slot of a piece in the hash table. Shared with the build script, which fills the table.

/// Slots of the table: twice as many as pieces, and a power of two.
pub(crate) const COUNT: usize = 1 << 16;
pub(crate) const EMPTY: u16 = u16::MAX;

const SEED: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of nothing.
pub(crate) fn start() -> u64 {
    SEED
}

/// The hash of what was hashed so far and one byte more (FNV-1a), so that the hashes of all
/// prefixes of a word come from one pass over it.
pub(crate) fn extend(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(PRIME)
}

/// The hash of a piece.
pub(crate) fn hash(piece: &[u8]) -> u64 {
    piece.iter().fold(start(), |hash, byte| extend(hash, *byte))
}

/// The first slot to look at.
pub(crate) fn of(hash: u64) -> usize {
    (hash.wrapping_mul(SPREAD) >> 48) as usize
}

/// The slot to look at after one that another piece has.
pub(crate) fn next(slot: usize) -> usize {
    (slot + 1) % COUNT
}
