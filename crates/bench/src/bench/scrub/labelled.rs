//! How much of what people labelled is found, and how much of what is found is labelled.
//!
//! Reads `$GBRAIN_TEST_DATA/pii`. A labelled span counts as found if at least half of its bytes are
//! claimed by a family of its kind; a claim counts as right if it overlaps a span of its kind.
//! Whatever a family claims in a sentence without a label of its kind is wrong, also where no kind
//! of label exists for it.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result};
use gbrain_core::scrub::{ScrubFamily, Scrubber, SensitiveMatch};
use serde_json::Value;

const EMAILS: &[ScrubFamily] = &[ScrubFamily::Email, ScrubFamily::EmailUnicode];
const PHONES: &[ScrubFamily] =
    &[ScrubFamily::Phone, ScrubFamily::PhoneInternational, ScrubFamily::PhoneNational];
const CARDS: &[ScrubFamily] = &[ScrubFamily::Card, ScrubFamily::CardMaestro];
const SECRETS: &[ScrubFamily] = &[
    ScrubFamily::ApiKey,
    ScrubFamily::Secret,
    ScrubFamily::Jwt,
    ScrubFamily::Bearer,
    ScrubFamily::ConnectionString,
    ScrubFamily::PrivateKey,
];

/// The labels of the sentences and the families that find them.
const KINDS: &[(&str, &[ScrubFamily])] = &[
    ("EMAIL_ADDRESS", EMAILS),
    ("PHONE_NUMBER", PHONES),
    ("US_SSN", &[ScrubFamily::Ssn]),
    ("CREDIT_CARD", CARDS),
    ("IBAN_CODE", &[ScrubFamily::Iban]),
    ("IP_ADDRESS", &[ScrubFamily::IpAddress]),
    ("(secrets)", SECRETS),
];

/// Counts for one kind in one set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Score {
    pub(crate) set: &'static str,
    pub(crate) kind: String,
    /// Labelled spans, and those among them that were found.
    pub(crate) gold: usize,
    pub(crate) found: usize,
    /// Claims, and those among them that are right.
    pub(crate) claims: usize,
    pub(crate) right: usize,
    pub(crate) missed: Vec<String>,
    pub(crate) wrong: Vec<String>,
}

impl Score {
    pub(crate) fn new(set: &'static str, kind: impl Into<String>) -> Self {
        Self { set, kind: kind.into(), ..Self::default() }
    }

    pub(crate) fn precision(&self) -> Option<f64> {
        (self.claims > 0).then(|| self.right as f64 / self.claims as f64)
    }

    pub(crate) fn recall(&self) -> Option<f64> {
        (self.gold > 0).then(|| self.found as f64 / self.gold as f64)
    }

    fn span(&mut self, text: &str, span: Range<usize>, claims: &[SensitiveMatch]) {
        self.gold += 1;
        let covered: usize = claims.iter().map(|claim| overlap(claim, &span)).sum();
        if covered * 2 >= span.len() {
            self.found += 1;
        } else {
            self.missed.push(text[span].to_owned());
        }
    }

    fn claim(&mut self, text: &str, claim: &SensitiveMatch, is_right: bool) {
        self.claims += 1;
        if is_right {
            self.right += 1;
        } else {
            self.wrong.push(text[claim.start..claim.end].to_owned());
        }
    }
}

pub(crate) fn scores(data: &Path) -> Result<Vec<Score>> {
    let scrubber = Scrubber::default();
    let pii = data.join("pii");
    let mut scores = sentences("synth_dataset_v2", &pii, &scrubber)?;
    scores.extend(sentences("generated_small", &pii, &scrubber)?);
    scores.extend(secrets(&pii, &scrubber)?);
    scores.extend(phones(&pii, &scrubber)?);
    scores.push(matcher(&pii, &scrubber)?);
    Ok(scores)
}

