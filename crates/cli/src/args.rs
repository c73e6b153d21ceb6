//! The command line of `gbrain`: arguments as clap parses them. No decisions are made here.

use std::path::PathBuf;

use clap::{ArgAction, Args as ClapArgs, Parser, Subcommand, ValueEnum};
use gbrain_brain::IndexKind;
use gbrain_core::request::{Detail, RetrievalMode};

use crate::commands;
use crate::home::HomeFlags;

/// `gbrain --help`: the commands grouped by task. A test compares this list with the subcommands.
const HELP_TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

Use it as memory:
  demo         Show everything in a few seconds, in a fictional brain
  init         Create a brain: the home, its config.json and the database
  import       Import files and directories of notes and chats
  put          Write a page from a file or stdin
  get          Read a page: print its text
  history      List the versions of a page
  list         List pages, with filters
  delete       Delete pages; their history stays, and `restore` brings them back
  restore      Restore a deleted page
  purge        Erase a page and its history permanently
  search       Find pages by keyword
  query        Answer a question with keywords, embeddings, names and links
  links        List the links of a page, with their evidence
  sources      Manage the sources that pages come from

Test a change:
  eval         Measure retrieval: export, replay, gate, score, benchmarks
  baseline     Publish, verify, diff and ratchet baselines [alias: bench]
  targets      List, check and query the retrieval systems that can be measured
  view         Show a result, baseline, run or file of captures in the browser
  calibrate    Calibrate the reranker's threshold with labelled pairs
  feedback     Give feedback on an answer: a vote, a comment, a result

Publish a benchmark:
  eval longmemeval | locomo | beir | trec   Run a public benchmark
  eval reproduce                            Run a published result again
  eval datasets                             Show where to get datasets

Monitor production:
  suites       Define, run and schedule suites of checks, and show their runs
  queries      Manage the canonical queries that suites ask
  events       Report and list the events that trigger suites
  alerts       List, silence, deliver and export alerts
  triage       Explain why a suite run failed, and suggest what to do
  incident     Open, annotate, resolve and list incidents
  autopilot    Run scheduled work: probe, due suites, alerts, retention

Manage prompts (separate programs):
  eva          Show, evaluate and promote prompts
  kick         Run a prompt and log the run

Operate it:
  serve        Serve the HTTP API and MCP, and run background jobs
  mcp          Serve one MCP client on standard input and output
  worker       Run background jobs without serving the API
  jobs         List, show and cancel background jobs
  doctor       Check everything: capture, index, schema, baselines, disk
  reindex      Rebuild the index from the store, or verify it
  reembed      Move the vectors to another embedding model
  config       Read and change settings
  models       Show which models are used for which task, and their prices
  spend        Show the cost of model calls
  stats        Count the pages, chunks and links of the brain
  tokens       Create, list and revoke API tokens
  workspaces   Manage the workspaces of this database
  completions  Print shell completions for gbrain, eva or kick
  man          Write man pages for gbrain, eva and kick

Options:
{options}{after-help}";

/// Agent memory with regression-tested retrieval.
#[derive(Debug, Parser)]
#[command(name = "gbrain", version, max_term_width = 100, help_template = HELP_TEMPLATE)]
#[command(after_help = "Start with `gbrain demo`, or with your own notes:\n  \
    gbrain import ~/notes\n  gbrain query \"who owns the billing service?\"\n\n\
    `gbrain help COMMAND` explains a command.\n\n\
    Exit codes: 0 success, 1 a measurement failed its check, 2 no verdict (usage, configuration, input or \
    output).")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: GbrainCommand,
}

/// Flags that every command takes.
#[derive(Debug, ClapArgs)]
pub(crate) struct Global {
    /// Print one JSON document on stdout instead of text.
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) json: bool,
    /// Print no progress and no remarks on stderr, only warnings and errors.
    #[arg(long, short, global = true, help_heading = "Everywhere")]
    pub(crate) quiet: bool,
    /// Print long output directly instead of through a pager [env: GBRAIN_PAGER, PAGER] [default: less].
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) no_pager: bool,
    /// The directory that holds the brain [env: GBRAIN_HOME] [default: ~/.gbrain].
    #[arg(long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    home: Option<PathBuf>,
    /// A PostgreSQL URL, or the path of an SQLite file [env: DATABASE_URL] [default: brain.db in the
    /// home].
    #[arg(long, global = true, value_name = "URL", help_heading = "Everywhere")]
    database_url: Option<String>,
    /// The workspace (tenant) [env: GBRAIN_WORKSPACE] [default: default].
    #[arg(long, short, global = true, value_name = "NAME", help_heading = "Everywhere")]
    workspace: Option<String>,
}

