//! What was typed. Nothing is decided here.

use std::path::PathBuf;

use clap::{ArgAction, Args as ClapArgs, Parser, Subcommand, ValueEnum};
use gbrain_brain::IndexKind;
use gbrain_core::request::{Detail, RetrievalMode};

use crate::commands;
use crate::home::HomeFlags;

/// A memory for agents whose retrieval is proven on every change.
#[derive(Debug, Parser)]
#[command(name = "gbrain", version, max_term_width = 100)]
#[command(after_help = "Start with `gbrain demo`, or with your own notes:\n  \
    gbrain import ~/notes\n  gbrain query \"who owns the billing service?\"\n\n\
    Exit codes: 0 the work was done whole, 1 something was measured and found wrong, 2 no verdict \
    (usage, configuration, input or output).")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every command takes.
#[derive(Debug, ClapArgs)]
pub(crate) struct Global {
    /// Print one JSON document on stdout instead of text.
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) json: bool,
    /// No progress and no remarks on stderr; errors stay.
    #[arg(long, short, global = true, help_heading = "Everywhere")]
    pub(crate) quiet: bool,
    /// The directory that holds the brain [env: GBRAIN_HOME] [default: ~/.gbrain].
    #[arg(long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    home: Option<PathBuf>,
    /// A PostgreSQL URL, or the path of an SQLite file [env: DATABASE_URL] [default: brain.db in the
    /// home].
    #[arg(long, global = true, value_name = "URL", help_heading = "Everywhere")]
    database_url: Option<String>,
    /// The workspace: whose brain this is [env: GBRAIN_WORKSPACE] [default: default].
    #[arg(long, short, global = true, value_name = "NAME", help_heading = "Everywhere")]
    workspace: Option<String>,
}

impl Global {
    /// The flags that say where the brain is.
    pub(crate) fn home_flags(&self) -> HomeFlags {
        HomeFlags {
            home: self.home.clone(),
            database_url: self.database_url.clone(),
            workspace: self.workspace.clone(),
        }
    }
}

