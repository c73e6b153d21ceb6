//! Questions of every kind, made from the corpus.

use fastrand::Rng;
use gbrain_core::id::PageKey;
use gbrain_core::page::Page;
use gbrain_core::request::{Detail, Expansion, Filter, Operation, Request, RetrievalMode, Viewer};
use gbrain_core::search::Settings;
use jiff::Timestamp;
use jiff::civil::date;

use super::corpus::Corpus;

/// What every question is asked at.
const NOW: &str = "2026-05-15T12:00:00Z";

/// `{}` stands for a name.
const ABOUT_NAMES: [&str; 16] = [
    "{}",
    "who owns {}?",
    "what depends on {}?",
    "who works at {}",
    "who founded {}?",
    "who invested in {}?",
    "who advises {}?",
    "who attended {}?",
    "who is on {}?",
    "what blocks {}?",
    "what resolves {}?",
    "which projects align with {}?",
    "latest on {}",
    "what happened with {} last week?",
    "tell me about {}",
    "how is {} connected to other things",
];

/// Text, never syntax.
const HOSTILE: [&str; 12] = [
    "\"quoted phrase\" AND NOT (this OR that)",
    "title:foo^2 -bar +baz~1 [a TO b]",
    "the of and",
    "?!…",
    "HRB-112",
    "#1 C++ v1.2.3 file_name.rs a::b::c",
    "青崎 フェリー 港",
    "naïve café ﬁne ＦＵＬＬ",
    "🚢 ⚓ 👩‍👩‍👧",
    "a",
    "'; DROP TABLE pages; --",
    "who owns what depends on who founded the thing that blocks it?",
];

/// A request, and how it is asked.
#[derive(Debug, Clone)]
pub struct Question {
    pub request: Request,
    /// Whether every stage is explained.
    pub explain: bool,
    /// A page to follow through the pipeline.
    pub why_not: Option<PageKey>,
}

/// So many questions, the same for the same corpus and seed.
pub fn questions(corpus: &Corpus, count: usize, seed: u64) -> Vec<Question> {
    let mut rng = Rng::with_seed(seed);
    let pages: Vec<Page> = corpus.files.iter().filter_map(super::File::page).collect();
    (0..count).map(|at| question(at, &pages, &mut rng)).collect()
}

fn question(at: usize, pages: &[Page], rng: &mut Rng) -> Question {
    let page = &pages[rng.usize(..pages.len())];
    let query = match at % 5 {
        0 | 1 => phrase(page, rng),
        2 | 3 => ABOUT_NAMES[at / 5 % ABOUT_NAMES.len()].replace("{}", name(page, rng)),
        _ => HOSTILE[at / 5 % HOSTILE.len()].to_owned(),
    };
    let operation = if rng.bool() { Operation::Search } else { Operation::Query };
    let modes = [RetrievalMode::Hybrid, RetrievalMode::Knowledge, RetrievalMode::Graph];
    let is_query = operation == Operation::Query;
    let request = Request {
        operation,
        query,
        limit: [10, 1, 3, 50][rng.usize(..4)],
        detail: [None, None, Some(Detail::Low), Some(Detail::Medium), Some(Detail::High)]
            [rng.usize(..5)],
        mode: if is_query { modes[rng.usize(..3)] } else { RetrievalMode::Knowledge },
        filter: filter(page, rng),
        vectors: is_query && rng.bool(),
        expansion: Expansion::Off,
        now: NOW.parse().unwrap_or(Timestamp::UNIX_EPOCH),
        settings: Settings::default(),
    };
    let why_not = (rng.u8(..4) == 0).then(|| pages[rng.usize(..pages.len())].key.clone());
    Question { request, explain: rng.bool(), why_not }
}

/// Words that follow each other in a page.
fn phrase(page: &Page, rng: &mut Rng) -> String {
    let words: Vec<&str> = page.content.split_whitespace().collect();
    let length = rng.usize(1..8).min(words.len());
    let from = rng.usize(..=words.len() - length);
    words[from..from + length].join(" ")
}

/// What a page is called.
fn name<'a>(page: &'a Page, rng: &mut Rng) -> &'a str {
    match rng.u8(..4) {
        0 => page.key.slug.as_str(),
        1 => page.aliases.first().unwrap_or(&page.title),
        _ => &page.title,
    }
}

/// Nothing half of the time, else what this page passes, or nearly.
fn filter(page: &Page, rng: &mut Rng) -> Filter {
    let trust = if rng.u8(..4) == 0 { Viewer::Untrusted } else { Viewer::Trusted };
    let mut filter = Filter { trust, ..Filter::default() };
    match rng.u8(..10) {
        0 => filter.sources.push(page.key.source.clone()),
        1 => filter.types.push(page.page_type.clone()),
        2 => filter.tags.extend(page.tags.first().cloned()),
        3 => filter.since = Some(date(2026, 1, 1)),
        4 => filter.until = Some(date(2026, 4, 30)),
        _ => {}
    }
    filter
}

impl Question {
    /// What to type to ask it.
    pub(super) fn args(&self, index: &str) -> Vec<String> {
        let Request {
            operation,
            query,
            limit,
            detail,
            mode,
            filter,
            vectors,
            expansion: _,
            now,
            settings: _,
        } = &self.request;
        let mut args = vec![
            operation.name().to_owned(),
            "--json".to_owned(),
            "--index".to_owned(),
            index.to_owned(),
        ];
        let mut flag = |name: &str, value: String| args.extend([format!("--{name}"), value]);
        flag("limit", limit.to_string());
        flag("now", now.to_string());
        detail.iter().for_each(|detail| flag("detail", detail.name().to_owned()));
        filter.sources.iter().for_each(|source| flag("source", source.to_string()));
        filter.types.iter().for_each(|page_type| flag("type", page_type.clone()));
        filter.tags.iter().for_each(|tag| flag("tag", tag.clone()));
        filter.since.iter().for_each(|date| flag("since", date.to_string()));
        filter.until.iter().for_each(|date| flag("until", date.to_string()));
        self.why_not.iter().for_each(|key| flag("why-not", key.to_string()));
        if *operation == Operation::Query {
            flag("mode", mode.name().to_owned());
        }
        let switches = [
            ("--explain", self.explain),
            ("--untrusted", filter.trust == Viewer::Untrusted),
            ("--no-vector", *operation == Operation::Query && !vectors),
        ];
        args.extend(switches.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned()));
        args.extend(["--".to_owned(), query.clone()]);
        args
    }
}
