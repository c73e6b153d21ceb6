//! English stems through a process-wide table of words seen before.
//!
//! Stemming an unseen word costs as much as everything else that is done to it, so a stem is
//! remembered across texts, threads and brains. The table is the one piece of global state in this
//! crate: it holds a pure function's results, never grows past its bound, and changes nothing but
//! time.

use std::sync::{LazyLock, PoisonError, RwLock};

use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::FxHashMap;

use super::{TokenKind, is_stop_word};

/// Locks are per shard, so that threads rarely meet.
const SHARDS: usize = 64;
/// 262,144 words in all: some 20 MB when full, more than any brain's common words.
const WORDS_PER_SHARD: usize = 4096;
const LONGEST_REMEMBERED: usize = 24;

type Shard = RwLock<FxHashMap<Box<str>, CachedStem>>;

struct CachedStem {
    stem: Box<str>,
    kind: TokenKind,
}

static STEMS: LazyLock<[Shard; SHARDS]> =
    LazyLock::new(|| std::array::from_fn(|_| Shard::default()));

/// Appends the stem of a folded word to `out` and says whether it is a stop word. Stop words and
/// words that are not plain English letters are their own stems.
pub(super) fn stem_into(word: &str, out: &mut String) -> TokenKind {
    if !word.bytes().all(|b| b.is_ascii_lowercase()) {
        out.push_str(word);
        return TokenKind::Word;
    }
    if word.len() > LONGEST_REMEMBERED {
        out.push_str(&porter(word));
        return TokenKind::Word;
    }
    let shard = &STEMS[shard_of(word)];
    if let Some(known) = shard.read().unwrap_or_else(PoisonError::into_inner).get(word) {
        out.push_str(&known.stem);
        return known.kind;
    }
    let known = match is_stop_word(word) {
        true => CachedStem { stem: word.into(), kind: TokenKind::Stop },
        false => CachedStem { stem: porter(word).into(), kind: TokenKind::Word },
    };
    let kind = known.kind;
    out.push_str(&known.stem);
    remember(shard, word, known);
    kind
}

fn remember(shard: &Shard, word: &str, known: CachedStem) {
    let mut words = shard.write().unwrap_or_else(PoisonError::into_inner);
    if words.len() < WORDS_PER_SHARD {
        words.insert(word.into(), known);
    }
}

fn porter(word: &str) -> String {
    Stemmer::create(Algorithm::English).stem(word).into_owned()
}

/// Any function of the word will do that spreads words a little and costs nothing.
fn shard_of(word: &str) -> usize {
    let bytes = word.as_bytes();
    let (first, last) = (bytes.first().copied(), bytes.last().copied());
    let ends =
        usize::from(first.unwrap_or_default()) * 7 + usize::from(last.unwrap_or_default()) * 3;
    (ends + bytes.len()) % SHARDS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stem(word: &str) -> String {
        let mut out = String::new();
        stem_into(word, &mut out);
        out
    }

    #[test]
    fn stems_by_example() {
        for (word, expected) in [
            ("running", "run"),
            ("generously", "generous"),
            ("a1s", "a1s"),
            ("is", "is"),
            ("cafes", "cafe"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
            assert_eq!(stem(word), expected, "{word} remembered");
        }
    }

    #[test]
    fn the_table_is_bounded() {
        for n in 0..300_000_u32 {
            let word: String = n.to_string().bytes().map(|b| char::from(b - b'0' + b'a')).collect();
            stem(&word);
        }
        let kept = STEMS.iter().map(|s| s.read().unwrap().len()).max();
        assert!(kept <= Some(WORDS_PER_SHARD));
    }
}
