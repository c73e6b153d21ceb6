//! Bounded boosts: small, named reasons to prefer one page to another with the same match.

use jiff::civil::Date;

use crate::ranking::{ScoreEffect, ScorePart};
use crate::text::name_key;

use super::candidate::{Candidate, rank_by_parts};
use super::intent::Recency;
use super::settings::Settings;
use super::window::DateWindow;

/// Input of the boosts besides the pages.
#[derive(Debug, Clone, Copy)]
pub struct BoostContext<'a> {
    pub query: &'a str,
    /// Today, by the request.
    pub today: Date,
    /// Whether recent pages are preferred.
    pub recency: Recency,
    /// The days that the question names.
    pub window: Option<DateWindow>,
    pub settings: &'a Settings,
}

/// Multiplies each score by its boosts, at most `boost_max` and at least its inverse together. Days
/// that the question names are no small reason, and stand outside of that bound.
pub fn boost(candidates: &mut [Candidate], context: &BoostContext<'_>) {
    let phrase = name_key(context.query);
    let limit = context.settings.boost_max;
    let mut notes = Vec::new();
    for candidate in candidates.iter_mut() {
        let boosts = boosts_of(candidate, &phrase, context);
        let product: f64 = boosts.iter().map(|(_, factor)| factor).product();
        let window = ("window", window_factor(candidate.effective_date, context));
        let bounded = product.clamp(1.0 / limit, limit);
        candidate.score *= bounded * window.1;
        if candidate.has_trace_notes {
            let bound = ("boost_max", bounded / product);
            let parts = parts(boosts.iter().chain([&bound, &window]));
            notes.push((candidate.page, (describe(boosts.iter().chain([&window])), parts)));
        }
    }
    let notes: rustc_hash::FxHashMap<_, _> = notes.into_iter().collect();
    rank_by_parts(candidates, "boost", |candidate| {
        notes.get(&candidate.page).cloned().unwrap_or_default()
    });
}

/// The factors that change a score, in the order in which they apply.
fn parts<'b>(boosts: impl Iterator<Item = &'b (&'static str, f64)>) -> Vec<ScorePart> {
    let effective = boosts.filter(|(_, factor)| *factor != 1.0);
    effective
        .map(|&(name, factor)| ScorePart { name, effect: ScoreEffect::Times(factor) })
        .collect()
}

fn boosts_of(
    candidate: &Candidate,
    phrase: &str,
    context: &BoostContext<'_>,
) -> [(&'static str, f64); 4] {
    let settings = context.settings;
    [
        ("source", settings.source_weight(&candidate.key)),
        ("title", title_factor(&candidate.title, phrase, settings)),
        ("recency", recency_factor(candidate.effective_date, context)),
        ("backlinks", 1.0 + settings.backlink_boost * f64::from(candidate.backlinks + 1).log2()),
    ]
}

fn title_factor(title: &str, phrase: &str, settings: &Settings) -> f64 {
    if title_holds(title, phrase) { settings.title_boost } else { 1.0 }
}

/// Whether the title is the phrase, or holds it as whole words when it has at least two.
pub fn title_holds(title: &str, phrase: &str) -> bool {
    // Folding a character gives at most a few; most questions are longer than any title.
    if phrase.is_empty() || phrase.len() > 4 * title.len() {
        return false;
    }
    let title = name_key(title);
    if title == phrase {
        return true;
    }
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    phrase.contains(' ')
        && title.match_indices(phrase).any(|(at, found)| {
            is_edge(title[..at].chars().next_back())
                && is_edge(title[at + found.len()..].chars().next())
        })
}

fn recency_factor(date: Option<Date>, context: &BoostContext<'_>) -> f64 {
    let (Recency::On, Some(date)) = (context.recency, date) else { return 1.0 };
    let days = context.today.since(date).map_or(0, |span| span.get_days()).max(0);
    let halvings = f64::from(days) / context.settings.recency_half_life_days;
    1.0 + (context.settings.recency_boost - 1.0) * 0.5f64.powf(halvings)
}

fn window_factor(date: Option<Date>, context: &BoostContext<'_>) -> f64 {
    let is_meant = context.window.zip(date).is_some_and(|(window, date)| window.holds(date));
    if is_meant { context.settings.window_boost } else { 1.0 }
}

fn describe<'b>(boosts: impl Iterator<Item = &'b (&'static str, f64)>) -> String {
    let moved: Vec<String> = boosts
        .filter(|(_, factor)| *factor != 1.0)
        .map(|(name, factor)| format!("{name} ×{factor:.3}"))
        .collect();
    if moved.is_empty() { "none".to_owned() } else { moved.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_holds_whole_words_only() {
        let check = |title: &str, phrase: &str| title_holds(title, &name_key(phrase));
        assert!(check("The Night Ferry plan", "night ferry"));
        assert!(check("Ferry", "ferry"));
        assert!(!check("Night ferrying", "night ferry"));
        assert!(!check("Night Ferry", "ferry"), "one word is no phrase");
        assert!(!check("Night Ferry", ""));
    }

    #[test]
    fn recency_halves_with_every_half_life() {
        let settings = Settings::default();
        let today = jiff::civil::date(2026, 6, 30);
        let (recency, window) = (Recency::On, None);
        let context = BoostContext { query: "", today, recency, window, settings: &settings };
        let at = |date| recency_factor(Some(date), &context) - 1.0;
        let full = settings.recency_boost - 1.0;
        assert!((at(today) - full).abs() < 1e-12);
        assert!((at(jiff::civil::date(2026, 5, 31)) - full / 2.0).abs() < 1e-12);
        assert!(
            (at(jiff::civil::date(2027, 1, 1)) - full).abs() < 1e-12,
            "the future is not older"
        );
        assert_eq!(recency_factor(None, &context), 1.0);
    }

    #[test]
    fn named_days_are_preferred() {
        let settings = Settings::default();
        let today = jiff::civil::date(2026, 6, 30);
        let from = jiff::civil::date(2026, 6, 1);
        let window = Some(DateWindow { from, until: today });
        let recency = Recency::Off;
        let context = BoostContext { query: "", today, recency, window, settings: &settings };
        assert_eq!(window_factor(Some(from), &context), settings.window_boost);
        assert_eq!(window_factor(from.yesterday().ok(), &context), 1.0);
        assert_eq!(window_factor(None, &context), 1.0);
    }
}
