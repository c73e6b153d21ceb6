//! `gbrain targets`: the retrieval systems that can be measured beside the local brain.

mod vectors;

use clap::{Args, Subcommand};
use gbrain_core::fault::one_line;
use gbrain_core::format::target::AnswerBody;
use gbrain_core::request::RetrievalMode;
use gbrain_core::target::{
    Question, TargetAnswer, TargetError, TargetErrorKind, TargetResult, TargetTimings,
};
use gbrain_eval::retriever::{Inspection, Retriever};
use serde_json::{Value, json};

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::targets::{ConfiguredTarget, all_targets, find_target, with_target};
use crate::terminal::{field, table};

#[derive(Debug, Args)]
#[command(
    after_help = "Targets are described in config.json or under `targets` in the file of suites, for example:
  { \"targets\": { \"prod\": { \"kind\": \"http\", \"api\": \"lightfast-v1\", \"url\": \"https://api.example.com\",
                           \"key_env\": \"PROD_KEY\" } } }
Kinds are http (lightfast-internal, lightfast-v1, lightfast-2026, gbrain, custom), mcp, command and run;
`local` is always there. docs/targets.md has all of it.

Examples:
  gbrain targets list
  gbrain targets check prod --query \"who owns billing?\" --rationale
  gbrain eval replay --against captured.ndjson --target prod"
)]
pub(crate) struct TargetsArgs {
    #[command(subcommand)]
    command: Option<TargetsCommand>,
}

