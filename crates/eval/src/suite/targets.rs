//! Targets by name, for whoever runs a suite: the local brain, and those that settings describe.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use gbrain_brain::{Assistants, Brain, BrainError};
use gbrain_core::clock::moment;
use gbrain_core::fault::chain;
use gbrain_core::replay::Live;
use gbrain_core::request::Viewer;
use gbrain_core::search::Settings;
use gbrain_core::target::{LOCAL, TargetError, TargetErrorKind, TargetSettings};
use gbrain_llm::Environment;

use crate::retriever::{LocalOptions, LocalRetriever, Retriever, Surroundings, open};

/// Looks the settings of a target up.
pub type FindTarget = dyn Fn(&str) -> Result<TargetSettings, TargetError> + Send + Sync;

/// Where targets are looked up.
#[derive(Clone)]
pub struct TargetRegistry {
    /// What settings say of a target.
    pub find: Arc<FindTarget>,
    pub environment: Environment,
    /// Where paths of the settings begin.
    pub dir: PathBuf,
}

impl TargetRegistry {
    /// Opens a target.
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
        let surroundings = Surroundings {
            environment: self.environment.clone(),
            dir: self.dir.clone(),
            cancel: stop.clone(),
        };
        open((self.find)(name)?, Live::at(moment(SystemTime::now())), &surroundings)
    }
}

fn failed(why: String) -> TargetError {
    TargetError::new(TargetErrorKind::Unavailable, why)
}

/// The local brain as it answers callers over a wire: runs are read over one, so nothing private is in them.
pub fn local<'a>(
    brain: &'a Brain,
    settings: Settings,
    assistants: Option<&'a Assistants>,
    stop: &AtomicBool,
) -> Result<LocalRetriever<'a>, TargetError> {
    let live = Live { settings, now: moment(SystemTime::now()) };
    let options = LocalOptions { live, viewer: Viewer::Untrusted, assistants };
    let going = |_: i64, _: i64| match stop.load(Ordering::Acquire) {
        true => Err(BrainError::Halted),
        false => Ok(()),
    };
    LocalRetriever::newest(brain, options, &going).map_err(|error| failed(chain(&error)))
}
