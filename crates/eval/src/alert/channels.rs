//! Channels by name, for whoever looks or sends, as settings describe them at that moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use gbrain_core::alert::Policy;
use gbrain_core::alert::channel::{Channel, channel};
use gbrain_core::format::suite::SuiteFile;
use gbrain_core::suite::Alerting;
use gbrain_llm::Environment;
use serde_json::Value;

/// What settings say of channels at one moment.
#[derive(Debug, Clone, Default)]
pub struct Channels {
    /// Channels, or what is wrong with them, by name.
    pub channels: BTreeMap<String, Result<Channel, String>>,
    /// The file of suites, for those that only it knows.
    pub file: Option<SuiteFile>,
    /// Why not all of it could be read.
    pub problem: Option<String>,
}

/// Where channels are looked up.
#[derive(Clone)]
pub struct ChannelRegistry {
    /// What settings say now.
    pub read: Arc<dyn Fn() -> Channels + Send + Sync>,
    pub environment: Environment,
}

/// How alerts are told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AlertSettings {
    /// How often the same thing is told.
    pub policy: Policy,
    /// Where the server is reached, for links.
    pub public_url: Option<String>,
    /// Whether messages say what failing cases ask.
    pub with_queries: bool,
}

impl Channels {
    /// What described channels come to.
    pub fn of<'a>(
        described: impl IntoIterator<Item = (&'a String, &'a Value)>,
        file: Option<SuiteFile>,
        problem: Option<String>,
    ) -> Self {
        let read = |(name, entry): (&String, &Value)| {
            (name.clone(), channel(name, entry).map_err(|error| error.to_string()))
        };
        let mut channels: BTreeMap<_, _> =
            file.iter().flat_map(|file| &file.channels).map(read).collect();
        // What the home says beats what a file of suites says.
        channels.extend(described.into_iter().map(read));
        Self { channels, file, problem }
    }

    /// A channel that can be sent to, or why there is none.
    pub fn channel(&self, name: &str) -> Result<&Channel, String> {
        match self.channels.get(name) {
            Some(found) => found.as_ref().map_err(Clone::clone),
            None => {
                let why = self.problem.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
                Err(format!(
                    "nobody describes the channel `{name}`, neither config.json nor the suites' file{why}"
                ))
            }
        }
    }

    /// Who is told of a suite that is not registered.
    pub(super) fn alerting(&self, suite: &str, workspace: &str) -> Option<Alerting> {
        Some(self.file.as_ref()?.find(suite, workspace)?.suite().ok()?.alerts)
    }
}

impl ChannelRegistry {
    /// Variables of a channel that are not set.
    pub fn unset<'c>(&self, channel: &'c Channel) -> Vec<&'c str> {
        let is_unset =
            |name: &&str| (self.environment)(name).is_none_or(|value| value.trim().is_empty());
        channel.variables().into_iter().filter(is_unset).collect()
    }
}
