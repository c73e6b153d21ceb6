//! A server, a store, and a door to models between them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_llm::{
    Chat, ModelClient, ModelLimits, ModelRef, Prices, Providers, RetryPolicy, Spending,
};
use gbrain_store::{Budget, Location, OpenMode, Store};
use serde_json::{Value, json};
use tempfile::TempDir;

use gbrain_testkit::providers::{self, Asked, Fault, ProviderServer};

/// A key that must be seen nowhere but in a header.
pub(crate) const KEY: &str = "test-key-7f3a9c";

/// Quick to give up.
pub(crate) const LIMITS: ModelLimits = ModelLimits {
    timeout: Duration::from_secs(1),
    retry: RetryPolicy {
        attempts: 3,
        first: Duration::from_millis(5),
        max_wait: Duration::from_secs(1),
    },
    concurrency: 32,
};

pub(crate) struct Site {
    pub(crate) server: ProviderServer,
    pub(crate) store: Arc<Store>,
    pub(crate) dir: TempDir,
}

impl Site {
    /// A server that repeats what it is asked.
    pub(crate) fn new(faults: impl Fn(u64) -> Fault + Send + Sync + 'static) -> Self {
        Self::saying(
            |asked| match asked {
                Asked::Chat { user, .. } => format!("you said {user}"),
                _ => String::new(),
            },
            faults,
        )
    }

    pub(crate) fn saying(
        says: impl Fn(&Asked) -> String + Send + Sync + 'static,
        faults: impl Fn(u64) -> Fault + Send + Sync + 'static,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(dir.path().join("brain.db"));
        let store =
            gbrain_store::Store::open(&location, OpenMode::Use, jiff::Timestamp::now()).unwrap();
        let server = ProviderServer::start(says, faults).unwrap();
        Self { server, store: store.into(), dir }
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        Path::new(self.dir.path()).join(name)
    }

    /// Every provider, at the server.
    pub(crate) fn providers(&self) -> Providers {
        let mut settings = self.server.settings();
        settings.insert("ollama".to_owned(), self.server.setting("/v1"));
        Providers::with(&settings).unwrap()
    }

    /// A door with a budget, in dollars.
    pub(crate) fn client(&self, budget: &str) -> ModelClient {
        self.asker_without_money().spending(self.spending(budget))
    }

    pub(crate) fn spending(&self, budget: &str) -> Spending {
        let cap = budget.parse().unwrap();
        Spending {
            store: self.store.clone(),
            workspace: WorkspaceId::default(),
            budget: Some(Budget { name: "run".to_owned(), cap }),
            per_day: None,
            purpose: "test".to_owned(),
        }
    }

    pub(crate) fn asker_without_money(&self) -> ModelClient {
        self.client_with(LIMITS)
    }

    /// A door without money and with limits.
    pub(crate) fn client_with(&self, limits: ModelLimits) -> ModelClient {
        let environment = |name: &str| (name == "TEST_KEY").then(|| KEY.to_owned());
        ModelClient::new(self.providers(), prices(), limits, Arc::new(environment))
    }

    pub(crate) fn charged(&self) -> Usd {
        let budget = self.store.budget(&WorkspaceId::default(), "run").unwrap();
        budget.map_or(Usd::ZERO, |budget| budget.charged)
    }
}

/// One dollar for a million tokens in, two for a million out.
pub(crate) fn prices() -> Prices {
    let mut table = providers::prices();
    table.insert("ollama:m".to_owned(), providers::price());
    let searches = json!({
        "usd_per_thousand_searches": 2, "source": "a test", "date": "2026-01-01",
    });
    table.insert("cohere:rerank-v3.5".to_owned(), searches);
    Prices::parse(&Value::Object(table).to_string()).unwrap()
}

pub(crate) fn model(name: &str) -> ModelRef {
    name.parse().unwrap()
}

pub(crate) fn chat(user: &str) -> Chat {
    Chat {
        system: "Repeat.".to_owned(),
        user: user.to_owned(),
        max_tokens: 100,
        schema: None,
        repeat: 0,
    }
}
