//! The embedding model of a home: the built-in one, or the one that config.json names.

use std::path::Path;
use std::sync::Arc;

use gbrain_brain::built_in_models;
use gbrain_core::id::WorkspaceId;
use gbrain_embed::StaticTable;
use gbrain_index::Models;
use gbrain_llm::{ModelCatalog, ModelRef, RemoteEmbedder, Spending};
use gbrain_store::{Store, StoreError};
use serde_json::Value;

use crate::error::CliError;
use crate::home::Home;
use crate::model_access::catalog;

/// The purpose under which embedding calls are charged.
pub(crate) const EMBEDDING: &str = "embedding";

/// The model whose vectors new indexes hold.
#[derive(Clone)]
pub(crate) enum EmbedderChoice {
    /// The local embedding models.
    Own(Models),
    /// A model that is called over an API.
    Remote {
        model: ModelRef,
        /// The dimension of its vectors.
        dims: usize,
        catalog: ModelCatalog,
    },
}

/// The model that config.json names: `embedder.model`, `embedder.path`, or neither for the built-in one.
pub(crate) fn configured_embedder(home: &Home) -> Result<EmbedderChoice, CliError> {
    let text = |key: &str| match home.file.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(CliError::config(format!("config.json: `{key}` must be a string"))),
    };
    match (text("embedder.path")?, text("embedder.model")?) {
        (None, None) => Ok(EmbedderChoice::Own(built_in_models())),
        (Some(_), Some(_)) => {
            Err(CliError::config("config.json has both `embedder.path` and `embedder.model`")
                .hint("remove one of them"))
        }
        (Some(path), None) => {
            let runtime = text("embedder.runtime")?.ok_or_else(|| {
                CliError::config("config.json has `embedder.path` but no `embedder.runtime`")
                    .hint("set `embedder.runtime` to the path of the ONNX Runtime library, such as libonnxruntime.so")
            })?;
            Ok(EmbedderChoice::Own(on_disk(Path::new(path), Path::new(runtime))?))
        }
        (None, Some(model)) => remote(home, model),
    }
}

fn remote(home: &Home, model: &str) -> Result<EmbedderChoice, CliError> {
    let model = model.parse().map_err(|error| {
        CliError::config(format!("config.json: `embedder.model`: {error}"))
            .hint("write it as PROVIDER:MODEL, such as \"voyage:voyage-3-large\"")
    })?;
    let dims = home.file.get("embedder.dims").and_then(Value::as_u64);
    let dims = dims.and_then(|dims| usize::try_from(dims).ok());
    let dims = dims.filter(|dims| (8..=8192).contains(dims) && dims % 8 == 0).ok_or_else(|| {
        CliError::config("config.json has `embedder.model` but no valid `embedder.dims`").hint(
            "set the dimension of its vectors, a multiple of 8: \"embedder\": { \"dims\": 1024 }",
        )
    })?;
    Ok(EmbedderChoice::Remote { model, dims, catalog: catalog(home)? })
}

impl EmbedderChoice {
    /// The models of a workspace. Calls of a remote model are charged to the workspace's daily budget.
    pub(crate) fn for_workspace(
        &self,
        store: &Arc<Store>,
        workspace: &WorkspaceId,
    ) -> Result<Models, StoreError> {
        let (model, dims, catalog) = match self {
            Self::Own(models) => return Ok(models.clone()),
            Self::Remote { model, dims, catalog } => (model.clone(), *dims, catalog),
        };
        let settings = store.config_list(workspace)?.into_iter().collect();
        let spending = Spending {
            store: store.clone(),
            workspace: workspace.clone(),
            budget: None,
            per_day: Some(ModelCatalog::per_day(&settings)),
            purpose: EMBEDDING.to_owned(),
        };
        let client = catalog.client().spending(spending.clone());
        let quick = catalog.clone().with_short_timeouts().client().spending(spending);
        let (store, workspace) = (store.clone(), workspace.clone());
        let remote = RemoteEmbedder::new(client, quick, store, workspace, model, dims);
        Ok(Models::new(Arc::new(remote)).and(Arc::new(StaticTable::built_in())))
    }

    /// The models of in-memory brains. They have no budget, so a remote model is replaced by the built-in one.
    pub(crate) fn local_only(self) -> Models {
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
