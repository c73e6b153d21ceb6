//! The offline judge on labelled sentences, and labelled attacks on any judge.

use std::collections::BTreeMap;

use gbrain_core::contradiction::pair::{Pair, PairKind, Place, Statement, Tier};
use gbrain_core::contradiction::{Contradicts, offline};
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::request::Trust;
use serde_json::Value;

use super::data;

fn statement(slug: &str, text: &str) -> Statement {
    Statement {
        key: PageKey::parse(slug, &SourceId::default()).unwrap(),
        place: Place::Passage { ordinal: 0, chunk_id: format!("{slug}#0") },
        text: text.to_owned(),
        holder: None,
        date: None,
        tier: Tier::Other,
        trust: Trust::Trusted,
    }
}

fn pair(a: &str, b: &str) -> Pair {
    Pair::new(PairKind::CrossPage, statement("a", a), statement("b", b), 1.0)
}

fn rows(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Contradictions found, accusations, and contradictions there are.
#[derive(Debug, Default, Clone, Copy)]
struct Figures {
    right: usize,
    accused: usize,
    there: usize,
}

impl Figures {
    fn precision(self) -> f64 {
        self.right as f64 / self.accused.max(1) as f64
    }

    fn recall(self) -> f64 {
        self.right as f64 / self.there.max(1) as f64
    }

    fn f1(self) -> f64 {
        2.0 * self.right as f64 / (self.accused + self.there).max(1) as f64
    }
}

/// Rules were made looking at one half of the labelled pairs; the other half was only counted. Halves
/// are by the hash of a row's id.
#[test]
#[expect(clippy::print_stdout, reason = "figures are read")]
fn the_offline_judge_on_labelled_sentences() {
    let Some(dir) = data("nli") else { return };
    let mut figures: BTreeMap<(String, &str), Figures> = BTreeMap::new();
    let show = std::env::var("GBRAIN_SHOW").is_ok();
    for row in rows(&dir.join("train.jsonl")) {
        let text = |key: &str| row[key].as_str().unwrap();
        let half = if Hash::of(text("id").as_bytes()).0[0] % 2 == 0 { "seen" } else { "unseen" };
        let source = text("src").split('/').next().unwrap().to_owned();
        let judgement = offline::judge(&pair(text("a"), text("b")));
        let is_accused = judgement.verdict == Contradicts::Contradiction;
        let is_one = text("label") == "contradiction";
        if show && half == "seen" && is_accused != is_one && text("src").contains("SICK") {
            println!("{} {} || {} :: {:?}", text("label"), text("a"), text("b"), judgement.axis);
        }
        let one = figures.entry((source, half)).or_default();
        one.there += usize::from(is_one);
        one.accused += usize::from(is_accused);
        one.right += usize::from(is_accused && is_one);
    }
    for ((source, half), one) in &figures {
        let (precision, recall, f1) = (one.precision(), one.recall(), one.f1());
        println!(
            "{source} {half}: precision {precision:.3}, recall {recall:.3}, F1 {f1:.3} ({one:?})"
        );
    }
}
