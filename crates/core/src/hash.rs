//! Content hashes: SHA-256 over length-prefixed parts, so that no two lists of parts collide.

use std::fmt;

use sha2::{Digest as _, Sha256};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Hash(pub [u8; 32]);

/// Hashes a text that comes in pieces.
#[derive(Debug, Clone, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Takes the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The hash of all of it.
    pub fn finish(self) -> Hash {
        Hash(self.0.finalize().into())
    }
}

impl Hash {
    /// The hash of one text, as `sha256sum` prints it.
    pub fn of(text: &[u8]) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// The hash of a list of parts, each behind its length.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// Adds or removes a member of an unordered set of hashes.
    ///
    /// Combining by exclusive or makes the result independent of order, which is what a corpus
    /// needs: the same pages give the same root in any order. It detects mistakes and drift; it is
    /// not a commitment against an attacker who can choose pages.
    #[must_use]
    pub fn toggle(self, member: Self) -> Self {
        let mut bytes = self.0;
        for (byte, other) in bytes.iter_mut().zip(member.0) {
            *byte ^= other;
        }
        Self(bytes)
    }

    /// 64 lower-case hexadecimal digits.
    pub fn to_hex(self) -> String {
        let mut hex = String::with_capacity(64);
        for byte in self.0 {
            hex.push(char::from_digit(u32::from(byte >> 4), 16).expect("a nibble is a digit"));
            hex.push(char::from_digit(u32::from(byte & 15), 16).expect("a nibble is a digit"));
        }
        hex
    }

    /// The first 16 hexadecimal digits: enough to name a thing.
    pub fn short(self) -> String {
        let mut hex = self.to_hex();
        hex.truncate(16);
        hex
    }

    /// Reads 64 hexadecimal digits back.
    pub fn from_hex(hex: &str) -> Option<Self> {
        // Parsing a number would also take a sign.
        if hex.len() != 64 || !hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

crate::displayed!(Hash);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_sha256sum() {
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Hash::of(b"abc").to_hex(), hex);
        assert_eq!(Hash::from_hex(hex), Some(Hash::of(b"abc")));
        assert_eq!(Hash::from_hex("zz"), None);
        assert_eq!(Hash::from_hex(&hex.replacen("ba", "+a", 1)), None);
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(Hash::of_parts(&[b"ab", b"c"]), Hash::of_parts(&[b"a", b"bc"]));
    }

    #[test]
    fn toggling_twice_is_nothing() {
        let (a, b) = (Hash::of(b"a"), Hash::of(b"b"));
        assert_eq!(a.toggle(b).toggle(a), b);
    }
}
