//! A brain whose contradictions are known.
//!
//! Every topic has five pages, and every two of them have one matter in common, of which both give a figure: the
//! same, or with the planted rate two that can't both be so. Each matter is drawn for itself, so pairs are
//! independent of each other, although each page is in four of them. A query for a topic's name is answered by
//! its pages, and a docket holds all ten pairs.

use std::collections::HashMap;

use anyhow::{Context as _, Result};
use fastrand::Rng;
use gbrain_brain::{Brain, BrainOptions, IndexKind, built_in_models};
use gbrain_core::contradiction::PairSet;
use gbrain_core::contradiction::prompt::MAX_PAIR_CHARS;
use gbrain_core::id::{PageKey, Slug, SourceId, WorkspaceId};
use gbrain_core::page::{Page, PageFormat, PageInput, parse};
use gbrain_core::replay::LiveContext;
use gbrain_core::request::Viewer;
use gbrain_eval::contradictions::{GatherOptions, gather};
use gbrain_store::{Location, OpenMode, PageWrite};
use jiff::Timestamp;

/// Pages of a topic; a query asks for as many.
pub const PAGES: usize = 5;
/// Pairs of a topic.
pub const PAIRS: usize = PAGES * (PAGES - 1) / 2;

const WRITERS: [&str; PAGES] = ["surveyor", "harbour master", "visitor", "insurer", "chronicler"];

/// A fact that two pages share, in the words of each.
const MATTERS: [[&str; 2]; PAIRS] = [
    [
        "The big crane at {T} lifts {n} tonnes.",
        "Loads of {n} tonnes are what the {T} crane can take.",
    ],
    ["{T} has {n} berths for yachts.", "Yachts find {n} berths in {T}."],
    [
        "The lighthouse of {T} is {n} metres high.",
        "At {T} the light stands {n} metres above its rock.",
    ],
    [
        "A ferry leaves {T} every {n} minutes.",
        "Passengers of {T} wait {n} minutes between two ferries.",
    ],
    ["{n} families fish from {T}.", "Fishing feeds {n} families in {T}."],
    [
        "The dry dock in {T} takes hulls of {n} metres.",
        "Hulls up to {n} metres are docked dry at {T}.",
    ],
    ["Customs at {T} employs {n} officers.", "There are {n} officers in the customs house of {T}."],
    ["The breakwater of {T} is {n} years old.", "They built the breakwater at {T} {n} years ago."],
    ["Mooring in {T} costs {n} crowns a night.", "A night on a {T} mooring is {n} crowns."],
    [
        "The quay warehouse of {T} has {n} doors.",
        "One counts {n} doors on the warehouse by the {T} quay.",
    ],
];

const FIRST: [&str; 12] =
    ["Bri", "Vel", "Tor", "Quan", "Mer", "Sol", "Dra", "Hul", "Pes", "Gor", "Nim", "Ak"];
const SECOND: [&str; 12] =
    ["mo", "da", "vi", "ru", "ste", "lo", "ga", "pi", "ne", "zu", "ka", "fe"];
const LAST: [&str; 5] = ["la", "wick", "haven", "rona", "mund"];

/// Pages, what to ask, and the truth.
#[derive(Debug)]
pub struct SyntheticBrain {
    pages: Vec<Page>,
    /// One a topic.
    pub queries: Vec<String>,
    /// Every pair of pages, the first slug being the smaller one, and whether they contradict each other.
    pub truth: HashMap<(String, String), bool>,
}

impl SyntheticBrain {
    /// So many topics, with contradictions at a rate.
    pub fn new(seed: u64, topics: usize, rate: f64) -> Result<Self> {
        let mut rng = Rng::with_seed(seed);
        let mut made = Self { pages: Vec::new(), queries: Vec::new(), truth: HashMap::new() };
        for topic in 0..topics {
            let name = name(topic, seed);
            made.queries.push(format!("What do we know about {name}?"));
            made.add_topic(&name, rate, &mut rng)?;
        }
        Ok(made)
    }

