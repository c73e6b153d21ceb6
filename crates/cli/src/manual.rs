//! Shell completions and man pages of all three programs, from the definitions that parse arguments.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, ValueEnum};
use clap_complete::Shell;

use crate::error::{CliError, Exit};
use crate::terminal::Terminal;

/// One of the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Program {
    Gbrain,
    Eva,
    Kick,
}

impl Program {
    const ALL: [Self; 3] = [Self::Gbrain, Self::Eva, Self::Kick];

    fn command(self) -> clap::Command {
        match self {
            Self::Gbrain => crate::args::Args::command(),
            Self::Eva => crate::eva::EvaArgs::command(),
            Self::Kick => crate::kick::KickArgs::command(),
        }
    }
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain completions bash > ~/.local/share/bash-completion/completions/gbrain\n  \
    gbrain completions zsh --of kick > ~/.zfunc/_kick"
)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
    /// The program.
    #[arg(long, value_enum, default_value = "gbrain", value_name = "PROGRAM")]
    of: Program,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain man ~/.local/share/man/man1\n  man gbrain-query")]
pub(crate) struct ManArgs {
    /// The directory to write them into.
    dir: PathBuf,
}

/// Prints completions.
pub(crate) fn completions(args: &CompletionsArgs, terminal: &Terminal) -> Exit {
    let mut command = args.of.command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    terminal.out(String::from_utf8_lossy(&script));
    Exit::Pass
}

/// Writes a page for each program and each of its commands.
pub(crate) fn man(args: &ManArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let failed = |error: std::io::Error| CliError::io(args.dir.display(), &error);
    std::fs::create_dir_all(&args.dir).map_err(failed)?;
    for program in Program::ALL {
        // Without the commands' own `help`, which would have a page for each command again.
        let command = program.command().disable_help_subcommand(true);
        clap_mangen::generate_to(command, &args.dir).map_err(failed)?;
    }
    terminal.remark(format!("wrote man pages to {}", args.dir.display()));
    Ok(Exit::Pass)
}
