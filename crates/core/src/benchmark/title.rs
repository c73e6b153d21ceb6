//! Titles of reports, which may not call retrieval a score of answers.
//!
//! Promises: a score word is refused in any case, spacing, inflection or spelling with look-alike
//! letters; a title never stands alone, because every output prints what was measured beside it.
//!
//! A title states no figure either: a percentage, a mark out of 100, a decimal fraction or a number
//! behind the name of a measure. Versions (`gbrain 0.41`, `v2.1`), depths (`recall@5`) and settings
//! (`k=10`) are none.
//!
//! Deliberately absent: other languages than English, but for a few German words. A title in another
//! script is allowed; one word in two scripts is not.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use super::title_figure;

/// The longest title, in characters.
const LONGEST: usize = 120;

/// Words that are rejected as whole words only: too short to search for inside of other words.
const WHOLE: [&str; 20] = [
    "qa",
    "qna",
    "acc",
    "em",
    "f1",
    "fone",
    "sota",
    "bleu",
    "rouge",
    "solved",
    "solves",
    "winrate",
    "passrate",
    "stateoftheart",
    "gradea",
    "gradeb",
    "agrade",
    "bgrade",
    "topgrade",
    "topmarks",
];

/// Stems that are refused inside of any word.
const STEMS: [&str; 20] = [
    "accura",
    "akkura",
    "score",
    "scoring",
    "correct",
    "answer",
    "exactmatch",
    "factual",
    "truthful",
    "f1score",
    "leaderboard",
    "hallucinat",
    "successrate",
    "hitrate",
    "llmjudge",
    "llmasajudge",
    "genauigkeit",
    "richtigkeit",
    "trefferquote",
    "erfolgsquote",
];

/// Punctuation beyond ASCII that a title may have.
const PUNCTUATION: &str = "–—‘’“”·…×→";

/// Letters that look like a Latin one, by that one. Full-width, mathematical and accented letters are
/// not here: normalisation maps them.
const LOOK_ALIKES: [(&str, char); 26] = [
    ("аαɑᴀᎪ@4", 'a'),
    ("вβʙᏴ8", 'b'),
    ("сϲᴄᏟ(", 'c'),
    ("ԁᴅđᎠ", 'd'),
    ("еεєҽᴇᎬ3", 'e'),
    ("ғꜰƒ", 'f'),
    ("ɡɢᏀ9", 'g'),
    ("һнʜᎻ", 'h'),
    ("іιıɪᎥ!", 'i'),
    ("јᴊᎫ", 'j'),
    ("кκᴋᏦ", 'k'),
    ("ӏʟłᏞ|1", 'l'),
    ("мᴍᎷ", 'm'),
    ("пηɴո", 'n'),
    ("оοσօᴏø0", 'o'),
    ("рρᴘᏢ", 'p'),
    ("ԛǫգ", 'q'),
    ("гʀᏒᎡ", 'r'),
    ("ѕꜱᏚ$5", 's'),
    ("тτᴛᎢ7", 't'),
    ("υցսᴜ", 'u'),
    ("νѵᴠᏙ", 'v'),
    ("ԝωᴡᏔᎳ", 'w'),
    ("хχ", 'x'),
    ("уγʏᎩ", 'y'),
    ("ᴢᏃ2", 'z'),
];

/// Why a title can't stand over figures.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TitleError {
    /// The title names a score.
    #[error(
        "`{word}` in the title would call retrieval a score of answers, and no answer was judged"
    )]
    ScoreWord {
        /// The word, as it reads.
        word: String,
    },
    /// The title contains a figure.
    #[error(
        "`{figure}` in the title reads as a figure, and figures stand under their measure's name \
         only; write a version as v0.41"
    )]
    Figure {
        /// The number with the text that makes it a figure.
        figure: String,
    },
    /// A word of two scripts.
    #[error("`{word}` in the title mixes letters of two scripts")]
    MixedScripts { word: String },
    /// A character that is neither letter, digit, space nor usual punctuation.
    #[error("the title holds the character {}", found.escape_unicode())]
    Character { found: char },
    /// Nothing, or too much.
    #[error("a title has 1 to {LONGEST} characters, and this one has {found}")]
    Length {
        /// Number of characters in the title.
        found: usize,
    },
}

