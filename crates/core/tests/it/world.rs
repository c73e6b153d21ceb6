//! Link quality on world-v1: 240 pages with gold facts and relational questions.
//!
//! Reads `$GBRAIN_TEST_DATA/gbrain`. The floors are what was reached when they were written; what
//! the gold does not list but the text says (an engineer who also advises) counts as wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::link::{Direction, LinkType};
use gbrain_core::page::{self, Page, PageFormat, PageInput};
use serde_json::Value;

/// The pages related to a page, with the highest confidence that any page states.
type Edges = BTreeMap<(LinkType, String), BTreeMap<String, f64>>;

struct Question {
    link_type: LinkType,
    about: String,
    gold: BTreeSet<String>,
    /// Gold and everybody else for whom the facts say so.
    right: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Score {
    gold: usize,
    found: usize,
    right: usize,
    wrong: usize,
    /// Questions whose gold comes before everything wrong, by confidence.
    clean: usize,
    questions: usize,
}

#[test]
fn relations_are_found_and_are_right() {
    let Some(data) = std::env::var_os("GBRAIN_TEST_DATA").map(PathBuf::from) else {
        eprintln!(
            "SKIPPED relations_are_found_and_are_right: set GBRAIN_TEST_DATA to the data directory"
        );
        return;
    };
    let data = data.join("gbrain");
    let pages = pages(&data.join("world-v1"));
    assert_eq!(pages.len(), 240);
    let edges = edges(&pages);
    let questions = questions(&data);
    assert_eq!(questions.len(), 145);
    // (relation, recall of gold, precision, questions with gold first)
    let floors = [
        (LinkType::Attended, 0.97, 0.99, 0.99),
        (LinkType::WorksAt, 0.99, 0.95, 0.97),
        (LinkType::InvestedIn, 0.99, 0.98, 0.97),
        (LinkType::Advises, 0.99, 0.80, 0.80),
    ];
    for (link_type, recall, precision, clean) in floors {
        let score = score(link_type, &questions, &edges, &pages);
        let share = |part: usize, whole: usize| part as f64 / whole as f64;
        eprintln!("{link_type}: {score:?}");
        assert!(share(score.found, score.gold) >= recall, "{link_type} recall: {score:?}");
        assert!(
            share(score.right, score.right + score.wrong) >= precision,
            "{link_type} precision: {score:?}"
        );
        assert!(share(score.clean, score.questions) >= clean, "{link_type} order: {score:?}");
    }
}

fn score(
    link_type: LinkType,
    questions: &[Question],
    edges: &Edges,
    pages: &BTreeMap<String, Page>,
) -> Score {
    let mut score = Score::default();
    let none = BTreeMap::new();
    for question in questions.iter().filter(|question| question.link_type == link_type) {
        let found = edges.get(&(link_type, question.about.clone())).unwrap_or(&none);
        let found: Vec<_> =
            found.iter().filter(|(person, _)| pages.contains_key(*person)).collect();
        let confidence = |of: &dyn Fn(&str) -> bool| {
            found
                .iter()
                .filter(|(person, _)| of(person))
                .map(|(_, confidence)| **confidence)
                .collect::<Vec<f64>>()
        };
        let gold = confidence(&|person| question.gold.contains(person));
        let right = confidence(&|person| question.right.contains(person));
        let wrong = confidence(&|person| !question.right.contains(person));
        let weakest = gold.iter().copied().fold(f64::INFINITY, f64::min);
        score.questions += 1;
        score.gold += question.gold.len();
        score.found += gold.len();
        score.right += right.len();
        score.wrong += wrong.len();
        score.clean += usize::from(wrong.iter().all(|confidence| *confidence < weakest));
    }
    score
}

fn pages(root: &Path) -> BTreeMap<String, Page> {
    let mut pages = BTreeMap::new();
    for directory in fs::read_dir(root).unwrap() {
        let directory = directory.unwrap();
        for file in fs::read_dir(directory.path()).unwrap() {
            let file = file.unwrap();
            let (folder, name) = (directory.file_name(), file.file_name());
            let (folder, name) = (folder.to_str().unwrap(), name.to_str().unwrap());
            let slug = page::slug_of_path(&format!("{folder}/{name}")).unwrap();
            let content = fs::read_to_string(file.path()).unwrap();
            let key = PageKey::new(SourceId::default(), slug);
            let input = PageInput {
                key,
                file_name: Some(name),
                content: &content,
                format: PageFormat::Markdown,
            };
            let page = page::parse(input).unwrap();
            pages.insert(page.key.slug.to_string(), page);
        }
    }
    pages
}

fn edges(pages: &BTreeMap<String, Page>) -> Edges {
    let mut edges = Edges::new();
    for (slug, page) in pages {
        for link in &page.links {
            let (from, to) = match link.direction {
                Direction::Out => (slug, &link.target),
                Direction::In => (&link.target, slug),
            };
            let known = edges
                .entry((link.link_type, to.clone()))
                .or_default()
                .entry(from.clone())
                .or_default();
            *known = known.max(link.confidence);
        }
    }
    edges
}

fn json_lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

fn questions(data: &Path) -> Vec<Question> {
    let folder = data.join("beir_world_v1_relational");
    let corpus = json_lines(&folder.join("corpus.jsonl"));
    let titles: BTreeMap<&str, &str> =
        corpus.iter().map(|page| (text(page, "title"), text(page, "_id"))).collect();
    let facts = fs::read_to_string(data.join("world_v1_gold_facts.json")).unwrap();
    let facts: Value = serde_json::from_str(&facts).unwrap();
    let qrels = fs::read_to_string(folder.join("qrels/test.tsv")).unwrap();
    let mut gold = BTreeMap::<&str, BTreeSet<String>>::new();
    for row in qrels.lines().skip(1) {
        let fields: Vec<&str> = row.split('\t').collect();
        gold.entry(fields[0]).or_default().insert(fields[1].to_owned());
    }
    let question = |query: &Value| {
        let link_type = LinkType::from_name(text(&query["metadata"], "kind")).unwrap();
        let (phrase, keys): (&str, &[&str]) = match link_type {
            LinkType::Attended => ("Who attended ", &["attendees"]),
            LinkType::WorksAt => ("Who works at ", &["employees", "founders"]),
            LinkType::InvestedIn => ("Who invested in ", &["investors"]),
            LinkType::Advises => ("Who advises ", &["advisors"]),
            other => panic!("no question is about {other}"),
        };
        let title = text(query, "text").strip_prefix(phrase).unwrap().trim_end_matches('?');
        let about = titles[title].to_owned();
        let gold = gold[text(query, "_id")].clone();
        let listed = keys.iter().filter_map(|key| facts[&about][key].as_array()).flatten();
        let right =
            listed.map(|person| person.as_str().unwrap().to_owned()).chain(gold.iter().cloned());
        Question { link_type, right: right.collect(), about, gold }
    };
    json_lines(&folder.join("queries.jsonl")).iter().map(question).collect()
}
