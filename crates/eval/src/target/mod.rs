//! Asking targets: the local brain, an HTTP API, an MCP server, a command, a saved run.
//!
//! Promises, for all of them: what fails has a kind; a time limit and a number of questions at once are
//! kept; what may pass (429, 5xx, no answer in time) is tried again and nothing else is; secrets are in no
//! message; a program that was started ends with whoever started it.
//!
//! Deliberately absent: what is sent and what an answer means, which are core's.

mod as_target;
mod child;
mod command;
mod http;
mod local;
mod mcp;
mod patience;
mod reach;
mod remote;
mod saved;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gbrain_core::target::{
    Question, TargetAnswer, TargetError, TargetErrorKind, TargetKind, TargetSettings,
};
use gbrain_llm::Environment;
use serde_json::Value;

pub use as_target::AsTarget;
pub(crate) use local::filter_of;
pub use local::{LocalAsk, LocalOptions};
pub use reach::reach;

use remote::Remote;

/// Something that answers questions, from any number of threads at once.
pub trait Ask: Sync {
    /// Answers a question, or says why not. Waits for its turn, tries again where that may help, and
    /// keeps to the target's time limit.
    fn ask(&self, question: &Question) -> Result<TargetAnswer, TargetError>;

    /// The target's name in the settings; `local` is the local brain.
    fn name(&self) -> &str;

    /// What it is and where, for people; no secret is in it.
    fn place(&self) -> String;

    /// The most results that can be asked for.
    fn most(&self) -> Option<usize> {
        None
    }

    /// Whether answers take the time that they say: a saved run has none.
    fn is_timed(&self) -> bool {
        true
    }

    /// Answers a question and shows what the target said, for whoever writes its settings.
    fn look(&self, question: &Question) -> Look {
        Look { said: None, answer: self.ask(question) }
    }
}

/// What a target said, and what was understood of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// As it was said; a text where it is not said in JSON, none if nothing was.
    pub said: Option<Value>,
    /// As it was understood.
    pub answer: Result<TargetAnswer, TargetError>,
}

/// What targets need of the world.
#[derive(Clone)]
pub struct Surroundings {
    /// Looks variables up.
    pub environment: Environment,
    /// Where paths of the settings begin.
    pub dir: PathBuf,
    /// Set when somebody wants to stop.
    pub cancel: Arc<AtomicBool>,
}

impl Surroundings {
    /// A path of the settings.
    fn path(&self, path: &Path) -> PathBuf {
        self.dir.join(path)
    }

    fn is_over(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// A target that is not the local brain, ready to be asked. Connections and programs are started by the
/// first question; keys and files are read now.
pub fn open(
    settings: TargetSettings,
    surroundings: &Surroundings,
) -> Result<Box<dyn Ask>, TargetError> {
    let place = settings.place();
    let most = settings.most();
    let TargetSettings { name, kind, ids, document, workspace, most: _, limits } = settings;
    let naming = remote::Naming { ids, document };
    let with = |wire: Box<dyn remote::Wire>| -> Box<dyn Ask> {
        let patience = patience::Patience::new(limits, surroundings.clone());
        Box::new(Remote { name: name.clone(), place, most, workspace, patience, wire })
    };
    Ok(match kind {
        TargetKind::Local => {
            let message = "the local brain is opened with its home";
            return Err(TargetError::new(TargetErrorKind::Unsupported, message));
        }
        TargetKind::Http(target) => {
            with(Box::new(http::Http::open(target, naming, &limits, surroundings)?))
        }
        TargetKind::Mcp(target) => mcp::open(target, naming, &limits, surroundings).map(with)?,
        TargetKind::Command(program) => {
            with(Box::new(command::Command::new(program, naming, surroundings)))
        }
        TargetKind::Run(run) => Box::new(saved::Saved::open(name, run, naming, surroundings)?),
    })
}
