//! The ranking of a query explained, with other settings if wanted.

use std::collections::BTreeMap;

use gbrain_console::Page;
use gbrain_console::page::explain::{
    self, BaselineList, ExplainQuery, ExplainView, Explanation, SETTING_PREFIX, SettingsTrial,
};
use gbrain_core::fault::{Fault, FaultKind};
use serde::Deserialize;
use serde_json::json;

use crate::console::Fields;
use crate::console::call::ConsoleCall;

pub(super) fn page(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let query = query(fields);
    let baselines: BaselineList = match call.may("list_baselines") {
        true => call.read("list_baselines", &[])?,
        false => BaselineList::default(),
    };
    let explanation = match query.q.trim().is_empty() {
        true => None,
        false => Some(explanation(call, &query)?),
    };
    let trial = match &explanation {
        Some(explanation) if call.may("try_settings") && !query.baseline.is_empty() => {
            trial(call, &query, explanation)?
        }
        _ => None,
    };
    Ok(explain::page(&ExplainView {
        query,
        explanation: explanation.as_ref(),
        trial: trial.as_ref(),
        baselines: &baselines.documents,
    }))
}

fn query(fields: &Fields) -> ExplainQuery {
    let text = |name: &str| fields.get(name).unwrap_or_default().to_owned();
    let setting = |(name, value): &(String, String)| {
        Some((name.strip_prefix(SETTING_PREFIX)?.to_owned(), value.clone()))
    };
    ExplainQuery {
        q: text("q"),
        operation: text("operation"),
        limit: text("limit"),
        page: text("page"),
        baseline: text("baseline"),
        settings: fields.0.iter().filter_map(setting).collect(),
    }
}

/// The settings as numbers.
fn tried(query: &ExplainQuery) -> Result<BTreeMap<&str, f64>, Fault> {
    let number = |(name, value): &'_ (String, String)| -> Result<f64, Fault> {
        value.parse().map_err(|_| {
            Fault::usage(format!("the setting `{name}` is {value:?}, expected a number"))
        })
    };
    let given = query.settings.iter().filter(|(_, value)| !value.is_empty());
    given.map(|pair| Ok((pair.0.as_str(), number(pair)?))).collect()
}

fn explanation(call: &ConsoleCall<'_>, query: &ExplainQuery) -> Result<Explanation, Fault> {
    let mut ask = json!({ "query": query.q });
    if !query.limit.is_empty() {
        let limit: u16 = query
            .limit
            .parse()
            .map_err(|_| Fault::usage("`limit` takes a number from 1 to 1000"))?;
        ask["limit"] = limit.into();
    }
    if !query.page.trim().is_empty() {
        ask["why_not"] = whole_name(call, query.page.trim()).into();
    }
    let mut body = json!({ "ask": ask, "settings": tried(query)? });
    if !query.operation.is_empty() {
        body["operation"] = query.operation.as_str().into();
    }
    call.send("explain", &[], &body)
}

/// A page by its slug alone, in whichever source it is.
fn whole_name(call: &ConsoleCall<'_>, page: &str) -> String {
    #[derive(Deserialize)]
    struct PageName {
        source_id: String,
        slug: String,
    }
    match call.read::<PageName>("get_page", &[("page", page)]) {
        Ok(PageName { source_id, slug }) => format!("{source_id}::{slug}"),
        Err(_) => page.to_owned(),
    }
}

/// The rows of a baseline that the changed settings would change. A baseline that is gone, or that
/// cannot be tried, does not keep the ranking from its reader.
fn trial(
    call: &ConsoleCall<'_>,
    query: &ExplainQuery,
    explanation: &Explanation,
) -> Result<Option<SettingsTrial>, Fault> {
    let changed: BTreeMap<&str, f64> = explanation
        .settings
        .iter()
        .filter(|setting| setting.value != setting.live)
        .map(|setting| (setting.name.as_str(), setting.value))
        .collect();
    if changed.is_empty() {
        return Ok(None);
    }
    match call.send("try_settings", &[("name", &query.baseline)], &json!({ "settings": changed })) {
        Ok(trial) => Ok(Some(trial)),
        Err(fault) if fault.kind == FaultKind::NotFound => Ok(None),
        Err(fault) => Err(fault),
    }
}
