//! Retrievers: the local brain, an HTTP API, an MCP server, a command, a saved run.
//!
//! Promises, for all of them: every failure has a kind; time and concurrency limits hold; only
//! transient failures (429, 5xx, timeouts) are retried; no message contains a secret; a started
//! program ends with the process that started it.
//!
//! Deliberately absent: building requests and interpreting responses, which core does.

mod child;
mod command;
mod http;
mod limiter;
mod local;
mod mcp;
mod reach;
mod remote;
mod saved;
mod slowed;
mod stoppable;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gbrain_core::id::PageKey;
use gbrain_core::latency::TimingMethod;
use gbrain_core::provenance::{CorpusSnapshot, Provenance};
use gbrain_core::replay::{LiveContext, LostPage};
use gbrain_core::request::Viewer;
use gbrain_core::target::{
    LOCAL, Question, TargetAnswer, TargetError, TargetErrorKind, TargetKind, TargetSettings,
};
use gbrain_llm::EnvLookup;
use serde_json::Value;

use crate::EvalError;

pub(crate) use local::filter_of;
pub use local::{LocalOptions, LocalRetriever};
pub use reach::reach;
pub use slowed::SlowedRetriever;
pub use stoppable::StoppableRetriever;

use remote::RemoteRetriever;

/// Answers questions from one corpus, from any number of threads.
pub trait Retriever: Sync {
    /// Facts about the retriever that are known before anything is asked.
    fn info(&self) -> &RetrieverInfo;

    /// Answers a question. Waits for its turn, retries transient failures, and respects the
    /// target's time limit.
    fn retrieve(&self, question: &Question) -> Result<TargetAnswer, TargetError>;

    /// The clock that measures the time of a question.
    fn timing(&self, question: &Question) -> TimingMethod;

    /// The same retriever with the corpus of a capture; `None` if that corpus is not available.
    /// Past corpora are cheapest in the order of their generations.
    fn at_corpus(
        &self,
        corpus: &CorpusSnapshot,
    ) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        let _ = corpus;
        Ok(None)
    }

    /// The stage at which a page was dropped.
    fn why_not(&self, question: &Question, page: &PageKey) -> Option<LostPage> {
        let _ = (question, page);
        None
    }

    /// Whether each of these pages, named `source::slug`, exists for a viewer; `None` if the
    /// retriever cannot tell.
    fn has_pages(&self, names: &[&str], viewer: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        let _ = (names, viewer);
        Ok(None)
    }

    /// Answers a question and returns the raw response, for authors of target settings.
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

    fn timing(&self, question: &Question) -> TimingMethod {
        (**self).timing(question)
    }

    fn at_corpus(
        &self,
        corpus: &CorpusSnapshot,
    ) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        (**self).at_corpus(corpus)
    }

    fn why_not(&self, question: &Question, page: &PageKey) -> Option<LostPage> {
        (**self).why_not(question, page)
    }

    fn has_pages(&self, names: &[&str], viewer: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        (**self).has_pages(names, viewer)
    }

    fn inspect(&self, question: &Question) -> Inspection {
        (**self).inspect(question)
    }
}

/// Facts about a retriever that are known before anything is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrieverInfo {
    /// The target's name in the settings; `local` is the local brain.
    pub name: String,
    /// Its kind and address for display, without secrets.
    pub place: String,
    pub provenance: Provenance,
    /// Settings and time for requests that specify none.
    pub live: LiveContext,
    /// The maximum number of results per request.
    pub max_results: Option<usize>,
    /// The number of pages in the corpus, if known.
    pub page_count: Option<u64>,
    pub capabilities: Capabilities,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// Answers from the corpus of a capture ([`Retriever::at_corpus`]).
    pub past_corpora: bool,
    /// Reports the candidates of each stage.
    pub stage_details: bool,
    /// Explains why a page is not in an answer ([`Retriever::why_not`]).
    pub blame: bool,
    /// Knows which pages exist ([`Retriever::has_pages`]).
    pub page_lookup: bool,
    /// Reports its own latency.
    pub own_timing: bool,
    /// Answers were recorded earlier and have no latency.
    pub is_saved: bool,
}

/// A target's raw response, and the answer read from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// A string if the response is not JSON; `None` if there was no response.
    pub raw: Option<Value>,
    pub answer: Result<TargetAnswer, TargetError>,
}

impl RetrieverInfo {
    pub fn is_local(&self) -> bool {
        self.name == LOCAL
    }

    /// The latency of an answer in milliseconds, as reported by the retriever if it reports one.
    pub(crate) fn latency_of(&self, answer: &TargetAnswer) -> Option<f64> {
        let Capabilities { own_timing, is_saved, .. } = self.capabilities;
        match own_timing {
            _ if is_saved => None,
            true => Some(answer.total_ms()),
            false => Some(answer.latency_ms),
        }
    }

    /// The text of an error in a report. Messages of the local brain need no kind in front.
    pub(crate) fn error_text(&self, error: &TargetError) -> String {
        match self.is_local() || error.kind == TargetErrorKind::Cancelled {
            true => error.message.clone(),
            false => error.to_string(),
        }
    }
}

/// The environment of targets: variables, base directory and cancellation.
#[derive(Clone)]
pub struct TargetEnvironment {
    pub lookup: EnvLookup,
    /// Paths in the settings are relative to this directory.
    pub dir: PathBuf,
    pub cancel: Arc<AtomicBool>,
}

impl TargetEnvironment {
    fn path(&self, path: &Path) -> PathBuf {
        self.dir.join(path)
    }

    fn is_over(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Opens a target. Keys and files are read now; connections and programs start with the first
/// question. `live` supplies the settings of requests that specify none.
pub fn open(
    settings: TargetSettings,
    live: LiveContext,
    environment: &TargetEnvironment,
) -> Result<Box<dyn Retriever>, TargetError> {
    let (place, max_results) = (settings.describe_address(), settings.max_results());
    let TargetSettings { name, kind, ids, document, workspace, most: _, limits } = settings;
    let mapping = remote::IdMapping { ids, document };
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
            return Ok(Box::new(saved::SavedRetriever::open(info, run, mapping, environment)?));
        }
        TargetKind::Http(target) => {
            Box::new(http::Http::open(target, mapping, &limits, environment)?)
        }
        TargetKind::Mcp(target) => mcp::open(target, mapping, &limits, environment)?,
        TargetKind::Command(program) => {
            Box::new(command::Command::new(program, mapping, environment))
        }
    };
    let limiter = limiter::RequestLimiter::new(limits, environment.clone());
    Ok(Box::new(RemoteRetriever { info, workspace, limiter, wire }))
}