impl Global {
    pub(crate) fn home_flags(&self) -> HomeFlags {
        HomeFlags {
            home: self.home.clone(),
            database_url: self.database_url.clone(),
            workspace: self.workspace.clone(),
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum GbrainCommand {
    /// Show everything in a few seconds, in a fictional brain.
    Demo(commands::demo::DemoArgs),
    /// Create a brain: the home, its config.json and the database.
    Init(commands::init::InitArgs),
    /// Import files and directories of notes and chats.
    Import(commands::import::ImportArgs),
    /// Write a page from a file or stdin.
    Put(commands::put::PutArgs),
    /// Read a page: print its text.
    Get(commands::get::GetArgs),
    /// List the versions of a page.
    History(commands::history::HistoryArgs),
    /// List pages, with filters.
    List(commands::list::ListArgs),
    /// Delete pages; their history stays, and `restore` brings them back.
    Delete(commands::delete::DeleteArgs),
    /// Restore a deleted page.
    Restore(commands::restore::RestoreArgs),
    /// Erase a page and its history permanently.
    Purge(commands::purge::PurgeArgs),
    /// Find pages by keyword.
    Search(commands::search::SearchArgs),
    /// Answer a question with keywords, embeddings, names and links.
    Query(commands::query::QueryArgs),
    /// List the links of a page, with their evidence.
    Links(commands::links::LinksArgs),
    /// Manage the sources that pages come from.
    Sources(commands::sources::SourcesArgs),
    /// Manage the workspaces of this database.
    Workspaces(commands::workspaces::WorkspacesArgs),
    /// Read and change settings.
    Config(commands::config::ConfigArgs),
    /// Count the pages, chunks and links of the brain.
    Stats(commands::stats::StatsArgs),
    /// Define, run and schedule suites of checks, and show their runs.
    Suites(Box<commands::suites::SuitesArgs>),
    /// Manage the canonical queries that suites ask.
    Queries(Box<commands::queries::QueriesArgs>),
    /// Calibrate the reranker's threshold with labelled pairs.
    Calibrate(Box<commands::calibrate::CalibrateArgs>),
    /// Give feedback on an answer: a vote, a comment, a result.
    Feedback(commands::feedback::FeedbackArgs),
    /// Report and list the events that trigger suites.
    Events(commands::events::EventsArgs),
    /// List, silence, deliver and export alerts.
    Alerts(Box<commands::alerts::AlertsArgs>),
    /// Explain why a suite run failed, and suggest what to do.
    Triage(commands::triage::TriageArgs),
    /// Open, annotate, resolve and list incidents.
    Incident(Box<commands::incident::IncidentArgs>),
    /// Measure retrieval: export, replay, gate, score, benchmarks.
    Eval(Box<commands::eval::EvalArgs>),
    /// Publish, verify, diff and ratchet baselines [alias: bench].
    #[command(visible_alias = "bench")]
    Baseline(commands::baseline::BaselineArgs),
    /// Show a result, baseline, run or file of captures in the browser.
    View(commands::view::ViewArgs),
    /// Check everything: capture, index, schema, baselines, disk.
    Doctor(commands::doctor::DoctorArgs),
    /// Rebuild the index from the store, or verify it.
    Reindex(commands::reindex::ReindexArgs),
    /// Move the vectors to another embedding model.
    Reembed(commands::reembed::ReembedArgs),
    /// Serve the HTTP API and MCP, and run background jobs.
    Serve(commands::serve::ServeArgs),
    /// Serve one MCP client on standard input and output.
    Mcp(commands::mcp::McpArgs),
    /// Run background jobs without serving the API.
    Worker(commands::worker::WorkerArgs),
    /// Run scheduled work: probe, due suites, alerts, retention.
    Autopilot(commands::autopilot::AutopilotArgs),
    /// List, show and cancel background jobs.
    Jobs(commands::jobs::JobsArgs),
    /// Show which models are used for which task, and their prices.
    Models(commands::models::ModelsArgs),
    /// List, check and query the retrieval systems that can be measured.
    Targets(commands::targets::TargetsArgs),
    /// Show the cost of model calls.
    Spend(commands::spend::SpendArgs),
    /// Create, list and revoke API tokens.
    Tokens(commands::tokens::TokensArgs),
    /// Print shell completions for gbrain, eva or kick.
    Completions(crate::manual::CompletionsArgs),
    /// Write man pages for gbrain, eva and kick.
    Man(crate::manual::ManArgs),
}

/// Arguments that `search` and `query` share.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct AskArgs {
    /// The text to search for. It has no syntax: quotes, dashes and colons are ordinary characters.
    #[arg(value_name = "TEXT", required = true, num_args = 1..)]
    pub(crate) text: Vec<String>,
    /// The number of pages to return.
    #[arg(long, short = 'n', default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Only pages of this source; may be given again.
    #[arg(long, value_name = "ID")]
    pub(crate) source: Vec<String>,
    /// Only pages of this type; may be given again.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// Only pages with one of these tags; may be given again.
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Only pages dated on or after this day: 2026-03-01, today, yesterday, or an age such as 7d or 2h.
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub(crate) since: Option<jiff::civil::Date>,
    /// Only pages dated on or before this day, in the same forms.
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub(crate) until: Option<jiff::civil::Date>,
    /// How much of each page to show: low, medium, high [default: depends on the query].
    #[arg(long, value_name = "LEVEL")]
    pub(crate) detail: Option<Detail>,
    /// The time that "recent" is relative to (2026-03-01T12:00:00Z) [default: now].
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) now: Option<jiff::Timestamp>,
    /// Leave private pages out, as for callers over the API.
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// Show the effect of every stage on each hit.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Show at which stage this page was dropped.
    #[arg(long, value_name = "SLUG")]
    pub(crate) why_not: Option<String>,
    /// The index to search: disk, or memory (built for this call).
    #[arg(long, value_name = "KIND", default_value = "disk")]
    pub(crate) index: IndexArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IndexArg {
    Disk,
    Memory,
}

impl From<IndexArg> for IndexKind {
    fn from(index: IndexArg) -> Self {
        match index {
            IndexArg::Disk => Self::Disk,
            IndexArg::Memory => Self::Memory,
        }
    }
}

/// Flags that only `query` has.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct ModeArgs {
    /// knowledge (keywords, embeddings and names), graph (names and links) or hybrid (both).
    #[arg(long, value_name = "MODE", default_value = "hybrid")]
    pub(crate) mode: RetrievalMode,
    /// Search without embeddings, by keywords only.
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) no_vector: bool,
    /// Ask a model for other wordings of the query, and search for these too [default: the setting
    /// search.expand].
    #[arg(long, overrides_with = "no_expand")]
    expand: bool,
    /// Search only for the query as typed.
    #[arg(long, overrides_with = "expand")]
    no_expand: bool,
}