    fn add_topic(&mut self, name: &str, rate: f64, rng: &mut Rng) -> Result<()> {
        let mut said: [Vec<String>; PAGES] = Default::default();
        let slugs = WRITERS.map(|writer| slug(name, writer));
        let mut matters = MATTERS.iter();
        for one in 0..PAGES {
            for other in one + 1..PAGES {
                let wordings = matters.next().context("there is a matter for every pair")?;
                let is_contradiction = rng.f64() < rate;
                let figure = rng.u32(10..90);
                let another = if is_contradiction { figure + rng.u32(3..40) } else { figure };
                for (page, wording, figure) in
                    [(one, wordings[0], figure), (other, wordings[1], another)]
                {
                    said[page]
                        .push(wording.replace("{T}", name).replace("{n}", &figure.to_string()));
                }
                let (a, b) = (slugs[one].clone(), slugs[other].clone());
                self.truth.insert(if a < b { (a, b) } else { (b, a) }, is_contradiction);
            }
        }
        for ((writer, slug), sentences) in WRITERS.iter().zip(&slugs).zip(said) {
            let text = format!("# {name}, by the {writer}\n\n{}\n", sentences.join(" "));
            let key = PageKey::new(SourceId::default(), Slug::new(slug)?);
            let input =
                PageInput { key, file_name: None, content: &text, format: PageFormat::Markdown };
            self.pages.push(parse(input)?);
        }
        Ok(())
    }

    /// The pairs that the queries surface, as the probe finds them: through a store and an index.
    pub fn docket(&self) -> Result<PairSet> {
        let (dir, now) = (tempfile::tempdir()?, Timestamp::UNIX_EPOCH);
        let options = BrainOptions {
            location: Location::Sqlite(dir.path().join("brain.db")),
            mode: OpenMode::Use,
            index: IndexKind::Memory,
            index_dir: dir.path().join("index"),
            workspace: WorkspaceId::default(),
            models: built_in_models(),
        };
        let brain = Brain::open(options, now)?;
        let writes: Vec<PageWrite<'_>> =
            self.pages.iter().map(|page| PageWrite { page, origin: None }).collect();
        brain.store().write_pages(brain.workspace(), &writes, now)?;
        let options = GatherOptions {
            live: LiveContext { settings: brain.settings()?, now },
            top_k: PAGES,
            max_chars: MAX_PAIR_CHARS,
            trust: Viewer::Trusted,
        };
        Ok(gather(&brain, &self.queries, &options, &|_| ())?)
    }

    /// Whether each pair of a docket contradicts itself, and what of the docket was not planted: a pair too
    /// many, too few, or left out.
    pub fn answers(&self, docket: &PairSet) -> (Vec<bool>, Vec<String>) {
        let (mut answers, mut wrong) = (Vec::new(), Vec::new());
        for one in docket.pairs() {
            let slugs = [&one.pair.a, &one.pair.b].map(|side| side.key.slug.to_string());
            let [a, b] = slugs;
            let answer = self.truth.get(&(a.clone(), b.clone()));
            if answer.is_none() || !one.rule.keeps() {
                wrong.push(format!("{a} and {b} are held against each other, or left out"));
            }
            answers.push(answer.copied().unwrap_or(false));
        }
        let failed = docket.asked().iter().filter_map(|asked| asked.error.as_deref());
        wrong.extend(failed.map(str::to_owned));
        if answers.len() != self.truth.len() {
            wrong.push(format!("{} pairs of {} came up", answers.len(), self.truth.len()));
        }
        (answers, wrong)
    }
}

/// A name that no other topic of the brain has.
fn name(topic: usize, seed: u64) -> String {
    let all = FIRST.len() * SECOND.len() * LAST.len();
    // A step that has no factor in common with the number of names, so that none comes twice.
    let at = (topic * 427 + (seed % all as u64) as usize) % all;
    let (first, rest) = (at % FIRST.len(), at / FIRST.len());
    let (second, last) = (rest % SECOND.len(), rest / SECOND.len());
    format!("{}{}{}", FIRST[first], SECOND[second], LAST[last])
}

fn slug(name: &str, writer: &str) -> String {
    format!("{}/{}", name.to_lowercase(), writer.replace(' ', "-"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_distinct() {
        let names: BTreeSet<String> = (0..720).map(|topic| name(topic, 11)).collect();
        assert_eq!(names.len(), 720);
    }

    #[test]
    fn the_rate_is_planted() {
        let share = |rate| {
            let brain = SyntheticBrain::new(3, 100, rate).unwrap();
            assert_eq!((brain.pages.len(), brain.truth.len()), (500, 1000));
            brain.truth.values().filter(|is| **is).count()
        };
        assert_eq!((share(0.0), share(1.0)), (0, 1000));
        assert!((70..130).contains(&share(0.1)));
    }
}
