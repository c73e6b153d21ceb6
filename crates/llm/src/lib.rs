//! Model calls: chat, embeddings and rerank over HTTP, with prices, budgets and cassettes.
//!
//! Guarantees:
//! - Every call goes through [`ModelClient`]: it looks the reply up on a cassette, knows the price,
//!   charges the maximum cost before sending and the actual cost afterwards.
//! - A call that exceeds the budget is not made. A call of unknown cost is charged at its maximum.
//! - Keys are read when they are needed and never appear in an error, log, cassette or `Debug`
//!   output.
//! - Every failure has a kind ([`ModelCallErrorKind`]) and is never returned as a reply.
//!
//! Non-goals: streaming, tools, multi-turn conversations, a paid model that is used without being
//! named, async, reading the environment (lookups are arguments).

mod cassette;
mod catalog;
mod client;
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

pub use cassette::{Cassette, CassetteError, CassetteMode};
pub use catalog::{MODEL_VARIABLE, ModelCatalog, ModelTask, load_prices, usd_setting};
pub use client::{CallCost, EnvLookup, ModelClient, ModelLimits, TOKEN_BYTES};
pub use embedder::RemoteEmbedder;
pub use error::{ModelCallError, ModelCallErrorKind};
pub use expand::{Expansion, ask_variants, expansion_chat};
pub use gbrain_net::RetryPolicy;
pub use model::{ModelError, ModelRef, ModelSource, ModelsBySource, resolve_model};
pub use price::{Price, PriceError, Prices};
pub use provider::{Api, KeySource, Provider, ProviderError, Providers};
pub use setting::ModelSettingError;
pub use spending::{Allowance, Spending, SpendingLimit};
pub use wire::{Chat, EmbeddingPurpose, Reply, Schema, Usage};

/// The parsers of provider responses, for a fuzzing campaign.
#[doc(hidden)]
pub mod answers {
    pub use crate::wire::{parse_chat_reply, parse_embeddings, parse_rerank_scores, parse_usage};
}