impl ModeArgs {
    /// Whether to search for other wordings too; `None` if neither flag was given.
    pub(crate) fn expansion(&self) -> Option<bool> {
        match (self.expand, self.no_expand) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }
}

/// Parses a day as typed: a date, `today`, `yesterday` or an age.
fn day(text: &str) -> Result<jiff::civil::Date, String> {
    let now = gbrain_core::clock::moment(std::time::SystemTime::now());
    commands::eval::day(text, now)
}

/// Parses an instant as typed.
fn time(text: &str) -> Result<jiff::Timestamp, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("{text:?} is not a time: write it as 2026-03-01T12:00:00Z"))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;

    /// The indented lines of the help template: a name and its description.
    fn listed() -> Vec<(&'static str, &'static str)> {
        let lines = HELP_TEMPLATE.lines().filter_map(|line| line.strip_prefix("  "));
        lines
            .filter_map(|line| line.split_once(' '))
            .map(|(name, about)| (name, about.trim()))
            .collect()
    }

    #[test]
    fn every_visible_subcommand_is_in_exactly_one_group_of_the_help() {
        let command = Args::command();
        for subcommand in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
            let found: Vec<_> =
                listed().into_iter().filter(|(name, _)| *name == subcommand.get_name()).collect();
            let found: Vec<_> = found
                .iter()
                .filter(|(_, text)| {
                    !text.starts_with("reproduce")
                        && !text.starts_with("longmemeval")
                        && !text.starts_with("datasets")
                })
                .collect();
            assert_eq!(found.len(), 1, "{}", subcommand.get_name());
            assert_eq!(found[0].1, about, "{}", subcommand.get_name());
        }
        for line in HELP_TEMPLATE.lines() {
            assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
        }
        let programs = ["eva", "kick"];
        for (name, _) in listed() {
            let is_known = command.find_subcommand(name).is_some() || programs.contains(&name);
            assert!(is_known, "{name} is not a subcommand");
        }
    }

    #[test]
    fn bench_is_an_alias_of_baseline() {
        let parsed =
            Args::try_parse_from(["gbrain", "bench", "verify", "a.baseline.ndjson"]).unwrap();
        assert!(matches!(parsed.command, GbrainCommand::Baseline(_)));
    }
}
