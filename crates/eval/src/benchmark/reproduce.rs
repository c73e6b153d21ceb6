//! Two runs of one dataset, row by row.

use std::collections::HashMap;

use gbrain_core::benchmark::Outcome;
use gbrain_core::format::benchmark::WireLabel;

/// A question whose rows differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The question.
    pub question_id: String,
    /// What differs.
    pub what: String,
}

/// Something that the numbers depend on and that is another one now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// What.
    pub what: &'static str,
    /// What it was.
    pub before: String,
    /// What it is.
    pub after: String,
}

/// What is another one: program, source, settings, model.
pub fn changed(before: &WireLabel, after: &WireLabel) -> Vec<Changed> {
    let named = |label: &WireLabel| {
        let embedder = label.embedder.clone().unwrap_or_else(|| "none".to_owned());
        [label.software.clone(), label.code.clone(), label.settings.clone(), embedder]
    };
    let names = ["software", "code", "settings", "embedder"].into_iter();
    let pairs = names.zip(named(before).into_iter().zip(named(after)));
    pairs
        .filter(|(_, (before, after))| before != after)
        .map(|(what, (before, after))| Changed { what, before, after })
        .collect()
}

/// The rows that differ in anything but time, and those that only one run has.
pub fn differences(before: &[Outcome], after: &[Outcome]) -> Vec<Difference> {
    let mut again: HashMap<&str, &Outcome> =
        after.iter().map(|outcome| (outcome.question_id.as_str(), outcome)).collect();
    let mut found = Vec::new();
    for old in before {
        let what = match again.remove(old.question_id.as_str()) {
            None => Some("not asked again".to_owned()),
            Some(new) => difference(old, new),
        };
        found.extend(what.map(|what| Difference { question_id: old.question_id.clone(), what }));
    }
    let new = after.iter().filter(|outcome| again.contains_key(outcome.question_id.as_str()));
    found.extend(new.map(|outcome| Difference {
        question_id: outcome.question_id.clone(),
        what: "not in the result".to_owned(),
    }));
    found
}

fn difference(old: &Outcome, new: &Outcome) -> Option<String> {
    if old.retrieved != new.retrieved {
        let same = old.retrieved.iter().zip(&new.retrieved).take_while(|(a, b)| a == b).count();
        return Some(format!("another document at rank {}", same + 1));
    }
    if old.retrieved_turns != new.retrieved_turns {
        return Some("other turns".to_owned());
    }
    if old.hit != new.hit {
        return Some("recall_hit".to_owned());
    }
    let figure = old.scores.iter().find(|(name, value)| new.scores.get(*name) != Some(value));
    if let Some((name, _)) = figure {
        return Some(name.clone());
    }
    if old.scores.len() != new.scores.len() {
        return Some("other measures".to_owned());
    }
    let parts = [
        (old.gold_ranks != new.gold_ranks, "ranks"),
        (old.official != new.official, "LongMemEval's figures"),
        (old.baselines != new.baselines, "baselines"),
        (old.turn_recall != new.turn_recall, "turn_recall"),
        (old.degraded != new.degraded, "degraded stages"),
        (old.error.is_some() != new.error.is_some(), "error"),
    ];
    parts.into_iter().find(|(differs, _)| *differs).map(|(_, what)| what.to_owned())
}