/// Everything gbrain does.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show everything in a few seconds: a bundled fictional brain in a temporary home.
    Demo(commands::demo::DemoArgs),
    /// Make a brain: the home directory, its config.json and the database schema.
    Init(commands::init::InitArgs),
    /// Take in files and directories of notes and chats.
    Import(commands::import::ImportArgs),
    /// Write one page from a file or stdin.
    Put(commands::put::PutArgs),
    /// Print a page.
    Get(commands::get::GetArgs),
    /// List the versions of a page.
    History(commands::history::HistoryArgs),
    /// List pages.
    List(commands::list::ListArgs),
    /// Delete pages. Their history stays: `restore` brings them back.
    Delete(commands::delete::DeleteArgs),
    /// Bring a deleted page back.
    Restore(commands::restore::RestoreArgs),
    /// Erase a page and its history for good.
    Purge(commands::purge::PurgeArgs),
    /// Find pages by words.
    Search(commands::search::SearchArgs),
    /// Ask: words, names and links together.
    Query(commands::query::QueryArgs),
    /// Show the edges of a page, with their evidence.
    Links(commands::links::LinksArgs),
    /// Where pages come from.
    Sources(commands::sources::SourcesArgs),
    /// Whose brains are in this database.
    Workspaces(commands::workspaces::WorkspacesArgs),
    /// Read and change settings.
    Config(commands::config::ConfigArgs),
    /// Count what is in the brain.
    Stats(commands::stats::StatsArgs),
    /// Suites: what is measured when, against whom, and what came of it.
    Suites(Box<commands::suites::SuitesArgs>),
    /// Canonical queries: what suites ask, with what must be found.
    Queries(Box<commands::queries::QueriesArgs>),
    /// The threshold of the reranker: collect pairs, score, verify, deploy.
    Calibrate(Box<commands::calibrate::CalibrateArgs>),
    /// Say something of an answer: a vote, a comment, a result that is barely relevant.
    Feedback(commands::feedback::FeedbackArgs),
    /// Events that suites wait for: tell, list.
    Events(commands::events::EventsArgs),
    /// Alerts: what is wrong, who was told, when not to tell.
    Alerts(Box<commands::alerts::AlertsArgs>),
    /// Why a run of a suite failed, and what to do about it.
    Triage(commands::triage::TriageArgs),
    /// Incidents: open, note, resolve, list, show.
    Incident(Box<commands::incident::IncidentArgs>),
    /// Measure retrieval: export captures, replay, gate, score, compare.
    Eval(Box<commands::eval::EvalArgs>),
    /// Baselines: publish, verify, log, diff, ratchet.
    Bench(commands::bench::BenchArgs),
    /// Look after everything: capture, index, schema, baselines, disk.
    Doctor(commands::doctor::DoctorArgs),
    /// Make the index again from the store, or verify it.
    Reindex(commands::reindex::ReindexArgs),
    /// Move the vectors to another embedding model, or say whose they are.
    Reembed(commands::reembed::ReembedArgs),
    /// Serve the HTTP API and MCP, and work on jobs.
    Serve(commands::serve::ServeArgs),
    /// Serve one MCP client on standard input and output.
    Mcp(commands::mcp::McpArgs),
    /// Work on background jobs.
    Worker(commands::worker::WorkerArgs),
    /// Run what is due by itself, such as the nightly quality probe.
    Autopilot(commands::autopilot::AutopilotArgs),
    /// Background jobs: list, show, cancel.
    Jobs(commands::jobs::JobsArgs),
    /// Which models are asked for what, and what they cost.
    Models(commands::models::ModelsArgs),
    /// Whatever can be measured beside the local brain: list, check.
    Targets(commands::targets::TargetsArgs),
    /// What calls to models cost.
    Spend(commands::spend::SpendArgs),
    /// API tokens: create, list, revoke.
    Tokens(commands::tokens::TokensArgs),
    /// Print a shell's completions of gbrain, eva or kick.
    Completions(crate::manual::CompletionsArgs),
    /// Write man pages of gbrain, eva and kick.
    Man(crate::manual::ManArgs),
}

/// What `search` and `query` have in common.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct AskArgs {
    /// What to look for. Text, never syntax: quotes, dashes and colons mean themselves.
    #[arg(value_name = "TEXT", required = true, num_args = 1..)]
    pub(crate) text: Vec<String>,
    /// How many pages to answer with.
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
    /// Only pages dated on or after this day (2026-03-01).
    #[arg(long, value_name = "DATE")]
    pub(crate) since: Option<jiff::civil::Date>,
    /// Only pages dated on or before this day.
    #[arg(long, value_name = "DATE")]
    pub(crate) until: Option<jiff::civil::Date>,
    /// How much of each page to show: low, medium, high [default: by the question].
    #[arg(long, value_name = "LEVEL")]
    pub(crate) detail: Option<Detail>,
    /// The time that "recent" is measured against (2026-03-01T12:00:00Z) [default: now].
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<jiff::Timestamp>,
    /// Answer as for a caller who may not see private pages.
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// Show what every stage did to each hit.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Show where this page fell out.
    #[arg(long, value_name = "SLUG")]
    pub(crate) why_not: Option<String>,
    /// Which index answers: disk, or memory (built for this one call).
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

/// Flags of `query` alone.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct ModeArgs {
    /// knowledge (words and names), graph (names and links) or hybrid (both).
    #[arg(long, value_name = "MODE", default_value = "hybrid")]
    pub(crate) mode: RetrievalMode,
    /// Leave the vector arm out.
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) no_vector: bool,
    /// Ask a model for other ways to put the question, and search for these too [default: the setting
    /// search.expand].
    #[arg(long, overrides_with = "no_expand")]
    expand: bool,
    /// Search for the question as it is.
    #[arg(long, overrides_with = "expand")]
    no_expand: bool,
}

impl ModeArgs {
    /// Whether other ways to put the question are searched for; none when nothing was typed.
    pub(crate) fn expansion(&self) -> Option<bool> {
        match (self.expand, self.no_expand) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }
}
