//! `gbrain models`: the model of each task, and prices. Contacts no model.

use clap::{Args, Subcommand};
use gbrain_llm::{KeySource, ModelCatalog, ModelTask};
use serde_json::{Value, json};

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::model_access::{PRICES, catalog, settings, usd_json};
use crate::terminal::table;

#[derive(Debug, Args)]
#[command(
    after_help = "A model is chosen by the first of: a flag, the command's setting, GBRAIN_MODEL, the \
    family's setting\n(models.answer, models.judge), models.default, the built-in one. The three models of a \
    panel and a\nreranker have their own settings only.\n\n\
    Examples:\n  gbrain models\n  gbrain config set models.judge anthropic:claude-haiku-4-5\n  \
    gbrain models prices\n\n\
    Prices of your own go to prices.json in the home:\n  \
    {\"lab:llama\": {\"input_usd_per_million\": 0.1, \"output_usd_per_million\": 0.4, \"source\": \"our bill\", \
    \"date\": \"2026-01-31\"}}\n\
    Providers of your own go to config.json:\n  \
    {\"llm\": {\"providers\": {\"lab\": {\"base_url\": \"http://10.0.0.2:8000/v1\", \"key_env\": \"LAB_KEY\"}}}}"
)]
pub(crate) struct ModelsArgs {
    #[command(subcommand)]
    command: Option<ModelsCommand>,
}

#[derive(Debug, Subcommand)]
enum ModelsCommand {
    /// List every price with its source.
    Prices,
}

pub(crate) fn run(context: &CommandContext<'_>, args: &ModelsArgs) -> Result<Exit, CliError> {
    let catalog = catalog(&context.home)?;
    match args.command {
        Some(ModelsCommand::Prices) => prices(context, &catalog),
        None => choices(context, &catalog)?,
    }
    Ok(Exit::Pass)
}

fn prices(context: &CommandContext<'_>, catalog: &ModelCatalog) {
    let entries: Vec<_> = catalog.prices.iter().collect();
    if context.terminal.is_json() {
        let entry = |(name, price): &(&str, &gbrain_llm::Price)| {
            json!({
                "model": name,
                "input_usd_per_million": usd_json(price.input),
                "output_usd_per_million": usd_json(price.output),
                "usd_per_thousand_searches": usd_json(price.searches),
                "source": price.source, "date": price.date,
            })
        };
        context.terminal.json(&json!({ "prices": entries.iter().map(entry).collect::<Vec<_>>() }));
        return;
    }
    context.terminal.out_paged(table(
        &["model", "million in", "million out", "1000 searches", "date", "source"],
        entries.iter().map(|(name, price)| {
            let amounts = [price.input, price.output, price.searches].map(|usd| usd.to_string());
            let [input, output, searches] = amounts;
            let (date, source) = (price.date.clone(), price.source.clone());
            vec![(*name).to_owned(), input, output, searches, date, source]
        }),
    ));
    let path = context.home.dir.join(PRICES);
    context.terminal.remark(format!("your own prices: {}", path.display()));
}

fn choices(context: &CommandContext<'_>, catalog: &ModelCatalog) -> Result<(), CliError> {
    let store = context.store()?;
    let settings = settings(&store, &context.home.workspace)?;
    let client = catalog.client();
    let mut rows = Vec::new();
    for task in ModelTask::ALL {
        let chosen = catalog.choose(task, None, &settings);
        let chosen = chosen.map_err(|error| CliError::config(error.to_string()))?;
        let (model, by) = chosen
            .map_or(("none".to_owned(), ""), |(model, source)| (model.to_string(), source.name()));
        let state = match model.parse() {
            Ok(model) => client.ready(&model).map_or_else(|error| error.kind.name(), |()| "ready"),
            Err(_) => "",
        };
        rows.push([task.key(), &model, by, state].map(str::to_owned));
    }
    let variables = context.home.variables.0;
    let providers = catalog.providers.iter().map(|provider| {
        let key = match &provider.key {
            KeySource::None => "no key needed".to_owned(),
            KeySource::Env(name) => name.clone(),
            KeySource::File(path) => path.display().to_string(),
        };
        let there = if provider.has_key(&variables) { "yes" } else { "no" };
        let (name, api) = (provider.name.clone(), provider.api.name().to_owned());
        [name, api, provider.base_url.clone(), key, there.to_owned()]
    });
    let providers: Vec<[String; 5]> = providers.collect();
    if context.terminal.is_json() {
        let choice = |row: &[String; 4]| {
            let [setting, model, by, state] = row;
            json!({ "setting": setting, "model": model, "chosen_by": by, "state": state })
        };
        let provider = |row: &[String; 5]| {
            let [name, api, base_url, key, there] = row;
            json!({ "name": name, "api": api, "base_url": base_url, "key": key, "has_key": there == "yes" })
        };
        context.terminal.json(&json!({
            "models": rows.iter().map(choice).collect::<Vec<Value>>(),
            "providers": providers.iter().map(provider).collect::<Vec<Value>>(),
        }));
        return Ok(());
    }
    let headings = ["setting", "model", "chosen by", "state"];
    context.terminal.out_paged(table(&headings, rows.into_iter().map(Vec::from)));
    let headings = ["provider", "speaks", "at", "key", "there"];
    context.terminal.out_paged(table(&headings, providers.into_iter().map(Vec::from)));
    Ok(())
}