/// Whether a title may stand over figures of retrieval.
pub fn check_title(title: &str) -> Result<(), TitleError> {
    let length = title.chars().count();
    if title.trim().is_empty() || length > LONGEST {
        return Err(TitleError::Length { found: length });
    }
    let composed: String = title.nfkc().collect();
    if let Some(found) = composed.chars().find(|c| !is_usual(*c)) {
        return Err(TitleError::Character { found });
    }
    for spelling in [Digits::AsLetters('i'), Digits::AsLetters('l'), Digits::Kept] {
        let words = words(&composed, spelling);
        // Q4 is a quarter and 3M a number: short words are read as they are written.
        let shortest = if matches!(spelling, Digits::Kept) { 1 } else { 3 };
        if let Some(word) = score_word(&words, shortest) {
            return Err(TitleError::ScoreWord { word });
        }
    }
    if let Some(figure) = title_figure::find(&composed) {
        return Err(TitleError::Figure { figure });
    }
    let words = composed.split(|c: char| !c.is_alphanumeric());
    match words.into_iter().find(|word| is_mixed(word)) {
        Some(word) => Err(TitleError::MixedScripts { word: word.to_owned() }),
        None => Ok(()),
    }
}

fn is_usual(c: char) -> bool {
    let is_plain = c.is_ascii() && !c.is_ascii_control();
    is_plain || c.is_alphanumeric() || PUNCTUATION.contains(c)
}

/// The reading of digits and signs.
#[derive(Clone, Copy)]
enum Digits {
    Kept,
    /// As the letters they stand for in disguised spellings; 1 as this one.
    AsLetters(char),
}

