//! Retrievers: the local brain, an HTTP API, an MCP server, a command, a saved run.
//!
//! Promises, for all of them: every failure has a kind; time and concurrency limits are kept; failures that
//! may pass (429, 5xx, timeouts) are retried and no others; no message contains a secret; a started program ends
//! with the process that started it.
//!
//! Deliberately absent: what is sent and what an answer means. That is core's.

mod child;
mod command;
mod http;
mod local;
mod mcp;
mod patience;
mod reach;
mod remote;
mod saved;
mod slowed;
mod stoppable;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gbrain_core::id::PageKey;
use gbrain_core::latency::Timing;
use gbrain_core::provenance::{CorpusAt, Provenance};
use gbrain_core::replay::{Live, Lost};
use gbrain_core::request::Viewer;
use gbrain_core::target::{
    LOCAL, Question, TargetAnswer, TargetError, TargetErrorKind, TargetKind, TargetSettings,
};
use gbrain_llm::Environment;
use serde_json::Value;

use crate::EvalError;

pub(crate) use local::filter_of;
pub use local::{LocalOptions, LocalRetriever};
pub use reach::reach;
pub use slowed::SlowedRetriever;
pub use stoppable::StoppableRetriever;

use remote::Remote;

/// Answers questions from one corpus, from any number of threads at once.
pub trait Retriever: Sync {
    /// What is known of it before anything is asked.
    fn info(&self) -> &RetrieverInfo;

    /// Answers a question, or says why not. Waits for its turn, retries where that may help, and keeps to the
    /// target's time limit.
    fn retrieve(&self, question: &Question) -> Result<TargetAnswer, TargetError>;

    /// What the time of a question is measured by.
    fn timing(&self, question: &Question) -> Timing;

    /// The same retriever with the corpus of a capture; none if that corpus is not available.
    /// Past corpora are cheapest in the order of their generations.
    fn at_corpus(&self, corpus: &CorpusAt) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        let _ = corpus;
        Ok(None)
    }

    /// Where a page was dropped on the way to the answer.
    fn why_not(&self, question: &Question, page: &PageKey) -> Option<Lost> {
        let _ = (question, page);
        None
    }

    /// Which of these pages, named `source::slug`, exist for such a viewer.
    fn has_pages(&self, names: &[&str], viewer: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        let _ = (names, viewer);
        Ok(None)
    }

    /// Answers a question and shows the raw response, for the author of a target's settings.
    fn inspect(&self, question: &Question) -> Inspection {
        Inspection { raw: None, answer: self.retrieve(question) }
    }
}

impl<R: Retriever + ?Sized> Retriever for &R {
    fn info(&self) -> &RetrieverInfo {
        (**self).info()
    }

    fn retrieve(&self, question: &Question) -> Result<TargetAnswer, TargetError> {
        (**self).retrieve(question)
    }

    fn timing(&self, question: &Question) -> Timing {
        (**self).timing(question)
    }

    fn at_corpus(&self, corpus: &CorpusAt) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        (**self).at_corpus(corpus)
    }

    fn why_not(&self, question: &Question, page: &PageKey) -> Option<Lost> {
        (**self).why_not(question, page)
    }

    fn has_pages(&self, names: &[&str], viewer: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        (**self).has_pages(names, viewer)
    }

    fn inspect(&self, question: &Question) -> Inspection {
        (**self).inspect(question)
    }
}

/// What is known of a retriever before anything is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrieverInfo {
    /// The target's name in the settings; `local` is the local brain.
    pub name: String,
    /// What it is and where, for people; without secrets.
    pub place: String,
    pub provenance: Provenance,
    /// Settings and time of requests that have none of their own.
    pub live: Live,
    /// The most results that can be asked for.
    pub max_results: Option<usize>,
    /// How many pages the corpus has, where that is known.
    pub page_count: Option<u64>,
    pub capabilities: Capabilities,
}

/// What a retriever can do beside answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// Answers from the corpus of a capture ([`Retriever::at_corpus`]).
    pub past_corpora: bool,
    /// Reports what each stage found.
    pub stage_details: bool,
    /// Says why a page is not in an answer ([`Retriever::why_not`]).
    pub blame: bool,
    /// Knows which pages exist ([`Retriever::has_pages`]).
    pub page_lookup: bool,
    /// Reports the time of a request itself.
    pub own_timing: bool,
    /// Answers were recorded earlier, and take no time now.
    pub is_saved: bool,
}

/// A target's raw response, and what was understood of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// A text if the response is not JSON; none if there was none.
    pub raw: Option<Value>,
    pub answer: Result<TargetAnswer, TargetError>,
}

impl RetrieverInfo {
    pub fn is_local(&self) -> bool {
        self.name == LOCAL
    }

    /// The time of an answer in milliseconds: the retriever's own where it reports one.
    pub(crate) fn latency_of(&self, answer: &TargetAnswer) -> Option<f64> {
        let Capabilities { own_timing, is_saved, .. } = self.capabilities;
        match own_timing {
            _ if is_saved => None,
            true => Some(answer.total_ms()),
            false => Some(answer.latency_ms),
        }
    }

    /// An error in a row of a report. The local brain's kinds say nothing that its messages do not.
    pub(crate) fn error_text(&self, error: &TargetError) -> String {
        match self.is_local() || error.kind == TargetErrorKind::Cancelled {
            true => error.message.clone(),
            false => error.to_string(),
        }
    }
}

/// What targets need of their environment.
#[derive(Clone)]
pub struct Surroundings {
    pub environment: Environment,
    /// Paths in the settings are relative to this directory.
    pub dir: PathBuf,
    pub cancel: Arc<AtomicBool>,
}

impl Surroundings {
    fn path(&self, path: &Path) -> PathBuf {
        self.dir.join(path)
    }

    fn is_over(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Opens a target. Connections and programs are started by the first question; keys and files are read now.
/// `live` holds what requests have that say nothing themselves.
pub fn open(
    settings: TargetSettings,
    live: Live,
    surroundings: &Surroundings,
) -> Result<Box<dyn Retriever>, TargetError> {
    let (place, max_results) = (settings.place(), settings.most());
    let TargetSettings { name, kind, ids, document, workspace, most: _, limits } = settings;
    let naming = remote::Naming { ids, document };
    let target = Some(format!("{name} ({place})"));
    let info = RetrieverInfo {
        provenance: Provenance { target, ..Provenance::default() },
        name,
        place,
        live,
        max_results,
        page_count: None,
        capabilities: Capabilities { own_timing: true, ..Capabilities::default() },
    };
    let wire: Box<dyn remote::Wire> = match kind {
        TargetKind::Local => {
            let message = "the local brain is opened with its home";
            return Err(TargetError::new(TargetErrorKind::Unsupported, message));
        }
        TargetKind::Run(run) => {
            return Ok(Box::new(saved::Saved::open(info, run, naming, surroundings)?));
        }
        TargetKind::Http(target) => {
            Box::new(http::Http::open(target, naming, &limits, surroundings)?)
        }
        TargetKind::Mcp(target) => mcp::open(target, naming, &limits, surroundings)?,
        TargetKind::Command(program) => {
            Box::new(command::Command::new(program, naming, surroundings))
        }
    };
    let patience = patience::Patience::new(limits, surroundings.clone());
    Ok(Box::new(Remote { info, workspace, patience, wire }))
}
