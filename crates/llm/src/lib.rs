//! Asking models: chat, embeddings and rerank over HTTP, with prices, budgets and cassettes.
//!
//! Promises:
//! - Every call goes through one door, [`Asker`]: it looks the answer up in a cassette, knows the price,
//!   charges the worst case before anything is sent and what it did cost after.
//! - A call that can't be afforded is not made. A call of which nobody knows what it cost is charged at
//!   its worst.
//! - Keys are read where they are needed and are in no error, no log, no cassette and no `Debug`.
//! - What failed has a kind of its own ([`AskErrorKind`]); nothing that failed is an answer.
//!
//! Deliberately absent: streaming, tools, a conversation, a default model that costs money without being
//! named, async, the environment (lookups are arguments).

mod ask;
mod cassette;
mod desk;
mod embedder;
mod error;
mod expand;
mod http;
mod model;
mod price;
mod provider;
mod reach;
mod setting;
mod spending;
mod wire;

pub use ask::{Asker, Bill, Environment, Limits, TOKEN_BYTES};
pub use cassette::{Cassette, CassetteError, CassetteMode};
pub use desk::{Desk, MODEL_VARIABLE, Task, amount, prices_with};
pub use embedder::RemoteEmbedder;
pub use error::{AskError, AskErrorKind};
pub use expand::{Expansion, ask_variants, expansion_chat};
pub use gbrain_net::Retry;
pub use model::{ModelChoice, ModelError, ModelRef, ModelSource, resolve_model};
pub use price::{Price, PriceError, Prices};
pub use provider::{Api, KeySource, Provider, ProviderError, Providers};
pub use setting::ModelSettingError;
pub use spending::{Allowance, Spending, SpendingLimit};
pub use wire::{Chat, Purpose, Reply, Schema, Usage};

/// The readers of providers' answers, for a campaign that feeds them hostile ones.
#[doc(hidden)]
pub mod answers {
    pub use crate::wire::{embedded, replied, reranked, used};
}
