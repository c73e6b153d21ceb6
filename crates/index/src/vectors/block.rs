//! Codes of 32 passages side by side, so that one instruction processes all of them: the first byte
//! of every code, then the second of every code, and so on; then the stretch of every code.

use super::row::VectorCode;

/// Number of passages in a block.
pub(crate) const BLOCK: usize = 32;
/// Bytes of the stretches of a block.
pub(super) const STRETCHES: usize = 2 * BLOCK;

/// Bytes of a block of codes of `dims` bits.
pub(crate) fn block_bytes(dims: usize) -> usize {
    BLOCK * dims.div_ceil(8) + STRETCHES
}

/// Lays out codes in consecutive blocks; the last one is padded with zeros.
#[derive(Debug, Default)]
pub(crate) struct CodeBlocks {
    bytes: Vec<u8>,
    count: usize,
}

impl CodeBlocks {
    pub(crate) fn push(&mut self, code: &VectorCode) {
        let bits = code.bits.len() * BLOCK;
        let size = bits + STRETCHES;
        let at = self.count % BLOCK;
        if at == 0 {
            self.bytes.resize(self.bytes.len() + size, 0);
        }
        let start = self.bytes.len() - size;
        let block = &mut self.bytes[start..];
        for (byte, value) in code.bits.iter().enumerate() {
            block[byte * BLOCK + at] = *value;
        }
        block[bits + 2 * at..bits + 2 * at + 2].copy_from_slice(&code.stretch.to_le_bytes());
        self.count += 1;
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}
