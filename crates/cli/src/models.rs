//! Which embedding models there are: the built-in one, and one that the file plane names.

use std::path::Path;
use std::sync::Arc;

use gbrain_brain::built_in_models;
use gbrain_core::id::WorkspaceId;
use gbrain_embed::StaticTable;
use gbrain_index::Models;
use gbrain_llm::{Desk, ModelRef, RemoteEmbedder, Spending};
use gbrain_store::{Store, StoreError};
use serde_json::Value;

use crate::asking::desk;
use crate::error::CliError;
use crate::home::Home;

/// What calls that embed are charged for.
pub(crate) const EMBEDDING: &str = "embedding";

/// The model whose vectors new indexes hold.
#[derive(Clone)]
pub(crate) enum Wanted {
    /// One of this machine.
    Own(Models),
    /// One behind an address.
    Remote {
        /// Which.
        model: ModelRef,
        /// How many numbers its vectors have.
        dims: usize,
        /// Who is asked.
        desk: Desk,
    },
}

/// What the file plane says: `embedder.model`, `embedder.path`, or nothing for the built-in one.
pub(crate) fn models(home: &Home) -> Result<Wanted, CliError> {
    let text = |key: &str| match home.file.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(CliError::config(format!("config.json: `{key}` is not a text"))),
    };
    match (text("embedder.path")?, text("embedder.model")?) {
        (None, None) => Ok(Wanted::Own(built_in_models())),
        (Some(_), Some(_)) => {
            Err(CliError::config("config.json has both `embedder.path` and `embedder.model`")
                .hint("keep the one that is meant"))
        }
        (Some(path), None) => {
            let runtime = text("embedder.runtime")?.ok_or_else(|| {
                CliError::config("config.json has `embedder.path` but no `embedder.runtime`")
                    .hint("name the file of ONNX Runtime's library, such as libonnxruntime.so")
            })?;
            Ok(Wanted::Own(on_disk(Path::new(path), Path::new(runtime))?))
        }
        (None, Some(model)) => remote(home, model),
    }
}

fn remote(home: &Home, model: &str) -> Result<Wanted, CliError> {
    let model = model.parse().map_err(|error| {
        CliError::config(format!("config.json: `embedder.model`: {error}"))
            .hint("such as \"voyage:voyage-3-large\"")
    })?;
    let dims = home.file.get("embedder.dims").and_then(Value::as_u64);
    let dims = dims.and_then(|dims| usize::try_from(dims).ok());
    let dims = dims.filter(|dims| (8..=8192).contains(dims) && dims % 8 == 0).ok_or_else(|| {
        CliError::config("config.json has `embedder.model` but no `embedder.dims`")
            .hint("say how many numbers its vectors have, a multiple of 8: \"embedder\": { \"dims\": 1024 }")
    })?;
    Ok(Wanted::Remote { model, dims, desk: desk(home)? })
}

impl Wanted {
    /// The models of a workspace. Calls of a remote one are charged to its day.
    pub(crate) fn of(
        &self,
        store: &Arc<Store>,
        workspace: &WorkspaceId,
    ) -> Result<Models, StoreError> {
        let (model, dims, desk) = match self {
            Self::Own(models) => return Ok(models.clone()),
            Self::Remote { model, dims, desk } => (model.clone(), *dims, desk),
        };
        let settings = store.config_list(workspace)?.into_iter().collect();
        let spending = Spending {
            store: store.clone(),
            workspace: workspace.clone(),
            budget: None,
            per_day: Some(Desk::per_day(&settings)),
            purpose: EMBEDDING.to_owned(),
        };
        let asker = desk.asker().spending(spending.clone());
        let quick = desk.clone().quick().asker().spending(spending);
        let (store, workspace) = (store.clone(), workspace.clone());
        let remote = RemoteEmbedder::new(asker, quick, store, workspace, model, dims);
        Ok(Models::new(Arc::new(remote)).and(Arc::new(StaticTable::built_in())))
    }

    /// The models of brains in memory, which nobody pays for: never a remote one.
    pub(crate) fn of_nobody(self) -> Models {
        match self {
            Self::Own(models) => models,
            Self::Remote { .. } => built_in_models(),
        }
    }
}

#[cfg(feature = "onnx")]
fn on_disk(path: &Path, runtime: &Path) -> Result<Models, CliError> {
    let model = gbrain_embed::OnnxModel::open(path, runtime)
        .map_err(|error| CliError::config(error.to_string()))?;
    Ok(Models::new(Arc::new(model)).and(Arc::new(StaticTable::built_in())))
}

#[cfg(not(feature = "onnx"))]
fn on_disk(path: &Path, _: &Path) -> Result<Models, CliError> {
    let path = path.display();
    Err(CliError::config(format!("config.json names the model {path}, which needs ONNX Runtime"))
        .hint("build with `--features onnx`, or remove `embedder.path` for the built-in model"))
}
