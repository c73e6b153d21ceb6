//! Cutting a text into tokens.
//!
//! A word is a longest run of letters, digits and their marks, apostrophes inside it included: on
//! plain words this agrees with the word boundaries of UAX #29. Words that connectors join without
//! a space (`a-b`, `a/b.c`, `a::b`) make a compound, which is an identifier beside its words.

use unicode_segmentation::UnicodeSegmentation as _;

use super::class::{CharClass, class, extends, extends_dense};
use super::fold::fold_into;
use super::{MAX_TOKEN_BYTES, Token, TokenKind, UnstemmedToken, cut};

/// Calls `each` for every token of `text`; words come before the compounds that hold them.
pub fn analyse(text: &str, each: &mut impl FnMut(Token<'_>)) {
    let mut stem = String::new();
    analyse_unstemmed(text, &mut |token| each(token.with_stem(&mut stem)));
}

/// Tokens without stems, for callers that cache the stem of a word.
pub fn analyse_unstemmed(text: &str, each: &mut impl FnMut(UnstemmedToken<'_>)) {
    let mut scan = TokenScanner { text, exact: String::new(), each };
    let mut at = 0;
    while let Some(c) = scan.char_at(at) {
        at = match class(c) {
            CharClass::Word => scan.compound(at),
            CharClass::Dense => scan.dense_run(at),
            CharClass::Emoji => scan.emoji(at),
            CharClass::Other => at + c.len_utf8(),
        };
    }
}

struct TokenScanner<'t, F> {
    text: &'t str,
    exact: String,
    each: &'t mut F,
}

impl<F: FnMut(UnstemmedToken<'_>)> TokenScanner<'_, F> {
    fn char_at(&self, at: usize) -> Option<char> {
        match self.text.as_bytes().get(at) {
            Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
            Some(_) => self.text[at..].chars().next(),
            None => None,
        }
    }

    fn is_word_at(&self, at: usize) -> bool {
        self.char_at(at).is_some_and(|c| class(c) == CharClass::Word)
    }

    /// Emits the words from `at` on that connectors join, and the whole if it is more than a word.
    fn compound(&mut self, at: usize) -> usize {
        let start = self.with_sigil(at);
        if let Some(end) = self.lone_end(start, at) {
            self.word(at, end, true);
            return end;
        }
        let (mut segment, mut segments, mut word) = (CompoundSegment::new(start, at), 1, at);
        loop {
            let end = self.word_end(word);
            let next = self.connected(end);
            let close = next.map_or_else(|| self.with_suffix(end), |_| end);
            segment.pieces += 1 + usize::from(close > end);
            let is_whole = next.is_none() && segments == 1 && segment.pieces == 1;
            segment.has_words |= self.word(word, end, is_whole);
            let Some(next) = next else {
                self.segment(&segment, close);
                if segments > 1 {
                    self.identifier(start, close, TokenKind::Identifier);
                }
                return close;
            };
            if matches!(self.text.as_bytes()[end], b'/' | b':') {
                self.segment(&segment, end);
                segment = CompoundSegment::new(next, next);
                segments += 1;
            }
            word = next;
        }
    }

    /// The end of the word at `at` if nothing that can join or extend a word stands beside it: most
    /// words are so.
    fn lone_end(&self, start: usize, at: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let end = at + length;
        let is_apart =
            matches!(bytes.get(end), None | Some(b' ' | b'\n' | b',' | b';' | b'!' | b'?' | b')'));
        (start == at && length > 0 && is_apart).then_some(end)
    }

    /// Emits a stretch of a compound that is itself one. One without a word inside is a word.
    fn segment(&mut self, segment: &CompoundSegment, end: usize) {
        match segment.pieces {
            0 | 1 => {}
            _ if segment.has_words => self.identifier(segment.start, end, TokenKind::Identifier),
            _ => self.identifier(segment.start, end, TokenKind::Word),
        }
    }

    /// Includes a `#` or `@` that stands directly before a word and after nothing.
    fn with_sigil(&self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        let has_sigil = at > 0 && matches!(bytes[at - 1], b'#' | b'@');
        let is_free = at < 2
            || !(bytes[at - 2].is_ascii_alphanumeric() || matches!(bytes[at - 2], b'#' | b'@'));
        if has_sigil && is_free { at - 1 } else { at }
    }

    /// Includes the end of names such as `C++` and `F#`.
    fn with_suffix(&self, end: usize) -> usize {
        let rest = &self.text.as_bytes()[end..];
        let length = match rest {
            [b'+', b'+', ..] => 2,
            [b'+' | b'#', ..] => 1,
            _ => return end,
        };
        let is_closed =
            !self.is_word_at(end + length) && !matches!(rest.get(length), Some(b'+' | b'#'));
        if is_closed { end + length } else { end }
    }

    /// Where the next word starts if connectors join it to the one that ends at `end`.
    fn connected(&self, end: usize) -> Option<usize> {
        let length = match self.text.as_bytes()[end..] {
            [b':', b'/', b'/', ..] => 3,
            [b':', b':', ..] => 2,
            [b'_' | b'-' | b'.' | b'/' | b':' | b'@' | b'#', ..] => 1,
            _ => return None,
        };
        self.is_word_at(end + length).then_some(end + length)
    }

    /// The end of the word at `start`, apostrophes inside it included.
    fn word_end(&self, start: usize) -> usize {
        let mut end = self.plain_end(start);
        while let Some(after) = self.apostrophe(end) {
            end = self.plain_end(after);
        }
        end
    }

    /// Emits a word, unless it is a single letter or digit inside a compound: that says nothing by
    /// itself.
    fn word(&mut self, start: usize, end: usize, is_whole: bool) -> bool {
        let word = &self.text[start..end];
        if !is_whole && word.len() == 1 {
            return false;
        }
        self.exact.clear();
        if word.bytes().all(|b| b.is_ascii_alphanumeric()) {
            self.exact.push_str(word);
            self.exact.make_ascii_lowercase();
        } else {
            fold_into(without_possessive(word), &mut self.exact);
            self.exact.retain(|c| c != '\'');
        }
        self.emit(start, end, TokenKind::Word);
        true
    }

    /// The end of the letters, digits and marks from `at` on.
    fn plain_end(&self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut end = at;
        while bytes.get(end).is_some_and(u8::is_ascii_alphanumeric) {
            end += 1;
        }
        if bytes.get(end).is_none_or(u8::is_ascii) {
            return end;
        }
        let rest = &self.text[end..];
        let length = rest.find(|c| class(c) != CharClass::Word && !extends(c));
        end + length.unwrap_or(rest.len())
    }

    /// Where the word goes on after an apostrophe at `at`, if one stands between two letters.
    fn apostrophe(&self, at: usize) -> Option<usize> {
        let c = self.char_at(at).filter(|c| matches!(c, '\'' | '\u{2019}'))?;
        let after = at + c.len_utf8();
        self.char_at(after).is_some_and(|c| class(c) == CharClass::Word).then_some(after)
    }

    fn identifier(&mut self, start: usize, end: usize, kind: TokenKind) {
        self.exact.clear();
        fold_into(&self.text[start..end], &mut self.exact);
        self.emit(start, end, kind);
    }

    /// Emits the bigrams of a run of a script without spaces.
    fn dense_run(&mut self, at: usize) -> usize {
        let (mut before, mut unit) = (None, at);
        while self.char_at(unit).is_some_and(|c| class(c) == CharClass::Dense) {
            let end = self.dense_end(unit);
            if let Some(start) = before {
                self.bigram(start, end);
            }
            before = Some(unit);
            unit = end;
        }
        if before == Some(at) {
            self.bigram(at, unit);
        }
        unit
    }

    /// The end of a dense character with its marks.
    fn dense_end(&self, at: usize) -> usize {
        let mut chars = self.text[at..].char_indices().skip(1);
        let next = chars.find(|(_, c)| !extends_dense(*c));
        next.map_or(self.text.len(), |(offset, _)| at + offset)
    }

    fn bigram(&mut self, start: usize, end: usize) {
        self.exact.clear();
        fold_into(&self.text[start..end], &mut self.exact);
        self.emit(start, end, TokenKind::Bigram);
    }

    fn emoji(&mut self, at: usize) -> usize {
        let cluster = self.text[at..].graphemes(true).next().unwrap_or_default();
        let end = at + cluster.len();
        self.exact.clear();
        fold_into(cluster, &mut self.exact);
        self.emit(at, end, TokenKind::Emoji);
        end
    }

    fn emit(&mut self, start: usize, end: usize, kind: TokenKind) {
        let exact = cut(&self.exact, MAX_TOKEN_BYTES);
        if exact.is_empty() {
            return;
        }
        (self.each)(UnstemmedToken { start, end, kind, exact });
    }
}

/// A word without a final `'s`.
fn without_possessive(word: &str) -> &str {
    let possessives = ["'s", "'S", "\u{2019}s", "\u{2019}S"];
    possessives.iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word)
}

/// A stretch of a compound between path separators, such as the file name of a path.
struct CompoundSegment {
    start: usize,
    /// Words, signs before and signs after.
    pieces: usize,
    /// Whether one of its words is a token.
    has_words: bool,
}

impl CompoundSegment {
    /// A stretch that starts with the word at `word`, or with a sign before it.
    fn new(start: usize, word: usize) -> Self {
        Self { start, pieces: usize::from(start < word), has_words: false }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact_forms(text: &str) -> Vec<String> {
        let mut forms = Vec::new();
        analyse(text, &mut |t| forms.push(t.exact.to_owned()));
        forms
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(exact_forms(text), expected, "{text}");
    }

    #[test]
    fn words_are_folded() {
        check("Running, Café naïve!", &["running", "cafe", "naive"]);
        check("long".repeat(6).as_str(), &["longlonglonglonglonglong"]);
        check("Acme's don’t O'Brien James'", &["acme", "dont", "obrien", "james"]);
        check("camelCase HTML5 3rd", &["camelcase", "html5", "3rd"]);
        check("", &[]);
        check("* \" -- _ ?", &[]);
    }

    #[test]
    fn identifiers_stay_whole_beside_their_words() {
        check("ABC-12 1:1", &["abc", "12", "abc-12", "1:1"]);
        check("#123 @ada", &["123", "#123", "ada", "@ada"]);
        check("berth_planner.rs.", &["berth", "planner", "rs", "berth_planner.rs"]);
        check("v2.4.1", &["v2", "v2.4.1"]);
        check("C C++ C# F# a+b", &["c", "c++", "c#", "f#", "a", "b"]);
        check("repo:path/x.rs", &["repo", "path", "rs", "x.rs", "repo:path/x.rs"]);
        check(
            "wiki::people/ada-quill",
            &["wiki", "people", "ada", "quill", "ada-quill", "wiki::people/ada-quill"],
        );
        check("https://a.io/b", &["https", "io", "a.io", "https://a.io/b"]);
        check("wait...what a,b", &["wait", "what", "a", "b"]);
        check("title:foo", &["title", "foo", "title:foo"]);
    }

    #[test]
    fn dense_scripts_become_bigrams() {
        check("東京都に", &["東京", "京都", "都に"]);
        check("猫 cat", &["猫", "cat"]);
        check("ｶﾞｽ", &["ガス"]);
        check("Rustの本", &["rust", "の本"]);
        check("한국어", &["한국", "국어"]);
    }

    #[test]
    fn emoji_are_tokens() {
        check("ship 🚢❤️ it", &["ship", "🚢", "❤", "it"]);
        check("👩‍💻", &["👩💻"]);
    }

    #[test]
    fn long_tokens_are_cut() {
        assert_eq!(exact_forms(&"x".repeat(1000)), ["x".repeat(255)]);
        assert_eq!(exact_forms(&"я".repeat(1000)), ["я".repeat(127)]);
    }

    proptest! {
        #[test]
        fn any_text_is_safe(text in any::<String>()) {
            let mut seen = Vec::new();
            analyse(&text, &mut |t| {
                assert!(t.start < t.end && text.get(t.start..t.end).is_some());
                assert!(!t.exact.is_empty() && t.exact.len() <= MAX_TOKEN_BYTES && !t.stem.is_empty());
                seen.push((t.start, t.end, t.exact.to_owned(), t.stem.to_owned()));
            });
            let mut again = Vec::new();
            analyse(&text, &mut |t| again.push((t.start, t.end, t.exact.to_owned(), t.stem.to_owned())));
            prop_assert_eq!(seen, again);
        }

        #[test]
        fn every_blank_is_the_same(text in "[a-cA-C0-2é'’.#@_/+:,;!?)(* -]{0,40}") {
            let tokens = |text: &str| {
                let mut tokens = Vec::new();
                analyse(text, &mut |t| {
                    tokens.push((t.start, t.end, t.kind, t.exact.to_owned(), t.stem.to_owned()));
                });
                tokens
            };
            // A tab is not among what most words end before, so it goes the long way.
            prop_assert_eq!(tokens(&format!("{text} ")), tokens(&format!("{}\t", text.replace(' ', "\t"))));
        }

        #[test]
        fn plain_words_agree_with_unicode(text in "[a-zA-Z0-9éüñяж ,!?]{0,40}") {
            let mut ours = Vec::new();
            analyse(&text, &mut |t| ours.push((t.start, &text[t.start..t.end])));
            let commas_apart: Vec<_> = text.unicode_word_indices()
                .flat_map(|(at, word)| word.split(',').scan(at, |at, part| {
                    let start = *at;
                    *at += part.len() + 1;
                    Some((start, part))
                }))
                .collect();
            prop_assert_eq!(ours, commas_apart);
        }
    }
}
