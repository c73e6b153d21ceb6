//! `kick`: run a prompt and log the run.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser};
use gbrain_core::clock::moment;
use gbrain_prompts::domain::bodies::{KickBody, PROMPTS_VERSION};
use gbrain_prompts::{
    Command, KickRequest, KickResult, Library, LibraryPrompt, RunProblem, VarSource,
};

use crate::error::{CliError, Exit};
use crate::terminal::{ExternalWriter, Terminal};

/// Run a prompt of the library and log the run.
#[derive(Debug, Parser)]
#[command(name = "kick", version, max_term_width = 100)]
#[command(
    after_help = "Examples:\n  kick greet --var name=Ada              print the prompt, send nothing\n  \
    kick greet --case basic --send         send it, verify the answer, log the run\n  \
    kick review --var-file a.diff --send --keep-output review.md\n\n\
    The prompt is piped into the command of EVA_SEND_CMD, or of `send` in eva.yml, by default \
    `claude -p`. Without --send nothing leaves this machine.\n\n\
    Exit codes without --send: 0. Before sending: 1 guard.sh refused, 2 a file or a value is missing or invalid. \
    If the command fails: its own exit code, 127 if it was not found, 126 if it is not executable, 128 plus the \
    signal that ended it. If it succeeds: 0; 128 plus the signal if the run was interrupted; 2 verify.sh gave no \
    verdict, or the answer or the log row could not be written; 3 with --strict, if verify.sh refused the \
    answer."
)]
pub(crate) struct KickArgs {
    /// The prompt, or one of its aliases.
    id: String,
    /// Use the inputs of this case; --var and --var-file override them.
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// Set a variable; may be given again, the last value wins.
    #[arg(long, value_name = "KEY=VALUE")]
    var: Vec<String>,
    /// Set the variable file_contents to the text of a file.
    #[arg(long, value_name = "FILE")]
    var_file: Vec<PathBuf>,
    /// Send the prompt to the model and log the run [default: only print it].
    #[arg(long)]
    send: bool,
    /// The model to use [default: the model in meta.yml].
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Exit with 3 if verify.sh refused the answer.
    #[arg(long)]
    strict: bool,
    /// Write the answer to this file too.
    #[arg(long, value_name = "FILE")]
    keep_output: Option<PathBuf>,
    /// The directory that holds `prompts` [env: EVA_ROOT] [default: the current directory or a parent].
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Print one JSON document on stdout instead of the prompt or the answer.
    #[arg(long)]
    json: bool,
    /// Print no remarks on stderr, only warnings and errors.
    #[arg(long, short)]
    quiet: bool,
}

const GUARD_REFUSED: u8 = 1;
const REFUTED: u8 = 3;

/// Runs the program `kick` and returns its exit code.
pub fn kick_main() -> ExitCode {
    crate::catch_panics(run_kick)
}

fn run_kick() -> ExitCode {
    let matches = match KickArgs::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return crate::usage(&error),
    };
    let args = match KickArgs::from_arg_matches(&matches) {
        Ok(args) => args,
        Err(error) => return crate::usage(&error),
    };
    let terminal = Terminal::new(args.json, args.quiet);
    match run(&args, variables(&args, &matches), &terminal) {
        Ok(0) => terminal.exit(Exit::Pass).into(),
        Ok(code) => code.into(),
        Err((code, error)) => {
            terminal.error(&error);
            code.into()
        }
    }
}

type KickFailure = (u8, CliError);

fn failed(error: impl Into<CliError>) -> KickFailure {
    let fault = error.into();
    (Exit::from(fault.kind).code(), fault)
}

fn run(args: &KickArgs, given: Vec<VarSource>, terminal: &Terminal) -> Result<u8, KickFailure> {
    gbrain_eval::check_outputs([&args.keep_output]).map_err(failed)?;
    let library = crate::eva::library(args.root.as_deref()).map_err(failed)?;
    let prompt = library.prompt(&args.id).map_err(failed)?;
    let kick = KickRequest {
        case: args.case.clone(),
        given,
        send: command(args, &library, &prompt).map_err(failed)?,
        keep_output: args.keep_output.clone(),
    };
    let mut output = match args.json {
        true => AnswerSink::Memory(Vec::new()),
        false => AnswerSink::Stdout(terminal.stdout()),
    };
    let kicked = gbrain_prompts::kick(&prompt, &kick, &mut output, &|| moment(SystemTime::now()));
    let kicked = kicked.map_err(|error| {
        let is_guard = matches!(error, gbrain_prompts::PromptError::Guard { .. });
        let (code, fault) = failed(error);
        (if is_guard { GUARD_REFUSED } else { code }, fault)
    })?;
    let output = match output {
        AnswerSink::Memory(bytes) => Some(bytes),
        AnswerSink::Stdout(stdout) => {
            terminal.record(stdout.finish());
            None
        }
    };
    print_run(terminal, &prompt, &kicked, output);
    Ok(exit_code(&kicked, args.strict))
}

