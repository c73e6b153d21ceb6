//! Shell completions and man pages of `gbrain`, `eva` and `kick`, generated from their argument definitions.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, ValueEnum};
use clap_complete::Shell;

use crate::error::{CliError, Exit};
use crate::terminal::Terminal;

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

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain completions bash > ~/.local/share/bash-completion/completions/gbrain\n  \
    gbrain completions zsh --of kick > ~/.zfunc/_kick"
)]
pub(crate) struct CompletionsArgs {
    /// The shell to complete in: bash, zsh, fish, elvish or powershell.
    shell: Shell,
    /// The program to complete.
    #[arg(long, value_enum, default_value = "gbrain", value_name = "PROGRAM")]
    of: Program,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain man ~/.local/share/man/man1\n  man gbrain-query")]
pub(crate) struct ManArgs {
    /// The directory to write the pages into; created if it does not exist.
    dir: PathBuf,
}

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
        // The `help` subcommand would get a page for every command a second time.
        let command = program.command().disable_help_subcommand(true);
        clap_mangen::generate_to(command, &args.dir).map_err(failed)?;
    }
    terminal.remark(format!("wrote man pages to {}", args.dir.display()));
    Ok(Exit::Pass)
}
