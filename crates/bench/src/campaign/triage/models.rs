//! Models of a brain, served on loopback, and what is wrong with them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use serde_json::json;

use gbrain_testkit::providers::{Fault, ProviderServer};

/// The planted faults of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    None,
    Status(u16),
    /// They answer with something else.
    Garbage,
    /// Their answers break off.
    Cut,
}

/// Models that a home asks.
pub struct Models {
    _server: ProviderServer,
    fails: Arc<AtomicBool>,
}

/// The variable that holds their key.
pub const KEY: (&str, &str) = ("TEST_KEY", "campaign");

impl Models {
    /// A reranker.
    pub fn start(home: &Path, trouble: Trouble) -> Result<Self> {
        Self::serve(home, trouble, true, json!({}))
    }

    /// A model that embeds, well until it is told to fail.
    pub fn embedding(home: &Path, trouble: Trouble) -> Result<Self> {
        Self::serve(home, trouble, false, json!({ "model": "voyage:m", "dims": 64 }))
    }

    /// From now on they fail.
    pub fn fail(&self) {
        self.fails.store(true, Ordering::Release);
    }

    fn serve(
        home: &Path,
        trouble: Trouble,
        fails: bool,
        embedder: serde_json::Value,
    ) -> Result<Self> {
        let fails = Arc::new(AtomicBool::new(fails));
        let told = fails.clone();
        let fault = move |_| match trouble {
            _ if !told.load(Ordering::Acquire) => Fault::None,
            Trouble::None => Fault::None,
            Trouble::Status(status) => Fault::Status(status, None),
            Trouble::Garbage => Fault::Garbage,
            Trouble::Cut => Fault::Cut,
        };
        let server = ProviderServer::start(|_| String::new(), fault)?;
        let provider = json!({ "base_url": format!("{}/v1", server.url()), "key_env": KEY.0 });
        let mut config = json!({
            "format": "gbrain/1",
            "llm": {
                "providers": { "jina": provider, "voyage": provider },
                "timeout_seconds": 2, "attempts": 1,
            },
        });
        if embedder["model"].is_string() {
            config["embedder"] = embedder;
        }
        std::fs::write(home.join("config.json"), config.to_string())?;
        let price = json!({
            "input_usd_per_million": 0.001, "output_usd_per_million": 0.001,
            "source": "a campaign", "date": "2026-01-01",
        });
        let prices = json!({ "jina:m": price, "voyage:m": price });
        std::fs::write(home.join("prices.json"), prices.to_string())?;
        Ok(Self { _server: server, fails })
    }
}
