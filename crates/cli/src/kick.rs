//! `kick`: run a prompt and log one line.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser};
use gbrain_core::clock::moment;
use gbrain_prompts::domain::bodies::{KickBody, PROMPTS_VERSION};
use gbrain_prompts::{Command, Given, Kick, Kicked, Library, Prompt, RunProblem};

use crate::error::{CliError, Exit};
use crate::terminal::{ExternalWriter, Terminal};

/// Run a prompt of the library and log one line.
#[derive(Debug, Parser)]
#[command(name = "kick", version, max_term_width = 100)]
#[command(
    after_help = "Examples:\n  kick greet --var name=Ada              show what would be sent\n  \
    kick greet --case basic --send         send it, verify the answer, log the run\n  \
    kick review --var-file a.diff --send --keep-output review.md\n\n\
    The prompt is piped into the command of `send` in eva.yml, or of EVA_SEND_CMD, by default \
    `claude -p`. Without --send nothing leaves this machine.\n\n\
    Exit codes: that of the command, 127 if it is not there, 126 if it may not run, 128 and the signal if \
    one ended it. If the command ended with 0: 0; 128 and the signal if one interrupted the run; 2 if \
    verify.sh gave no verdict or the answer or the row could not be written; 3 with --strict if verify.sh refused \
    the answer. Before anything is sent: 1 if guard.sh refused, 2 if something is missing or can't be used. 0 \
    without --send."
)]
pub(crate) struct KickArgs {
    /// The prompt, or one of its aliases.
    id: String,
    /// Take the inputs of this case first.
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// Set a variable; may be given again, the last wins.
    #[arg(long, value_name = "KEY=VALUE")]
    var: Vec<String>,
    /// Set the variable file_contents to a file's text.
    #[arg(long, value_name = "FILE")]
    var_file: Vec<PathBuf>,
    /// Send it to the model.
    #[arg(long)]
    send: bool,
    /// The model, instead of the prompt's own.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// End with 3 if the verifier refused the answer.
    #[arg(long)]
    strict: bool,
    /// Keep the answer in this file.
    #[arg(long, value_name = "FILE")]
    keep_output: Option<PathBuf>,
    /// The directory that holds `prompts` [env: EVA_ROOT] [default: here or above].
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Print one JSON document on stdout instead of the prompt or the answer.
    #[arg(long)]
    json: bool,
    /// No remarks on stderr; errors stay.
    #[arg(long, short)]
    quiet: bool,
}

const GUARD_REFUSED: u8 = 1;
const REFUTED: u8 = 3;

/// The program `kick`.
pub fn kick() -> ExitCode {
    crate::guarded(run_kick)
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
    match run(&args, given(&args, &matches), &terminal) {
        Ok(0) => terminal.exit(Exit::Pass).into(),
        Ok(code) => code.into(),
        Err((code, error)) => {
            terminal.error(&error);
            code.into()
        }
    }
}

type Failed = (u8, CliError);

fn failed(error: impl Into<CliError>) -> Failed {
    let fault = error.into();
    (Exit::from(fault.kind).code(), fault)
}

fn run(args: &KickArgs, given: Vec<Given>, terminal: &Terminal) -> Result<u8, Failed> {
    gbrain_eval::check_outputs([&args.keep_output]).map_err(failed)?;
    let library = crate::eva::library(args.root.as_deref()).map_err(failed)?;
    let prompt = library.prompt(&args.id).map_err(failed)?;
    let kick = Kick {
        case: args.case.clone(),
        given,
        send: command(args, &library, &prompt).map_err(failed)?,
        keep_output: args.keep_output.clone(),
    };
    let mut output = match args.json {
        true => Watcher::Memory(Vec::new()),
        false => Watcher::Stdout(terminal.stdout()),
    };
    let kicked = gbrain_prompts::kick(&prompt, &kick, &mut output, &|| moment(SystemTime::now()));
    let kicked = kicked.map_err(|error| {
        let is_guard = matches!(error, gbrain_prompts::PromptError::Guard { .. });
        let (code, fault) = failed(error);
        (if is_guard { GUARD_REFUSED } else { code }, fault)
    })?;
    let output = match output {
        Watcher::Memory(bytes) => Some(bytes),
        Watcher::Stdout(stdout) => {
            terminal.record(stdout.finish());
            None
        }
    };
    tell(terminal, &prompt, &kicked, output);
    Ok(exit_code(&kicked, args.strict))
}

fn command(
    args: &KickArgs,
    library: &Library,
    prompt: &Prompt,
) -> Result<Option<Command>, gbrain_prompts::PromptError> {
    if !args.send {
        return Ok(None);
    }
    let environment = crate::eva::variable("EVA_SEND_CMD");
    let command = Command::resolve(environment.as_deref(), &library.settings)?;
    let model = args.model.as_deref().or(prompt.meta.model.as_deref());
    Ok(Some(command.with_model(model)))
}

/// What was typed, from left to right: `--var` and `--var-file` are layers of one pile.
fn given(args: &KickArgs, matches: &ArgMatches) -> Vec<Given> {
    let places = |name: &str| matches.indices_of(name).into_iter().flatten().collect::<Vec<_>>();
    let pairs = args.var.iter().cloned().map(Given::Pair).zip(places("var"));
    let files = args.var_file.iter().cloned().map(Given::File).zip(places("var_file"));
    let mut all: Vec<(Given, usize)> = pairs.chain(files).collect();
    all.sort_by_key(|(_, place)| *place);
    all.into_iter().map(|(given, _)| given).collect()
}

/// The terminal, or a memory for `--json`.
enum Watcher {
    Memory(Vec<u8>),
    Stdout(ExternalWriter<std::io::Stdout>),
}

impl Write for Watcher {
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

fn tell(terminal: &Terminal, prompt: &Prompt, kicked: &Kicked, output: Option<Vec<u8>>) {
    kicked.talk.iter().for_each(|line| terminal.remark(line));
    if let Some(trouble) = &kicked.trouble {
        terminal.warn(format!("{trouble}; the run counts for nothing"));
    }
    kicked.problems.iter().for_each(|problem| terminal.warn(problem.to_string()));
    for key in &kicked.rendered.unset {
        terminal.warn(format!("{{{{{key}}}}} has no value and was left as it is"));
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

/// Whether the verifier has a verdict against the answer.
fn is_refuted(kicked: &Kicked) -> bool {
    let has_no_verdict = |problem: &RunProblem| {
        matches!(problem, RunProblem::Interrupted(_) | RunProblem::NoVerdict(_))
    };
    kicked.row.verified == Some(false) && !kicked.problems.iter().any(has_no_verdict)
}

/// That of the command, unless something else went wrong.
fn exit_code(kicked: &Kicked, is_strict: bool) -> u8 {
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