fn command(
    args: &KickArgs,
    library: &Library,
    prompt: &LibraryPrompt,
) -> Result<Option<Command>, gbrain_prompts::PromptError> {
    if !args.send {
        return Ok(None);
    }
    let environment = crate::eva::variable("EVA_SEND_CMD");
    let command = Command::resolve(environment.as_deref(), &library.settings)?;
    let model = args.model.as_deref().or(prompt.meta.model.as_deref());
    Ok(Some(command.with_model(model)))
}

/// The variables in the order of the command line: a later `--var` or `--var-file` overrides an earlier one.
fn variables(args: &KickArgs, matches: &ArgMatches) -> Vec<VarSource> {
    let positions = |name: &str| matches.indices_of(name).into_iter().flatten().collect::<Vec<_>>();
    let pairs = args.var.iter().cloned().map(VarSource::Pair).zip(positions("var"));
    let files = args.var_file.iter().cloned().map(VarSource::File).zip(positions("var_file"));
    let mut all: Vec<(VarSource, usize)> = pairs.chain(files).collect();
    all.sort_by_key(|(_, position)| *position);
    all.into_iter().map(|(given, _)| given).collect()
}

/// The destination of the answer: stdout, or a buffer for `--json`.
enum AnswerSink {
    Memory(Vec<u8>),
    Stdout(ExternalWriter<std::io::Stdout>),
}

impl Write for AnswerSink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Memory(memory) => memory.write(bytes),
            Self::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Stdout(stdout) => stdout.flush(),
        }
    }
}

fn print_run(
    terminal: &Terminal,
    prompt: &LibraryPrompt,
    kicked: &KickResult,
    output: Option<Vec<u8>>,
) {
    kicked.talk.iter().for_each(|line| terminal.remark(line));
    if let Some(trouble) = &kicked.trouble {
        terminal.warn(format!("{trouble}; the run does not count"));
    }
    kicked.problems.iter().for_each(|problem| terminal.warn(problem.to_string()));
    for key in &kicked.rendered.unset {
        terminal.warn(format!("{{{{{key}}}}} has no value and was left unchanged"));
    }
    if is_refuted(kicked) {
        terminal.warn("verify.sh refused the answer");
    }
    if terminal.is_json() {
        terminal.json(&KickBody {
            schema_version: PROMPTS_VERSION,
            id: &prompt.id,
            row: &kicked.row,
            prompt: &kicked.rendered.text,
            unset: &kicked.rendered.unset,
            output: output
                .filter(|_| kicked.row.sent)
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            trouble: kicked.trouble.as_deref(),
            problems: kicked.problems.iter().map(ToString::to_string).collect(),
            counts: kicked.is_recorded,
        });
    } else if !kicked.row.sent {
        terminal.out(&kicked.rendered.text);
    }
}

/// Whether verify.sh refused the answer.
fn is_refuted(kicked: &KickResult) -> bool {
    let has_no_verdict = |problem: &RunProblem| {
        matches!(problem, RunProblem::Interrupted(_) | RunProblem::NoVerdict(_))
    };
    kicked.row.verified == Some(false) && !kicked.problems.iter().any(has_no_verdict)
}

/// The exit code of the command, unless the run failed in another way.
fn exit_code(kicked: &KickResult, is_strict: bool) -> u8 {
    let signal = kicked.problems.iter().find_map(|problem| match problem {
        RunProblem::Interrupted(signal) => u8::try_from(128 + signal).ok(),
        _ => None,
    });
    match (u8::try_from(kicked.row.exit_code), signal) {
        (Ok(0), Some(signal)) => signal,
        (Ok(0), None) if !kicked.problems.is_empty() => Exit::NoVerdict.code(),
        (Ok(0), None) if is_strict && is_refuted(kicked) => REFUTED,
        (Ok(code), _) => code,
        (Err(_), _) => u8::MAX,
    }
}