/// The words of a title in small Latin letters, as they read.
fn words(title: &str, digits: Digits) -> Vec<String> {
    let bare = title.nfkd().filter(|c| !is_combining_mark(*c));
    let small: String = bare.flat_map(|c| latin(c, digits).to_lowercase()).collect();
    let small: String = small.chars().map(|c| latin(c, digits)).collect();
    let words = small.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn latin(c: char, digits: Digits) -> char {
    match (digits, c) {
        (Digits::Kept, c) if c.is_ascii() => return c,
        (Digits::AsLetters(one), '1') => return one,
        (Digits::Kept | Digits::AsLetters(_), _) => (),
    }
    let found = LOOK_ALIKES.iter().find(|(alike, _)| alike.contains(c));
    found.map_or(c, |(_, latin)| *latin)
}

/// A score word among words, or one that several of them spell together.
fn score_word(words: &[String], shortest: usize) -> Option<String> {
    for start in 0..words.len() {
        let mut joined = String::new();
        for word in &words[start..] {
            joined.push_str(word);
            if joined.chars().count() > 20 && joined.len() > word.len() {
                break;
            }
            // A word may hold a stem anywhere; words together must spell it from their start.
            let holds = |stem: &str| match joined == *word {
                true => joined.contains(stem),
                false => joined.starts_with(stem),
            };
            let is_whole = joined.len() >= shortest && WHOLE.contains(&joined.as_str());
            if is_whole || STEMS.iter().any(|stem| holds(stem)) {
                return Some(joined);
            }
        }
    }
    None
}

/// Whether a word has letters of the Latin script and of another.
fn is_mixed(word: &str) -> bool {
    let letters = || word.chars().filter(|c| c.is_alphabetic());
    let is_latin = |c: char| matches!(c, 'A'..='Z' | 'a'..='z' | '\u{aa}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}');
    letters().any(is_latin) && letters().any(|c| !is_latin(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words that a title of retrieval figures must not have.
    const REFUSED: [&str; 52] = [
        "accuracy",
        "accurate",
        "accurately",
        "inaccuracies",
        "acc",
        "score",
        "scores",
        "scored",
        "scoring",
        "scoreboard",
        "QA",
        "Q&A",
        "QnA",
        "answer",
        "answers",
        "answered",
        "answering",
        "unanswered",
        "correct",
        "correctly",
        "correctness",
        "incorrect",
        "F1",
        "F-1",
        "F1-score",
        "exact match",
        "exact-match",
        "ExactMatch",
        "EM",
        "SOTA",
        "S.O.T.A.",
        "state of the art",
        "state-of-the-art",
        "factual",
        "factuality",
        "truthfulness",
        "leaderboard",
        "hallucination",
        "solved",
        "win rate",
        "pass-rate",
        "BLEU",
        "success rate",
        "success-rates",
        "hit rate",
        "hitrate",
        "LLM judge",
        "LLM-as-a-judge",
        "grade A",
        "A-grade",
        "Genauigkeit",
        "Trefferquote",
    ];

    #[track_caller]
    fn refused(title: &str) {
        assert!(check_title(title).is_err(), "{title:?} is accepted");
    }

    #[test]
    fn score_words_are_refused_however_they_are_written() {
        for word in REFUSED {
            refused(word);
            refused(&word.to_uppercase());
            refused(&format!("LongMemEval {word} 97.6 %"));
            refused(&format!("our_{word}_v2"));
            let spaced = |between: &str| {
                let letters: Vec<String> = word.chars().map(String::from).collect();
                letters.join(between)
            };
            for between in [" ", "-", "_", ".", " - ", "\u{200b}", "\u{ad}", "\u{2060}", "\u{301}"]
            {
                refused(&spaced(between));
            }
            let wide = |c: char| match c {
                '!'..='~' => char::from_u32(u32::from(c) + 0xfee0).unwrap(),
                c => c,
            };
            refused(&word.chars().map(wide).collect::<String>());
        }
    }

    #[test]
    fn look_alike_letters_are_seen_through() {
        for title in [
            "аccuracy",
            "асcurасу",
            "ѕсоrе",
            "ѕсоге",
            "scοre",
            "5c0re",
            "$core",
            "sc0r3s",
            "4ccur4cy",
            "@ccuracy",
            "acсuraсy",
            "ꜱᴄᴏʀᴇ",
            "ᴀᴄᴄᴜʀᴀᴄʏ",
            "𝐚𝐜𝐜𝐮𝐫𝐚𝐜𝐲",
            "ⓢⓒⓞⓡⓔ",
            "áccurácy",
            "ԚА",
            "ϙа qa",
            "c0rr3ct",
            "an5wer5",
            "answ3r",
            "ехасt mаtсh",
            "ЅОТА",
            "S0TA",
            "5074",
            "so-ta",
            "ac cu ra cy",
            "LongMemEvalScore",
            "QAaccuracy",
            "accuracy97",
        ] {
            refused(title);
        }
    }

    #[test]
    fn other_titles_are_allowed() {
        for title in [
            "retrieval on LongMemEval_S",
            "recall_all@5 by type",
            "Aqua",
            "San Francisco recall",
            "nDCG@10 of 48 sessions, words only",
            "branch fast-vectors, 12 May",
            "Wiederfinden von Sitzungen – größere Häufchen",
            "поиск по сессиям",
            "検索の再現率",
            "memory: hybrid → words",
            "the system finds every session",
            "Q4, 3M sessions",
        ] {
            assert_eq!(check_title(title), Ok(()), "{title}");
        }
    }

    #[test]
    fn figures_are_refused() {
        for title in [
            "98.4%",
            "98,4 %",
            "98 %",
            "９８％",
            "98 percent",
            "98 per cent of LongMemEval",
            "gets 98% of LongMemEval",
            "gets 98 of LongMemEval",
            "Recall@5 97.9",
            "recall_all@5: 0.979",
            "Recall@5 = 98",
            "recall 98",
            "recall of 98",
            "nDCG@10 .93",
            "MRR 93",
            "mark: 97/100",
            "97/100",
            "97 / 100",
            "9/10",
            "97 of 100",
            "97 out of 500",
            "LongMemEval_S 97.9",
            "0.979",
            "LongMemEval 97,9",
            "recall v97.9",
            "gbrain 97.9",
            "gbrain 0.9790",
            "recall=98",
            "reaches 97",
        ] {
            assert!(matches!(check_title(title), Err(TitleError::Figure { .. })), "{title:?}");
        }
    }

    #[test]
    fn versions_depths_and_settings_are_no_figures() {
        for title in [
            "gbrain 0.41 hybrid",
            "LongMemEval_S cleaned",
            "v2.1 weights",
            "k=10",
            "gbrain v0.41, recall_all@5",
            "recall@5 of gbrain 0.41",
            "version 1.2, rust 1.95.0",
            "words_weight=0.5",
            "recall at 10",
            "first 50 of 500 questions",
            "2026-11-18, 48 sessions",
            "top 10",
        ] {
            assert_eq!(check_title(title), Ok(()), "{title}");
        }
    }

    #[test]
    fn odd_characters_and_lengths_are_refused() {
        for title in ["", "  ", "a\nb", "sc\u{1f170}re", "re\u{202e}call", "recаll"] {
            refused(title);
        }
        refused(&"x".repeat(121));
    }
}
