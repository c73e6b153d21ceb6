//! The pages before and after, and requests that hold personal data.

use fastrand::Rng;
use gbrain_core::id::PageKey;
use gbrain_core::request::{Filter, Operation, RetrievalMode, Viewer};
use jiff::ToSpan as _;

use crate::campaign::identity::{Corpus, File, Question, earlier_version};

/// Of so many pages one is edited.
const EDITED: usize = 10;
/// Of so many pages one is deleted.
const DELETED: usize = 100;
/// Of so many requests one holds personal data.
const PERSONAL: usize = 5;

/// Text that scrubbing removes; `{}` stands for the rest of the query.
const ABOUT_PEOPLE: [&str; 7] = [
    "mail ada.lovelace@example.org about {}",
    "{} and call +44 20 7946 0958",
    "charge 4111 1111 1111 1111 for {}",
    "{} to DE89 3704 0044 0532 0130 00",
    "who is 078-05-1120, {}",
    // A page has this name; what is left of it names none.
    "who advises mary.somerville@example.org?",
    // An identifier, for which vectors are not searched; what is left of it is none.
    "#4111111111111111",
];

/// Pages whose names are addresses: their slugs are scrubbed, and two become one.
const CONTACTS: [(&str, &str); 3] = [
    ("ada-at-example-org", "Ada Lovelace advises [[mary.somerville@example.org]] on engines."),
    ("grace-at-example-com", "Grace Hopper writes about compilers and ferries."),
    ("mary.somerville@example.org", "Mary Somerville writes about tides, ferries and stars."),
];

/// A corpus, and what becomes of it.
#[derive(Debug)]
pub struct GrowingCorpus {
    /// The pages while requests are captured.
    pub before: Vec<File>,
    /// A fifth more of them, a tenth edited, some deleted.
    pub after: Vec<File>,
    /// A page that is only in `after`.
    pub late: PageKey,
    /// A page that is in both, and the same.
    pub early: PageKey,
}

/// Adds pages whose names are personal data.
pub(super) fn with_contacts(mut corpus: Corpus) -> Corpus {
    let source = corpus.files[0].source.clone();
    corpus.files.extend(CONTACTS.map(|(name, text)| File {
        source: source.clone(),
        path: format!("contacts/{name}.md"),
        text: format!("# {name}\n\n{text}\n"),
    }));
    corpus
}

/// A corpus and how it grows: its doomed pages, up to a fifth of it, come.
pub(super) fn grown(corpus: Corpus, seed: u64) -> GrowingCorpus {
    let Corpus { files: before, doomed } = corpus;
    let mut rng = Rng::with_seed(seed);
    let mut order: Vec<usize> = (0..before.len()).collect();
    rng.shuffle(&mut order);
    let (_, rest) = order.split_at((before.len() / DELETED).max(2));
    // Half a chat is none.
    let (editable, fixed): (Vec<&File>, Vec<&File>) =
        rest.iter().map(|at| &before[*at]).partition(|file| file.path.ends_with(".md"));
    let (edited, unedited) = editable.split_at((before.len() / EDITED).min(editable.len() / 2));
    let mut after: Vec<File> = edited.iter().map(|file| earlier_version(file, 1)).collect();
    after.extend(unedited.iter().chain(&fixed).map(|file| (*file).clone()));
    let new = doomed.into_iter().take(before.len() / 5);
    let new: Vec<File> = new.filter(|file| !before.iter().any(|old| is_same(old, file))).collect();
    let key = |file: &File| file.page().map(|page| page.key);
    let late = new.iter().find_map(key).expect("some new file is a page");
    let early = unedited.iter().find_map(|file| key(file)).expect("some file is a page");
    after.extend(new);
    GrowingCorpus { before, after, late, early }
}

fn is_same(a: &File, b: &File) -> bool {
    (&a.source, &a.path) == (&b.source, &b.path)
}

/// Puts personal data into some requests, and moves the time of all.
pub(super) fn make_personal(questions: &mut [Question]) {
    for (at, question) in questions.iter_mut().enumerate() {
        let request = &mut question.request;
        if at % PERSONAL == 0 {
            let frame = ABOUT_PEOPLE[at / PERSONAL % ABOUT_PEOPLE.len()];
            request.query = frame.replace("{}", &request.query);
            if request.query == frame {
                // A difference between the two texts shows in the whole pipeline only.
                request.operation = Operation::Query;
                request.mode = RetrievalMode::Hybrid;
                request.filter = Filter { trust: Viewer::Trusted, ..Filter::default() };
                request.vectors = true;
            }
        }
        let days = i64::try_from(at % 400).expect("a remainder of 400 is small");
        request.now = request.now.saturating_sub((days * 24).hours()).expect("hours are exact");
    }
}

/// Whether a query holds what [`make_personal`] puts in.
pub(super) fn is_personal(query: &str) -> bool {
    ABOUT_PEOPLE
        .iter()
        .filter_map(|frame| frame.split_once("{}"))
        .any(|(before, after)| query.starts_with(before) && query.ends_with(after))
}
