//! Questions to measure with: made from sentences of held-out pages, seeded.

use gbrain_core::text::is_stop_word;
use rustc_hash::FxHashMap;

use super::corpus::{RealPage, sentences};

const OPENERS: [&str; 6] =
    ["how do I", "what is", "where can I find the", "why does", "when should we", "is there a"];
const JOINERS: [&str; 5] = [" ", " of the ", " in ", " and ", " for "];

/// `count` questions: of ten, one is a single word, one has a rare word, four are keywords and
/// four are sentences with stop words.
pub(crate) fn questions(held_out: &[RealPage], count: usize, seed: u64) -> Vec<String> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let contents: Vec<Vec<String>> = held_out
        .iter()
        .flat_map(|page| sentences(&page.text))
        .map(|sentence| content_words(&sentence))
        .filter(|words| words.len() >= 8)
        .collect();
    let mut frequencies: FxHashMap<&str, usize> = FxHashMap::default();
    for word in contents.iter().flatten() {
        *frequencies.entry(word).or_default() += 1;
    }
    let make = |at: usize| {
        let words = &contents[rng.usize(..contents.len())];
        match at % 10 {
            0 => words[rng.usize(..words.len())].clone(),
            1 => with_rare_word(words, &frequencies, &mut rng),
            2..=5 => pick(words, &mut rng).join(" "),
            _ => as_question(&pick(words, &mut rng), &mut rng),
        }
    };
    (0..count).map(make).collect()
}

fn content_words(sentence: &str) -> Vec<String> {
    let bare =
        sentence.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let is_content = |word: &&str| {
        word.len() >= 3
            && word.chars().all(char::is_alphanumeric)
            && !is_stop_word(&word.to_lowercase())
    };
    bare.filter(is_content).map(str::to_owned).collect()
}

/// Two to eight of the words, in their order.
fn pick(words: &[String], rng: &mut fastrand::Rng) -> Vec<String> {
    let count = rng.usize(2..9).min(words.len());
    let mut places = rng.choose_multiple(0..words.len(), count);
    places.sort_unstable();
    places.into_iter().map(|place| words[place].clone()).collect()
}

fn with_rare_word(
    words: &[String],
    frequencies: &FxHashMap<&str, usize>,
    rng: &mut fastrand::Rng,
) -> String {
    let rare =
        words.iter().min_by_key(|word| frequencies[word.as_str()]).cloned().unwrap_or_default();
    let other = &words[rng.usize(..words.len())];
    if rng.bool() { rare } else { format!("{rare} {other}") }
}

fn as_question(words: &[String], rng: &mut fastrand::Rng) -> String {
    let mut question = OPENERS[rng.usize(..OPENERS.len())].to_owned();
    for (at, word) in words.iter().enumerate() {
        question.push_str(if at == 0 { " " } else { JOINERS[rng.usize(..JOINERS.len())] });
        question.push_str(word);
    }
    question.push('?');
    question
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_seeded_and_of_every_shape() {
        let text = "Harbour masters assign berths through careful planning software every single morning shift.";
        let page = RealPage { path: "a.md".into(), text: text.to_owned() };
        let made = questions(&[page], 40, 3);
        assert_eq!(made.len(), 40);
        assert!(made.iter().any(|question| question.ends_with('?')));
        assert!(made.iter().any(|question| !question.contains(' ')));
        let page = RealPage { path: "a.md".into(), text: text.to_owned() };
        assert_eq!(made, questions(&[page], 40, 3));
    }
}