/// The texts of the labelled sentences, and whether they have something to find.
pub(crate) fn texts(data: &Path) -> Result<Vec<(String, bool)>> {
    let labelled = |row: &Value| {
        let known = |span: &Value| KINDS.iter().any(|(kind, _)| span["entity_type"] == *kind);
        let has_span = row["spans"].as_array().into_iter().flatten().any(known);
        (row["full_text"].as_str().unwrap_or_default().replace('\n', " "), has_span)
    };
    let mut texts = Vec::new();
    for name in ["synth_dataset_v2", "generated_small"] {
        texts.extend(array(&data.join("pii"), name)?.iter().map(labelled));
    }
    Ok(texts)
}

fn sentences(set: &'static str, pii: &Path, scrubber: &Scrubber) -> Result<Vec<Score>> {
    let mut scores: Vec<Score> = KINDS.iter().map(|(kind, _)| Score::new(set, *kind)).collect();
    for row in array(pii, set)? {
        let text = row["full_text"].as_str().context("a row without a text")?;
        let spans = spans(&row, text)?;
        let found = scrubber.find(text);
        for (score, (kind, families)) in scores.iter_mut().zip(KINDS) {
            let claims = of_families(&found, families);
            let gold: Vec<_> = spans.iter().filter(|(label, _)| label == kind).collect();
            for (_, span) in &gold {
                score.span(text, span.clone(), &claims);
            }
            for claim in &claims {
                let is_right = gold.iter().any(|(_, span)| overlap(claim, span) > 0);
                score.claim(text, claim, is_right);
            }
        }
    }
    Ok(scores)
}

/// Lines that hold one secret or none, by the kind of secret.
fn secrets(pii: &Path, scrubber: &Scrubber) -> Result<Vec<Score>> {
    let mut scores: Vec<Score> = Vec::new();
    for row in lines(pii, "detect_secrets_cases")? {
        let text = row["text"].as_str().context("a row without a text")?;
        let kind = row["plugin"].as_str().context("a row without a plugin")?;
        let families = if kind == "ip_public" { &[ScrubFamily::IpAddress] } else { SECRETS };
        let found = of_families(&scrubber.find(text), families);
        if !scores.iter().any(|score| score.kind == kind) {
            scores.push(Score::new("detect_secrets", kind));
        }
        let is_secret = row["label"] == "secret";
        for score in scores.iter_mut().filter(|score| score.kind == kind) {
            if is_secret {
                score.span(text, 0..usize::from(!text.is_empty()), &whole(&found));
            }
            for claim in found.iter().take(1) {
                score.claim(text, claim, is_secret);
            }
            if let Some(missed) = score.missed.last_mut().filter(|missed| missed.len() == 1) {
                text.clone_into(missed);
            }
        }
    }
    Ok(scores)
}

/// A line with a secret is found if anything in it is.
fn whole(found: &[SensitiveMatch]) -> Vec<SensitiveMatch> {
    found.iter().take(1).map(|found| SensitiveMatch { start: 0, ..*found }).collect()
}

/// Example numbers of every region, as E.164 and in groups of three.
fn phones(pii: &Path, scrubber: &Scrubber) -> Result<Vec<Score>> {
    let mut bare = Score::new("libphonenumber", "E.164");
    let mut grouped = Score::new("libphonenumber", "international, in groups");
    for row in lines(pii, "libphonenumber_examples")? {
        let field = |name: &str| row[name].as_str().context("a row without a number");
        let (code, national) = (field("country_code")?, field("national")?);
        let mut text = format!("+{code}");
        for (at, digit) in national.chars().enumerate() {
            text.extend((at % 3 == 0).then_some(' '));
            text.push(digit);
        }
        for (score, text) in [(&mut bare, field("e164")?), (&mut grouped, &text)] {
            let found = of_families(&scrubber.find(text), PHONES);
            score.span(text, 0..text.len(), &found);
        }
    }
    Ok(vec![bare, grouped])
}

/// Numbers as people write them, by how strict one has to be not to take them for one.
fn matcher(pii: &Path, scrubber: &Scrubber) -> Result<Score> {
    let mut score = Score::new("libphonenumber", "in-text cases");
    for row in lines(pii, "libphonenumber_matcher_cases")? {
        let text = row["text"].as_str().context("a row without a text")?;
        let found = of_families(&scrubber.find(text), PHONES);
        let is_number = row["set"] != "IMPOSSIBLE_CASES";
        if row["set"] == "EXACT_GROUPING_CASES" {
            score.span(text, 0..text.len(), &found);
        }
        for claim in &found {
            score.claim(text, claim, is_number);
        }
    }
    Ok(score)
}

