//! `gbrain feedback`: records a vote, a comment or a borderline result of an answer.

use clap::{ArgGroup, Args};
use gbrain_core::format::feedback::{FeedbackInput, Vote};
use gbrain_core::request::Viewer;
use gbrain_eval::feedback::{add_feedback, last_answer_log};

use crate::capture::scrubber;
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("said").required(true).multiple(true),
    group = ArgGroup::new("of").required(true),
    after_help = "Examples:\n  gbrain feedback --last --vote up\n  \
    gbrain feedback --request-id 5f3a... --vote down --comment 'an old plan'\n  \
    gbrain feedback 12 --borderline wiki::plans/2024\n\n\
    Answers are logged while capture is on; `gbrain query --json` tells the request id (served.request_id). \
    Results called borderline are what a reranker is calibrated by (`gbrain calibrate collect`), and queries \
    with votes are proposed by `gbrain queries promote`. Comments are scrubbed."
)]
pub(crate) struct FeedbackArgs {
    /// The answer, by the number of its log entry.
    #[arg(value_name = "LOG", group = "of")]
    log: Option<i64>,
    /// The answer, by its request id.
    #[arg(long, value_name = "ID", group = "of")]
    request_id: Option<String>,
    /// The last answer that the command line gave.
    #[arg(long, group = "of")]
    last: bool,
    /// The vote: up or down.
    #[arg(long, value_name = "VOTE", group = "said")]
    vote: Option<Vote>,
    /// A comment in your words.
    #[arg(long, value_name = "TEXT", group = "said")]
    comment: Option<String>,
    /// A result of it that is barely relevant, as `source::slug` or slug.
    #[arg(long, value_name = "DOC", group = "said")]
    borderline: Option<String>,
}

pub(crate) fn run(context: &CommandContext<'_>, args: &FeedbackArgs) -> Result<Exit, CliError> {
    let FeedbackArgs { log, request_id, last: is_last, vote, comment, borderline } = args;
    let store = context.store()?;
    let log = match is_last {
        true => Some(last_answer_log(&store, &context.home.workspace)?),
        false => *log,
    };
    let input = FeedbackInput {
        request_id: request_id.clone(),
        log,
        vote: *vote,
        comment: comment.clone(),
        borderline: borderline.clone(),
    };
    let scrubber = scrubber(&context.home).map_err(CliError::config)?;
    let trust = Viewer::Trusted;
    let kept =
        add_feedback(&store, &context.home.workspace, &scrubber, trust, &input, context.now)?;
    if context.terminal.is_json() {
        context.terminal.json(&kept);
    } else {
        context.terminal.line(format!("recorded for log entry {}", kept.log));
    }
    Ok(Exit::Pass)
}
