//! Channels by name, as the current settings describe them.

use std::collections::BTreeMap;
use std::sync::Arc;

use gbrain_core::alert::NotifyPolicy;
use gbrain_core::alert::channel::{Channel, channel};
use gbrain_core::format::suite::SuiteFile;
use gbrain_core::suite::AlertRouting;
use gbrain_llm::EnvLookup;
use serde_json::Value;

/// The configured channels at one moment.
#[derive(Debug, Clone, Default)]
pub struct ChannelSettings {
    /// Channels, or why they are invalid, by name.
    pub channels: BTreeMap<String, Result<Channel, String>>,
    /// The suites file, for suites that are not registered.
    pub file: Option<SuiteFile>,
    /// Why not all of it could be read.
    pub problem: Option<String>,
}

/// The channel descriptions of all workspaces, and where their secrets are read.
#[derive(Clone)]
pub struct ChannelRegistry {
    pub read: Arc<dyn Fn() -> ChannelSettings + Send + Sync>,
    pub environment: EnvLookup,
}

/// How alerts are reported.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AlertSettings {
    /// How often a repeated alert is sent.
    pub policy: NotifyPolicy,
    /// The server's URL, for links.
    pub public_url: Option<String>,
    /// Whether messages contain the queries of failing cases.
    pub with_queries: bool,
}

impl ChannelSettings {
    /// Parses the descriptions in a channels file.
    pub fn parse<'a>(
        described: impl IntoIterator<Item = (&'a String, &'a Value)>,
        file: Option<SuiteFile>,
        problem: Option<String>,
    ) -> Self {
        let read = |(name, entry): (&String, &Value)| {
            (name.clone(), channel(name, entry).map_err(|error| error.to_string()))
        };
        let mut channels: BTreeMap<_, _> =
            file.iter().flat_map(|file| &file.channels).map(read).collect();
        // Channels in the home override those of the suites file.
        channels.extend(described.into_iter().map(read));
        Self { channels, file, problem }
    }

    /// A usable channel, or why there is none.
    pub fn channel(&self, name: &str) -> Result<&Channel, String> {
        match self.channels.get(name) {
            Some(found) => found.as_ref().map_err(Clone::clone),
            None => {
                let why = self.problem.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
                Err(format!(
                    "unknown channel `{name}`: add it to config.json or the suites file{why}"
                ))
            }
        }
    }

    /// The channels of a suite that is not registered.
    pub(super) fn alerting(&self, suite: &str, workspace: &str) -> Option<AlertRouting> {
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