fn of_families(found: &[SensitiveMatch], families: &[ScrubFamily]) -> Vec<SensitiveMatch> {
    found.iter().filter(|found| families.contains(&found.family)).copied().collect()
}

fn overlap(claim: &SensitiveMatch, span: &Range<usize>) -> usize {
    claim.end.min(span.end).saturating_sub(claim.start.max(span.start))
}

/// Labels with byte ranges; the data counts characters.
fn spans(row: &Value, text: &str) -> Result<Vec<(String, Range<usize>)>> {
    let byte = |at: &Value| -> Result<usize> {
        let at = at.as_u64().context("a span without a place")? as usize;
        Ok(text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte))
    };
    let spans = row["spans"].as_array().context("a row without spans")?;
    let span = |span: &Value| {
        let label = span["entity_type"].as_str().context("a span without a type")?;
        Ok((label.to_owned(), byte(&span["start_position"])?..byte(&span["end_position"])?))
    };
    spans.iter().map(span).collect()
}

fn array(pii: &Path, name: &str) -> Result<Vec<Value>> {
    let path = pii.join(name).with_extension("json");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    Ok(serde_json::from_str(&text)?)
}

fn lines(pii: &Path, name: &str) -> Result<Vec<Value>> {
    let path = pii.join(name).with_extension("jsonl");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (set, kind, precision, recall): just below what was reached when they were written. Where
    /// precision is low, `docs/scrubbing.md` says which labels are not ours.
    const FLOORS: &[(&str, &str, f64, f64)] = &[
        ("synth_dataset_v2", "EMAIL_ADDRESS", 0.99, 0.99),
        ("synth_dataset_v2", "PHONE_NUMBER", 0.98, 0.94),
        ("synth_dataset_v2", "US_SSN", 0.99, 0.99),
        ("synth_dataset_v2", "CREDIT_CARD", 0.99, 0.99),
        ("synth_dataset_v2", "IBAN_CODE", 0.99, 0.99),
        ("synth_dataset_v2", "IP_ADDRESS", 0.99, 0.99),
        ("generated_small", "EMAIL_ADDRESS", 0.99, 0.99),
        ("generated_small", "PHONE_NUMBER", 0.99, 0.99),
        ("generated_small", "US_SSN", 0.99, 0.99),
        ("generated_small", "CREDIT_CARD", 0.99, 0.99),
        ("generated_small", "IP_ADDRESS", 0.99, 0.99),
        ("detect_secrets", "ip_public", 0.55, 0.99),
        ("detect_secrets", "jwt", 0.74, 0.99),
        ("detect_secrets", "npm", 0.49, 0.99),
        ("detect_secrets", "openai", 0.66, 0.99),
        ("detect_secrets", "gitlab_token", 0.91, 0.99),
        ("detect_secrets", "artifactory", 0.94, 0.99),
        ("libphonenumber", "E.164", 0.99, 0.99),
        ("libphonenumber", "international, in groups", 0.99, 0.99),
        ("libphonenumber", "in-text cases", 0.99, 0.47),
    ];
    /// Kinds of keys without a floor of their own.
    const OTHER: (f64, f64) = (0.99, 0.99);

    #[test]
    fn scrubber_finds_labelled_secrets_with_few_false_positives() {
        let Some(data) = std::env::var_os("GBRAIN_TEST_DATA") else {
            eprintln!(
                "SKIPPED: GBRAIN_TEST_DATA is not set: scrubbing is not compared with labels"
            );
            return;
        };
        for score in scores(Path::new(&data)).unwrap() {
            let floor =
                FLOORS.iter().find(|(set, kind, ..)| (*set, *kind) == (score.set, &score.kind));
            let (precision, recall) = floor.map_or(OTHER, |(.., p, r)| (*p, *r));
            assert!(score.precision().is_none_or(|reached| reached >= precision), "{score:#?}");
            assert!(score.recall().is_none_or(|reached| reached >= recall), "{score:#?}");
        }
    }
}
