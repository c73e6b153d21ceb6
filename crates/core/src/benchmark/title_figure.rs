//! Figures in titles: numbers that state a result.
//!
//! A number is a figure if it is a percentage or a mark (`98 %`, `97/100`, `97 of 100`), if it stands
//! behind the name of a measure or a claim (`recall 98`, `gets 98`), or if it is a decimal fraction that
//! is no version or setting.

/// Words behind which a number is a result, in lower case.
const CLAIMS: [&str; 26] = [
    "recall",
    "precision",
    "ndcg",
    "dcg",
    "mrr",
    "rr",
    "map",
    "ap",
    "success",
    "hit",
    "hits",
    "rate",
    "mark",
    "marks",
    "grade",
    "grades",
    "points",
    "rating",
    "quality",
    "performance",
    "gets",
    "got",
    "reach",
    "reaches",
    "achieves",
    "achieved",
];

/// Words behind which a decimal number is a version, in lower case.
const VERSIONED: [&str; 18] = [
    "gbrain",
    "v",
    "version",
    "ver",
    "release",
    "rust",
    "python",
    "postgres",
    "postgresql",
    "sqlite",
    "tantivy",
    "ubuntu",
    "gpt",
    "claude",
    "llama",
    "gemini",
    "mistral",
    "qwen",
];

/// Words that may stand between a claim and its number.
const FILLERS: [&str; 6] = ["is", "of", "was", "to", "about", "over"];

/// Depths of retrieval: after `at` these are not results.
const DEPTHS: [&str; 12] = ["1", "2", "3", "5", "10", "15", "20", "25", "50", "100", "500", "1000"];

/// The maximum of a mark.
const FULL_MARKS: [&str; 4] = ["10", "100", "500", "1000"];

/// Versions have smaller first parts, and shorter second ones.
const MOST_MAJOR: u32 = 50;
const LONGEST_MINOR: usize = 2;

/// A part of a title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TitleToken<'t> {
    Word(&'t str),
    /// Digits, also with points or commas among them.
    Number(&'t str),
    Sign(char),
}

/// The first figure of a title, unchanged.
pub(super) fn find(title: &str) -> Option<String> {
    let lower = title.to_lowercase();
    let tokens = tokens(&lower);
    let numbers = tokens.iter().enumerate().filter_map(|(at, token)| match token {
        TitleToken::Number(number) => Some((at, *number)),
        TitleToken::Word(_) | TitleToken::Sign(_) => None,
    });
    for (at, number) in numbers {
        let (before, behind) = (&tokens[..at], &tokens[at + 1..]);
        let is_figure = is_share(number, behind)
            || is_claimed(number, before, behind)
            || (is_decimal(number) && !is_version(number, before));
        if is_figure {
            let sign = if behind.first() == Some(&TitleToken::Sign('%')) { " %" } else { "" };
            return Some(format!("{number}{sign}"));
        }
    }
    None
}

/// A percentage, or a mark out of something.
fn is_share(number: &str, behind: &[TitleToken<'_>]) -> bool {
    let is_at_most = |most: &str| match (number.parse::<f64>(), most.parse::<f64>()) {
        (Ok(number), Ok(most)) => number <= most,
        (_, _) => true,
    };
    match behind {
        [TitleToken::Sign('%'), ..] | [TitleToken::Word("percent" | "pct"), ..] => true,
        [TitleToken::Word("per"), TitleToken::Word("cent"), ..] => true,
        [TitleToken::Word("out"), TitleToken::Word("of"), TitleToken::Number(_), ..] => true,
        [TitleToken::Sign('/'), TitleToken::Number(most), ..] => {
            FULL_MARKS.contains(most) && is_at_most(most)
        }
        [TitleToken::Word("of"), TitleToken::Number(most), ..] => {
            *most == "100" && is_at_most(most)
        }
        _ => false,
    }
}

/// Whether a number stands behind the name of a measure: not as its depth, and not as a count of
/// something (`nDCG@10 of 48 sessions`).
fn is_claimed(number: &str, before: &[TitleToken<'_>], behind: &[TitleToken<'_>]) -> bool {
    let counts = matches!(behind.first(), Some(TitleToken::Word(word)) if *word != "of");
    let mut before = before;
    let mut has_filler = false;
    while let [rest @ .., last] = before {
        match last {
            TitleToken::Sign('@') => return false,
            TitleToken::Word("at") if DEPTHS.contains(&number) => return false,
            TitleToken::Word("at" | "v")
            | TitleToken::Sign(':' | '=' | '-' | '–' | '—' | '→' | '_') => {}
            TitleToken::Word(word) if FILLERS.contains(word) => has_filler = true,
            TitleToken::Word(word) => return CLAIMS.contains(word) && !(has_filler && counts),
            TitleToken::Number(_) => {
                // The depth of a measure: `recall_all@5 97`.
                let [of_measure @ .., TitleToken::Sign('@')] = rest else { return false };
                before = of_measure;
                continue;
            }
            TitleToken::Sign(_) => return false,
        }
        before = rest;
    }
    false
}

fn is_decimal(number: &str) -> bool {
    let parts: Vec<&str> = number.split(['.', ',']).collect();
    let is_thousands = number.contains(',') && parts.iter().skip(1).all(|part| part.len() == 3);
    parts.len() == 2 && !is_thousands
}

/// Whether a decimal number is a version (`gbrain 0.41`, `v2.1`) or a setting (`words_weight=0.5`).
fn is_version(number: &str, before: &[TitleToken<'_>]) -> bool {
    let is_small = number.split_once('.').is_some_and(|(major, minor)| {
        major.parse::<u32>().is_ok_and(|major| major < MOST_MAJOR) && minor.len() <= LONGEST_MINOR
    });
    match before {
        [.., TitleToken::Word(word)] => is_small && VERSIONED.contains(word),
        [.., TitleToken::Word(_), TitleToken::Sign('=')] => true,
        _ => false,
    }
}

fn tokens(title: &str) -> Vec<TitleToken<'_>> {
    let mut tokens = Vec::new();
    let mut rest = title;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_ascii_digit() || is_point_of_number(rest) {
            number_length(rest)
        } else if first.is_alphabetic() {
            rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (part, behind) = rest.split_at(length);
        tokens.extend(match first {
            c if c.is_whitespace() => None,
            c if c.is_alphabetic() => Some(TitleToken::Word(part)),
            _ if part.ends_with(|c: char| c.is_ascii_digit()) => Some(TitleToken::Number(part)),
            c => Some(TitleToken::Sign(c)),
        });
        rest = behind;
    }
    // `recall_all@5` is one name: the words of it are the measure's.
    let mut merged: Vec<TitleToken<'_>> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let follows_name = matches!(merged[..], [.., TitleToken::Word(_), TitleToken::Sign('_')]);
        if matches!(token, TitleToken::Word("any" | "all")) && follows_name {
            merged.pop();
        } else {
            merged.push(token);
        }
    }
    merged
}

/// Whether `.93` begins here.
fn is_point_of_number(rest: &str) -> bool {
    let mut chars = rest.chars();
    chars.next() == Some('.') && chars.next().is_some_and(|c| c.is_ascii_digit())
}

/// The length of digits with single points or commas among them.
fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_joint = |at: usize| matches!(bytes.get(at), Some(b'.' | b',')) && is_digit(at + 1);
    let mut at = 0;
    while is_digit(at) || is_joint(at) {
        at += 1;
    }
    at
}
