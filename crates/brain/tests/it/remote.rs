//! A model elsewhere: what becomes of a question, and of a write, when it does not answer.

use std::sync::{Arc, Mutex};

use gbrain_brain::{BrainError, IndexKind, PurgeScope, QueryOptions, built_in_models};
use gbrain_core::request::{Operation, Request, Viewer};
use gbrain_embed::{EmbedError, EmbedErrorKind, Embedder, StaticTable};
use gbrain_index::{IndexError, Models};

use super::{degraded, empty_brain, fill, plain, put, request, slugs};

/// How the model is.
#[derive(Clone, Copy)]
pub(super) enum Mood {
    Well,
    Kept(EmbedErrorKind),
    /// It leaves out a vector.
    Short,
    /// Its vectors lack a number.
    Narrow,
    /// It fails as a model of this machine does.
    Broken,
}

/// The built-in model, as if it were elsewhere.
pub(super) struct Remote {
    inner: StaticTable,
    mood: Mutex<Mood>,
}

impl Remote {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { inner: StaticTable::built_in(), mood: Mutex::new(Mood::Well) })
    }

    fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }
}

impl Embedder for Remote {
    fn id(&self) -> &str {
        "remote-1"
    }

    fn dims(&self) -> usize {
        self.inner.dims()
    }

    fn centre(&self) -> &[f32] {
        self.inner.centre()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = self.inner.embed(texts)?;
        match *self.mood.lock().unwrap() {
            Mood::Well => {}
            Mood::Short => vectors.truncate(texts.len() - 1),
            Mood::Narrow => vectors.iter_mut().for_each(|vector| vector.truncate(8)),
            Mood::Broken => {
                let (model, reason) = (self.id().to_owned(), "damaged".to_owned());
                return Err(EmbedError::Run { model, reason });
            }
            Mood::Kept(cause) => {
                let (model, reason) = (self.id().to_owned(), "far away".to_owned());
                return Err(EmbedError::Remote { model, cause, reason });
            }
        }
        Ok(vectors)
    }

    fn is_remote(&self) -> bool {
        true
    }
}

#[test]
fn a_model_that_does_not_answer_leaves_the_rest_of_the_answer() {
    for index in [IndexKind::Memory, IndexKind::Disk] {
        let dir = tempfile::tempdir().unwrap();
        let model = Remote::new();
        let brain = empty_brain(dir.path(), index, Models::new(model.clone()));
        fill(&brain);
        let with = Request { vectors: true, ..request("a boat at the pier") };
        let without =
            brain.answer(&request("a boat at the pier"), &QueryOptions::default()).unwrap();
        let well = brain.answer(&with, &QueryOptions::default()).unwrap();
        assert_eq!((well.ranking.embedder.as_deref(), degraded(&well)), (Some("remote-1"), vec![]));
        assert_ne!(well.ranking.hits, without.ranking.hits);
        let check = |mood: Mood, reason: &str| {
            model.set(mood);
            let answered = brain.answer(&with, &QueryOptions::default()).unwrap();
            assert_eq!(degraded(&answered), [("vectors", reason)]);
            assert_eq!(answered.ranking.embedder, None);
            assert_eq!(answered.ranking.arms, without.ranking.arms);
            assert_eq!(answered.ranking.hits, without.ranking.hits);
        };
        check(Mood::Kept(EmbedErrorKind::Failed), "failed");
        check(Mood::Kept(EmbedErrorKind::Timeout), "timeout");
        check(Mood::Kept(EmbedErrorKind::OverBudget), "over_budget");
        check(Mood::Kept(EmbedErrorKind::NoKey), "no_key");
        check(Mood::Short, "failed");
        check(Mood::Narrow, "failed");
        model.set(Mood::Well);
        assert_eq!(brain.answer(&with, &QueryOptions::default()).unwrap().ranking, well.ranking);
    }
}

