//! What every campaign that runs the program is told: which program, on which engines, repeated how.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use super::engine::{Engine, Engines};
use super::process::built_program;
use super::{exit, seed};

/// The flags they share.
#[derive(Debug, clap::Args)]
pub struct Ground {
    /// Repeats a run, as far as the machine's timing can be repeated.
    #[arg(long)]
    seed: Option<u64>,
    /// Which engines.
    #[arg(long, value_enum, default_value = "both")]
    engine: Engines,
    /// The program to run [default: built from these sources].
    #[arg(long)]
    program: Option<PathBuf>,
}

impl Ground {
    /// Hunts on each engine in turn; what a hunt gives is how much it found.
    pub fn each(&self, hunt: impl Fn(PathBuf, Engine, u64) -> Result<usize>) -> Result<ExitCode> {
        let seed = seed(self.seed);
        let program = self.program.clone().map_or_else(built_program, Ok)?;
        let mut findings = 0;
        for &engine in self.engine.list() {
            findings += hunt(program.clone(), engine, seed)?;
        }
        Ok(exit(findings))
    }
}
