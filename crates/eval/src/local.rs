//! The local brain as a target.

use gbrain_brain::capture::software;
use gbrain_brain::{Answered, Ask, Brain, BrainError, Onward, Past, Snapshot};
use gbrain_core::capture::Retrieved;
use gbrain_core::id::{Generation, PageKey, SourceId};
use gbrain_core::latency::Timing;
use gbrain_core::provenance::{CorpusAt, Provenance};
use gbrain_core::ranking::{WhyNot, is_of_the_question};
use gbrain_core::replay::{Live, Lost};
use gbrain_core::request::{Request, Viewer};

use crate::{Answer, EvalError, RetrieveError, Retriever, Target};

/// The local brain: its newest corpus is held when the measurement begins, so that a write in the
/// middle of it does not split it.
pub struct LocalTarget<'a> {
    brain: &'a Brain,
    newest: Snapshot,
    past: Past<'a>,
    live: Live,
    progress: Box<dyn Fn(i64, i64) -> Result<(), BrainError> + Sync + 'a>,
}

impl<'a> LocalTarget<'a> {
    /// A brain as it is now. `progress` is called while a corpus is indexed, and may end that.
    pub fn new<P: Onward + 'a>(
        brain: &'a Brain,
        live: Live,
        progress: &'a (dyn Fn(i64, i64) -> P + Sync),
    ) -> Result<Self, EvalError> {
        let newest = brain.snapshot(&|done, total| progress(done, total))?;
        let progress = Box::new(move |done, total| progress(done, total).onward());
        Ok(Self { brain, newest, past: brain.past(), live, progress })
    }

    /// What answers: program, settings, newest corpus and the model of its vectors.
    pub fn provenance(&self) -> Provenance {
        Provenance {
            software: Some(software()),
            settings: Some(self.live.settings.clone()),
            corpus: Some(self.newest.corpus()),
            embedder: Some(self.newest.vector_model().map(str::to_owned)),
            target: None,
        }
    }

    fn past(&self, corpus: &CorpusAt) -> Result<Option<Snapshot>, EvalError> {
        // Equal roots are equal corpora, whichever store they are in.
        if corpus.print == self.newest.corpus().print {
            return Ok(Some(self.newest.clone()));
        }
        if corpus.store != self.brain.store().identity() {
            return Ok(None);
        }
        let generation = Generation(corpus.generation);
        let snapshot = self.past.at(generation, &|done, total| (self.progress)(done, total))?;
        // A purge leaves every generation at once: then the corpus of the capture is gone.
        Ok(snapshot.filter(|snapshot| snapshot.corpus().print == corpus.print))
    }
}

impl Target for LocalTarget<'_> {
    fn live(&self) -> &Live {
        &self.live
    }

    fn retriever(
        &self,
        corpus: Option<&CorpusAt>,
    ) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        let snapshot = match corpus {
            None => Some(self.newest.clone()),
            Some(corpus) => self.past(corpus)?,
        };
        Ok(snapshot.map(|snapshot| Box::new(LocalRetriever { snapshot }) as Box<dyn Retriever>))
    }

    fn has_pages(&self, names: &[&str], trust: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        let has = |name: &&str| match PageKey::parse(name, &SourceId::default()) {
            Ok(key) => Ok(self.newest.has_page(&key, trust)?),
            // What can't be the name of a page is the name of none.
            Err(_) => Ok(false),
        };
        names.iter().map(has).collect::<Result<Vec<bool>, EvalError>>().map(Some)
    }

    fn page_count(&self) -> Option<u64> {
        Some(self.newest.corpus().print.pages)
    }
}

struct LocalRetriever {
    snapshot: Snapshot,
}

impl LocalRetriever {
    fn ask(&self, request: &Request, why_not: Option<PageKey>) -> Result<Answered, RetrieveError> {
        let ask = Ask { why_not, ..Ask::default() };
        let answered = self.snapshot.answer(request, &ask);
        answered.map_err(|error| RetrieveError(error.to_string()))
    }
}

impl Retriever for LocalRetriever {
    fn retrieve(&self, request: &Request, _: Option<&str>) -> Result<Answer, RetrieveError> {
        let started = std::time::Instant::now();
        let ranking = self.ask(request, None)?.ranking;
        let latency_ms = started.elapsed().as_micros() as f64 / 1000.0;
        let degraded = ranking.degraded.iter().filter(|d| !is_of_the_question(d.reason));
        Ok(Answer {
            pages: ranking.hits.iter().map(|hit| Retrieved::from(&hit.key)).collect(),
            latency_ms: Some(latency_ms),
            degraded: degraded.map(|d| (d.stage.to_owned(), d.reason.to_owned())).collect(),
            provenance: Provenance {
                software: Some(software()),
                settings: Some(request.settings.clone()),
                corpus: Some(self.snapshot.corpus()),
                embedder: Some(ranking.embedder),
                target: None,
            },
            not_asked: Vec::new(),
        })
    }

    fn timing(&self, request: &Request) -> Timing {
        if self.snapshot.is_answered_here(request) { Timing::Cpu } else { Timing::Wall }
    }

    fn why_not(&self, request: &Request, page: &PageKey) -> Option<Lost> {
        let answered = self.ask(request, Some(page.clone())).ok()?;
        let WhyNot { key, stage, verdict, trace: _ } = answered.ranking.why_not?;
        Some(Lost { page: key.to_string(), stage: stage.to_owned(), why: verdict })
    }
}