/// Waits until the embedder is asked again, and gives the first whole answer.
fn caught_up(brain: &gbrain_brain::Brain, request: &Request) -> gbrain_brain::QueryResponse {
    loop {
        let answered = brain.answer(request, &QueryOptions::default()).unwrap();
        if answered.ranking.degraded.is_empty() {
            return answered;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn a_write_during_an_outage_leaves_the_answers_of_the_index_as_it_is() {
    for index in [IndexKind::Memory, IndexKind::Disk] {
        let dir = tempfile::tempdir().unwrap();
        let model = Remote::new();
        let brain = empty_brain(dir.path(), index, Models::new(model.clone()));
        fill(&brain);
        let words = request("ferry");
        let before = brain.answer(&words, &QueryOptions::default()).unwrap();
        model.set(Mood::Kept(EmbedErrorKind::Timeout));
        put(&brain, "d", "a ferry that is new");
        let search = Request { operation: Operation::Search, ..words.clone() };
        for request in [&words, &search, &Request { vectors: true, ..words.clone() }] {
            let answered = brain.answer(request, &QueryOptions::default()).unwrap();
            assert_eq!(degraded(&answered)[0], ("index", "timeout"));
            assert_eq!(answered.served.behind, 1);
            assert_eq!(slugs(&answered).len(), 3, "{:?}", slugs(&answered));
        }
        let stale = brain.answer(&words, &QueryOptions::default()).unwrap();
        assert_eq!(stale.ranking.hits, before.ranking.hits);
        model.set(Mood::Well);
        assert_eq!(slugs(&caught_up(&brain, &words)).len(), 4);
    }
}

#[test]
fn an_outage_does_not_bring_back_pages_that_are_gone_or_private() {
    for index in [IndexKind::Memory, IndexKind::Disk] {
        let dir = tempfile::tempdir().unwrap();
        let model = Remote::new();
        let brain = empty_brain(dir.path(), index, Models::new(model.clone()));
        fill(&brain);
        put(&brain, "d", "[[a]] is the ferry of [[b]]");
        let mut untrusted = request("ferry");
        untrusted.filter.trust = Viewer::Untrusted;
        assert_eq!(slugs(&brain.answer(&untrusted, &QueryOptions::default()).unwrap()).len(), 4);
        model.set(Mood::Kept(EmbedErrorKind::Failed));
        let key = |slug: &str| gbrain_core::id::PageKey::parse(slug, &Default::default()).unwrap();
        brain.store().delete_pages(brain.workspace(), &[key("a")], super::NOW).unwrap();
        put(&brain, "b", "---\nvisibility: private\n---\na ferry of ours");
        let seen = brain.answer(&untrusted, &QueryOptions::default()).unwrap();
        assert_eq!(degraded(&seen), [("index", "failed")]);
        assert_eq!(slugs(&seen).iter().filter(|slug| ["a", "b"].contains(slug)).count(), 0);
        let own = brain.answer(&request("ferry"), &QueryOptions::default()).unwrap();
        assert!(slugs(&own).contains(&"b") && !slugs(&own).contains(&"a"), "{:?}", slugs(&own));
        // A page that is written again is shown as the index holds it.
        put(&brain, "a", "the ferry is back");
        let again = brain.answer(&request("ferry"), &QueryOptions::default()).unwrap();
        assert!(slugs(&again).contains(&"a"));
    }
}

#[test]
fn an_outage_does_not_bring_back_a_purged_page() {
    for index in [IndexKind::Memory, IndexKind::Disk] {
        let dir = tempfile::tempdir().unwrap();
        let model = Remote::new();
        let brain = empty_brain(dir.path(), index, Models::new(model.clone()));
        fill(&brain);
        assert_eq!(slugs(&plain(&brain, "ferry")).len(), 3);
        model.set(Mood::Kept(EmbedErrorKind::Failed));
        let key = gbrain_core::id::PageKey::parse("a", &Default::default()).unwrap();
        let error = brain.purge(&key, &PurgeScope::default(), super::NOW).unwrap_err();
        assert!(matches!(error, BrainError::Index(IndexError::Embed(_))), "{error:?}");
        let answered = plain(&brain, "ferry");
        let mut found = slugs(&answered);
        found.sort_unstable();
        assert_eq!((found, degraded(&answered)), (vec!["b", "c"], vec![("index", "failed")]));
    }
}

#[test]
fn an_embedder_that_never_answered_leaves_an_empty_index_that_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let model = Remote::new();
    let brain = empty_brain(dir.path(), IndexKind::Memory, Models::new(model.clone()));
    model.set(Mood::Kept(EmbedErrorKind::NoKey));
    fill(&brain);
    let with = Request { vectors: true, ..request("ferry") };
    let answered = brain.answer(&with, &QueryOptions::default()).unwrap();
    assert_eq!(degraded(&answered)[0], ("index", "no_key"));
    assert_eq!((answered.served.behind, answered.ranking.hits.len()), (4, 0));
    // Work that must end with a fresh index fails.
    let error = brain.reindex(&|_, _| ()).unwrap_err();
    assert!(matches!(error, BrainError::Index(IndexError::Embed(_))), "{error:?}");
    model.set(Mood::Well);
    assert_eq!(caught_up(&brain, &with).ranking.hits.len(), 4);
}

#[test]
fn a_broken_model_of_this_machine_is_still_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let model = Remote::new();
    let brain = empty_brain(dir.path(), IndexKind::Disk, Models::new(model.clone()));
    model.set(Mood::Broken);
    fill(&brain);
    let error = brain.answer(&request("ferry"), &QueryOptions::default()).unwrap_err();
    assert!(matches!(error, BrainError::Index(IndexError::Embed(_))), "{error:?}");
}

#[test]
fn variants_are_embedded_with_the_query() {
    let dir = tempfile::tempdir().unwrap();
    let brain = empty_brain(dir.path(), IndexKind::Memory, built_in_models());
    fill(&brain);
    let variants = vec!["boats at a pier".to_owned(), "a beacon".to_owned()];
    let expansion = gbrain_core::request::Expansion::Variants(variants);
    let with = Request { vectors: true, expansion, ..request("ferry quay") };
    let answered =
        brain.answer(&with, &QueryOptions { explain: true, ..QueryOptions::default() }).unwrap();
    assert!(answered.ranking.expansion_applied);
    let notes = answered.ranking.hits.iter().flat_map(|hit| &hit.trace);
    let notes: Vec<&str> =
        notes.filter(|step| step.stage == "expansion").map(|step| step.note.as_str()).collect();
    assert!(notes.contains(&"vectors of variant 1"), "{notes:?}");
}

#[test]
fn the_vectors_are_asked_about_pages_that_a_variant_did_not_bring() {
    let dir = tempfile::tempdir().unwrap();
    let brain = empty_brain(dir.path(), IndexKind::Memory, built_in_models());
    fill(&brain);
    let variants = vec!["a lighthouse is taller than a ferry".to_owned()];
    let expansion = gbrain_core::request::Expansion::Variants(variants);
    let mut with = Request { vectors: true, expansion, ..request("quay") };
    // Only the page that says just that is near enough to be brought.
    with.settings.set("vectors_least", "0.8").unwrap();
    let answered =
        brain.answer(&with, &QueryOptions { explain: true, ..QueryOptions::default() }).unwrap();
    let share = |slug: &str| {
        let hit = answered.ranking.hits.iter().find(|hit| hit.key.slug.as_str() == slug).unwrap();
        let steps = hit.trace.iter().filter(|step| step.note == "vectors of variant 1");
        steps.filter_map(|step| step.score).collect::<Vec<f64>>()
    };
    assert_eq!(share("c"), [0.5]);
    assert!(matches!(share("a")[..], [share] if 0.0 < share && share < 0.5), "{:?}", share("a"));
}
