//! Presets for known APIs: data for the custom mapping, in `presets.json`.
//!
//! Traps that they know: an API that answers with 5 results unless asked for more hides ranks 6 to 10, so at least
//! 10 are asked for; reasons and passages come only when asked for; and `mode` is the retrieval mode in one
//! API, the kind of query in another, and how hard to try in a third.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::target::path::Path;
use crate::target::shape::{Api, Custom, Method, ModeMeans, Shape, Tier};
use crate::target::template::Template;

use super::WireResponse;

static PRESETS: LazyLock<BTreeMap<String, Preset>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("presets.json")).expect("the presets are valid")
});

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Preset {
    path: String,
    #[serde(default)]
    max_k: Option<usize>,
    body: Value,
    response: WireResponse,
    /// Flags that say that results below the reranker's threshold were kept.
    #[serde(default)]
    bypass: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReadyApi {
    pub(crate) path: String,
    pub(crate) max_results: Option<usize>,
    pub(crate) shape: Shape,
}

/// The preset of an API; none for [`Api::Custom`], which the settings describe.
pub(crate) fn preset(api: Api, mode_means: ModeMeans, tier: Option<Tier>) -> Option<ReadyApi> {
    if api == Api::Gbrain {
        let (path, max_results) = ("/v1/query".to_owned(), Some(1000));
        return Some(ReadyApi { path, max_results, shape: Shape::Gbrain });
    }
    let Preset { path, max_k, mut body, response, bypass } = PRESETS.get(api.name())?.clone();
    if api == Api::LightfastInternal && mode_means == ModeMeans::QueryKind {
        body["mode"] = json!("{{query_kind}}");
    }
    if let Some(tier) = tier {
        body["mode"] = json!(tier.name());
    }
    let valid = "the presets are valid";
    let custom = Custom {
        method: Method::Post,
        params: Vec::new(),
        headers: Vec::new(),
        body: Some(Template::parse(&body).expect(valid)),
        mapping: response.mapping().expect(valid),
        bypass: bypass.iter().map(|path| Path::parse(path).expect(valid)).collect(),
    };
    let shape = Shape::Custom(Box::new(custom));
    Some(ReadyApi { path, max_results: max_k, shape })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_api_but_the_custom_one_has_a_preset() {
        for api in Api::ALL {
            let ready = preset(*api, ModeMeans::default(), None);
            assert_eq!(ready.is_some(), *api != Api::Custom, "{}", api.name());
        }
        assert_eq!(PRESETS.len(), Api::ALL.len() - 2);
    }
}
