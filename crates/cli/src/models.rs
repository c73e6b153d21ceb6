//! Which embedding models there are: the built-in one, and one that the file plane names.

use gbrain_brain::built_in_models;
use gbrain_index::Models;
use serde_json::Value;

use crate::error::CliError;
use crate::home::Home;

/// The model that `embedder.path` names is wanted where it is set; the built-in one otherwise.
pub(crate) fn models(home: &Home) -> Result<Models, CliError> {
    match home.file.get("embedder.path") {
        None => Ok(built_in_models()),
        Some(Value::String(path)) => on_disk(home, path),
        Some(_) => Err(CliError::config("config.json: `embedder.path` is not a text")
            .hint("name the directory that holds model.onnx and vocab.txt")),
    }
}

#[cfg(feature = "onnx")]
fn on_disk(home: &Home, path: &str) -> Result<Models, CliError> {
    use std::path::Path;
    use std::sync::Arc;

    let runtime = home.file.get("embedder.runtime").and_then(Value::as_str).ok_or_else(|| {
        CliError::config("config.json has `embedder.path` but no `embedder.runtime`")
            .hint("name the file of ONNX Runtime's library, such as libonnxruntime.so")
    })?;
    let model = gbrain_embed::OnnxModel::open(Path::new(path), Path::new(runtime))
        .map_err(|error| CliError::config(error.to_string()))?;
    Ok(Models::new(Arc::new(model)).and(Arc::new(gbrain_embed::StaticTable::built_in())))
}

#[cfg(not(feature = "onnx"))]
fn on_disk(_: &Home, path: &str) -> Result<Models, CliError> {
    Err(CliError::config(format!("config.json names the model {path}, which needs ONNX Runtime"))
        .hint("build with `--features onnx`, or remove `embedder.path` for the built-in model"))
}
