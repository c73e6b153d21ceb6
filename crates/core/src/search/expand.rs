//! Turns a model's variants of a query into the ones that take part.
//!
//! A model's text is untrusted: it is brought to one line, cut, and stripped of what says nothing
//! new. The order is the model's.

use rustc_hash::FxHashSet;

use crate::hook::HookError;
use crate::request::Expansion;

use super::Settings;

/// The longest variant, in characters: twice the longest question that people ask in a sentence.
pub(crate) const MAX_VARIANT_CHARS: usize = 400;

/// Builds the expansion of a request from an expander's answer.
pub fn expansion(
    query: &str,
    reply: Result<Vec<String>, HookError>,
    settings: &Settings,
) -> Expansion {
    match reply.map(|reply| variants(query, &reply, settings.expand_variants as usize)) {
        Ok(variants) if variants.is_empty() => Expansion::Failed(HookError::Empty),
        Ok(variants) => Expansion::Variants(variants),
        Err(error) => Expansion::Failed(error),
    }
}

/// The first `most` that say something which neither the query nor an earlier one says.
fn variants(query: &str, reply: &[String], max_variants: usize) -> Vec<String> {
    let mut seen: FxHashSet<String> = FxHashSet::default();
    seen.insert(one_line(query).to_lowercase());
    let variants = reply.iter().map(|text| one_line(text));
    variants
        .filter(|text| text.chars().any(char::is_alphanumeric))
        .filter(|text| seen.insert(text.to_lowercase()))
        .take(max_variants)
        .collect()
}

/// The words of a text with one space between them, as far as they fit.
fn one_line(text: &str) -> String {
    let is_space = |c: char| c.is_whitespace() || c.is_control();
    let words: Vec<&str> = text.split(is_space).filter(|word| !word.is_empty()).collect();
    let cut: String = words.join(" ").chars().take(MAX_VARIANT_CHARS).collect();
    cut.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(query: &str, reply: &[&str], expected: &[&str]) {
        let reply: Vec<String> = reply.iter().map(|text| (*text).to_owned()).collect();
        let found = expansion(query, Ok(reply), &Settings::default());
        assert_eq!(found.variants(), expected);
        assert_eq!(expected.is_empty(), found == Expansion::Failed(HookError::Empty));
    }

    #[test]
    fn variants_are_one_line_and_new() {
        check("who  owns it", &[" a\n\tb ", "Who owns IT", "A B", "c"], &["a b", "c"]);
        check("q", &["", "  ", "?!", "Q"], &[]);
        check("q", &["1", "2", "3", "4"], &["1", "2", "3"]);
        let long = "wort ".repeat(200);
        check("q", &[&long], &[&long[..399]]);
    }

    #[test]
    fn a_failure_keeps_its_reason() {
        let found = expansion("q", Err(HookError::Timeout), &Settings::default());
        assert_eq!(found, Expansion::Failed(HookError::Timeout));
    }

    proptest! {
        #[test]
        fn whatever_a_model_says_is_bounded(
            query in any::<String>(), reply in prop::collection::vec(any::<String>(), 0..8),
        ) {
            let found = expansion(&query, Ok(reply.clone()), &Settings::default());
            let variants = found.variants();
            prop_assert!(variants.len() <= 3);
            for (at, variant) in variants.iter().enumerate() {
                prop_assert!((1..=MAX_VARIANT_CHARS).contains(&variant.chars().count()));
                prop_assert!(!variant.chars().any(char::is_control));
                prop_assert!(!variants[..at].contains(variant));
            }
            // The expansion of an output is the same output.
            let again = expansion(&query, Ok(variants.to_vec()), &Settings::default());
            prop_assert_eq!(again.variants(), variants);
        }
    }
}
