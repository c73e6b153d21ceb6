//! Opens the targets of suites by name: the local brain, and those that the settings describe.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use gbrain_brain::{Assistants, Brain, BrainError};
use gbrain_core::clock::moment;
use gbrain_core::fault::chain;
use gbrain_core::replay::LiveContext;
use gbrain_core::request::Viewer;
use gbrain_core::search::Settings;
use gbrain_core::target::{LOCAL, TargetError, TargetErrorKind, TargetSettings};
use gbrain_llm::EnvLookup;

use crate::retriever::{LocalOptions, LocalRetriever, Retriever, TargetEnvironment, open};

/// Looks up the settings of a target by name.
pub type FindTarget = dyn Fn(&str) -> Result<TargetSettings, TargetError> + Send + Sync;

/// The targets that suites can name.
#[derive(Clone)]
pub struct TargetRegistry {
    pub find: Arc<FindTarget>,
    pub environment: EnvLookup,
    /// The directory that paths in the settings are relative to.
    pub dir: PathBuf,
}

impl TargetRegistry {
    pub fn open<'a>(
        &self,
        name: &str,
        brain: &'a Brain,
        assistants: Option<&'a Assistants>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Box<dyn Retriever + 'a>, TargetError> {
        if name == LOCAL {
            let settings = brain.settings().map_err(|error| failed(chain(&error)))?;
            return Ok(Box::new(local(brain, settings, assistants, stop)?));
        }
        let environment = TargetEnvironment {
            lookup: self.environment.clone(),
            dir: self.dir.clone(),
            cancel: stop.clone(),
        };
        open((self.find)(name)?, LiveContext::at(moment(SystemTime::now())), &environment)
    }
}

fn failed(why: String) -> TargetError {
    TargetError::new(TargetErrorKind::Unavailable, why)
}

/// The local brain as untrusted callers see it: runs are shown to them, so they must contain
/// nothing private.
pub fn local<'a>(
    brain: &'a Brain,
    settings: Settings,
    assistants: Option<&'a Assistants>,
    stop: &AtomicBool,
) -> Result<LocalRetriever<'a>, TargetError> {
    let live = LiveContext { settings, now: moment(SystemTime::now()) };
    let options = LocalOptions { live, viewer: Viewer::Untrusted, assistants };
    let going = |_: i64, _: i64| match stop.load(Ordering::Acquire) {
        true => Err(BrainError::Halted),
        false => Ok(()),
    };
    LocalRetriever::newest(brain, options, &going).map_err(|error| failed(chain(&error)))
}