#[derive(Debug, Subcommand)]
enum TargetsCommand {
    /// List the configured targets without contacting them.
    List,
    /// Send one query to a target and show the parsed answer.
    Check(CheckArgs),
    /// Print the vectors of texts, to fill a vector database.
    Vectors(vectors::VectorsArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  gbrain targets check prod --query \"who owns billing?\" --raw

Exit codes: 0 it answered and the answer was understood, 2 it did not or was not.")]
struct CheckArgs {
    /// The name of the target.
    name: String,
    /// The text of the query.
    #[arg(long, value_name = "TEXT", default_value = "what is new?")]
    query: String,
    /// The number of results to return.
    #[arg(short, long = "k", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    k: u16,
    /// knowledge, graph or hybrid; the target decides if not given.
    #[arg(long, value_name = "MODE")]
    mode: Option<RetrievalMode>,
    /// Ask for the edges that justify the answer, too.
    #[arg(long)]
    rationale: bool,
    /// Show the raw reply of the target, to find the paths of its fields.
    #[arg(long)]
    raw: bool,
}

/// Lists, or asks once.
pub(crate) fn run(context: &CommandContext<'_>, args: &TargetsArgs) -> Result<Exit, CliError> {
    match &args.command {
        None | Some(TargetsCommand::List) => Ok(list(context)),
        Some(TargetsCommand::Check(args)) => check(context, args),
        Some(TargetsCommand::Vectors(args)) => vectors::run(context, args),
    }
}

fn list(context: &CommandContext<'_>) -> Exit {
    let (all, problem) = all_targets(&context.home);
    let is_whole = problem.is_none() && all.values().all(|one| one.target.is_ok());
    if context.terminal.is_json() {
        let target = |(name, ConfiguredTarget { file, target }): (&String, &ConfiguredTarget)| {
            match target {
                Ok(target) => json!({
                    "name": name, "kind": target.kind.name(), "place": target.describe_address(),
                    "most_results": target.max_results(), "described_in": file, "error": null,
                }),
                Err(error) => json!({
                    "name": name, "kind": null, "described_in": file,
                    "error": one_line(&error.to_string()),
                }),
            }
        };
        let targets: Vec<Value> = all.iter().map(target).collect();
        context.terminal.json(&json!({ "schema_version": 1, "targets": targets }));
    } else {
        let row = |(name, ConfiguredTarget { file, target }): (&String, &ConfiguredTarget)| {
            let file = file.clone().unwrap_or_else(|| "always there".to_owned());
            match target {
                Ok(target) => {
                    vec![
                        name.clone(),
                        target.kind.name().to_owned(),
                        target.describe_address(),
                        file,
                    ]
                }
                Err(_) => vec![name.clone(), "-".to_owned(), "can't be used".to_owned(), file],
            }
        };
        let head = ["target", "kind", "where", "described in"];
        context.terminal.out_paged(table(&head, all.iter().map(row)));
    }
    for error in all.values().filter_map(|one| one.target.as_ref().err()) {
        let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        context.terminal.warn(format!("{}{hint}", one_line(&error.to_string())));
    }
    if let Some(problem) = problem {
        context.terminal.warn(format!("its targets are not listed: {}", problem.message));
    }
    if is_whole { Exit::Pass } else { Exit::NoVerdict }
}

fn check(context: &CommandContext<'_>, args: &CheckArgs) -> Result<Exit, CliError> {
    let settings = find_target(&context.home, &args.name)?;
    let question = Question {
        mode: args.mode,
        rationale: args.rationale,
        now: Some(context.now),
        ..Question::new(args.query.clone(), usize::from(args.k))
    };
    let (place, inspection) = with_target(context, settings, |retriever: &dyn Retriever| {
        (retriever.info().place.clone(), retriever.inspect(&question))
    })?;
    let Inspection { raw: response, answer } = inspection;
    if context.terminal.is_json() {
        context.terminal.json(&json!({
            "schema_version": 1, "target": args.name, "place": place,
            "answer": answer.as_ref().ok().map(AnswerBody::new),
            "error": answer.as_ref().err().map(|error| json!({
                "kind": error.kind, "message": one_line(&error.message),
            })),
            "response": response,
        }));
        return Ok(if answer.is_ok() { Exit::Pass } else { Exit::NoVerdict });
    }
    match response.filter(|_| args.raw) {
        Some(Value::String(text)) => context.terminal.out(format!("{text}\n")),
        Some(response) => context.terminal.out(format!("{response:#}\n")),
        None => (),
    }
    context.terminal.out(shown(&answer.map_err(|error| not_understood(error, args.raw))?));
    Ok(Exit::Pass)
}

/// Why a check failed. That this command shows more is no news here.
fn not_understood(error: TargetError, raw: bool) -> CliError {
    let is_malformed = error.kind == TargetErrorKind::Malformed;
    let error = CliError::from(error);
    match (is_malformed, raw) {
        (false, _) => error,
        (true, true) => CliError { hints: Vec::new(), ..error },
        (true, false) => CliError { hints: vec!["--raw shows what came back".to_owned()], ..error },
    }
}

/// The answer as text.
fn shown(answer: &TargetAnswer) -> String {
    let text = |text: &Option<String>| text.as_deref().map_or("-".to_owned(), short);
    let row = |(at, found): (usize, &TargetResult)| {
        let score = found.score.map_or("-".to_owned(), |score| format!("{score:.4}"));
        vec![
            (at + 1).to_string(),
            found.document.clone(),
            text(&found.chunk),
            text(&found.source),
            score,
            text(&found.snippet),
        ]
    };
    let head = ["#", "document", "chunk", "source", "score", "snippet"];
    let mut shown = match answer.results.is_empty() {
        true => "no results\n".to_owned(),
        false => table(&head, answer.results.iter().enumerate().map(row)),
    };
    for (name, value) in remarks(answer) {
        shown.push_str(&format!("{name}: {}\n", field(&value)));
    }
    shown
}

/// The optional parts of the response, and the missing ones.
fn remarks(answer: &TargetAnswer) -> Vec<(&'static str, String)> {
    let ms = |name: &str, ms: Option<f64>| match ms {
        Some(ms) => format!("{name} {ms:.1} ms"),
        None => format!("{name} not reported"),
    };
    let TargetTimings { lexical_ms, dense_ms, rerank_ms, hydration_ms, total_ms } = answer.timings;
    let stages = [
        ms("words", lexical_ms),
        ms("dense", dense_ms),
        ms("rerank", rerank_ms),
        ms("hydration", hydration_ms),
        ms("total", total_ms),
    ];
    let mut remarks = vec![
        ("took", format!("{:.1} ms, attempt {}", answer.latency_ms, answer.attempts)),
        ("stages", stages.join(", ")),
    ];
    if let Some(rationale) = &answer.rationale {
        for edge in &rationale.edges {
            remarks.push(("edge", format!("{} {} {}", edge.from, edge.kind, edge.to)));
        }
    }
    remarks.extend(answer.mode.map(|mode| ("mode", mode.to_string())));
    remarks.extend(answer.threshold.map(|least| ("threshold", format!("{least:.4}"))));
    if !answer.fallbacks.is_empty() {
        remarks.push(("did not do their work", answer.fallback_stages().join(", ")));
    }
    if !answer.not_asked.is_empty() {
        remarks.push(("has no place for", answer.not_asked.join(", ")));
    }
    remarks
}

/// A text on one line, not too long for a table.
fn short(text: &str) -> String {
    let line = one_line(text);
    if line.chars().count() <= 60 {
        return line;
    }
    line.chars().take(59).chain(['…']).collect()
}
