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
use crate::target::shape::{
    ApiKind, CustomApi, HttpMethod, ModeMeaning, RetrievalApi, SearchEffort,
};
use crate::target::template::RequestTemplate;

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
    /// Flags that report a bypassed reranker threshold.
    #[serde(default)]
    bypass: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApiPreset {
    pub(crate) path: String,
    pub(crate) max_results: Option<usize>,
    pub(crate) shape: RetrievalApi,
}

/// The preset of an API; none for [`ApiKind::Custom`], which the settings describe.
pub(crate) fn preset(
    api: ApiKind,
    mode_means: ModeMeaning,
    tier: Option<SearchEffort>,
) -> Option<ApiPreset> {
    if api == ApiKind::Gbrain {
        let (path, max_results) = ("/v1/query".to_owned(), Some(1000));
        return Some(ApiPreset { path, max_results, shape: RetrievalApi::Gbrain });
    }
    let Preset { path, max_k, mut body, response, bypass } = PRESETS.get(api.name())?.clone();
    if api == ApiKind::LightfastInternal && mode_means == ModeMeaning::QueryKind {
        body["mode"] = json!("{{query_kind}}");
    }
    if let Some(tier) = tier {
        body["mode"] = json!(tier.name());
    }
    let valid = "the presets are valid";
    let custom = CustomApi {
        method: HttpMethod::Post,
        params: Vec::new(),
        headers: Vec::new(),
        body: Some(RequestTemplate::parse(&body).expect(valid)),
        mapping: response.mapping().expect(valid),
        bypass: bypass.iter().map(|path| Path::parse(path).expect(valid)).collect(),
    };
    let shape = RetrievalApi::Custom(Box::new(custom));
    Some(ApiPreset { path, max_results: max_k, shape })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_api_but_the_custom_one_has_a_preset() {
        for api in ApiKind::ALL {
            let ready = preset(*api, ModeMeaning::default(), None);
            assert_eq!(ready.is_some(), *api != ApiKind::Custom, "{}", api.name());
        }
        assert_eq!(PRESETS.len(), ApiKind::ALL.len() - 2);
    }
}
